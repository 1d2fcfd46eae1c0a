//! An independent verifier of certificates for schedules.
//!
//! A certificate claims that no schedule has fewer registers, more waves or fewer cycles.
//! `docs/certificates.md` specifies the claims, the proofs and the theorems behind them; this crate checks
//! the conditions of these theorems, and nothing else.
//!
//! | module | content |
//! |---|---|
//! | [`lines`] | lines of plain or compressed files |
//! | [`region`] | region files: dependences, and the values that follow from definitions and uses |
//! | [`walk`] | states, and the weight f of the live values |
//! | [`proof`] | the two proofs that no order is within limits: cut and search |
//! | [`length`] | the two proofs that no schedule is shorter: crowd and search |
//! | [`claim`] | schedules, claims, and the report |
//!
//! The verifier trusts the region file, the register files and issue models in the header of the
//! certificates, and its own code. It does not trust the schedules or the proofs. It shares no code with the
//! schedulers.

#![forbid(unsafe_code)]

pub mod claim;
pub mod length;
pub mod lines;
pub mod proof;
pub mod region;
pub mod walk;

use std::path::Path;

pub use claim::{Refusal, Report};

/// Verify all claims of a certificate file. An error says that a file cannot be read or is malformed, with
/// file and line.
///
/// `regions` is a region file, or a folder with such files. The dependences and values of all regions stay in
/// memory, and the peaks and cycles of each schedule. Certificates are read line by line.
pub fn verify(regions: &Path, schedules: &Path, certificates: &Path) -> Result<Report, String> {
    let mut store = region::read(regions)?;
    claim::read_schedules(&mut store, schedules)?;
    claim::check(&store, certificates)
}

//! The claims of a run, with their certificates.

use lowtide::ClassId;
use lowtide::certify::{self, Claim, KnownLengths};
use lowtide::outcome::KernelOutcome;
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::target::Target;
use lowtide_io::format_certificate;

use crate::table::grouped;

/// The kinds of claims.
const KINDS: [&str; 3] = ["registers", "waves", "lengths"];

/// For each kind, the claims with a certificate, and all that are proven.
#[derive(Clone, Copy, Default)]
pub struct Claims([(u64, u64); KINDS.len()]);

impl Claims {
    /// Add the claims of another kernel.
    pub fn add(&mut self, other: &Claims) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum = (sum.0 + other.0, sum.1 + other.1);
        }
    }

    fn count(&mut self, kind: usize, claims: &[Option<Claim>]) {
        self.0[kind].0 += claims.iter().flatten().count() as u64;
        self.0[kind].1 += claims.len() as u64;
    }

    /// Return a sentence.
    pub fn in_words(&self) -> String {
        let all = self.0.iter().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
        let named = KINDS.iter().zip(self.0).filter(|(_, (_, proven))| *proven > 0);
        let kinds: Vec<String> = named
            .map(|(kind, (certified, proven))| {
                format!("{kind} {} of {}", grouped(certified), grouped(proven))
            })
            .collect();
        format!(
            "claims: {} of {} proven ones have a certificate ({})",
            grouped(all.0),
            grouped(all.1),
            kinds.join(", ")
        )
    }
}

/// The certificates of a kernel.
#[derive(Default)]
pub struct Certificates {
    /// One line for each certificate.
    pub lines: Vec<String>,
    /// The claims, with and without one.
    pub claims: Claims,
}

impl Certificates {
    /// Prove the claims of a goal again, as far as certificates go.
    pub fn new(
        goal: Goal,
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
        outcome: &KernelOutcome,
        known: &KnownLengths,
    ) -> Self {
        let mut made = Certificates::default();
        let kinds = match goal {
            Goal::MinReg => vec![(0, registers(kernel, outcome))],
            Goal::Occupancy => {
                vec![(1, waves(kernel, target, outcome)), (2, lengths(problems, outcome, known))]
            }
            Goal::Length => vec![(2, lengths(problems, outcome, known))],
            Goal::Throughput => Vec::new(),
        };
        for (kind, claims) in kinds {
            made.claims.count(kind, &claims);
            let lines = claims.iter().flatten().map(|claim| format_certificate(kernel, target, claim));
            made.lines.extend(lines);
        }
        made
    }
}

fn registers(kernel: &Kernel, outcome: &KernelOutcome) -> Vec<Option<Claim>> {
    let regions = kernel.regions.iter().zip(&outcome.regions).enumerate();
    let claims = regions.flat_map(|(position, (region, outcome))| {
        let peak = |class: ClassId| outcome.measure.peaks[class.index()].between;
        let is_proven =
            move |class: &ClassId| (1..=outcome.bounds.peaks[class.index()]).contains(&peak(*class));
        let proven = region.class_ids().filter(is_proven);
        proven.map(move |class| certify::registers(region, position, class, peak(class), &outcome.bounds))
    });
    claims.collect()
}

fn waves(kernel: &Kernel, target: &Target, outcome: &KernelOutcome) -> Vec<Option<Claim>> {
    let is_proven = outcome.occupancy >= outcome.occupancy_bound && !outcome.is_filtered;
    is_proven.then(|| certify::waves(kernel, target, outcome)).into_iter().collect()
}

fn lengths(problems: &[Problem], kernel: &KernelOutcome, known: &KnownLengths) -> Vec<Option<Claim>> {
    let regions = problems.iter().zip(&kernel.regions).enumerate();
    let proven =
        regions.filter(|(_, (_, outcome))| (1..=outcome.bounds.length).contains(&outcome.measure.length));
    proven
        .map(|(position, (problem, outcome))| {
            certify::length(problem, position, kernel.occupancy, outcome, known)
        })
        .collect()
}

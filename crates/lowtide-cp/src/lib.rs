//! Fewest registers, and shortest schedules within few registers, by a general constraint solver: a cross-check for the exact
//! searches, and what they are to be compared with.
//!
//! Two models of the same problem, for one register class: that of Chen's paper, Section III (`paper.rs`), and a better one (`improved.rs`). A third model (`length.rs`) is for the shortest schedule within limits on all classes. All are
//! solved by CP-SAT of OR-Tools, a library that `scripts/install-ortools` fetches and that is loaded at run time;
//! without it, everything else works. Packing two operations into each cycle has integer programs of its own ([`pack`]). What the solver says about an order is never taken for granted: the independent
//! [checker](lowtide::schedule::check) looks at each one. Only its bounds have to be believed.
//!
//! ```no_run
//! use lowtide::generate::{Shape, region};
//! use lowtide_cp::{Limits, Model, Solver};
//!
//! let region = region(Shape::UnrolledLoop, 40, 1);
//! let start: Vec<_> = region.instrs().collect();
//! let class = region.class_ids().next().unwrap();
//! let answer = Solver::find()?.solve(&region, class, Model::Improved, &start, 0, &Limits::default())?;
//! assert!(answer.peak.is_some_and(|peak| peak >= answer.bound));
//! # Ok::<(), lowtide_cp::SolverError>(())
//! ```

mod builder;
mod find;
mod improved;
mod length;
mod library;
mod messages;
pub mod pack;
mod paper;
mod values;

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lowtide::analysis::pressure_bound::pressure_at_ends;
use lowtide::check::check_order;
use lowtide::region::Region;
use lowtide::{ClassId, InstrId};
use prost::Message;
use thiserror::Error;

use improved::ImprovedModel;
pub use length::LengthAnswer;
use library::CpSat;
use messages::{Parameters, Response, Status};
use paper::PaperModel;

/// How the problem is put to the solver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// As in Section III of Chen's paper.
    Paper,
    /// With windows, order encoding, bounds and a hint.
    Improved,
}

impl Model {
    /// Both models.
    pub const ALL: [Model; 2] = [Model::Improved, Model::Paper];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Model::Paper => "cp-paper",
            Model::Improved => "cp",
        }
    }
}

/// How much effort to spend.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Wall time. The solver looks at the clock now and then: with models of many megabytes, it takes some seconds
    /// longer.
    pub time: Duration,
    /// Threads of the solver. With one, the result is always the same as long as the time suffices.
    pub threads: u32,
    /// Where its random choices begin.
    pub seed: u32,
    /// Set it from another thread to end early, with what is known by then.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    /// A minute on one thread.
    fn default() -> Self {
        Limits { time: Duration::from_secs(60), threads: 1, seed: 0, stop: None }
    }
}

/// What the solver found.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The best order known, legal according to the checker.
    pub order: Option<Vec<InstrId>>,
    /// Its peak between instructions, according to the checker.
    pub peak: Option<u32>,
    /// No order has a lower peak, according to the solver, or to the bound it was given.
    pub bound: u32,
    /// Whether the two meet.
    pub proved: bool,
    /// Wall time, the making of the model included.
    pub seconds: f64,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum SolverError {
    /// The library is nowhere to be found.
    #[error(
        "the constraint solver is not installed: run scripts/install-ortools, or let LOWTIDE_ORTOOLS name libortools.so.9 or its folder"
    )]
    NotInstalled,
    /// The library is not where the environment says.
    #[error("LOWTIDE_ORTOOLS names {}, but there is no libortools.so.9; scripts/install-ortools installs it", path.display())]
    Named {
        /// What the environment says.
        path: PathBuf,
    },
    /// The file is not what it should be.
    #[error("{} is not the library of OR-Tools 9.15 with all that belongs to it ({error}); scripts/install-ortools installs it", path.display())]
    NotLoaded {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
    /// The model would take too much memory.
    #[error("the region is too large for this constraint model: it ends at {limit}")]
    TooLarge {
        /// What is allowed.
        limit: &'static str,
    },
    /// The order to start from is not an order of the region.
    #[error("the order to start from is illegal: {0}")]
    BadStart(String),
    /// The model does not know of something that the target has.
    #[error("the constraint model has no place for {0}")]
    NotModelled(&'static str),
    /// The solver and the checker do not agree, or the solver does not understand the model: a mistake in this crate or in the solver.
    #[error("the answer of the constraint solver is refused: {0}")]
    Refused(String),
}

/// The loaded solver. It can be used by several threads at the same time.
pub struct Solver {
    library: CpSat,
}

impl Solver {
    /// Loads the library that the variable `LOWTIDE_ORTOOLS` names, or else the one that `scripts/install-ortools` has installed
    /// in the current folder or in one above the program.
    pub fn find() -> Result<Solver, SolverError> {
        Solver::load(find::library()?)
    }

    /// Loads a library.
    pub fn load(path: PathBuf) -> Result<Solver, SolverError> {
        match CpSat::load(&path) {
            Ok(library) => Ok(Solver { library }),
            Err(error) => {
                // The reason itself is one level down.
                let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Err(SolverError::NotLoaded { path, error })
            }
        }
    }

    /// The lowest peak pressure of a class between instructions.
    ///
    /// `start` is any legal order, and `lower_bound` a proven bound. The improved model searches between the two, and returns `start` if
    /// it finds nothing better; that of the paper makes no use of either.
    pub fn solve(
        &self,
        region: &Region,
        class: ClassId,
        model: Model,
        start: &[InstrId],
        lower_bound: u32,
        limits: &Limits,
    ) -> Result<Answer, SolverError> {
        let began = Instant::now();
        let mut search = Search {
            solver: self,
            region,
            class,
            limits,
            deadline: began + limits.time.min(LONGEST),
            order: None,
            peak: None,
            bound: pressure_at_ends(region)[class.index()].0,
        };
        match model {
            Model::Paper => search.paper()?,
            Model::Improved => search.improved(start, lower_bound)?,
        }
        let Search { order, peak, bound, .. } = search;
        if let Some(peak) = peak.filter(|peak| *peak < bound) {
            return Err(SolverError::Refused(format!(
                "an order has a peak of {peak}, below the bound {bound}"
            )));
        }
        let seconds = began.elapsed().as_secs_f64();
        Ok(Answer { proved: peak == Some(bound), order, peak, bound, seconds })
    }

    fn ask(
        &self,
        model: &[u8],
        linearization_level: Option<i32>,
        limits: &Limits,
        deadline: Instant,
    ) -> Result<Response, SolverError> {
        let parameters = Parameters {
            random_seed: Some((limits.seed & i32::MAX as u32) as i32),
            max_time_in_seconds: Some(deadline.saturating_duration_since(Instant::now()).as_secs_f64()),
            linearization_level,
            // Interrupts end the program as they always do.
            catch_interrupts: Some(false),
            workers: Some(limits.threads.clamp(1, 1024) as i32),
        };
        let answer = self.library.solve(model, &parameters.encode_to_vec(), limits.stop);
        let response = Response::decode(&answer[..])
            .map_err(|error| SolverError::Refused(format!("it is not understood ({error})")))?;
        match response.status() {
            Status::ModelInvalid => Err(SolverError::Refused(format!("invalid model ({})", response.info))),
            _ => Ok(response),
        }
    }
}

/// Longer times are the same to anyone who waits, and fit into all clocks.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// One problem, and what is known about it.
struct Search<'a> {
    solver: &'a Solver,
    region: &'a Region,
    class: ClassId,
    limits: &'a Limits<'a>,
    deadline: Instant,
    order: Option<Vec<InstrId>>,
    peak: Option<u32>,
    bound: u32,
}

impl Search<'_> {
    fn paper(&mut self) -> Result<(), SolverError> {
        let model = PaperModel::new(self.region, self.class)?;
        let response = self.solver.ask(&model.bytes, None, self.limits, self.deadline)?;
        match response.status() {
            Status::Optimal | Status::Feasible => {
                let claimed = response.objective.round();
                self.take(model.order(&response.solution), claimed)?;
                let is_optimal = response.status() == Status::Optimal;
                if is_optimal && self.peak.map(f64::from) != Some(claimed) {
                    return Err(SolverError::Refused(format!(
                        "its optimum {claimed} is not that of its order"
                    )));
                }
            }
            Status::Infeasible => return Err(SolverError::Refused("no order is possible".to_string())),
            Status::Unknown | Status::ModelInvalid => {}
        }
        self.raise_bound(response.bound);
        Ok(())
    }

    fn improved(&mut self, start: &[InstrId], lower_bound: u32) -> Result<(), SolverError> {
        let peaks = check_order(self.region, start)
            .map_err(|violations| SolverError::BadStart(violations[0].to_string()))?;
        let peak = peaks[self.class.index()].between;
        self.order = Some(start.to_vec());
        self.peak = Some(peak);
        self.bound = self.bound.max(lower_bound);
        if self.bound >= peak {
            return Ok(());
        }
        let model = ImprovedModel::new(self.region, self.class, start, self.bound..=peak - 1)?;
        let level = Some(improved::LINEARIZATION_LEVEL);
        let response = self.solver.ask(&model.bytes, level, self.limits, self.deadline)?;
        match response.status() {
            Status::Optimal | Status::Feasible => {
                self.take(model.order(&response.solution), response.objective.round())?;
                self.raise_bound(response.bound);
            }
            Status::Infeasible => self.bound = peak,
            Status::Unknown | Status::ModelInvalid => self.raise_bound(response.bound.min(peak.into())),
        }
        Ok(())
    }

    /// Takes an order after the checker has looked at it.
    fn take(&mut self, order: Option<Vec<InstrId>>, claimed: f64) -> Result<(), SolverError> {
        let order = order.ok_or_else(|| SolverError::Refused("it is not an order".to_string()))?;
        let peaks = check_order(self.region, &order)
            .map_err(|violations| SolverError::Refused(violations[0].to_string()))?;
        let peak = peaks[self.class.index()].between;
        if f64::from(peak) > claimed {
            return Err(SolverError::Refused(format!("its order has a peak of {peak}, not {claimed}")));
        }
        self.order = Some(order);
        self.peak = Some(peak);
        Ok(())
    }

    /// Takes a bound that the solver has proven.
    fn raise_bound(&mut self, bound: f64) {
        self.bound = self.bound.max(whole(bound));
    }
}

/// A bound that the solver has proven. Bounds are whole numbers, up to rounding; without any, it says minus infinity.
fn whole(bound: f64) -> u32 {
    if bound.is_finite() && bound > 0.0 { (bound - 1e-6).ceil() as u32 } else { 0 }
}

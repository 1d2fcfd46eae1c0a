//! Constraint models: fewest registers, and shortest schedules within register limits. They cross-check the
//! exact searches and are the baseline of their comparison.
//!
//! | model | question |
//! |---|---|
//! | `paper.rs` | lowest peak of one class, as in Chen's paper, Section III |
//! | `program.rs` | the same question and matrices as an integer program |
//! | `improved.rs` | the same question in a stronger model |
//! | `length.rs` | shortest schedule within limits on all classes |
//! | [`pack`] | packing two operations into each cycle, by integer programs |
//!
//! CP-SAT of OR-Tools solves the constraint models, and HiGHS the integer programs. `scripts/install-ortools`
//! fetches the library, and this crate loads it at run time. Without the library, the rest of Lowtide works.
//!
//! The independent [checker](lowtide::check) verifies every order of the solver. The solver's
//! bounds have no certificate.
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
mod program;
mod values;

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::OnceLock;
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
use library::highs::{Highs, Solved};
use messages::{Parameters, Response, Status};
use paper::PaperModel;
use program::MinregProgram;

/// The formulation of the problem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// As in Section III of Chen's paper.
    Paper,
    /// With windows, order encoding, bounds and a hint.
    Improved,
    /// The paper's matrices as an integer program, solved by HiGHS on one thread, without random choices.
    Program,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 3] = [Model::Improved, Model::Paper, Model::Program];

    /// Return the name of the model on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::Paper => "cp-paper",
            Model::Improved => "cp",
            Model::Program => "ip-paper",
        }
    }
}

/// The budget of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Wall time. The solver reads the clock now and then: models of many megabytes take some seconds longer.
    pub time: Duration,
    /// Work of the solver, in its own unit: roughly a second of one thread. `None` means no limit. With one
    /// thread, a limit on work ends the run at the same place on every machine.
    pub work: Option<f64>,
    /// Threads of the solver. One thread gives the same result in every run whose time suffices.
    pub threads: u32,
    /// The seed of the solver's random choices.
    pub seed: u32,
    /// Set this flag from another thread to end the run early, with the best result so far.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    /// Return the defaults: one minute on one thread, any work.
    fn default() -> Self {
        Limits { time: Duration::from_secs(60), work: None, threads: 1, seed: 0, stop: None }
    }
}

/// The result of a search for the lowest peak.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The best order known. The checker has accepted it.
    pub order: Option<Vec<InstrId>>,
    /// Its peak between instructions, by the checker.
    pub peak: Option<u32>,
    /// A lower bound on the peak of every order, by the solver or by the caller.
    pub bound: u32,
    /// Whether peak and bound meet.
    pub proved: bool,
    /// Wall time in seconds, with the construction of the model.
    pub seconds: f64,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum SolverError {
    /// The library was not found.
    #[error(
        "the constraint solver is not installed: run scripts/install-ortools, or set LOWTIDE_ORTOOLS to libortools.so.9 or its folder"
    )]
    NotInstalled,
    /// The environment variable does not name the library.
    #[error("LOWTIDE_ORTOOLS is {}, which has no libortools.so.9: run scripts/install-ortools to install it", path.display())]
    Named {
        /// The path in the environment variable.
        path: PathBuf,
    },
    /// The file could not be loaded as OR-Tools.
    #[error("cannot load {} as OR-Tools 9.15 ({error}): run scripts/install-ortools to install it", path.display())]
    NotLoaded {
        /// The file.
        path: PathBuf,
        /// The error of the system's loader.
        error: String,
    },
    /// The model would take too much memory.
    #[error("the region is too large for this constraint model: its limit is {limit}")]
    TooLarge {
        /// The limit.
        limit: &'static str,
    },
    /// The start is not a legal order of the region.
    #[error("the order to start from is illegal: {0}")]
    BadStart(String),
    /// The target has a property that the model lacks.
    #[error("the constraint model does not support {0}")]
    NotModelled(&'static str),
    /// Solver and checker disagree, or the solver rejects the model: a defect of this crate or of the solver.
    #[error("Lowtide rejects the result of the constraint solver: {0}")]
    Refused(String),
}

/// The loaded solver. Several threads may use it at the same time.
pub struct Solver {
    library: CpSat,
    path: PathBuf,
    /// HiGHS, from its first use on.
    highs: OnceLock<Highs>,
}

impl Solver {
    /// Load the library that the variable `LOWTIDE_ORTOOLS` names. Without the variable, load the one that
    /// `scripts/install-ortools` has installed in the current folder or in a folder above the program.
    pub fn find() -> Result<Solver, SolverError> {
        Solver::load(find::library()?)
    }

    /// Load a library.
    pub fn load(path: PathBuf) -> Result<Solver, SolverError> {
        match CpSat::load(&path) {
            Ok(library) => Ok(Solver { library, path, highs: OnceLock::new() }),
            Err(error) => {
                // The source of the error has the reason.
                let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Err(SolverError::NotLoaded { path, error })
            }
        }
    }

    /// Return the lowest peak pressure of a class between instructions.
    ///
    /// `start` is any legal order, and `lower_bound` a proven bound. The improved model searches between the
    /// two, and returns `start` if it finds nothing better. The other models use neither.
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
            Model::Program => search.program()?,
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

    /// Return HiGHS, which lies beside OR-Tools.
    fn highs(&self) -> Result<&Highs, SolverError> {
        if let Some(highs) = self.highs.get() {
            return Ok(highs);
        }
        let path = self.path.with_file_name("libhighs.so.1");
        let highs = Highs::load(&path).map_err(|error| {
            let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            SolverError::NotLoaded { path, error }
        })?;
        Ok(self.highs.get_or_init(|| highs))
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
            max_deterministic_time: limits.work,
            linearization_level,
            // Interrupts end the program as usual.
            catch_interrupts: Some(false),
            workers: Some(limits.threads.clamp(1, 1024) as i32),
        };
        let answer = self.library.solve(model, &parameters.encode_to_vec(), limits.stop);
        let response = Response::decode(&answer[..])
            .map_err(|error| SolverError::Refused(format!("the answer cannot be decoded ({error})")))?;
        match response.status() {
            Status::ModelInvalid => Err(SolverError::Refused(format!("invalid model ({})", response.info))),
            _ => Ok(response),
        }
    }
}

/// Longer times are cut to this: it fits into all clocks.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// One problem and its state of knowledge.
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
            Status::Infeasible => {
                return Err(SolverError::Refused("it claims that no order exists".to_string()));
            }
            Status::Unknown | Status::ModelInvalid => {}
        }
        self.raise_bound(response.bound);
        Ok(())
    }

    fn program(&mut self) -> Result<(), SolverError> {
        let model = MinregProgram::new(self.region, self.class)?;
        let time = self.deadline.saturating_duration_since(Instant::now());
        match self.solver.highs()?.solve(&model.program, false, time) {
            Solved::Optimal(solution, value) => {
                self.take(model.order(&solution), value.round())?;
                self.raise_bound(value);
            }
            Solved::Unknown(bound) => self.raise_bound(bound),
            Solved::Infeasible => {
                return Err(SolverError::Refused("it claims that no order exists".to_string()));
            }
            Solved::Refused => return Err(SolverError::Refused("invalid program".to_string())),
        }
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

    /// Accept an order that the checker confirms.
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

    /// Raise the bound to one that the solver has proven.
    fn raise_bound(&mut self, bound: f64) {
        self.bound = self.bound.max(whole(bound));
    }
}

/// Convert a bound of the solver. Bounds are integers, up to rounding; no bound is minus infinity.
fn whole(bound: f64) -> u32 {
    if bound.is_finite() && bound > 0.0 { (bound - 1e-6).ceil() as u32 } else { 0 }
}

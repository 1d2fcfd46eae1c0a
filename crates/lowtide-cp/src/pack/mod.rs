//! Integer programs for packing two operations into each cycle (Fayyazi et al., sections 2.1 and 2.2), solved
//! by HiGHS. `scripts/install-ortools` fetches the library of HiGHS together with OR-Tools.
//!
//! Each program has three forms. [`Form::Paper`] is the paper's, equation by equation. [`Form::Minimising`]
//! is the same with the narrower ranges of [`Ranges::new`]. [`Form::Decision`] fixes the length and asks
//! whether a packing exists, from the lower bound upwards; it has equations 5 and 22 cycle by cycle.
//! [`PackSolver::by_program`] runs the paper's five steps.

pub(crate) mod program;
mod split;
mod whole;

use std::error::Error as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lowtide::InstrId;
use lowtide::pack::bound::Ranges;
use lowtide::pack::check::check;
use lowtide::pack::list::{pack_by_list, pack_like_sc};
use lowtide::pack::{PackProblem, Packing};

use crate::find;
use crate::library::highs::{Highs, Solved};
use crate::{LONGEST, SolverError, whole as whole_number};
use program::Program;
use split::SplitProgram;
use whole::WholeProgram;

/// The form of the question to the solver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// Minimise the length, with the paper's ranges (equations 10 and 11).
    Paper,
    /// Minimise the length, with narrower ranges.
    Minimising,
    /// Decide one length after the other, from the lower bound upwards, with narrower ranges.
    Decision,
}

impl Form {
    /// Return the ranges of a block.
    fn ranges(self, problem: &PackProblem) -> Ranges {
        match self {
            Form::Paper => Ranges::of_paper(problem),
            Form::Minimising | Form::Decision => Ranges::new(problem),
        }
    }
}

/// The result of the integer programs.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramAnswer {
    /// The shortest packing known. The checker has accepted it.
    pub packing: Packing,
    /// A lower bound on the length, by the solver or by the caller.
    pub bound: u32,
    /// Whether length and bound meet.
    pub proved: bool,
    /// Whether step 4 was the last one: the list schedule meets the bound of the linear program.
    pub by_linear: bool,
    /// Wall time in seconds, with the construction of the programs.
    pub seconds: f64,
}

/// The loaded solver of integer programs.
pub struct PackSolver {
    library: Highs,
}

/// The most bits of a program.
const MOST_BITS: u64 = 30_000;
/// The most cycles of a program: the solver is accurate to a millionth, which has to be less than a cycle.
const MOST_CYCLES: u32 = 100_000;
/// The most terms of all dependences together: one for each two cycles.
const MOST_TERMS: u64 = 50_000_000;

impl PackSolver {
    /// Load the library beside the one that [`crate::Solver::find`] finds.
    pub fn find() -> Result<PackSolver, SolverError> {
        PackSolver::load(find::library()?.with_file_name("libhighs.so.1"))
    }

    /// Load a library.
    pub fn load(path: PathBuf) -> Result<PackSolver, SolverError> {
        match Highs::load(&path) {
            Ok(library) => Ok(PackSolver { library }),
            Err(error) => {
                let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Err(SolverError::NotLoaded { path, error })
            }
        }
    }

    /// Return the bound of the linear program: the paper's program without integrality (step 3).
    ///
    /// `longest` is the length of any packing. The linear program has the ranges of the form, but not the
    /// combinatorial bound on the length.
    pub fn linear_bound(
        &self,
        problem: &PackProblem,
        form: Form,
        longest: u32,
        time: Duration,
    ) -> Result<u32, SolverError> {
        let mut ranges = form.ranges(problem);
        check_size(problem, &ranges, longest)?;
        ranges.length = 0;
        let Some(program) = Built::new(problem, &ranges, longest, Form::Minimising) else {
            return Ok(longest);
        };
        match self.library.solve(program.program(), true, time.min(LONGEST)) {
            Solved::Optimal(_, value) => Ok(whole_number(value)),
            Solved::Unknown(_) => Ok(0),
            Solved::Infeasible => {
                Err(SolverError::Refused("it claims that no packing is as short as a known one".to_string()))
            }
            Solved::Refused => Err(SolverError::Refused("invalid program".to_string())),
        }
    }

    /// Find the shortest packing by the paper's five steps. The steps are: list schedule ([`pack_like_sc`]
    /// for [`Form::Paper`]), matrices (the problem itself), linear bound, stop if the two meet, integer
    /// program in one of its forms.
    pub fn by_program(
        &self,
        problem: &PackProblem,
        form: Form,
        time: Duration,
    ) -> Result<ProgramAnswer, SolverError> {
        let began = Instant::now();
        let list = if form == Form::Paper { pack_like_sc(problem) } else { pack_by_list(problem) };
        let mut bound = self.linear_bound(problem, form, list.length(), time)?;
        if form == Form::Decision {
            bound = bound.max(Ranges::new(problem).length);
        }
        if bound >= list.length() {
            let seconds = began.elapsed().as_secs_f64();
            return Ok(ProgramAnswer { packing: list, bound, proved: true, by_linear: true, seconds });
        }
        let left = time.saturating_sub(began.elapsed());
        let answer = self.shortest(problem, form, &list, bound, left)?;
        Ok(ProgramAnswer { seconds: began.elapsed().as_secs_f64(), ..answer })
    }

    /// Find the shortest packing by an integer program alone (step 5), between a known packing and a proven
    /// bound.
    pub fn shortest(
        &self,
        problem: &PackProblem,
        form: Form,
        start: &Packing,
        bound: u32,
        time: Duration,
    ) -> Result<ProgramAnswer, SolverError> {
        if problem.limit().is_some() {
            return Err(SolverError::NotModelled("a limit on registers"));
        }
        let began = Instant::now();
        let time = time.min(LONGEST);
        let mut ranges = form.ranges(problem);
        check_size(problem, &ranges, start.length())?;
        let mut answer =
            ProgramAnswer { packing: start.clone(), bound, proved: false, by_linear: false, seconds: 0.0 };
        match form {
            Form::Paper | Form::Minimising => {
                ranges.length = bound;
                if let Some(program) = Built::new(problem, &ranges, start.length(), form) {
                    match self.library.solve(program.program(), false, time) {
                        Solved::Optimal(solution, value) => {
                            answer.packing = checked(problem, &program.packing(problem, &solution))?;
                            answer.bound = whole_number(value);
                            if answer.packing.length() != answer.bound {
                                return Err(SolverError::Refused(
                                    "its optimum is not that of its packing".to_string(),
                                ));
                            }
                        }
                        Solved::Unknown(least) => answer.bound = bound.max(whole_number(least)),
                        Solved::Infeasible => {
                            return Err(SolverError::Refused(
                                "it claims that no packing is as short as a known one".to_string(),
                            ));
                        }
                        Solved::Refused => return Err(SolverError::Refused("invalid program".to_string())),
                    }
                }
            }
            Form::Decision => {
                while answer.bound < answer.packing.length() {
                    let length = answer.bound;
                    let left = time.saturating_sub(began.elapsed());
                    if left.is_zero() {
                        break;
                    }
                    let solved = match Built::new(problem, &ranges, length, form) {
                        None => Solved::Infeasible,
                        Some(program) => match self.library.solve(program.program(), false, left) {
                            Solved::Optimal(solution, _) => {
                                answer.packing = checked(problem, &program.packing(problem, &solution))?;
                                break;
                            }
                            other => other,
                        },
                    };
                    match solved {
                        Solved::Infeasible => answer.bound += 1,
                        Solved::Refused => return Err(SolverError::Refused("invalid program".to_string())),
                        Solved::Unknown(_) | Solved::Optimal(..) => break,
                    }
                }
            }
        }
        answer.proved = answer.packing.length() <= answer.bound;
        answer.seconds = began.elapsed().as_secs_f64();
        Ok(answer)
    }
}

/// One of the two programs.
enum Built {
    Whole(WholeProgram),
    Split(SplitProgram),
}

impl Built {
    fn new(problem: &PackProblem, ranges: &Ranges, length: u32, form: Form) -> Option<Built> {
        match problem.has_splits() {
            false => WholeProgram::new(problem, ranges, length, form).map(Built::Whole),
            true => SplitProgram::new(problem, ranges, length, form).map(Built::Split),
        }
    }

    fn program(&self) -> &Program {
        match self {
            Built::Whole(whole) => &whole.program,
            Built::Split(split) => &split.program,
        }
    }

    fn packing(&self, problem: &PackProblem, solution: &[f64]) -> Packing {
        match self {
            Built::Whole(whole) => whole.packing(problem, solution),
            Built::Split(split) => split.packing(solution),
        }
    }
}

/// Return a packing that the checker accepts.
fn checked(problem: &PackProblem, packing: &Packing) -> Result<Packing, SolverError> {
    match check(problem.region(), problem.target(), packing) {
        Ok(_) => Ok(packing.clone()),
        Err(violations) => Err(SolverError::Refused(violations[0].to_string())),
    }
}

fn check_size(problem: &PackProblem, ranges: &Ranges, length: u32) -> Result<(), SolverError> {
    if length > MOST_CYCLES {
        return Err(SolverError::TooLarge { limit: "100,000 cycles" });
    }
    let cycles: Vec<u64> = (ranges.cycles(length))
        .map(|(first, last)| last.map_or(0, |last| u64::from(last + 1 - first.min(last))))
        .collect();
    if cycles.iter().sum::<u64>() > MOST_BITS {
        return Err(SolverError::TooLarge { limit: "30,000 pairs of operation and cycle" });
    }
    let terms = (0..problem.len()).flat_map(|from| {
        let succs = problem.succs(InstrId::at(from)).iter();
        let cycles = &cycles;
        succs.map(move |edge| cycles[from] * (cycles[from] + cycles[edge.instr.index()]))
    });
    match terms.sum::<u64>() <= MOST_TERMS {
        true => Ok(()),
        false => Err(SolverError::TooLarge { limit: "50 million pairs of cycles of dependent operations" }),
    }
}

//! `lowtide pack`: two operations in each cycle.

use std::time::{Duration, Instant};

use lowtide::budget::Budget;
use lowtide::pack::bound::Ranges;
use lowtide::pack::check::{PackReport, check};
use lowtide::pack::list::pack_by_list;
use lowtide::pack::{PackError, PackModel, PackOutcome, PackProblem, Packing, Proof, Units, pack_watched};
use lowtide::progress::Quantity;
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_cp::SolverError;
use lowtide_cp::pack::{Form, PackSolver};
use serde::Serialize;

use super::{print, print_json};
use crate::args::{PackArgs, PackMethod};
use crate::failure::Failure;
use crate::input::{Targets, for_each_kernel};
use crate::progress;
use crate::report::{change, grouped, shorten, table};

#[derive(Serialize)]
struct Document {
    kernels: Vec<KernelResult>,
}

#[derive(Serialize)]
struct KernelResult {
    name: String,
    origin: String,
    target: String,
    regions: Vec<BlockResult>,
}

#[derive(Serialize)]
struct BlockResult {
    name: String,
    n: usize,
    list_length: u32,
    length: u32,
    length_bound: u32,
    /// What has proven that no packing is shorter: bound, search or program; open if nothing has.
    proof: &'static str,
    /// Operations that are split.
    splits: usize,
    /// Of the target's first class, between two cycles.
    list_registers: u32,
    registers: u32,
    /// Whether they are within the limit.
    fits: bool,
    list_levels: u32,
    levels: u32,
    levels_proved: bool,
    nodes: u64,
    seconds: f64,
    issues: Vec<IssueResult>,
}

/// What is issued: a whole operation, or a part of one.
#[derive(Serialize)]
struct IssueResult {
    cycle: u32,
    units: Vec<String>,
    op: String,
    /// The region's instruction.
    instr: u32,
    /// Which part it is, and of how many.
    part: u32,
    parts: u32,
}

pub(crate) fn run(args: &PackArgs) -> Result<(), Failure> {
    let targets = Targets::new(&args.target)?;
    let packer = Packer::new(args.algorithm, args.budget.budget())?;
    if args.registers.is_some() && packer.is_program() {
        return Err(Failure::Message("the integer programs know of no limit on registers".to_string()));
    }
    let mut document = Document { kernels: Vec::new() };
    for_each_kernel(
        &args.input,
        |kernel| {
            let target = targets.of(&kernel)?;
            let mut regions = Vec::with_capacity(kernel.regions.len());
            for region in &kernel.regions {
                let fail = |message: String| {
                    let name = region.name();
                    Failure::Message(format!("kernel {:?}, region {name}: {message}", kernel.name))
                };
                let mut problem = problem(region, target).map_err(fail)?;
                if args.no_split {
                    problem = problem.without_splits();
                }
                if let Some(limit) = args.registers {
                    problem = problem.with_register_limit(limit);
                }
                regions.push(packer.block(&problem, &kernel.name).map_err(fail)?);
            }
            let target = target.name().to_string();
            Ok(KernelResult { name: kernel.name, origin: kernel.origin, target, regions })
        },
        |kernel| {
            document.kernels.push(kernel);
            Ok(())
        },
    )?;
    match (args.json, args.show) {
        (true, _) => print_json(&document)?,
        (_, true) => print(&document.cycles())?,
        _ => print(&document.as_table(args.registers))?,
    }
    progress::summary(&document.facts(args));
    Ok(())
}

/// A region on a target that packs, or what to do about it.
pub(crate) fn problem<'a>(region: &'a Region, target: &'a Target) -> Result<PackProblem<'a>, String> {
    PackProblem::new(region, target).map_err(|error| match error {
        PackError::NoModel(_) => {
            let known = Target::all_builtin()
                .filter(|target| PackModel::of(target).is_ok_and(|model| model.is_some()));
            let known: Vec<String> = known.map(|target| target.name().to_string()).collect();
            format!("{error}; choose one that does with --target (known are {})", known.join(", "))
        }
        _ => error.to_string(),
    })
}

/// The ways to pack a block.
pub(crate) struct Packer {
    method: PackMethod,
    budget: Budget,
    solver: Option<PackSolver>,
}

impl Packer {
    pub(crate) fn new(method: PackMethod, budget: Budget) -> Result<Self, Failure> {
        let fail = |error: SolverError| Failure::Message(error.to_string());
        let solver = match method {
            PackMethod::List | PackMethod::Search => None,
            PackMethod::Program | PackMethod::ProgramPaper => Some(PackSolver::find().map_err(fail)?),
            // Where nothing was asked for, nothing needs to be there. One that is broken is told.
            PackMethod::Auto => match PackSolver::find() {
                Err(SolverError::NotInstalled) => None,
                found => Some(found.map_err(fail)?),
            },
        };
        let packer = Packer { method, budget, solver };
        match packer.is_program() && packer.budget.time_per_instr.is_none() {
            true => Err(Failure::Message(
                "integer programs cannot count --nodes: limit their time by --budget instead".to_string(),
            )),
            false => Ok(packer),
        }
    }

    /// Whether only integer programs are asked.
    fn is_program(&self) -> bool {
        matches!(self.method, PackMethod::Program | PackMethod::ProgramPaper)
    }

    /// Packs a block. The checker has looked at what comes back.
    pub(crate) fn pack(&self, problem: &PackProblem, kernel: &str) -> Result<PackOutcome, String> {
        let search = || {
            let log = progress::log(Quantity::Length, kernel, problem.region());
            let outcome = pack_watched(problem, self.budget, log.watch());
            log.finish(outcome.nodes);
            outcome
        };
        let outcome = match self.method {
            PackMethod::List => listed(problem),
            PackMethod::Search => search(),
            PackMethod::Auto => {
                let began = Instant::now();
                let mut outcome = search();
                self.close(problem, &mut outcome, began)?;
                outcome
            }
            PackMethod::Program => self.programmed(problem, Form::Decision)?,
            PackMethod::ProgramPaper => self.programmed(problem, Form::Minimising)?,
        };
        for (packing, name) in [(&outcome.list, "list schedule"), (&outcome.best, "packing")] {
            let report = checked(problem, packing, name)?;
            if report.length != packing.length() {
                return Err(format!("the length of the {name} is wrong"));
            }
            if let Some((class, most)) = problem.limit().filter(|_| name == "packing" && outcome.fits)
                && report.peaks[class.index()] > most
            {
                return Err(format!("the {name} has more registers than allowed"));
            }
        }
        match outcome.best.length() < outcome.bound {
            true => Err("the bound on the length is wrong".to_string()),
            false => Ok(outcome),
        }
    }

    fn time(&self, problem: &PackProblem) -> Option<Duration> {
        let operations = u32::try_from(problem.len()).unwrap_or(u32::MAX);
        self.budget.time_per_instr.map(|time| time.saturating_mul(operations))
    }

    /// Gives what stays open to the integer program, with as much time again.
    fn close(&self, problem: &PackProblem, outcome: &mut PackOutcome, began: Instant) -> Result<(), String> {
        let (Some(solver), Some(time)) = (&self.solver, self.time(problem)) else { return Ok(()) };
        if outcome.is_proved() || problem.limit().is_some() {
            return Ok(());
        }
        let time = (2 * time).saturating_sub(began.elapsed());
        match solver.shortest(problem, Form::Decision, &outcome.best, outcome.bound, time) {
            Ok(answer) => outcome.improve(Some(answer.packing), answer.bound, Proof::Program),
            Err(SolverError::TooLarge { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// The paper's five steps.
    fn programmed(&self, problem: &PackProblem, form: Form) -> Result<PackOutcome, String> {
        let mut outcome = listed(problem);
        let (Some(solver), Some(time)) = (&self.solver, self.time(problem)) else { return Ok(outcome) };
        match solver.by_program(problem, form, time) {
            Ok(answer) => {
                // The program stands for itself.
                outcome.bound = 0;
                outcome.proof = Proof::Open;
                let proof = if answer.by_linear { Proof::Bound } else { Proof::Program };
                outcome.improve(Some(answer.packing), answer.bound, proof);
                Ok(outcome)
            }
            Err(SolverError::TooLarge { .. }) => Ok(outcome),
            Err(error) => Err(error.to_string()),
        }
    }

    fn block(&self, problem: &PackProblem, kernel: &str) -> Result<BlockResult, String> {
        let began = Instant::now();
        let outcome = self.pack(problem, kernel)?;
        let seconds = began.elapsed().as_secs_f64();
        let list = checked(problem, &outcome.list, "list schedule")?;
        let best = checked(problem, &outcome.best, "packing")?;
        let registers =
            |report: &PackReport| problem.primary_class().map_or(0, |class| report.peaks[class.index()]);
        let region = problem.region();
        Ok(BlockResult {
            name: region.name().to_string(),
            n: region.len(),
            list_length: list.length,
            length: best.length,
            length_bound: outcome.bound,
            proof: outcome.proof.name(),
            splits: best.splits,
            list_registers: registers(&list),
            registers: registers(&best),
            fits: outcome.fits,
            list_levels: list.levels,
            levels: best.levels,
            levels_proved: outcome.levels_proved,
            nodes: outcome.nodes,
            seconds,
            issues: issues(problem, &outcome.best),
        })
    }
}

/// The list schedule and what the bound says about it.
fn listed(problem: &PackProblem) -> PackOutcome {
    let list = pack_by_list(problem);
    let first_bound = Ranges::new(problem).length;
    let proof = if list.length() == first_bound { Proof::Bound } else { Proof::Open };
    let peaks = lowtide::pack::measure(problem, &list).peaks;
    let fits = problem.limit().is_none_or(|(class, most)| peaks[class.index()] <= most);
    PackOutcome {
        best: list.clone(),
        list,
        bound: first_bound,
        first_bound,
        proof: if fits { proof } else { Proof::Open },
        fits,
        levels_proved: false,
        nodes: 0,
    }
}

fn checked(problem: &PackProblem, packing: &Packing, name: &str) -> Result<PackReport, String> {
    check(problem.region(), problem.target(), packing)
        .map_err(|violations| format!("the {name} is illegal: {}", violations[0]))
}

fn issues(problem: &PackProblem, packing: &Packing) -> Vec<IssueResult> {
    let names = &problem.model().units;
    let issue = |placed: &lowtide::pack::Placed| {
        let on = |unit: &usize| placed.units.0 & Units::only(*unit).0 != 0;
        let operation = problem.operation(placed.instr);
        IssueResult {
            cycle: placed.cycle,
            units: (0..2).filter(on).map(|unit| names[unit].clone()).collect(),
            op: problem.part_name(placed.instr, placed.format, placed.part).to_string(),
            instr: placed.instr.0,
            part: placed.part,
            parts: placed.format.checked_sub(1).map_or(1, |split| operation.splits[split].parts()),
        }
    };
    packing.placed().iter().map(issue).collect()
}

impl IssueResult {
    fn text(&self) -> String {
        match self.parts {
            1 => format!("#{} {}", self.instr, self.op),
            parts => format!("#{} {} ({} of {parts})", self.instr, self.op, self.part + 1),
        }
    }
}

impl Document {
    /// What the summary tells.
    fn facts(&self, args: &PackArgs) -> Vec<String> {
        let blocks = || self.kernels.iter().flat_map(|kernel| &kernel.regions);
        let sum = |figure: &dyn Fn(&BlockResult) -> u32| blocks().map(|block| u64::from(figure(block))).sum();
        let (list, best, bound) =
            (sum(&|block| block.list_length), sum(&|block| block.length), sum(&|block| block.length_bound));
        let proved = blocks().filter(|block| block.proof != Proof::Open.name()).count();
        let mut targets: Vec<&str> = self.kernels.iter().map(|kernel| kernel.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        let budget = progress::budget_in_words(args.budget.budget(), "operation", "block");
        vec![
            format!("target {}, algorithm {}, {budget}", targets.join(" and "), args.algorithm.name()),
            format!(
                "cycles {} -> {} (at least {}, gap {})",
                grouped(list),
                grouped(best),
                grouped(bound),
                progress::gap(best, bound)
            ),
            format!("proven: {} of {} blocks", grouped(proved as u64), grouped(blocks().count() as u64)),
        ]
    }

    fn as_table(&self, limit: Option<u32>) -> String {
        let header =
            ["kernel", "region", "n", "cycles", "bound", "proven by", "splits", "registers", "levels", "ms"];
        let mut rows = table(2, &header);
        let (mut blocks, mut proved, mut list, mut best) = (0, 0, 0, 0);
        for kernel in &self.kernels {
            for block in &kernel.regions {
                blocks += 1;
                proved += u64::from(block.proof != Proof::Open.name());
                list += u64::from(block.list_length);
                best += u64::from(block.length);
                let between = |before: u32, after: u32| change(before.into(), after.into());
                let over = if block.fits { "" } else { "!" };
                rows.add_row([
                    shorten(&kernel.name, 16),
                    shorten(&block.name, 16),
                    block.n.to_string(),
                    between(block.list_length, block.length),
                    block.length_bound.to_string(),
                    block.proof.to_string(),
                    block.splits.to_string(),
                    format!("{}{over}", between(block.list_registers, block.registers)),
                    between(block.list_levels, block.levels),
                    format!("{:.1}", 1e3 * block.seconds),
                ]);
            }
        }
        let mut text = format!(
            "{rows}\n\n{} {}, {} proven; {} cycles (list schedule: {}).\nArrows lead from the list schedule to the best.",
            grouped(blocks),
            if blocks == 1 { "block" } else { "blocks" },
            grouped(proved),
            grouped(best),
            grouped(list)
        );
        let over = self.kernels.iter().flat_map(|kernel| &kernel.regions).filter(|block| !block.fits);
        let over = over.count();
        if let Some(limit) = limit.filter(|_| over > 0) {
            text += &format!(
                "\n!: more than {limit} registers. No packing with so few was found for {over} blocks."
            );
        }
        text
    }

    fn cycles(&self) -> String {
        let mut parts = Vec::new();
        for kernel in &self.kernels {
            for block in &kernel.regions {
                parts.push(format!(
                    "kernel {}, region {}: {} operations in {} cycles\n(list: {}, at least {}, {})\n{}",
                    shorten(&kernel.name, 16),
                    shorten(&block.name, 16),
                    block.n,
                    block.length,
                    block.list_length,
                    block.length_bound,
                    match block.proof {
                        "open" => "open".to_string(),
                        proof => format!("proven by {proof}"),
                    },
                    block.cycles(),
                ));
            }
        }
        parts.join("\n\n")
    }
}

impl BlockResult {
    /// One line for each cycle.
    fn cycles(&self) -> String {
        let mut units: Vec<&String> = self.issues.iter().flat_map(|issue| &issue.units).collect();
        units.sort_unstable();
        units.dedup();
        let titles: Vec<&str> = units.iter().map(|unit| unit.as_str()).collect();
        let mut rows = table(2 + titles.len(), &[&["cycle"][..], &titles, &["without a unit"]].concat());
        for now in self.issues.chunk_by(|a, b| a.cycle == b.cycle) {
            let mut cells = vec![now[0].cycle.to_string()];
            for unit in &units {
                let own = now.iter().find(|issue| issue.units.contains(*unit));
                cells.push(own.map_or_else(String::new, |issue| shorten(&issue.text(), 28)));
            }
            let free: Vec<String> =
                now.iter().filter(|issue| issue.units.is_empty()).map(IssueResult::text).collect();
            cells.push(shorten(&free.join(", "), 32));
            rows.add_row(cells);
        }
        crate::report::trimmed(&rows)
    }
}

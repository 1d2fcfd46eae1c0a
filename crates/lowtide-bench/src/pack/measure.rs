//! The measurement of `lowtide bench pack`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use lowtide::RegisterId;
use lowtide::generate::shaders;
use lowtide::pack::check::check;
use lowtide::pack::{BankRule, PackProblem, Packing, Proof, allocated};
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide_cp::pack::{Form, PackSolver};
use lowtide_tool::args::name_of;
use lowtide_tool::input::{Targets, for_each_kernel, load_target};
use lowtide_tool::pack::{Packer, problem};
use lowtide_tool::{Failure, progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::args::PackArgs;
use super::document::{Document, Row};

/// The most groups of blocks. More groups become one.
const MOST_GROUPS: usize = 5;

/// A block to measure.
struct Block<'a> {
    group: String,
    name: String,
    region: Region,
    target: &'a Target,
}

/// Pack all blocks.
pub(super) fn measure(args: &PackArgs) -> Result<Document, Failure> {
    let targets = Targets::new(&args.target)?;
    let machine = load_target(args.target.target.as_deref().unwrap_or("vs"))?;
    let mut document = Document { generated: args.generated, ..Document::default() };
    let blocks = match args.generated {
        true => generated(args, &machine),
        false => read(args, &targets, &mut document.repeated)?,
    };
    if blocks.is_empty() {
        return Err(Failure::Nothing(
            "no block has a size in the range of --min-size and --max-size".to_string(),
        ));
    }
    let packer = Packer::new(args.algorithm, args.list, &args.budget)?;
    let linear = match args.linear {
        true => Some(PackSolver::find().map_err(|error| Failure::Message(error.to_string()))?),
        false => None,
    };
    let bar = progress::bar(blocks.len() as u64, "{bar:40} {pos} of {len} blocks, {elapsed}, {eta} left");
    let rows: Result<Vec<Row>, Failure> = (blocks.par_iter())
        .map(|block| {
            let row = block.measure(&packer, linear.as_ref());
            bar.inc(1);
            row.map_err(|message| {
                Failure::Message(format!("{}, region {}: {message}", block.group, block.name))
            })
        })
        .collect();
    bar.finish_and_clear();
    document.targets = blocks.iter().map(|block| block.target.name().to_string()).collect();
    document.budget = args.budget.in_words();
    document.algorithm = name_of(&args.algorithm);
    document.list = name_of(&packer.list());
    document.fill(rows?);
    Ok(document)
}

/// Generate blocks.
fn generated<'a>(args: &PackArgs, target: &'a Target) -> Vec<Block<'a>> {
    let blocks = shaders::suite(args.seed).into_iter();
    let wanted = blocks.filter(|(_, region)| args.sizes().contains(&region.len()));
    wanted
        .map(|(group, region)| Block {
            group: group.name().to_string(),
            name: region.name().to_string(),
            region,
            target,
        })
        .collect()
}

/// Read the distinct blocks of the input. `repeated` counts the others.
fn read<'a>(args: &PackArgs, targets: &'a Targets, repeated: &mut u64) -> Result<Vec<Block<'a>>, Failure> {
    let mut blocks = Vec::new();
    let mut seen = FxHashSet::default();
    for_each_kernel(
        &args.input(),
        |kernel| Ok((targets.of(&kernel)?, kernel)),
        |(target, kernel)| {
            for region in kernel.regions {
                if !args.sizes().contains(&region.len()) {
                    continue;
                }
                // A target that does not fit is reported before anything is measured.
                let problem = problem(&region, target).map_err(|message| {
                    Failure::Message(format!("kernel {:?}, region {}: {message}", kernel.name, region.name()))
                })?;
                if !seen.insert((fingerprint(&problem), target.name())) {
                    *repeated += 1;
                    continue;
                }
                let name = format!("{}/{}", kernel.name, region.name());
                blocks.push(Block { group: kernel.origin.clone(), name, region, target });
            }
            Ok(())
        },
    )?;
    let groups: FxHashSet<&String> = blocks.iter().map(|block| &block.group).collect();
    if groups.len() > MOST_GROUPS || groups.iter().any(|group| group.is_empty()) {
        for block in &mut blocks {
            block.group = "all".to_string();
        }
    }
    Ok(blocks)
}

/// Return a number that is equal for blocks with the same operations on the same registers: operands decide
/// about conflicts.
fn fingerprint(problem: &PackProblem) -> u64 {
    let region = problem.region();
    let mut hasher = DefaultHasher::new();
    for instr in region.instrs() {
        region.opcode(instr).hash(&mut hasher);
        region.operands(instr).hash(&mut hasher);
        for def in region.defs(instr) {
            def.operand.hash(&mut hasher);
        }
        region.succs(instr).hash(&mut hasher);
    }
    for (position, register) in region.registers().iter().enumerate() {
        (register.class, register.lanes, register.lane_weight).hash(&mut hasher);
        // Machine registers have banks.
        let name = region.register_name(RegisterId::at(position));
        let number = |rule: &BankRule| name.strip_prefix(&*rule.numbered)?.parse::<u32>().ok();
        problem.model().banks.iter().map(number).for_each(|number| number.hash(&mut hasher));
    }
    region.live_in().hash(&mut hasher);
    region.live_out().hash(&mut hasher);
    hasher.finish()
}

impl Block<'_> {
    /// Pack the block without splits and with them.
    fn measure(&self, packer: &Packer, linear: Option<&PackSolver>) -> Result<Row, String> {
        let problem = problem(&self.region, self.target)?;
        let whole = problem.without_splits();
        let began = Instant::now();
        let plain = packer.pack(&whole, &self.group)?;
        let plain_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let mut split =
            if problem.has_splits() { packer.pack(&problem, &self.group)? } else { plain.clone() };
        let split_seconds = if problem.has_splits() { began.elapsed().as_secs_f64() } else { 0.0 };
        if split.bound > plain.best.length() {
            return Err("a packing without splits is shorter than the bound with them".to_string());
        }
        // The search with splits may miss a packing that the search without them has found.
        split.improve(Some(plain.best.clone()), 0, Proof::Search);
        let by_linear: Option<[bool; 2]> = match linear {
            None => None,
            Some(solver) => {
                let list = plain.list.length();
                let proves = |form: Form| -> Result<bool, String> {
                    let bound = solver.linear_bound(&whole, form, list, Duration::from_secs(60));
                    Ok(bound.map_err(|error| error.to_string())? == list)
                };
                Some([proves(Form::Paper)?, proves(Form::Minimising)?])
            }
        };
        let report = |packing: &Packing| {
            check(&self.region, self.target, packing).map_err(|violations| violations[0].to_string())
        };
        let (list, best) = (report(&plain.list)?, report(&plain.best)?);
        let registers = |problem: &PackProblem, peaks: &[u32]| {
            problem.primary_class().map_or(0, |class| peaks[class.index()])
        };
        let taken = |packing: &Packing| registers(&whole, &allocated(&whole, packing));
        Ok(Row {
            group: self.group.clone(),
            name: self.name.clone(),
            size: self.region.len(),
            list: list.length,
            best: best.length,
            split: split.best.length(),
            proofs: [plain.proof, split.proof],
            by_bound: plain.list.length() == plain.first_bound,
            by_linear,
            list_registers: registers(&whole, &list.peaks),
            best_registers: registers(&whole, &best.peaks),
            list_allocated: taken(&plain.list),
            best_allocated: taken(&plain.best),
            list_levels: list.levels,
            best_levels: best.levels,
            seconds: [plain_seconds, split_seconds],
        })
    }
}

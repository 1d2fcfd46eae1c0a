//! What ants are asked for real kernels and for made ones.

#[path = "../../../../tests/skip.rs"]
pub(crate) mod skip;

use std::path::Path;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::colony::{Options, Parameters, Task};
use lowtide::generate::{self, Random, Shape};
use lowtide::list::few_registers::few_registers;
use lowtide::pipeline::{self, KernelPlan, open_tasks};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide_gpu::Device;
use lowtide_io::KernelReader;

#[allow(unused_imports)] // not all tests need a GPU
use skip::{Missing, skip};

/// The GPU, if there is one. Without one the test is skipped, or fails where the variable `LOWTIDE_NEEDS_GPU`
/// is set.
#[allow(dead_code)] // not all tests need one
pub(crate) fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("LOWTIDE_NEEDS_GPU").is_none(), "{error}");
            skip(Missing::Unobtainable, error);
            None
        }
    }
}

/// The kernels of the repository that leave something to ants.
pub(crate) fn real_kernels() -> Vec<Kernel> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/colony/rocprim.jsonl.gz");
    KernelReader::open(&file).expect("readable").map(Result::unwrap).collect()
}

/// What the pipeline asks of ants for kernels, in both passes, with so many choices for each.
pub(crate) fn asked(kernels: &[Kernel], nodes: u64) -> Vec<Task> {
    let target = Target::builtin("gfx906").expect("built in");
    let budget = Budget { nodes: Some(nodes), ..Budget::UNLIMITED };
    let options = pipeline::Options::default().with_algorithm(Algorithm::COLONY).with_budget(budget);
    let session = Session::new();
    let plan = |kernel| KernelPlan::new(kernel, &target, &options, (&session).into()).expect("known classes");
    let mut plans: Vec<KernelPlan> = kernels.iter().map(plan).collect();
    let mut tasks = Vec::new();
    while plans.iter().any(|plan| !plan.is_done()) {
        for open in open_tasks(&plans) {
            tasks.push(open.task().clone());
            let answer = open.task().run(2);
            open.answer(answer);
        }
        plans.iter_mut().for_each(|plan| plan.advance().expect("legal schedules"));
    }
    tasks
}

/// Small and middle-sized tasks of all kinds, with all kinds of parameters; all have as many groups.
pub(crate) fn made(count: u64) -> Vec<Task> {
    let mut random = Random::new(11);
    let narrow = Target::builtin("gfx906").expect("built in");
    let wide = Target::parse(
        "name = \"wide\"\ndescription = \"for tests\"\n[issue]\nwidth = 3\n\
         [[file]]\nname = \"any\"\nsize = 1000\ngranule = 1\nwaves = 1\nclasses = [{ name = \"*\", max = 1000 }]\n",
    );
    let wide = wide.expect("a valid target");
    let mut tasks = Vec::new();
    for seed in 0..count {
        let size = 1 + random.below(if seed % 7 == 0 { 150 } else { 30 });
        let region = generate::region(random.pick(&Shape::ALL), size, seed);
        let target = if seed % 3 == 0 { &wide } else { &narrow };
        let problem = Problem::new(&region, target, Goal::Occupancy).expect("known classes");
        let parameters = Parameters {
            seed,
            groups: 5,
            explorations: random.pick(&[0, 3, 10, 1000]),
            stall_share: random.pick(&[0, 25, 50, 75, 100]),
            remains: random.pick(&[6_250, 8_000, 8_125, 10_000]),
            slack: random.pick(&[0, 2, 64]),
            patience: [3, 4, 5],
            guards: random.chance(70),
            ..Parameters::default()
        };
        let budget = Budget { nodes: Some(1_000 + random.below(50_000) as u64), ..Budget::UNLIMITED };
        let options = Options { budget, parameters };
        let few = few_registers(&problem);
        let source: Vec<_> = region.instrs().collect();
        let peaks = problem.measure(&Schedule::in_order(&problem, few.clone())).peaks;
        let more = random.below(4) as u32;
        let limits: Vec<Option<u32>> =
            peaks.iter().map(|peak| random.chance(80).then_some(peak.between + more)).collect();
        let step = |share: u32| peaks.iter().map(|peak| Some(peak.between * share / 4)).collect();
        tasks.extend(Task::length(&problem, &limits, &[&few], options));
        tasks.extend(Task::pressure(&problem, &[step(2), step(3), step(4)], &source, options));
    }
    tasks
}

//! Sessions with a store: the same results, no search twice, and nothing believed that is not true.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lowtide::budget::Budget;
use lowtide::generate::{Random, Shape, region};
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::problem::Goal;
use lowtide::region::Kernel;
use lowtide::session::record::{self, Record};
use lowtide::session::{Counters, Counts, Key, Secret, Session, Store};
use lowtide::target::Target;

const GOALS: [Goal; 4] = [Goal::MinReg, Goal::Occupancy, Goal::Length, Goal::Throughput];
const SECRET: Secret = [9; 32];

/// A store in memory.
#[derive(Debug, Default)]
struct Memory {
    entries: Mutex<BTreeMap<Key, Vec<u8>>>,
    secret: Option<Secret>,
    counters: Counters,
}

impl Memory {
    fn new(entries: BTreeMap<Key, Vec<u8>>, secret: Option<Secret>) -> Arc<Self> {
        Arc::new(Memory { entries: Mutex::new(entries), secret, counters: Counters::default() })
    }

    fn entries(&self) -> BTreeMap<Key, Vec<u8>> {
        self.entries.lock().unwrap().clone()
    }
}

impl Store for Memory {
    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.entries.lock().unwrap().get(key).cloned()
    }

    fn put(&self, key: &Key, entry: &[u8]) {
        self.entries.lock().unwrap().insert(*key, entry.to_vec());
    }

    fn secret(&self) -> Option<Secret> {
        self.secret
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Kernels of three regions, with a few steps of occupancy.
fn kernels() -> Vec<Kernel> {
    (0..6)
        .map(|seed| {
            let shapes = Shape::ALL.into_iter().cycle().skip(seed as usize).take(3);
            Kernel::new(format!("k{seed}"), shapes.map(|shape| region(shape, 26, seed)).collect())
        })
        .collect()
}

fn target() -> Target {
    let file = |name: &str, size: u32, classes: &str| {
        format!("[[file]]\nname = \"{name}\"\nsize = {size}\ngranule = 1\nwaves = 8\nclasses = [{classes}]\n")
    };
    let text = format!(
        "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n{}{}",
        file("vector", 40, "{ name = \"vgpr\", max = 14 }"),
        file("other", 40, "{ name = \"*\", max = 14 }")
    );
    Target::parse(&text).expect("a valid target")
}

fn nodes(nodes: u64) -> Budget {
    Budget { nodes: Some(nodes), ..Budget::UNLIMITED }
}

fn time(time: Duration) -> Budget {
    Budget { time_per_instr: Some(time), ..Budget::UNLIMITED }
}

/// Schedules all kernels for all goals with one session.
fn run(session: &Session, budget: Budget) -> Vec<KernelOutcome> {
    let (kernels, target) = (kernels(), target());
    let mut outcomes = Vec::new();
    for goal in GOALS {
        let options = Options::default().with_goal(goal).with_budget(budget);
        for kernel in &kernels {
            let mut outcome = schedule_kernel(kernel, &target, &options, session).expect("a legal schedule");
            // The logs have times.
            outcome.regions.iter_mut().for_each(|region| region.searches.clear());
            outcomes.push(outcome);
        }
    }
    outcomes
}

fn run_on(store: &Arc<Memory>, budget: Budget) -> (Vec<KernelOutcome>, Counts) {
    let outcomes = run(&Session::with_store(Arc::clone(store) as Arc<dyn Store>), budget);
    (outcomes, store.counters.counts())
}

#[test]
fn steps_give_the_same_result_with_an_empty_and_a_full_store() {
    for budget in [nodes(200), nodes(5_000)] {
        let without = run(&Session::new(), budget);
        let store = Memory::new(BTreeMap::new(), Some(SECRET));
        let (empty, counts) = run_on(&store, budget);
        assert_eq!(empty, without);
        assert!(counts.misses > 100 && counts.ignored == 0 && counts.foreign == 0, "{counts:?}");
        // Answers of another budget change nothing either.
        run_on(&store, nodes(1_000));
        run_on(&store, time(Duration::from_micros(50)));
        let full = Memory::new(store.entries(), Some(SECRET));
        let (again, counts) = run_on(&full, budget);
        assert_eq!(again, without);
        assert!(counts.hits > 100 && counts.misses == 0 && counts.ignored == 0, "{counts:?}");
        assert_eq!(full.entries(), store.entries(), "nothing new is written");
    }
}

/// Results in which all is proven have the same figures. (Equal throughput can come from different waves.)
#[track_caller]
fn assert_as_good(found: &[KernelOutcome], proven: &[KernelOutcome]) {
    let kernels = kernels().len();
    for (number, (found, proven)) in found.iter().zip(proven).enumerate() {
        let goal = GOALS[number / kernels];
        for (found, proven) in found.regions.iter().zip(&proven.regions) {
            assert!(found.optimal && proven.optimal, "{goal:?}");
            match goal {
                Goal::MinReg => assert_eq!(found.measure.peaks[0].between, proven.measure.peaks[0].between),
                Goal::Occupancy | Goal::Length => assert_eq!(found.measure.length, proven.measure.length),
                Goal::Throughput => {}
            }
        }
        assert!(goal != Goal::Occupancy || found.occupancy == proven.occupancy);
    }
}

#[test]
fn less_time_is_answered_at_once_and_more_time_goes_on() {
    let long = Duration::from_secs(20);
    let store = Memory::new(BTreeMap::new(), Some(SECRET));
    let (first, _) = run_on(&store, time(long));
    assert!(first.iter().flat_map(|kernel| &kernel.regions).all(|region| region.optimal), "all is proven");
    for less in [long, long / 2] {
        let (again, counts) = run_on(&Memory::new(store.entries(), Some(SECRET)), time(less));
        assert!(again == first, "less time has another result");
        // The work for a bound on the length depends on the time, so less time has one more question for each
        // graph.
        let graphs = store.entries().len() as u64;
        let misses = if less < long { graphs } else { 0 };
        assert!(counts.misses <= misses && counts.hits > 4 * graphs, "{graphs} graphs, {counts:?}");
        assert_eq!(counts.ignored, 0);
    }
    // A short search leaves something open, and a longer one goes on.
    let store = Memory::new(BTreeMap::new(), Some(SECRET));
    let (short, _) = run_on(&store, time(Duration::from_nanos(1)));
    assert!(!short.iter().flat_map(|kernel| &kernel.regions).all(|region| region.optimal));
    let (longer, counts) = run_on(&store, time(long));
    assert_as_good(&longer, &first);
    assert!(counts.ignored == 0 && counts.misses > 0, "{counts:?}");
}

/// Changes a body at random: bits, length, parts of another one.
fn mutated(body: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut body = body.to_vec();
    match random.below(5) {
        0 => body.truncate(random.below(body.len() + 1)),
        1 => body.extend((0..1 + random.below(8)).map(|_| random.below(256) as u8)),
        2 => body = others[random.below(others.len())].clone(),
        // The first number is the budget.
        3 => body.splice(..1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).for_each(drop),
        _ => {
            for _ in 0..1 + random.below(4) {
                if !body.is_empty() {
                    let at = random.below(body.len());
                    body[at] ^= 1 << random.below(8);
                }
            }
        }
    }
    body
}

/// Every record of every entry is replaced by a hostile one with a correct checksum.
fn hostile(
    entries: &BTreeMap<Key, Vec<u8>>,
    secret: Option<&Secret>,
    random: &mut Random,
) -> BTreeMap<Key, Vec<u8>> {
    let bodies: Vec<Vec<u8>> =
        entries.values().flat_map(|entry| record::read(entry).0).map(|record| record.body).collect();
    let change = |(key, entry): (&Key, &Vec<u8>)| {
        let (records, is_damaged) = record::read(entry);
        assert!(!is_damaged && !records.is_empty());
        let records: Vec<Record> = records
            .iter()
            .map(|record| Record::new(key, record.question, mutated(&record.body, &bodies, random), secret))
            .collect();
        (*key, record::write(&records))
    };
    entries.iter().map(change).collect()
}

#[test]
fn hostile_entries_change_nothing() {
    let mut random = Random::new(5);
    let by_steps = Memory::new(BTreeMap::new(), Some(SECRET));
    let (expected, _) = run_on(&by_steps, nodes(500));
    let in_time = Memory::new(BTreeMap::new(), Some(SECRET));
    let (proven, _) = run_on(&in_time, time(Duration::from_secs(20)));
    for _ in 0..6 {
        // Damage without a correct checksum.
        let damage = |(key, entry): (&Key, &Vec<u8>)| {
            let mut entry = entry.clone();
            let at = random.below(entry.len());
            entry[at] ^= 1 << random.below(8);
            (*key, entry)
        };
        let damaged = Memory::new(by_steps.entries().iter().map(damage).collect(), Some(SECRET));
        let (found, counts) = run_on(&damaged, nodes(500));
        assert_eq!(found, expected);
        assert!(counts.ignored > 0 && counts.misses > 0, "{counts:?}");

        let foreign = hostile(&by_steps.entries(), Some(&[1; 32]), &mut random);
        let (found, counts) = run_on(&Memory::new(foreign, Some(SECRET)), nodes(500));
        assert_eq!(found, expected);
        assert!(counts.foreign > 0 && counts.hits == 0, "{counts:?}");

        let foreign = hostile(&in_time.entries(), None, &mut random);
        let (found, counts) = run_on(&Memory::new(foreign, Some(SECRET)), time(Duration::from_secs(20)));
        assert_as_good(&found, &proven);
        assert!(counts.foreign > 0 && counts.ignored > 0, "{counts:?}");

        // Even a seal makes no illegal order legal: every schedule passes the checker.
        for (entries, budget) in [(&by_steps, nodes(500)), (&in_time, time(Duration::from_micros(1)))] {
            let sealed = hostile(&entries.entries(), Some(&SECRET), &mut random);
            let (_, counts) = run_on(&Memory::new(sealed, Some(SECRET)), budget);
            assert!(counts.ignored > 0, "{counts:?}");
        }
    }
}

/// A store that others can write to helps without a secret, too: an order that meets a bound needs no search.
#[test]
fn complete_evidence_needs_no_seal() {
    let store = Memory::new(BTreeMap::new(), None);
    let (first, _) = run_on(&store, time(Duration::from_secs(20)));
    let (again, counts) = run_on(&Memory::new(store.entries(), None), time(Duration::from_secs(20)));
    assert_as_good(&again, &first);
    let graphs = store.entries().len() as u64;
    assert!(
        counts.hits > 2 * graphs && counts.foreign == counts.hits + counts.misses,
        "{graphs} graphs, {counts:?}"
    );
    assert_eq!(counts.ignored, 0);
}

/// Stored answers must not outlive a change of the algorithms: with a budget of steps, a store would then
/// change results. If this test fails because an algorithm has changed, raise `MEANING` in `session/kept.rs`,
/// and write the new number here.
#[test]
fn the_meaning_of_answers_has_a_number() {
    let store = Memory::new(BTreeMap::new(), Some(SECRET));
    let (outcomes, _) = run_on(&store, nodes(2_000));
    let mut sum = 0u64;
    let mut add = |number: u32| sum = sum.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(number));
    for region in outcomes.iter().flat_map(|kernel| &kernel.regions) {
        region.schedule.order().iter().for_each(|instr| add(instr.0));
        region.bounds.peaks.iter().for_each(|peak| add(*peak));
        add(region.bounds.length);
    }
    assert_eq!(sum, 11_649_248_236_702_422_284);
}

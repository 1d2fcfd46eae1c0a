//! Eight processes on one embedded store, one of which is killed every second: is an entry lost or wrong, and
//! how long does a process wait?
//!
//! ```sh
//! cargo run --release -p lowtide-store --example hammer -- FOLDER SECONDS
//! ```
//! Every operation is timed, and beside it the same work without a store: a busy machine interrupts both.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lowtide::random::Random;
use lowtide::session::{Key, Store};
use lowtide_store::Folder;

const PROCESSES: usize = 8;
const KEYS: usize = 5_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder, seconds] => watch(folder, seconds.parse().expect("a number of seconds")),
        [folder, "child", seed] => work(Path::new(folder), seed.parse().expect("a number")),
        _ => eprintln!("usage: hammer FOLDER SECONDS"),
    }
}

fn key(number: usize) -> Key {
    *blake3::hash(&number.to_le_bytes()).as_bytes()
}

/// An entry that can be checked: a version, and bytes that follow from key and version.
fn entry(key: &Key, version: u32) -> Vec<u8> {
    let mut bytes = vec![0; 600 + version as usize % 3000];
    let mut hasher = blake3::Hasher::new();
    hasher.update(key).update(&version.to_le_bytes()).finalize_xof().fill(&mut bytes);
    [&version.to_le_bytes()[..], &bytes].concat()
}

/// The work of one process: endless reads and writes.
fn work(folder: &Path, seed: u64) {
    let store = Folder::open(folder).expect("a store");
    let mut random = Random::new(seed);
    let mut is_written = vec![false; KEYS];
    let mut times: [Vec<Duration>; 3] = Default::default();
    let (mut lost, mut wrong) = (0, 0);
    let mut last = Instant::now();
    loop {
        let number = random.below(KEYS);
        let key = key(number);
        let start = Instant::now();
        if random.chance(30) {
            let entry = entry(&key, random.below(1 << 30) as u32);
            let start = Instant::now();
            store.put(&key, &entry);
            times[0].push(start.elapsed());
            is_written[number] = true;
        } else {
            let found = store.get(&key);
            times[1].push(start.elapsed());
            let is_right = |found: &Vec<u8>| {
                found.first_chunk().is_some_and(|bytes| *found == entry(&key, u32::from_le_bytes(*bytes)))
            };
            lost += u32::from(found.is_none() && is_written[number]);
            wrong += u32::from(found.is_some_and(|found| !is_right(&found)));
        }
        let start = Instant::now();
        black_box(blake3::hash(black_box(&[0; 20_000])));
        times[2].push(start.elapsed());
        if last.elapsed() > Duration::from_millis(100) {
            let lines = times.each_mut().map(|times| {
                let most = times.iter().max().copied().unwrap_or_default();
                let late = times.iter().filter(|time| time.as_millis() > 50).count();
                let line = format!("{} {} {late}", times.len(), most.as_micros());
                times.clear();
                line
            });
            println!("{lost} {wrong} {}", lines.join(" "));
            std::io::stdout().flush().ok();
            (lost, wrong) = (0, 0);
            last = Instant::now();
        }
    }
}

/// Starts the processes, kills one every second, and adds up what they say.
fn watch(folder: &str, seconds: u64) {
    let sums: Mutex<(u64, u64, [[u64; 3]; 3])> = Mutex::default();
    let mut random = Random::new(1);
    std::thread::scope(|scope| {
        let start = |seed: u64| -> Child {
            let program = std::env::current_exe().expect("this program");
            let mut command = Command::new(program);
            let mut child = command
                .args([folder, "child", &seed.to_string()])
                .stdout(Stdio::piped())
                .spawn()
                .expect("started");
            let output = BufReader::new(child.stdout.take().expect("a pipe"));
            let sums = &sums;
            scope.spawn(move || {
                for line in output.lines().map_while(Result::ok) {
                    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
                    let [lost, wrong, times @ ..] = &numbers[..] else { continue };
                    let mut sums = sums.lock().expect("no panic");
                    sums.0 += lost;
                    sums.1 += wrong;
                    for (sum, time) in sums.2.iter_mut().zip(times.chunks_exact(3)) {
                        *sum = [sum[0] + time[0], sum[1].max(time[1]), sum[2] + time[2]];
                    }
                }
            });
            child
        };
        let mut children: Vec<Child> = (0..PROCESSES as u64).map(start).collect();
        for second in 0..seconds {
            std::thread::sleep(Duration::from_secs(1));
            let at = random.below(PROCESSES);
            children[at].kill().expect("killed");
            children[at].wait().expect("ended");
            children[at] = start(1000 + second);
        }
        for child in &mut children {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
    });
    let (lost, wrong, times) = sums.into_inner().expect("no panic");
    println!("{lost} entries lost, {wrong} wrong");
    for (name, [count, most, late]) in ["writes", "reads", "work without a store"].iter().zip(times) {
        println!("{count} {name}: the longest {} ms, {late} over 50 ms", most as f64 / 1000.0);
    }
}

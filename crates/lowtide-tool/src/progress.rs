//! Progress on a terminal: a bar, the totals so far, one line for each improvement, and a summary to paste
//! into a report.
//!
//! Progress is printed to the standard error, and only if it is a terminal. The first second of a command
//! prints nothing, nor does the first second of a search. Of thousands of regions, only those with a long
//! search get a line. Lines fit into the terminal. Their times never go back: a step that is printed later
//! than it happened has no time, if the line above has a later one.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use lowtide::budget::Budget;
use lowtide::progress::{Event, Log, Observed, Observer, Phase, Quantity, Step};
use lowtide::region::Region;

use crate::names::{readable, shortened};
use crate::table::{WIDTH, command_line, grouped, wrapped};

/// A command or search that takes no longer prints no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// If this environment variable is set, a command prints progress from its start. Tests set the variable,
/// so that their lines do not depend on the speed of the machine.
const AT_ONCE: &str = "LOWTIDE_PROGRESS_AT_ONCE";

/// The most steps of the first second of a search that are printed: the last ones.
const MOST_EARLIER: usize = 20;

/// Columns of a line before its text, for the time.
const TIME: usize = 11;

/// Columns of a line of a search behind the name: quantity, best, bound, gap and end.
const FIGURES: usize = 47;

/// The fewest columns for a name, in a terminal of any width.
const SHORTEST_NAME: usize = 12;

/// The most columns for a name: figures should stand near it.
const LONGEST_NAME: usize = 60;

/// All threads write to the one terminal through this.
static TERMINAL: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);
static START: OnceLock<Instant> = OnceLock::new();
/// The time of the last line that has one.
static LAST: Mutex<Duration> = Mutex::new(Duration::ZERO);
/// The bar that is shown now.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Start the clock of the command.
pub fn start() {
    START.get_or_init(Instant::now);
}

fn elapsed() -> Duration {
    START.get_or_init(Instant::now).elapsed()
}

/// Whether nothing is printed, even on a terminal.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Print no progress from now on: for a library in a program that owns the terminal.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

fn has_terminal() -> bool {
    static ANSWER: LazyLock<bool> = LazyLock::new(|| std::io::stderr().is_terminal());
    *ANSWER && !SILENT.load(Ordering::Relaxed)
}

/// Return the columns of the terminal.
fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(WIDTH, |(columns, _)| columns.0.into())
}

/// Return the time that a command or search takes before it prints progress.
fn patience() -> Duration {
    static ANSWER: LazyLock<Duration> = LazyLock::new(|| match std::env::var_os(AT_ONCE) {
        Some(_) => Duration::ZERO,
        None => PATIENCE,
    });
    *ANSWER
}

/// Return whether progress is printed: on a terminal, after the first second.
pub fn is_watched() -> bool {
    has_terminal() && elapsed() >= patience()
}

/// Show a bar on the terminal. Without a terminal, the bar is hidden.
pub fn bar(total: u64, template: &str) -> ProgressBar {
    let bar = match has_terminal() {
        // The bar shows the time since the start of the command, as the lines do.
        true => TERMINAL.add(ProgressBar::new(total).with_elapsed(elapsed())),
        false => ProgressBar::hidden(),
    };
    let style = ProgressStyle::with_template(&format!("{template}{{msg}}"));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

/// Show the totals so far below the bar.
pub fn totals(text: &str) {
    if let Some(bar) = &*CURRENT.lock().unwrap_or_else(PoisonError::into_inner) {
        bar.set_message(format!("\n{}", wrapped(text, width())));
    }
}

/// Print a line about a kernel with the time above the bars, if progress is printed.
pub fn line(kernel: &str, figures: &str) {
    if is_watched() {
        let rest = width().saturating_sub(TIME + 2 + figures.chars().count()).max(SHORTEST_NAME);
        let text = format!("{}: {figures}", shortened(&readable(kernel), rest));
        print_lines(|| vec![(elapsed(), text)]);
    }
}

/// Print lines with their times. A time before that of an earlier line is left out.
fn print_lines(lines: impl FnOnce() -> Vec<(Duration, String)>) {
    // The clock is read under the lock, so that other threads print nothing later in between.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<String> = lines().into_iter().map(|(time, text)| stamp(&mut last, time) + &text).collect();
    TERMINAL.suspend(|| eprintln!("{}", lines.join("\n")));
}

/// Return the start of a line: its time, or blanks if the last time is later.
fn stamp(last: &mut Duration, time: Duration) -> String {
    match time >= *last {
        true => {
            *last = time;
            format!("{:>7.1} s  ", time.as_secs_f64())
        }
        false => " ".repeat(TIME),
    }
}

/// Return the observer that prints the steps of long searches, or none without a terminal.
pub(crate) fn observer() -> Option<&'static Observer<'static>> {
    let observer: &Observer = &tell;
    has_terminal().then_some(observer)
}

/// Return a log for a search. On a terminal, it prints the steps of a long search.
pub fn log<'a>(quantity: Quantity, kernel: &'a str, region: &'a Region) -> Log<'a> {
    let observer: &Observer = &tell;
    let observed = Observed { observer, kernel: Some(kernel), region };
    Log::new(quantity).observed(has_terminal().then_some(observed))
}

/// Print a line for each improvement of a long search, and for its end. The first line is preceded by the
/// steps of the first second.
fn tell(event: &Event) {
    static HAS_HEADER: AtomicBool = AtomicBool::new(false);
    let lines = lines(event, patience(), width());
    if lines.is_empty() || !is_watched() {
        return;
    }
    if !HAS_HEADER.swap(true, Ordering::Relaxed) {
        let titles = columns("region", "of", ["best", "bound", "gap"], "", width());
        TERMINAL.suspend(|| eprintln!("{:>9}  {titles}", "time"));
    }
    print_lines(|| {
        // The last step has happened just now.
        let (now, last) = (elapsed(), event.step().time);
        lines.into_iter().map(|(time, line)| (now.saturating_sub(last - time), line)).collect()
    });
}

/// Return the lines of an event, each with its time since the start of the search. A search that is shorter
/// than `patience` has none.
fn lines(event: &Event, patience: Duration, width: usize) -> Vec<(Duration, String)> {
    if event.step().time < patience {
        return Vec::new();
    }
    let name = match event.kernel {
        Some(kernel) => format!("{} {}", readable(kernel), event.region.name()),
        None => event.region.name().to_string(),
    };
    let earlier = event.steps.len() - 1;
    let first = match event.steps[..earlier].last().is_some_and(|step| step.time < patience) {
        true => earlier.saturating_sub(MOST_EARLIER),
        false => earlier,
    };
    let line = |(number, step): (usize, &Step)| {
        let end = match event.phase {
            Phase::End if number == earlier => {
                if step.best == step.bound {
                    "proven"
                } else {
                    "open"
                }
            }
            _ => "",
        };
        let figures = [grouped(step.best), grouped(step.bound), gap(step.best, step.bound)];
        let figures = figures.each_ref().map(String::as_str);
        (step.time, columns(&name, event.quantity.name(), figures, end, width))
    };
    event.steps.iter().enumerate().skip(first).map(line).collect()
}

/// Return the line of a search for a terminal of `width` columns, without its time.
fn columns(name: &str, of: &str, [best, bound, gap]: [&str; 3], end: &str, width: usize) -> String {
    let names = width.saturating_sub(TIME + FIGURES).clamp(SHORTEST_NAME, LONGEST_NAME);
    let line = format!("{:<names$}  {of:<6} {best:>10} {bound:>10} {gap:>8}  {end}", shortened(name, names));
    line.trim_end().to_string()
}

/// Return the gap between two figures, in percent of the larger one.
pub fn gap(best: u64, bound: u64) -> String {
    format!("{:.1} %", 100.0 * best.abs_diff(bound) as f64 / best.max(bound).max(1) as f64)
}

/// Print the summary of a command, if progress is printed: version, time, command line, and `facts` on
/// targets, totals and proofs.
pub fn summary(facts: &[String]) {
    if !is_watched() {
        return;
    }
    let seconds = elapsed().as_secs_f64();
    let threads = rayon::current_num_threads();
    let mut lines = vec![
        String::new(),
        format!("lowtide {}, {seconds:.1} s, {threads} threads", env!("CARGO_PKG_VERSION")),
        format!(
            "command: {}",
            command_line(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
        ),
    ];
    lines.extend(facts.iter().map(|fact| wrapped(fact, width())));
    TERMINAL.suspend(|| eprintln!("{}", lines.join("\n")));
}

/// Describe a budget: its time for each `unit`, such as an instruction, and its search steps for each `what`,
/// such as a region.
pub fn budget_in_words(budget: Budget, unit: &str, what: &str) -> String {
    let time = budget.time_per_instr.map(|time| format!("{} ms for each {unit}", 1e3 * time.as_secs_f64()));
    let nodes = budget.nodes.map(|nodes| format!("{} steps for each {what}", grouped(nodes)));
    let limits: Vec<String> = [time, nodes].into_iter().flatten().collect();
    match limits.is_empty() {
        true => "no limit".to_string(),
        false => limits.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_columns_and_fit() {
        let name = "a kernel with a name that is longer than a line can have".repeat(3);
        for width in [80, 100, 140] {
            let header = columns("region", "of", ["best", "bound", "gap"], "", width);
            let full = columns(&name, "excess", ["1,000,000", "1,000,000", &gap(1, 1000)], "proven", width);
            let length = TIME + full.chars().count();
            assert!(!header.ends_with(' ') && length == width.min(TIME + FIGURES + LONGEST_NAME), "{full}");
            let names = length - TIME - FIGURES;
            assert_eq!(header.find("bound"), Some(names + 2 + 6 + 1 + 10 + 1 + 5));
        }
    }

    #[test]
    fn times_never_go_back() {
        let mut last = Duration::ZERO;
        let times = [0, 1500, 1200, 1499, 1500, 9000].map(Duration::from_millis);
        let stamps = times.map(|time| stamp(&mut last, time).trim().to_string());
        assert_eq!(stamps, ["0.0 s", "1.5 s", "", "", "1.5 s", "9.0 s"]);
        assert!(times.iter().all(|time| stamp(&mut last, *time).chars().count() == TIME));
    }

    /// The lines of a search with steps at these times, in milliseconds, at each of its steps.
    fn told(times: &[u64]) -> Vec<Vec<String>> {
        told_after(PATIENCE, times)
    }

    fn told_after(patience: Duration, times: &[u64]) -> Vec<Vec<String>> {
        let region = lowtide::generate::region(lowtide::generate::Shape::Tree, 5, 1);
        let all: Vec<Step> = (0..)
            .zip(times)
            .map(|(number, time)| Step {
                time: Duration::from_millis(*time),
                nodes: 0,
                best: 200,
                bound: 100 + number,
            })
            .collect();
        let lines_after = |count: usize| {
            let phase = match count {
                1 => Phase::Start,
                count if count == times.len() => Phase::End,
                _ => Phase::Improvement,
            };
            let (quantity, steps) = (Quantity::Peak, &all[..count]);
            let event = Event { kernel: Some("k"), region: &region, quantity, phase, steps };
            let told = lines(&event, patience, 100);
            // The bound names the step.
            let word = |(_, line): (_, String)| {
                line.split_whitespace().skip(4).step_by(3).collect::<Vec<_>>().join(" ")
            };
            told.into_iter().map(word).collect()
        };
        (1..=times.len()).map(lines_after).collect()
    }

    #[test]
    fn the_first_line_of_a_long_search_comes_with_its_first_second() {
        let nothing: [&str; 0] = [];
        // A short search.
        assert_eq!(told(&[0, 10, 999]), [nothing; 3]);
        // A search without a step after its first second, except the end.
        let lines = told(&[0, 10, 2500]);
        assert_eq!(lines[..2], [nothing; 2]);
        assert_eq!(lines[2], ["100", "101", "102 open"]);
        // Each later step is one line.
        let lines = told(&[0, 10, 1000, 1500, 2500]);
        assert_eq!(lines[..2], [nothing; 2]);
        assert_eq!(lines[2], ["100", "101", "102"]);
        assert_eq!(lines[3..], [["103"], ["104 open"]]);
    }

    #[test]
    fn each_step_is_a_line_at_once_where_tests_want_it() {
        let lines = told_after(Duration::ZERO, &[0, 0, 10, 2500]);
        assert_eq!(lines, [["100"], ["101"], ["102"], ["103 open"]]);
    }

    #[test]
    fn the_first_second_has_few_lines() {
        let times: Vec<u64> = (0..100).chain([5000]).collect();
        let lines = told(&times);
        assert_eq!(lines[100].len(), MOST_EARLIER + 1);
        assert_eq!((lines[100][0].as_str(), lines[100][MOST_EARLIER].as_str()), ("180", "200 proven"));
    }

    #[test]
    fn gaps_are_parts_of_the_larger_figure() {
        assert_eq!([gap(100, 90), gap(4, 5), gap(7, 7), gap(0, 0)], ["10.0 %", "20.0 %", "0.0 %", "0.0 %"]);
    }

    #[test]
    fn budgets_are_described_with_their_units() {
        let both = Budget { time_per_instr: Some(Duration::from_micros(250)), nodes: Some(5000), threads: 1 };
        assert_eq!(
            budget_in_words(both, "instruction", "region"),
            "0.25 ms for each instruction and 5,000 steps for each region"
        );
        assert_eq!(budget_in_words(Budget::UNLIMITED, "instruction", "region"), "no limit");
    }
}

//! The latency table of a target: cycles until the result of a memory instruction can be used.
//!
//! A front end records latencies with each region. Those of LLVM are low for memory, and the schedules made
//! with them look issue-bound. A target file can have better figures in entries `[[latency]]`. The first
//! entry that matches an instruction gives the latency of its results; an instruction without a match keeps
//! the recorded latency. [`Kernel::with_latencies`](crate::region::Kernel::with_latencies) applies the table.
//!
//! A figure is a number of cycles of the issue model: one instruction of a wave can issue in each of them.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Most entries of a table: one bit of a mask each.
pub(crate) const MOST_RULES: usize = 64;
/// Most cycles of an entry.
const MOST_CYCLES: u32 = 100_000;

/// An entry of the latency table.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyRule {
    /// The functional unit that the instruction needs.
    pub unit: String,
    /// Match only instructions that may load, or that may store.
    pub access: Option<Access>,
    /// Match only this address space.
    pub address_space: Option<i32>,
    /// Match only operations whose name starts with this text.
    pub prefix: Option<String>,
    /// Cycles until the results can be used.
    pub cycles: u32,
    /// The lowest and the highest figure of the sources.
    #[serde(default, deserialize_with = "two_numbers")]
    pub range: Option<[u32; 2]>,
    /// The public source of the figures.
    pub source: String,
}

/// Read a range. TOML's arrays may be longer than the type, which must not pass unnoticed.
fn two_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[u32; 2]>, D::Error> {
    let numbers = Vec::<u32>::deserialize(deserializer)?;
    let count = numbers.len();
    let range = numbers.try_into();
    range.map(Some).map_err(|_| Error::custom(format!("range has {count} numbers: it needs [low, high]")))
}

/// A kind of access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// May load: flag `l` of a region file.
    Load,
    /// May store: flag `s` of a region file.
    Store,
}

impl Access {
    /// Return the flag of region files.
    pub fn flag(self) -> char {
        match self {
            Access::Load => 'l',
            Access::Store => 's',
        }
    }

    /// Return the name used in target files.
    pub fn name(self) -> &'static str {
        match self {
            Access::Load => "load",
            Access::Store => "store",
        }
    }
}

impl LatencyRule {
    /// Check the entry. `units` are the names that the target lists.
    pub(super) fn validate(&self, position: usize, units: &[&str]) -> Result<(), String> {
        let place = format!("latency {} (unit {:?})", position + 1, self.unit);
        if !units.contains(&self.unit.as_str()) {
            let known = if units.is_empty() { "none".to_string() } else { units.join(", ") };
            return Err(format!("{place}: unknown unit; issue.units lists {known}"));
        }
        if !(1..=MOST_CYCLES).contains(&self.cycles) {
            return Err(format!("{place}: cycles is {}, but must be 1 to {MOST_CYCLES}", self.cycles));
        }
        if let Some([low, high]) = self.range
            && !(1 <= low && low <= self.cycles && self.cycles <= high && high <= MOST_CYCLES)
        {
            return Err(format!(
                "{place}: range [{low}, {high}] must contain cycles = {}, and lie within 1 to {MOST_CYCLES}",
                self.cycles
            ));
        }
        if self.prefix.as_ref().is_some_and(String::is_empty) {
            return Err(format!("{place}: prefix must not be empty"));
        }
        if self.source.trim().is_empty() {
            return Err(format!("{place}: source must name where the figure comes from"));
        }
        Ok(())
    }
}

/// The latencies to schedule with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Latencies {
    /// Those that the front end recorded.
    Recorded,
    /// Those of the target's table, where an entry matches.
    Target {
        /// The figures of the table are multiplied by this number of hundredths.
        percent: u32,
    },
}

impl Latencies {
    /// The target's table as it is.
    pub const TARGET: Latencies = Latencies::Target { percent: 100 };

    /// Largest factor, in percent.
    pub const MOST_PERCENT: u32 = 10_000;

    /// Return the cycles of an entry of the table, at least 1.
    pub fn scaled(self, cycles: u32) -> u32 {
        match self {
            Latencies::Recorded => cycles,
            Latencies::Target { percent } => {
                let exact = u64::from(cycles) * u64::from(percent);
                u32::try_from((exact + 50) / 100).unwrap_or(u32::MAX).max(1)
            }
        }
    }
}

/// `recorded`, `target`, or `target*0.5`.
impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Latencies::Recorded => f.write_str("recorded"),
            Latencies::TARGET => f.write_str("target"),
            Latencies::Target { percent } => write!(f, "target*{}", f64::from(percent) / 100.0),
        }
    }
}

/// A text that is none of the forms of [`Latencies`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not recorded, target, or target times a factor of 0.01 to 100 such as target*0.5")]
pub struct NoLatencies(pub String);

impl FromStr for Latencies {
    type Err = NoLatencies;

    fn from_str(text: &str) -> Result<Self, NoLatencies> {
        let none = || NoLatencies(text.to_string());
        match text {
            "recorded" => Ok(Latencies::Recorded),
            "target" => Ok(Latencies::TARGET),
            _ => {
                let factor = text.strip_prefix("target*").ok_or_else(none)?;
                let percent = 100.0 * factor.parse::<f64>().map_err(|_| none())?;
                let range = 1.0..=f64::from(Latencies::MOST_PERCENT);
                if !range.contains(&percent) {
                    return Err(none());
                }
                Ok(Latencies::Target { percent: percent.round() as u32 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::*;

    const TABLE: &str =
        "[[latency]]\nunit='mem'\naccess='load'\ncycles=500\nrange=[300,800]\nsource='measured'\n";

    fn parse(table: &str) -> Result<Target, String> {
        let head = "name='t'\ndescription=''\n[issue]\nwidth=1\nunits=[{name='mem'},{name='alu'}]\n[[file]]\nname='f'\n\
                    size=16\ngranule=4\nwaves=2\nclasses=[{name='r',max=16}]\n";
        Target::parse(&format!("{head}{table}")).map_err(|error| error.to_string())
    }

    #[test]
    fn entries_are_read_in_order() {
        let second =
            "[[latency]]\nunit='mem'\naddress_space=3\nprefix='DS_'\ncycles=120\nsource='an estimate'\n";
        let target = parse(&format!("{TABLE}{second}")).unwrap();
        let [first, second] = target.latencies() else { panic!("two entries") };
        assert_eq!((first.access, first.cycles, first.range), (Some(Access::Load), 500, Some([300, 800])));
        assert_eq!((second.access, second.address_space), (None, Some(3)));
        assert_eq!((second.prefix.as_deref(), second.range), (Some("DS_"), None));
        assert!(parse("").unwrap().latencies().is_empty(), "the table is optional");
    }

    #[test]
    fn bad_entries_are_refused_with_a_reason() {
        for (from, to, message) in [
            (
                "unit='mem'",
                "unit='vmem'",
                "latency 1 (unit \"vmem\"): unknown unit; issue.units lists alu, mem",
            ),
            ("cycles=500", "cycles=0", "cycles is 0, but must be 1 to 100000"),
            ("cycles=500", "cycles=-5", "-5"),
            ("cycles=500", "cycles=2000000", "cycles is 2000000"),
            ("cycles=500", "cycle=500", "unknown field `cycle`"),
            ("range=[300,800]", "range=[300,400]", "range [300, 400] must contain cycles = 500"),
            ("range=[300,800]", "range=[0,800]", "range [0, 800]"),
            ("range=[300,800]", "range=[300,800,900]", "range has 3 numbers: it needs [low, high]"),
            ("access='load'", "access='read'", "unknown variant `read`"),
            ("access='load'", "prefix=''", "prefix must not be empty"),
            ("source='measured'", "source=' '", "source must name where the figure comes from"),
            ("source='measured'\n", "", "missing field `source`"),
        ] {
            let error = parse(&TABLE.replace(from, to)).unwrap_err();
            assert!(error.contains(message), "{to}: {error}");
        }
        let error = parse(&TABLE.repeat(MOST_RULES + 1)).unwrap_err();
        assert!(error.contains("65 entries [[latency]], but at most 64 are possible"), "{error}");
    }

    #[test]
    fn every_amd_target_has_a_table_with_sources() {
        for name in ["gfx906", "gfx90a", "gfx1030", "gfx1100"] {
            let target = Target::builtin(name).unwrap();
            let of = |unit: &str| target.latencies().iter().filter(|rule| rule.unit == unit).count();
            assert_eq!((of("HWVMEM"), of("HWLGKM")), (1, 2), "{name}");
            assert!(target.latencies().iter().all(|rule| rule.range.is_some()), "{name}");
        }
        assert!(Target::builtin("sm_90").unwrap().latencies().is_empty());
    }

    #[test]
    fn choices_have_names_that_can_be_read_back() {
        for choice in [Latencies::Recorded, Latencies::TARGET, Latencies::Target { percent: 50 }] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!(Latencies::Target { percent: 250 }.to_string(), "target*2.5");
        for bad in ["", "Target", "target*", "target*0", "target*-1", "target*nan", "target*1e9", "0.5"] {
            assert!(bad.parse::<Latencies>().is_err(), "{bad}");
        }
    }

    #[test]
    fn factors_round_to_whole_cycles() {
        let half = Latencies::Target { percent: 50 };
        assert_eq!([500, 5, 1].map(|cycles| half.scaled(cycles)), [250, 3, 1]);
        assert_eq!(Latencies::Target { percent: 1 }.scaled(5), 1, "a latency is never 0");
        assert_eq!(Latencies::TARGET.scaled(123), 123);
    }
}

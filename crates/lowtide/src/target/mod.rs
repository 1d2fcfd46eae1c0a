//! A scheduling target: the register files and the issue model of one GPU.
//!
//! A [`Target`] is read from a TOML file (`targets/` holds the built-in ones). The code contains no facts
//! about GPUs. Occupancy follows from the size of a register file, its allocation granule and its most waves.
//! Papers 2 and 4 call the step function below *APRP*.
//!
//! ```
//! use lowtide::target::Target;
//!
//! let vega = Target::builtin("gfx906").unwrap();
//! let vector = &vega.files()[0];
//! assert_eq!(vector.waves(25), 9);       // 25 registers are given out as 28: nine waves fit in 256
//! assert_eq!(vector.adjusted(25), 28);   // ... and so they would with 28
//! assert_eq!(vector.limit(8), 32);       // eight waves have 32 registers each
//! ```

mod latency;
mod peak_range;

use std::borrow::Cow;

pub(crate) use latency::MOST_RULES;
pub use latency::{Access, Latencies, LatencyRule, NoLatencies};
pub(crate) use peak_range::{MOST_RANGES, PeakRange, most_that};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use thiserror::Error;

use crate::index::ClassId;

/// The target files that are part of the library.
const BUILTIN: &[&str] = &[
    include_str!("../../targets/gfx906.toml"),
    include_str!("../../targets/gfx90a.toml"),
    include_str!("../../targets/gfx1030.toml"),
    include_str!("../../targets/gfx1100.toml"),
    include_str!("../../targets/sm_90.toml"),
    include_str!("../../targets/xe-hpg.toml"),
    include_str!("../../targets/vs.toml"),
    include_str!("../../targets/generic.toml"),
    include_str!("../../targets/ps14.toml"),
    include_str!("../../targets/ps20.toml"),
    include_str!("../../targets/one-pass.toml"),
];

/// The class name that matches every class not named elsewhere in the target.
pub(crate) const ANY_CLASS: &str = "*";

/// An error of a target file, or of a region on a target.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TargetError {
    /// Not TOML, or not the fields of a target.
    #[error("{0}")]
    Syntax(#[source] Box<toml::de::Error>),
    /// A number or name without meaning.
    #[error("{0}")]
    Invalid(String),
    /// The region has a register class that the target lacks.
    #[error("register class {class:?} is not one of target {target}, which has {known}")]
    UnknownClass {
        /// The class.
        class: String,
        /// The target's name.
        target: String,
        /// The classes that the target has.
        known: String,
    },
}

/// A GPU: register files, issue model, and latencies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    name: String,
    description: String,
    issue: Issue,
    files: Vec<RegisterFile>,
    latencies: Vec<LatencyRule>,
    /// The text of the file, for the sections that other modules read.
    text: Box<str>,
}

/// The fields of a target file. [`Target::section`] reads the sections `[pack]`, `[passes]` and
/// `[simulate]` for their modules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: String,
    description: String,
    issue: Issue,
    #[serde(rename = "file")]
    files: Vec<RegisterFile>,
    #[serde(rename = "latency", default)]
    latencies: Vec<LatencyRule>,
    #[serde(rename = "pack")]
    _pack: Option<IgnoredAny>,
    #[serde(rename = "passes")]
    _passes: Option<IgnoredAny>,
    #[serde(rename = "simulate")]
    _simulate: Option<IgnoredAny>,
}

/// How many instructions of a wave issue in one cycle, and to which units.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Instructions in one cycle.
    pub width: u32,
    /// Functional units. A need for an unlisted unit has no effect.
    #[serde(default)]
    pub units: Vec<Unit>,
}

/// A kind of functional unit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// The name that instructions ask for.
    pub name: String,
    /// The number of copies.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

fn store_and_load() -> u32 {
    2
}

/// A register file, shared by all waves of a SIMD.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterFile {
    /// Its name, for reports.
    pub name: String,
    /// Registers for all waves together.
    pub size: u32,
    /// A wave gets a multiple of this.
    pub granule: u32,
    /// The most waves, even if they use few registers.
    pub waves: u32,
    /// The classes that live in it: more than one where the hardware shares the file.
    pub classes: Vec<FileClass>,
}

/// A register class and its place in a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileClass {
    /// The name that regions use, or `*` for any other.
    pub name: String,
    /// The most registers that one wave can address. Live registers beyond it must be spilled.
    pub max: u32,
    /// The next class that is used starts at a multiple of this.
    #[serde(default = "one")]
    pub align: u32,
    /// Cycles of each wave that one spilled register costs: to store it and to load it again.
    #[serde(default = "store_and_load")]
    pub spill_cycles: u32,
    /// The registers that hold spilled ones. `None` means memory.
    pub spill: Option<Lanes>,
}

/// Registers of another class that hold spilled registers, one in each lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// The class of the registers with lanes.
    pub class: String,
    /// Spilled registers that one of them holds.
    pub lanes: u32,
}

impl RegisterFile {
    /// Return the most registers that one wave can occupy, with the gaps before aligned classes.
    /// [`BoundFile::used`] counts these gaps, so this bound must contain them.
    fn most(&self) -> u64 {
        let mut most = 0u64;
        let mut align = 1;
        for class in &self.classes {
            most = most.next_multiple_of(align) + u64::from(class.max);
            align = u64::from(class.align);
        }
        most
    }

    /// Return the waves that fit if each uses `used` registers.
    pub fn waves(&self, used: u32) -> u32 {
        let most = self.most() as u32; // fits: validation has found it to be within `size`
        let given_out = used.clamp(1, most).next_multiple_of(self.granule);
        (self.size / given_out).clamp(1, self.waves)
    }

    /// Return the most registers of each wave such that `waves` waves fit.
    pub fn limit(&self, waves: u32) -> u32 {
        let most = self.most() as u32;
        let share = self.size / waves.clamp(1, self.waves);
        (share / self.granule * self.granule).min(most)
    }

    /// Return the adjusted peak of paper 2 (APRP): the most registers with which as many waves fit as with
    /// `used`. Beyond the addressable registers, each register is one spill, and the result is `used` itself.
    pub fn adjusted(&self, used: u32) -> u32 {
        self.limit(self.waves(used)).max(used)
    }

    /// Return the steps of occupancy, from many waves to one: (most registers, waves).
    pub fn steps(&self) -> Vec<(u32, u32)> {
        // Iterate over steps, not over waves: a file may have billions of waves.
        let next = |&(limit, _): &(u32, u32)| {
            let waves = self.waves(limit.checked_add(1)?);
            Some((self.limit(waves), waves)).filter(|(larger, _)| *larger > limit)
        };
        let most = self.waves(1);
        std::iter::successors(Some((self.limit(most), most)), next).collect()
    }
}

fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, TargetError> {
    toml::from_str(text).map_err(|error| TargetError::Syntax(Box::new(error)))
}

impl Target {
    /// Read a target file.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let Fields { name, description, issue, files, latencies, .. } = parse_toml(text)?;
        let target = Target { name, description, issue, files, latencies, text: text.into() };
        target.validate().map_err(TargetError::Invalid)?;
        Ok(target)
    }

    /// Read a section of the target file for another module. `Section` has it as a field.
    pub(crate) fn section<Section: DeserializeOwned>(&self) -> Result<Section, TargetError> {
        parse_toml(&self.text)
    }

    fn validate(&self) -> Result<(), String> {
        if self.issue.width == 0 {
            return Err("issue.width must be at least 1".to_string());
        }
        let mut units: Vec<&str> = self.issue.units.iter().map(|unit| unit.name.as_str()).collect();
        units.sort_unstable();
        if let Some(pair) = units.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!(
                "issue.units: unit {:?} is listed twice; list it once, with its count",
                pair[0]
            ));
        }
        if let Some(unit) = self.issue.units.iter().find(|unit| unit.count == 0) {
            return Err(format!("issue.units: unit {:?} has count 0; give at least 1", unit.name));
        }
        if self.latencies.len() > MOST_RULES {
            return Err(format!(
                "the target has {} entries [[latency]], but at most {MOST_RULES} are possible",
                self.latencies.len()
            ));
        }
        for (position, rule) in self.latencies.iter().enumerate() {
            rule.validate(position, &units)?;
        }
        if self.files.is_empty() {
            return Err("a target needs at least one [[file]] of registers".to_string());
        }
        let mut names: Vec<&str> = Vec::new();
        let classes = || self.files.iter().flat_map(|file| &file.classes);
        for class in classes() {
            let Some(Lanes { class: other, lanes }) = &class.spill else { continue };
            let is_for_lanes = |own: &FileClass| own.name == *other && own.spill.is_none();
            if *lanes == 0 || !classes().any(is_for_lanes) || other == ANY_CLASS || class.name == ANY_CLASS {
                return Err(format!(
                    "class {:?} spills into {lanes} lanes of class {other:?}; name a class that spills into \
                     memory, and at least 1 lane",
                    class.name
                ));
            }
        }
        for file in &self.files {
            let place = format!("register file {:?}", file.name);
            if file.size == 0 || file.granule == 0 || file.waves == 0 || file.classes.is_empty() {
                return Err(format!("{place}: size, granule, waves and classes must not be 0 or empty"));
            }
            for class in &file.classes {
                if class.max == 0 || class.align == 0 {
                    return Err(format!("{place}: max and align of class {:?} must not be 0", class.name));
                }
                if names.contains(&class.name.as_str()) {
                    return Err(format!("{place}: class {:?} is listed twice", class.name));
                }
                if class.name == ANY_CLASS && file.classes.len() > 1 {
                    return Err(format!(
                        "{place}: class \"*\" cannot share its file; give it its own [[file]]"
                    ));
                }
                names.push(&class.name);
            }
            let total = file.most();
            if total.next_multiple_of(u64::from(file.granule)) > u64::from(file.size) {
                return Err(format!(
                    "{place}: one wave may address {total} registers, but the file has only {} (in granules \
                     of {})",
                    file.size, file.granule
                ));
            }
        }
        Ok(())
    }

    /// Return the built-in target of that name.
    pub fn builtin(name: &str) -> Option<Target> {
        Target::all_builtin().find(|target| target.name == name)
    }

    /// Return all built-in targets.
    pub fn all_builtin() -> impl Iterator<Item = Target> {
        BUILTIN.iter().map(|text| Target::parse(text).expect("built-in targets are valid (tested)"))
    }

    /// Return the name of the target on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Return a short description.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Issue width and units.
    pub fn issue(&self) -> &Issue {
        &self.issue
    }

    /// Return the register files.
    pub fn files(&self) -> &[RegisterFile] {
        &self.files
    }

    /// Return the place of a file. (No two files have the same class.)
    fn place_of(&self, file: &RegisterFile) -> Option<usize> {
        self.files.iter().position(|own| own.classes[0].name == file.classes[0].name)
    }

    /// Return whether several classes share a file.
    pub fn shares_files(&self) -> bool {
        self.files.iter().any(|file| file.classes.len() > 1)
    }

    /// Return the latency table. The first entry that matches an instruction counts.
    pub fn latencies(&self) -> &[LatencyRule] {
        &self.latencies
    }

    /// Return the latencies that a choice means on this target: without a table, the recorded ones.
    pub fn resolve(&self, latencies: Latencies) -> Latencies {
        if self.latencies.is_empty() { Latencies::Recorded } else { latencies }
    }

    /// Return the most waves that fit if registers do not limit them.
    pub fn max_waves(&self) -> u32 {
        self.files.iter().map(|file| file.waves).min().unwrap_or(1)
    }

    /// Find the register files of a region's classes.
    pub fn registers(&self, classes: &[Box<str>]) -> Result<Registers, TargetError> {
        let mut registers = Registers { files: Vec::new(), lanes: Vec::new(), max_waves: self.max_waves() };
        for file in &self.files {
            let mut bound = BoundFile { file: file.clone(), classes: Vec::new(), elsewhere: Vec::new() };
            for class in &file.classes {
                if let Some(position) = classes.iter().position(|name| **name == *class.name) {
                    bound.classes.push((ClassId::at(position), class.clone()));
                }
            }
            if !bound.classes.is_empty() {
                registers.files.push(bound);
            }
        }
        let any = self.files.iter().find(|file| file.classes[0].name == ANY_CLASS);
        for (position, name) in classes.iter().enumerate() {
            let id = ClassId::at(position);
            if registers.files.iter().any(|file| file.classes.iter().any(|(class, _)| *class == id)) {
                continue;
            }
            let Some(file) = any else {
                let known = self.files.iter().flat_map(|file| &file.classes).map(|class| class.name.as_str());
                return Err(TargetError::UnknownClass {
                    class: name.to_string(),
                    target: self.name.clone(),
                    known: known.collect::<Vec<_>>().join(", "),
                });
            };
            let classes = vec![(id, file.classes[0].clone())];
            registers.files.push(BoundFile { file: file.clone(), classes, elsewhere: Vec::new() });
        }
        let bound = registers.files.iter().flat_map(|file| &file.classes);
        let lanes = bound.filter_map(|(from, class)| {
            let Lanes { class: other, lanes } = class.spill.as_ref()?;
            let to = classes.iter().position(|name| **name == **other).map(ClassId::at);
            Some(BoundLanes { from: *from, max: class.max, to, lanes: *lanes })
        });
        registers.lanes = lanes.collect();
        Ok(registers)
    }
}

/// Return the registers of a file that its classes use: of each class, the pressure, the most, and the
/// multiple at which the next class starts.
fn used(classes: impl Iterator<Item = (u32, u32, u32)>) -> u32 {
    let (mut used, mut align) = (0u32, 1);
    for (pressure, max, own_align) in classes {
        let own = pressure.min(max);
        if own > 0 {
            used = used.next_multiple_of(align).saturating_add(own);
            align = own_align;
        }
    }
    used
}

/// The registers of a kernel: of each class, the most that one of its regions needs. Where a file has one
/// class, its waves are those of the worst region. Where classes share a file, they can be fewer, since
/// different regions may need the most of different classes.
#[derive(Clone, Debug)]
pub struct KernelRegisters<'t> {
    target: &'t Target,
    /// The most registers of each class, by file.
    most: Vec<Vec<u32>>,
    /// The waves of the worst region.
    waves: u32,
}

impl<'t> KernelRegisters<'t> {
    /// A kernel without regions.
    pub fn new(target: &'t Target) -> Self {
        let most = target.files.iter().map(|file| vec![0; file.classes.len()]).collect();
        KernelRegisters { target, most, waves: target.max_waves() }
    }

    /// Add a region with these pressures.
    pub fn add(&mut self, registers: &Registers, pressure: &[u32]) {
        self.waves = self.waves.min(registers.occupancy(pressure));
        let pressure = registers.with_lanes(pressure);
        for bound in registers.files.iter().filter(|bound| bound.file.classes.len() > 1) {
            let Some(file) = self.target.place_of(&bound.file) else { continue };
            let most = &mut self.most[file];
            for (id, class) in &bound.classes {
                let place = bound.file.classes.iter().position(|own| own.name == class.name);
                if let Some(most) = place.map(|place| &mut most[place]) {
                    *most = pressure[id.index()].max(*most);
                }
            }
        }
    }

    /// Return the waves that fit.
    pub fn waves(&self) -> u32 {
        let files = self.target.files.iter().zip(&self.most).filter(|(file, _)| file.classes.len() > 1);
        let waves = files.map(|(file, most)| {
            let classes = file.classes.iter().zip(most);
            file.waves(used(classes.map(|(class, &most)| (most, class.max, class.align))))
        });
        waves.fold(self.waves, u32::min)
    }
}

/// A register file with the classes of one region that live in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundFile {
    /// The file.
    pub file: RegisterFile,
    /// The region's classes, in the order of the file.
    pub classes: Vec<(ClassId, FileClass)>,
    /// For each class of the file, what the regions of the kernel need of it at least. Empty if the region is
    /// alone, or the class.
    elsewhere: Vec<Elsewhere>,
}

/// A class of a file that others share, as the rest of a kernel sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Elsewhere {
    /// The class in this region, if the region has it.
    own: Option<ClassId>,
    /// Registers that some region needs in every order.
    least: u32,
    max: u32,
    align: u32,
}

impl BoundFile {
    /// Return the registers of this file that a wave uses, with `pressure` by class of the region. Registers
    /// over the maximum of a class are spilled and take none.
    pub fn used(&self, pressure: &[u32]) -> u32 {
        if self.elsewhere.is_empty() {
            let class = |(id, class): &(ClassId, FileClass)| (pressure[id.index()], class.max, class.align);
            return used(self.classes.iter().map(class));
        }
        used(self.elsewhere.iter().map(|class| {
            let own = class.own.map_or(0, |id| pressure[id.index()]);
            (own.max(class.least), class.max, class.align)
        }))
    }

    /// Return the registers of a class that some region of the kernel needs in every order.
    fn least(&self, class: ClassId) -> u32 {
        let class = self.elsewhere.iter().find(|elsewhere| elsewhere.own == Some(class));
        class.map_or(0, |class| class.least)
    }

    /// Return the registers beyond the addressable ones, over all classes.
    fn spilled(&self, pressure: &[u32]) -> u32 {
        self.classes.iter().map(|(id, class)| pressure[id.index()].saturating_sub(class.max)).sum()
    }
}

/// A class of a region whose registers are spilled into lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundLanes {
    /// The class that is spilled.
    pub from: ClassId,
    /// Its addressable registers.
    pub max: u32,
    /// The class with the lanes. A region without this class has room for the lanes.
    pub to: Option<ClassId>,
    /// Spilled registers that one register of this class holds.
    pub lanes: u32,
}

impl BoundLanes {
    /// Return the registers with lanes that a peak of the spilled class needs.
    pub fn needed(&self, peak: u32) -> u32 {
        peak.saturating_sub(self.max).div_ceil(self.lanes)
    }

    /// Return the highest peak of the spilled class for which `registers` with lanes are enough.
    pub fn most(&self, registers: u32) -> u32 {
        self.max.saturating_add(self.lanes.saturating_mul(registers))
    }
}

/// The register files of a target, resolved for the classes of one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registers {
    files: Vec<BoundFile>,
    lanes: Vec<BoundLanes>,
    max_waves: u32,
}

impl Registers {
    /// Return the files that the region uses.
    pub fn files(&self) -> &[BoundFile] {
        &self.files
    }

    /// Return the classes of the region whose registers are spilled into lanes.
    pub fn lanes(&self) -> &[BoundLanes] {
        &self.lanes
    }

    /// Count at least the registers of a kernel, where classes share a file.
    pub(crate) fn beside(&mut self, kernel: &KernelRegisters) {
        for bound in self.files.iter_mut().filter(|bound| bound.file.classes.len() > 1) {
            let Some(file) = kernel.target.place_of(&bound.file) else { continue };
            let most = &kernel.most[file];
            let classes = &bound.classes;
            let of = |(class, &least): (&FileClass, &u32)| {
                let own = classes.iter().find(|(_, own)| own.name == class.name).map(|(id, _)| *id);
                Elsewhere { own, least, max: class.max, align: class.align }
            };
            bound.elsewhere = bound.file.classes.iter().zip(most).map(of).collect();
        }
    }

    /// Return whether other regions of the kernel need registers of a file that classes share.
    pub(crate) fn is_beside_others(&self) -> bool {
        self.files.iter().any(|bound| !bound.elsewhere.is_empty())
    }

    /// Return, for each class of the region, the registers whose lanes hold spilled ones with these
    /// pressures.
    pub(crate) fn lanes_for(&self, pressure: &[u32]) -> Vec<u32> {
        let mut needed = vec![0u32; pressure.len()];
        for lanes in &self.lanes {
            if let Some(to) = lanes.to {
                let own = &mut needed[to.index()];
                *own = own.saturating_add(lanes.needed(pressure[lanes.from.index()]));
            }
        }
        needed
    }

    /// Return the pressures with the registers whose lanes hold spilled ones.
    fn with_lanes<'p>(&self, pressure: &'p [u32]) -> Cow<'p, [u32]> {
        let mut pressure = Cow::Borrowed(pressure);
        for lanes in &self.lanes {
            let needed = lanes.needed(pressure[lanes.from.index()]);
            if let Some(to) = lanes.to.filter(|_| needed > 0) {
                let own = &mut pressure.to_mut()[to.index()];
                *own = own.saturating_add(needed);
            }
        }
        pressure
    }

    /// Return the waves that fit with these pressures, one for each class of the region. Registers whose
    /// lanes hold spilled ones count. The caller applies other limits, such as local memory.
    pub fn occupancy(&self, pressure: &[u32]) -> u32 {
        let pressure = self.with_lanes(pressure);
        let waves = self.files.iter().map(|bound| bound.file.waves(bound.used(&pressure)));
        waves.fold(self.max_waves, u32::min)
    }

    /// Return the registers that have to be spilled with these pressures, into memory or into lanes.
    pub fn spilled(&self, pressure: &[u32]) -> u32 {
        self.files.iter().map(|bound| bound.spilled(pressure)).sum()
    }

    /// Return the registers that have to be spilled into memory with these pressures.
    pub fn spilled_to_memory(&self, pressure: &[u32]) -> u32 {
        let pressure = self.with_lanes(pressure);
        let classes = self.files.iter().flat_map(|bound| &bound.classes);
        let in_memory = classes.filter(|(_, class)| class.spill.is_none());
        in_memory.map(|(id, class)| pressure[id.index()].saturating_sub(class.max)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target::builtin(name).unwrap()
    }

    fn occupancy(target: &Target, pressure: &[(&str, u32)]) -> u32 {
        let classes: Vec<Box<str>> = pressure.iter().map(|(class, _)| (*class).into()).collect();
        let pressure: Vec<u32> = pressure.iter().map(|(_, pressure)| *pressure).collect();
        target.registers(&classes).unwrap().occupancy(&pressure)
    }

    #[test]
    fn all_builtin_targets_parse_and_are_named_once() {
        let names: Vec<String> = Target::all_builtin().map(|target| target.name).collect();
        let gpus = ["gfx906", "gfx90a", "gfx1030", "gfx1100", "sm_90", "xe-hpg", "vs", "generic"];
        let with_passes = ["ps14", "ps20", "one-pass"];
        assert_eq!(names, [&gpus[..], &with_passes].concat());
    }

    /// Paper 2, Table 1.
    #[test]
    fn vega_vector_registers_follow_table_1() {
        let vega = target("gfx906");
        let file = &vega.files()[0];
        let table =
            [(24, 10), (28, 9), (32, 8), (36, 7), (40, 6), (48, 5), (64, 4), (84, 3), (128, 2), (256, 1)];
        assert_eq!(file.steps(), table);
        let mut from = 0;
        for (last, waves) in table {
            for used in from..=last {
                assert_eq!(file.waves(used), waves, "{used} registers");
                assert_eq!(file.adjusted(used), last, "{used} registers");
            }
            assert_eq!(file.limit(waves), last);
            from = last + 1;
        }
        assert_eq!(file.waves(257), 1);
        assert_eq!(file.adjusted(300), 300, "spilled registers count one by one");
        let registers = vega.registers(&["vgpr".into()]).unwrap();
        assert_eq!([registers.spilled(&[256]), registers.spilled(&[300])], [0, 44]);
    }

    #[test]
    fn spilled_scalar_registers_of_vega_take_lanes_of_vector_registers() {
        let vega = target("gfx906");
        let registers = vega.registers(&["vgpr".into(), "sgpr".into()]).unwrap();
        let figures = |vgpr: u32, sgpr: u32| {
            let pressure = [vgpr, sgpr];
            (
                registers.occupancy(&pressure),
                registers.spilled(&pressure),
                registers.spilled_to_memory(&pressure),
            )
        };
        assert_eq!(figures(84, 102), (3, 0, 0));
        assert_eq!(figures(83, 103), (3, 1, 0), "one register has the lane");
        assert_eq!(figures(84, 103), (2, 1, 0), "the 85th register costs a wave");
        assert_eq!(figures(83, 166), (3, 64, 0));
        assert_eq!(figures(83, 167), (2, 65, 0));
        assert_eq!(figures(256, 103), (1, 1, 1), "no register is left for the lanes");
        assert_eq!(figures(300, 102), (1, 44, 44));
        let without_vector = vega.registers(&["sgpr".into()]).unwrap();
        assert_eq!((without_vector.occupancy(&[200]), without_vector.spilled_to_memory(&[200])), (7, 0));
    }

    #[test]
    fn vega_scalar_registers_follow_the_documented_steps() {
        let vega = target("gfx906");
        for used in 1..=200 {
            let expected = match used {
                ..=80 => 10,
                81..=88 => 9,
                89..=100 => 8,
                _ => 7,
            };
            assert_eq!(vega.files()[1].waves(used), expected, "{used} registers");
        }
        assert_eq!(vega.files()[1].steps(), [(80, 10), (88, 9), (100, 8), (102, 7)]);
    }

    #[test]
    fn accumulation_registers_share_the_vector_file_of_gfx90a() {
        let cdna2 = target("gfx90a");
        assert_eq!(occupancy(&cdna2, &[("vgpr", 64), ("sgpr", 10)]), 8);
        assert_eq!(occupancy(&cdna2, &[("vgpr", 64), ("agpr", 64)]), 4);
        // 61 vector registers are followed by accumulation registers from 64 on: 128 in all, not 125.
        assert_eq!(occupancy(&cdna2, &[("vgpr", 61), ("agpr", 65)]), 3);
        assert_eq!(occupancy(&cdna2, &[("vgpr", 61), ("agpr", 64)]), 4);
        assert_eq!(occupancy(&cdna2, &[("agpr", 65)]), 7);
        assert_eq!(occupancy(&cdna2, &[("vgpr", 256), ("agpr", 256)]), 1);
    }

    #[test]
    fn other_targets_have_their_published_steps() {
        let first = |name: &str| target(name).files()[0].steps();
        assert_eq!(first("gfx1030")[..4], [(64, 16), (80, 12), (96, 10), (112, 9)]);
        assert_eq!(first("gfx1100")[..4], [(96, 16), (120, 12), (144, 10), (168, 9)]);
        assert_eq!(first("sm_90")[..4], [(32, 16), (40, 12), (48, 10), (56, 9)]);
        assert_eq!(first("xe-hpg"), [(128, 8)]);
        assert_eq!(occupancy(&target("generic"), &[("anything", 1000), ("else", 1)]), 1);
        assert_eq!(occupancy(&target("gfx1030"), &[("sgpr", 106), ("vgpr", 1)]), 16);
    }

    #[test]
    fn steps_limit_and_waves_agree_on_every_target() {
        for target in Target::all_builtin() {
            for file in target.files() {
                let most: u32 = file.classes.iter().map(|class| class.max).sum();
                for used in 1..=most {
                    let waves = file.waves(used);
                    let adjusted = file.adjusted(used);
                    assert!(adjusted >= used && file.waves(adjusted) == waves);
                    assert!(adjusted == most || file.waves(adjusted + 1) < waves);
                }
            }
        }
    }

    #[test]
    fn bad_targets_are_refused_with_a_reason() {
        let good = "name='t'\ndescription=''\n[issue]\nwidth=1\n[[file]]\nname='f'\nsize=16\ngranule=4\n\
                    waves=2\nclasses=[{name='r',max=16}]\n";
        assert!(Target::parse(good).is_ok());
        for (from, to, message) in [
            ("width=1", "width=0", "issue.width must be at least 1"),
            ("granule=4", "granule=0", "must not be 0"),
            ("max=16", "max=17", "the file has only 16"),
            ("max=16", "max=-1", "max"),
            ("waves=2", "wavs=2", "unknown field"),
            ("max=16}", "max=8},{name='r',max=8}", "listed twice"),
            ("width=1", "width=1\nunits=[{name='a'},{name='a'}]", "issue.units: unit \"a\" is listed twice"),
            ("width=1", "width=1\nunits=[{name='a',count=0}]", "issue.units: unit \"a\" has count 0"),
            ("max=16}", "max=8},{name='*',max=8}", "give it its own [[file]]"),
            ("max=16}", "max=16,spill={class='r',lanes=8}}", "name a class that spills into memory"),
            ("max=16}", "max=16,spill={class='v',lanes=8}}", "name a class that spills into memory"),
            ("max=16}", "max=8,spill={class='v',lanes=0}},{name='v',max=8}", "at least 1 lane"),
        ] {
            let error = Target::parse(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = target("sm_90").registers(&["vgpr".into()]).unwrap_err().to_string();
        assert_eq!(error, "register class \"vgpr\" is not one of target sm_90, which has r, ur, p");
    }
}

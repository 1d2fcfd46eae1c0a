//! Region files, reduced to what claims depend on: dependences, values, and what instructions need.
//!
//! Each lane of a register is followed through the source order. A write closes the lifetime of the lane and
//! begins another. Lifetimes of one register with the same begin, the same uses and the same fate at the end
//! form a value. The dependences must keep each use between its write and the next write of the lane; then
//! every legal order has the same lifetimes, and the source order can define them.

use crate::lines;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The format allows no more register classes.
pub const MAX_CLASSES: usize = 16;
/// Claims about regions with more instructions are unsupported. The limit bounds the memory for sets of
/// instructions.
pub const MAX_INSTRUCTIONS: usize = 1 << 14;
/// Claims about regions with more lanes, counted in registers and operands, are unsupported.
pub const MAX_LANES: usize = 1 << 22;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // Fields that only have to be there, or only may be there.
struct Line {
    lowtide: u32,
    kernel: String,
    #[serde(default)]
    origin: String,
    target: Option<IgnoredAny>,
    entry: Option<IgnoredAny>,
    max_occupancy: Option<u32>,
    region: String,
    loop_depth: Option<IgnoredAny>,
    frequency: Option<IgnoredAny>,
    boundary: Option<IgnoredAny>,
    classes: Vec<String>,
    registers: Vec<Register>,
    #[serde(default)]
    live_in: Vec<Operand>,
    #[serde(default)]
    live_out: Vec<Operand>,
    #[serde(default)]
    through: BTreeMap<String, u32>,
    instructions: Vec<Instruction>,
    #[serde(default)]
    deps: Vec<(u32, u32, String, u32)>,
    hints: Option<IgnoredAny>,
    source_peaks: Option<IgnoredAny>,
    production: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    name: String,
    class: String,
    #[serde(default = "one")]
    lanes: u32,
    #[serde(default = "one")]
    weight: u32,
}

fn one() -> u32 {
    1
}

/// What an instruction needs, as in the region file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, missing_docs)]
pub struct Instruction {
    pub op: Box<str>,
    latency: IgnoredAny,
    micro_ops: Option<IgnoredAny>,
    #[serde(default)]
    pub units: BTreeMap<Box<str>, u32>,
    #[serde(default)]
    pub flags: Box<str>,
    pub address_space: Option<i32>,
    #[serde(default)]
    defs: Vec<Operand>,
    #[serde(default)]
    uses: Vec<Operand>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Operand {
    All(String),
    Lanes(String, u64),
    Flagged(String, u64, IgnoredAny),
}

/// A set of small numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bits(Box<[u64]>);

impl Bits {
    /// Return the empty set of numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)].into())
    }

    /// Tell whether the set contains `i`.
    pub fn has(&self, i: u32) -> bool {
        self.0[i as usize / 64] >> (i % 64) & 1 == 1
    }

    /// Put `i` in the set (`on`), or take it out.
    pub fn set(&mut self, i: u32, on: bool) {
        let word = &mut self.0[i as usize / 64];
        *word = *word & !(1 << (i % 64)) | u64::from(on) << (i % 64);
    }

    /// Combine each word with the same word of another set.
    pub fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = with(*a, *b));
    }

    /// Iterate over the members, from the smallest to the largest.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip((0u32..).step_by(64)).flat_map(|(&word, base)| {
            std::iter::successors(Some(word), |&w| Some(w & w.wrapping_sub(1)))
                .take_while(|&w| w != 0)
                .map(move |w| base + w.trailing_zeros())
        })
    }
}

/// A list of numbers for each index, in one piece of memory.
#[derive(Default, PartialEq)]
pub struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Collect pairs (index, item) with indices below `count`.
    fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut start = vec![0u32; count + 1];
        pairs.clone().for_each(|(i, _)| start[i as usize + 1] += 1);
        (0..count).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let mut items = vec![0; start[count] as usize];
        for (i, item) in pairs {
            items[next[i as usize] as usize] = item;
            next[i as usize] += 1;
        }
        Self { start, items }
    }

    /// Return the list of index `i`.
    pub fn get(&self, i: u32) -> &[u32] {
        &self.items[self.start[i as usize] as usize..self.start[i as usize + 1] as usize]
    }
}

/// Lifetimes of one register that begin at the same place, have the same uses, and are all live-out or all
/// not.
#[derive(PartialEq)]
pub struct Value {
    /// The number of the register in the region file.
    pub register: u32,
    /// The lanes, one bit each.
    pub lanes: u64,
    /// The instruction that writes the lanes; none for live-in lanes.
    pub begin: Option<u32>,
    /// Whether the lanes are live at the end of the region.
    pub live_out: bool,
    /// The number of the register's class in the region.
    pub class: usize,
    /// The number of lanes times the weight of a lane.
    pub weight: i64,
}

/// The dependences and values of a region.
#[derive(Default)]
pub struct Graph {
    /// The instructions, without operands.
    pub ops: Vec<Instruction>,
    /// All dependences: from, to, kind, latency.
    pub deps: Vec<(u32, u32, String, u32)>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// For each class, the weight that is live throughout.
    pub through: Vec<i64>,
    /// The number of instructions. Numbers of instructions are below it everywhere in this struct.
    pub count: usize,
    /// The instructions that each instruction depends on, by `deps`.
    pub preds: Lists,
    /// The instructions that depend on each instruction, by `deps`.
    pub succs: Lists,
    /// The values, sorted by register and begin.
    pub values: Vec<Value>,
    /// For each value, the instructions that use it.
    pub uses: Lists,
    /// For each instruction, the values that it uses.
    pub used: Lists,
    /// For each instruction, the values that it begins.
    pub begun: Lists,
}

/// A region of a kernel.
pub struct Region {
    /// Its name.
    pub name: String,
    /// Its graph, or the reason why claims about the region are unsupported.
    pub graph: Result<Graph, String>,
    /// The schedule, or its mistake. None without a schedule.
    pub schedule: Option<Result<Schedule, String>>,
}

/// What is kept of a schedule with a legal order.
pub struct Schedule {
    /// The peak of each class.
    pub peaks: Vec<i64>,
    /// For each instruction the cycle of its issue, or a mistake of the cycles. They do not fall along the
    /// order.
    pub cycles: Result<Vec<u32>, String>,
}

/// All regions of a kernel.
#[derive(Default)]
pub struct Kernel {
    /// In the order of the file.
    pub regions: Vec<Region>,
    /// The number of each region in `regions`, by name.
    pub by_name: HashMap<String, usize>,
    /// Most waves that local memory and launch bounds allow: the least that a line of the kernel states.
    pub max_occupancy: Option<u32>,
    /// Two regions have one name, or the lines of the kernel are not consecutive: claims about the kernel are
    /// ambiguous.
    pub repeated: bool,
}

/// The content of the region files.
#[derive(Default)]
pub struct Store {
    /// The kernels, by name and origin.
    pub kernels: HashMap<(String, String), Kernel>,
    /// The number of lines that are LLVM dumps, which the verifier does not read.
    pub dumps: u64,
}

/// Read a region file, or all region files below a folder.
pub fn read(path: &Path) -> Result<Store, String> {
    let mut store = Store::default();
    for file in lines::files(path)? {
        let mut last = None;
        lines::for_each(&file, |_, line| {
            if is_dump(line) {
                store.dumps += 1;
                last = None;
                return Ok(());
            }
            let line: Line = serde_json::from_slice(line).map_err(|e| format!("not a region: {e}"))?;
            if line.lowtide != 1 {
                return Err(format!("version {} of the region format; only 1 is known", line.lowtide));
            }
            let key = (line.kernel.clone(), line.origin.clone());
            let known = store.kernels.contains_key(&key);
            let kernel = store.kernels.entry(key.clone()).or_default();
            kernel.repeated |= known && last.as_ref() != Some(&key);
            kernel.repeated |= kernel.by_name.insert(line.region.clone(), kernel.regions.len()).is_some();
            kernel.max_occupancy = kernel.max_occupancy.into_iter().chain(line.max_occupancy).min();
            let name = line.region.clone();
            let graph = match too_large(&line) {
                Some(reason) => Err(reason),
                None => Ok(build(line).map_err(|e| format!("region {name:?}: {e}"))?),
            };
            kernel.regions.push(Region { name, graph, schedule: None });
            last = Some(key);
            Ok(())
        })?;
    }
    Ok(store)
}

/// LLVM dumps have the key `v`.
fn is_dump(line: &[u8]) -> bool {
    serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line).is_ok_and(|line| line.contains_key("v"))
}

/// Return the reason if a region is too large. Each operand counts with the lanes of the largest register.
fn too_large(line: &Line) -> Option<String> {
    if line.instructions.len() > MAX_INSTRUCTIONS {
        return Some(format!("the region has more than {MAX_INSTRUCTIONS} instructions"));
    }
    let operands: usize = line.instructions.iter().map(|i| i.defs.len() + i.uses.len()).sum();
    let total = line.registers.len() + line.live_in.len() + line.live_out.len() + operands;
    let lanes = line.registers.iter().map(|r| r.lanes.clamp(1, 64) as usize).max().unwrap_or(1);
    (total.saturating_mul(lanes) > MAX_LANES)
        .then(|| format!("the operands of the region can have more than {MAX_LANES} lanes"))
}

/// A lane since its last write.
#[derive(Clone, Default)]
struct Open {
    /// The instruction that has written the lane, or -1 if it is live-in. None without either: then there is
    /// no lifetime.
    begin: Option<i64>,
    uses: Vec<u32>,
}

/// Find the dependences and values of a region, and check that they fit.
fn build(line: Line) -> Result<Graph, String> {
    let count = line.instructions.len();
    let classes = &line.classes;
    if classes.len() > MAX_CLASSES {
        return Err(format!("more than {MAX_CLASSES} classes"));
    }
    if let Some(c) = (1..classes.len()).find(|&c| classes[..c].contains(&classes[c])) {
        return Err(format!("the class {:?} is named twice", classes[c]));
    }
    let class_of = |name: &String| {
        classes.iter().position(|c| c == name).ok_or_else(|| format!("unknown class {name:?}"))
    };
    let mut through = vec![0; classes.len()];
    for (class, &weight) in &line.through {
        through[class_of(class)?] = i64::from(weight);
    }

    let mut deps = Vec::with_capacity(line.deps.len());
    for &(from, to, ref kind, _) in &line.deps {
        if from >= to || to as usize >= count {
            return Err(format!("dependence [{from}, {to}]: the source order must respect it"));
        }
        if !["data", "anti", "output", "memory", "barrier"].contains(&kind.as_str()) {
            return Err(format!("dependence [{from}, {to}]: unknown kind {kind:?}"));
        }
        deps.push((from, to));
    }
    deps.sort_unstable();
    deps.dedup();
    let succs = Lists::new(count, deps.iter().copied());
    let preds = Lists::new(count, deps.iter().map(|&(from, to)| (to, from)));
    // The instructions that each instruction depends on, directly or not.
    let mut before: Vec<Bits> = Vec::with_capacity(count);
    for i in 0..count as u32 {
        let mut set = Bits::new(count);
        for &p in preds.get(i) {
            set.combine(&before[p as usize], |a, b| a | b);
            set.set(p, true);
        }
        before.push(set);
    }
    let ordered = |first: u32, second: u32| before[second as usize].has(first);

    let mut numbers = HashMap::new();
    let mut register_class = Vec::new();
    for (number, register) in line.registers.iter().enumerate() {
        if !(1..=64).contains(&register.lanes) {
            return Err(format!("register {:?} has {} lanes, not 1 to 64", register.name, register.lanes));
        }
        if numbers.insert(register.name.as_str(), number).is_some() {
            return Err(format!("two registers have the name {:?}", register.name));
        }
        register_class.push(class_of(&register.class)?);
    }
    // An operand as its register and its mask of lanes.
    let operand = |operand: &Operand| -> Result<(usize, u64), String> {
        let (Operand::All(name) | Operand::Lanes(name, _) | Operand::Flagged(name, ..)) = operand;
        let number = *numbers.get(name.as_str()).ok_or_else(|| format!("unknown register {name:?}"))?;
        let all = u64::MAX >> (64 - line.registers[number].lanes);
        match *operand {
            Operand::All(_) => Ok((number, all)),
            Operand::Lanes(_, mask) | Operand::Flagged(_, mask, _) if mask & !all == 0 => Ok((number, mask)),
            _ => Err(format!("a mask of register {name:?} has a bit without a lane")),
        }
    };
    let unordered = |what: &str, register: usize, first: &str| {
        format!("no dependence keeps the {what} of {:?} after {first}", line.registers[register].name)
    };
    let writer = |begin: i64| u32::try_from(begin).ok();
    let lanes_of = |mask: u64| (0..64usize).filter(move |lane| mask >> lane & 1 == 1);

    // Lifetimes that are equal but for the lane, and the mask of their lanes.
    let mut groups: BTreeMap<(u32, i64, bool, Vec<u32>), u64> = BTreeMap::new();
    let mut close = |register: usize, lane: usize, open: Open, live_out: bool| {
        if let Some(begin) = open.begin {
            *groups.entry((register as u32, begin, live_out, open.uses)).or_default() |= 1 << lane;
        }
    };
    let mut open: Vec<Vec<Open>> =
        line.registers.iter().map(|r| vec![Open::default(); r.lanes as usize]).collect();
    for item in &line.live_in {
        let (register, mask) = operand(item)?;
        lanes_of(mask).for_each(|lane| open[register][lane].begin = Some(-1));
    }
    for (i, instruction) in (0u32..).zip(&line.instructions) {
        let at = |e: String| format!("instruction {i}: {e}");
        for item in &instruction.uses {
            let (register, mask) = operand(item).map_err(at)?;
            for lane in lanes_of(mask) {
                let lifetime = &mut open[register][lane];
                if lifetime.begin.and_then(writer).is_some_and(|b| !ordered(b, i)) {
                    return Err(at(unordered("use", register, "its definition")));
                }
                if lifetime.uses.last() != Some(&i) {
                    lifetime.uses.push(i);
                }
            }
        }
        for item in &instruction.defs {
            let (register, mask) = operand(item).map_err(at)?;
            for lane in lanes_of(mask) {
                let next = Open { begin: Some(i.into()), uses: Vec::new() };
                let ended = std::mem::replace(&mut open[register][lane], next);
                if ended.begin == Some(i.into()) {
                    continue; // Two definitions of one instruction name the lane.
                }
                let begin = ended.begin.and_then(writer);
                if ended.uses.iter().copied().chain(begin).any(|j| j != i && !ordered(j, i)) {
                    return Err(at(unordered("definition", register, "earlier uses")));
                }
                close(register, lane, ended, false);
            }
        }
    }
    let mut live_out: Vec<u64> = vec![0; line.registers.len()];
    for item in &line.live_out {
        let (register, mask) = operand(item)?;
        live_out[register] |= mask;
    }
    for (register, lanes) in open.into_iter().enumerate() {
        for (lane, lifetime) in lanes.into_iter().enumerate() {
            close(register, lane, lifetime, live_out[register] >> lane & 1 == 1);
        }
    }

    let mut values = Vec::with_capacity(groups.len());
    let mut pairs = Vec::new();
    for (v, ((register, begin, live_out, uses), lanes)) in (0u32..).zip(groups) {
        let weight = i64::from(line.registers[register as usize].weight) * i64::from(lanes.count_ones());
        let (begin, class) = (writer(begin), register_class[register as usize]);
        values.push(Value { register, lanes, begin, live_out, class, weight });
        pairs.extend(uses.into_iter().map(|i| (v, i)));
    }
    let begun = (0u32..).zip(&values).filter_map(|(v, value)| Some((value.begin?, v)));
    let without_operands = |i: Instruction| Instruction { defs: Vec::new(), uses: Vec::new(), ..i };
    Ok(Graph {
        classes: classes.clone(),
        through,
        count,
        preds,
        succs,
        uses: Lists::new(values.len(), pairs.iter().copied()),
        used: Lists::new(count, pairs.iter().map(|&(v, i)| (i, v))),
        begun: Lists::new(count, begun),
        values,
        ops: line.instructions.into_iter().map(without_operands).collect(),
        deps: line.deps,
    })
}

/// Equal if each proof about orders of one graph is one about the other: they differ in names, times and
/// `through` at most.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        (&self.classes, &self.preds, &self.values, &self.uses)
            == (&other.classes, &other.preds, &other.values, &other.uses)
    }
}

impl Graph {
    /// Find the value of the lifetime of a lane that begins at `begin`, or before the region for -1.
    pub fn value(&self, register: u32, lane: u32, begin: i64) -> Option<u32> {
        let begin = if begin == -1 { None } else { Some(u32::try_from(begin).ok()?) };
        let first = self.values.partition_point(|v| (v.register, v.begin) < (register, begin));
        let same = self.values[first..].iter().take_while(|v| (v.register, v.begin) == (register, begin));
        let bit = 1u64.checked_shl(lane)?;
        same.zip(first as u32..).find(|(v, _)| v.lanes & bit != 0).map(|(_, v)| v)
    }
}

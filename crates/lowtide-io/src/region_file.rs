//! The project's own format: one region in each line. `docs/region-format.md` describes it.

use lowtide::region::{
    DefFlags, DepKind, HintKind, InstrSpec, Kernel, Lanes, Peak, Production, Region, RegionBuilder,
};
use lowtide::{InstrId, RegisterId};
use rustc_hash::FxHashMap;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use crate::json::{Pairs, Text};
use crate::reader::{Entry, KernelHeader};

/// The format version for reading and writing.
pub(crate) const VERSION: u32 = 1;

/// One line. Reader and writer use the same declaration.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: a region")]
struct Line<'a> {
    lowtide: u32,
    #[serde(borrow)]
    kernel: Text<'a>,
    #[serde(borrow, default, skip_serializing_if = "Text::is_empty")]
    origin: Text<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    target: Option<Text<'a>>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    entry: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_occupancy: Option<u32>,
    #[serde(borrow)]
    region: Text<'a>,
    #[serde(default, skip_serializing_if = "is_zero")]
    loop_depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frequency: Option<u32>,
    #[serde(borrow, default, skip_serializing_if = "Text::is_empty")]
    boundary: Text<'a>,
    #[serde(borrow)]
    classes: Vec<Text<'a>>,
    #[serde(borrow)]
    registers: Vec<RegisterItem<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    live_in: Vec<Part<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    live_out: Vec<Part<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Pairs::is_empty")]
    through: Pairs<Text<'a>, u32>,
    #[serde(borrow)]
    instructions: Vec<InstrItem<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deps: Vec<(u32, u32, Named<DepKind>, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hints: Vec<(u32, Option<u32>, Named<HintKind>, u32)>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    source_peaks: Option<Pairs<Text<'a>, PeakItem>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    production: Option<ProductionItem<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with name and class")]
struct RegisterItem<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    class: Text<'a>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    lanes: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    weight: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with op and latency")]
struct InstrItem<'a> {
    #[serde(borrow)]
    op: Text<'a>,
    latency: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    micro_ops: u32,
    #[serde(borrow, default, skip_serializing_if = "Pairs::is_empty")]
    units: Pairs<Text<'a>, u32>,
    #[serde(borrow, default, skip_serializing_if = "Text::is_empty")]
    flags: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address_space: Option<i32>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    defs: Vec<Part<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    uses: Vec<Part<'a>>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields, expecting = "an object with between and at")]
struct PeakItem {
    between: u32,
    at: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with by and order")]
struct ProductionItem<'a> {
    #[serde(borrow)]
    by: Text<'a>,
    order: Vec<u32>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    peaks: Option<Pairs<Text<'a>, PeakItem>>,
}

/// A kind, written by its name.
#[derive(Clone, Copy)]
struct Named<T>(T);

trait HasName: Copy {
    const WHAT: &'static str;
    fn all() -> &'static [Self];
    fn name(self) -> &'static str;
}

impl HasName for DepKind {
    const WHAT: &'static str = "a kind of dependence (data, anti, output, memory, barrier)";
    fn all() -> &'static [Self] {
        &DepKind::ALL
    }
    fn name(self) -> &'static str {
        self.name()
    }
}

impl HasName for HintKind {
    const WHAT: &'static str = "a kind of hint (artificial, cluster, weak, exit)";
    fn all() -> &'static [Self] {
        &HintKind::ALL
    }
    fn name(self) -> &'static str {
        self.name()
    }
}

impl<T: HasName> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de, T: HasName + 'static> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        let kind = T::all().iter().find(|kind| kind.name() == &*text);
        let unexpected = serde::de::Unexpected::Str(&text);
        kind.map(|kind| Named(*kind)).ok_or_else(|| serde::de::Error::invalid_value(unexpected, &T::WHAT))
    }
}

/// Lanes of a register: `"name"` for all of it, `["name", mask]`, or `["name", mask, flags]`.
struct Part<'a> {
    register: Text<'a>,
    lanes: Option<Lanes>,
    flags: DefFlags,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

// serde hands over references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_yes(value: &bool) -> bool {
    *value
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(value: &u32) -> bool {
    *value == 1
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl<K, V> Pairs<K, V> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Read the letters of [`DefFlags`].
pub fn def_flags(letters: &str) -> Result<DefFlags, String> {
    let mut flags = DefFlags::default();
    for letter in letters.chars() {
        match letter {
            'd' => flags.dead = true,
            'e' => flags.early_clobber = true,
            't' => flags.tied = true,
            'u' => flags.undef = true,
            _ => return Err(format!("unknown flag {letter:?} of a definition (known: d, e, t, u)")),
        }
    }
    Ok(flags)
}

pub(crate) fn def_flag_letters(flags: DefFlags) -> String {
    let DefFlags { dead, early_clobber, tied, undef } = flags;
    let letters = [(dead, 'd'), (early_clobber, 'e'), (tied, 't'), (undef, 'u')];
    letters.into_iter().filter_map(|(set, letter)| set.then_some(letter)).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartVisitor;
        impl<'de> Visitor<'de> for PartVisitor {
            type Value = Part<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a register name, or [name, lanes], or [name, lanes, flags]")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Part<'de>, E> {
                Ok(Part { register: Text::from(name), lanes: None, flags: DefFlags::default() })
            }

            fn visit_str<E>(self, name: &str) -> Result<Part<'de>, E> {
                Ok(Part { register: Text::owned(name), lanes: None, flags: DefFlags::default() })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Part<'de>, A::Error> {
                use serde::de::Error;
                let register: Text<'de> =
                    seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let lanes: Lanes = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                let letters: Option<Text<'de>> = seq.next_element()?;
                let flags = def_flags(letters.as_deref().unwrap_or("")).map_err(A::Error::custom)?;
                if seq.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(A::Error::invalid_length(4, &self));
                }
                Ok(Part { register, lanes: Some(lanes), flags })
            }
        }
        deserializer.deserialize_any(PartVisitor)
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let letters = def_flag_letters(self.flags);
        let Some(lanes) = self.lanes else {
            return serializer.serialize_str(&self.register);
        };
        let mut seq = serializer.serialize_seq(None)?;
        seq.serialize_element(&self.register)?;
        seq.serialize_element(&lanes)?;
        if !letters.is_empty() {
            seq.serialize_element(&letters)?;
        }
        seq.end()
    }
}

/// Read one line.
pub(crate) fn parse_line(line: &str, builder: &mut RegionBuilder) -> Result<Entry, String> {
    let line: Line = crate::json::parse(line)?;
    if line.lowtide != VERSION {
        return Err(format!(
            "unknown format version {} (this program reads version {VERSION})",
            line.lowtide
        ));
    }
    let place = |message: String| format!("region {:?}: {message}", line.region);
    builder.restart();
    builder.name(&line.region);
    builder.loop_depth(line.loop_depth);
    line.frequency.into_iter().for_each(|frequency| builder.frequency(frequency));
    builder.boundary(&line.boundary);

    let mut classes: FxHashMap<&str, lowtide::ClassId> = FxHashMap::default();
    for name in &line.classes {
        if classes.len() >= lowtide::region::limits::CLASSES {
            return Err(place(format!("more than {} classes", lowtide::region::limits::CLASSES)));
        }
        if classes.insert(name, builder.class(name)).is_some() {
            return Err(place(format!("class {name:?} is listed twice")));
        }
    }
    let class = |name: &str, who: &dyn Fn() -> String| match classes.get(name) {
        Some(&class) => Ok(class),
        None => Err(place(format!("{}: class {name:?} is not listed in \"classes\"", who()))),
    };
    for (name, weight) in &line.through.0 {
        builder.through(class(name, &|| "through".to_string())?, *weight);
    }

    let mut registers: FxHashMap<&str, (RegisterId, Lanes)> = FxHashMap::default();
    for register in &line.registers {
        let class = class(&register.class, &|| format!("register {:?}", register.name))?;
        let id = builder.register(&register.name, class, register.lanes, register.weight);
        let all = if register.lanes >= 64 { Lanes::MAX } else { (1 << register.lanes) - 1 };
        if registers.insert(&register.name, (id, all)).is_some() {
            return Err(place(format!("register {:?} is listed twice", register.name)));
        }
    }
    let part = |part: &Part, who: &dyn Fn() -> String| match registers.get(&*part.register) {
        Some(&(id, all)) => Ok((id, part.lanes.unwrap_or(all))),
        None => Err(place(format!("{}: unknown register {:?}", who(), part.register))),
    };
    for item in &line.live_in {
        let (register, lanes) = part(item, &|| "live_in".to_string())?;
        builder.live_in(register, lanes);
    }
    for item in &line.live_out {
        let (register, lanes) = part(item, &|| "live_out".to_string())?;
        builder.live_out(register, lanes);
    }

    let mut units: Vec<(&str, u32)> = Vec::new();
    for (position, item) in line.instructions.iter().enumerate() {
        units.clear();
        units.extend(item.units.0.iter().map(|(name, cycles)| (&**name, *cycles)));
        let instr = builder.instr(InstrSpec {
            opcode: &item.op,
            latency: item.latency,
            units: &units,
            flags: &item.flags,
            micro_ops: item.micro_ops,
            address_space: item.address_space.unwrap_or(-1),
        });
        let who = || format!("instruction #{position} {}", item.op);
        for def in &item.defs {
            let (register, lanes) = part(def, &who)?;
            builder.defs_with(instr, register, lanes, def.flags);
        }
        for used in &item.uses {
            let (register, lanes) = part(used, &who)?;
            builder.uses(instr, register, lanes);
        }
    }

    for &(from, to, Named(kind), latency) in &line.deps {
        builder.depend(InstrId(from), InstrId(to), kind, latency);
    }
    for &(from, to, Named(kind), latency) in &line.hints {
        builder.hint(InstrId(from), to.map(InstrId), kind, latency);
    }

    let peaks = |pairs: &Pairs<Text, PeakItem>, who: &str| {
        let mut peaks = vec![Peak::default(); line.classes.len()];
        for (name, peak) in &pairs.0 {
            let class = class(name, &|| who.to_string())?;
            peaks[class.index()] = Peak { between: peak.between, at: peak.at };
        }
        Ok::<_, String>(peaks)
    };
    if let Some(pairs) = &line.source_peaks {
        builder.source_peaks(peaks(pairs, "source_peaks")?);
    }
    if let Some(item) = &line.production {
        builder.production(Production {
            by: (&*item.by).into(),
            order: item.order.iter().map(|&instr| InstrId(instr)).collect(),
            peaks: item.peaks.as_ref().map(|pairs| peaks(pairs, "production.peaks")).transpose()?,
        });
    }

    let region = builder.finish().map_err(|error| place(error.to_string()))?;
    if line.max_occupancy == Some(0) {
        return Err(format!(
            "kernel {:?}: max_occupancy must be at least 1: leave it out if there is no limit",
            line.kernel
        ));
    }
    let kernel = KernelHeader {
        name: (*line.kernel).into(),
        origin: (*line.origin).into(),
        target: line.target.map(|target| (*target).into()),
        is_entry: line.entry,
        max_occupancy: line.max_occupancy,
    };
    Ok(Entry { kernel, region, position: None })
}

/// Write one region of a kernel as a line, without the line end.
pub fn format_line(kernel: &Kernel, region: &Region) -> String {
    let class_name = |position: usize| Text::from(&*region.classes()[position]);
    let peaks = |peaks: &[Peak]| {
        let item = |peak: &Peak| PeakItem { between: peak.between, at: peak.at };
        Pairs(peaks.iter().enumerate().map(|(class, peak)| (class_name(class), item(peak))).collect())
    };
    let part = |operand: lowtide::region::Operand, flags: DefFlags| {
        let register = &region.registers()[operand.register.index()];
        let whole = operand.lanes == register.all_lanes() && flags == DefFlags::default();
        Part {
            register: Text::from(region.register_name(operand.register)),
            lanes: (!whole).then_some(operand.lanes),
            flags,
        }
    };
    let plain = |operand: &lowtide::region::Operand| part(*operand, DefFlags::default());
    let line = Line {
        lowtide: VERSION,
        kernel: Text::from(kernel.name.as_str()),
        origin: Text::from(kernel.origin.as_str()),
        target: kernel.target.as_deref().map(Text::from),
        entry: kernel.is_entry,
        max_occupancy: kernel.max_occupancy,
        region: Text::from(region.name()),
        loop_depth: region.loop_depth(),
        frequency: region.frequency(),
        boundary: Text::from(region.boundary()),
        classes: (0..region.classes().len()).map(class_name).collect(),
        registers: (region.registers().iter().enumerate())
            .map(|(position, register)| RegisterItem {
                name: Text::from(region.register_name(RegisterId::at(position))),
                class: class_name(register.class.index()),
                lanes: register.lanes,
                weight: register.lane_weight,
            })
            .collect(),
        live_in: region.live_in().iter().map(plain).collect(),
        live_out: region.live_out().iter().map(plain).collect(),
        through: Pairs(
            (region.class_ids())
                .filter(|class| region.through(*class) > 0)
                .map(|class| (class_name(class.index()), region.through(class)))
                .collect(),
        ),
        instructions: (region.instrs())
            .map(|instr| InstrItem {
                op: Text::from(region.opcode(instr)),
                latency: region.latency(instr),
                micro_ops: region.micro_ops(instr),
                units: Pairs(
                    region.units(instr).iter().map(|need| (Text::from(&*need.unit), need.cycles)).collect(),
                ),
                flags: Text::from(region.flags(instr)),
                address_space: Some(region.address_space(instr)).filter(|space| *space != -1),
                defs: region.defs(instr).iter().map(|def| part(def.operand, def.flags)).collect(),
                uses: region.operands(instr).iter().map(plain).collect(),
            })
            .collect(),
        deps: (region.deps().iter())
            .map(|dep| (dep.from.0, dep.to.0, Named(dep.kind), dep.latency))
            .collect(),
        hints: (region.hints().iter())
            .map(|hint| (hint.from.0, hint.to.map(|to| to.0), Named(hint.kind), hint.latency))
            .collect(),
        source_peaks: region.source_peaks().map(peaks),
        production: region.production().map(|production| ProductionItem {
            by: Text::from(&*production.by),
            order: production.order.iter().map(|instr| instr.0).collect(),
            peaks: production.peaks.as_deref().map(peaks),
        }),
    };
    serde_json::to_string(&line).expect("strings and numbers always serialise")
}

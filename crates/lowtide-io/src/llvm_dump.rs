//! Regions as dumped from LLVM's AMDGPU back end: terse arrays instead of named fields.
//!
//! A line is one object; `nodes` holds
//! `[opcode, latency, micro-ops, units, flags, address space, defs, uses]` and `edges`
//! `[from, to, kind, latency, register?]`. Kinds d, a, o, m, b bind; A, C and W are preferences, and edges to
//! -1 lead to what follows the region. Registers are numbers, their lanes 32 bits wide.
//!
//! Compilers dump large code bases in this form, so the reader is fast: one pass hands instructions and edges
//! to the builder as they come. Only references to registers wait, as numbers, for the table of registers at
//! the end of the line.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use lowtide::region::{DefFlags, DepKind, HintKind, InstrSpec, Peak, Production, Region, RegionBuilder};
use lowtide::target::Target;
use lowtide::{ClassId, InstrId, RegisterId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::cursor::{Cursor, Parsed};
use crate::reader::{Entry, KernelHeader};

pub(crate) const VERSION: u32 = 1;

/// The calling convention of kernels.
const KERNEL_CONVENTION: u32 = 91;

const FIELDS: [&str; 25] = [
    "v",
    "src",
    "fn",
    "cc",
    "cpu",
    "llvm",
    "bb",
    "ri",
    "nr",
    "loop",
    "n",
    "amdgpu-flat-work-group-size",
    "amdgpu-waves-per-eu",
    "vlim",
    "slim",
    "bnd",
    "nodes",
    "edges",
    "in",
    "out",
    "thru",
    "regs",
    "rp",
    "llvmrp",
    "after",
];

const OPTIONAL: [&str; 3] = ["amdgpu-flat-work-group-size", "amdgpu-waves-per-eu", "after"];

const NODE: &str = "[opcode, latency, micro-ops, units, flags, address space, defs, uses]";
const DEF: &str = "[register, lanes] or [register, lanes, flags]";
const OPERAND: &str = "[register, lanes]";
const EDGE: &str = "[from, to, kind, latency] or [from, to, kind, latency, register]";
const REGISTER: &str = "[class, file, width]";

/// The targets of all readers: some programs read each kernel with a reader of its own.
static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| Target::all_builtin().collect());

/// A reader of lines. It reuses its memory from line to line.
pub(crate) struct DumpReader {
    builder: RegionBuilder,
    registers: Registers,
    pending: Pending,
    targets: &'static [Target],
    /// Function, source and processor: the same for many lines.
    texts: [LastText; 3],
}

/// The text of the last line.
#[derive(Default)]
struct LastText(Arc<str>);

impl LastText {
    /// Return the text shared: most often it equals the text of the last line.
    fn share(&mut self, text: &str) -> Arc<str> {
        if *self.0 != *text {
            self.0 = text.into();
        }
        self.0.clone()
    }
}

/// The registers of a line by their number. Compilers number registers from 0, so that a table has nearly all
/// of them.
#[derive(Default)]
struct Registers {
    /// The number of the line.
    line: u32,
    /// For each register number, the last line that has it, and its index there.
    table: Vec<(u32, RegisterId)>,
    /// Registers with numbers beyond the table.
    others: FxHashMap<u32, RegisterId>,
}

impl Registers {
    /// The most entries of the table.
    const MOST: usize = 1 << 16;

    fn clear(&mut self) {
        self.others.clear();
        self.line = self.line.wrapping_add(1);
        if self.line == 0 {
            self.table.clear();
            self.line = 1;
        }
    }

    /// Add a register. Return false if its number is known already.
    fn insert(&mut self, number: u32, register: RegisterId) -> bool {
        let place = number as usize;
        if place >= Self::MOST {
            return self.others.insert(number, register).is_none();
        }
        if place >= self.table.len() {
            self.table.resize((place + 1).next_power_of_two(), (0, RegisterId(0)));
        }
        let last = std::mem::replace(&mut self.table[place], (self.line, register));
        last.0 != self.line
    }

    #[inline]
    fn get(&self, number: u32) -> Option<RegisterId> {
        match self.table.get(number as usize) {
            Some((line, register)) => (*line == self.line).then_some(*register),
            None => self.others.get(&number).copied(),
        }
    }
}

/// References to registers, until the table of registers is known.
#[derive(Default)]
struct Pending {
    defs: Vec<(InstrId, Lanes, DefFlags)>,
    uses: Vec<(InstrId, Lanes)>,
    live_in: Vec<Lanes>,
    live_out: Vec<Lanes>,
}

/// Lanes of a register.
#[derive(Clone, Copy)]
struct Lanes {
    register: u32,
    mask: u32,
}

/// The fields of a line that occur once.
#[derive(Default)]
struct Header<'a> {
    source: Cow<'a, str>,
    function: Cow<'a, str>,
    cpu: Cow<'a, str>,
    waves_per_eu: Option<Cow<'a, str>>,
    convention: u32,
    block: u32,
    position: u32,
    vector_limit: u32,
    count: u32,
    nodes: u32,
    through: [u32; 3],
    peaks: Peaks,
    after: Option<After<'a>>,
}

/// Pressure in the files V, S and A.
type Peaks = [Peak; 3];

/// The production compiler's schedule.
#[derive(Default)]
struct After<'a> {
    by: Cow<'a, str>,
    order: Vec<InstrId>,
    peaks: Peaks,
}

impl DumpReader {
    pub(crate) fn new() -> Self {
        DumpReader {
            builder: RegionBuilder::default(),
            registers: Registers::default(),
            pending: Pending::default(),
            targets: &TARGETS,
            texts: Default::default(),
        }
    }

    /// Read one line.
    pub(crate) fn parse_line(&mut self, line: &str) -> Result<Entry, String> {
        self.builder.restart();
        self.registers.clear();
        self.pending.clear();
        let mut files = Files::new(&mut self.builder);
        let mut header = self.parse(line, &mut files).map_err(|mistake| mistake.to_string())?;
        let name = format!("bb{}.{}", header.block, header.position);
        let result = self.finish(&mut header, &name, files);
        let (region, max_occupancy) =
            result.map_err(|message| format!("function {:?}, region {name}: {message}", header.function))?;
        let kernel = KernelHeader {
            name: self.texts[0].share(&header.function),
            origin: self.texts[1].share(&header.source),
            target: Some(self.texts[2].share(&header.cpu)),
            is_entry: header.convention == KERNEL_CONVENTION,
            max_occupancy,
        };
        Ok(Entry { kernel, region, position: Some(header.position) })
    }

    fn parse<'a>(&mut self, line: &'a str, files: &mut Files) -> Parsed<Header<'a>> {
        let DumpReader { builder, registers, pending, .. } = self;
        let mut header = Header::default();
        let mut cursor = Cursor::new(line);
        let what = "an object: a region of an LLVM dump";
        cursor.fields(what, &FIELDS, &OPTIONAL, |cursor, field| {
            match field {
                "src" => header.source = cursor.string()?,
                "fn" => header.function = cursor.string()?,
                "cc" => header.convention = cursor.u32()?,
                "cpu" => header.cpu = cursor.string()?,
                "bb" => header.block = cursor.u32()?,
                "ri" => header.position = cursor.u32()?,
                "loop" => builder.loop_depth(cursor.u32()?),
                "n" => header.count = cursor.u32()?,
                "amdgpu-waves-per-eu" if cursor.null() => {}
                "amdgpu-waves-per-eu" => header.waves_per_eu = Some(cursor.string()?),
                "vlim" => header.vector_limit = cursor.u32()?,
                "bnd" => builder.boundary(&cursor.string()?),
                "nodes" => cursor.list("a list of nodes", |cursor| {
                    header.nodes += 1;
                    node(cursor, builder, pending)
                })?,
                "edges" => cursor.list("a list of edges", |cursor| edge(cursor, builder))?,
                "in" => cursor.list("a list of registers", |cursor| {
                    pending.live_in.push(operand(cursor)?);
                    Ok(())
                })?,
                "out" => cursor.list("a list of registers", |cursor| {
                    pending.live_out.push(operand(cursor)?);
                    Ok(())
                })?,
                "thru" => header.through = through(cursor)?,
                "regs" => cursor.object("an object of registers", |cursor, name| {
                    let Ok(number) = name.parse() else {
                        return Err(cursor.fault(format!("{name:?} is not a register number")));
                    };
                    let (file, lanes) = register(cursor)?;
                    let class = files.class(file, builder);
                    match registers.insert(number, builder.register(name, class, lanes, 1)) {
                        true => Ok(()),
                        false => Err(cursor.fault(format!("register {number} is listed twice"))),
                    }
                })?,
                "rp" => header.peaks = peaks(cursor)?,
                "after" if cursor.null() => {}
                "after" => header.after = Some(after(cursor, header.nodes)?),
                // The scheduler needs no other field.
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        cursor.end()?;
        Ok(header)
    }

    /// Add the references to registers and validate the region. Return it with the kernel's limit on
    /// occupancy.
    fn finish(
        &mut self,
        header: &mut Header,
        name: &str,
        mut files: Files,
    ) -> Result<(Region, Option<u32>), String> {
        let DumpReader { builder, registers, pending, targets, .. } = self;
        if header.nodes != header.count {
            return Err(format!("\"n\" is {}, but there are {} nodes", header.count, header.nodes));
        }
        builder.name(name);
        if header.through[A] > 0 || header.peaks[A].at > 0 {
            files.class(A, builder);
        }
        for (class, &weight) in files.classes.iter().zip(&header.through) {
            if let Some(class) = class {
                builder.through(*class, weight);
            }
        }
        let id = |lanes: Lanes| registers.get(lanes.register);
        for &lanes in &pending.live_in {
            let register = id(lanes).ok_or_else(|| format!("in: unknown register {}", lanes.register))?;
            builder.live_in(register, lanes.mask.into());
        }
        for &lanes in &pending.live_out {
            let register = id(lanes).ok_or_else(|| format!("out: unknown register {}", lanes.register))?;
            builder.live_out(register, lanes.mask.into());
        }
        for &(instr, lanes, flags) in &pending.defs {
            let register = id(lanes).ok_or_else(|| unknown_register(builder, instr, lanes))?;
            builder.defs_with(instr, register, lanes.mask.into(), flags);
        }
        for &(instr, lanes) in &pending.uses {
            let register = id(lanes).ok_or_else(|| unknown_register(builder, instr, lanes))?;
            builder.uses(instr, register, lanes.mask.into());
        }
        builder.source_peaks(files.peaks(&header.peaks));
        if let Some(After { by, order, peaks }) = header.after.take() {
            builder.production(Production { by: (*by).into(), order, peaks: Some(files.peaks(&peaks)) });
        }
        let region = builder.finish().map_err(|error| error.to_string())?;
        Ok((region, max_occupancy(targets, header)?))
    }
}

#[cold]
fn unknown_register(builder: &RegionBuilder, instr: InstrId, lanes: Lanes) -> String {
    format!("{}: unknown register {}", builder.describe(instr), lanes.register)
}

impl Pending {
    fn clear(&mut self) {
        self.defs.clear();
        self.uses.clear();
        self.live_in.clear();
        self.live_out.clear();
    }
}

fn node(cursor: &mut Cursor, builder: &mut RegionBuilder, pending: &mut Pending) -> Parsed<()> {
    cursor.tuple(NODE, |node| {
        let opcode = node.item(Cursor::string)?;
        let latency = node.item(Cursor::u32)?;
        let micro_ops = node.item(Cursor::u32)?;
        let resources = node.item(Cursor::string)?;
        let mut units: SmallVec<[(&str, u32); 4]> = SmallVec::new();
        let is_one_unit = !resources.is_empty() && !resources.bytes().any(|byte| matches!(byte, b'+' | b'*'));
        if is_one_unit {
            units.push((&resources, 1));
        } else {
            for resource in resources.split('+').filter(|resource| !resource.is_empty()) {
                let (unit, cycles) = resource.split_once('*').unwrap_or((resource, "1"));
                let cycles = cycles.parse().map_err(|_| node.fault(format!("bad resource {resource:?}")))?;
                units.push((unit, cycles));
            }
        }
        let flags = node.item(Cursor::string)?;
        let address_space = node.item(|cursor| cursor.integer(i32::MIN.into(), i32::MAX.into()))? as i32;
        let spec =
            InstrSpec { opcode: &opcode, latency, units: &units, flags: &flags, micro_ops, address_space };
        let instr = builder.instr(spec);
        node.item(|cursor| {
            cursor.list("a list of definitions", |cursor| {
                if let Some([register, mask]) = cursor.compact_pair() {
                    pending.defs.push((instr, Lanes { register, mask }, DefFlags::default()));
                    return Ok(());
                }
                cursor.tuple(DEF, |def| {
                    let lanes = Lanes { register: def.item(Cursor::u32)?, mask: def.item(Cursor::u32)? };
                    let flags = def.optional(def_flags)?.unwrap_or_default();
                    pending.defs.push((instr, lanes, flags));
                    Ok(())
                })
            })
        })?;
        node.item(|cursor| {
            cursor.list("a list of registers", |cursor| {
                pending.uses.push((instr, operand(cursor)?));
                Ok(())
            })
        })
    })
}

fn def_flags(cursor: &mut Cursor) -> Parsed<DefFlags> {
    let letters = cursor.string()?;
    crate::region_file::def_flags(&letters).map_err(|message| cursor.fault(message))
}

#[inline]
fn operand(cursor: &mut Cursor) -> Parsed<Lanes> {
    if let Some([register, mask]) = cursor.compact_pair() {
        return Ok(Lanes { register, mask });
    }
    cursor.tuple(OPERAND, |operand| {
        Ok(Lanes { register: operand.item(Cursor::u32)?, mask: operand.item(Cursor::u32)? })
    })
}

/// The kind of an edge.
#[derive(Clone, Copy)]
enum Kind {
    Binds(DepKind),
    Hint(HintKind),
}

fn edge(cursor: &mut Cursor, builder: &mut RegionBuilder) -> Parsed<()> {
    if let Some(([from, to, latency], kind)) = cursor.compact_edge(kind_of_letter) {
        match kind {
            Kind::Binds(kind) => builder.depend(InstrId(from), InstrId(to), kind, latency),
            Kind::Hint(kind) => builder.hint(InstrId(from), Some(InstrId(to)), kind, latency),
        }
        return Ok(());
    }
    cursor.tuple(EDGE, |edge| {
        let from = InstrId(edge.item(Cursor::u32)?);
        let to = edge.item(|cursor| cursor.integer(-1, u32::MAX.into()))?;
        let kind = edge.item(edge_kind)?;
        let latency = edge.item(Cursor::u32)?;
        // The operands name the register already.
        edge.optional(Cursor::skip)?;
        match (u32::try_from(to), kind) {
            (Err(_), _) => builder.hint(from, None, HintKind::Exit, latency),
            (Ok(to), Kind::Binds(kind)) => builder.depend(from, InstrId(to), kind, latency),
            (Ok(to), Kind::Hint(kind)) => builder.hint(from, Some(InstrId(to)), kind, latency),
        }
        Ok(())
    })
}

fn edge_kind(cursor: &mut Cursor) -> Parsed<Kind> {
    let letter = cursor.string()?;
    let kind = match letter.as_bytes() {
        [letter] => kind_of_letter(*letter),
        _ => None,
    };
    kind.ok_or_else(|| {
        cursor.fault(format!("unknown kind {letter:?} of an edge (known: d, a, o, m, b, A, C, W)"))
    })
}

fn kind_of_letter(letter: u8) -> Option<Kind> {
    Some(match letter {
        b'd' => Kind::Binds(DepKind::Data),
        b'a' => Kind::Binds(DepKind::Anti),
        b'o' => Kind::Binds(DepKind::Output),
        b'm' => Kind::Binds(DepKind::Memory),
        b'b' => Kind::Binds(DepKind::Barrier),
        b'A' => Kind::Hint(HintKind::Artificial),
        b'C' => Kind::Hint(HintKind::Cluster),
        b'W' => Kind::Hint(HintKind::Weak),
        _ => return None,
    })
}

/// Read the file and the width of a register.
fn register(cursor: &mut Cursor) -> Parsed<(usize, u32)> {
    let file = |letter| FILES.iter().position(|name| name.as_bytes() == [letter]);
    if let Some(register) = cursor.compact_register(file) {
        return Ok(register);
    }
    cursor.tuple(REGISTER, |register| {
        register.item(Cursor::skip)?;
        let file = register.item(|cursor| {
            let file = cursor.string()?;
            match FILES.iter().position(|name| **name == *file) {
                Some(file) => Ok(file),
                None => Err(cursor.fault(format!("unknown register file {file:?} (known: V, S, A)"))),
            }
        })?;
        Ok((file, register.item(Cursor::u32)?))
    })
}

fn through(cursor: &mut Cursor) -> Parsed<[u32; 3]> {
    let mut weights = [0; 3];
    cursor.fields("an object with V, S, A and n", &["V", "S", "A", "n"], &[], |cursor, field| {
        match FILES.iter().position(|file| *file == field) {
            Some(file) => weights[file] = cursor.u32()?,
            None => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(weights)
}

/// Read the pressure `[at, between]` of each file.
fn peaks(cursor: &mut Cursor) -> Parsed<Peaks> {
    if let Some(pairs) = cursor.compact_pairs([b"{\"V\":", b",\"S\":", b",\"A\":"]) {
        return Ok(pairs.map(|[at, between]| Peak { at, between }));
    }
    let mut peaks = Peaks::default();
    cursor.fields("an object with V, S and A", &FILES, &[], |cursor, field| {
        let peak = cursor.tuple("[at, between]", |peak| {
            Ok(Peak { at: peak.item(Cursor::u32)?, between: peak.item(Cursor::u32)? })
        })?;
        for (file, slot) in FILES.iter().zip(&mut peaks) {
            if *file == field {
                *slot = peak;
            }
        }
        Ok(())
    })?;
    Ok(peaks)
}

fn after<'a>(cursor: &mut Cursor<'a>, nodes: u32) -> Parsed<After<'a>> {
    let mut after = After::default();
    after.order.reserve_exact(nodes as usize);
    cursor.fields("an object with by, order and rp", &["by", "order", "rp"], &[], |cursor, field| {
        match field {
            "by" => after.by = cursor.string()?,
            "order" => cursor.list("a list of instructions", |cursor| {
                after.order.push(InstrId(cursor.u32()?));
                Ok(())
            })?,
            _ => after.peaks = peaks(cursor)?,
        }
        Ok(())
    })?;
    Ok(after)
}

/// The names of the register files, and those of their classes.
const FILES: [&str; 3] = ["V", "S", "A"];
const CLASSES: [&str; 3] = ["vgpr", "sgpr", "agpr"];

/// Position of the accumulation registers in both.
const A: usize = 2;

/// The classes of the three register files; accumulation registers only where they occur.
struct Files {
    classes: [Option<ClassId>; 3],
}

impl Files {
    fn new(builder: &mut RegionBuilder) -> Self {
        Files { classes: [Some(builder.class(CLASSES[0])), Some(builder.class(CLASSES[1])), None] }
    }

    fn class(&mut self, file: usize, builder: &mut RegionBuilder) -> ClassId {
        *self.classes[file].get_or_insert_with(|| builder.class(CLASSES[file]))
    }

    fn peaks(&self, peaks: &Peaks) -> Vec<Peak> {
        let count = self.classes.iter().flatten().count();
        peaks[..count].to_vec()
    }
}

/// Return the waves that local memory, work-group size and attributes allow, if these are fewer than the
/// most. The dump gives the limit as the vector registers that each of these waves can have.
fn max_occupancy(targets: &[Target], header: &Header) -> Result<Option<u32>, String> {
    let target = targets.iter().find(|target| target.name() == header.cpu);
    let from_limit = target.and_then(|target| {
        let file = target.files().iter().find(|file| file.classes[0].name == CLASSES[0])?;
        Some(file.waves(header.vector_limit).max(1)).filter(|waves| *waves < file.waves)
    });
    // The attribute is "fewest" or "fewest,most".
    let from_attribute = match header.waves_per_eu.as_deref().and_then(|text| text.split_once(',')) {
        None => None,
        Some((_, most)) => {
            let most = most.trim().parse().map_err(|_| format!("bad amdgpu-waves-per-eu {most:?}"))?;
            // LLVM reads 0 as no limit.
            Some(most).filter(|most| *most > 0)
        }
    };
    Ok([from_limit, from_attribute].into_iter().flatten().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_of_the_current_line() {
        let most = Registers::MOST as u32;
        let numbers = [0, 5, most - 1, most, u32::MAX];
        let mut registers = Registers { line: u32::MAX - 1, ..Registers::default() };
        // The number of the line starts again at the second line.
        for line in 0..4 {
            registers.clear();
            for (place, number) in (0..).zip(numbers) {
                assert_eq!(registers.get(number), None, "line {line}");
                assert!(registers.insert(number, RegisterId(place)), "line {line}");
                assert!(
                    !registers.insert(number, RegisterId(place)),
                    "line {line}: {number} is listed twice"
                );
                assert_eq!(registers.get(number), Some(RegisterId(place)), "line {line}");
            }
            assert_eq!(registers.get(most + 1), None);
        }
    }
}

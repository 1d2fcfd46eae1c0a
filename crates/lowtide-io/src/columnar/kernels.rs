//! Kernels from the columns of a row group.

use parquet::data_type::ByteArray;

use lowtide::region::{
    DefFlags, DepKind, HintKind, Kernel, Lanes, NameNumber, NumberedInstr, Peak, Production, Region,
    RegionBuilder, limits,
};
use lowtide::{ClassId, InstrId, RegisterId};
use rustc_hash::FxHashMap;

use super::columns::{Columns, Lists, Nullable, Texts};
use crate::region_file::def_flags;

/// The kernels of a row group, on their way out.
pub(super) struct Batch {
    rows: usize,
    next: usize,
    kernel: Texts,
    origin: Texts,
    target: Nullable<ByteArray>,
    entry: Vec<bool>,
    max_occupancy: Nullable<u32>,
    region: RegionColumns,
}

struct RegionColumns {
    lists: Lists,
    name: Texts,
    /// For each name, the last kernel that has it.
    last: Vec<usize>,
    loop_depth: Vec<u32>,
    frequency: Nullable<u32>,
    boundary: Texts,
    classes: (Texts, Lists),
    through: (Vec<u32>, Lists),
    registers: Registers,
    live_in: Operands,
    live_out: Operands,
    instructions: Instructions,
    deps: Links<Vec<u32>>,
    /// The kind of dependence that each text of `deps.kind` stands for.
    dep_kinds: Vec<Option<DepKind>>,
    hints: Links<Nullable<u32>>,
    /// The kind of hint that each text of `hints.kind` stands for.
    hint_kinds: Vec<Option<HintKind>>,
    source_peaks: Peaks,
    by: Nullable<ByteArray>,
    order: (Vec<u32>, Lists),
    peaks: Peaks,
}

struct Registers {
    lists: Lists,
    name: Texts,
    class: Texts,
    /// For each text of `class`, its number among the texts of the column `classes`.
    class_numbers: Vec<Option<usize>>,
    lanes: Vec<u32>,
    weight: Vec<u32>,
    /// For each name, the last region that has it.
    last: Vec<usize>,
}

struct Operands {
    lists: Lists,
    register: Vec<u32>,
    lanes: Vec<u64>,
}

struct Instructions {
    lists: Lists,
    op: Texts,
    latency: Vec<u32>,
    micro_ops: Vec<u32>,
    flags: Texts,
    address_space: Nullable<i32>,
    unit: (Texts, Lists),
    cycles: Vec<u32>,
    defs: Operands,
    def_flags: Texts,
    /// The flags that each text of `def_flags` stands for.
    known_flags: Vec<Result<DefFlags, String>>,
    uses: Operands,
    op_numbers: Numbers,
    flag_numbers: Numbers,
    unit_numbers: UnitNumbers,
}

/// The numbers that a builder has given to the texts of a column: for each text, the last region that has it,
/// and the number there.
struct Numbers(Vec<Option<(usize, NameNumber)>>);

impl Numbers {
    fn new(texts: &Texts) -> Numbers {
        Numbers(vec![None; texts.names().len()])
    }

    /// Return the number of a text in a region. `ask` asks the builder.
    #[inline]
    fn get(&mut self, text: usize, region: usize, ask: impl FnOnce() -> NameNumber) -> NameNumber {
        match self.0[text] {
            Some((last, number)) if last == region => number,
            _ => self.0[text].insert((region, ask())).1,
        }
    }
}

/// The numbers that a builder has given to sets of units, as in [`Numbers`].
#[derive(Default)]
struct UnitNumbers(FxHashMap<u64, (usize, NameNumber)>);

impl UnitNumbers {
    /// The units with their cycles as one number, if they are few and small.
    fn key(units: impl ExactSizeIterator<Item = (usize, u32)>) -> Option<u64> {
        if units.len() > 2 {
            return None;
        }
        let mut key = 0;
        for (unit, cycles) in units {
            let (unit, cycles) = (u16::try_from(unit + 1).ok()?, u16::try_from(cycles).ok()?);
            key = key << 32 | u64::from(unit) << 16 | u64::from(cycles);
        }
        Some(key)
    }
}

/// Dependences or hints.
struct Links<To> {
    lists: Lists,
    from: Vec<u32>,
    to: To,
    kind: Texts,
    latency: Vec<u32>,
}

struct Peaks {
    lists: Lists,
    between: Vec<u32>,
    at: Vec<u32>,
}

impl Peaks {
    fn read(columns: &mut Columns, path: &str, outer: &Lists) -> Result<Self, String> {
        let (between, lists) = columns.numbers_and_lists(&format!("{path}.between"))?;
        check_inside(path, &lists, outer)?;
        Ok(Peaks { between, at: columns.numbers(&format!("{path}.at"), &lists)?, lists })
    }

    fn next(&mut self) -> Option<Vec<Peak>> {
        let range = self.lists.next()?;
        Some(range.map(|place| Peak { between: self.between[place], at: self.at[place] }).collect())
    }
}

impl Operands {
    fn read(columns: &mut Columns, path: &str, outer: &Lists) -> Result<Self, String> {
        let (register, lists) = columns.numbers_and_lists(&format!("{path}.register"))?;
        check_inside(path, &lists, outer)?;
        Ok(Operands { register, lanes: columns.lanes(&format!("{path}.lanes"), &lists)?, lists })
    }

    fn get(&self, place: usize, registers: usize) -> Result<(RegisterId, Lanes), String> {
        let register = self.register[place];
        match (register as usize) < registers {
            true => Ok((RegisterId(register), self.lanes[place])),
            false => Err(format!("register {register} of {registers} is used")),
        }
    }
}

impl Instructions {
    fn read(columns: &mut Columns, outer: &Lists) -> Result<Self, String> {
        let path = |name: &str| format!("regions.instructions.{name}");
        let (op, lists) = columns.texts_and_lists(&path("op"))?;
        check_inside(&path("op"), &lists, outer)?;
        let unit = columns.texts_and_lists(&path("units.unit"))?;
        check_inside(&path("units"), &unit.1, &lists)?;
        let cycles = columns.numbers(&path("units.cycles"), &unit.1)?;
        let defs = Operands::read(columns, &path("defs"), &lists)?;
        let flags = columns.texts(&path("flags"), Some(&lists))?;
        let letters = columns.texts(&path("defs.flags"), Some(&defs.lists))?;
        Ok(Instructions {
            op_numbers: Numbers::new(&op),
            flag_numbers: Numbers::new(&flags),
            unit_numbers: UnitNumbers::default(),
            op,
            latency: columns.numbers(&path("latency"), &lists)?,
            micro_ops: columns.numbers(&path("micro_ops"), &lists)?,
            flags,
            address_space: columns.nullable_signed(&path("address_space"), &lists)?,
            unit,
            cycles,
            known_flags: letters.names().iter().map(|letters| def_flags(letters)).collect(),
            def_flags: letters,
            defs,
            uses: Operands::read(columns, &path("uses"), &lists)?,
            lists,
        })
    }
}

impl RegionColumns {
    fn read(columns: &mut Columns) -> Result<Self, String> {
        let (name, lists) = columns.texts_and_lists("regions.region")?;
        if lists.len() != columns.rows {
            return Err("column \"regions\" has another number of rows than the file".to_string());
        }
        let inside = |path: &str, inner: &Lists| check_inside(path, inner, &lists);
        let classes = columns.texts_and_lists("regions.classes")?;
        inside("regions.classes", &classes.1)?;
        let through = columns.numbers_and_lists("regions.through")?;
        inside("regions.through", &through.1)?;
        let registers = columns.texts_and_lists("regions.registers.name")?;
        inside("regions.registers", &registers.1)?;
        let class = columns.texts("regions.registers.class", Some(&registers.1))?;
        let by_class: FxHashMap<&Box<str>, usize> = classes.0.names().iter().zip(0..).collect();
        let registers = Registers {
            class_numbers: class.names().iter().map(|name| by_class.get(name).copied()).collect(),
            class,
            lanes: columns.numbers("regions.registers.lanes", &registers.1)?,
            weight: columns.numbers("regions.registers.weight", &registers.1)?,
            last: vec![usize::MAX; registers.0.names().len()],
            name: registers.0,
            lists: registers.1,
        };
        let deps = columns.numbers_and_lists("regions.deps.from")?;
        inside("regions.deps", &deps.1)?;
        let deps = Links {
            to: columns.numbers("regions.deps.to", &deps.1)?,
            kind: columns.texts("regions.deps.kind", Some(&deps.1))?,
            latency: columns.numbers("regions.deps.latency", &deps.1)?,
            from: deps.0,
            lists: deps.1,
        };
        let hints = columns.numbers_and_lists("regions.hints.from")?;
        inside("regions.hints", &hints.1)?;
        let hints = Links {
            to: columns.nullable_numbers("regions.hints.to", Some(&hints.1))?,
            kind: columns.texts("regions.hints.kind", Some(&hints.1))?,
            latency: columns.numbers("regions.hints.latency", &hints.1)?,
            from: hints.0,
            lists: hints.1,
        };
        let order = columns.numbers_and_lists("regions.production.order")?;
        inside("regions.production.order", &order.1)?;
        Ok(RegionColumns {
            loop_depth: columns.numbers("regions.loop_depth", &lists)?,
            frequency: columns.nullable_numbers("regions.frequency", Some(&lists))?,
            boundary: columns.texts("regions.boundary", Some(&lists))?,
            live_in: Operands::read(columns, "regions.live_in", &lists)?,
            live_out: Operands::read(columns, "regions.live_out", &lists)?,
            instructions: Instructions::read(columns, &lists)?,
            source_peaks: Peaks::read(columns, "regions.source_peaks", &lists)?,
            by: columns.nullable_texts("regions.production.by", Some(&lists))?,
            peaks: Peaks::read(columns, "regions.production.peaks", &lists)?,
            dep_kinds: (deps.kind.names().iter())
                .map(|name| DepKind::ALL.into_iter().find(|kind| kind.name() == &**name))
                .collect(),
            hint_kinds: (hints.kind.names().iter())
                .map(|name| HintKind::ALL.into_iter().find(|kind| kind.name() == &**name))
                .collect(),
            last: vec![usize::MAX; name.names().len()],
            name,
            classes,
            through,
            registers,
            deps,
            hints,
            order,
            lists,
        })
    }

    /// Return the region at a place. Regions must be asked for one after the other.
    fn region(&mut self, place: usize, builder: &mut RegionBuilder) -> Result<Region, String> {
        builder.restart();
        builder.name(self.name.get(place));
        builder.loop_depth(self.loop_depth[place]);
        self.frequency.get(place).into_iter().for_each(|frequency| builder.frequency(*frequency));
        builder.boundary(self.boundary.get(place));

        let classes = self.classes.1.range();
        if classes.len() > limits::CLASSES {
            return Err(format!("more than {} classes", limits::CLASSES));
        }
        let class_names = &self.classes.0;
        for (number, name) in classes.clone().map(|class| class_names.get(class)).enumerate() {
            if builder.class(name).index() != number {
                return Err(format!("class {name:?} is listed twice"));
            }
        }
        let through = &self.through.0[self.through.1.range()];
        if through.len() != classes.len() {
            return Err(format!("\"through\" has {} weights for {} classes", through.len(), classes.len()));
        }
        for (class, weight) in through.iter().enumerate() {
            builder.through(ClassId(class as u8), *weight);
        }

        let registers = self.registers.lists.range();
        let count = registers.len();
        for register in registers {
            let Registers { name: names, class, class_numbers, lanes, weight, last, .. } =
                &mut self.registers;
            let name = names.get(register);
            let number = class_numbers[class.number(register)];
            let Some(class) =
                number.and_then(|number| classes.clone().position(|one| class_names.number(one) == number))
            else {
                let class = class.get(register);
                return Err(format!("register {name:?}: class {class:?} is not listed in \"classes\""));
            };
            if std::mem::replace(&mut last[names.number(register)], place) == place {
                return Err(format!("register {name:?} is listed twice"));
            }
            builder.register(name, ClassId(class as u8), lanes[register], weight[register]);
        }
        for place in self.live_in.lists.range() {
            let (register, lanes) = self.live_in.get(place, count)?;
            builder.live_in(register, lanes);
        }
        for place in self.live_out.lists.range() {
            let (register, lanes) = self.live_out.get(place, count)?;
            builder.live_out(register, lanes);
        }
        self.instructions.add(place, count, builder)?;
        for dep in self.deps.lists.range() {
            let Links { from, to, kind, latency, .. } = &self.deps;
            let known = self.dep_kinds[kind.number(dep)];
            let known = known.ok_or_else(|| format!("{:?} is no kind of dependence", kind.get(dep)))?;
            builder.depend(InstrId(from[dep]), InstrId(to[dep]), known, latency[dep]);
        }
        for hint in self.hints.lists.range() {
            let Links { from, to, kind, latency, .. } = &self.hints;
            let known = self.hint_kinds[kind.number(hint)];
            let known = known.ok_or_else(|| format!("{:?} is no kind of hint", kind.get(hint)))?;
            builder.hint(InstrId(from[hint]), to.get(hint).map(|to| InstrId(*to)), known, latency[hint]);
        }

        let check = |peaks: Option<Vec<Peak>>, name: &str| match peaks {
            Some(peaks) if peaks.len() != classes.len() => {
                Err(format!("{name:?} has {} peaks for {} classes", peaks.len(), classes.len()))
            }
            peaks => Ok(peaks),
        };
        if let Some(peaks) = check(self.source_peaks.next(), "source_peaks")? {
            builder.source_peaks(peaks);
        }
        let (order, peaks) = (self.order.1.range(), check(self.peaks.next(), "production.peaks")?);
        if let Some(by) = self.by.get(place) {
            let order = self.order.0[order].iter().map(|instr| InstrId(*instr)).collect();
            builder.production(Production { by: text(by)?.into(), order, peaks });
        }
        builder.finish().map_err(|error| error.to_string())
    }
}

impl Instructions {
    /// Add the instructions of the next region, which has this place and this number of registers.
    fn add(&mut self, region: usize, registers: usize, builder: &mut RegionBuilder) -> Result<(), String> {
        for (position, place) in self.lists.range().enumerate() {
            let units = self.number_units(region, builder);
            let opcode = self.op.get(place);
            let flags = self.flags.get(place);
            let instr = NumberedInstr {
                opcode: (self.op_numbers)
                    .get(self.op.number(place), region, || builder.number_opcode(opcode)),
                latency: self.latency[place],
                units,
                flags: (self.flag_numbers)
                    .get(self.flags.number(place), region, || builder.number_flags(flags)),
                micro_ops: self.micro_ops[place],
                address_space: self.address_space.get(place).copied().unwrap_or(-1),
            };
            let instr = builder.numbered_instr(instr);
            let who = |message: String| format!("instruction #{position} {opcode}: {message}");
            for def in self.defs.lists.range() {
                let (register, lanes) = self.defs.get(def, registers).map_err(who)?;
                let flags = self.known_flags[self.def_flags.number(def)].as_ref();
                let flags = flags.map_err(|message| who(message.clone()))?;
                builder.defs_with(instr, register, lanes, *flags);
            }
            for used in self.uses.lists.range() {
                let (register, lanes) = self.uses.get(used, registers).map_err(who)?;
                builder.uses(instr, register, lanes);
            }
        }
        Ok(())
    }

    /// Return the builder's number of the next set of units.
    fn number_units(&mut self, region: usize, builder: &mut RegionBuilder) -> NameNumber {
        let units = self.unit.1.range();
        let key = UnitNumbers::key(units.clone().map(|unit| (self.unit.0.number(unit), self.cycles[unit])));
        if let Some((last, number)) = key.and_then(|key| self.unit_numbers.0.get(&key))
            && *last == region
        {
            return *number;
        }
        let units: Vec<(&str, u32)> = units.map(|unit| (self.unit.0.get(unit), self.cycles[unit])).collect();
        let number = builder.number_units(&units);
        if let Some(key) = key {
            self.unit_numbers.0.insert(key, (region, number));
        }
        number
    }
}

impl Batch {
    /// Read all columns of a row group.
    pub(super) fn read(mut columns: Columns) -> Result<Batch, String> {
        let columns = &mut columns;
        Ok(Batch {
            rows: columns.rows,
            next: 0,
            kernel: columns.texts("kernel", None)?,
            origin: columns.texts("origin", None)?,
            target: columns.nullable_texts("target", None)?,
            entry: columns.booleans("entry")?,
            max_occupancy: columns.nullable_numbers("max_occupancy", None)?,
            region: RegionColumns::read(columns)?,
        })
    }

    /// Return the next kernel.
    pub(super) fn next(&mut self, builder: &mut RegionBuilder) -> Option<Result<Kernel, String>> {
        (self.next < self.rows).then(|| self.kernel(builder))
    }

    fn kernel(&mut self, builder: &mut RegionBuilder) -> Result<Kernel, String> {
        let row = self.next;
        self.next += 1;
        let name = self.kernel.get(row).to_string();
        let max_occupancy = self.max_occupancy.get(row).copied();
        if max_occupancy == Some(0) {
            return Err(format!(
                "kernel {name:?}: max_occupancy must be at least 1: null means that there is no limit"
            ));
        }
        let places = self.region.lists.range();
        if places.is_empty() {
            return Err(format!("kernel {name:?} has no regions"));
        }
        let mut regions = Vec::with_capacity(places.len());
        for place in places {
            let region = self
                .region
                .region(place, builder)
                .map_err(|message| format!("region {:?}: {message}", self.region.name.get(place)))?;
            let number = self.region.name.number(place);
            if std::mem::replace(&mut self.region.last[number], row) == row {
                return Err(format!("region {:?} of kernel {name:?} appears twice", region.name()));
            }
            regions.push(region);
        }
        let target = self.target.get(row).map(text).transpose()?.map(str::to_string);
        let origin = self.origin.get(row).to_string();
        Ok(Kernel { name, origin, target, is_entry: self.entry[row], max_occupancy, regions })
    }
}

fn check_inside(path: &str, inner: &Lists, outer: &Lists) -> Result<(), String> {
    match inner.is_in(outer) {
        true => Ok(()),
        false => Err(format!("column {path:?} has another number of lists than its neighbours")),
    }
}

fn text(bytes: &ByteArray) -> Result<&str, String> {
    std::str::from_utf8(bytes.data()).map_err(|_| "a text is not valid UTF-8".to_string())
}

//! Regions as dumped from LLVM's AMDGPU back end: terse arrays instead of named fields.
//!
//! A line is one object; `nodes` holds `[opcode, latency, micro-ops, units, flags, address space, defs, uses]`
//! and `edges` `[from, to, kind, latency, register?]`. Kinds d, a, o, m, b bind; A, C and W are preferences,
//! and edges to -1 lead to what follows the region. Registers are numbers, their lanes 32 bits wide.

use lowtide::region::{DefFlags, DepKind, HintKind, InstrSpec, Peak, Production, RegionBuilder};
use lowtide::target::Target;
use lowtide::{ClassId, InstrId, RegisterId};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use smallvec::SmallVec;

use crate::json::Text;
use crate::reader::{Entry, KernelHeader};

pub(crate) const VERSION: u32 = 1;

/// The calling convention of kernels.
const KERNEL_CONVENTION: u32 = 91;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: a region of an LLVM dump")]
struct Line<'a> {
    #[serde(rename = "v")]
    _version: IgnoredAny,
    #[serde(borrow)]
    src: Text<'a>,
    #[serde(borrow, rename = "fn")]
    function: Text<'a>,
    cc: u32,
    #[serde(borrow)]
    cpu: Text<'a>,
    #[serde(rename = "llvm")]
    _llvm: IgnoredAny,
    bb: u32,
    ri: u32,
    #[serde(rename = "nr")]
    _regions: IgnoredAny,
    #[serde(rename = "loop")]
    loop_depth: u32,
    n: usize,
    #[serde(rename = "amdgpu-flat-work-group-size")]
    _group_size: Option<IgnoredAny>,
    #[serde(borrow, rename = "amdgpu-waves-per-eu")]
    waves_per_eu: Option<Text<'a>>,
    vlim: u32,
    #[serde(rename = "slim")]
    _slim: IgnoredAny,
    #[serde(borrow, rename = "bnd")]
    boundary: Text<'a>,
    #[serde(borrow)]
    nodes: Vec<Node<'a>>,
    edges: Vec<EdgeItem>,
    #[serde(rename = "in")]
    live_in: Vec<(u32, u32)>,
    #[serde(rename = "out")]
    live_out: Vec<(u32, u32)>,
    thru: Through,
    #[serde(borrow)]
    regs: RegisterList<'a>,
    rp: Peaks,
    #[serde(rename = "llvmrp")]
    _llvm_pressure: IgnoredAny,
    #[serde(borrow)]
    after: Option<After<'a>>,
}

/// Opcode, latency, micro-operations, units, flags, address space, definitions, uses.
#[derive(Deserialize)]
#[serde(expecting = "[opcode, latency, micro-ops, units, flags, address space, defs, uses]")]
struct Node<'a>(
    #[serde(borrow)] Text<'a>,
    u32,
    u32,
    #[serde(borrow)] Text<'a>,
    #[serde(borrow)] Text<'a>,
    i32,
    SmallVec<[DefItem; 2]>,
    SmallVec<[(u32, u32); 4]>,
);

#[derive(Deserialize)]
#[serde(expecting = "[register, lanes] or [register, lanes, flags]")]
struct DefItem(u32, u32, #[serde(default)] Flags);

#[derive(Default)]
struct Flags(DefFlags);

impl<'de> Deserialize<'de> for Flags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let letters = Text::deserialize(deserializer)?;
        crate::region_file::def_flags(&letters).map(Flags).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(expecting = "[from, to, kind, latency] or [from, to, kind, latency, register]")]
struct EdgeItem(
    u32,
    i64,
    EdgeKind,
    u32,
    // The register is not needed: it shows in the operands.
    #[serde(default)]
    #[allow(dead_code)]
    Option<IgnoredAny>,
);

#[derive(Deserialize, Clone, Copy)]
enum EdgeKind {
    #[serde(rename = "d")]
    Data,
    #[serde(rename = "a")]
    Anti,
    #[serde(rename = "o")]
    Output,
    #[serde(rename = "m")]
    Memory,
    #[serde(rename = "b")]
    Barrier,
    #[serde(rename = "A")]
    Artificial,
    #[serde(rename = "C")]
    Cluster,
    #[serde(rename = "W")]
    Weak,
}

/// `number -> [class, file, width in lanes]`, in the order of the line.
struct RegisterList<'a>(Vec<(Text<'a>, Register)>);

#[derive(Deserialize)]
#[serde(expecting = "[class, file, width]")]
struct Register(#[allow(dead_code)] IgnoredAny, File, u32);

#[derive(Deserialize, Clone, Copy)]
enum File {
    V,
    S,
    A,
}

impl<'de: 'a, 'a> Deserialize<'de> for RegisterList<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = RegisterList<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object of registers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(RegisterList(list))
            }
        }
        deserializer.deserialize_map(ListVisitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with V, S, A and n")]
#[allow(non_snake_case)]
struct Through {
    V: u32,
    S: u32,
    A: u32,
    #[serde(rename = "n")]
    _count: IgnoredAny,
}

/// For each file the pressure `[at, between]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with V, S and A")]
#[allow(non_snake_case)]
struct Peaks {
    V: (u32, u32),
    S: (u32, u32),
    A: (u32, u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with by, order and rp")]
struct After<'a> {
    #[serde(borrow)]
    by: Text<'a>,
    order: Vec<u32>,
    rp: Peaks,
}

/// Reads one line.
pub(crate) fn parse_line(line: &str) -> Result<Entry, String> {
    let line: Line = crate::json::parse(line)?;
    let name = format!("bb{}.{}", line.bb, line.ri);
    let place = |message: String| format!("function {:?}, region {name}: {message}", &*line.function);
    if line.nodes.len() != line.n {
        return Err(place(format!("\"n\" is {}, but there are {} nodes", line.n, line.nodes.len())));
    }
    let mut builder = RegionBuilder::new(&name);
    builder.loop_depth(line.loop_depth);
    builder.boundary(&line.boundary);

    let mut files = Files { vgpr: builder.class("vgpr"), sgpr: builder.class("sgpr"), agpr: None };
    let mut registers: FxHashMap<u32, RegisterId> = FxHashMap::default();
    registers.reserve(line.regs.0.len());
    for (number, Register(_, file, lanes)) in &line.regs.0 {
        let key: u32 =
            number.parse().map_err(|_| place(format!("regs: {number} is not a register number")))?;
        let class = match file {
            File::V => files.vgpr,
            File::S => files.sgpr,
            File::A => files.agpr(&mut builder),
        };
        if registers.insert(key, builder.register(number, class, *lanes, 1)).is_some() {
            return Err(place(format!("register {number} is listed twice")));
        }
    }
    let register = |number: u32, who: &dyn Fn() -> String| match registers.get(&number) {
        Some(&id) => Ok(id),
        None => Err(place(format!("{}: unknown register {number}", who()))),
    };
    if line.thru.A > 0 || line.rp.A.0 > 0 {
        files.agpr(&mut builder);
    }
    builder.through(files.vgpr, line.thru.V);
    builder.through(files.sgpr, line.thru.S);
    if let Some(agpr) = files.agpr {
        builder.through(agpr, line.thru.A);
    }
    for &(number, lanes) in &line.live_in {
        builder.live_in(register(number, &|| "in".to_string())?, u64::from(lanes));
    }
    for &(number, lanes) in &line.live_out {
        builder.live_out(register(number, &|| "out".to_string())?, u64::from(lanes));
    }

    let mut units: Vec<(&str, u32)> = Vec::new();
    for (position, node) in line.nodes.iter().enumerate() {
        let Node(opcode, latency, micro_ops, resources, flags, address_space, defs, uses) = node;
        let who = || format!("instruction #{position} {opcode}");
        units.clear();
        for resource in resources.split('+').filter(|resource| !resource.is_empty()) {
            let (unit, cycles) = resource.split_once('*').unwrap_or((resource, "1"));
            let cycles =
                cycles.parse().map_err(|_| place(format!("{}: bad resource {resource:?}", who())))?;
            units.push((unit, cycles));
        }
        let instr = builder.instr(InstrSpec {
            opcode,
            latency: *latency,
            units: &units,
            flags,
            micro_ops: *micro_ops,
            address_space: *address_space,
        });
        for DefItem(number, lanes, Flags(flags)) in defs {
            builder.defs_with(instr, register(*number, &who)?, u64::from(*lanes), *flags);
        }
        for &(number, lanes) in uses {
            builder.uses(instr, register(number, &who)?, u64::from(lanes));
        }
    }

    for (position, &EdgeItem(from, to, kind, latency, _)) in line.edges.iter().enumerate() {
        let from = InstrId(from);
        let to = match u32::try_from(to) {
            Ok(to) => Some(InstrId(to)),
            Err(_) if to == -1 => None,
            Err(_) => return Err(place(format!("edges[{position}]: unknown instruction {to}"))),
        };
        let Some(to) = to else {
            builder.hint(from, None, HintKind::Exit, latency);
            continue;
        };
        match kind {
            EdgeKind::Data => builder.depend(from, to, DepKind::Data, latency),
            EdgeKind::Anti => builder.depend(from, to, DepKind::Anti, latency),
            EdgeKind::Output => builder.depend(from, to, DepKind::Output, latency),
            EdgeKind::Memory => builder.depend(from, to, DepKind::Memory, latency),
            EdgeKind::Barrier => builder.depend(from, to, DepKind::Barrier, latency),
            EdgeKind::Artificial => builder.hint(from, Some(to), HintKind::Artificial, latency),
            EdgeKind::Cluster => builder.hint(from, Some(to), HintKind::Cluster, latency),
            EdgeKind::Weak => builder.hint(from, Some(to), HintKind::Weak, latency),
        }
    }

    builder.source_peaks(files.peaks(&line.rp));
    if let Some(After { by, order, rp }) = &line.after {
        builder.production(Production {
            by: (&**by).into(),
            order: order.iter().map(|&instr| InstrId(instr)).collect(),
            peaks: Some(files.peaks(rp)),
        });
    }
    let region = builder.build().map_err(|error| place(error.to_string()))?;
    let max_occupancy = max_occupancy(&line.cpu, line.vlim, line.waves_per_eu.as_deref()).map_err(place)?;
    let kernel = KernelHeader {
        name: line.function.into_string(),
        origin: line.src.into_string(),
        target: Some(line.cpu.into_string()),
        is_entry: line.cc == KERNEL_CONVENTION,
        max_occupancy,
    };
    Ok(Entry { kernel, region, position: Some(line.ri) })
}

/// The classes of the three register files; accumulation registers only where they occur.
struct Files {
    vgpr: ClassId,
    sgpr: ClassId,
    agpr: Option<ClassId>,
}

impl Files {
    fn agpr(&mut self, builder: &mut RegionBuilder) -> ClassId {
        *self.agpr.get_or_insert_with(|| builder.class("agpr"))
    }

    fn peaks(&self, peaks: &Peaks) -> Vec<Peak> {
        let peak = |(at, between): (u32, u32)| Peak { between, at };
        let mut all = vec![peak(peaks.V), peak(peaks.S)];
        all.extend(self.agpr.map(|_| peak(peaks.A)));
        all
    }
}

/// The waves that local memory, work-group size and attributes allow, where that is fewer than the most.
/// The dump gives them as the vector registers that so many waves can have.
fn max_occupancy(cpu: &str, vector_limit: u32, waves_per_eu: Option<&str>) -> Result<Option<u32>, String> {
    thread_local! {
        static TARGETS: Vec<Target> = Target::all_builtin().collect();
    }
    let from_limit = TARGETS.with(|targets| {
        let target = targets.iter().find(|target| target.name() == cpu)?;
        let file = target.files().iter().find(|file| file.classes[0].name == "vgpr")?;
        Some(file.waves(vector_limit)).filter(|waves| *waves < file.waves)
    });
    // The attribute is "fewest" or "fewest,most".
    let from_attribute = match waves_per_eu.and_then(|text| text.split_once(',')) {
        None => None,
        Some((_, most)) => {
            Some(most.trim().parse().map_err(|_| format!("bad amdgpu-waves-per-eu {most:?}"))?)
        }
    };
    Ok([from_limit, from_attribute].into_iter().flatten().min())
}

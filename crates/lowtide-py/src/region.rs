//! Regions and kernels as handles. Both are immutable, so that threads share them without locks.

use std::sync::Arc;

use lowtide::InstrId;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::analysis::pressure::Tracker;
use lowtide::check::check_order;
use lowtide::region::{DepKind, InstrSpec, Kernel as InnerKernel, Region as InnerRegion, RegionBuilder};
use lowtide_io::format_line;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::{bad, read_exception};
use crate::read::parse;

/// A region of a kernel. The kernel owns it.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Region {
    pub(crate) kernel: Arc<InnerKernel>,
    position: usize,
}

/// (operation, latency, units with their cycles, flags, micro-operations, address space)
type InstrItem = (String, u32, Vec<(String, u32)>, String, u32, i32);
/// (name, class, weight, definition, uses, live-out)
type ValueItem = (String, String, u32, Option<u32>, Vec<u32>, bool);
/// (from, to, kind, latency). Without a latency, that of the earlier instruction counts.
type DepItem = (u32, u32, String, Option<u32>);

impl Region {
    fn inner(&self) -> &InnerRegion {
        &self.kernel.regions[self.position]
    }

    fn order(&self, order: &[u32]) -> PyResult<Vec<InstrId>> {
        let order: Vec<InstrId> = order.iter().copied().map(InstrId).collect();
        check_order(self.inner(), &order)
            .map_err(|violations| bad(violations.first().map_or_else(String::new, ToString::to_string)))?;
        Ok(order)
    }
}

/// Return numbers as bytes, which NumPy and memoryview read in place.
pub(crate) fn packed<'py>(
    py: Python<'py>,
    numbers: impl ExactSizeIterator<Item = u32>,
) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.flat_map(u32::to_ne_bytes).collect();
    PyBytes::new(py, &bytes)
}

#[pymethods]
impl Region {
    /// Build a region from lists, in a kernel of its own.
    #[staticmethod]
    #[pyo3(signature = (name, instructions, values, dependences, through, loop_depth, frequency))]
    fn build(
        name: &str,
        instructions: Vec<InstrItem>,
        values: Vec<ValueItem>,
        dependences: Vec<DepItem>,
        through: Vec<(String, u32)>,
        loop_depth: u32,
        frequency: Option<u32>,
    ) -> PyResult<Region> {
        let mut builder = RegionBuilder::new(name);
        builder.loop_depth(loop_depth);
        if let Some(frequency) = frequency {
            builder.frequency(frequency);
        }
        for (op, latency, units, flags, micro_ops, address_space) in &instructions {
            let units: Vec<(&str, u32)> =
                units.iter().map(|(unit, cycles)| (unit.as_str(), *cycles)).collect();
            builder.instr(InstrSpec {
                opcode: op,
                latency: *latency,
                units: &units,
                flags,
                micro_ops: *micro_ops,
                address_space: *address_space,
            });
        }
        let count = instructions.len();
        for (number, (value, class, weight, def, uses, live_out)) in values.iter().enumerate() {
            let missing = |what: &str, instr: u32| {
                bad(format!(
                    "value {number}: {what} is instruction {instr}, but there are {count} instructions"
                ))
            };
            let class = builder.class(class);
            let register = builder.register(value, class, 1, *weight);
            match def {
                Some(def) if *def as usize >= count => return Err(missing("its definition", *def)),
                Some(def) => builder.defs(InstrId(*def), register, 1),
                None => builder.live_in(register, 1),
            }
            for instr in uses {
                if *instr as usize >= count {
                    return Err(missing("a use", *instr));
                }
                builder.uses(InstrId(*instr), register, 1);
            }
            if *live_out {
                builder.live_out(register, 1);
            }
        }
        for (class, weight) in &through {
            let class = builder.class(class);
            builder.through(class, *weight);
        }
        builder.depend_on_registers();
        for (from, to, kind, latency) in &dependences {
            let found = DepKind::ALL.into_iter().find(|known| known.name() == kind);
            let kind = found.ok_or_else(|| {
                let known: Vec<&str> = DepKind::ALL.into_iter().map(DepKind::name).collect();
                bad(format!("{kind:?} is not a kind of dependence: known are {}", known.join(", ")))
            })?;
            let own = instructions.get(*from as usize).map_or(0, |item| item.1);
            builder.depend(InstrId(*from), InstrId(*to), kind, latency.unwrap_or(own));
        }
        let region = builder.build().map_err(|error| bad(format!("region {name:?}: {error}")))?;
        Ok(Region { kernel: Arc::new(InnerKernel::new(name, vec![region])), position: 0 })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner().name()
    }

    fn __len__(&self) -> usize {
        self.inner().len()
    }

    #[getter]
    fn classes(&self) -> Vec<&str> {
        self.inner().classes().iter().map(|class| &**class).collect()
    }

    #[getter]
    fn through(&self) -> Vec<u32> {
        let region = self.inner();
        region.class_ids().map(|class| region.through(class)).collect()
    }

    #[getter]
    fn loop_depth(&self) -> u32 {
        self.inner().loop_depth()
    }

    #[getter]
    fn frequency(&self) -> Option<u32> {
        self.inner().frequency()
    }

    /// The number of the graph, as 32 hexadecimal digits.
    #[getter]
    fn key(&self) -> String {
        format!("{:032x}", fingerprint(self.inner()))
    }

    fn operations(&self) -> Vec<(&str, u32)> {
        let region = self.inner();
        region.instrs().map(|instr| (region.opcode(instr), region.latency(instr))).collect()
    }

    fn dependences(&self) -> Vec<(u32, u32, &'static str, u32)> {
        self.inner().deps().iter().map(|dep| (dep.from.0, dep.to.0, dep.kind.name(), dep.latency)).collect()
    }

    fn values(&self) -> Vec<ValueItem> {
        let region = self.inner();
        let value = |(position, value): (usize, &lowtide::region::Value)| {
            (
                region.register_name(value.register).to_string(),
                region.classes()[value.class.index()].to_string(),
                value.weight,
                value.def.map(|def| def.0),
                region.value_uses(lowtide::ValueId::at(position)).iter().map(|instr| instr.0).collect(),
                value.live_out,
            )
        };
        region.values().iter().enumerate().map(value).collect()
    }

    /// The recorded order of the production compiler, with the compiler's name.
    fn production<'py>(&self, py: Python<'py>) -> Option<(&str, Bound<'py, PyBytes>)> {
        let production = self.inner().production()?;
        Some((&*production.by, packed(py, production.order.iter().map(|instr| instr.0))))
    }

    /// The peaks of a legal order: for each class, between instructions and at instructions.
    fn peaks(&self, order: Vec<u32>) -> PyResult<Vec<(u32, u32)>> {
        let order: Vec<InstrId> = order.into_iter().map(InstrId).collect();
        let peaks = check_order(self.inner(), &order)
            .map_err(|violations| bad(violations.first().map_or_else(String::new, ToString::to_string)))?;
        Ok(peaks.iter().map(|peak| (peak.between, peak.at)).collect())
    }

    /// The pressure of each class before the first instruction of a legal order and after each.
    fn pressure<'py>(&self, py: Python<'py>, order: Vec<u32>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let order = self.order(&order)?;
        let region = self.inner();
        let mut tracker = Tracker::new(region);
        let mut rows: Vec<Vec<u32>> = region.class_ids().map(|class| vec![tracker.now(class)]).collect();
        for instr in order {
            tracker.schedule(instr);
            for (class, row) in region.class_ids().zip(&mut rows) {
                row.push(tracker.now(class));
            }
        }
        Ok(rows.into_iter().map(|row| packed(py, row.into_iter())).collect())
    }

    /// The line of a region file.
    fn line(&self) -> String {
        format_line(&self.kernel, self.inner())
    }
}

/// A kernel.
#[pyclass(frozen, module = "lowtide._lowtide")]
pub(crate) struct Kernel(pub(crate) Arc<InnerKernel>);

impl Kernel {
    pub(crate) fn new(kernel: InnerKernel) -> Self {
        Kernel(Arc::new(kernel))
    }
}

#[pymethods]
impl Kernel {
    /// Build a kernel from regions.
    #[staticmethod]
    #[pyo3(signature = (name, regions, origin, target, entry, max_occupancy))]
    fn build(
        name: String,
        regions: Vec<PyRef<'_, Region>>,
        origin: String,
        target: Option<String>,
        entry: bool,
        max_occupancy: Option<u32>,
    ) -> PyResult<Kernel> {
        let regions: Vec<InnerRegion> = regions.iter().map(|region| region.inner().clone()).collect();
        for (position, region) in regions.iter().enumerate() {
            if regions[..position].iter().any(|other| other.name() == region.name()) {
                return Err(bad(format!("region {:?} of kernel {name:?} appears twice", region.name())));
            }
        }
        if max_occupancy == Some(0) {
            return Err(bad(format!(
                "kernel {name:?}: max_occupancy must be at least 1: leave it out if there is no limit"
            )));
        }
        let is_entry = entry;
        Ok(Kernel::new(InnerKernel { name, origin, target, is_entry, max_occupancy, regions }))
    }

    /// Parse the lines of kernels. `name` renames a kernel: the reader names functions without a name by
    /// their line in a file.
    #[staticmethod]
    #[pyo3(signature = (text, file, name=None))]
    fn parse(py: Python<'_>, text: &[u8], file: &str, name: Option<String>) -> PyResult<Vec<Kernel>> {
        let mut kernels = py.detach(|| parse(text, file)).map_err(|error| read_exception(&error))?;
        if let (Some(name), [kernel]) = (name, &mut kernels[..]) {
            kernel.name = name;
        }
        Ok(kernels.into_iter().map(Kernel::new).collect())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn origin(&self) -> &str {
        &self.0.origin
    }

    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }

    #[getter]
    fn entry(&self) -> bool {
        self.0.is_entry
    }

    #[getter]
    fn max_occupancy(&self) -> Option<u32> {
        self.0.max_occupancy
    }

    fn __len__(&self) -> usize {
        self.0.regions.len()
    }

    /// The number of instructions of all regions.
    #[getter]
    fn size(&self) -> usize {
        self.0.instr_count()
    }

    fn region(&self, position: usize) -> PyResult<Region> {
        let count = self.0.regions.len();
        match position < count {
            true => Ok(Region { kernel: Arc::clone(&self.0), position }),
            false => Err(bad(format!("there is no region at position {position}: the kernel has {count}"))),
        }
    }

    /// The lines of a region file.
    fn lines(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.regions.iter().map(|region| format_line(&self.0, region) + "\n").collect())
    }
}

//! `lowtide.pack` and `lowtide.passes`. Both return JSON, which the package turns into objects.

use std::time::Instant;

use clap::ValueEnum;
use lowtide::pack::Units;
use lowtide::region::Region as InnerRegion;
use lowtide_tool::Failure;
use lowtide_tool::pack::{PackBudgetArgs, PackMethod, Packer, checked, problem as pack_problem};
use lowtide_tool::passes::{PassAlgorithm, problem as pass_problem, solve};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::call::{Ended, call};
use crate::failure::bad;
use crate::region::Kernel;
use crate::schedule::{budget_of, target_of};

/// Return the value of a name on the command line.
fn named<T: ValueEnum>(what: &str, name: &str) -> PyResult<T> {
    T::from_str(name, false).map_err(|_| {
        let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = names.map(|value| value.get_name().to_string()).collect();
        bad(format!("unknown {what} {name:?}: known are {}", known.join(", ")))
    })
}

/// Pack two operations into each cycle. Return JSON, and the exception of a signal handler that has ended the
/// search early.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (kernel, *, target, budget, nodes, algorithm, registers, splits))]
pub(crate) fn pack(
    py: Python<'_>,
    kernel: &Kernel,
    target: Option<&str>,
    budget: Option<&str>,
    nodes: Option<u64>,
    algorithm: &str,
    registers: Option<u32>,
    splits: bool,
) -> PyResult<(String, Option<PyErr>)> {
    let method: PackMethod = named("algorithm", algorithm)?;
    let time = budget_of(budget, nodes, "100ms", 1)?.time_per_instr;
    let Ended { result, signal } = call(py, true, || {
        let packer = Packer::new(method, None, &PackBudgetArgs::new(time, nodes))?;
        if registers.is_some() && packer.is_program() {
            return Err(Failure::Message(
                "integer programs cannot limit registers: leave out registers, or choose another algorithm"
                    .to_string(),
            ));
        }
        let kernel = &*kernel.0;
        let target = target_of(target, kernel)?;
        let packed = |region: &InnerRegion| -> Result<Value, String> {
            let mut problem = pack_problem(region, &target)?;
            if !splits {
                problem = problem.without_splits();
            }
            if let Some(limit) = registers {
                problem = problem.with_register_limit(limit);
            }
            let start = Instant::now();
            let outcome = packer.pack(&problem, &kernel.name)?;
            let seconds = start.elapsed().as_secs_f64();
            let list = checked(&problem, &outcome.list, "list schedule")?;
            let best = checked(&problem, &outcome.best, "packing")?;
            let peak = problem.primary_class().map_or(0, |class| best.peaks[class.index()]);
            let names = &problem.model().units;
            let issues = outcome.best.placed().iter().map(|placed| {
                let on = |unit: &usize| placed.units.0 & Units::only(*unit).0 != 0;
                let operation = problem.operation(placed.instr);
                json!({
                    "cycle": placed.cycle,
                    "units": (0..2).filter(on).map(|unit| names[unit].as_str()).collect::<Vec<_>>(),
                    "op": problem.part_name(placed.instr, placed.format, placed.part),
                    "instr": placed.instr.0,
                    "part": placed.part,
                    "parts": placed.format.checked_sub(1).map_or(1, |split| operation.splits[split].parts()),
                })
            });
            Ok(json!({
                "name": region.name(),
                "n": region.len(),
                "list_length": list.length,
                "length": best.length,
                "length_bound": outcome.bound,
                "proof": outcome.proof.name(),
                "splits": best.splits,
                "registers": peak,
                "fits": outcome.fits,
                "nodes": outcome.nodes,
                "seconds": seconds,
                "issues": issues.collect::<Vec<_>>(),
            }))
        };
        let regions = kernel.regions.iter().map(|region| {
            packed(region).map_err(|message| {
                Failure::Message(format!("kernel {:?}, region {}: {message}", kernel.name, region.name()))
            })
        });
        let regions = regions.collect::<Result<Vec<_>, _>>()?;
        Ok(json!({"name": kernel.name, "origin": kernel.origin, "target": target.name(), "regions": regions})
            .to_string())
    })?;
    Ok((result, signal))
}

/// Partition a shader into passes. Return JSON, and the exception of a signal handler that has ended the
/// search early.
#[pyfunction]
#[pyo3(signature = (kernel, *, target, budget, nodes, algorithm))]
pub(crate) fn passes(
    py: Python<'_>,
    kernel: &Kernel,
    target: &str,
    budget: Option<&str>,
    nodes: Option<u64>,
    algorithm: &str,
) -> PyResult<(String, Option<PyErr>)> {
    let algorithm: PassAlgorithm = named("algorithm", algorithm)?;
    let budget = budget_of(budget, nodes, "10ms", 1)?;
    let Ended { result, signal } = call(py, true, || {
        let kernel = &*kernel.0;
        let target = target_of(Some(target), kernel)?;
        let mut regions = Vec::new();
        for region in &kernel.regions {
            let start = Instant::now();
            let problem = pass_problem(&kernel.name, region, &target)?;
            let answer = solve(&problem, &kernel.name, algorithm, budget)?;
            let name = |register: &lowtide::RegisterId| region.register_name(*register).to_string();
            let passes = answer.partition.passes.iter().enumerate().map(|(number, pass)| {
                json!({
                    "ops": pass.ops.iter().map(|op| op.0).collect::<Vec<_>>(),
                    "loads": pass.loads.iter().map(name).collect::<Vec<_>>(),
                    "stores": pass.stores.iter().map(name).collect::<Vec<_>>(),
                    "registers": answer.report.registers[number],
                    "waits": answer.report.waits[number],
                })
            });
            regions.push(json!({
                "name": region.name(),
                "n": region.len(),
                "cost": answer.partition.cost,
                "bound": answer.bound,
                "optimal": answer.bound == answer.partition.cost,
                "operations": answer.report.operations,
                "passes": passes.collect::<Vec<_>>(),
                "seconds": start.elapsed().as_secs_f64(),
            }));
        }
        Ok(json!({"name": kernel.name, "origin": kernel.origin, "target": target.name(), "regions": regions})
            .to_string())
    })?;
    Ok((result, signal))
}

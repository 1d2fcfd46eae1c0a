//! The details of a region on the page: its instructions, values and dependences, and its schedules before
//! and after.
//!
//! All data are in columns, by instruction, by value or by edge: columns compress well, and charts read them
//! directly.

use lowtide::analysis::length_bound::lower_bound;
use lowtide::check::bound::least_pressure;
use lowtide::problem::Problem;
use lowtide::region::{DepKind, Region};
use lowtide::schedule::Schedule;
use lowtide::{ClassId, InstrId, ValueId};
use lowtide_io::BoundReason;
use serde::Serialize;

use crate::commands::orders::{moves, pressures, value_name};
use crate::commands::schedule::{Baseline, RegionResult, SearchResult};

/// A region as the page draws it.
#[derive(Serialize)]
pub(super) struct Detail<'a> {
    /// By instruction.
    opcode: Vec<&'a str>,
    /// By instruction: units of the target, and the cycles on them.
    units: Vec<&'a [(u32, u32)]>,
    edges: Edges,
    values: Values,
    /// By class: the pressure of values that are live throughout.
    through: Vec<u32>,
    schedules: Vec<Drawn<'a>>,
    /// By class; none where no cut is the reason for the bound.
    cuts: Vec<Option<Cut>>,
    length_bounds: LengthBounds,
    searches: &'a [SearchResult],
}

/// By edge. Several dependences between the same two instructions are one edge, of the first kind and the
/// largest latency.
#[derive(Default, Serialize)]
struct Edges {
    from: Vec<u32>,
    to: Vec<u32>,
    latency: Vec<u32>,
    kind: Vec<&'static str>,
}

/// By value. Values without uses are left out.
#[derive(Default, Serialize)]
struct Values {
    name: Vec<String>,
    class: Vec<u8>,
    weight: Vec<u32>,
    /// None for a value that is live at the start.
    def: Vec<Option<u32>>,
    live_out: Vec<bool>,
    uses: Vec<Vec<u32>>,
}

/// A schedule, with the pressure of each class before the first instruction and after each.
#[derive(Serialize)]
struct Drawn<'a> {
    name: &'static str,
    by: &'a str,
    order: Vec<u32>,
    cycles: &'a [u32],
    pressure: Vec<Vec<u32>>,
    /// The schedule that this one is compared with. None for the source order.
    against: Option<&'static str>,
    /// The fewest instructions to move in the other order to get this one.
    moved: Vec<u32>,
}

/// The instructions issued before the moment of the bound in an order with the least pressure there.
#[derive(Serialize)]
struct Cut {
    pressure: u32,
    issued: Vec<u32>,
}

#[derive(Serialize)]
struct LengthBounds {
    critical_path: u32,
    resource: u32,
    rim_jain: u32,
    langevin_cerny: u32,
}

impl<'a> Detail<'a> {
    /// Collect the details. The schedules must be legal. It is an error if a bound is wrong.
    pub(super) fn new(
        problem: &'a Problem,
        found: &'a RegionResult,
        source: &'a Schedule,
        production: Option<&'a Schedule>,
        baseline: Baseline,
    ) -> Result<Self, String> {
        let region = problem.region();
        let mut schedules = vec![Drawn::new(region, "source", "source order", source)];
        let mut before = ("source", source);
        if let (Some(schedule), Some(production)) = (production, region.production()) {
            let drawn = Drawn::new(region, "production", &production.by, schedule);
            schedules.push(drawn.compared_with("source", source, schedule));
            if baseline == Baseline::Production {
                before = ("production", schedule);
            }
        }
        let drawn = Drawn::new(region, "lowtide", "Lowtide", &found.schedule);
        schedules.push(drawn.compared_with(before.0, before.1, &found.schedule));
        let mut cuts = Vec::new();
        for (class, bound) in region.class_ids().zip(&found.bounds) {
            cuts.push(Cut::new(region, class, &bound.by, bound.value)?);
        }
        let length = lower_bound(problem);
        Ok(Detail {
            opcode: region.instrs().map(|instr| region.opcode(instr)).collect(),
            units: region.instrs().map(|instr| problem.unit_needs(instr)).collect(),
            edges: Edges::new(region),
            values: Values::new(region),
            through: region.class_ids().map(|class| region.through(class)).collect(),
            schedules,
            cuts,
            length_bounds: LengthBounds {
                critical_path: length.critical_path,
                resource: length.resource,
                rim_jain: length.rim_jain,
                langevin_cerny: length.langevin_cerny,
            },
            searches: &found.searches,
        })
    }
}

impl Edges {
    fn new(region: &Region) -> Self {
        let mut kinds: Vec<(InstrId, InstrId, DepKind)> =
            region.deps().iter().map(|dep| (dep.to, dep.from, dep.kind)).collect();
        kinds.sort_unstable();
        kinds.dedup_by_key(|(to, from, _)| (*to, *from));
        let mut edges = Edges::default();
        let merged = region.instrs().flat_map(|to| region.preds(to).iter().map(move |edge| (to, edge)));
        // Both are sorted by the later instruction and then by the earlier one.
        for ((to, edge), (_, _, kind)) in merged.zip(kinds) {
            edges.from.push(edge.instr.0);
            edges.to.push(to.0);
            edges.latency.push(edge.latency);
            edges.kind.push(kind.name());
        }
        edges
    }
}

impl Values {
    fn new(region: &Region) -> Self {
        let mut values = Values::default();
        for (position, value) in region.values().iter().enumerate() {
            let id = ValueId::at(position);
            if region.is_dead(id) {
                continue;
            }
            values.name.push(value_name(region, value));
            values.class.push(value.class.0);
            values.weight.push(value.weight);
            values.def.push(value.def.map(|instr| instr.0));
            values.live_out.push(value.live_out);
            values.uses.push(region.value_uses(id).iter().map(|instr| instr.0).collect());
        }
        values
    }
}

impl<'a> Drawn<'a> {
    fn new(region: &Region, name: &'static str, by: &'a str, schedule: &'a Schedule) -> Self {
        Drawn {
            name,
            by,
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            cycles: schedule.cycles(),
            pressure: region.class_ids().map(|class| pressures(region, class, schedule.order())).collect(),
            against: None,
            moved: Vec::new(),
        }
    }

    /// Add the instructions that moved from `before` to `own`, the schedule that is drawn.
    fn compared_with(mut self, name: &'static str, before: &Schedule, own: &Schedule) -> Self {
        let moves = moves(before.order(), own.order());
        self.against = Some(name);
        self.moved = (0..).zip(&moves).filter(|(_, by)| by.is_some()).map(|(instr, _)| instr).collect();
        self
    }
}

impl Cut {
    /// Compute the cut by the checker, from its moment alone.
    fn new(
        region: &Region,
        class: ClassId,
        reason: &BoundReason,
        bound: u32,
    ) -> Result<Option<Self>, String> {
        let BoundReason::Cut(moment) = reason else { return Ok(None) };
        let (pressure, issued) =
            least_pressure(region, class, *moment, u32::MAX).map_err(|fault| fault.to_string())?;
        if pressure < bound {
            let class = &region.classes()[class.index()];
            return Err(format!("the bound {bound} on {class} is wrong: {pressure} are possible"));
        }
        Ok(Some(Cut { pressure, issued: issued.iter().map(|instr| instr.0).collect() }))
    }
}

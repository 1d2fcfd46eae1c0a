//! Validation: from the collected parts to the tables of a region, or to the first error.
//!
//! The checks go from the simple to the subtle, and each relies on those before it. They cover counts and
//! names, units, operands, references, the source order, sums that must fit into 32 bits, and recorded
//! orders. Last come the values: their derivation finds undefined uses and hazards that no dependence covers.

use rustc_hash::FxHashSet;

use super::super::operands::Unmerged;
use super::super::{
    Def, Dependence, Edge, Operand, Production, RegionError, Register, latencies, limits, values,
};
use super::{Interner, RegionBuilder, Scratch};
use crate::index::{InstrId, Names, RegisterId, Rows};

/// Operands and edges by instruction.
pub(in crate::region) struct Tables {
    pub(in crate::region) defs: Rows<Def>,
    pub(in crate::region) uses: Rows<Operand>,
    pub(in crate::region) unmerged: Unmerged,
    pub(in crate::region) neighbours: Rows<Edge>,
}

impl RegionBuilder {
    pub(super) fn validate(&self, scratch: &mut Scratch) -> Result<(Tables, values::Values), RegionError> {
        self.check_names_and_counts()?;
        self.check_units()?;
        self.check_operands()?;
        self.check_references()?;
        self.check_order()?;
        self.check_sums(&mut scratch.slowest)?;
        self.check_recorded(&mut scratch.positions)?;

        let count = self.len();
        let defs = Rows::group(count, self.defs.iter().map(|(instr, def)| (instr.index(), *def)));
        let mut uses = Rows::group(count, self.uses.iter().map(|(instr, used)| (instr.index(), *used)));
        let unmerged = Unmerged::of(count, &uses);
        if !unmerged.is_empty() {
            // Each register once.
            uses.sort_and_merge(|last, next| {
                let same = last.register == next.register;
                last.lanes |= if same { next.lanes } else { 0 };
                same
            });
        }
        let tables = Tables { defs, uses, unmerged, neighbours: latencies::edges(count, &self.deps) };
        let values = values::derive(self, &tables, &mut scratch.values)?;
        Ok((tables, values))
    }

    fn check_names_and_counts(&self) -> Result<(), RegionError> {
        if self.instrs.is_empty() {
            return Err(RegionError::Empty);
        }
        let most = |what, count: usize, limit: usize| match count <= limit {
            true => Ok(()),
            false => Err(RegionError::TooMany { what, count: count as u64, limit: limit as u64 }),
        };
        most("instructions", self.instrs.len(), limits::INSTRUCTIONS)?;
        most("classes", self.classes.len(), limits::CLASSES)?;
        most("registers", self.registers.len(), u32::MAX as usize / 2)?;
        most("operands", self.defs.len() + self.uses.len(), u32::MAX as usize / 2)?;
        most("dependences", self.deps.len(), u32::MAX as usize / 2)?;
        let units = self.unit_sets.iter().flat_map(|set| set.iter()).map(|need| &*need.unit);
        let single = [&*self.name, &*self.boundary].into_iter().chain(self.classes.iter());
        let lists = [&self.opcodes.names, &self.flag_sets.names, &self.register_names];
        for names in lists {
            most("bytes of names", names.bytes(), u32::MAX as usize / 2)?;
        }
        for name in single.chain(units).chain(lists.into_iter().map(Names::longest)) {
            if name.len() > limits::NAME {
                let start = name.chars().take(40).collect();
                return Err(RegionError::NameTooLong { length: name.len(), start });
            }
        }
        for (position, register) in self.registers.iter().enumerate() {
            let Register { lanes, lane_weight: weight, .. } = *register;
            if !(1..=limits::LANES).contains(&lanes) || weight == 0 {
                let register = self.register_name(RegisterId::at(position));
                return Err(RegionError::BadRegister { register, lanes, weight });
            }
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), RegionError> {
        for (number, set) in self.unit_sets.iter().enumerate() {
            let mut seen = FxHashSet::default();
            for (position, need) in set.iter().enumerate() {
                let twice = match set.len() <= Interner::FEW {
                    true => set[..position].iter().any(|other| other.unit == need.unit),
                    false => !seen.insert(&need.unit),
                };
                if twice {
                    let user = self.instrs.iter().position(|instr| instr.units as usize == number);
                    let instr = self.describe(InstrId::at(user.unwrap_or(0)));
                    return Err(RegionError::DuplicateUnit { instr, unit: need.unit.to_string() });
                }
            }
        }
        Ok(())
    }

    fn check_operand(&self, operand: Operand, place: impl Fn() -> String) -> Result<(), RegionError> {
        let Some(register) = self.registers.get(operand.register.index()) else {
            let count = self.registers.len();
            return Err(RegionError::UnknownRegister { place: place(), register: operand.register.0, count });
        };
        if operand.lanes == 0 || operand.lanes & !register.all_lanes() != 0 {
            return Err(RegionError::BadLanes {
                place: place(),
                register: self.register_name(operand.register),
                lanes: operand.lanes,
                count: register.lanes,
            });
        }
        Ok(())
    }

    fn check_instr(&self, instr: InstrId, place: impl Fn() -> String) -> Result<(), RegionError> {
        if instr.index() < self.len() {
            return Ok(());
        }
        Err(RegionError::UnknownInstr { place: place(), instr: instr.0, count: self.len() })
    }

    fn check_operands(&self) -> Result<(), RegionError> {
        let defs = self.defs.iter().map(|(instr, def)| (*instr, def.operand));
        for (instr, operand) in defs.chain(self.uses.iter().copied()) {
            self.check_instr(instr, || "an operand".to_string())?;
            self.check_operand(operand, || self.describe(instr))?;
        }
        for operand in &self.live_in {
            self.check_operand(*operand, || "the live-in list".to_string())?;
        }
        for operand in &self.live_out {
            self.check_operand(*operand, || "the live-out list".to_string())?;
        }
        Ok(())
    }

    fn check_references(&self) -> Result<(), RegionError> {
        for dep in &self.deps {
            for instr in [dep.from, dep.to] {
                self.check_instr(instr, || format!("dependence #{} -> #{}", dep.from, dep.to))?;
            }
        }
        for hint in &self.hints {
            for instr in [Some(hint.from), hint.to].into_iter().flatten() {
                self.check_instr(instr, || format!("a hint from #{}", hint.from))?;
            }
        }
        Ok(())
    }

    /// Check that the source order respects the dependences. On failure, report a cycle if there is one: it
    /// explains more.
    fn check_order(&self) -> Result<(), RegionError> {
        let Some(backwards) = self.deps.iter().find(|dep| dep.from >= dep.to) else {
            return Ok(());
        };
        if let Some(cycle) = self.find_cycle() {
            return Err(RegionError::Cycle(cycle.into_iter().map(|instr| self.describe(instr)).collect()));
        }
        Err(RegionError::Backwards { from: self.describe(backwards.from), to: self.describe(backwards.to) })
    }

    /// Find a shortest cycle through some instruction, with that instruction at both ends.
    fn find_cycle(&self) -> Option<Vec<InstrId>> {
        let count = self.len();
        let succs = Rows::group(count, self.deps.iter().map(|dep| (dep.from.index(), dep.to)));
        // Instructions that can be ordered are not on a cycle: peel them off, from the front only.
        let mut indegree = vec![0u32; count];
        for dep in &self.deps {
            indegree[dep.to.index()] += 1;
        }
        let mut ready: Vec<usize> = (0..count).filter(|&i| indegree[i] == 0).collect();
        while let Some(i) = ready.pop() {
            for to in succs.row(i) {
                indegree[to.index()] -= 1;
                if indegree[to.index()] == 0 {
                    ready.push(to.index());
                }
            }
        }
        // Walking backwards among the rest never ends, so it meets a cycle.
        let preds = Rows::group(count, self.deps.iter().map(|dep| (dep.to.index(), dep.from)));
        let mut visited = vec![false; count];
        let mut at = InstrId::at((0..count).find(|&i| indegree[i] > 0)?);
        while !std::mem::replace(&mut visited[at.index()], true) {
            at = *preds.row(at.index()).iter().find(|from| indegree[from.index()] > 0)?;
        }
        // Breadth-first search gives the shortest way from there back to itself.
        let mut reached_from = vec![None; count];
        let mut queue = std::collections::VecDeque::from([at]);
        while let Some(instr) = queue.pop_front() {
            for &to in succs.row(instr.index()) {
                if reached_from[to.index()].is_none() {
                    reached_from[to.index()] = Some(instr);
                    queue.push_back(to);
                }
            }
            if let Some(last) = reached_from[at.index()] {
                let mut cycle = vec![at, last];
                while let Some(instr) = cycle.last().filter(|instr| **instr != at) {
                    cycle.extend(reached_from[instr.index()]);
                }
                cycle.reverse();
                return Some(cycle);
            }
        }
        None
    }

    /// Check that pressures and cycle counts fit into 32 bits in every order.
    fn check_sums(&self, slowest: &mut Vec<u32>) -> Result<(), RegionError> {
        let at_most = |what, sum: u64| match sum <= limits::TOTAL {
            true => Ok(()),
            false => Err(RegionError::Overflow { what, sum }),
        };
        let weight = |operand: &Operand| {
            let weight = self.registers[operand.register.index()].lane_weight;
            u64::from(operand.lanes.count_ones()) * u64::from(weight)
        };
        let operands = self.defs.iter().map(|(_, def)| &def.operand).chain(&self.live_in);
        let through = self.through.iter().map(|&weight| u64::from(weight)).sum::<u64>();
        at_most("weights", operands.map(weight).sum::<u64>() + through)?;

        slowest.clear();
        slowest.extend(self.instrs.iter().map(|instr| {
            let units = &self.unit_sets[instr.units as usize];
            units.iter().map(|need| need.cycles).fold(instr.latency.max(1), u32::max)
        }));
        for dep in &self.deps {
            let slowest = &mut slowest[dep.from.index()];
            *slowest = dep.latency.max(*slowest);
        }
        at_most("latencies", slowest.iter().map(|&latency| u64::from(latency)).sum())
    }

    fn check_recorded(&self, positions: &mut Vec<u32>) -> Result<(), RegionError> {
        let production = self.production.as_ref();
        let peaks =
            self.source_peaks.iter().chain(production.and_then(|production| production.peaks.as_ref()));
        for peaks in peaks {
            if peaks.len() != self.classes.len() {
                return Err(RegionError::BadPeaks { given: peaks.len(), count: self.classes.len() });
            }
        }
        let Some(Production { by, order, .. }) = production else {
            return Ok(());
        };
        let bad = |problem| Err(RegionError::BadOrder { by: by.to_string(), count: self.len(), problem });
        if order.len() != self.len() {
            return bad(format!("it lists {}", order.len()));
        }
        const NOWHERE: u32 = u32::MAX;
        positions.clear();
        positions.resize(self.len(), NOWHERE);
        for (place, instr) in order.iter().enumerate() {
            match positions.get_mut(instr.index()) {
                None => return bad(format!("it lists #{instr}")),
                Some(position) if *position != NOWHERE => return bad(format!("it lists #{instr} twice")),
                Some(position) => *position = place as u32,
            }
        }
        // Users of the recorded order rely on its legality.
        let is_broken = |dep: &&Dependence| positions[dep.from.index()] > positions[dep.to.index()];
        if let Some(Dependence { from, to, .. }) = self.deps.iter().find(is_broken) {
            let (by, from, to) = (by.to_string(), self.describe(*from), self.describe(*to));
            return Err(RegionError::IllegalOrder { by, from, to });
        }
        Ok(())
    }
}

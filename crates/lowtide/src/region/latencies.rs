//! A region with the latencies of a target instead of the recorded ones.
//!
//! Only *data* dependences change: their latency is the time until a result can be used, and the target's
//! table has better figures for it. The latencies of other dependences are about the order of accesses and
//! stay as recorded. Orders that are legal before are legal after, and pressures are the same.

use super::{DepKind, Dependence, Edge, HintKind, Instr, InstrSpec, Kernel, Region, RegionError, limits};
use crate::index::{InstrId, Rows, add_up};
use crate::target::{Access, Latencies, LatencyRule, MOST_RULES, Target};

impl Kernel {
    /// Replace recorded latencies by those of the target's table. Without a table, or with
    /// [`Latencies::Recorded`], nothing changes. Fail if latencies get too large for a region.
    ///
    /// ```
    /// use lowtide::region::{InstrSpec, Kernel, RegionBuilder};
    /// use lowtide::target::{Latencies, Target};
    ///
    /// let mut builder = RegionBuilder::new("body");
    /// let vgpr = builder.class("vgpr");
    /// let loaded = builder.register("", vgpr, 1, 1);
    /// let units = &[("HWVMEM", 1)];
    /// let load = builder.instr(InstrSpec { units, flags: "l", ..InstrSpec::new("GLOBAL_LOAD_DWORD", 80) });
    /// builder.defs(load, loaded, 1);
    /// let add = builder.instr(InstrSpec::new("V_ADD_F32", 1));
    /// builder.uses(add, loaded, 1);
    /// builder.depend_on_registers();
    /// let kernel = Kernel::new("add", vec![builder.build()?]);
    ///
    /// let vega = Target::builtin("gfx906").expect("a built-in target");
    /// let kernel = kernel.with_latencies(Latencies::TARGET, &vega)?;
    /// assert_eq!(kernel.regions[0].succs(load)[0].latency, 125); // rounds of 4 clocks
    /// # Ok::<(), lowtide::region::RegionError>(())
    /// ```
    pub fn with_latencies(mut self, latencies: Latencies, target: &Target) -> Result<Kernel, RegionError> {
        let regions = self.regions.into_iter().map(|region| region.with_latencies(latencies, target));
        self.regions = regions.collect::<Result<_, _>>()?;
        Ok(self)
    }
}

impl InstrSpec<'_> {
    /// Return the latency by the target's table, or the recorded one if no entry matches.
    pub fn latency_on(&self, target: &Target) -> u32 {
        let matches = |rule: &&LatencyRule| {
            self.units.iter().any(|(unit, _)| *unit == rule.unit)
                && rule.access.is_none_or(|access| self.flags.contains(access.flag()))
                && rule.prefix.as_ref().is_none_or(|prefix| self.opcode.starts_with(prefix))
                && rule.address_space.is_none_or(|space| space == self.address_space)
        };
        target.latencies().iter().find(matches).map_or(self.latency, |rule| rule.cycles)
    }
}

impl Region {
    /// Replace recorded latencies by those of the target's table; see [`Kernel::with_latencies`].
    pub fn with_latencies(mut self, latencies: Latencies, target: &Target) -> Result<Region, RegionError> {
        let new = self.latencies_by(target, latencies);
        if new.iter().all(Option::is_none) {
            return Ok(self);
        }
        for (instr, new) in self.instrs.iter_mut().zip(&new) {
            instr.latency = new.unwrap_or(instr.latency);
        }
        for dep in self.deps.iter_mut().filter(|dep| dep.kind == DepKind::Data) {
            dep.latency = new[dep.from.index()].unwrap_or(dep.latency);
        }
        for hint in self.hints.iter_mut().filter(|hint| hint.kind == HintKind::Exit) {
            hint.latency = new[hint.from.index()].unwrap_or(hint.latency);
        }
        self.check_sum()?;
        self.neighbours = edges(self.len(), &self.deps);
        Ok(self)
    }

    /// Return for each instruction the cycles of the target's table, if an entry matches and `latencies` asks
    /// for the table.
    pub(crate) fn latencies_by(&self, target: &Target, latencies: Latencies) -> Vec<Option<u32>> {
        if target.resolve(latencies) == Latencies::Recorded {
            return vec![None; self.len()];
        }
        let rules = target.latencies();
        let patterns: Vec<Pattern> = rules.iter().map(Pattern::from).collect();
        let cycles = |rule: Option<usize>| rule.map(|rule| latencies.scaled(rules[rule].cycles));
        self.matching(&patterns).into_iter().map(cycles).collect()
    }

    /// Return for each instruction the first pattern that matches it. A mask has one bit for each pattern, so
    /// that names are compared once for each distinct name, not for each instruction. There can be at most 64
    /// patterns.
    pub(crate) fn matching(&self, patterns: &[Pattern]) -> Vec<Option<usize>> {
        debug_assert!(patterns.len() <= MOST_RULES);
        let mask = |matches: &dyn Fn(&Pattern) -> bool| {
            patterns.iter().enumerate().fold(0u64, |mask, (bit, rule)| mask | u64::from(matches(rule)) << bit)
        };
        let by_units: Vec<u64> = (self.unit_sets.iter())
            .map(|set| mask(&|rule| set.iter().any(|need| *need.unit == *rule.unit)))
            .collect();
        let by_flags: Vec<u64> = (self.names.flag_sets())
            .map(|flags| mask(&|rule| rule.access.is_none_or(|access| flags.contains(access.flag()))))
            .collect();
        let by_opcode: Vec<u64> = (self.names.opcodes())
            .map(|opcode| mask(&|rule| rule.prefix.is_none_or(|prefix| opcode.starts_with(prefix))))
            .collect();
        let of = |instr: &Instr| {
            let units = by_units[instr.units as usize];
            // Most instructions need no unit of a pattern.
            if units == 0 {
                return None;
            }
            let named = units & by_flags[instr.flags as usize] & by_opcode[instr.opcode as usize];
            (0..patterns.len()).find(|&bit| {
                let space = patterns[bit].address_space;
                named >> bit & 1 == 1 && space.is_none_or(|space| space == instr.address_space)
            })
        };
        self.instrs.iter().map(of).collect()
    }

    /// Check that cycle counts fit into 32 bits in every order, as the builder does.
    fn check_sum(&self) -> Result<(), RegionError> {
        let mut slowest: Vec<u32> = (self.instrs())
            .map(|instr| {
                self.units(instr).iter().map(|need| need.cycles).fold(self.latency(instr).max(1), u32::max)
            })
            .collect();
        for dep in &self.deps {
            let slowest = &mut slowest[dep.from.index()];
            *slowest = dep.latency.max(*slowest);
        }
        let sum = slowest.into_iter().map(u64::from).sum();
        if sum > limits::TOTAL {
            return Err(RegionError::Overflow { what: "latencies", sum });
        }
        Ok(())
    }
}

/// Instructions that need a unit, with optional further conditions.
pub(crate) struct Pattern<'a> {
    pub(crate) unit: &'a str,
    pub(crate) access: Option<Access>,
    pub(crate) address_space: Option<i32>,
    pub(crate) prefix: Option<&'a str>,
}

impl<'a> From<&'a LatencyRule> for Pattern<'a> {
    fn from(rule: &'a LatencyRule) -> Self {
        let LatencyRule { unit, access, address_space, prefix, .. } = rule;
        Pattern { unit, access: *access, address_space: *address_space, prefix: prefix.as_deref() }
    }
}

/// Return the neighbours before each instruction, and behind them those after each instruction. Parallel
/// dependences are one edge with the largest latency.
pub(super) fn edges(count: usize, deps: &[Dependence]) -> Rows<Edge> {
    // Front ends list the dependences by their first instruction. Sorted by counting into the second ones,
    // they stay so there.
    let mut sorted = Vec::new();
    let deps = match deps.is_sorted_by_key(|dep| dep.from) {
        true => deps,
        false => {
            sorted.extend_from_slice(deps);
            sorted.sort_by_key(|dep| dep.from);
            &sorted
        }
    };
    // `starts` is one row ahead at first: each row's start then moves to its end while it is filled.
    let mut starts = vec![0u32; 2 * count + 2];
    for dep in deps {
        starts[dep.to.index() + 2] += 1;
    }
    add_up(&mut starts[..count + 2]);
    let mut edges = vec![Edge { instr: InstrId(0), latency: 0 }; 2 * deps.len()];
    for dep in deps {
        let next = &mut starts[dep.to.index() + 1];
        edges[*next as usize] = Edge { instr: dep.from, latency: dep.latency };
        *next += 1;
    }
    let (mut kept, mut start) = (0, 0);
    for to in 0..count {
        let first = kept;
        let end = starts[to + 1] as usize;
        for place in start..end {
            let edge = edges[place];
            if kept > first && edges[kept - 1].instr == edge.instr {
                edges[kept - 1].latency = edges[kept - 1].latency.max(edge.latency);
            } else {
                edges[kept] = edge;
                kept += 1;
            }
        }
        start = end;
        starts[to + 1] = kept as u32;
    }
    // The same edges from their other ends.
    let (before, after) = edges.split_at_mut(kept);
    let (ends, next) = starts.split_at_mut(count + 1);
    for edge in &*before {
        next[edge.instr.index() + 1] += 1;
    }
    next[0] = kept as u32;
    add_up(next);
    for to in 0..count {
        for edge in &before[ends[to] as usize..ends[to + 1] as usize] {
            let next = &mut next[edge.instr.index()];
            after[*next as usize - kept] = Edge { instr: InstrId::at(to), latency: edge.latency };
            *next += 1;
        }
    }
    starts.pop();
    edges.truncate(2 * kept);
    Rows::from_parts(starts, edges)
}

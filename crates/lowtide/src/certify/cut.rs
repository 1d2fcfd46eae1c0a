//! Chains of values that prove a cut: a maximum flow over the region itself, taken apart into paths.
//!
//! The network is that of [`flow`](crate::analysis::flow) without its short cuts, so that each step of a path
//! is a definition, a use or a dependence of the region. Nodes are instructions and values. Flow passes from
//! an instruction to the values that it defines, up to their weight, from a value to its uses, and from an
//! instruction to those that it depends on.

use super::{Chain, Point};
use crate::index::{ClassId, InstrId, ValueId};
use crate::region::Region;

const NONE: u32 = u32::MAX;

/// A network: arcs in pairs, so that arc `a ^ 1` is the reverse of arc `a`.
struct Network {
    heads: Vec<u32>,
    left: Vec<u32>,
    arcs: Vec<Vec<u32>>,
}

impl Network {
    fn arc(&mut self, from: u32, to: u32, capacity: u32) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.arcs[from as usize].push(self.heads.len() as u32);
            self.heads.push(to);
            self.left.push(capacity);
        }
    }

    /// Return the flow of an arc that was added as the first of its pair.
    fn flow(&self, arc: u32) -> u32 {
        self.left[arc as usize ^ 1]
    }

    /// Push more flow along a shortest path. Return the amount; 0 if there is no path.
    fn augment(&mut self, source: u32, sink: u32, via: &mut [u32]) -> u32 {
        via.fill(NONE);
        let mut queue = vec![source];
        let mut next = 0;
        'search: while next < queue.len() {
            let node = queue[next];
            next += 1;
            for &arc in &self.arcs[node as usize] {
                let to = self.heads[arc as usize];
                if self.left[arc as usize] > 0 && via[to as usize] == NONE && to != source {
                    via[to as usize] = arc;
                    if to == sink {
                        break 'search;
                    }
                    queue.push(to);
                }
            }
        }
        if via[sink as usize] == NONE {
            return 0;
        }
        let mut path = Vec::new();
        let mut node = sink;
        while node != source {
            let arc = via[node as usize];
            path.push(arc);
            node = self.heads[arc as usize ^ 1];
        }
        let amount = path.iter().map(|&arc| self.left[arc as usize]).min().unwrap_or(0);
        for arc in path {
            self.left[arc as usize] -= amount;
            self.left[arc as usize ^ 1] += amount;
        }
        amount
    }
}

/// Return chains whose amounts, with the weight that passes through, are over the limit. None if the cut is
/// not.
pub(super) fn chains(region: &Region, class: ClassId, at: &Point, limit: u32) -> Option<Vec<Chain>> {
    let (done, ahead) = sides(region, at);
    let count = region.len() as u32;
    let (source, sink) = (count + region.values().len() as u32, count + region.values().len() as u32 + 1);
    let nodes = sink as usize + 1;
    let mut network = Network { heads: Vec::new(), left: Vec::new(), arcs: vec![Vec::new(); nodes] };
    const UNLIMITED: u32 = 1 << 30;
    for instr in region.instrs() {
        match (done[instr.index()], ahead[instr.index()]) {
            (true, _) => network.arc(source, instr.0, UNLIMITED),
            (_, true) => network.arc(instr.0, sink, UNLIMITED),
            _ => region.preds(instr).iter().for_each(|edge| network.arc(instr.0, edge.instr.0, UNLIMITED)),
        }
    }
    for (position, value) in region.values().iter().enumerate() {
        let id = ValueId::at(position);
        if value.class != class || region.is_dead(id) {
            continue;
        }
        let node = count + position as u32;
        network.arc(value.def.map_or(source, |def| def.0), node, value.weight);
        match value.live_out {
            true => network.arc(node, sink, UNLIMITED),
            false => region.value_uses(id).iter().for_each(|instr| network.arc(node, instr.0, UNLIMITED)),
        }
    }
    let wanted = u64::from(limit) + 1;
    let mut found = u64::from(region.through(class));
    let mut via = vec![NONE; nodes];
    while found < wanted {
        match network.augment(source, sink, &mut via) {
            0 => return None,
            amount => found += u64::from(amount),
        }
    }
    Some(paths(region, &mut network, source, sink))
}

/// Take the flow apart into chains.
fn paths(region: &Region, network: &mut Network, source: u32, sink: u32) -> Vec<Chain> {
    let count = region.len() as u32;
    let mut chains = Vec::new();
    let mut place = vec![NONE; network.arcs.len()];
    loop {
        // A walk along the flow. A circle in it is taken out, since no chain needs it.
        let mut walk: Vec<u32> = Vec::new();
        let mut node = source;
        while node != sink {
            place[node as usize] = walk.len() as u32;
            let next =
                network.arcs[node as usize].iter().find(|arc| *arc % 2 == 0 && network.flow(**arc) > 0);
            let Some(&arc) = next else { return chains };
            walk.push(arc);
            node = network.heads[arc as usize];
            if place[node as usize] != NONE {
                let first = place[node as usize] as usize;
                let amount = walk[first..].iter().map(|&arc| network.flow(arc)).min().unwrap_or(0);
                for arc in walk.drain(first..) {
                    network.left[arc as usize ^ 1] -= amount;
                    place[network.heads[arc as usize] as usize] = NONE;
                }
            }
        }
        let amount = walk.iter().map(|&arc| network.flow(arc)).min().unwrap_or(0);
        let mut steps: Vec<(ValueId, Vec<InstrId>)> = Vec::new();
        for &arc in &walk {
            network.left[arc as usize ^ 1] -= amount;
            let node = network.heads[arc as usize];
            place[network.heads[arc as usize ^ 1] as usize] = NONE;
            if (count..source).contains(&node) {
                steps.push((ValueId(node - count), Vec::new()));
            } else if let (true, Some((_, instrs))) = (node < count, steps.last_mut()) {
                instrs.push(InstrId(node));
            }
        }
        chains.push(Chain { amount, steps });
    }
}

/// Return for each instruction whether it has certainly issued at a moment, and whether it certainly has not.
fn sides(region: &Region, at: &Point) -> (Vec<bool>, Vec<bool>) {
    let reach = |start: InstrId, is_forward: bool| {
        let mut seen = vec![false; region.len()];
        let mut stack = vec![start];
        while let Some(instr) = stack.pop() {
            let edges = if is_forward { region.succs(instr) } else { region.preds(instr) };
            for edge in edges {
                if !std::mem::replace(&mut seen[edge.instr.index()], true) {
                    stack.push(edge.instr);
                }
            }
        }
        seen
    };
    let (set, is_after) = match at {
        Point::After(set) => (set, true),
        Point::Before(set) => (set, false),
        Point::Start | Point::End => return (Vec::new(), Vec::new()),
    };
    // The side that holds the set and what it leads to, and the other one: what all of the set lead to.
    let (mut with, mut beyond) = (vec![false; region.len()], vec![true; region.len()]);
    for &instr in set {
        with[instr.index()] = true;
        reach(instr, !is_after).iter().zip(&mut with).for_each(|(reached, with)| *with |= reached);
        reach(instr, is_after).iter().zip(&mut beyond).for_each(|(reached, beyond)| *beyond &= reached);
    }
    if is_after { (with, beyond) } else { (beyond, with) }
}

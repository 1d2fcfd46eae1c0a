//! States, and the weight f of the values that are live in a state.
//!
//! A walk goes from state to state, one instruction at a time, and back. Forward, it starts at the empty
//! state and puts instructions in. Backward, it starts at the state of all instructions and takes
//! instructions out, those first that nothing depends on. A value is live if it has begun inside the state,
//! and is live-out or has a use outside. So one flag and one counter for each value tell what an instruction
//! changes.

use crate::region::{Bits, Graph, MAX_CLASSES, Value};

/// A state with the weight of its live values.
pub struct Walk<'g> {
    graph: &'g Graph,
    backward: bool,
    /// The instructions that the walk has passed: the state itself, or backward its complement.
    passed: Bits,
    /// For each value, whether it begins before the region or in the state.
    begun: Vec<bool>,
    /// For each value, the number of uses outside the state.
    outside: Vec<u32>,
    /// f for each class.
    weight: [i64; MAX_CLASSES],
    /// For each instruction, the number of those that have to be passed before and are not.
    unmet: Vec<u32>,
    /// The instructions that can follow.
    ready: Bits,
}

impl<'g> Walk<'g> {
    /// Start at the empty state, or backward at the state of all instructions.
    pub fn new(graph: &'g Graph, backward: bool) -> Self {
        let mut walk = Self {
            graph,
            backward,
            passed: Bits::new(graph.count),
            begun: graph.values.iter().map(|v| backward || v.begin.is_none()).collect(),
            outside: (0..graph.values.len() as u32)
                .map(|v| if backward { 0 } else { graph.uses.get(v).len() as u32 })
                .collect(),
            weight: [0; MAX_CLASSES],
            unmet: Vec::with_capacity(graph.count),
            ready: Bits::new(graph.count),
        };
        walk.weight.iter_mut().zip(&graph.through).for_each(|(weight, through)| *weight = *through);
        for i in 0..graph.count as u32 {
            let needed = if backward { graph.succs.get(i) } else { graph.preds.get(i) };
            walk.unmet.push(needed.len() as u32);
            walk.ready.set(i, needed.is_empty());
        }
        for (v, value) in graph.values.iter().enumerate() {
            walk.weight[value.class] += if walk.is_live(v) { value.weight } else { 0 };
        }
        walk
    }

    fn is_live(&self, v: usize) -> bool {
        self.begun[v] && (self.graph.values[v].live_out || self.outside[v] > 0)
    }

    /// Return f of the state, for each class.
    pub fn weight(&self) -> &[i64] {
        &self.weight[..self.graph.classes.len()]
    }

    /// Return the instructions that the walk has passed.
    pub fn passed(&self) -> &Bits {
        &self.passed
    }

    /// Return the instructions that can follow.
    pub fn ready(&self) -> &Bits {
        &self.ready
    }

    /// Tell whether instruction `x` can follow. False for a number that is not an instruction.
    pub fn can_follow(&self, x: u32) -> bool {
        (x as usize) < self.graph.count && self.ready.has(x)
    }

    /// Put `x` in the state, or take it out, and correct f.
    fn toggle(&mut self, x: u32, inside: bool) {
        let graph = self.graph;
        let uses = graph.used.get(x).iter().map(|&v| (v as usize, true));
        let begins = graph.begun.get(x).iter().map(|&v| (v as usize, false));
        for (v, is_use) in uses.chain(begins) {
            let before = self.is_live(v);
            match (is_use, inside) {
                (true, true) => self.outside[v] -= 1,
                (true, false) => self.outside[v] += 1,
                (false, _) => self.begun[v] = inside,
            }
            let Value { class, weight, .. } = graph.values[v];
            self.weight[class] += (i64::from(self.is_live(v)) - i64::from(before)) * weight;
        }
    }

    /// Return the instructions that wait for `x`.
    fn waiting(&self, x: u32) -> &'g [u32] {
        if self.backward { self.graph.preds.get(x) } else { self.graph.succs.get(x) }
    }

    /// Pass an instruction that can follow.
    pub fn pass(&mut self, x: u32) {
        self.set(x, true);
    }

    /// Take back an instruction that the walk has passed.
    pub fn take_back(&mut self, x: u32) {
        self.set(x, false);
    }

    fn set(&mut self, x: u32, passed: bool) {
        self.toggle(x, passed != self.backward);
        self.passed.set(x, passed);
        for &y in self.waiting(x) {
            let unmet = &mut self.unmet[y as usize];
            *unmet = if passed { *unmet - 1 } else { *unmet + 1 };
            self.ready.set(y, *unmet == 0 && !self.passed.has(y));
        }
        self.ready.set(x, !passed && self.unmet[x as usize] == 0);
    }

    /// Go to the state with exactly the instructions `target` passed.
    pub fn go_to(&mut self, target: &Bits) {
        let mut away = self.passed.clone();
        away.combine(target, |a, b| a & !b);
        let mut missing = target.clone();
        missing.combine(&self.passed, |a, b| a & !b);
        away.iter().for_each(|x| self.take_back(x));
        missing.iter().for_each(|x| self.pass(x));
    }

    /// Pass `x` if it is a free move: f does not grow in a class that counts.
    fn pass_if_free(&mut self, x: u32, counts: &[bool]) -> bool {
        let before = self.weight;
        self.toggle(x, !self.backward);
        let free = self.weight.iter().zip(&before).zip(counts).all(|((now, then), &c)| !c || now <= then);
        self.toggle(x, self.backward);
        if free {
            self.pass(x);
        }
        free
    }

    /// Make free moves until there are none. Return the instructions that were passed.
    ///
    /// `after` is the only instruction passed since the last closure, or none if there was no closure. Only
    /// moves that a passed instruction affects are tried again: those that it lets follow, and those that use
    /// a value that now has exactly one use outside. (Forward, the last use now frees the value. Backward,
    /// the first use has made it live.) A closure that missed a free move would still be sound, since each
    /// free move may be made or not.
    pub fn close(&mut self, after: Option<u32>, counts: &[bool]) -> Vec<u32> {
        let graph = self.graph;
        let mut moves = Vec::new();
        let mut tries: Vec<u32> = if after.is_none() { self.ready.iter().collect() } else { Vec::new() };
        let mut last = after;
        loop {
            if let Some(x) = last {
                tries.extend(self.waiting(x));
                let shared = graph.used.get(x).iter().filter(|&&v| self.outside[v as usize] == 1);
                tries.extend(shared.flat_map(|&v| graph.uses.get(v)));
            }
            let Some(x) = tries.pop() else { return moves };
            last = (self.can_follow(x) && self.pass_if_free(x, counts)).then_some(x);
            moves.extend(last);
        }
    }
}

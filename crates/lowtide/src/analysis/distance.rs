//! Minimum distances: the longest path of latencies between any two instructions.

use super::closure::Closure;
use super::times::separation;
use crate::index::InstrId;
use crate::problem::Problem;

/// The largest region for which the distances of all pairs are computed.
pub const MOST_FOR_DISTANCES: usize = 2048;

const UNREACHED: i32 = -1;

/// Longest paths between all pairs of instructions: 4 n² bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distances {
    count: usize,
    /// Row by row: from each instruction to all others.
    cycles: Vec<i32>,
}

impl Distances {
    /// Compute all distances in O(n × edges).
    pub fn new(problem: &Problem) -> Self {
        let region = problem.region();
        let count = region.len();
        let edges: Vec<Vec<(usize, i32)>> = (region.instrs())
            .map(|from| {
                let edges = region.succs(from).iter();
                edges.map(|edge| (edge.instr.index(), separation(problem, from, edge) as i32)).collect()
            })
            .collect();
        let mut cycles = vec![UNREACHED; count * count];
        for from in 0..count {
            let row = &mut cycles[from * count..][..count];
            row[from] = 0;
            for via in from..count {
                if row[via] == UNREACHED {
                    continue;
                }
                let so_far = row[via];
                for &(to, more) in &edges[via] {
                    row[to] = row[to].max(so_far + more);
                }
            }
        }
        Distances { count, cycles }
    }

    /// Return the least cycles between the issues of two instructions. `None` if the second need not come
    /// after the first.
    #[inline]
    pub fn between(&self, first: InstrId, second: InstrId) -> Option<u32> {
        let cycles = self.cycles[first.index() * self.count + second.index()];
        (cycles != UNREACHED).then_some(cycles as u32)
    }

    /// Add that `second` issues at least `cycles` cycles after `first`, with its consequences. The closure
    /// must contain the pair already.
    pub(crate) fn add(&mut self, closure: &Closure, first: InstrId, second: InstrId, cycles: u32) {
        let count = self.count;
        let after: Vec<(usize, i32)> = closure
            .descendants(second)
            .instrs()
            .chain([second])
            .map(|instr| (instr.index(), self.cycles[second.index() * count + instr.index()]))
            .collect();
        for instr in closure.ancestors(first).instrs().chain([first]) {
            let before = self.cycles[instr.index() * count + first.index()] + cycles as i32;
            let row = &mut self.cycles[instr.index() * count..][..count];
            for &(to, more) in &after {
                row[to] = row[to].max(before + more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Random, register_program};
    use crate::problem::Goal;
    use crate::target::Target;

    #[test]
    fn added_dependences_count_as_if_they_had_been_there() {
        let target = Target::builtin("gfx906").unwrap();
        let mut random = Random::new(1);
        let mut added = 0;
        for seed in 0..200 {
            let region = register_program(12, seed);
            let problem = Problem::new(&region, &target, Goal::Length).unwrap();
            let mut closure = Closure::new(&region);
            let mut distances = Distances::new(&problem);
            let mut paths = distances.cycles.clone();
            for _ in 0..4 {
                let [a, b] = [(); 2].map(|_| InstrId::at(random.below(region.len())));
                if !closure.independent(a, b) {
                    continue;
                }
                let cycles = random.below(5) as u32;
                closure.add(a, b);
                distances.add(&closure, a, b, cycles);
                added += 1;
                // All pairs over the new edge, by the definition.
                let count = region.len();
                let known = paths.clone();
                for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
                    let (before, after) = (known[from * count + a.index()], known[b.index() * count + to]);
                    if before != UNREACHED && after != UNREACHED {
                        let own = &mut paths[from * count + to];
                        *own = (*own).max(before + cycles as i32 + after);
                    }
                }
                assert_eq!(paths, distances.cycles, "{seed}");
                assert!((region.instrs()).all(|one| region.instrs().all(|other| {
                    (one == other || closure.reaches(one, other)) == distances.between(one, other).is_some()
                })));
            }
        }
        assert!(added > 300, "{added}");
    }
}

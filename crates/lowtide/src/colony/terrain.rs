//! The ants' view of a region: flat arrays of integers, the same for every engine.

use crate::analysis::closure::Closure;
use crate::analysis::times::separation;
use crate::analysis::walk::{Direction, LiveGraph, PressureFields};
use crate::index::Rows;
use crate::problem::Problem;
use crate::region::Region;

use super::{Guide, ONE};

/// The other end of a dependence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub(super) instr: u32,
    /// The least cycles between the two issues.
    pub(super) cycles: u32,
}

/// The ants' view of a region.
#[derive(Clone, Debug)]
pub(super) struct Terrain {
    pub(super) packing: PressureFields,
    pub(super) width: u32,
    /// The instructions that wait for an instruction, and the number that each one waits for.
    pub(super) next: Rows<Link>,
    pub(super) waits: Vec<u32>,
    /// The least cycles from the issue of an instruction to the last issue.
    pub(super) tail: Vec<u32>,
    /// The values that an instruction helps to close.
    pub(super) closes: Rows<u32>,
    /// For each value: its weight, the number of its closers, and the sum of their numbers. With one closer
    /// left, the sum is its number.
    pub(super) weights: Vec<i64>,
    pub(super) left: Vec<u32>,
    pub(super) closer_sum: Vec<u32>,
    /// The change of the live weight by each instruction at the start, and the live weight there.
    pub(super) delta: Vec<i64>,
    pub(super) live: i64,
    /// The weight that each instruction opens.
    pub(super) opened: Vec<i64>,
    /// The instructions that can be issued first.
    pub(super) roots: Vec<u32>,
    /// The most instructions that can be ready at the same time.
    pub(super) most_ready: usize,
    /// For each guide, the attraction of each instruction at the start, and its increment when the
    /// instruction becomes the last user of a value.
    pub(super) attraction: [Vec<u16>; Guide::ALL.len()],
    pub(super) relief: [Vec<u16>; Guide::ALL.len()],
}

impl Terrain {
    /// `tail` is as in [`Times`](crate::analysis::times::Times).
    pub(super) fn new(problem: &Problem, packing: &PressureFields, tail: &[u32]) -> Self {
        let region = problem.region();
        let graph = LiveGraph::new(region, Direction::TopDown, packing);
        let mut next = Rows::with_capacity(region.len(), region.edge_count());
        for instr in region.instrs() {
            for edge in region.succs(instr) {
                next.push(Link { instr: edge.instr.0, cycles: separation(problem, instr, edge) });
            }
            next.end_row();
        }
        let count = region.len() as u32;
        let mut terrain = Terrain {
            packing: packing.clone(),
            width: problem.target().issue().width,
            next,
            roots: (0..count).filter(|&instr| graph.instrs[instr as usize].waits == 0).collect(),
            most_ready: most_ready(region),
            waits: graph.instrs.iter().map(|instr| instr.waits).collect(),
            tail: tail.to_vec(),
            closes: graph.closes,
            weights: graph.values.iter().map(|value| value.weight).collect(),
            left: graph.values.iter().map(|value| value.left).collect(),
            closer_sum: graph.values.iter().map(|value| value.closer_sum).collect(),
            delta: graph.instrs.iter().map(|instr| instr.delta).collect(),
            live: graph.live,
            opened: Vec::new(),
            attraction: Default::default(),
            relief: Default::default(),
        };
        // The change of the live weight, plus the weight that it would close.
        let opened = |instr: usize| {
            terrain.delta[instr]
                + terrain.closed_at_start(instr).map(|value| terrain.weights[value]).sum::<i64>()
        };
        terrain.opened = (0..terrain.len()).map(opened).collect();
        for (position, guide) in Guide::ALL.into_iter().enumerate() {
            (terrain.attraction[position], terrain.relief[position]) = terrain.attractions(guide);
        }
        terrain
    }

    pub(super) fn len(&self) -> usize {
        self.waits.len()
    }

    /// Return the values that an instruction would close if it came first.
    fn closed_at_start(&self, instr: usize) -> impl Iterator<Item = usize> + '_ {
        let values = self.closes.row(instr).iter().map(|&value| value as usize);
        values.filter(|&value| self.left[value] == 1)
    }

    /// Return the attraction of each instruction, and the increment of each value when it has one user left.
    /// An attraction with all increments lies between [`ONE`] and twice that.
    fn attractions(&self, guide: Guide) -> (Vec<u16>, Vec<u16>) {
        let (for_path, for_relief) = guide.shares();
        let size = |weight: i64| -> u64 {
            self.packing.classes().map(|class| u64::from(self.packing.unpack(weight, class))).sum()
        };
        let sizes: Vec<u64> = self.weights.iter().map(|&weight| size(weight)).collect();
        let opened: Vec<u64> = self.opened.iter().map(|&opened| size(opened)).collect();
        let closable =
            |instr: usize| self.closes.row(instr).iter().map(|&value| sizes[value as usize]).sum::<u64>();
        let most_opened = opened.iter().max().copied().unwrap_or(0);
        let most_closed = (0..self.len()).map(closable).max().unwrap_or(0);
        let range = (most_opened + most_closed).max(1);
        let longest = u64::from(self.tail.iter().max().copied().unwrap_or(0)).max(1);
        let relief: Vec<u16> = sizes.iter().map(|size| (size * for_relief / range) as u16).collect();
        let attraction = (0..self.len()).map(|instr| {
            let path = u64::from(self.tail[instr]) * for_path / longest;
            let opens_less = (most_opened - opened[instr]) * for_relief / range;
            let closes: u64 = self.closed_at_start(instr).map(|value| u64::from(relief[value])).sum();
            (u64::from(ONE) + path + opens_less + closes) as u16
        });
        (attraction.collect(), relief)
    }
}

/// Return the most instructions that can be independent of one, plus that one (paper 4, Section V-A).
fn most_ready(region: &Region) -> usize {
    let closure = Closure::new(region);
    let ordered = |instr| closure.ancestors(instr).count() + closure.descendants(instr).count();
    region.instrs().map(|instr| region.len() - ordered(instr) as usize).max().unwrap_or(0)
}

//! Graphs on which few registers are hard to reach, or hard to prove: regular, symmetric, or wide.
//!
//! All regions have the form of the pebble game. Every input is an instruction (a load), and every value has
//! weight 1 and the same class. Nothing is live at either end, and an unread result is no value. [`hard`]
//! lists the regions of the benchmark. The same parameters give the same region everywhere.

use super::Random;
use crate::index::RegisterId;
use crate::region::{InstrSpec, Region, RegionBuilder};

/// Return the standard set: fft-16, matmul-4x4x4, stencil-16x12, and layered-NxW-SEED of 100, 150 and 200
/// instructions. Each region has the name of its family.
pub fn hard() -> Vec<Region> {
    let mut regions = vec![fft(16), matmul(4, 4, 4), stencil(16, 12)];
    for nodes in [100, 150, 200] {
        regions.extend((1..=3).map(|seed| layered(nodes, 20, seed)));
    }
    regions
}

/// Make the fast Fourier transform of `points` points by radix-2 butterflies. A complex number is one value.
/// Each of the two results of a butterfly is an instruction of its own that reads both operands. The results
/// of the last stage are stored.
///
/// # Panics
/// If `points` is not a power of two.
pub fn fft(points: usize) -> Region {
    assert!(points.is_power_of_two(), "{points} is not a power of two");
    let mut graph = Graph::new(&format!("fft-{points}"));
    let mut values: Vec<Node> = (0..points).map(|_| graph.load()).collect();
    for stage in 0..points.ilog2() {
        values = (0..points)
            .map(|point| graph.node("butterfly", &[values[point], values[point ^ (1 << stage)]]))
            .collect();
    }
    graph.store_all(&values);
    graph.finish()
}

/// Make the product of an n x k and a k x m matrix. All elements are loaded once. Each element of the result
/// is a chain of k multiplications and additions, the first one without an addend, and a store.
pub fn matmul(n: usize, m: usize, k: usize) -> Region {
    let mut graph = Graph::new(&format!("matmul-{n}x{m}x{k}"));
    let left: Vec<Node> = (0..n * k).map(|_| graph.load()).collect();
    let right: Vec<Node> = (0..k * m).map(|_| graph.load()).collect();
    for row in 0..n {
        for column in 0..m {
            let mut sum = None;
            for inner in 0..k {
                let factors = [left[row * k + inner], right[inner * m + column]];
                sum = Some(match sum {
                    None => graph.node("mul", &factors),
                    Some(sum) => graph.node("fma", &[sum, factors[0], factors[1]]),
                });
            }
            graph.store_all(sum.as_slice());
        }
    }
    graph.finish()
}

/// Make a row of `width` cells over `height` time steps. A cell reads itself and its neighbours to the left
/// and right, one step before. A cell at the rim has one neighbour. The first row is loaded, the last one is
/// stored.
pub fn stencil(width: usize, height: usize) -> Region {
    let mut graph = Graph::new(&format!("stencil-{width}x{height}"));
    let mut row: Vec<Node> = (0..width).map(|_| graph.load()).collect();
    for _ in 1..height {
        let around = |cell: usize| &row[cell.saturating_sub(1)..width.min(cell + 2)];
        row = (0..width).map(|cell| graph.node("average", around(cell))).collect();
    }
    graph.store_all(&row);
    graph.finish()
}

/// Make random layers of `width` instructions; the last layer has the rest. Each instruction reads two or
/// three others of the layer before. Between full layers, every value is read at least once.
pub fn layered(nodes: usize, width: usize, seed: u64) -> Region {
    let mut random = Random::new(seed);
    let mut graph = Graph::new(&format!("layered-{nodes}x{width}-{seed}"));
    let mut above: Vec<Node> = (0..width.min(nodes)).map(|_| graph.load()).collect();
    while graph.len() < nodes {
        // In a random order, so that the first operands use up the whole layer.
        for last in (1..above.len()).rev() {
            above.swap(last, random.below(last + 1));
        }
        let size = width.min(nodes - graph.len());
        let mut layer = Vec::with_capacity(size);
        for own in 0..size {
            let mut operands = vec![above[own]];
            let count = (2 + random.below(2)).min(above.len());
            while operands.len() < count {
                let other = random.pick(&above);
                if !operands.contains(&other) {
                    operands.push(other);
                }
            }
            layer.push(graph.node("op", &operands));
        }
        above = layer;
    }
    graph.finish()
}

/// Make a wide graph of `nodes` instructions. Half of them are independent loads. Each of the others reads
/// one of the loads, in turn, and a random earlier value. So thousands of instructions are ready at once.
pub fn wide(nodes: usize, seed: u64) -> Region {
    let mut random = Random::new(seed);
    let mut graph = Graph::new(&format!("wide-{nodes}-{seed}"));
    let loads: Vec<Node> = (0..nodes.div_ceil(2)).map(|_| graph.load()).collect();
    while graph.len() < nodes {
        let own = loads[graph.len() - loads.len()];
        let mut operands = vec![own];
        let other = random.below(graph.len());
        if other != own {
            operands.push(other);
        }
        graph.node("op", &operands);
    }
    graph.finish()
}

/// The families, for regions of any size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// [`fft`].
    Fft,
    /// [`matmul`] of square matrices.
    Matmul,
    /// [`stencil`] of twelve steps.
    Stencil,
    /// [`layered`] with a width of 20.
    Layered,
    /// [`wide`].
    Wide,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 5] =
        [Family::Fft, Family::Matmul, Family::Stencil, Family::Layered, Family::Wide];

    /// Return the name.
    pub fn name(self) -> &'static str {
        match self {
            Family::Fft => "fft",
            Family::Matmul => "matmul",
            Family::Stencil => "stencil",
            Family::Layered => "layered",
            Family::Wide => "wide",
        }
    }

    /// Make the largest region of the family with at most `size` instructions (at least 16). Regular
    /// families ignore the seed.
    pub fn region(self, size: usize, seed: u64) -> Region {
        let size = size.max(16);
        let largest = |count: &dyn Fn(usize) -> usize| (1..).take_while(|n| count(*n) <= size).last();
        match self {
            Family::Fft => fft(1 << largest(&|stages| (stages + 2) << stages).unwrap_or(1)),
            Family::Matmul => {
                let side = largest(&|side| side * side * (side + 3)).unwrap_or(1);
                matmul(side, side, side)
            }
            Family::Stencil => stencil(size / 13, 12),
            Family::Layered => layered(size, 20, seed),
            Family::Wide => wide(size, seed),
        }
    }
}

/// An instruction of a graph under construction.
type Node = usize;

/// A graph under construction. It becomes a region when all reads are known.
struct Graph {
    name: String,
    nodes: Vec<(&'static str, Vec<Node>)>,
}

impl Graph {
    fn new(name: &str) -> Self {
        Graph { name: name.to_string(), nodes: Vec::new() }
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn node(&mut self, opcode: &'static str, operands: &[Node]) -> Node {
        self.nodes.push((opcode, operands.to_vec()));
        self.nodes.len() - 1
    }

    fn load(&mut self) -> Node {
        self.node("load", &[])
    }

    fn store_all(&mut self, values: &[Node]) {
        for &value in values {
            self.node("store", &[value]);
        }
    }

    fn finish(self) -> Region {
        let mut builder = RegionBuilder::new(&self.name);
        let class = builder.class("vgpr");
        let mut is_read = vec![false; self.nodes.len()];
        for &operand in self.nodes.iter().flat_map(|(_, operands)| operands) {
            is_read[operand] = true;
        }
        // For each node, the register that holds its value.
        let mut registers: Vec<Option<RegisterId>> = Vec::with_capacity(self.nodes.len());
        for (node, (opcode, operands)) in self.nodes.iter().enumerate() {
            let latency = match *opcode {
                "load" => 80,
                "store" => 1,
                _ => 4,
            };
            let instr = builder.instr(InstrSpec::new(opcode, latency));
            for register in operands.iter().filter_map(|operand| registers[*operand]) {
                builder.uses(instr, register, 1);
            }
            let value = is_read[node].then(|| builder.register(&format!("v{node}"), class, 1, 1));
            if let Some(register) = value {
                builder.defs(instr, register, 1);
            }
            registers.push(value);
        }
        builder.depend_on_registers();
        builder.build().expect("generated regions are valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::closure::Closure;
    use crate::index::InstrId;

    /// Instructions on a longest path.
    fn depth(region: &Region) -> usize {
        let mut depths = vec![1; region.len()];
        for instr in region.instrs() {
            let above = region.preds(instr).iter().map(|edge| depths[edge.instr.index()] + 1);
            depths[instr.index()] = above.max().unwrap_or(1);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    fn count(region: &Region, opcode: &str) -> usize {
        region.instrs().filter(|instr| region.opcode(*instr) == opcode).count()
    }

    fn of(region: &Region, opcode: &str) -> Vec<InstrId> {
        region.instrs().filter(|instr| region.opcode(*instr) == opcode).collect()
    }

    #[test]
    fn the_standard_set_has_known_names_and_sizes() {
        let sizes: Vec<(String, usize)> =
            hard().iter().map(|region| (region.name().to_string(), region.len())).collect();
        let mut expected = vec![
            ("fft-16".to_string(), 96),
            ("matmul-4x4x4".to_string(), 112),
            ("stencil-16x12".to_string(), 208),
        ];
        for nodes in [100, 150, 200] {
            expected.extend((1..=3).map(|seed| (format!("layered-{nodes}x20-{seed}"), nodes)));
        }
        assert_eq!(sizes, expected);
        assert_eq!(hard(), hard(), "the same every time");
    }

    #[test]
    fn all_are_in_the_form_of_the_pebble_game() {
        for region in hard() {
            assert_eq!(region.classes().len(), 1);
            assert!(region.live_in().is_empty() && region.live_out().is_empty());
            assert_eq!(region.through(region.class_ids().next().unwrap()), 0);
            for (position, value) in region.values().iter().enumerate() {
                assert!(value.weight == 1 && value.def.is_some() && !value.live_out);
                assert!(!region.is_dead(crate::index::ValueId::at(position)), "{}", region.name());
            }
            for instr in region.instrs() {
                assert!(region.defined_values(instr).len() <= 1);
                assert_eq!(
                    region.preds(instr).is_empty(),
                    region.opcode(instr) == "load",
                    "{}",
                    region.name()
                );
            }
        }
    }

    #[test]
    fn every_result_of_a_transform_depends_on_every_point() {
        for (points, stages) in [(1, 0), (2, 1), (4, 2), (16, 4)] {
            let region = fft(points);
            assert_eq!((region.len(), depth(&region)), (points * (stages + 2), stages + 2));
            assert_eq!(region.edge_count(), 2 * points * stages + points);
            let closure = Closure::new(&region);
            for store in of(&region, "store") {
                let above = closure.ancestors(store);
                assert!(of(&region, "load").into_iter().all(|load| above.contains(load)));
                // Among the butterflies it depends on, the last stage has one, the one before two, and so on.
                let butterflies = of(&region, "butterfly").into_iter().filter(|instr| above.contains(*instr));
                assert_eq!(butterflies.count(), points - 1);
            }
        }
    }

    #[test]
    #[should_panic(expected = "12 is not a power of two")]
    fn a_transform_has_a_power_of_two() {
        fft(12);
    }

    #[test]
    fn every_element_of_a_product_depends_on_its_row_and_column() {
        for (n, m, k) in [(4, 4, 4), (2, 3, 5), (1, 1, 1)] {
            let region = matmul(n, m, k);
            assert_eq!(region.len(), n * k + k * m + n * m * (k + 1));
            assert_eq!(depth(&region), k + 2);
            assert_eq!((count(&region, "mul"), count(&region, "fma")), (n * m, n * m * (k - 1)));
            let closure = Closure::new(&region);
            for (position, store) in of(&region, "store").into_iter().enumerate() {
                let (row, column) = (position / m, position % m);
                for load in of(&region, "load") {
                    let number = load.index();
                    let is_own = match number.checked_sub(n * k) {
                        None => number / k == row,
                        Some(number) => number % m == column,
                    };
                    assert_eq!(closure.ancestors(store).contains(load), is_own);
                }
            }
        }
    }

    #[test]
    fn a_cell_depends_on_a_cone() {
        let region = stencil(16, 12);
        assert_eq!((region.len(), depth(&region)), (16 * 12 + 16, 13));
        assert_eq!(region.edge_count(), 11 * (3 * 16 - 2) + 16);
        let closure = Closure::new(&region);
        let cell = |row: usize, column: usize| InstrId::at(16 * row + column);
        for row in 0..=5 {
            for column in 0..16usize {
                let inside = column.abs_diff(8) <= 5 - row && row < 5;
                assert_eq!(
                    closure.ancestors(cell(5, 8)).contains(cell(row, column)),
                    inside,
                    "{row} {column}"
                );
            }
        }
    }

    #[test]
    fn layers_read_the_layer_before() {
        for (nodes, width, seed) in [(100, 20, 1), (150, 20, 7), (200, 20, 3), (5, 20, 1), (7, 1, 1)] {
            let region = layered(nodes, width, seed);
            assert_eq!((region.len(), depth(&region)), (nodes, nodes.div_ceil(width)));
            for instr in region.instrs().skip(width) {
                let operands = region.preds(instr);
                assert!((2.min(width)..=3).contains(&operands.len()));
                assert!(operands.iter().all(|edge| edge.instr.index() / width + 1 == instr.index() / width));
            }
            // Every value of a layer before a full one is read.
            for instr in region.instrs().take((nodes / width).saturating_sub(1) * width) {
                assert!(!region.succs(instr).is_empty());
            }
        }
        assert_ne!(layered(100, 20, 1), layered(100, 20, 2));
    }

    #[test]
    fn half_of_a_wide_graph_is_ready_at_once() {
        for (nodes, seed) in [(1, 1), (100, 1), (101, 2)] {
            let region = wide(nodes, seed);
            assert_eq!((region.len(), count(&region, "load")), (nodes, nodes.div_ceil(2)));
            for instr in of(&region, "op") {
                let operands = region.preds(instr);
                let load = instr.index() - nodes.div_ceil(2);
                assert!((1..=2).contains(&operands.len()), "{operands:?}");
                assert!(operands.iter().any(|edge| edge.instr.index() == load), "{operands:?}");
            }
        }
        assert_ne!(wide(100, 1), wide(100, 2));
    }

    #[test]
    fn families_have_about_the_size_asked_for() {
        for family in Family::ALL {
            for size in [40, 1000, 5000] {
                let region = family.region(size, 1);
                let is_near = (size / 4..=size).contains(&region.len());
                assert!(is_near && region.name().starts_with(family.name()), "{}: {size}", region.name());
            }
        }
    }
}

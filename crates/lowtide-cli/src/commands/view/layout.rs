//! The layout of a dependence graph, after Sugiyama, Tagawa and Toda 1981, without nodes on long edges. Nodes
//! are in layers, so that every edge leads down. Within a layer they are near their neighbours, so that few
//! edges cross.

use lowtide::InstrId;
use lowtide::region::{Edge, Region};
use serde::Serialize;

/// Sweeps over all layers, down and up. More sweeps hardly change the layout.
const SWEEPS: usize = 12;

/// Places by instruction: from left to right in units of one node, and layers from the top.
#[derive(Serialize)]
pub(super) struct Layout {
    x: Vec<f64>,
    layer: Vec<u32>,
}

/// Place all nodes, in time proportional to the edges, apart from sorting.
pub(super) fn layout(region: &Region) -> Layout {
    let layer = layers(region);
    let count = layer.iter().max().map_or(0, |last| *last as usize + 1);
    let mut rows: Vec<Vec<InstrId>> = vec![Vec::new(); count];
    for instr in region.instrs() {
        rows[layer[instr.index()] as usize].push(instr);
    }
    let mut x = vec![0.0; region.len()];
    for row in &rows {
        let middle = (row.len() - 1) as f64 / 2.0;
        row.iter().enumerate().for_each(|(place, instr)| x[instr.index()] = place as f64 - middle);
    }
    for sweep in 0..SWEEPS {
        match sweep % 2 == 0 {
            true => rows.iter_mut().for_each(|row| arrange(row, &mut x, |instr| region.preds(instr))),
            false => rows.iter_mut().rev().for_each(|row| arrange(row, &mut x, |instr| region.succs(instr))),
        }
    }
    let left = x.iter().copied().fold(0.0, f64::min);
    // A tenth of a node is the finest difference that a reader can see.
    x.iter_mut().for_each(|x| *x = ((*x - left) * 10.0).round() / 10.0);
    Layout { x, layer }
}

/// Return the layer of each instruction: as high as its predecessors allow. Instructions without predecessors, such as loads of
/// constants, stand right above their first use.
fn layers(region: &Region) -> Vec<u32> {
    let mut layer = vec![0; region.len()];
    for instr in region.instrs() {
        let above = region.preds(instr).iter().map(|edge| layer[edge.instr.index()] + 1);
        layer[instr.index()] = above.max().unwrap_or(0);
    }
    for instr in region.instrs().filter(|instr| region.preds(*instr).is_empty()) {
        let below = region.succs(instr).iter().map(|edge| layer[edge.instr.index()]);
        layer[instr.index()] = below.min().map_or(0, |first| first - 1);
    }
    layer
}

/// Move each instruction of a layer to the middle of its neighbours on one side, with a distance of one node between any two.
fn arrange<'r>(row: &mut [InstrId], x: &mut [f64], neighbours: impl Fn(InstrId) -> &'r [Edge]) {
    let wanted = |instr: InstrId, x: &[f64]| {
        let others = neighbours(instr);
        match others.is_empty() {
            true => x[instr.index()],
            false => others.iter().map(|edge| x[edge.instr.index()]).sum::<f64>() / others.len() as f64,
        }
    };
    let mut places: Vec<(f64, InstrId)> = row.iter().map(|instr| (wanted(*instr, x), *instr)).collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut last = f64::NEG_INFINITY;
    let mut too_far = 0.0;
    for (place, (wanted, instr)) in row.iter_mut().zip(&places) {
        last = wanted.max(last + 1.0);
        too_far += last - wanted;
        x[instr.index()] = last;
        *place = *instr;
    }
    // Conflicts move nodes to the right only, so the whole layer is moved back.
    let back = too_far / row.len().max(1) as f64;
    row.iter().for_each(|instr| x[instr.index()] -= back);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide::generate::{Shape, region};

    #[test]
    fn edges_lead_down_and_nodes_keep_their_distance() {
        for shape in Shape::ALL {
            for seed in 0..20 {
                let region = region(shape, 10 + 17 * seed as usize, seed);
                let Layout { x, layer } = layout(&region);
                for to in region.instrs() {
                    for edge in region.preds(to) {
                        assert!(layer[edge.instr.index()] < layer[to.index()]);
                    }
                }
                let mut nodes: Vec<(u32, f64)> = layer.into_iter().zip(x).collect();
                nodes.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
                for pair in nodes.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                    // Rounding takes up to a tenth.
                    assert!(pair[1].1 - pair[0].1 > 0.85, "{shape:?} {seed}: {pair:?}");
                }
                assert!(nodes.iter().all(|(_, x)| (0.0..1e6).contains(x)));
            }
        }
    }
}

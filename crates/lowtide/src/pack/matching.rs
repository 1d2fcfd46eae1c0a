//! Maximum matching by Edmonds' blossoms: the most disjoint pairs of a graph.

use std::collections::VecDeque;

const NONE: usize = usize::MAX;

/// Return the maximum number of disjoint pairs, or `enough` if there are at least that many. `neighbours` has
/// the possible partners of each node.
pub(super) fn most_pairs(neighbours: &[Vec<usize>], enough: usize) -> usize {
    let count = neighbours.len();
    let mut mate = vec![NONE; count];
    let mut pairs = 0;
    // A greedy first matching, which often suffices. Nodes with few partners choose first.
    let mut nodes: Vec<usize> = (0..count).collect();
    nodes.sort_unstable_by_key(|node| (neighbours[*node].len(), *node));
    for node in nodes {
        if mate[node] == NONE {
            let free = neighbours[node].iter().filter(|other| mate[**other] == NONE);
            if let Some(&other) = free.min_by_key(|other| neighbours[**other].len()) {
                mate[node] = other;
                mate[other] = node;
                pairs += 1;
            }
        }
    }
    let is_out = vec![false; count];
    let mut search = Matching { neighbours, mate, parent: vec![NONE; count], base: vec![0; count], is_out };
    for node in 0..count {
        if pairs >= enough {
            return enough;
        }
        if search.mate[node] == NONE {
            pairs += usize::from(search.augment(node));
        }
    }
    pairs.min(enough)
}

struct Matching<'a> {
    neighbours: &'a [Vec<usize>],
    mate: Vec<usize>,
    /// The node before on an alternating path from the root.
    parent: Vec<usize>,
    /// The base of the blossom that a node is part of: itself if of none.
    base: Vec<usize>,
    /// Other searches skip the vertices that a failed search has reached: no change there gains a pair.
    is_out: Vec<bool>,
}

impl Matching<'_> {
    /// Look for a path from an unmatched node to another one on which matched and unmatched pairs alternate,
    /// and gain one pair by it.
    fn augment(&mut self, root: usize) -> bool {
        let count = self.neighbours.len();
        self.parent.fill(NONE);
        self.base = (0..count).collect();
        let mut reached = vec![false; count];
        reached[root] = true;
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            for &other in &self.neighbours[node] {
                if self.is_out[other] || self.base[node] == self.base[other] || self.mate[node] == other {
                    continue;
                }
                let mate = self.mate[other];
                if other == root || mate != NONE && self.parent[mate] != NONE {
                    // An odd cycle: all of it can be reached both ways, so it becomes one node.
                    let base = self.common_base(node, other);
                    let mut in_blossom = vec![false; count];
                    self.mark(&mut in_blossom, node, base, other);
                    self.mark(&mut in_blossom, other, base, node);
                    for at in 0..count {
                        if in_blossom[self.base[at]] {
                            self.base[at] = base;
                            if !reached[at] {
                                reached[at] = true;
                                queue.push_back(at);
                            }
                        }
                    }
                } else if self.parent[other] == NONE {
                    self.parent[other] = node;
                    if mate == NONE {
                        self.flip(other);
                        return true;
                    }
                    reached[mate] = true;
                    queue.push_back(mate);
                }
            }
        }
        for ((is_out, reached), parent) in self.is_out.iter_mut().zip(reached).zip(&self.parent) {
            *is_out |= reached || *parent != NONE;
        }
        false
    }

    fn common_base(&self, a: usize, b: usize) -> usize {
        let mut seen = vec![false; self.neighbours.len()];
        let mut at = self.base[a];
        loop {
            seen[at] = true;
            if self.mate[at] == NONE {
                break;
            }
            at = self.base[self.parent[self.mate[at]]];
        }
        let mut at = self.base[b];
        while !seen[at] {
            at = self.base[self.parent[self.mate[at]]];
        }
        at
    }

    fn mark(&mut self, in_blossom: &mut [bool], mut at: usize, base: usize, mut child: usize) {
        while self.base[at] != base {
            in_blossom[self.base[at]] = true;
            in_blossom[self.base[self.mate[at]]] = true;
            self.parent[at] = child;
            child = self.mate[at];
            at = self.parent[self.mate[at]];
        }
    }

    fn flip(&mut self, mut at: usize) {
        while at != NONE {
            let before = self.parent[at];
            let next = self.mate[before];
            self.mate[at] = before;
            self.mate[before] = at;
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// By trying all sets of nodes.
    fn by_force(neighbours: &[Vec<usize>], free: u32) -> usize {
        let Some(node) = (0..neighbours.len()).find(|node| free >> node & 1 != 0) else { return 0 };
        let rest = free & !(1 << node);
        let partners = neighbours[node].iter().filter(|other| rest >> **other & 1 != 0);
        let paired = partners.map(|other| 1 + by_force(neighbours, rest & !(1 << other)));
        paired.max().unwrap_or(0).max(by_force(neighbours, rest))
    }

    #[test]
    fn pairs_are_as_many_as_by_force() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let count = 1 + random.below(9);
            let density = 10 + random.below(60);
            let mut neighbours = vec![Vec::new(); count];
            for a in 0..count {
                for b in 0..a {
                    if random.chance(density) {
                        neighbours[a].push(b);
                        neighbours[b].push(a);
                    }
                }
            }
            let most = by_force(&neighbours, (1 << count) - 1);
            for enough in 0..=count {
                assert_eq!(most_pairs(&neighbours, enough), most.min(enough), "seed {seed}");
            }
        }
    }
}

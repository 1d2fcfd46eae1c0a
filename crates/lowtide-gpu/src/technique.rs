//! What makes ants fast on a GPU, each of which can be switched off to tell by how much (paper 4, Section V and Tables 4.a and 4.b).
//!
//! Paper 4 also stops a group of ants when its first one has a whole schedule. There is nothing to stop here: a step is an instruction, not a cycle, so that all ants of a group end at the same step.

/// What makes ants fast on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Technique {
    /// All regions at a time. Without: one region after the other, as in paper 4.
    Batches,
    /// 32 threads for an ant. Without: one, as in paper 4, whose threads are lanes of one group.
    Warps,
    /// What the threads of a warp read at the same time lies side by side. Without: the memory of ants is interleaved if an ant has 32 threads, and is in one piece for each if it has one.
    Layout,
    /// Memory is planned beforehand. Without: every ant allocates its memory on the device.
    Planning,
    /// Lists have room for as many instructions as can be independent. Without: for all.
    Lists,
    /// Each array of a batch is moved in one piece. Without: in one for each array of each region.
    Transfers,
    /// Whether to explore is decided for a group. Without: for an ant.
    Exploring,
    /// One group of four may stall where it need not. Without: all.
    Stalling,
    /// Groups have different guides. Without: all have the same.
    Guides,
}

impl Technique {
    /// All of them.
    pub const ALL: [Technique; 9] = [
        Technique::Batches,
        Technique::Warps,
        Technique::Layout,
        Technique::Planning,
        Technique::Lists,
        Technique::Transfers,
        Technique::Exploring,
        Technique::Stalling,
        Technique::Guides,
    ];

    /// Whether the schedules are others without it.
    pub fn is_of_definition(self) -> bool {
        matches!(self, Technique::Exploring | Technique::Stalling | Technique::Guides)
    }
}

/// What the device's compiler is told so that these are switched off.
#[cfg(feature = "cuda")]
pub(crate) fn definitions(without: &[Technique]) -> Vec<&'static str> {
    let lacks = |technique| without.contains(&technique);
    [
        ("WIDTH=1", lacks(Technique::Warps)),
        ("INTERLEAVED", lacks(Technique::Warps) != lacks(Technique::Layout)),
        ("ALLOCATES", lacks(Technique::Planning)),
        ("EXPLORES_ALONE", lacks(Technique::Exploring)),
        ("ALL_STALL", lacks(Technique::Stalling)),
        ("SAME_GUIDE", lacks(Technique::Guides)),
    ]
    .into_iter()
    .filter_map(|(name, is_defined)| is_defined.then_some(name))
    .collect()
}

//! The techniques that make ants fast on a GPU. Each can be disabled, to measure its effect (paper 4, Section
//! V and Tables 4.a and 4.b).
//!
//! Paper 4 also stops a group of ants when its first ant has a whole schedule. Here that is unnecessary: a
//! step is an instruction, not a cycle, so all ants of a group end at the same step.

/// A technique of the GPU engine. Enabled by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Technique {
    /// Run all regions at a time. Disabled: one region after the other, as in paper 4.
    Batches,
    /// Use 32 threads for an ant. Disabled: one, as in paper 4, whose threads are lanes of one group.
    Warps,
    /// Place data that the threads of a warp read together side by side. Disabled: ants with 32 threads have
    /// interleaved memory, and ants with one thread have contiguous memory.
    Layout,
    /// Plan memory before the run. Disabled: every ant allocates its memory on the device.
    Planning,
    /// Size the ready lists for the most independent instructions. Disabled: for all instructions.
    Lists,
    /// Transfer each array of a batch in one piece. Disabled: in one piece for each array of each region.
    Transfers,
    /// Decide for a group whether it explores. Disabled: decide for each ant.
    Exploring,
    /// Let one group of four stall without need. Disabled: all groups may.
    Stalling,
    /// Give groups different guides. Disabled: all groups have the same guide.
    Guides,
}

impl Technique {
    /// All techniques.
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

    /// Return whether disabling this technique changes the schedules.
    pub fn is_of_definition(self) -> bool {
        matches!(self, Technique::Exploring | Technique::Stalling | Technique::Guides)
    }
}

/// Return the macros that disable these techniques in the device code.
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

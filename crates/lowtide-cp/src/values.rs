//! The input of both models: the values of a class.

use lowtide::region::Region;
use lowtide::{ClassId, InstrId, ValueId};

/// A value of the class that some instruction needs.
pub(crate) struct Needed<'a> {
    pub(crate) weight: i64,
    /// `None` for a live-in.
    pub(crate) def: Option<InstrId>,
    pub(crate) uses: &'a [InstrId],
    pub(crate) live_out: bool,
}

/// Return the values that add to the pressure between instructions. Dead values never do.
pub(crate) fn needed_values(region: &Region, class: ClassId) -> Vec<Needed<'_>> {
    let values = region.values().iter().enumerate().map(|(position, value)| (ValueId::at(position), value));
    values
        .filter(|(id, value)| value.class == class && value.weight > 0 && !region.is_dead(*id))
        .map(|(id, value)| Needed {
            weight: value.weight.into(),
            def: value.def,
            uses: region.value_uses(id),
            live_out: value.live_out,
        })
        .collect()
}

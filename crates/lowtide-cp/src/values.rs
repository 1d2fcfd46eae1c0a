//! What both models know of a region.

use lowtide::region::Region;
use lowtide::{ClassId, InstrId, ValueId};

/// A value of the class in question that something needs.
pub(crate) struct Needed<'a> {
    pub(crate) weight: i64,
    /// None if it is live at the start.
    pub(crate) def: Option<InstrId>,
    pub(crate) uses: &'a [InstrId],
    pub(crate) live_out: bool,
}

/// The values that add to the pressure between instructions somewhere. Dead ones do nowhere.
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

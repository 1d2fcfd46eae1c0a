//! Limits on registers that can matter.

use crate::region::Region;

/// The limits of a region's bare graph: without the weight that only passes through the region, and none where no order can exceed the limit.
/// None if the weight that passes through exceeds a limit on its own.
pub(crate) fn limits_that_matter(region: &Region, limits: &[Option<u32>]) -> Option<Vec<Option<u32>>> {
    let mut most = vec![0u64; limits.len()];
    region.values().iter().for_each(|value| most[value.class.index()] += u64::from(value.weight));
    let rest = |(class, limit): (_, &Option<u32>)| match limit {
        None => Some(None),
        Some(limit) => limit.checked_sub(region.through(class)).map(Some),
    };
    let rests: Option<Vec<Option<u32>>> = region.class_ids().zip(limits).map(rest).collect();
    let exceedable = |(rest, most): (Option<u32>, u64)| rest.filter(|&rest| u64::from(rest) < most);
    Some(rests?.into_iter().zip(most).map(exceedable).collect())
}

//! Limits on registers: which of them can bind, and which orders stay within them.
//!
//! A limit on a class binds only if some order exceeds it. The pressure never exceeds the sum of all values
//! of the class and of the weight that passes through the region. So a limit at or above that sum never
//! binds. The weight that passes through is the same in all orders: a limit below it cannot be met.

use super::pressure::peaks_along;
use crate::index::InstrId;
use crate::region::Region;

/// Return the peak of each class (between instructions) along an order.
pub(crate) fn peaks(region: &Region, order: &[InstrId]) -> Vec<u32> {
    peaks_along(region, order).iter().map(|peak| peak.between).collect()
}

/// Return whether no peak exceeds its limit.
pub(crate) fn fits(peaks: &[u32], limits: &[Option<u32>]) -> bool {
    peaks.iter().zip(limits).all(|(peak, limit)| limit.is_none_or(|limit| *peak <= limit))
}

/// Return whether an order stays within limits.
pub(crate) fn is_within(region: &Region, order: &[InstrId], limits: &[Option<u32>]) -> bool {
    fits(&peaks(region, order), limits)
}

/// Return, for each class, the limit on the region's own values: the limit less the weight that passes
/// through. The limit is `None` where no order can exceed it. Return `None` if the weight that passes through
/// alone exceeds a limit. Classes beyond the end of `limits` have no limit.
pub(crate) fn limits_without_through(region: &Region, limits: &[Option<u32>]) -> Option<Vec<Option<u32>>> {
    let mut most = vec![0u64; region.classes().len()];
    region.values().iter().for_each(|value| most[value.class.index()] += u64::from(value.weight));
    let left = region.class_ids().map(|class| match limits.get(class.index()).copied().flatten() {
        None => Some(None),
        Some(limit) => {
            let left = limit.checked_sub(region.through(class))?;
            Some(Some(left).filter(|&left| u64::from(left) < most[class.index()]))
        }
    });
    left.collect()
}

/// Return the limits without those that no order can exceed. Unlike [`limits_without_through`], they include
/// the weight that passes through.
pub(crate) fn binding_limits(region: &Region, limits: &[Option<u32>]) -> Option<Vec<Option<u32>>> {
    let left = limits_without_through(region, limits)?;
    let with_through = region.class_ids().zip(left);
    Some(with_through.map(|(class, left)| left.map(|left| left + region.through(class))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::ClassId;
    use crate::region::{InstrSpec, RegionBuilder};

    /// Two values of 3 registers each in the first class, one of 1 in the second, and 5 registers that pass
    /// through the first.
    fn region() -> Region {
        let mut builder = RegionBuilder::new("limits");
        let classes = [builder.class("vgpr"), builder.class("sgpr"), builder.class("agpr")];
        let instr = builder.instr(InstrSpec::new("op", 1));
        for (class, weight) in [(classes[0], 3), (classes[0], 3), (classes[1], 1)] {
            let register = builder.register("", class, 1, weight);
            builder.defs(instr, register, 1);
            builder.live_out(register, 1);
        }
        builder.through(classes[0], 5);
        builder.build().expect("a valid region")
    }

    #[test]
    fn limits_that_no_order_exceeds_are_none() {
        let region = region();
        assert_eq!(region.through(ClassId(0)), 5);
        let both = |limits: &[Option<u32>]| {
            (limits_without_through(&region, limits), binding_limits(&region, limits))
        };
        let none = Some(vec![None; 3]);
        assert_eq!(both(&[]), (none.clone(), none.clone()));
        assert_eq!(both(&[Some(11), Some(1), Some(0)]), (none.clone(), none));
        let binding = both(&[Some(10), Some(0), None]);
        assert_eq!(binding, (Some(vec![Some(5), Some(0), None]), Some(vec![Some(10), Some(0), None])));
        assert_eq!(both(&[Some(5)]), (Some(vec![Some(0), None, None]), Some(vec![Some(5), None, None])));
        assert_eq!(both(&[Some(4)]), (None, None), "what passes through is too much");
    }
}

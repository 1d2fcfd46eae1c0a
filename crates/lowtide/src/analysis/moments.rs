//! The state of every instruction at a moment that occurs in every order.

use super::closure::Closure;
use super::flow::Side;
use crate::bits::BitSet;
use crate::index::InstrId;
use crate::proof::Moment;

impl Moment {
    /// Set, for each instruction, whether it is certainly, possibly or certainly not scheduled at the moment.
    pub fn sides(self, closure: &Closure, sides: &mut [Side]) {
        let (instr, own) = match self {
            Moment::Start => return sides.fill(Side::Out),
            Moment::End => return sides.fill(Side::In),
            Moment::Before(instr) => (instr, Side::Out),
            Moment::After(instr) => (instr, Side::In),
            Moment::BeforeBoth(..) | Moment::AfterBoth(..) => {
                let (mut done, mut ahead) = (BitSet::new(sides.len()), BitSet::new(sides.len()));
                self.around_pair(closure, &mut done, &mut ahead);
                for (position, side) in sides.iter_mut().enumerate() {
                    let instr = InstrId::at(position);
                    *side = match (done.contains(instr), ahead.contains(instr)) {
                        (true, _) => Side::In,
                        (_, true) => Side::Out,
                        _ => Side::Free,
                    };
                }
                return;
            }
        };
        sides.fill(Side::Free);
        for ancestor in closure.ancestors(instr).instrs() {
            sides[ancestor.index()] = Side::In;
        }
        for descendant in closure.descendants(instr).instrs() {
            sides[descendant.index()] = Side::Out;
        }
        sides[instr.index()] = own;
    }

    /// Set the instructions that are done and those that are ahead at the moment of a pair.
    pub(super) fn around_pair(self, closure: &Closure, done: &mut BitSet, ahead: &mut BitSet) {
        match self {
            Moment::BeforeBoth(one, other) => {
                done.copy_common(closure.ancestors(one), closure.ancestors(other));
                // A descendant of the last common ancestors is a descendant of all of them.
                ahead.fill();
                let mut rest = done.clone();
                let mut end = one;
                while let Some(last) = rest.bits().last_up_to(end) {
                    end = InstrId::at(last);
                    rest.remove(end);
                    rest.subtract(closure.ancestors(end));
                    ahead.intersect(closure.descendants(end));
                }
            }
            Moment::AfterBoth(one, other) => {
                ahead.copy_common(closure.descendants(one), closure.descendants(other));
                done.fill();
                let mut rest = ahead.clone();
                let mut start = one;
                while let Some(first) = rest.bits().next_from(start) {
                    start = InstrId::at(first);
                    rest.remove(start);
                    rest.subtract(closure.descendants(start));
                    done.intersect(closure.ancestors(start));
                }
            }
            _ => {}
        }
    }
}

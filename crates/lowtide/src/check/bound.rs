//! The independent check of a bound: can the pressure at a moment be less than claimed?
//!
//! Like the rest of the [checker](super::check), this module shares nothing with the code that it checks. It
//! reads the registers lane by lane, the live-out list and the dependences as the front end supplied them. It
//! does not use values, closures, or the cuts that found the bound.
//!
//! # The claim
//!
//! Every order passes the *moment* before an instruction v, and the one after it. The instructions issued by
//! then form a downset: with each instruction, the set holds all that it depends on.
//! - Just before v, the downset holds all ancestors of v, and neither v nor a descendant. Just after v, it
//!   also holds v.
//! - At the start the downset is empty; at the end it holds everything.
//! - Before *both* of two instructions, it holds all common ancestors, and nothing that depends on all of
//!   these. This moment exists: it is right after the last of the common ancestors. After both is the mirror
//!   image.
//!
//! The claim "at this moment, at least K" is true if no downset that is possible then has a pressure below K.
//! Every order then has a peak of at least K.
//!
//! # The pressure after a downset
//!
//! In source order, each lane of a register has one *life* after the other. A life begins with a write (or at
//! the start) and covers its reads. It ends at the next write (or at the end). At the end, the lane may be
//! live-out. Suppose the dependences keep every read of a life after its write, and all of a life before the
//! next write. Then in every legal order the reads see the same writes. The checker verifies this condition.
//!
//! Under this condition, a lane is live after a downset T exactly if one of its lives has begun and is still
//! needed. A life has begun if its write is in T, or if it is live from the start. A life is needed if some
//! read is not in T, or if it is live-out.
//!
//! # The proof
//!
//! In the following network, every downset T is a cut with T on the source's side. Its capacity is the
//! pressure after T.
//!
//! ```text
//! instruction -> what it depends on            unlimited: T is a downset
//! source -> what the moment has issued         unlimited
//! what the moment has not issued yet -> sink   unlimited
//! write of a life -> the life                  its weight (from the source if it is live from the start)
//! the life -> each of its reads                unlimited; a live-out life leads to the sink
//! ```
//!
//! A life whose write is in T costs its weight, unless the life can be on the source's side, too. That is so
//! if all its reads are in T. Any flow from source to sink passes every cut. So a flow of K *is* the
//! certificate, regardless of how it was found. At the end the checker verifies that the flow respects all
//! capacities and is conserved at every node. If there is no such flow, the nodes that the source still
//! reaches are a possible downset with less pressure: the counterexample.
//!
//! The flow follows shortest paths, one after the other, and ends at K.

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use crate::index::{ClassId, InstrId};
use crate::proof::Moment;
use crate::region::{Operand, Region};

/// Why a claim about a moment is rejected.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CutFault {
    /// The claim names an instruction that the region does not have.
    #[error("the moment is at instruction #{instr}, but the region has only {count}")]
    UnknownInstr {
        /// The number that was given.
        instr: u32,
        /// The number of instructions of the region.
        count: usize,
    },
    /// Two accesses of the same lanes have no fixed order, so liveness depends on more than the downset.
    #[error(
        "{first} must come before {second}, since both access lanes of one register, but no dependence says so"
    )]
    Hazard {
        /// The first one in source order.
        first: String,
        /// The second one.
        second: String,
    },
    /// The pressure can be lower.
    #[error("at least {claimed} {moment} is claimed, but it can be {found}")]
    NotSo {
        /// The moment, in words.
        moment: String,
        /// The claimed bound.
        claimed: u32,
        /// The least pressure that is possible then.
        found: u32,
        /// The instructions issued in that case, in source order.
        downset: Vec<InstrId>,
    },
}

/// Check that the pressure of a class is at least `claimed` at this moment in every order.
pub fn check_cut(region: &Region, class: ClassId, moment: Moment, claimed: u32) -> Result<(), CutFault> {
    let (found, downset) = least_pressure(region, class, moment, claimed)?;
    if found >= claimed {
        return Ok(());
    }
    Err(CutFault::NotSo { moment: moment_in_words(region, moment), claimed, found, downset })
}

/// Return the least pressure of a class at a moment, and a downset that has it. If the least pressure is at
/// least `enough`, return a lower bound that is at least `enough`, and no downset.
pub fn least_pressure(
    region: &Region,
    class: ClassId,
    moment: Moment,
    enough: u32,
) -> Result<(u32, Vec<InstrId>), CutFault> {
    let deps = Deps::new(region);
    let state = deps.at(moment)?;
    let lives = lives(region, class, &deps)?;
    let always = u64::from(region.through(class));
    let mut network = Network::new(region.len() + lives.len());
    for dep in region.deps() {
        network.arc(dep.to.index(), dep.from.index(), UNLIMITED);
    }
    for (instr, state) in state.into_iter().enumerate() {
        match state {
            State::Issued => network.arc(network.source, instr, UNLIMITED),
            State::Waiting => network.arc(instr, network.sink, UNLIMITED),
            State::Either => {}
        }
    }
    for (number, (life, weight)) in lives.iter().enumerate() {
        let node = region.len() + number;
        network.arc(life.write.unwrap_or(network.source), node, *weight);
        for &read in &life.reads {
            network.arc(node, read, UNLIMITED);
        }
        if life.live_out {
            network.arc(node, network.sink, UNLIMITED);
        }
    }
    let reached = network.flow(u64::from(enough).saturating_sub(always));
    let least = always + network.proven();
    // The limits of a region keep all pressures within 32 bits.
    let least = u32::try_from(least).unwrap_or(u32::MAX);
    let downset = reached.map(|nodes| region.instrs().filter(|instr| nodes[instr.index()]).collect());
    Ok((least, downset.unwrap_or_default()))
}

/// Return a moment in words, such as `before #7 V_ADD_F32`.
pub fn moment_in_words(region: &Region, moment: Moment) -> String {
    match moment {
        Moment::Start => "at the start".to_string(),
        Moment::End => "at the end".to_string(),
        Moment::Before(instr) => format!("before {}", region.describe(instr)),
        Moment::After(instr) => format!("after {}", region.describe(instr)),
        Moment::BeforeBoth(one, other) => {
            format!("before both {} and {}", region.describe(one), region.describe(other))
        }
        Moment::AfterBoth(one, other) => {
            format!("after both {} and {}", region.describe(one), region.describe(other))
        }
    }
}

/// The state of an instruction at a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Issued,
    Waiting,
    Either,
}

/// The dependences, in both directions.
struct Deps<'a> {
    region: &'a Region,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl<'a> Deps<'a> {
    fn new(region: &'a Region) -> Self {
        let mut before = vec![Vec::new(); region.len()];
        let mut after = before.clone();
        for dep in region.deps() {
            before[dep.to.index()].push(dep.from.index());
            after[dep.from.index()].push(dep.to.index());
        }
        Deps { region, before, after }
    }

    /// Return all nodes that can be reached from an instruction, itself included.
    fn reach(start: usize, next: &[Vec<usize>]) -> Vec<bool> {
        let mut reached = vec![false; next.len()];
        reached[start] = true;
        let mut open = vec![start];
        while let Some(instr) = open.pop() {
            for &other in &next[instr] {
                if !reached[other] {
                    reached[other] = true;
                    open.push(other);
                }
            }
        }
        reached
    }

    fn at(&self, moment: Moment) -> Result<Vec<State>, CutFault> {
        let count = self.region.len();
        let (instrs, own) = match moment {
            Moment::Start => return Ok(vec![State::Waiting; count]),
            Moment::End => return Ok(vec![State::Issued; count]),
            Moment::Before(instr) => ([instr; 2], State::Waiting),
            Moment::After(instr) => ([instr; 2], State::Issued),
            Moment::BeforeBoth(one, other) | Moment::AfterBoth(one, other) => ([one, other], State::Either),
        };
        if let Some(instr) = instrs.into_iter().find(|instr| instr.index() >= count) {
            return Err(CutFault::UnknownInstr { instr: instr.0, count });
        }
        let [one, other] = instrs.map(InstrId::index);
        let (ancestors, descendants) = match moment {
            Moment::BeforeBoth(..) => {
                let ancestors = Deps::common(&[one, other], &self.before);
                let descendants = Deps::common(&Deps::members(&ancestors), &self.after);
                (ancestors, descendants)
            }
            Moment::AfterBoth(..) => {
                let descendants = Deps::common(&[one, other], &self.after);
                let ancestors = Deps::common(&Deps::members(&descendants), &self.before);
                (ancestors, descendants)
            }
            _ => (Deps::reach(one, &self.before), Deps::reach(one, &self.after)),
        };
        let state = |other: usize| match (ancestors[other], descendants[other]) {
            (true, true) => own,
            (true, false) => State::Issued,
            (false, true) => State::Waiting,
            (false, false) => State::Either,
        };
        Ok((0..count).map(state).collect())
    }

    /// Return the nodes that can be reached from all of some instructions, without these. For no
    /// instructions, return everything.
    fn common(starts: &[usize], next: &[Vec<usize>]) -> Vec<bool> {
        let mut common = vec![true; next.len()];
        for &start in starts {
            let reached = Deps::reach(start, next);
            common.iter_mut().zip(reached).for_each(|(common, reached)| *common &= reached);
            common[start] = false;
        }
        common
    }

    fn members(set: &[bool]) -> Vec<usize> {
        (0..set.len()).filter(|&instr| set[instr]).collect()
    }

    /// Check that the first of each pair comes before the second in every order.
    fn check_order(&self, mut pairs: Vec<(usize, usize)>) -> Result<(), CutFault> {
        // Most pairs have a direct dependence. For the others, the ancestors of each second instruction are
        // found once.
        pairs.retain(|(first, second)| !self.before[*second].contains(first));
        pairs.sort_unstable_by_key(|(_, second)| *second);
        for together in pairs.chunk_by(|one, other| one.1 == other.1) {
            let ancestors = Deps::reach(together[0].1, &self.before);
            if let Some(&(first, second)) = together.iter().find(|(first, _)| !ancestors[*first]) {
                let [first, second] = [first, second].map(|instr| self.region.describe(InstrId::at(instr)));
                return Err(CutFault::Hazard { first, second });
            }
        }
        Ok(())
    }
}

/// The life of a lane between two writes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Life {
    /// `None` for a life from the start.
    write: Option<usize>,
    reads: Vec<usize>,
    live_out: bool,
}

/// Return all lives of a class that are ever needed. Lives that are alike are merged, with the sum of their
/// weights.
fn lives(region: &Region, class: ClassId, deps: &Deps) -> Result<Vec<(Life, u64)>, CutFault> {
    let mut found: BTreeMap<Life, u64> = BTreeMap::new();
    // The current life of each lane. A read of an unwritten lane reads its value from the start.
    let registers = region.registers().iter();
    let mut now: Vec<Vec<Life>> =
        registers.map(|register| vec![Life::default(); register.lanes as usize]).collect();
    let mut in_order = Vec::new();
    let of_class = |operand: &Operand| region.registers()[operand.register.index()].class == class;
    let weight_of = |operand: &Operand| u64::from(region.registers()[operand.register.index()].lane_weight);
    let mut note = |life: Life, weight: u64| {
        if life.live_out || !life.reads.is_empty() {
            *found.entry(life).or_default() += weight;
        }
    };
    for instr in region.instrs() {
        for read in region.uses(instr).iter().filter(|operand| of_class(operand)) {
            for lane in lanes(read) {
                let life = &mut now[read.register.index()][lane];
                in_order.extend(life.write.map(|write| (write, instr.index())));
                life.reads.push(instr.index());
            }
        }
        for write in region.defs(instr).iter().map(|def| &def.operand).filter(|operand| of_class(operand)) {
            for lane in lanes(write) {
                let begun = Life { write: Some(instr.index()), ..Life::default() };
                let ended = std::mem::replace(&mut now[write.register.index()][lane], begun);
                // The instruction reads its operands before it writes.
                let earlier = ended.write.iter().chain(&ended.reads).filter(|other| **other != instr.index());
                in_order.extend(earlier.map(|other| (*other, instr.index())));
                note(ended, weight_of(write));
            }
        }
    }
    for operand in region.live_out().iter().filter(|operand| of_class(operand)) {
        for lane in lanes(operand) {
            now[operand.register.index()][lane].live_out = true;
        }
    }
    for (register, lives) in region.registers().iter().zip(now) {
        for life in lives {
            note(life, register.lane_weight.into());
        }
    }
    in_order.sort_unstable();
    in_order.dedup();
    deps.check_order(in_order)?;
    Ok(found.into_iter().collect())
}

/// Return the lanes of an operand, one by one.
fn lanes(operand: &Operand) -> impl Iterator<Item = usize> + use<> {
    let mask = operand.lanes;
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// More than any sum of weights, and small enough to be added up.
const UNLIMITED: u64 = 1 << 40;

/// A network and a flow through it.
struct Network {
    source: usize,
    sink: usize,
    /// Arcs come in pairs, an even one and the odd one back: `to` of the one is `from` of the other.
    to: Vec<usize>,
    /// The room that an arc has left. For the odd arcs, it is the flow through the even one.
    room: Vec<u64>,
    /// Capacity of each pair.
    capacity: Vec<u64>,
    /// The arcs that leave each node.
    leaving: Vec<Vec<usize>>,
}

impl Network {
    /// Make a network with `nodes` nodes, a source and a sink.
    fn new(nodes: usize) -> Self {
        Network {
            source: nodes,
            sink: nodes + 1,
            to: Vec::new(),
            room: Vec::new(),
            capacity: Vec::new(),
            leaving: vec![Vec::new(); nodes + 2],
        }
    }

    fn arc(&mut self, from: usize, to: usize, capacity: u64) {
        self.leaving[from].push(self.to.len());
        self.leaving[to].push(self.to.len() + 1);
        self.to.extend([to, from]);
        self.room.extend([capacity, 0]);
        self.capacity.push(capacity);
    }

    /// Send flow along shortest paths. Return `None` when the flow reaches `enough`. Otherwise return the
    /// nodes that the source still reaches; the sink is not among them.
    fn flow(&mut self, enough: u64) -> Option<Vec<bool>> {
        let mut sent = 0;
        while sent < enough {
            // The arc by which each node is reached first.
            let mut arrival: Vec<Option<usize>> = vec![None; self.leaving.len()];
            let mut open = VecDeque::from([self.source]);
            'search: while let Some(node) = open.pop_front() {
                for &arc in &self.leaving[node] {
                    let next = self.to[arc];
                    if self.room[arc] > 0 && arrival[next].is_none() && next != self.source {
                        arrival[next] = Some(arc);
                        if next == self.sink {
                            break 'search;
                        }
                        open.push_back(next);
                    }
                }
            }
            if arrival[self.sink].is_none() {
                return Some(arrival.into_iter().map(|arc| arc.is_some()).collect());
            }
            let mut path = Vec::new();
            let mut node = self.sink;
            while let Some(arc) = arrival[node] {
                path.push(arc);
                node = self.to[arc ^ 1];
            }
            let amount = path.iter().map(|arc| self.room[*arc]).min().unwrap_or(0);
            for arc in path {
                self.room[arc] -= amount;
                self.room[arc ^ 1] += amount;
            }
            sent += amount;
        }
        None
    }

    /// Return the size of the flow, after checking that it is one. Only the arcs and their flow count here.
    fn proven(&self) -> u64 {
        let mut arriving = vec![0u64; self.leaving.len()];
        let mut departing = arriving.clone();
        for (pair, &capacity) in self.capacity.iter().enumerate() {
            let flow = self.room[2 * pair + 1];
            if flow > capacity {
                return 0;
            }
            departing[self.to[2 * pair + 1]] += flow;
            arriving[self.to[2 * pair]] += flow;
        }
        let inner = 0..self.source;
        match inner.into_iter().all(|node| arriving[node] == departing[node]) {
            true => departing[self.source].saturating_sub(arriving[self.source]),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check_order;
    use crate::region::{DefFlags, DepKind, InstrSpec, RegionBuilder};

    /// Two loads, an addition, a store; and a load and store of their own.
    fn region() -> Region {
        let mut builder = RegionBuilder::new("r");
        let class = builder.class("vgpr");
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| builder.register(name, class, 1, 1));
        for (name, reads, writes) in [
            ("load", &[][..], &[a][..]),
            ("load", &[], &[b]),
            ("add", &[a, b], &[c]),
            ("store", &[c], &[]),
            ("load", &[], &[d]),
            ("store", &[d], &[]),
        ] {
            let instr = builder.instr(InstrSpec::new(name, 1));
            reads.iter().for_each(|&register| builder.uses(instr, register, 1));
            writes.iter().for_each(|&register| builder.defs_with(instr, register, 1, DefFlags::default()));
        }
        builder.through(class, 5);
        builder.depend_on_registers();
        builder.build().unwrap()
    }

    const VGPR: ClassId = ClassId(0);

    #[test]
    fn what_is_true_is_accepted_and_what_is_not_is_refuted_by_an_example() {
        let region = region();
        for (moment, least) in [
            (Moment::Start, 5),
            (Moment::End, 5),
            (Moment::Before(InstrId(0)), 5),
            (Moment::After(InstrId(0)), 6),
            (Moment::Before(InstrId(2)), 7),
            (Moment::After(InstrId(2)), 6),
            (Moment::Before(InstrId(5)), 6),
        ] {
            assert_eq!(check_cut(&region, VGPR, moment, least), Ok(()));
            assert_eq!(check_cut(&region, VGPR, moment, 0), Ok(()));
            match check_cut(&region, VGPR, moment, least + 1) {
                Err(CutFault::NotSo { claimed, found, downset, .. }) => {
                    assert_eq!((claimed, found), (least + 1, least));
                    // An order that starts with the downset has the same pressure right after it.
                    let rest = region.instrs().filter(|instr| !downset.contains(instr));
                    let order: Vec<InstrId> = downset.iter().copied().chain(rest).collect();
                    assert!(check_order(&region, &order).is_ok());
                }
                other => panic!("{other:?}"),
            }
        }
        let fault = check_cut(&region, VGPR, Moment::Before(InstrId(2)), 9).unwrap_err();
        assert_eq!(fault.to_string(), "at least 9 before #2 add is claimed, but it can be 7");
    }

    #[test]
    fn a_moment_at_no_instruction_is_refused() {
        let fault = check_cut(&region(), VGPR, Moment::After(InstrId(6)), 0).unwrap_err();
        assert_eq!(fault.to_string(), "the moment is at instruction #6, but the region has only 6");
    }

    #[test]
    fn the_order_of_accesses_is_not_taken_for_granted() {
        let region = region();
        let mut deps = Deps::new(&region);
        assert!(lives(&region, VGPR, &deps).is_ok());
        // The builder refuses such a region, so the test removes a dependence afterwards.
        deps.before[2].retain(|&from| from != 1);
        let fault = lives(&region, VGPR, &deps).err().unwrap();
        assert_eq!(
            fault.to_string(),
            "#1 load must come before #2 add, since both access lanes of one register, but no dependence says so"
        );
        // An indirect dependence suffices.
        deps.before[2].push(4);
        deps.before[4].push(1);
        assert!(lives(&region, VGPR, &deps).is_ok());
    }

    #[test]
    fn what_is_no_flow_proves_nothing() {
        let mut network = Network::new(2);
        network.arc(2, 0, 3);
        network.arc(0, 1, 2);
        network.arc(1, 3, 5);
        assert_eq!(network.flow(9), Some(vec![true, false, false, false]));
        assert_eq!(network.proven(), 2);
        network.room[1] += 1;
        assert_eq!(network.proven(), 0, "a unit is lost in the first node");
        network.room[3] += 1;
        network.room[5] += 1;
        assert_eq!(network.proven(), 0, "three units do not fit where there is room for two");
    }

    #[test]
    fn a_lane_lives_more_than_once() {
        // r0 = ..; use r0; r0 = ..; use r0: one at most, at any moment.
        let mut builder = RegionBuilder::new("again");
        let class = builder.class("vgpr");
        let register = builder.register("r0", class, 2, 3);
        for write in [true, false, true, false] {
            let instr = builder.instr(InstrSpec::new("op", 1));
            match write {
                true => builder.defs(instr, register, 3),
                false => builder.uses(instr, register, 3),
            }
        }
        builder.live_out(register, 1);
        builder.depend_on_registers();
        builder.depend(InstrId(0), InstrId(3), DepKind::Memory, 1);
        let region = builder.build().unwrap();
        let least = |moment| least_pressure(&region, class, moment, u32::MAX).unwrap().0;
        assert_eq!(least(Moment::Start), 0);
        assert_eq!(least(Moment::Before(InstrId(1))), 6);
        assert_eq!(least(Moment::After(InstrId(1))), 0);
        assert_eq!(least(Moment::After(InstrId(2))), 6);
        assert_eq!(least(Moment::End), 3);
    }
}

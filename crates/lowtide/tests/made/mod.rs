//! Small regions made to fit the rules of the exact search, and brute force, for tests here and in the
//! library.

// Not every test needs everything.
#![allow(dead_code)]

use lowtide::generate::{self, Random, Shape};
use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder};
use lowtide::target::Target;
use lowtide::{ClassId, InstrId, RegisterId, ValueId};

/// The first, or the second where CI limits the time.
pub(crate) fn or_in_ci<T>(all: T, some: T) -> T {
    if std::env::var_os("CI").is_some() { some } else { all }
}

pub(crate) fn fits(peaks: &[u32], limits: &[Option<u32>]) -> bool {
    peaks.iter().zip(limits).all(|(peak, limit)| limit.is_none_or(|limit| *peak <= limit))
}

/// One issue or two in a cycle, without units and with.
pub(crate) fn targets() -> [Target; 4] {
    let units = "units = [{ name = \"a\" }, { name = \"b\", count = 2 }]";
    [(1, ""), (2, ""), (1, units), (2, units)].map(|(width, units)| {
        let text = format!(
            "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = {width}\n{units}\n[[file]]\nname = \"any\"\n\
             size = 1000\ngranule = 1\nwaves = 1\nclasses = [{{ name = \"*\", max = 1000 }}]\n"
        );
        Target::parse(&text).expect("a valid target")
    })
}

/// All downsets of a small region with their pressures; written apart from everything that is tested with it.
pub(crate) struct Small {
    count: usize,
    /// What each instruction waits for.
    waits_for: Vec<usize>,
    /// For each set of instructions the pressure of each class, or nothing if it is no downset.
    pub(crate) pressures: Vec<Option<Vec<u32>>>,
}

impl Small {
    /// The downsets of a region with more dependences.
    pub(crate) fn new(region: &Region, more: &[(InstrId, InstrId)]) -> Self {
        let count = region.len();
        assert!(count <= 16);
        let mut waits_for = vec![0usize; count];
        let deps = region.deps().iter().map(|dep| (dep.from, dep.to));
        deps.chain(more.iter().copied()).for_each(|(from, to)| waits_for[to.index()] |= 1 << from.0);
        let values: Vec<(usize, usize, bool, usize, u32)> = (0..)
            .zip(region.values())
            .map(|(position, value)| {
                let users = region.value_uses(ValueId::at(position)).iter();
                let users = users.fold(0usize, |users, user| users | 1 << user.0);
                let def = value.def.map_or(0, |def| 1 << def.0);
                (def, users, value.live_out, value.class.index(), value.weight)
            })
            .collect();
        let mut pressures = vec![None; 1 << count];
        for (set, pressure) in pressures.iter_mut().enumerate() {
            let is_downset = (0..count).all(|i| set >> i & 1 == 0 || waits_for[i] & !set == 0);
            if is_downset {
                let mut now: Vec<u32> = region.class_ids().map(|class| region.through(class)).collect();
                for &(def, users, live_out, class, weight) in &values {
                    if def & !set == 0 && (live_out || users & !set != 0) {
                        now[class] += weight;
                    }
                }
                *pressure = Some(now);
            }
        }
        Small { count, waits_for, pressures }
    }

    /// The peaks of all orders, without those that another order has no higher ones than.
    pub(crate) fn all_peaks(&self) -> Vec<Vec<u32>> {
        let mut known: Vec<Vec<Vec<u32>>> = vec![Vec::new(); self.pressures.len()];
        known[0] = vec![self.pressures[0].clone().expect("nothing is a downset")];
        // A set comes after all of its subsets.
        for set in 0..self.pressures.len() {
            let peaks = std::mem::take(&mut known[set]);
            if peaks.is_empty() {
                continue; // no downset
            }
            for after in self.next(set).collect::<Vec<_>>() {
                let pressure = self.pressures[after].as_ref().expect("what can follow is a downset");
                for peak in &peaks {
                    let peak: Vec<u32> = peak.iter().zip(pressure).map(|(a, b)| *a.max(b)).collect();
                    let is_above = |one: &[u32], other: &[u32]| one.iter().zip(other).all(|(a, b)| a >= b);
                    if !known[after].iter().any(|other| is_above(&peak, other)) {
                        known[after].retain(|other| !is_above(other, &peak));
                        known[after].push(peak);
                    }
                }
            }
            known[set] = peaks;
        }
        known.pop().expect("at least the empty set")
    }

    /// The sets that can follow a set, one instruction later.
    fn next(&self, set: usize) -> impl Iterator<Item = usize> + '_ {
        let is_ready = move |&i: &usize| set >> i & 1 == 0 && self.waits_for[i] & !set == 0;
        (0..self.count).filter(is_ready).map(move |i| set | 1 << i)
    }

    /// The lowest peak of a class over all orders within limits; none if there is no such order.
    pub(crate) fn lowest(&self, class: usize, limits: &[Option<u32>]) -> Option<u32> {
        let at = |set: usize| {
            let pressure = self.pressures[set].as_ref()?;
            fits(pressure, limits).then_some(pressure[class])
        };
        let mut lowest = vec![None; 1 << self.count];
        lowest[0] = at(0);
        for set in 0..1 << self.count {
            let Some(so_far) = lowest[set] else { continue };
            for next in self.next(set) {
                if let Some(pressure) = at(next) {
                    let peak = pressure.max(so_far);
                    lowest[next] = Some(lowest[next].map_or(peak, |other: u32| other.min(peak)));
                }
            }
        }
        lowest[(1 << self.count) - 1]
    }

    /// All downsets that some order within limits passes.
    pub(crate) fn on_the_way(&self, limits: &[Option<u32>]) -> Vec<usize> {
        let is_fine =
            |set: usize| self.pressures[set].as_ref().is_some_and(|pressure| fits(pressure, limits));
        let all = (1 << self.count) - 1;
        let mut reached = vec![false; 1 << self.count];
        reached[0] = is_fine(0);
        for set in 0..all {
            if reached[set] {
                self.next(set).for_each(|next| reached[next] |= is_fine(next));
            }
        }
        let mut reaches = vec![false; 1 << self.count];
        reaches[all] = reached[all];
        for set in (0..all).rev().filter(|&set| reached[set]) {
            reaches[set] = self.next(set).any(|next| reaches[next]);
        }
        (0..=all).filter(|&set| reaches[set]).collect()
    }

    /// A random order within limits; none if there is none.
    pub(crate) fn order_within(&self, limits: &[Option<u32>], random: &mut Random) -> Option<Vec<InstrId>> {
        let sets = self.on_the_way(limits);
        let mut set = *sets.first()?;
        let mut order = Vec::with_capacity(self.count);
        while order.len() < self.count {
            let next: Vec<usize> = self.next(set).filter(|next| sets.contains(next)).collect();
            let after = random.pick(&next);
            order.push(InstrId::at((after ^ set).trailing_zeros() as usize));
            set = after;
        }
        Some(order)
    }
}

/// The most instructions of random regions that are tried in all orders, the most that a machine takes, and
/// the most copies of units that it has.
pub(crate) const MOST: usize = 9;
pub(crate) const LARGEST: usize = 12;
pub(crate) const COPIES: usize = 8;

/// The issue model, written apart from that of the library: it reads the raw dependences and the numbers of
/// the target.
pub(crate) struct Machine {
    pub(crate) count: usize,
    width: u32,
    /// For each instruction, what waits for it and for how long.
    waiting: Vec<Vec<(usize, u32)>>,
    /// For each instruction, the copies of the units that it needs, as a range of places, and for how long.
    needs: Vec<Vec<(std::ops::Range<usize>, u32)>>,
}

/// All that the rest of an order depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct State {
    /// The next slot. Cycle `c` has the slots from `c * width` on.
    slot: u32,
    /// The first cycle for each instruction that has not been issued, as far as dependences tell.
    ready: [u32; LARGEST],
    /// The first cycle in which each copy of each unit is free; for each unit in rising order.
    free: [u32; COPIES],
}

impl State {
    pub(crate) const START: State = State { slot: 0, ready: [0; LARGEST], free: [0; COPIES] };

    /// Whether nothing is later than in another state with the same instructions. Then the same rest of an
    /// order issues no later, instruction by instruction. The next one finds its slot, its operands and its
    /// units no later, and after it this holds again. (For a unit, the first copy that is free is replaced in
    /// both states, and what replaces it is no later.)
    fn is_as_good(&self, other: &State) -> bool {
        let none_later = |own: &[u32], other: &[u32]| own.iter().zip(other).all(|(own, other)| own <= other);
        self.slot <= other.slot
            && none_later(&self.ready, &other.ready)
            && none_later(&self.free, &other.free)
    }
}

impl Machine {
    pub(crate) fn new(region: &Region, target: &Target) -> Self {
        let count = region.len();
        assert!(count <= LARGEST);
        let mut waiting = vec![Vec::new(); count];
        region.deps().iter().for_each(|dep| waiting[dep.from.index()].push((dep.to.index(), dep.latency)));
        let mut places = Vec::new();
        let mut end = 0;
        for unit in &target.issue().units {
            places.push((unit.name.as_str(), end..end + unit.count as usize));
            end += unit.count as usize;
        }
        assert!(end <= COPIES);
        let needs = (region.instrs())
            .map(|instr| {
                let needs = region.units(instr).iter().filter(|need| need.cycles > 0);
                let place = |name: &str| {
                    places.iter().find(|(unit, _)| *unit == name).map(|(_, place)| place.clone())
                };
                needs.filter_map(|need| Some((place(&need.unit)?, need.cycles))).collect()
            })
            .collect();
        Machine { count, width: target.issue().width, waiting, needs }
    }

    /// Issues an instruction as early as possible; gives its cycle.
    pub(crate) fn issue(&self, state: &mut State, instr: usize) -> u32 {
        let mut from = state.ready[instr];
        for (copies, _) in &self.needs[instr] {
            from = from.max(state.free[copies.start]);
        }
        let slot = state.slot.max(from * self.width);
        let cycle = slot / self.width;
        state.slot = slot + 1;
        state.ready[instr] = 0;
        for &(other, latency) in &self.waiting[instr] {
            state.ready[other] = state.ready[other].max(cycle + latency);
        }
        for (copies, busy) in &self.needs[instr] {
            state.free[copies.start] = cycle + busy;
            state.free[copies.clone()].sort_unstable();
        }
        cycle
    }

    pub(crate) fn length(&self, state: &State) -> u32 {
        state.slot.div_ceil(self.width)
    }

    /// The length of an order with necessary stalls.
    pub(crate) fn length_of(&self, order: &[InstrId]) -> u32 {
        let mut state = State::START;
        order.iter().for_each(|instr| _ = self.issue(&mut state, instr.index()));
        self.length(&state)
    }

    /// The length of the shortest schedule whose pressures are all fine; none if there is no such schedule.
    /// Tries all orders, but for what comes after a state that another one is as good as.
    pub(crate) fn shortest(&self, small: &Small, is_fine: impl Fn(&[u32]) -> bool) -> Option<u32> {
        let mut states: Vec<Vec<State>> = vec![Vec::new(); 1 << self.count];
        let fits = |set: usize| small.pressures[set].as_ref().is_some_and(|pressure| is_fine(pressure));
        if fits(0) {
            states[0].push(State::START);
        }
        // A set comes after all of its subsets.
        for set in 0..states.len() - 1 {
            let here = std::mem::take(&mut states[set]);
            if here.is_empty() {
                continue;
            }
            // (What is no downset has no pressure.)
            for instr in (0..self.count).filter(|instr| set >> instr & 1 == 0 && fits(set | 1 << instr)) {
                let after = &mut states[set | 1 << instr];
                for state in &here {
                    let mut state = *state;
                    self.issue(&mut state, instr);
                    if !after.iter().any(|other| other.is_as_good(&state)) {
                        after.retain(|other| !state.is_as_good(other));
                        after.push(state);
                    }
                }
            }
        }
        states.pop()?.iter().map(|state| self.length(state)).min()
    }
}

/// Calls `visit` with every legal order that starts with `order`.
pub(crate) fn all_orders(region: &Region, order: &mut Vec<InstrId>, visit: &mut dyn FnMut(&[InstrId])) {
    if order.len() == region.len() {
        return visit(order);
    }
    for instr in region.instrs() {
        let is_ready = region.preds(instr).iter().all(|edge| order.contains(&edge.instr));
        if is_ready && !order.contains(&instr) {
            order.push(instr);
            all_orders(region, order, visit);
            order.pop();
        }
    }
}

/// A region under construction with the classes, registers and live ends of another one, and no instructions.
pub(crate) fn registers_of(region: &Region) -> RegionBuilder {
    let mut builder = RegionBuilder::new(region.name());
    for (class, name) in region.class_ids().zip(region.classes()) {
        let same = builder.class(name);
        builder.through(same, region.through(class));
    }
    for (number, register) in region.registers().iter().enumerate() {
        let name = region.register_name(RegisterId::at(number));
        builder.register(name, register.class, register.lanes, register.lane_weight);
    }
    region.live_in().iter().for_each(|operand| builder.live_in(operand.register, operand.lanes));
    region.live_out().iter().for_each(|operand| builder.live_out(operand.register, operand.lanes));
    builder
}

/// The same region with other latencies and other needs for units. Made regions have one latency for all,
/// which hides what stalls can do. Few different latencies leave instructions that are alike; every
/// dependence with its own leaves none.
pub(crate) fn retimed(region: &Region, units: &[&[(&str, u32)]], random: &mut Random) -> Region {
    let mut latency = || match random.below(10) {
        0 => 20 + random.below(61) as u32,
        _ => random.below(13) as u32,
    };
    let few = [latency(), latency(), latency()];
    let slow = latency();
    let mut builder = registers_of(region);
    let kinds = 1 + random.below(few.len());
    let mut latencies = Vec::new();
    for instr in region.instrs() {
        latencies.push(random.pick(&few[..kinds]));
        let units = if units.is_empty() { &[] } else { random.pick(units) };
        builder.instr(InstrSpec { units, ..InstrSpec::new(region.opcode(instr), latencies[instr.index()]) });
        for def in region.defs(instr) {
            builder.defs_with(instr, def.operand.register, def.operand.lanes, def.flags);
        }
        region.uses(instr).iter().for_each(|operand| builder.uses(instr, operand.register, operand.lanes));
    }
    let own = random.pick(&[0, 0, 20, 100]);
    for dep in region.deps() {
        let latency = match dep.kind {
            _ if random.chance(own) => random.below(slow.max(4) as usize) as u32,
            DepKind::Data => latencies[dep.from.index()],
            _ => dep.latency,
        };
        builder.depend(dep.from, dep.to, dep.kind, latency);
    }
    builder.build().expect("only latencies and units differ")
}

/// A region under construction: instructions that read some registers and write new ones.
pub(crate) struct Code {
    builder: RegionBuilder,
    classes: Vec<ClassId>,
    registers: usize,
    count: usize,
}

impl Code {
    pub(crate) fn new(name: &str, classes: usize) -> Self {
        let mut builder = RegionBuilder::new(name);
        let classes = ["vgpr", "sgpr", "agpr"].into_iter().take(classes).map(|name| builder.class(name));
        let classes = classes.collect();
        Code { builder, classes, registers: 0, count: 0 }
    }

    fn register(&mut self, (class, weight): (usize, u32)) -> RegisterId {
        self.registers += 1;
        let class = self.classes[class % self.classes.len()];
        self.builder.register(&format!("r{}", self.registers), class, 1, weight)
    }

    pub(crate) fn input(&mut self, kind: (usize, u32)) -> RegisterId {
        let register = self.register(kind);
        self.builder.live_in(register, 1);
        register
    }

    pub(crate) fn instr(
        &mut self,
        reads: &[RegisterId],
        writes: &[(usize, u32)],
    ) -> (InstrId, Vec<RegisterId>) {
        self.count += 1;
        let instr = self.builder.instr(InstrSpec::new("op", 1));
        reads.iter().for_each(|&register| self.builder.uses(instr, register, 1));
        let written = writes.iter().map(|&kind| self.register(kind)).collect::<Vec<_>>();
        written.iter().for_each(|&register| self.builder.defs(instr, register, 1));
        (instr, written)
    }

    fn before(&mut self, first: InstrId, second: InstrId) {
        self.builder.depend(first, second, DepKind::Memory, 1);
    }

    pub(crate) fn live_out(&mut self, register: RegisterId) {
        self.builder.live_out(register, 1);
    }

    pub(crate) fn finish(mut self, random: &mut Random) -> Region {
        for class in self.classes.clone() {
            self.builder.through(class, random.below(4) as u32);
        }
        self.builder.depend_on_registers();
        self.builder.build().expect("generated regions are valid")
    }
}

/// A class and a weight.
fn kind(random: &mut Random, heaviest: usize) -> (usize, u32) {
    let class = if random.chance(70) { 0 } else { random.below(3) };
    (class, 1 + random.below(heaviest) as u32)
}

fn some(registers: &[RegisterId], most: usize, random: &mut Random) -> Vec<RegisterId> {
    if registers.is_empty() {
        return Vec::new();
    }
    let mut picked: Vec<RegisterId> = (0..random.below(most + 1)).map(|_| random.pick(registers)).collect();
    picked.sort_unstable();
    picked.dedup();
    picked
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// Anything goes.
    Random,
    /// Copies of a small random body, whose results are summed up, stored in order, or stay.
    Unrolled,
    /// The same, with something changed in one of the copies.
    NearlyUnrolled,
    /// Two or three copies of a random body with some more dependences, and reads, between them and to what
    /// is around them.
    Crossed,
    /// Identical chains side by side.
    Chains,
    /// All loads come before all stores.
    LoadsBeforeStores,
}

impl Made {
    pub(crate) const ALL: [Made; 6] = [
        Made::Random,
        Made::Unrolled,
        Made::NearlyUnrolled,
        Made::Crossed,
        Made::Chains,
        Made::LoadsBeforeStores,
    ];

    /// A region of at most `most` instructions (and at least 6, where there is a choice).
    pub(crate) fn region(self, most: usize, seed: u64) -> Region {
        let mut random = Random::new(seed ^ (self as u64 + 1) << 48);
        let random = &mut random;
        let mut code = Code::new(&format!("{self:?}-{most}-{seed}").to_lowercase(), 1 + random.below(3));
        match self {
            Made::Random => any(&mut code, most, random),
            Made::Unrolled => unrolled(&mut code, most, false, random),
            Made::NearlyUnrolled => unrolled(&mut code, most, true, random),
            Made::Crossed => crossed(&mut code, most, random),
            Made::Chains => chains(&mut code, most, random),
            Made::LoadsBeforeStores => loads_before_stores(&mut code, most, random),
        }
        code.finish(random)
    }
}

fn any(code: &mut Code, most: usize, random: &mut Random) {
    let count = 1 + random.below(most);
    let heaviest = random.pick(&[1, 2, 8]);
    let mut known: Vec<RegisterId> =
        (0..random.below(4)).map(|_| code.input(kind(random, heaviest))).collect();
    let mut instrs = Vec::new();
    let (operands, more_deps) = (1 + random.below(3), random.below(30));
    for _ in 0..count {
        let reads = some(&known, operands, random);
        let writes: Vec<_> = (0..random.pick(&[0, 1, 1, 1, 2])).map(|_| kind(random, heaviest)).collect();
        let (instr, written) = code.instr(&reads, &writes);
        for &earlier in &instrs {
            if random.chance(more_deps) {
                code.before(earlier, instr);
            }
        }
        instrs.push(instr);
        known.extend(written);
    }
    known.retain(|_| random.chance(15));
    known.into_iter().for_each(|register| code.live_out(register));
}

/// One step of a body: what it reads of the body's own values and of what all copies share, what it writes,
/// and what it waits for.
struct Line {
    own: Vec<usize>,
    shared: Vec<usize>,
    input: Option<(usize, u32)>,
    writes: Vec<(usize, u32)>,
    waits_for: Vec<usize>,
}

fn unrolled(code: &mut Code, most: usize, is_changed: bool, random: &mut Random) {
    let heaviest = random.pick(&[1, 2, 8]);
    let length = 1 + random.below(4.min(most / 2));
    let has_sum = random.chance(60);
    let each = length + usize::from(has_sum);
    let has_shared_load = random.chance(30) && most > 2 * each;
    let copies = ((most - usize::from(has_shared_load)) / each).clamp(2, 2 + random.below(5));
    let mut shared: Vec<RegisterId> =
        (0..random.below(3)).map(|_| code.input(kind(random, heaviest))).collect();
    if has_shared_load {
        shared.extend(code.instr(&[], &[kind(random, heaviest)]).1);
    }
    let mut values = 0;
    let body: Vec<Line> = (0..length)
        .map(|number| {
            let own = (0..values).filter(|_| random.chance(60)).collect();
            let shared = (0..shared.len()).filter(|_| random.chance(30)).collect();
            let input = random.chance(20).then(|| kind(random, heaviest));
            let most_written = if number + 1 == length { 1 } else { 1 + usize::from(random.chance(30)) };
            let writes: Vec<_> = (0..most_written).map(|_| kind(random, heaviest)).collect();
            values += writes.len();
            let waits_for = (0..number).filter(|_| random.chance(15)).collect();
            Line { own, shared, input, writes, waits_for }
        })
        .collect();
    let stays = (0..values).filter(|_| random.chance(10)).collect::<Vec<_>>();
    let in_order = random.below(length);
    let is_in_order = random.chance(30);
    let changed = random.below(copies);
    // Either all copies in source order, or line by line.
    let mut copied: Vec<(Vec<InstrId>, Vec<RegisterId>)> = vec![Default::default(); copies];
    let by_line = random.chance(30);
    for step in 0..copies * length {
        let (copy, line) =
            if by_line { (step % copies, step / copies) } else { (step / length, step % length) };
        let Line { own, shared: common, input, writes, waits_for } = &body[line];
        let mut reads: Vec<RegisterId> = own.iter().map(|&value| copied[copy].1[value]).collect();
        reads.extend(common.iter().map(|&value| shared[value]));
        reads.extend(input.map(|kind| code.input(kind)));
        let mut writes = writes.clone();
        let is_other = is_changed && copy == changed && random.chance(50);
        if is_other {
            match random.below(4) {
                0 => writes.iter_mut().for_each(|(_, weight)| *weight += 1),
                1 => reads.truncate(reads.len().saturating_sub(1)),
                2 => reads.extend(shared.first()),
                _ => {}
            }
            reads.sort_unstable();
            reads.dedup();
        }
        let (instr, written) = code.instr(&reads, &writes);
        waits_for.iter().for_each(|&other| code.before(copied[copy].0[other], instr));
        if line == in_order && is_in_order && !by_line && copy > 0 {
            let before = copied[copy - 1].0[line];
            code.before(before, instr);
        }
        if is_other && random.chance(50) {
            let others: Vec<InstrId> = copied.iter().flat_map(|(instrs, _)| instrs.iter().copied()).collect();
            if !others.is_empty() {
                code.before(random.pick(&others), instr);
            }
        }
        copied[copy].0.push(instr);
        copied[copy].1.extend(written);
    }
    for (_, values) in &copied {
        stays.iter().for_each(|&value| code.live_out(values[value]));
    }
    if is_changed && random.chance(30) {
        code.live_out(*copied[changed].1.last().expect("a body writes"));
    }
    if has_sum {
        let weight = kind(random, heaviest);
        let mut sum: Option<RegisterId> = None;
        for (_, values) in &copied {
            let reads: Vec<RegisterId> = sum.iter().chain(values.last()).copied().collect();
            sum = code.instr(&reads, &[weight]).1.first().copied();
        }
        sum.into_iter().filter(|_| random.chance(50)).for_each(|register| code.live_out(register));
    } else if random.chance(40) {
        copied.iter().filter_map(|(_, values)| values.last()).for_each(|&register| code.live_out(register));
    }
}

fn crossed(code: &mut Code, most: usize, random: &mut Random) {
    let copies = 2 + usize::from(most > 8 && random.chance(40));
    let around = random.below(4).min(most - copies);
    let length = 1 + random.below((most - around) / copies);
    let heaviest = random.pick(&[1, 1, 2, 3]);
    let (operands, deps, more_deps, more_reads) =
        (random.below(60), random.below(25), random.below(8), random.below(8));
    let mut outside: Vec<RegisterId> =
        (0..random.below(3)).map(|_| code.input(kind(random, heaviest))).collect();
    let mut all = Vec::new();
    let mut instrs: Vec<Vec<InstrId>> = vec![Vec::new(); copies];
    let mut values: Vec<Vec<RegisterId>> = vec![Vec::new(); copies];
    let before = random.below(around + 1);
    for _ in 0..before {
        let reads = some(&outside, 1, random);
        let (instr, written) = code.instr(&reads, &[kind(random, heaviest)]);
        all.push(instr);
        outside.extend(written);
    }
    for line in 0..length {
        let own: Vec<usize> = (0..values[0].len()).filter(|_| random.chance(operands)).collect();
        let shared = some(&outside, 1, random);
        let input = random.chance(15).then(|| kind(random, heaviest));
        let writes: Vec<_> = (0..random.pick(&[0, 1, 1, 1, 2])).map(|_| kind(random, heaviest)).collect();
        let waits_for: Vec<usize> = (0..line).filter(|_| random.chance(deps)).collect();
        let mut written_by = Vec::new();
        for copy in 0..copies {
            let mut reads: Vec<RegisterId> = own.iter().map(|&value| values[copy][value]).collect();
            reads.extend(&shared);
            reads.extend(input.map(|kind| code.input(kind)));
            // (What the copies before have written in this line is not among their values yet.)
            let others: Vec<RegisterId> =
                values.iter().flatten().copied().chain(outside.iter().copied()).collect();
            if random.chance(more_reads) {
                reads.extend(some(&others, 1, random));
            }
            reads.sort_unstable();
            reads.dedup();
            let (instr, written) = code.instr(&reads, &writes);
            waits_for.iter().for_each(|&other| code.before(instrs[copy][other], instr));
            for &other in &all {
                if random.chance(more_deps) {
                    code.before(other, instr);
                }
            }
            all.push(instr);
            instrs[copy].push(instr);
            written_by.push(written);
        }
        values.iter_mut().zip(written_by).for_each(|(values, written)| values.extend(written));
    }
    for _ in before..around {
        let picked: Vec<usize> = (0..values[0].len()).filter(|_| random.chance(30)).collect();
        let mut reads = some(&outside, 1, random);
        for copied in &values {
            // All copies, or only some of them.
            if random.chance(70) {
                reads.extend(picked.iter().map(|&value| copied[value]));
            }
        }
        reads.sort_unstable();
        reads.dedup();
        let (instr, written) = code.instr(&reads, &[kind(random, heaviest)]);
        for &other in &all {
            if random.chance(more_deps) {
                code.before(other, instr);
            }
        }
        all.push(instr);
        outside.extend(written);
    }
    for value in 0..values[0].len() {
        let stays = random.chance(20);
        for copied in &values {
            if stays != random.chance(5) {
                code.live_out(copied[value]);
            }
        }
    }
}

fn chains(code: &mut Code, most: usize, random: &mut Random) {
    let length = 1 + random.below(4);
    let count = (most / length).clamp(1, 2 + random.below(5));
    let kinds: Vec<_> = (0..length).map(|_| kind(random, 4)).collect();
    let (starts_with_input, stays) = (random.chance(40), random.chance(40));
    for _ in 0..count {
        let mut last = starts_with_input.then(|| code.input(kinds[0]));
        for &kind in &kinds {
            last = code.instr(last.as_slice(), &[kind]).1.first().copied();
        }
        last.into_iter().filter(|_| stays).for_each(|register| code.live_out(register));
    }
}

fn loads_before_stores(code: &mut Code, most: usize, random: &mut Random) {
    let loads = 2 + random.below(most / 2 - 1);
    let between = random.below(3);
    let stores = 1 + random.below(most - loads - between.min(most - loads - 1));
    let heaviest = random.pick(&[1, 2, 4]);
    let mut known = Vec::new();
    let mut loaded = Vec::new();
    for _ in 0..loads {
        let (instr, written) = code.instr(&[], &[kind(random, heaviest)]);
        loaded.push(instr);
        known.extend(written);
    }
    for _ in 0..between.min(most - loads - stores) {
        let reads = some(&known, 3, random);
        known.extend(code.instr(&reads, &[kind(random, heaviest)]).1);
    }
    for _ in 0..stores {
        let reads = some(&known, 3, random);
        let (store, _) = code.instr(&reads, &[]);
        loaded.iter().for_each(|&load| code.before(load, store));
    }
    known.into_iter().filter(|_| random.chance(10)).for_each(|register| code.live_out(register));
}

/// Regions of all kinds, of at most `most` instructions.
pub(crate) fn regions(seeds: std::ops::Range<u64>, most: usize) -> impl Iterator<Item = Region> {
    seeds
        .flat_map(move |seed| {
            let size = 1 + (seed as usize * 7) % most;
            let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
            let programs = [generate::register_program(size, seed)];
            let made = Made::ALL.map(|made| made.region(most, seed));
            // Twice the ones that are made to fit the rules.
            let more =
                [Made::Random, Made::Unrolled, Made::NearlyUnrolled, Made::Crossed, Made::LoadsBeforeStores];
            let more = more.map(|made| made.region(most, seed | 1 << 32));
            shapes.into_iter().chain(programs).chain(made).chain(more)
        })
        .filter(move |region| region.len() <= most)
}

/// The seven instructions A to G of paper 2's example, each with one result but for the last, which uses
/// those of E and F.
pub(crate) fn seven() -> Region {
    let mut builder = RegionBuilder::new("seven");
    let class = builder.class("r");
    let names = ["A", "B", "C", "D", "E", "F", "G"];
    let all = names.map(|name| builder.instr(InstrSpec::new(name, 1)));
    let [a, b, c, d, e, f, g] = all;
    let results: Vec<_> = names[..6].iter().map(|name| builder.register(name, class, 1, 1)).collect();
    all.iter().zip(&results).for_each(|(&instr, &result)| builder.defs(instr, result, 1));
    for (from, to, latency) in [(a, e, 4), (b, e, 4), (c, f, 2), (d, f, 3), (e, g, 2), (f, g, 1)] {
        builder.uses(to, results[from.index()], 1);
        builder.depend(from, to, DepKind::Data, latency);
    }
    builder.build().expect("a valid region")
}

//! Tasks as plain numbers, for a device that knows nothing of this library.
//!
//! A [`Batch`] holds many tasks in three arrays, each uploaded in one piece: a header for each task, the
//! 32-bit numbers, and the 64-bit numbers. The header has the task's parameters, the start of its arrays, and
//! the place of its working memory. [`Batch::prelude`] describes the header to the device's compiler, so the
//! two cannot differ.

use super::guard::Guard;
use super::pheromone::{LEAST, MOST};
use super::search::{Aim, Answer, Task};
use super::{Guide, LANES, Lists, STALL_SCALE, WHOLE};
use crate::analysis::walk::NEVER;
use crate::index::{InstrId, Rows};

/// The most ants of a region: a device has no room for more.
const MOST_ANTS: u32 = 1 << 14;

/// The most classes that a header has room for.
const MOST_FIELDS: usize = 8;

macro_rules! header {
    ($($name:ident),* $(,)?) => {
        #[derive(Default)]
        struct Header {
            $($name: u64,)*
            field: [u64; MOST_FIELDS],
        }

        impl Header {
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn numbers(&self) -> impl Iterator<Item = u64> {
                [$(self.$name),*].into_iter().chain(self.field)
            }
        }
    };
}

header! {
    // Numbers.
    count, values, width, is_timed, groups, patience, seed, explores_below, stall_share, remains, slack, start_cost, bound, nodes,
    nanoseconds, steps, limit, limits_sum, everything, spare, live, fields, levels, has_guards, roots,
    // Positions in the array of 32-bit numbers.
    next_starts, next_instrs, next_cycles, waits, tail, close_starts, closes, left, closer_sum, root_list, attraction, relief, start, fewest, fewest_rank,
    // Positions in the array of 64-bit numbers.
    weights, delta, opened, step_limits, fewest_room,
    // The task's working memory, and positions in it, all in bytes.
    work, control, costs, chosen, best, deadlines, pheromones, raised, own_rank, own_room, last_use,
    // Arrays with a part for each ant, and elements of such a part.
    list, list_size, slots, slots_size, scores, scores_size, waits_left, waits_left_size, available, available_size, delta_now, delta_now_size,
    attraction_now, attraction_now_size, left_now, left_now_size, closer_sum_now, closer_sum_now_size, marks, marks_size, trail, trail_size,
    // Links that can have more than the least pheromone at the same time.
    raised_size,
    // Position in the answers.
    answer,
}

/// The numbers of an answer before the order: iterations, and choices in two halves.
const ANSWER_HEAD: usize = 3;

/// The size of the device's `struct Control` in bytes, with a margin.
const CONTROL_BYTES: u64 = 128;

/// The alignment of arrays: the size of one memory transaction of a GPU.
const ALIGNMENT: u64 = 128;

/// Tasks as plain numbers.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// A header for each task: [`Batch::header_len`] numbers.
    pub headers: Vec<u64>,
    /// The numbers of at most 32 bits.
    pub words: Vec<u32>,
    /// The numbers of more than 32 bits.
    pub longs: Vec<i64>,
    /// Bytes of working memory for all tasks.
    pub work_bytes: u64,
    /// Length of the array for all answers.
    pub answer_len: usize,
    /// Ants of a task in an iteration.
    pub ants: u32,
    /// The start of every array of every task, in `words` and in `longs`.
    pub word_starts: Vec<usize>,
    /// The start of every 64-bit array.
    pub long_starts: Vec<usize>,
    /// Plan room for all instructions of a region in the lists of ants. By default there is room for the most
    /// independent ones. This measures the effect of the tighter plan.
    pub has_loose_lists: bool,
    /// The start of each answer, and the length of its order.
    answers: Vec<(usize, usize)>,
}

impl Batch {
    /// Return the number of fields of a header.
    pub const fn header_len() -> usize {
        Header::NAMES.len() + MOST_FIELDS
    }

    /// Return the beginning of the device's source: number types, the constants of the colony, and the
    /// header.
    pub fn prelude() -> String {
        let mut text = String::from(
            "typedef unsigned long long u64;\ntypedef long long i64;\ntypedef unsigned int u32;\ntypedef unsigned short u16;\ntypedef unsigned char u8;\n",
        );
        let constants = [
            ("LANES", LANES),
            ("STALL_SCALE", STALL_SCALE),
            ("LEAST", LEAST.into()),
            ("MOST", MOST.into()),
            ("NEVER", NEVER / 2),
            ("WHOLE", WHOLE),
        ];
        for (name, value) in constants {
            text += &format!("#define {name} {value}u\n");
        }
        text += "struct Task {\n";
        Header::NAMES.iter().for_each(|name| text += &format!("    u64 {name};\n"));
        text + &format!("    u64 field[{MOST_FIELDS}];\n}};\n")
    }

    /// Return the working memory of this batch with one more task. `None` if the task has too many classes or
    /// too many ants, or if its ants do not look at whole lists.
    pub fn bytes_of(mut self, task: &Task) -> Option<u64> {
        self.push(task).then_some(self.work_bytes)
    }

    /// Add a task. Return false, and change nothing, if the task does not fit into the batch.
    pub fn push(&mut self, task: &Task) -> bool {
        let terrain = &task.terrain;
        let parameters = &task.options.parameters;
        let packing = &terrain.packing;
        let ants = parameters.groups.saturating_mul(LANES);
        let is_possible = (1..=MOST_ANTS).contains(&ants)
            && packing.classes().count() <= MOST_FIELDS
            && parameters.lists == Lists::Whole
            && (self.answers.is_empty() || self.ants == ants);
        if !is_possible {
            return false;
        }
        self.ants = ants;
        let (count, values) = (terrain.len() as u64, terrain.weights.len() as u64);
        let mut header = Header {
            count,
            values,
            width: terrain.width.into(),
            is_timed: task.is_timed().into(),
            groups: parameters.groups.into(),
            patience: parameters.patience_for(terrain.len()).into(),
            seed: parameters.seed,
            explores_below: parameters.explores_below(terrain.len()),
            stall_share: parameters.stall_share.into(),
            remains: parameters.remains.into(),
            slack: parameters.slack.into(),
            start_cost: task.start_cost,
            bound: task.bound,
            nodes: task.options.budget.nodes.unwrap_or(u64::MAX),
            nanoseconds: task.options.budget.time_per_instr.map_or(0, |time| {
                u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(count).max(1)
            }),
            everything: packing.everything() as u64,
            spare: packing.spare() as u64,
            live: terrain.live as u64,
            fields: packing.classes().count() as u64,
            has_guards: task.has_guards().into(),
            levels: u64::from(terrain.len().ilog2()) + 1,
            roots: terrain.roots.len() as u64,
            ..Header::default()
        };
        for (place, (start, bits)) in header.field.iter_mut().zip(packing.fields()) {
            *place = u64::from(start) | u64::from(bits) << 8;
        }
        match &task.aim {
            Aim::Length { limit } => header.limit = *limit as u64,
            Aim::Pressure { steps } => {
                header.steps = steps.len() as u64;
                header.step_limits = self.add_longs(steps);
                header.limits_sum = task.aim.amount(terrain, 0);
            }
        }
        self.add_rows(&terrain.next, |link| link.instr, &mut header.next_starts, &mut header.next_instrs);
        header.next_cycles = self.add_words(terrain.next.items().iter().map(|link| link.cycles));
        header.waits = self.add_words(terrain.waits.iter().copied());
        header.tail = self.add_words(terrain.tail.iter().copied());
        self.add_rows(&terrain.closes, |value| value, &mut header.close_starts, &mut header.closes);
        header.left = self.add_words(terrain.left.iter().copied());
        header.closer_sum = self.add_words(terrain.closer_sum.iter().copied());
        header.root_list = self.add_words(terrain.roots.iter().copied());
        let widen = |numbers: &[Vec<u16>; Guide::ALL.len()]| -> Vec<u32> {
            numbers.iter().flatten().map(|&number| number.into()).collect()
        };
        header.attraction = self.add_words(widen(&terrain.attraction).into_iter());
        header.relief = self.add_words(widen(&terrain.relief).into_iter());
        header.start = self.add_words(task.start.iter().copied());
        header.weights = self.add_longs(&terrain.weights);
        header.delta = self.add_longs(&terrain.delta);
        header.opened = self.add_longs(&terrain.opened);
        if let (true, Aim::Length { limit }) = (task.has_guards(), &task.aim) {
            let guard = Guard::new(terrain, &task.fewest, *limit);
            header.fewest = self.add_words(guard.order.iter().copied());
            header.fewest_rank = self.add_words(guard.rank.iter().copied());
            header.fewest_room = self.add_longs(&guard.room);
        }
        self.plan_work(task, &mut header);
        header.answer = self.answer_len as u64;
        self.answers.push((self.answer_len, terrain.len()));
        self.answer_len += ANSWER_HEAD + terrain.len();
        self.headers.extend(header.numbers());
        true
    }

    /// Plan the working memory of a task.
    fn plan_work(&mut self, task: &Task, header: &mut Header) {
        let Header { count, values, levels, .. } = *header;
        let ants = u64::from(self.ants);
        let ready = if self.has_loose_lists { count } else { task.terrain.most_ready as u64 };
        header.work = self.work_bytes;
        let mut end = 0;
        let mut take = |bytes: u64| {
            let start = end;
            end = (start + bytes).next_multiple_of(ALIGNMENT);
            start
        };
        header.control = take(CONTROL_BYTES);
        header.costs = take(8 * ants);
        header.chosen = take(4 * ants);
        header.best = take(4 * count);
        header.deadlines = take(4 * count);
        header.pheromones = take(2 * count * (count + 1));
        header.raised_size = task.options.parameters.most_raised(count);
        header.raised = take(2 * 4 * header.raised_size);
        header.own_rank = take(4 * count);
        header.own_room = take(8 * count * levels);
        header.last_use = take(4 * values);
        let mut of_ants = |bytes: u64, elements: u64, size: &mut u64| {
            *size = elements;
            take(bytes * elements * ants)
        };
        header.list = of_ants(2, ready, &mut header.list_size);
        header.slots = of_ants(4, ready, &mut header.slots_size);
        header.scores = of_ants(4, ready, &mut header.scores_size);
        header.waits_left = of_ants(2, count, &mut header.waits_left_size);
        header.available = of_ants(4, count, &mut header.available_size);
        header.delta_now = of_ants(8, count, &mut header.delta_now_size);
        header.attraction_now = of_ants(4, count, &mut header.attraction_now_size);
        header.left_now = of_ants(4, values, &mut header.left_now_size);
        header.closer_sum_now = of_ants(4, values, &mut header.closer_sum_now_size);
        header.marks = of_ants(1, count, &mut header.marks_size);
        header.trail = of_ants(2, count, &mut header.trail_size);
        self.work_bytes += end;
    }

    fn add_words(&mut self, words: impl Iterator<Item = u32>) -> u64 {
        self.word_starts.push(self.words.len());
        let start = self.words.len() as u64;
        self.words.extend(words);
        start
    }

    fn add_longs(&mut self, longs: &[i64]) -> u64 {
        self.long_starts.push(self.longs.len());
        let start = self.longs.len() as u64;
        self.longs.extend_from_slice(longs);
        start
    }

    fn add_rows<T: Copy>(
        &mut self,
        rows: &Rows<T>,
        number: impl Fn(T) -> u32,
        starts: &mut u64,
        items: &mut u64,
    ) {
        *starts = self.add_words(rows.starts().iter().copied());
        *items = self.add_words(rows.items().iter().map(|&item| number(item)));
    }

    /// Return the number of tasks.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Return whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Decode the answers of the device, task by task. `None` for an invalid answer.
    pub fn answers(&self, words: &[u32]) -> Vec<Option<Answer>> {
        let answer = |&(start, count): &(usize, usize)| {
            let words = words.get(start..start + ANSWER_HEAD + count)?;
            let (head, order) = words.split_at(ANSWER_HEAD);
            let mut seen = vec![false; count];
            let is_new =
                |&instr: &u32| !std::mem::replace(seen.get_mut(instr as usize).unwrap_or(&mut true), true);
            order.iter().all(is_new).then(|| Answer {
                order: order.iter().map(|&instr| InstrId(instr)).collect(),
                iterations: head[0],
                choices: u64::from(head[1]) | u64::from(head[2]) << 32,
            })
        };
        self.answers.iter().map(answer).collect()
    }
}

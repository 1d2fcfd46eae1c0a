
// The second part of the device code, behind `ant.cu`: the end of an iteration (the winner, pheromones, guards, deadlines) and the kernels.

// For each instruction the last slot in a schedule that could still win, and its position in the best order.
DEVICE void follow_best(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const u64 cost = control_of(a)->best_cost;
    if (!t.is_timed) return;
    u32* deadlines = (u32*)(a.work + t.deadlines);
    const u64 longest = cost + cost * t.slack / 64;
    const u32 last = longest > 2 ? (u32)(longest - 2) : 0, width = (u32)t.width;
    const u32* best = (const u32*)(a.work + t.best);
    u32* rank = (u32*)(a.work + t.own_rank);
    for (u32 k = thread; k < t.count; k += threads) {
        deadlines[k] = less(last, a.words[t.tail + k]) * width + (width - 1);
        if (t.has_guards) rank[best[k]] = k;
    }
}

// The last use of each value in the best order.
DEVICE void forget_last_uses(const Arrays& a, u32 thread, u32 threads) {
    u32* last_use = (u32*)(a.work + a.task->last_use);
    for (u32 v = thread; v < a.task->values; v += threads) last_use[v] = 0;
}

DEVICE void find_last_uses(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const u32* best = (const u32*)(a.work + t.best);
    u32* last_use = (u32*)(a.work + t.last_use);
    for (u32 k = thread; k < t.count; k += threads) {
        for (u32 p = a.words[t.close_starts + best[k]]; p < a.words[t.close_starts + best[k] + 1]; ++p) raise(&last_use[a.words[t.closes + p]], k);
    }
}

// The change of the live weight at each instruction of the best order.
DEVICE void find_changes(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const u32* best = (const u32*)(a.work + t.best);
    const u32* last_use = (const u32*)(a.work + t.last_use);
    i64* room = (i64*)(a.work + t.own_room);
    for (u32 k = thread; k < t.count; k += threads) {
        i64 change = a.longs[t.opened + best[k]];
        for (u32 p = a.words[t.close_starts + best[k]]; p < a.words[t.close_starts + best[k] + 1]; ++p) {
            const u32 value = a.words[t.closes + p];
            // A live-out is never closed.
            if (last_use[value] == k && a.words[t.left + value] < NEVER) change -= a.longs[t.weights + value];
        }
        room[k] = change;
    }
}

// The free weight of the best order after each position.
DEVICE void find_room(const Arrays& a, u32 thread) {
    const Task& t = *a.task;
    if (thread != 0) return;
    i64* room = (i64*)(a.work + t.own_room);
    i64 live = (i64)t.live;
    for (u32 k = 0; k < t.count; ++k) {
        live += room[k];
        room[k] = (i64)t.limit - live;
    }
}

// The minimum of 2^level neighbours.
DEVICE void find_least_room(const Arrays& a, u32 level, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const u32 n = (u32)t.count, span = 1u << (level - 1);
    const i64* shorter = (const i64*)(a.work + t.own_room) + (u64)(level - 1) * n;
    i64* longer = (i64*)(a.work + t.own_room) + (u64)level * n;
    for (u32 k = thread; k < n; k += threads) {
        const u32 other = k + span < n ? k + span : n - 1;
        longer[k] = shorter[k] + shorter[other] - highest(t, shorter[k], shorter[other]);
    }
}

// The winner leaves its pheromones. Without a winner, the best order so far does.
DEVICE void deposit(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    Control& c = *control_of(a);
    const u32 n = (u32)t.count;
    const bool has_winner = c.winner != NONE;
    const Part<u16> trail = TRAIL(has_winner ? c.winner : 0);
    const u32* best = (const u32*)(a.work + t.best);
    const u64 whole = 5 * LEAST, from = amount_of(t, t.start_cost);
    const u64 share = whole * 2 * amount_of(t, has_winner ? c.winner_cost : c.best_cost) / (3 * (from > 1 ? from : 1));
    const u16 more = (u16)(LEAST + (whole > share ? whole - share : 0));
    u16* pheromones = (u16*)(a.work + t.pheromones);
    u32* raised = (u32*)(a.work + t.raised) + c.current * (u32)t.raised_size;
    for (u32 k = thread; k < n; k += threads) {
        const u32 instr = has_winner ? trail[k] : best[k];
        const u32 before = k == 0 ? n : has_winner ? trail[k - 1] : best[k - 1];
        const u32 place = before * n + instr;
        if (pheromones[place] == LEAST) raised[count_up(&c.raised[c.current])] = place;
        pheromones[place] += more;
    }
}

// Pheromones fade. Links that reach the least amount leave the list.
DEVICE void fade(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    Control& c = *control_of(a);
    u16* pheromones = (u16*)(a.work + t.pheromones);
    const u32* raised = (const u32*)(a.work + t.raised) + c.current * (u32)t.raised_size;
    u32* kept = (u32*)(a.work + t.raised) + (1 - c.current) * (u32)t.raised_size;
    for (u32 k = thread; k < c.raised[c.current]; k += threads) {
        const u32 place = raised[k];
        u32 amount = pheromones[place] * (u32)t.remains / WHOLE;
        amount = amount < LEAST ? LEAST : amount > MOST ? MOST : amount;
        pheromones[place] = (u16)amount;
        if (amount > LEAST) kept[count_up(&c.raised[1 - c.current])] = place;
    }
}

// Whether there is another iteration, and how many groups it has.
DEVICE void plan(const Arrays& a, u32 thread) {
    if (thread != 0) return;
    const Task& t = *a.task;
    Control& c = *control_of(a);
    c.raised[c.current] = 0;
    c.current = 1 - c.current;
    c.is_improved = 0;
    const u64 affordable = (t.nodes > c.choices ? t.nodes - c.choices : 0) / (LANES * t.count);
    c.groups = affordable < t.groups ? (u32)affordable : (u32)t.groups;
    const bool is_late = t.nanoseconds > 0 && nanoseconds() - c.started >= t.nanoseconds;
    if (c.best_cost <= t.bound || c.in_vain >= t.patience || is_late) c.groups = 0;
}

// One ant of the iteration.
DEVICE void send(const Arrays& a, u32 ant, u32 lane) {
    const Task& t = *a.task;
    if (ant / LANES >= control_of(a)->groups) return;
    u32 chosen = 0;
    const Memory own = memory_of(a, ant, lane);
    const u64 cost = walk(a, own, ant, lane, &chosen);
    give_back(own, lane);
    if (lane == 0) {
        ((u64*)(a.work + t.costs))[ant] = cost;
        ((u32*)(a.work + t.chosen))[ant] = chosen;
    }
}

// The first of the best ants of the iteration.
DEVICE void find_winner(const Arrays& a, u32 thread) {
    if (thread != 0) return;
    const Task& t = *a.task;
    Control& c = *control_of(a);
    const u64* costs = (const u64*)(a.work + t.costs);
    const u32* chosen = (const u32*)(a.work + t.chosen);
    c.winner = NONE;
    c.winner_cost = DEAD;
    for (u32 k = 0; k < c.groups * LANES; ++k) {
        c.choices += chosen[k];
        if (costs[k] < c.winner_cost) c.winner = k, c.winner_cost = costs[k];
    }
    ++c.iteration;
    ++c.in_vain;
    if (c.winner != NONE && c.winner_cost < c.best_cost) {
        c.best_cost = c.winner_cost;
        c.in_vain = 0;
        c.is_improved = 1;
    }
}

DEVICE void take_over(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const Control& c = *control_of(a);
    if (!c.is_improved) return;
    const Part<u16> trail = TRAIL(c.winner);
    u32* best = (u32*)(a.work + t.best);
    for (u32 k = thread; k < t.count; k += threads) best[k] = trail[k];
}

DEVICE void tell(const Arrays& a, u32* answers, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const Control& c = *control_of(a);
    u32* answer = answers + t.answer;
    if (thread == 0) {
        answer[0] = c.iteration;
        answer[1] = (u32)c.choices;
        answer[2] = (u32)(c.choices >> 32);
    }
    const u32* best = (const u32*)(a.work + t.best);
    for (u32 k = thread; k < t.count; k += threads) answer[3 + k] = best[k];
}

// Updates what depends on the best order and the last winner, then decides on another iteration. (Every phase
// ends before the next one begins.)
DEVICE void prepare(const Arrays& a, u32* answers, u32* unfinished, u32 thread, u32 threads) {
    Control& c = *control_of(a);
    if (c.is_improved) {
        PHASE(follow_best(a, thread, threads))
        if (a.task->has_guards) {
            PHASE(forget_last_uses(a, thread, threads))
            PHASE(find_last_uses(a, thread, threads))
            PHASE(find_changes(a, thread, threads))
            PHASE(find_room(a, thread))
            for (u32 level = 1; level < a.task->levels; ++level) PHASE(find_least_room(a, level, thread, threads))
        }
    }
    PHASE(deposit(a, thread, threads))
    PHASE(fade(a, thread, threads))
    PHASE(plan(a, thread))
    if (c.groups == 0) {
        PHASE(tell(a, answers, thread, threads))
        if (thread == 0) count_down(unfinished);
    }
}

// The beginning of the search for a region.
DEVICE void begin(const Arrays& a, u32* answers, u32* unfinished, u32 thread, u32 threads) {
    PHASE(start(a, thread, threads))
    prepare(a, answers, unfinished, thread, threads);
}

// The end of an iteration.
DEVICE void learn(const Arrays& a, u32* answers, u32* unfinished, u32 thread, u32 threads) {
    if (control_of(a)->groups == 0) return;
    PHASE(find_winner(a, thread))
    PHASE(take_over(a, thread, threads))
    prepare(a, answers, unfinished, thread, threads);
}

#if !defined(LOWTIDE_SHIM)
DEVICE Arrays arrays_of(const Task* task, const u32* words, const i64* longs, u8* work) {
    Arrays a = {task, words, longs, work + task->work};
    return a;
}

// A block for each task.
KERNEL void colony_begin(const Task* tasks, const u32* words, const i64* longs, u8* work, u32* answers, u32* unfinished, u32 threads) {
    begin(arrays_of(tasks + BLOCK, words, longs, work), answers, unfinished, THREAD, threads);
}

// Blocks for each task, with some ants each.
KERNEL void BOUNDED colony_send(const Task* tasks, const u32* words, const i64* longs, u8* work, u32 blocks, u32 ants) {
    const u32 ant = BLOCK % blocks * ants + THREAD / WIDTH;
    send(arrays_of(tasks + BLOCK / blocks, words, longs, work), ant, THREAD % WIDTH);
}

// A block for each task.
KERNEL void colony_learn(const Task* tasks, const u32* words, const i64* longs, u8* work, u32* answers, u32* unfinished, u32 threads) {
    learn(arrays_of(tasks + BLOCK, words, longs, work), answers, unfinished, THREAD, threads);
}
#endif

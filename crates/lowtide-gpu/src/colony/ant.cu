// Ants on a GPU: 32 threads for each ant, which look at 32 instructions of its list at once. All regions are
// searched at the same time. One launch runs the ants of all regions; another updates each region by the
// results of its ants.
//
// This code computes what `lowtide::colony` defines, bit for bit: see its modules `ant`, `guard`, `pheromone`
// and `search`, whose names are used here. The host writes `struct Task` and the constants in front of this
// text. NVRTC compiles it for NVIDIA, clang for AMD, and any C++ compiler for tests (LOWTIDE_SHIM). The tests
// have one thread for an ant and run the threads of a block one after the other.
//
// Memory: `words` and `longs` are the tasks, as uploaded. `work` is the working memory of all tasks. The data
// of an ant is contiguous there, so its threads read one piece of memory.
//
// Macros disable techniques, to measure their effect (see `Technique`). WIDTH=1 has one thread for an ant.
// INTERLEAVED mixes the memory of the ants of a group. ALLOCATES takes memory from the device's heap.
// EXPLORES_ALONE, ALL_STALL and SAME_GUIDE change the schedules.

#if defined(LOWTIDE_SHIM)
#define WIDTH 1u
#elif !defined(WIDTH)
// On AMD half of a wave.
#define WIDTH 32u
#endif

#if defined(LOWTIDE_SHIM)
#define DEVICE static inline
#define MEMBER inline
#define PHASE(call) \
    for (u32 thread = 0; thread < threads; ++thread) { call; }
DEVICE u32 count_up(u32* counter) { return (*counter)++; }
DEVICE void count_down(u32* counter) { --*counter; }
DEVICE void add(i64* sum, i64 more) { *sum += more; }
DEVICE void add(u32* sum, u32 more) { *sum += more; }
DEVICE void raise(u32* most, u32 other) { *most = *most > other ? *most : other; }
DEVICE u64 high_product(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
DEVICE u64 nanoseconds() { return 0; }
DEVICE u32 log2_of(u32 x) { return 31 - __builtin_clz(x); }
DEVICE void fail() { abort(); }
#elif defined(__HIP__)
#define DEVICE static __attribute__((device)) inline
#define MEMBER __attribute__((device)) inline
#define KERNEL extern "C" __attribute__((global))
#define BLOCK __builtin_amdgcn_workgroup_id_x()
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BOUNDED
#define PHASE(call) \
    {               \
        call;       \
        synchronise(); \
    }
DEVICE void synchronise() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
DEVICE u32 count_up(u32* counter) { return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }
DEVICE void count_down(u32* counter) { __atomic_fetch_sub(counter, 1, __ATOMIC_RELAXED); }
DEVICE void add(i64* sum, i64 more) { __atomic_fetch_add(sum, more, __ATOMIC_RELAXED); }
DEVICE void add(u32* sum, u32 more) { __atomic_fetch_add(sum, more, __ATOMIC_RELAXED); }
DEVICE void raise(u32* most, u32 other) { __atomic_fetch_max(most, other, __ATOMIC_RELAXED); }
DEVICE u64 high_product(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
DEVICE u64 nanoseconds() { return __builtin_readcyclecounter(); }
DEVICE u32 log2_of(u32 x) { return 31 - __builtin_clz(x); }
#else
#define DEVICE static __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define KERNEL extern "C" __global__
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
// Registers for 8 blocks of 4 ants on a multiprocessor at a time. Fewer blocks hide less memory latency; more
// blocks spill registers.
#define BOUNDED __launch_bounds__(128, 8)
#define PHASE(call)      \
    {                    \
        call;            \
        __syncthreads(); \
    }
DEVICE u32 count_up(u32* counter) { return atomicAdd(counter, 1u); }
DEVICE void count_down(u32* counter) { atomicSub(counter, 1u); }
DEVICE void add(i64* sum, i64 more) { atomicAdd((u64*)sum, (u64)more); }
DEVICE void add(u32* sum, u32 more) { atomicAdd(sum, more); }
DEVICE void raise(u32* most, u32 other) { atomicMax(most, other); }
DEVICE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
DEVICE u32 log2_of(u32 x) { return 31 - __clz(x); }
DEVICE void fail() { asm volatile("trap;"); }
#endif

// Barriers and exchanges between the threads of an ant.
#if WIDTH == 1
DEVICE void meet() {}
DEVICE u32 from_lane(u32 x, u32 lane) { return x; }
DEVICE bool any(bool x) { return x; }
#elif defined(__HIP__)
DEVICE void meet() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
DEVICE u32 from_lane(u32 x, u32 lane) {
    const u32 first = (u32)THREAD % 64 / WIDTH * WIDTH;
    return (u32)__builtin_amdgcn_ds_bpermute((int)((first + lane % WIDTH) * 4), (int)x);
}
DEVICE bool any(bool x) {
    u32 all = x;
    for (u32 apart = WIDTH / 2; apart > 0; apart /= 2) all |= from_lane(all, ((u32)THREAD % WIDTH) ^ apart);
    return all != 0;
}
#else
DEVICE void meet() { __syncwarp(); }
DEVICE u32 from_lane(u32 x, u32 lane) { return __shfl_sync(0xffffffffu, x, lane % WIDTH); }
DEVICE bool any(bool x) { return __any_sync(0xffffffffu, x); }
#endif

DEVICE u64 from_lane_long(u64 x, u32 lane) { return (u64)from_lane((u32)(x >> 32), lane) << 32 | from_lane((u32)x, lane); }

// The maximum, the minimum and the sum over the threads of an ant.
DEVICE u64 highest_of_all(u64 x, u32 lane) {
    for (u32 apart = WIDTH / 2; apart > 0; apart /= 2) {
        const u64 other = from_lane_long(x, lane ^ apart);
        x = other > x ? other : x;
    }
    return x;
}

DEVICE u32 lowest_of_all(u32 x, u32 lane) {
    for (u32 apart = WIDTH / 2; apart > 0; apart /= 2) {
        const u32 other = from_lane(x, lane ^ apart);
        x = other < x ? other : x;
    }
    return x;
}

// The prefix sum over the threads up to this one.
DEVICE u64 sum_so_far(u64 x, u32 lane) {
    for (u32 apart = 1; apart < WIDTH; apart *= 2) {
        const u64 other = from_lane_long(x, lane - apart);
        if (lane >= apart) x += other;
    }
    return x;
}

#define NONE 0xffffffffu
#define DEAD 0xffffffffffffffffull

// The state of the search that all threads of a block share.
struct Control {
    u64 best_cost;
    u64 choices;
    u64 winner_cost;
    u64 started;
    u32 iteration;
    u32 in_vain;
    // Groups of the next iteration; 0 at the end.
    u32 groups;
    // The thread of the best ant, or NONE.
    u32 winner;
    u32 is_improved;
    // The number of links above the least pheromone, in the list that is read and in the one that is written.
    u32 raised[2];
    u32 current;
};

// The arrays of a task.
struct Arrays {
    const Task* task;
    const u32* words;
    const i64* longs;
    u8* work;
};

DEVICE Control* control_of(const Arrays& a) { return (Control*)(a.work + a.task->control); }

DEVICE u64 bits_at(u64 seed, u64 place) {
    u64 z = seed + 0x9e3779b97f4a7c15ull * (place + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

DEVICE u32 higher(u32 a, u32 b) { return a > b ? a : b; }

DEVICE u32 less(u32 a, u32 b) { return a > b ? a - b : 0; }

DEVICE bool fits(const Task& t, i64 live, i64 limit) { return ((((u64)limit | t.spare) - (u64)live) & t.spare) == t.spare; }

DEVICE u32 unpack(const Task& t, i64 live, u32 field) {
    u32 start = t.field[field] & 0xff, bits = t.field[field] >> 8;
    return (u32)((u64)live >> start & (((u64)1 << bits) - 1));
}

// The maximum of two pressures, class by class.
DEVICE i64 highest(const Task& t, i64 one, i64 other) {
    i64 all = 0;
    for (u32 field = 0; field < t.fields; ++field) {
        u32 start = t.field[field] & 0xff;
        all += (i64)higher(unpack(t, one, field), unpack(t, other, field)) << start;
    }
    return all;
}

// The cost of a schedule with this number of slots and this peak.
DEVICE u64 cost_of(const Arrays& a, i64 peak, u32 slots) {
    const Task& t = *a.task;
    if (t.is_timed) return (slots + (u32)t.width - 1) / (u32)t.width;
    const i64* steps = a.longs + t.step_limits;
    u64 exceeded = 0, over = 0;
    while (exceeded < t.steps && !fits(t, peak, steps[exceeded])) ++exceeded;
    for (u32 field = 0; field < t.fields; ++field) over += less(unpack(t, peak, field), unpack(t, steps[0], field));
    return exceeded << 32 | over;
}

DEVICE u64 amount_of(const Task& t, u64 cost) { return t.is_timed ? cost : (cost & 0xffffffffull) + t.limits_sum; }

// The part of an array that belongs to the ant.
#if defined(INTERLEAVED) && !defined(ALLOCATES)
#define STRIDE LANES
#else
#define STRIDE 1u
#endif
template <typename T>
struct Part {
    T* first;
    MEMBER T& operator[](u32 k) const { return first[(u64)k * STRIDE]; }
};

template <typename T>
DEVICE Part<T> part(const Arrays& a, u64 array, u64 size, u32 ant) {
    T* all = (T*)(a.work + array);
    Part<T> own = {STRIDE == 1 ? all + ant * size : all + ant / LANES * LANES * size + ant % LANES};
    return own;
}

#define TRAIL(ant) part<u16>(a, t.trail, t.trail_size, ant)

// The memory of an ant.
struct Memory {
    Part<i64> delta;
    Part<u32> slots;
    Part<u32> scores;
    Part<u32> available;
    Part<u32> attraction;
    Part<u32> left;
    Part<u32> closer_sum;
    Part<u16> list;
    Part<u16> waits;
    Part<u8> marks;
};

DEVICE Memory memory_of(const Arrays& a, u32 ant, u32 lane) {
    const Task& t = *a.task;
#if defined(ALLOCATES)
    // One piece of the device's heap, the largest elements first.
    const u64 longs = t.delta_now_size;
    const u64 words = t.slots_size + t.scores_size + t.available_size + t.attraction_now_size + t.left_now_size + t.closer_sum_now_size;
    const u64 shorts = t.list_size + t.waits_left_size, bytes = 8 * longs + 4 * words + 2 * shorts + t.marks_size;
    u8* next = (u8*)from_lane_long(lane == 0 ? (u64)malloc(bytes) : 0, 0);
    if (next == 0) fail();
#define OWN(type, array) {(type*)(next += sizeof(type) * t.array##_size) - t.array##_size}
#else
#define OWN(type, array) part<type>(a, t.array, t.array##_size, ant)
#endif
    Memory own = {
        OWN(i64, delta_now), OWN(u32, slots), OWN(u32, scores), OWN(u32, available), OWN(u32, attraction_now),
        OWN(u32, left_now), OWN(u32, closer_sum_now), OWN(u16, list), OWN(u16, waits_left), OWN(u8, marks),
    };
    return own;
}

DEVICE void give_back(const Memory& own, u32 lane) {
#if defined(ALLOCATES)
    meet();
    if (lane == 0) free(own.delta.first);
#endif
}

// One ant (see `ant` for the definition). Returns its cost, or DEAD; `chosen` is the number of its steps. Its
// threads make the same choices, and share the work.
DEVICE u64 walk(const Arrays& a, const Memory& own, u32 ant, u32 lane, u32* chosen) {
    const Task& t = *a.task;
    const Control& c = *control_of(a);
    const u32 n = (u32)t.count, width = (u32)t.width;
    const u32 group = ant / LANES;
    const bool is_timed = t.is_timed;
#if defined(ALL_STALL)
    const bool stalls = is_timed;
#else
    const bool stalls = is_timed && (group + 1) * t.stall_share / 100 > group * t.stall_share / 100;
#endif
#if defined(SAME_GUIDE)
    const u32 guide = is_timed ? 0 : 1;
#else
    const u32 guide = is_timed ? group % 3 : 1 + group % 2;
#endif
    const u64 level = c.best_cost >> 32;
    const i64 limit = is_timed ? (i64)t.limit : level < t.steps ? a.longs[t.step_limits + level] : (i64)t.everything;
    const u64 key = bits_at(bits_at(t.seed, (u64)is_timed << 32 | c.iteration), group);
    const u64 own_key = bits_at(key, (u64)(ant % LANES + 1) << 32);
    const u32* deadlines = (const u32*)(a.work + t.deadlines);
    const u16* pheromones = (const u16*)(a.work + t.pheromones);
    const i64* weights = a.longs + t.weights;
    const i64* opened = a.longs + t.opened;
    const u32* relief = a.words + t.relief + guide * (u32)t.values;

    // The guard: the order with the fewest registers, the best one so far, or none.
    const bool has_guard = t.has_guards && group % 4 != 3;
    const bool is_fewest = group % 4 == 1;
    const u32* guard = is_fewest ? a.words + t.fewest : (const u32*)(a.work + t.best);
    const u32* rank = is_fewest ? a.words + t.fewest_rank : (const u32*)(a.work + t.own_rank);
    const i64* room = is_fewest ? a.longs + t.fewest_room : (const i64*)(a.work + t.own_room);

    const Part<u16> list = own.list, waits = own.waits, trail = TRAIL(ant);
    const Part<u32> slots = own.slots, scores = own.scores, available = own.available;
    const Part<u32> attraction = own.attraction, left = own.left, closer_sum = own.closer_sum;
    const Part<i64> delta = own.delta;
    const Part<u8> marks = own.marks;

    for (u32 i = lane; i < n; i += WIDTH) {
        waits[i] = (u16)a.words[t.waits + i];
        available[i] = 0;
        delta[i] = a.longs[t.delta + i];
        attraction[i] = a.words[t.attraction + guide * n + i];
        marks[i] = 0;
    }
    for (u32 v = lane; v < t.values; v += WIDTH) {
        left[v] = a.words[t.left + v];
        closer_sum[v] = a.words[t.closer_sum + v];
    }
    u32 length = (u32)t.roots;
    for (u32 k = lane; k < length; k += WIDTH) {
        list[k] = (u16)a.words[t.root_list + k];
        slots[k] = 0;
    }
    meet();

    i64 live = (i64)t.live, peak = live;
    u32 now = 0, waited = 0, row = n;
    // The position along the guard, the weight that all early instructions open, and the position after the
    // last of them.
    u32 first = 0, end = 0;
    i64 early = 0;
    for (u32 step = 0; step < n; ++step) {
        *chosen = step;
        const u16* trail_row = pheromones + (u64)row * n;
#if defined(EXPLORES_ALONE)
        const bool explores = bits_at(~own_key, step) >> 32 < t.explores_below;
#else
        const bool explores = bits_at(key, step) >> 32 < t.explores_below;
#endif
        u64 total;
        // The highest score, and the first place that has it, stored as NONE less the place.
        u64 best;
        for (;;) {
            u32 next = NONE;
            bool is_free = false, is_late = false;
            total = best = 0;
            for (u32 k = lane; k < length; k += WIDTH) {
                const u32 instr = list[k], slot = slots[k];
                is_late |= is_timed && higher(slot, now) > deadlines[instr];
                u32 score = 0;
                if (slot > now) {
                    next = slot < next ? slot : next;
                } else {
                    const i64 then = live + delta[instr];
                    if (fits(t, then, limit)) {
                        const bool free = fits(t, then, live);
                        bool is_open = true;
                        if (has_guard && !free) {
                            const u32 own = rank[instr];
                            if (own != first) {
                                const u32 after = higher(end, own), span = log2_of(after - first);
                                const i64 more = early + opened[instr];
                                const i64* rooms = room + span * n;
                                is_open = fits(t, more, rooms[first]) && fits(t, more, rooms[after - (1u << span)]);
                            }
                        }
                        if (is_open) {
                            score = (u32)trail_row[instr] * attraction[instr];
                            is_free |= free;
                        }
                    }
                }
                if (explores) scores[k] = score;
                total += score;
                const u64 own = (u64)score << 32 | (NONE - k);
                best = own > best ? own : best;
            }
            if (is_timed && any(is_late)) return DEAD;
            if (stalls && !any(is_free)) {
                for (u32 k = lane; k < length; k += WIDTH) {
                    const u32 instr = list[k], slot = slots[k];
                    const i64 then = live + delta[instr];
                    if (slot > now && fits(t, then, live) && fits(t, then, limit)) {
                        const u32 wait = (slot - now) / width + waited;
                        const u32 whole = (u32)trail_row[instr] * attraction[instr];
                        const u32 score = higher(whole * STALL_SCALE / (STALL_SCALE + wait), 1);
                        if (explores) scores[k] = score;
                        total += score;
                        const u64 own = (u64)score << 32 | (NONE - k);
                        best = own > best ? own : best;
                    }
                }
            }
            best = highest_of_all(best, lane);
            if (best >> 32 > 0) break;
            now = lowest_of_all(next, lane);
            if (now == NONE) return DEAD;
        }
        u32 place = NONE - (u32)best;
        if (explores) {
            const u64 so_far = sum_so_far(total, lane);
            u64 rest = high_product(bits_at(own_key, step), from_lane_long(so_far, WIDTH - 1));
            meet();
            for (u32 from = 0;; from += WIDTH) {
                const u64 sum = sum_so_far(from + lane < length ? scores[from + lane] : 0, lane);
                // The first place whose prefix sum is above the rest.
                const u32 found = lowest_of_all(rest < sum ? from + lane : NONE, lane);
                if (found != NONE) {
                    place = found;
                    break;
                }
                rest -= from_lane_long(sum, WIDTH - 1);
            }
        }

        const u32 instr = list[place], slot = slots[place];
        --length;
        const u16 moved = list[length];
        const u32 moved_slot = slots[length];
        meet();
        if (lane == 0) {
            list[place] = moved;
            slots[place] = moved_slot;
            trail[step] = (u16)instr;
        }
        if (slot > now) {
            waited += (slot - now) / width;
            now = slot;
        }
        const i64 change = delta[instr];
        if (has_guard) {
            const u32 own = rank[instr];
            const bool is_early = own != first && !fits(t, live + change, live);
            if (is_early) {
                early += opened[instr];
                end = higher(end, own);
            }
            if (lane == 0) marks[instr] = is_early ? 2 : 1;
            meet();
            while (first < n) {
                const u32 passed = guard[first], mark = marks[passed];
                if (mark == 0) break;
                if (mark == 2) early -= opened[passed];
                ++first;
            }
            if (early == 0) end = 0;
        }
        live += change;
        if (!fits(t, live, peak)) peak = highest(t, live, peak);

        for (u32 k = a.words[t.close_starts + instr] + lane, last = a.words[t.close_starts + instr + 1]; k < last; k += WIDTH) {
            const u32 value = a.words[t.closes + k];
            const u32 users = left[value] - 1, sum = closer_sum[value] - instr;
            left[value] = users;
            closer_sum[value] = sum;
            if (users == 1) {
                add(&delta[sum], -weights[value]);
                add(&attraction[sum], relief[value]);
            }
        }
        const u32 cycle = now / width;
        const u32 last = a.words[t.next_starts + instr + 1];
        for (u32 from = a.words[t.next_starts + instr]; from < last; from += WIDTH) {
            const u32 k = from + lane;
            u32 is_ready = 0, other = 0, ready = 0;
            if (k < last) {
                other = a.words[t.next_instrs + k];
                if (is_timed) {
                    ready = higher(available[other], (cycle + a.words[t.next_cycles + k]) * width);
                    available[other] = ready;
                }
                const u16 others = waits[other] - 1;
                waits[other] = others;
                is_ready = others == 0;
            }
            const u32 so_far = (u32)sum_so_far(is_ready, lane);
            if (is_ready) {
                list[length + so_far - 1] = (u16)other;
                slots[length + so_far - 1] = ready;
            }
            length += from_lane(so_far, WIDTH - 1);
        }
        meet();
        if (is_timed) ++now;
        row = instr;
    }
    *chosen = n;
    return cost_of(a, peak, now);
}

DEVICE void start(const Arrays& a, u32 thread, u32 threads) {
    const Task& t = *a.task;
    const u32 n = (u32)t.count;
    u16* pheromones = (u16*)(a.work + t.pheromones);
    for (u64 k = thread; k < (u64)(n + 1) * n; k += threads) pheromones[k] = LEAST;
    u32* best = (u32*)(a.work + t.best);
    for (u32 k = thread; k < n; k += threads) best[k] = a.words[t.start + k];
    if (thread == 0) {
        Control fresh = {t.start_cost, 0, t.start_cost, nanoseconds(), 0, 0, 0, NONE, 1, {0, 0}, 0};
        *control_of(a) = fresh;
    }
}


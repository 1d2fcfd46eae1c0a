/* The C interface of Lowtide, an instruction scheduler for GPUs. docs/c-interface.md explains its use.
 *
 * Every function relies on three promises of its caller:
 * - A handle comes from the function that makes it, and has not been freed.
 * - A string is UTF-8 that ends with a NUL.
 * - An array has as many elements as its count says.
 *
 * Everything else is checked. NULL is an error, and never a crash, unless a function says that it takes NULL.
 *
 * Functions that can fail return a lowtide_status and take a `message`, which may be NULL. On success the
 * message is set to NULL. On failure it is set to a text for a person: free it with lowtide_string_free. The
 * other results are then NULL or 0.
 *
 * Threads: several threads may use a target, session or outcome at once; only one thread at a time may use a
 * region or kernel. Nobody may use an object while or after a thread frees it. There is no global state.
 */


#ifndef LOWTIDE_H
#define LOWTIDE_H

/* Made from the Rust code by cbindgen. Do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a function ended.
typedef enum lowtide_status {
  // Success.
  LOWTIDE_OK = 0,
  // A pointer is NULL, a string is not UTF-8, or a name or number has no meaning.
  LOWTIDE_BAD_ARGUMENT = 1,
  // A target description is wrong, or a register class is not part of the target.
  LOWTIDE_BAD_TARGET = 2,
  // A region is not valid.
  LOWTIDE_BAD_REGION = 3,
  // A defect of Lowtide. The handles involved can be freed, and a session stays usable.
  LOWTIDE_INTERNAL = 4,
} lowtide_status;

// Why one instruction must follow another.
typedef enum lowtide_dependence {
  // The later instruction reads what the earlier one writes.
  LOWTIDE_DATA = 0,
  // The later instruction overwrites what the earlier one reads.
  LOWTIDE_ANTI = 1,
  // The later instruction overwrites what the earlier one writes.
  LOWTIDE_OUTPUT = 2,
  // Both access memory that may overlap.
  LOWTIDE_MEMORY = 3,
  // One of them is a barrier.
  LOWTIDE_BARRIER = 4,
} lowtide_dependence;

// The primary objective of a schedule. The other objectives break ties.
typedef enum lowtide_goal {
  // Lowest peak of the target's first class, then of the others, then length.
  LOWTIDE_MIN_REG = 0,
  // No spills, most waves, then length, then peak.
  LOWTIDE_OCCUPANCY = 1,
  // Shortest length within the register limits, then lowest peak.
  LOWTIDE_LENGTH = 2,
  // Fewest estimated cycles of a SIMD for each wave: the sum over all regions of frequency x (issue
  // cycles + (length - issue cycles) / waves + price of spills). Then length, then lowest peak.
  LOWTIDE_THROUGHPUT = 3,
} lowtide_goal;

// A preference of a compiler beyond the dependences. Lowtide records it; it does not bind the scheduler.
typedef enum lowtide_hint {
  // The production compiler prefers this order (macro fusion, for example).
  LOWTIDE_ARTIFICIAL = 0,
  // The production compiler prefers to keep the two together (load clustering).
  LOWTIDE_CLUSTER = 1,
  // A weak preference.
  LOWTIDE_WEAK = 2,
  // A dependence of the code after the region.
  LOWTIDE_EXIT = 3,
} lowtide_hint;

// The latencies to schedule with.
typedef enum lowtide_latencies {
  // Those of the target's table. Instructions without an entry, and targets without a table, have the
  // latencies of the region.
  LOWTIDE_LATENCIES_TARGET = 0,
  // Those of the region.
  LOWTIDE_LATENCIES_REGION = 1,
} lowtide_latencies;

// The regions of one function. Functions that return nothing keep their first failure in the kernel. The
// next function that uses the kernel reports it.
typedef struct lowtide_kernel lowtide_kernel;

// The schedules of a kernel. Immutable.
typedef struct lowtide_outcome lowtide_outcome;

// Straight-line code under construction. Functions that return nothing keep their first failure in the
// region, and lowtide_kernel_add_region reports it.
typedef struct lowtide_region lowtide_region;

// A target with a cache of results: equal dependence graphs are scheduled once. The cache lives until the
// session is freed. Several threads may use one session at once.
typedef struct lowtide_session lowtide_session;

// A GPU: its register files and its issue model. Immutable, so several threads may share it.
typedef struct lowtide_target lowtide_target;

// An instruction, without its operands.
typedef struct lowtide_instr {
  // The operation's name.
  const char *opcode;
  // Cycles from issue to the results. Informative only: each dependence has its own latency.
  uint32_t latency;
  // The names of the functional units that the instruction needs, `unit_count` of them. NULL if there are
  // none.
  const char *const *units;
  // The cycles for which the instruction occupies each unit.
  const uint32_t *unit_cycles;
  // The number of units.
  size_t unit_count;
  // Letters as in region files. Recorded only; NULL for none.
  const char *flags;
  // Micro-operations, normally 1.
  uint32_t micro_ops;
  // Address space of the memory accessed, -1 for none.
  int32_t address_space;
} lowtide_instr;

// The parameters of a call. Initialise them with lowtide_options_default.
typedef struct lowtide_options {
  // A lowtide_goal.
  uint32_t goal;
  // The name of an algorithm, as on the command line; NULL for "auto".
  const char *algorithm;
  // Wall time for each instruction of a region and each pass, in nanoseconds; 0 for no limit.
  uint64_t nanoseconds_per_instr;
  // Steps of each search; 0 for no limit. A step limit gives the same result on every machine, a time
  // limit does not.
  uint64_t nodes;
  // Threads for one kernel: they share its regions, and a single region is searched from both ends. 0 and
  // 1 mean one. The result depends on them only where a time limit ends a search.
  uint32_t threads;
  // The most registers of the target's first class; 0 for no limit. With LOWTIDE_OCCUPANCY the limit
  // yields where no known order meets it without losing waves.
  uint32_t registers;
  // 1 enables the occupancy filter, which rejects a few extra waves that cost many cycles. 0 disables it.
  uint32_t filter;
  // 1 finds the shortest schedules for every number of waves: see lowtide_outcome_point. It needs the goal
  // LOWTIDE_OCCUPANCY or LOWTIDE_THROUGHPUT and an algorithm of two passes. 0 does not.
  uint32_t front;
  // A lowtide_latencies.
  uint32_t latencies;
  // The most cycles that a schedule may be longer for each pair of instructions that it keeps together:
  // see LOWTIDE_CLUSTER. Kept pairs never cost waves or spills. 0: pairs do not count.
  uint32_t group_price;
} lowtide_options;

// The combined result of all regions for their kernel.
typedef struct lowtide_kernel_result {
  // Waves that all regions allow together, and at most the limit of the kernel.
  uint32_t occupancy;
  // An upper bound: no schedule has more waves.
  uint32_t occupancy_bound;
  // The number of regions.
  size_t regions;
  // 1 if the filter traded waves for length, 0 otherwise.
  uint32_t filtered;
  // The number of points of the front: see lowtide_outcome_point. 0 if none was found.
  size_t points;
  // With points: estimated cycles for each wave that no schedules are below, whatever their waves. Else 0.
  double cycles_per_wave_bound;
} lowtide_kernel_result;

// The schedule of a region, and the bounds proven for all others. The arrays live as long as the outcome.
typedef struct lowtide_region_result {
  // The number of instructions.
  size_t count;
  // The ids of the instructions in the order of issue.
  const uint32_t *order;
  // The cycle in which each instruction issues, by its id: `cycles[id]`.
  const uint32_t *cycles;
  // The cycle of the last issue, plus one.
  uint32_t length;
  // A lower bound on the length. LOWTIDE_MIN_REG: of every schedule. LOWTIDE_LENGTH: of every schedule
  // within the register limits. LOWTIDE_OCCUPANCY, LOWTIDE_THROUGHPUT and points of a front: of those
  // among them with at least as many waves.
  uint32_t length_bound;
  // Waves that fit, by the registers of this region alone.
  uint32_t occupancy;
  // Registers that have to be spilled.
  uint32_t spilled;
  // The number of register classes.
  size_t classes;
  // The peak pressure of each class over the points between instructions, by the id of the class.
  const uint32_t *peaks;
  // The peak pressure of each class at instructions, where operands and results count together.
  const uint32_t *peaks_at;
  // Lower bounds on the peaks between instructions.
  const uint32_t *peak_bounds;
  // 1 if the schedule is proven optimal for the goal, 0 otherwise.
  uint32_t optimal;
  // 1 if no schedule spills less and none has more useful waves, by proof. 0 otherwise.
  uint32_t proven_waves;
  // How often a wave runs the region, relative to the other regions of the kernel.
  uint32_t frequency;
  // Cycles that each wave keeps the busiest unit, whatever the order.
  uint32_t issue_cycles;
  // Cycles that the spills cost each wave.
  uint32_t spill_cycles;
  // Pairs of LOWTIDE_CLUSTER that some order keeps together. 0 for a point of the front.
  uint32_t pairs;
  // Pairs that this order does not keep together. 0 for a point of the front.
  uint32_t broken_pairs;
} lowtide_region_result;

// The schedules of a kernel for a number of waves.
typedef struct lowtide_point {
  // The waves that all schedules allow.
  uint32_t waves;
  // Estimated cycles of a SIMD for each wave.
  double cycles_per_wave;
  // A lower bound on them with so many waves.
  double cycles_per_wave_bound;
} lowtide_point;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Return the version of the library, such as "0.1.0". The string is static: do not free it.
const char *lowtide_version(void);

// Free a message or a text of this library. NULL is ignored.
void lowtide_string_free(char *text);

// Find a built-in target by its name, such as "gfx906". The message for an unknown name lists the known
// names.
enum lowtide_status lowtide_target_builtin(const char *name, struct lowtide_target **out, char **message);

// Read a target from the text of a target file (TOML).
enum lowtide_status lowtide_target_parse(const char *toml, struct lowtide_target **out, char **message);

// Free a target. NULL is ignored.
void lowtide_target_free(struct lowtide_target *target);

// Return the most waves that fit if registers do not limit them. Return 0 for NULL.
uint32_t lowtide_target_max_waves(const struct lowtide_target *target);

// Return the waves that fit if each uses `registers[i]` registers of `classes[i]`, and none of other
// classes.
enum lowtide_status lowtide_target_waves(const struct lowtide_target *target,
                                         const char *const *classes,
                                         const uint32_t *registers,
                                         size_t count,
                                         uint32_t *waves,
                                         char **message);

// Return the most registers of a class that each of `waves` waves can have if it uses no other class.
// `waves` is at least 1 and at most lowtide_target_max_waves.
enum lowtide_status lowtide_target_limit(const struct lowtide_target *target,
                                         const char *class_,
                                         uint32_t waves,
                                         uint32_t *registers,
                                         char **message);

// Start a region. Return NULL if the name is NULL or not UTF-8.
struct lowtide_region *lowtide_region_new(const char *name);

// Free a region that was not added to a kernel. NULL is ignored.
void lowtide_region_free(struct lowtide_region *region);

// Set the number of loops around the region. The default is 0.
void lowtide_region_set_loop_depth(struct lowtide_region *region, uint32_t depth);

// Set how often a wave runs the region; only the ratio to the other regions of the kernel counts. Without a
// frequency in every region, each loop counts ten times.
void lowtide_region_set_frequency(struct lowtide_region *region, uint32_t frequency);

// Set the opcode of the instruction that ends the region without being part of it. The default is the empty
// string: the end of a block.
void lowtide_region_set_boundary(struct lowtide_region *region, const char *opcode);

// Return the id of the register class with this name, and add the class if it is new. Ids count from 0.
// Return UINT32_MAX after a mistake.
uint32_t lowtide_region_class(struct lowtide_region *region, const char *name);

// Add a register of 1 to 64 lanes and return its id. A live lane adds `lane_weight` to the pressure of the
// class. Ids count from 0. Return UINT32_MAX after a mistake.
uint32_t lowtide_region_register(struct lowtide_region *region,
                                 const char *name,
                                 uint32_t class_,
                                 uint32_t lanes,
                                 uint32_t lane_weight);

// Add an instruction at the end of the source order, which must be legal, and return its id. Ids count from
// 0. Return UINT32_MAX after a mistake.
uint32_t lowtide_region_instr(struct lowtide_region *region, const struct lowtide_instr *spec);

// Return the latency of an instruction by the table of a target. Return the instruction's own latency if no
// entry matches, and 0 after a mistake.
uint32_t lowtide_target_latency(const struct lowtide_target *target, const struct lowtide_instr *spec);

// Let an instruction write lanes of a register (one bit each). Flags are letters; NULL means none. d: nobody
// reads the result. e: written before all operands are read. t: takes the register of an operand. u: the
// other lanes are undefined afterwards.
void lowtide_region_def(struct lowtide_region *region,
                        uint32_t instr,
                        uint32_t reg,
                        uint64_t lanes,
                        const char *flags);

// Let an instruction read lanes of a register (one bit each).
void lowtide_region_use(struct lowtide_region *region, uint32_t instr, uint32_t reg, uint64_t lanes);

// Mark lanes of a register as live at the start.
void lowtide_region_live_in(struct lowtide_region *region, uint32_t reg, uint64_t lanes);

// Mark lanes of a register as live at the end.
void lowtide_region_live_out(struct lowtide_region *region, uint32_t reg, uint64_t lanes);

// Set the weight of the values that pass through the region unused. It adds to the pressure of the class at
// every point.
void lowtide_region_through(struct lowtide_region *region, uint32_t class_, uint32_t weight);

// Add a dependence: `to` issues at least `latency` cycles after `from`, and never before it. `kind` is a
// lowtide_dependence.
void lowtide_region_depend(struct lowtide_region *region,
                           uint32_t from,
                           uint32_t to,
                           uint32_t kind,
                           uint32_t latency);

// Record a preference. It does not bind the scheduler. `to` is UINT32_MAX for the end of the region; `kind`
// is a lowtide_hint.
void lowtide_region_hint(struct lowtide_region *region,
                         uint32_t from,
                         uint32_t to,
                         uint32_t kind,
                         uint32_t latency);

// Record the order of the production compiler and the compiler's name. Searches start from this order, and
// the filter compares with it.
void lowtide_region_production(struct lowtide_region *region,
                               const char *by,
                               const uint32_t *order,
                               size_t count);

// Start a kernel. Return NULL if the name is NULL or not UTF-8.
struct lowtide_kernel *lowtide_kernel_new(const char *name);

// Free a kernel with its regions. NULL is ignored.
void lowtide_kernel_free(struct lowtide_kernel *kernel);

// Record the origin of the kernel: code base, file or job. It does not affect schedules.
void lowtide_kernel_set_origin(struct lowtide_kernel *kernel, const char *origin);

// Record the target that the code was compiled for. Schedules are made for the target of the session.
void lowtide_kernel_set_target(struct lowtide_kernel *kernel, const char *name);

// Record whether waves start in this function. The default is true; false marks a function that others call.
// It does not affect schedules.
void lowtide_kernel_set_entry(struct lowtide_kernel *kernel, bool is_entry);

// Limit the waves of the kernel, as local memory and launch bounds do. 0 means no limit.
void lowtide_kernel_set_max_occupancy(struct lowtide_kernel *kernel, uint32_t waves);

// Validate a region and add it after the regions of the kernel. The region is freed in any case, also on
// failure.
enum lowtide_status lowtide_kernel_add_region(struct lowtide_kernel *kernel,
                                              struct lowtide_region *region,
                                              char **message);

// Write a kernel as the lines of a region file: one line for each region, each with a line end. Free the
// text with lowtide_string_free. The names of regions must differ within a kernel, and the names of
// registers within a region.
enum lowtide_status lowtide_kernel_format(const struct lowtide_kernel *kernel, char **text, char **message);

// Start a session. The target is copied.
enum lowtide_status lowtide_session_new(const struct lowtide_target *target,
                                        struct lowtide_session **out,
                                        char **message);

// Start a session that keeps its answers in a store: a folder, redis://HOST:PORT/DB,
// http://HOST:PORT/PREFIX, or a folder and an address with a comma between them. NULL and an empty place
// are no store. A store never makes a schedule fail. The target is copied.
enum lowtide_status lowtide_session_open(const struct lowtide_target *target,
                                         const char *store,
                                         struct lowtide_session **out,
                                         char **message);

// Read the note that a compiler has kept in the store of a session: text that means nothing to this library.
// The text is NULL if there is none, or if it was not written by a program with the secret of the store.
// Free it with lowtide_string_free.
enum lowtide_status lowtide_session_note(const struct lowtide_session *session,
                                         const uint8_t *key,
                                         size_t key_bytes,
                                         char **text,
                                         char **message);

// Keep a note in the store of a session, instead of an earlier note for the key. Without a store, nothing
// happens.
enum lowtide_status lowtide_session_keep_note(const struct lowtide_session *session,
                                              const uint8_t *key,
                                              size_t key_bytes,
                                              const char *text,
                                              char **message);

// Free a session. Its outcomes stay valid. NULL is ignored.
void lowtide_session_free(struct lowtide_session *session);

// Write the defaults: most waves, then length; 1 ms for each instruction and pass; one thread, no limits, no
// filter, latencies of the target. NULL is ignored.
void lowtide_options_default(struct lowtide_options *options);

// Check options before there is a kernel to schedule. A compiler can refuse its command line early.
enum lowtide_status lowtide_options_check(const struct lowtide_options *options, char **message);

// Schedule all regions of a kernel. The independent checker accepts every schedule before it is returned.
enum lowtide_status lowtide_schedule(const struct lowtide_session *session,
                                     const struct lowtide_kernel *kernel,
                                     const struct lowtide_options *options,
                                     struct lowtide_outcome **out,
                                     char **message);

// Free an outcome, with the arrays of its results. NULL is ignored.
void lowtide_outcome_free(struct lowtide_outcome *outcome);

// Return the result of the kernel.
enum lowtide_status lowtide_outcome_kernel(const struct lowtide_outcome *outcome,
                                           struct lowtide_kernel_result *out,
                                           char **message);

// Return the result of a region by its position. Positions count from 0 in the order of
// lowtide_kernel_add_region.
enum lowtide_status lowtide_outcome_region(const struct lowtide_outcome *outcome,
                                           size_t position,
                                           struct lowtide_region_result *out,
                                           char **message);

// Return a point of the front: the schedules for a number of waves. Points count from 0, fewest waves first.
// The goal LOWTIDE_THROUGHPUT finds those that can be the best, the option `front` all.
enum lowtide_status lowtide_outcome_point(const struct lowtide_outcome *outcome,
                                          size_t point,
                                          struct lowtide_point *out,
                                          char **message);

// Return the schedule of a region at a point of the front. The bounds on peaks are those of all schedules.
enum lowtide_status lowtide_outcome_point_region(const struct lowtide_outcome *outcome,
                                                 size_t point,
                                                 size_t position,
                                                 struct lowtide_region_result *out,
                                                 char **message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LOWTIDE_H */

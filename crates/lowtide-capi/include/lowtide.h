/* The C interface of Lowtide, an instruction scheduler for GPUs. docs/c-interface.md tells how to use it.
 *
 * What every function relies on: a handle comes from the function that makes it and has not been freed; a
 * string is UTF-8 that ends with a NUL; an array has as many elements as its count says. Everything else is
 * checked. NULL is an error where nothing else is said, and never a crash.
 *
 * Functions that can fail return a lowtide_status and take a `message`, which may be NULL. It is set to NULL if
 * all is well, else to words for a person, to be freed with lowtide_string_free. What such a function would
 * have returned through a pointer is then NULL or 0.
 *
 * Threads: targets, sessions and outcomes can be used by several threads at once; a region or kernel by one
 * thread at a time. Whoever frees something makes sure that nobody uses it. There is no global state.
 */


#ifndef LOWTIDE_H
#define LOWTIDE_H

/* Made from the Rust code by cbindgen. Do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a function ended.
typedef enum lowtide_status {
  // As promised.
  LOWTIDE_OK = 0,
  // A pointer is NULL, a string is not UTF-8, or a name or number has no meaning.
  LOWTIDE_BAD_ARGUMENT = 1,
  // A description of a target has a mistake, or a register class is not one of the target.
  LOWTIDE_BAD_TARGET = 2,
  // A region is not valid.
  LOWTIDE_BAD_REGION = 3,
  // A mistake of Lowtide. The handles that took part can be freed, and a session can still be used.
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

// What a schedule should be best at. The rest breaks ties.
typedef enum lowtide_goal {
  // Lowest peak of the target's first class, then of the others, then length.
  LOWTIDE_MIN_REG = 0,
  // No spills, most waves, then length, then peak.
  LOWTIDE_OCCUPANCY = 1,
  // Shortest length within the limits on registers, then lowest peak.
  LOWTIDE_LENGTH = 2,
} lowtide_goal;

// What a compiler would like beyond the dependences. It is recorded, and binds nothing.
typedef enum lowtide_hint {
  // The production compiler would like this order (macro fusion, for example).
  LOWTIDE_ARTIFICIAL = 0,
  // The production compiler would like to keep the two together (load clustering).
  LOWTIDE_CLUSTER = 1,
  // A weak preference.
  LOWTIDE_WEAK = 2,
  // A dependence on whatever follows the region.
  LOWTIDE_EXIT = 3,
} lowtide_hint;

// The regions of one function. A mistake in one of the functions below that return nothing is kept; whatever
// uses the kernel tells it.
typedef struct lowtide_kernel lowtide_kernel;

// The schedules of a kernel. It never changes.
typedef struct lowtide_outcome lowtide_outcome;

// Straight-line code while it is built. A mistake in any of its functions is kept, and
// lowtide_kernel_add_region tells the first one.
typedef struct lowtide_region lowtide_region;

// A target, and the answers for the graphs that were solved for it: code repeats itself, and nothing is
// sought twice. The answers are kept until the session is freed. Threads can use one session at once.
typedef struct lowtide_session lowtide_session;

// A GPU: its register files and how it issues. It never changes, so that threads can share it.
typedef struct lowtide_target lowtide_target;

// An instruction, without its operands.
typedef struct lowtide_instr {
  // The operation's name.
  const char *opcode;
  // Cycles until its results can be used, as far as one number can say it. Dependences have their own.
  uint32_t latency;
  // The names of the functional units that it needs, `unit_count` of them. NULL if there are none.
  const char *const *units;
  // For how many cycles it keeps each of them busy.
  const uint32_t *unit_cycles;
  // How many units it needs.
  size_t unit_count;
  // Letters as in region files, which are only recorded. NULL for none.
  const char *flags;
  // Micro-operations, normally 1.
  uint32_t micro_ops;
  // Address space of the memory accessed, -1 for none.
  int32_t address_space;
} lowtide_instr;

// What is asked for. Start with lowtide_options_default.
typedef struct lowtide_options {
  // A lowtide_goal.
  uint32_t goal;
  // The name of an algorithm as for the program; NULL for "auto".
  const char *algorithm;
  // Wall time for each instruction of a region and each pass, in nanoseconds; 0 for no limit.
  uint64_t nanoseconds_per_instr;
  // Steps of each search; 0 for no limit. Unlike time, they give the same result on every machine.
  uint64_t nodes;
  // Threads for the search of one region; 0 and 1 are one. The result does not depend on it, except for
  // what the clock cuts off.
  uint32_t threads;
  // The most registers of the target's first class to use; 0 for no limit. With LOWTIDE_OCCUPANCY it is kept
  // where a known order does so without losing waves.
  uint32_t registers;
  // 1 to give up a few waves that cost many cycles, else 0.
  uint32_t filter;
} lowtide_options;

// What the schedules of all regions mean for their kernel.
typedef struct lowtide_kernel_result {
  // Waves: the fewest of any region, and not more than the kernel allows.
  uint32_t occupancy;
  // No schedule has more waves.
  uint32_t occupancy_bound;
  // How many regions there are.
  size_t regions;
  // 1 if the filter gave up waves for length, else 0.
  uint32_t filtered;
} lowtide_kernel_result;

// The schedule of a region, and what is proven about all others. The arrays live as long as the outcome.
typedef struct lowtide_region_result {
  // How many instructions there are.
  size_t count;
  // The ids of the instructions in the order of issue.
  const uint32_t *order;
  // The cycle in which each instruction issues: `cycles[id]`, not by its place in the order.
  const uint32_t *cycles;
  // Cycle of the last issue, plus one.
  uint32_t length;
  // No schedule that counts is shorter: none within the limits on registers, with LOWTIDE_OCCUPANCY none of
  // these with at least as many waves; none at all with LOWTIDE_MIN_REG.
  uint32_t length_bound;
  // Waves that fit, as far as the registers of this region limit them.
  uint32_t occupancy;
  // Registers that have to be spilled.
  uint32_t spilled;
  // How many register classes there are.
  size_t classes;
  // The peak pressure of each class over the points between instructions, by the id of the class.
  const uint32_t *peaks;
  // The peak pressure of each class at instructions, where operands and results count together.
  const uint32_t *peaks_at;
  // No schedule has a lower peak between instructions.
  const uint32_t *peak_bounds;
  // 1 if the schedule is proven to be as good as it can be for the goal, else 0.
  uint32_t optimal;
  // 1 if it is proven that no schedule spills less and none has more waves that are of use, else 0.
  uint32_t proven_waves;
} lowtide_region_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0". It is not to be freed.
const char *lowtide_version(void);

// Frees a message or a text of this library. NULL is fine.
void lowtide_string_free(char *text);

// Finds a built-in target by its name, such as "gfx906". The message for an unknown name lists those that
// are known.
enum lowtide_status lowtide_target_builtin(const char *name, struct lowtide_target **out, char **message);

// Reads a target from the text of a target file (TOML).
enum lowtide_status lowtide_target_parse(const char *toml, struct lowtide_target **out, char **message);

// Frees a target. NULL is fine.
void lowtide_target_free(struct lowtide_target *target);

// The most waves, if registers do not limit them. 0 for NULL.
uint32_t lowtide_target_max_waves(const struct lowtide_target *target);

// How many waves fit if each uses so many registers of these classes, and none of the others.
enum lowtide_status lowtide_target_waves(const struct lowtide_target *target,
                                         const char *const *classes,
                                         const uint32_t *registers,
                                         size_t count,
                                         uint32_t *waves,
                                         char **message);

// The most registers of a class that each of so many waves can have if it uses no other class. The number of
// waves is at least 1 and at most lowtide_target_max_waves.
enum lowtide_status lowtide_target_limit(const struct lowtide_target *target,
                                         const char *class_,
                                         uint32_t waves,
                                         uint32_t *registers,
                                         char **message);

// Starts a region. NULL if the name is NULL or not UTF-8.
struct lowtide_region *lowtide_region_new(const char *name);

// Frees a region that was not added to a kernel. NULL is fine.
void lowtide_region_free(struct lowtide_region *region);

// Sets how many loops enclose the region; 0 if it is not said.
void lowtide_region_set_loop_depth(struct lowtide_region *region, uint32_t depth);

// Sets the operation that ends the region without being part of it; empty at the end of a block, and if it
// is not said.
void lowtide_region_set_boundary(struct lowtide_region *region, const char *opcode);

// The id of the register class of that name, which is added if it is new. Ids count from 0. UINT32_MAX after
// a mistake.
uint32_t lowtide_region_class(struct lowtide_region *region, const char *name);

// Adds a register of 1 to 64 lanes, each of which adds `lane_weight` to the pressure of its class while it
// is live. Ids count from 0. UINT32_MAX after a mistake.
uint32_t lowtide_region_register(struct lowtide_region *region,
                                 const char *name,
                                 uint32_t class_,
                                 uint32_t lanes,
                                 uint32_t lane_weight);

// Adds an instruction at the end of the source order, which must be legal. Ids count from 0. UINT32_MAX
// after a mistake.
uint32_t lowtide_region_instr(struct lowtide_region *region, const struct lowtide_instr *spec);

// Lets an instruction write lanes of a register (one bit each). Flags are letters: d (nobody reads it), e
// (written before all operands are read), t (takes the register of an operand), u (the lanes not written are
// undefined afterwards); NULL for none.
void lowtide_region_def(struct lowtide_region *region,
                        uint32_t instr,
                        uint32_t reg,
                        uint64_t lanes,
                        const char *flags);

// Lets an instruction read lanes of a register (one bit each).
void lowtide_region_use(struct lowtide_region *region, uint32_t instr, uint32_t reg, uint64_t lanes);

// Marks lanes of a register as live at the start.
void lowtide_region_live_in(struct lowtide_region *region, uint32_t reg, uint64_t lanes);

// Marks lanes of a register as live at the end.
void lowtide_region_live_out(struct lowtide_region *region, uint32_t reg, uint64_t lanes);

// Sets the weight that only passes through the region: part of the pressure of a class at every point.
void lowtide_region_through(struct lowtide_region *region, uint32_t class_, uint32_t weight);

// Adds a dependence: `to` issues at least `latency` cycles after `from`, and never before it. `kind` is a
// lowtide_dependence.
void lowtide_region_depend(struct lowtide_region *region,
                           uint32_t from,
                           uint32_t to,
                           uint32_t kind,
                           uint32_t latency);

// Records a preference, which binds nothing. `to` is UINT32_MAX for the end of the region; `kind` is a
// lowtide_hint.
void lowtide_region_hint(struct lowtide_region *region,
                         uint32_t from,
                         uint32_t to,
                         uint32_t kind,
                         uint32_t latency);

// Records the order that the production compiler chose, and its name. Searches start from it, and the filter
// compares with it.
void lowtide_region_production(struct lowtide_region *region,
                               const char *by,
                               const uint32_t *order,
                               size_t count);

// Starts a kernel. NULL if the name is NULL or not UTF-8.
struct lowtide_kernel *lowtide_kernel_new(const char *name);

// Frees a kernel with its regions. NULL is fine.
void lowtide_kernel_free(struct lowtide_kernel *kernel);

// Sets where it comes from: code base, file or job. It is only recorded.
void lowtide_kernel_set_origin(struct lowtide_kernel *kernel, const char *origin);

// Sets the target that the code was made for. It is only recorded: what counts for a schedule is the target
// of the session.
void lowtide_kernel_set_target(struct lowtide_kernel *kernel, const char *name);

// Sets whether waves start here, which is so if it is not said; else it is a function that others call. It
// is only recorded.
void lowtide_kernel_set_entry(struct lowtide_kernel *kernel, bool is_entry);

// Sets the most waves that local memory and launch bounds allow; 0 if nothing limits them.
void lowtide_kernel_set_max_occupancy(struct lowtide_kernel *kernel, uint32_t waves);

// Validates a region and adds it to a kernel, after those that it has. The region is gone afterwards, also
// if this fails.
enum lowtide_status lowtide_kernel_add_region(struct lowtide_kernel *kernel,
                                              struct lowtide_region *region,
                                              char **message);

// Writes a kernel as the lines of a region file, one for each region, each with its end. The text is freed
// with lowtide_string_free. For files, the names of regions must differ within a kernel, and those of
// registers within a region.
enum lowtide_status lowtide_kernel_format(const struct lowtide_kernel *kernel, char **text, char **message);

// Starts a session. The target is copied.
enum lowtide_status lowtide_session_new(const struct lowtide_target *target,
                                        struct lowtide_session **out,
                                        char **message);

// Frees a session. Outcomes are not part of it and live on. NULL is fine.
void lowtide_session_free(struct lowtide_session *session);

// The usual options: most waves, then length; 1 ms for each instruction and pass; one thread, no limits and
// no filter. Does nothing for NULL.
void lowtide_options_default(struct lowtide_options *options);

// Tells whether options make sense, before there is anything to schedule: a compiler can refuse its command line.
enum lowtide_status lowtide_options_check(const struct lowtide_options *options,
                                          char **message);

// Schedules all regions of a kernel. Every schedule has passed the independent checker.
enum lowtide_status lowtide_schedule(const struct lowtide_session *session,
                                     const struct lowtide_kernel *kernel,
                                     const struct lowtide_options *options,
                                     struct lowtide_outcome **out,
                                     char **message);

// Frees an outcome, with the arrays of its results. NULL is fine.
void lowtide_outcome_free(struct lowtide_outcome *outcome);

// The result for the kernel.
enum lowtide_status lowtide_outcome_kernel(const struct lowtide_outcome *outcome,
                                           struct lowtide_kernel_result *out,
                                           char **message);

// The result for a region, by its position: the order in which regions were added, from 0.
enum lowtide_status lowtide_outcome_region(const struct lowtide_outcome *outcome,
                                           size_t position,
                                           struct lowtide_region_result *out,
                                           char **message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LOWTIDE_H */

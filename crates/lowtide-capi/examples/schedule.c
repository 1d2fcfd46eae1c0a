/* Schedules a small kernel of two regions for gfx906, and tells what came out.
 * Returns 0 only if everything is as the header promises. scripts/test-capi builds and runs it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lowtide.h"

/* Ends the program with a message if something is not as promised. */
static void expect(bool holds, const char *what, const char *message) {
  if (!holds) {
    fprintf(stderr, "not as promised: %s%s%s\n", what, message ? ": " : "", message ? message : "");
    exit(1);
  }
}

static uint32_t instr(lowtide_region *region, const char *opcode, uint32_t latency, const char *unit) {
  const uint32_t cycles = 1;
  const lowtide_instr spec = {
      .opcode = opcode,
      .latency = latency,
      .units = &unit,
      .unit_cycles = &cycles,
      .unit_count = 1,
      .flags = NULL,
      .micro_ops = 1,
      .address_space = -1,
  };
  return lowtide_region_instr(region, &spec);
}

/* `count` loads of four lanes each, all before their users, and a chain of multiply-adds over all lanes. In this
 * order everything that is loaded is live at once. */
static lowtide_region *loads_and_sums(const char *name, uint32_t loop_depth, uint32_t count) {
  enum { LANES = 4, MOST = 16 };
  const uint64_t all = (1u << LANES) - 1;
  uint32_t loaded[MOST], loads[MOST];
  expect(count <= MOST, "not too many loads", NULL);

  lowtide_region *region = lowtide_region_new(name);
  expect(region != NULL, "a new region", NULL);
  lowtide_region_set_loop_depth(region, loop_depth);
  const uint32_t vgpr = lowtide_region_class(region, "vgpr");
  const uint32_t sgpr = lowtide_region_class(region, "sgpr");
  lowtide_region_through(region, sgpr, 10);
  const uint32_t address = lowtide_region_register(region, "address", vgpr, 2, 1);
  lowtide_region_live_in(region, address, 3);
  for (uint32_t i = 0; i < count; i++) {
    char register_name[16];
    snprintf(register_name, sizeof register_name, "loaded%" PRIu32, i);
    loaded[i] = lowtide_region_register(region, register_name, vgpr, LANES, 1);
    loads[i] = instr(region, "GLOBAL_LOAD_DWORDX4", 80, "vmem");
    lowtide_region_use(region, loads[i], address, 3);
    lowtide_region_def(region, loads[i], loaded[i], all, NULL);
  }
  uint32_t sum = lowtide_region_register(region, "sum", vgpr, 1, 1);
  uint32_t last = UINT32_MAX;
  lowtide_region_live_in(region, sum, 1);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t lane = 0; lane < LANES; lane++) {
      const uint32_t add = instr(region, "V_MAC_F32", 4, "valu");
      lowtide_region_use(region, add, loaded[i], UINT64_C(1) << lane);
      lowtide_region_use(region, add, sum, 1);
      lowtide_region_def(region, add, sum, 1, "t");
      lowtide_region_depend(region, loads[i], add, LOWTIDE_DATA, 80);
      if (last != UINT32_MAX) {
        lowtide_region_depend(region, last, add, LOWTIDE_DATA, 4);
      }
      last = add;
    }
  }
  lowtide_region_live_out(region, sum, 1);
  return region;
}

/* A use of something that nobody defines is refused, in words. */
static void show_bad_region(lowtide_kernel *kernel) {
  char *message = NULL;
  lowtide_region *region = lowtide_region_new("bad");
  const uint32_t vgpr = lowtide_region_class(region, "vgpr");
  const uint32_t reg = lowtide_region_register(region, "nowhere", vgpr, 1, 1);
  lowtide_region_use(region, instr(region, "V_MOV_B32", 1, "valu"), reg, 1);
  const lowtide_status status = lowtide_kernel_add_region(kernel, region, &message);
  expect(status == LOWTIDE_BAD_REGION, "a bad region is refused", message);
  expect(message && strstr(message, "nowhere"), "the message names the register", message);
  printf("a bad region: %s\n", message);
  lowtide_string_free(message);
}

static void print_region(const lowtide_outcome *outcome, size_t position) {
  char *message = NULL;
  lowtide_region_result result;
  lowtide_status status = lowtide_outcome_region(outcome, position, &result, &message);
  expect(status == LOWTIDE_OK, "the result of a region", message);
  printf("region %zu: %" PRIu32 " cycles (at least %" PRIu32 "), %" PRIu32 " waves, peak %" PRIu32
         " of the first class (at least %" PRIu32 ")%s\n ",
         position, result.length, result.length_bound, result.occupancy, result.peaks[0],
         result.peak_bounds[0], result.optimal ? ", proven to be the best" : "");
  uint32_t before = 0;
  for (size_t i = 0; i < result.count; i++) {
    const uint32_t id = result.order[i];
    expect(id < result.count, "the order has ids of instructions", NULL);
    expect(result.cycles[id] >= before, "cycles never go back", NULL);
    before = result.cycles[id];
    printf(" #%" PRIu32 "@%" PRIu32, id, before);
  }
  printf("\n");
  expect(result.length == before + 1, "the length is that of the last issue", NULL);
  expect(result.length >= result.length_bound, "no schedule is shorter than the bound", NULL);
  expect(result.classes == 2, "two classes", NULL);
  for (size_t i = 0; i < result.classes; i++) {
    expect(result.peaks[i] >= result.peak_bounds[i], "no peak is below its bound", NULL);
    expect(result.peaks_at[i] >= result.peaks[i], "a peak at instructions is not below", NULL);
  }
  expect(result.peaks[1] == 10, "what passes through counts", NULL);
}

int main(void) {
  char *message = NULL;
  printf("Lowtide %s\n", lowtide_version());

  lowtide_target *target = NULL;
  lowtide_status status = lowtide_target_builtin("gfx906", &target, &message);
  expect(status == LOWTIDE_OK && message == NULL, "a built-in target", message);
  const char *const classes[] = {"vgpr", "sgpr"};
  const uint32_t used[] = {25, 10};
  uint32_t waves = 0, limit = 0;
  status = lowtide_target_waves(target, classes, used, 2, &waves, &message);
  expect(status == LOWTIDE_OK && waves == 9, "nine waves with 25 registers", message);
  status = lowtide_target_limit(target, "vgpr", 8, &limit, &message);
  expect(status == LOWTIDE_OK && limit == 32, "32 registers for each of eight waves", message);

  lowtide_session *session = NULL;
  status = lowtide_session_new(target, &session, &message);
  expect(status == LOWTIDE_OK, "a session", message);

  lowtide_kernel *kernel = lowtide_kernel_new("example");
  expect(kernel != NULL, "a new kernel", NULL);
  lowtide_kernel_set_target(kernel, "gfx906");
  status = lowtide_kernel_add_region(kernel, loads_and_sums("entry", 0, 2), &message);
  expect(status == LOWTIDE_OK, "the first region", message);
  status = lowtide_kernel_add_region(kernel, loads_and_sums("loop", 1, 8), &message);
  expect(status == LOWTIDE_OK, "the second region", message);
  show_bad_region(kernel);

  lowtide_options options;
  lowtide_options_default(&options);
  options.nanoseconds_per_instr = 0;
  options.nodes = 100000; /* the same result on every machine */
  lowtide_outcome *outcome = NULL;
  status = lowtide_schedule(session, kernel, &options, &outcome, &message);
  expect(status == LOWTIDE_OK, "a schedule", message);

  lowtide_kernel_result result;
  status = lowtide_outcome_kernel(outcome, &result, &message);
  expect(status == LOWTIDE_OK, "the result of the kernel", message);
  printf("kernel: %" PRIu32 " waves (at most %" PRIu32 ")\n", result.occupancy, result.occupancy_bound);
  expect(result.regions == 2, "two regions", NULL);
  expect(result.occupancy <= result.occupancy_bound, "no schedule has more waves than the bound", NULL);
  /* All loads at once need 35 registers, with which seven waves fit; one after the other, ten do. */
  expect(result.occupancy == 10, "ten waves", NULL);
  for (size_t i = 0; i < result.regions; i++) {
    print_region(outcome, i);
  }

  lowtide_outcome_free(outcome);
  lowtide_kernel_free(kernel);
  lowtide_session_free(session);
  lowtide_target_free(target);
  return 0;
}

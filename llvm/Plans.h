//===- Plans.h - Which orders are tried --------------------------*- C++ -*-===//
//
// The first plan asks Lowtide for its best orders and leaves the register allocator free. Often the allocator needs
// more registers than the pressure of an order, and the promised waves are lost. Further plans win them back in two
// ways:
//   - limit the allocator to the registers of the promised waves: it then splits and moves values, but may spill;
//   - search for orders with lower pressure, so that the allocator ends within the limit by itself.
// Decision.h drops every try that ends worse, so plans only have to be likely to help.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_PLANS_H
#define LOWTIDE_LLVM_PLANS_H

#include "Candidate.h"
#include "Decision.h"
#include "Occupancy.h"
#include <vector>

namespace lowtide {

/// One search and one trial.
struct Plan {
  lowtide_options Options;
  RegionChoice Regions = RegionChoice::Improved;
  /// Limit the allocator to the registers that this number of waves can have; 0 for no limit.
  unsigned Waves = 0;
};

/// Return the plan to start with: no more registers than the stock orders need by pressure, and a free allocator.
Plan firstPlan(const lowtide_options &Options, const Candidate &Stock);

/// The results so far, on which further plans depend.
struct Progress {
  const Candidate &Stock;
  /// The first try, after its trial.
  const Candidate &First;
  /// The verdict on the first try.
  Verdict Result;
  /// Whether an accepted try has the most waves that any search has promised.
  bool IsReached;
  bool CanLimitAllocator;
};

/// Return the plans after the first one, in the order in which to try them. Return none if the first try keeps its
/// promise, or if lower pressure cannot help.
std::vector<Plan> furtherPlans(const Plan &First, const Progress &So, const Occupancy &Waves);

} // namespace lowtide

#endif

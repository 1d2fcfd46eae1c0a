//===- Plans.cpp - Which orders are tried ---------------------------------===//

#include "Plans.h"
#include <algorithm>

namespace lowtide {

Plan firstPlan(const lowtide_options &Options, const Candidate &Stock) {
  Plan First = {Options};
  First.Options.registers = Stock.peak(0);
  return First;
}

std::vector<Plan> furtherPlans(const Plan &First, const Progress &So, const Occupancy &Waves) {
  const Candidate &Stock = So.Stock, &Try = So.First;
  unsigned Promised = Try.Kernel.occupancy;
  unsigned Before = Stock.Final->Waves;
  bool IsGainLost = Before < Promised && !So.IsReached;
  bool IsTooHigh =
      So.Result == Verdict::FewerWaves || So.Result == Verdict::MoreSpills || So.Result == Verdict::MoreRegisters;
  if (!IsGainLost && !IsTooHigh)
    return {};

  // The allocator used `Excess` registers more than the pressure. A search with that much less room should end with
  // `Wanted` registers: those of the promised waves, or those of the stock orders.
  unsigned Wanted = IsGainLost ? Waves.registersFor(Promised) : Stock.Final->Registers[0];
  unsigned Used = Try.Final->Registers[0], Excess = Used - std::min(Used, Try.peak(0));
  // A large excess has other causes than pressure: calls, or register tuples that do not fit between other values.
  if (Excess > std::max(First.Options.goal == LOWTIDE_THROUGHPUT ? 8u : 12u, Wanted / 4))
    return {};

  const lowtide_options &Same = First.Options;
  lowtide_options Lower = Same;
  Lower.registers = std::max(1u, Wanted - std::min(Wanted, Excess));
  if (Same.goal != LOWTIDE_THROUGHPUT) {
    // Waves come first here, and pairs that stay together or loads that start early take registers from the allocator:
    // with both, 8 of 143 kernels ended with fewer waves.
    Lower.group_price = 0;
    Lower.latencies = LOWTIDE_LATENCIES_REGION;
  }
  // Several such searches follow, and the first search has found nearly everything. Round up, since 0 means no limit.
  Lower.nanoseconds_per_instr = (Lower.nanoseconds_per_instr + 3) / 4;
  auto FewestBy = [&](const char *Algorithm) {
    lowtide_options Fewest = Lower;
    Fewest.goal = LOWTIDE_MIN_REG;
    Fewest.algorithm = Algorithm;
    return Fewest;
  };

  std::vector<Plan> Plans;
  if (!IsGainLost) {
    // There is nothing to win in waves. The first try was rejected for registers or spills.
    Plans.push_back({Lower});
    if (Stock.spilled() > 0)
      Plans.push_back({FewestBy("default")});
    return Plans;
  }
  // A limited allocator splits and moves values before it takes one more register, but it also spills where a free
  // allocator finds another solution. Orders are therefore tried with both.
  unsigned Limited = So.CanLimitAllocator ? Promised : 0;
  Plans.push_back({Same, RegionChoice::Improved, Limited});
  Plans.push_back({Lower, RegionChoice::Improved});
  if (Same.goal == LOWTIDE_THROUGHPUT) {
    // The fewest registers at any price have no chance.
    Plans.push_back({Lower, RegionChoice::Limiting, Limited});
    for (unsigned Fewer = Limited; Fewer-- > Before + 1;)
      Plans.push_back({Same, RegionChoice::Improved, Fewer});
    return Plans;
  }
  // Keep the stock orders where they leave enough room. Elsewhere, use the fewest registers.
  Plans.push_back({FewestBy("default"), RegionChoice::Limiting});
  Plans.push_back({Lower, RegionChoice::Improved, Limited});
  Plans.push_back({Lower, RegionChoice::Limiting, Limited});
  Plans.push_back({FewestBy("default"), RegionChoice::Limiting, Limited});
  Plans.push_back({FewestBy("exact"), RegionChoice::Limiting});
  Plans.push_back({FewestBy("exact"), RegionChoice::Limiting, Limited});
  // Placement counts as well as pressure. Clusters keep the operations on one value together, which suits the
  // allocator.
  Plans.push_back({FewestBy("su-cluster"), RegionChoice::Improved, Limited});
  Plans.push_back({FewestBy("default"), RegionChoice::Improved, Limited});
  Plans.push_back({FewestBy("su-cluster"), RegionChoice::All, Limited});
  // Last, keep only some of the promised waves.
  for (unsigned Fewer = Limited; Fewer-- > Before + 1;) {
    Plans.push_back({Same, RegionChoice::Improved, Fewer});
    Plans.push_back({FewestBy("default"), RegionChoice::Limiting, Fewer});
  }
  return Plans;
}

} // namespace lowtide

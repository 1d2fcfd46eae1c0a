//===- Decision.cpp - Which orders are kept -------------------------------===//

#include "Decision.h"
#include <tuple>

namespace lowtide {

bool isSurelyNoWorse(const Candidate &New, const Candidate &Stock, const Occupancy &Waves) {
  unsigned NewWaves = Waves.of(*New.Allocated), Promised = Stock.Kernel.occupancy;
  if (New.Allocated->Spills > 0)
    return false;
  return NewWaves > Promised || (NewWaves == Promised && New.Allocated->Registers[0] <= Stock.peak(0));
}

const char *reasonToReject(const Candidate &New, const Candidate &Stock, const Occupancy &Waves) {
  const Allocation &After = *New.Allocated, &Before = *Stock.Allocated;
  unsigned NewWaves = Waves.of(After), StockWaves = Waves.of(Before);
  if (NewWaves < StockWaves)
    return "fewer waves";
  if (After.StackBytes > Before.StackBytes || After.Spills > Before.Spills)
    return "more spills";
  if (NewWaves == StockWaves && After.Registers[0] > Before.Registers[0])
    return "more registers";
  return nullptr;
}

const char *reasonToRejectByPressure(const Candidate &New, const Candidate &Stock, const Occupancy &Waves) {
  // The search counts registers between instructions. The back end also counts operands and results together.
  bool IsWorse = Waves.ofPeaks(New.peaksAtInstrs()) < Waves.ofPeaks(Stock.peaksAtInstrs());
  return IsWorse ? "fewer waves by pressure" : nullptr;
}

bool isBetter(const Candidate &New, const Candidate &Old, const Occupancy &Waves) {
  auto Cost = [&](const Candidate &C) {
    return std::make_tuple(C.Allocated->StackBytes, C.Allocated->Spills, -int(Waves.of(*C.Allocated)), C.length());
  };
  return Cost(New) < Cost(Old);
}

} // namespace lowtide

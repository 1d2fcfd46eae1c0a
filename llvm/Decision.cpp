//===- Decision.cpp - Which orders are kept -------------------------------===//

#include "Decision.h"
#include <tuple>

namespace lowtide {

/// Scalar registers that may be spilled beyond those of the stock orders.
static constexpr unsigned MoreScalarSpillsAllowed = 2;
/// Code size without more waves, and time of a gain, relative to the stock orders.
static constexpr double MostCode = 1.02, LengthOfGain = 0.99;
/// For the goal of throughput: the cost of a gain, relative to the stock orders. Estimates are not more exact than this.
static constexpr double CostOfGain = 0.97;
/// The same for orders that pull apart what LLVM keeps together, where estimates are wrong most often.
static constexpr double CostOfGainPulledApart = 0.9;
/// The filter of paper 4: so few waves must not cost more cycles than this.
static constexpr unsigned FewWaves = 3, FewCycles = 63;

const char *describe(Verdict Result) {
  switch (Result) {
  case Verdict::Accepted:
    return "";
  case Verdict::FewerWaves:
    return "fewer waves";
  case Verdict::MoreSpills:
    return "more spills";
  case Verdict::MoreScalarSpills:
    return "more scalar spills";
  case Verdict::MoreRegisters:
    return "more registers";
  case Verdict::MoreCode:
    return "more code";
  case Verdict::Filtered:
    return "too many cycles for few waves";
  case Verdict::NothingGained:
    return "nothing gained";
  }
  return "";
}

bool canGain(const Candidate &New, const Candidate &Stock, const Rules &Rules) {
  const FinalCode &Before = *Stock.Final;
  if (Before.Spills > 0)
    return true;
  // Pressure is a lower bound on registers, so the promised waves are an upper bound.
  if (Rules.Goal != LOWTIDE_THROUGHPUT && New.Kernel.occupancy > Before.Waves)
    return true;
  if (Rules.Goal == LOWTIDE_MIN_REG && New.peak(0) < Before.Registers[0])
    return true;
  if (Rules.Goal == LOWTIDE_THROUGHPUT)
    return New.Kernel.occupancy > Before.Waves ||
           New.cost(New.Kernel.occupancy) <= CostOfGain * Stock.cost(Before.Waves);
  return New.weightedLength() <= LengthOfGain * Stock.weightedLength();
}

bool boundsAllowGain(const Candidate &Stock, const Rules &Rules) {
  const lowtide_kernel_result &Kernel = Stock.Kernel;
  return Rules.Goal != LOWTIDE_THROUGHPUT || Stock.spilled() > 0 || Kernel.occupancy_bound > Kernel.occupancy ||
         Stock.costBound(Kernel.occupancy) <= CostOfGain * Stock.cost(Kernel.occupancy);
}

bool promisesGain(const Candidate &New, const Candidate &Stock, const Rules &Rules) {
  // Only throughput can tell without knowing what the allocator makes of the stock orders.
  unsigned Waves = New.Kernel.occupancy;
  return Rules.Goal != LOWTIDE_THROUGHPUT || Stock.spilled() > 0 || Waves > Stock.Kernel.occupancy ||
         New.cost(Waves) <= CostOfGain * Stock.cost(Stock.Kernel.occupancy);
}

/// Return whether the code has both more wide carries and more waits: pairs and clusters of the stock orders are split.
static bool isPulledApart(const FinalCode &After, const FinalCode &Before) {
  return After.Waves == Before.Waves && After.WideCarries > Before.WideCarries && After.Waits > Before.Waits;
}

static bool isGain(const FinalCode &After, const FinalCode &Before, const Rules &Rules) {
  if (Rules.Goal == LOWTIDE_THROUGHPUT) {
    // Nobody knows the latencies exactly, so LLVM's must not contradict those of the target.
    bool IsSlowerForLLVM = After.Length * Before.Waves > Before.Length * After.Waves;
    // A wave without a price is welcome, even if the estimate does not need it.
    bool IsFreeWave = After.Waves > Before.Waves && After.Length <= Before.Length && After.cost() <= Before.cost();
    double Needed = isPulledApart(After, Before) ? CostOfGainPulledApart : CostOfGain;
    return (After.cost() <= Needed * Before.cost() && !IsSlowerForLLVM) || IsFreeWave;
  }
  return After.Waves > Before.Waves || After.StackBytes < Before.StackBytes || After.Spills < Before.Spills ||
         After.ScalarSpills + MoreScalarSpillsAllowed < Before.ScalarSpills ||
         After.Length <= LengthOfGain * Before.Length ||
         (Rules.Goal == LOWTIDE_MIN_REG && After.Registers[0] < Before.Registers[0]);
}

Verdict judge(const Candidate &New, const Candidate &Stock, const Rules &Rules) {
  const FinalCode &After = *New.Final, &Before = *Stock.Final;
  for (size_t I = 0; I != std::size(Before.WavesWith); ++I)
    if (After.WavesWith[I] < Before.WavesWith[I])
      return Verdict::FewerWaves;
  if (After.StackBytes > Before.StackBytes || After.Spills > Before.Spills)
    return Verdict::MoreSpills;
  if (After.ScalarSpills > Before.ScalarSpills + MoreScalarSpillsAllowed)
    return Verdict::MoreScalarSpills;
  unsigned MoreWaves = After.Waves - Before.Waves;
  // Registers within the same waves cost no time.
  if (Rules.Goal != LOWTIDE_THROUGHPUT && MoreWaves == 0 && After.Registers[0] > Before.Registers[0])
    return Verdict::MoreRegisters;
  if (MoreWaves == 0 && double(After.CodeBytes) > MostCode * double(Before.CodeBytes))
    return Verdict::MoreCode;
  if (Rules.Filter && MoreWaves > 0 && MoreWaves <= FewWaves && New.length() > Stock.length() + FewCycles)
    return Verdict::Filtered;
  return isGain(After, Before, Rules) ? Verdict::Accepted : Verdict::NothingGained;
}

const char *reasonToRejectByPressure(const Candidate &New, const Candidate &Stock, const Occupancy &Waves) {
  // The search counts registers between instructions. The back end also counts operands and results together.
  bool IsWorse = Waves.ofPeaks(New.peaksAtInstrs()) < Waves.ofPeaks(Stock.peaksAtInstrs());
  return IsWorse ? "fewer waves by pressure" : nullptr;
}

bool isBetter(const Candidate &New, const Candidate &Old, const Rules &Rules) {
  auto Cost = [&](const FinalCode &Code) {
    bool IsThroughput = Rules.Goal == LOWTIDE_THROUGHPUT;
    return std::make_tuple(Code.StackBytes, Code.Spills, IsThroughput ? Code.cost() : -double(Code.Waves), Code.Length);
  };
  return Cost(*New.Final) < Cost(*Old.Final);
}

} // namespace lowtide

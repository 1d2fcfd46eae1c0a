//===- Decision.h - Which orders are kept ------------------------*- C++ -*-===//
//
// Lowtide must never make a function worse, and must not change it for nothing. A candidate is accepted only if the
// finished function has, compared with the stock orders:
//   1. no fewer waves,
//   2. no more scratch memory, no more spill instructions, and at most 2 more spilled scalar registers,
//   3. at equal waves, no more registers of the first file, and at most 2 % more code,
//   4. with the filter, not 1 to 3 more waves for more than 63 cycles,
//   5. a gain: more waves, fewer spills, or code that takes at least 1 % less time. For the goal of fewest registers,
//      fewer registers are a gain as well. For the goal of throughput, only at least 3 % less cost is a gain, if the
//      time by LLVM's latencies has not grown more than the waves.
// Among accepted candidates the one with the least scratch memory wins, then fewest spills, most waves (for the goal of
// throughput: least cost), shortest time.
// Without trials, register pressure takes the place of the figures of finished code.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_DECISION_H
#define LOWTIDE_LLVM_DECISION_H

#include "Candidate.h"
#include "Occupancy.h"

namespace lowtide {

/// What the user has asked for.
struct Rules {
  lowtide_goal Goal;
  /// Reject few waves that cost many cycles.
  bool Filter;
};

/// The first rule that a candidate breaks.
enum class Verdict {
  Accepted,
  FewerWaves,
  MoreSpills,
  MoreScalarSpills,
  MoreRegisters,
  MoreCode,
  Filtered,
  NothingGained,
};

/// Return the verdict as text for the report.
const char *describe(Verdict Result);

/// Return whether any orders can gain, by the bounds that are known of the stock orders before a search.
bool boundsAllowGain(const Candidate &Stock, const Rules &Rules);

/// Return whether a candidate promises a gain over the stock orders, before any trial.
bool promisesGain(const Candidate &New, const Candidate &Stock, const Rules &Rules);

/// Return whether a candidate could be accepted after a trial, by the promises of its search. The stock orders need a
/// successful trial.
bool canGain(const Candidate &New, const Candidate &Stock, const Rules &Rules);

/// Compare a candidate with the stock orders. Both need a successful trial.
Verdict judge(const Candidate &New, const Candidate &Stock, const Rules &Rules);

/// Return why a candidate is worse than the stock orders by pressure alone; nullptr if it is not.
const char *reasonToRejectByPressure(const Candidate &New, const Candidate &Stock, const Occupancy &Waves);

/// Return whether an accepted candidate is better than another one. Both need a successful trial.
bool isBetter(const Candidate &New, const Candidate &Old, const Rules &Rules);

} // namespace lowtide

#endif

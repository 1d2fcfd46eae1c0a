//===- Decision.h - Which orders are kept ------------------------*- C++ -*-===//
//
// Lowtide must never make a function worse. A candidate is accepted only if the allocated function has, compared with
// the stock orders:
//   1. no fewer waves,
//   2. no more scratch memory and no more spill instructions,
//   3. at equal waves, no more registers of the first file.
// Among accepted candidates the one with the least scratch memory wins, then fewest spills, most waves, shortest
// schedules. Without trials, register pressure takes the place of allocated registers.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_DECISION_H
#define LOWTIDE_LLVM_DECISION_H

#include "Candidate.h"
#include "Occupancy.h"

namespace lowtide {

/// Return whether a candidate must be accepted, whatever a trial of the stock orders would show. The stock orders
/// cannot need fewer registers than their pressure, so reaching that pressure without spills is enough.
bool isSurelyNoWorse(const Candidate &New, const Candidate &Stock, const Occupancy &Waves);

/// Return why a candidate is worse than the stock orders; nullptr if it is not. Both need a successful trial.
const char *reasonToReject(const Candidate &New, const Candidate &Stock, const Occupancy &Waves);

/// Return the same by pressure alone, for a process that cannot run trials.
const char *reasonToRejectByPressure(const Candidate &New, const Candidate &Stock, const Occupancy &Waves);

/// Return whether an accepted candidate is better than another one. Both need a successful trial.
bool isBetter(const Candidate &New, const Candidate &Old, const Occupancy &Waves);

} // namespace lowtide

#endif

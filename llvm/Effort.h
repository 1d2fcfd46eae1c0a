//===- Effort.h - How much time a function may take --------------*- C++ -*-===//
//
// Most functions need one or two tries. Where the register allocator loses every gain, there are up to twenty, and a
// compilation would take ten times as long. With a time budget, all searches and trials of a thread together may take
// `MostShare` times the processor time of the rest of the compilation so far: functions that need little leave more to the others.
// The first try is always allowed, but its search gets only what is left of that time, and at least 15 % of its
// budget: a large function in a short compilation would take several times as long as the rest. With a budget of steps,
// the number of tries depends on the size of the function alone, so that the code is the same on every machine.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_EFFORT_H
#define LOWTIDE_LLVM_EFFORT_H

#include "lowtide.h"
#include <cstddef>
#include <cstdint>

namespace lowtide {

/// The time that was spent on functions, in seconds. Copies of the process run beside it, so that both differ.
struct Spent {
  double Wall = 0, Processor = 0;
};

class Effort {
public:
  /// Limit the effort for a function of this many instructions.
  Effort(const lowtide_options &Options, size_t Instrs);

  /// Return whether one more try is allowed after `Tries` tries. `OfFunction` is the time spent on the function so
  /// far, and `TrialSeconds` that of its first trial.
  bool allows(size_t Tries, Spent OfFunction, double TrialSeconds) const;

  /// Return the budget of a search in nanoseconds per instruction: `Wanted`, or less where little time is left.
  /// `OfFunction` is the time spent on the function so far.
  uint64_t budget(uint64_t Wanted, size_t Instrs, Spent OfFunction) const;

  /// Add the time spent on a function, once it is complete.
  static void add(Spent OfFunction);

private:
  size_t MostTries;
  double MostShare;
};

} // namespace lowtide

#endif

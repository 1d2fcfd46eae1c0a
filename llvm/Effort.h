//===- Effort.h - How much time a function may take --------------*- C++ -*-===//
//
// Most functions need one or two tries. Where the register allocator loses every gain, there are up to twenty, and a
// compilation would take ten times as long. With a time budget, all searches and trials of a thread together may take
// `MostShare` times as long as the rest of the compilation so far: functions that need little leave more to the others.
// The first try is always allowed, but its search gets only what is left of that time, and at least a fifth of its
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

class Effort {
public:
  /// Limit the effort for a function of this many instructions.
  Effort(const lowtide_options &Options, size_t Instrs);

  /// Return whether one more try is allowed after `Tries` tries. `Seconds` is the time spent on the function so far,
  /// and `TrialSeconds` that of its first trial.
  bool allows(size_t Tries, double Seconds, double TrialSeconds) const;

  /// Return the budget of a search in nanoseconds per instruction: `Wanted`, or less where little time is left.
  /// `Seconds` is the time spent on the function so far.
  uint64_t budget(uint64_t Wanted, size_t Instrs, double Seconds) const;

  /// Add the time spent on a function, once it is complete.
  static void add(double Seconds);

private:
  size_t MostTries;
  double MostShare;
};

} // namespace lowtide

#endif

//===- Report.h - The record of one function ---------------------*- C++ -*-===//
//
// Holds every order that was tried for a function, the decision and the time of each stage. Writes them as
// one line of JSON for -lowtide-report. docs/llvm.md lists the keys.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_REPORT_H
#define LOWTIDE_LLVM_REPORT_H

#include "Candidate.h"
#include "Effort.h"
#include "Occupancy.h"
#include <chrono>
#include <string>
#include <vector>

namespace lowtide {

/// Return the processor time of this thread so far and, if the compiler has no others, of the threads of its searches.
double processorSeconds();

struct FunctionReport {
  /// The size of the function: its regions, and the instructions in these.
  size_t Regions = 0, Instrs = 0;
  /// The orders of the stock scheduler.
  Candidate Stock;
  std::vector<Candidate> Tries;
  /// The index of the try that is applied; negative if the stock orders stay.
  int Chosen = -1;
  /// Why the last rejected try was rejected, or why there was no search.
  std::string Reason;
  /// Whether an earlier compilation has decided.
  bool IsRemembered = false;
  double StockSeconds = 0, DescribeSeconds = 0, SearchSeconds = 0;
  /// The processor time of trials, and the time until their reports came.
  double TrialSeconds = 0, WaitSeconds = 0;

  /// Return the time of everything but the stock scheduler.
  Spent spent() const {
    return {DescribeSeconds + SearchSeconds + WaitSeconds, OwnSeconds + TrialSeconds};
  }

  const Candidate &chosen() const { return Tries[size_t(Chosen)]; }

  /// Add the time since the last call, or since construction, to a stage.
  void addTime(double &Seconds);

  /// Return the report as one line of JSON.
  std::string format(const llvm::MachineFunction &MF, const RegisterFiles &Files, const Occupancy &Waves) const;

private:
  std::chrono::steady_clock::time_point Last = std::chrono::steady_clock::now();
  /// The processor time of this process at the last call, and that of all stages but the stock scheduler.
  double LastSeconds = processorSeconds(), OwnSeconds = 0;
};

} // namespace lowtide

#endif

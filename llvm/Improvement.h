//===- Improvement.h - The loop that improves one function -------*- C++ -*-===//
//
// For each plan (Plans.h): Lowtide searches for orders, the compiler finishes the code with them in a trial (Trial.h),
// and the decision (Decision.h) accepts or rejects the result. The loop ends when an accepted candidate has the most
// waves that any search has promised, or when no plan is left. It knows nothing of LLVM: the scheduler passes in the
// trial.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_IMPROVEMENT_H
#define LOWTIDE_LLVM_IMPROVEMENT_H

#include "Candidate.h"
#include "Decision.h"
#include "Occupancy.h"
#include "Report.h"
#include "Trial.h"
#include <functional>

namespace lowtide {

class Improvement {
public:
  /// Start to finish the code with the orders of a candidate. The call returns in both processes: `Trial::isRunning()`
  /// is true in the copy.
  using TrialFunction = std::function<Trial(const Candidate &)>;

  /// All arguments must outlive the object. Results go to `Summary`.
  Improvement(const lowtide_session *Session, const lowtide_kernel *Kernel, const Occupancy &Waves, const Rules &Asked,
              FunctionReport &Summary)
      : Session(Session), Kernel(Kernel), Waves(Waves), Asked(Asked), Summary(Summary) {}

  /// Measure the stock orders. Return false, with a reason in the report, on an error.
  bool measureStock(lowtide_options Options);

  /// Find a candidate by trials. In a copy of the process, return at once: the caller must return to the compiler.
  void runWithTrials(const lowtide_options &Options, bool CanLimitAllocator, TrialFunction StartTrial);

  /// Find a candidate by pressure alone.
  void runByPressure(lowtide_options Options);

private:
  bool finishTrial(Candidate &Orders, Trial &Copy);
  bool isReached() const;

  const lowtide_session *Session;
  const lowtide_kernel *Kernel;
  const Occupancy &Waves;
  const Rules Asked;
  FunctionReport &Summary;
};

} // namespace lowtide

#endif

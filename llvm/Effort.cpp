//===- Effort.cpp - How much time a function may take ---------------------===//

#include "Effort.h"
#include <algorithm>
#include <chrono>
#include <limits>

namespace lowtide {

using Clock = std::chrono::steady_clock;

namespace {
/// The time of one thread.
struct ThreadTime {
  Clock::time_point Start = Clock::now();
  Spent OnFunctions;

  /// Return the time that the rest of the compilation has taken so far.
  double others() const { return std::chrono::duration<double>(Clock::now() - Start).count() - OnFunctions.Wall; }

  void add(Spent More) {
    OnFunctions.Wall += More.Wall;
    OnFunctions.Processor += More.Processor;
  }
};
} // namespace

static ThreadTime &threadTime() {
  static thread_local ThreadTime Time;
  return Time;
}

/// Return the time of this thread, with the time that its current function has taken so far.
static ThreadTime timeWith(Spent OfFunction) {
  ThreadTime Time = threadTime();
  Time.add(OfFunction);
  return Time;
}

// The time of the main thread starts when the plugin is loaded.
[[maybe_unused]] static const ThreadTime &MainThread = threadTime();

Effort::Effort(const lowtide_options &Options, size_t Instrs) {
  constexpr size_t Unlimited = std::numeric_limits<size_t>::max();
  constexpr double UsualBudget = 250e3; // nanoseconds per instruction
  bool IsTimed = Options.nodes == 0;
  // Trials take more time than linear in the size of a function.
  MostTries = IsTimed ? Unlimited : std::clamp<size_t>(3000 / std::max<size_t>(Instrs, 1), 4, 12);
  // A larger budget is a wish for more effort, and no budget for any effort. The most waves take more trials than the best trade-off.
  double UsualShare = Options.goal == LOWTIDE_THROUGHPUT ? 0.4 : 1.5;
  MostShare = UsualShare * std::max(1.0, double(Options.nanoseconds_per_instr) / UsualBudget);
  if (!IsTimed || Options.nanoseconds_per_instr == 0)
    MostShare = std::numeric_limits<double>::infinity();
}

bool Effort::allows(size_t Tries, Spent OfFunction, double TrialSeconds) const {
  if (Tries == 0)
    return true;
  ThreadTime Time = timeWith(OfFunction);
  // The trial of the stock orders shows what the rest of the compilation will take.
  double Needed = Time.OnFunctions.Processor + TrialSeconds;
  return Tries < MostTries && Needed <= MostShare * (Time.others() + TrialSeconds);
}

uint64_t Effort::budget(uint64_t Wanted, size_t Instrs, Spent OfFunction) const {
  // A search of all goals and numbers of waves goes over the function this many times.
  constexpr double Passes = 4;
  constexpr double LeastPart = 0.15;
  ThreadTime Time = timeWith(OfFunction);
  double Left = MostShare * Time.others() - Time.OnFunctions.Processor;
  double Needed = Passes * 1e-9 * double(Wanted) * double(std::max<size_t>(Instrs, 1));
  if (Left >= Needed)
    return Wanted;
  // Round up, since 0 means no limit.
  return 1 + uint64_t(double(Wanted) * std::max(LeastPart, Left / Needed));
}

void Effort::add(Spent OfFunction) { threadTime().add(OfFunction); }

} // namespace lowtide

//===- Improvement.cpp - The loop that improves one function --------------===//

#include "Improvement.h"
#include "Effort.h"
#include "Plans.h"
#include "Trial.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <thread>

using namespace llvm;

namespace lowtide {

/// Return whether a copy of the process can run beside it.
static bool hasCores() {
  static const bool Has = std::thread::hardware_concurrency() > 1;
  return Has;
}

bool Improvement::measureStock(lowtide_options Options) {
  Options.algorithm = "source";
  std::optional<Candidate> Stock = search(Session, Kernel, Options, Summary.Reason);
  if (Stock)
    Summary.Stock = std::move(*Stock);
  return Stock.has_value();
}

void Improvement::runByPressure(lowtide_options Options) {
  Plan First = firstPlan(Options, Summary.Stock);
  std::optional<Candidate> New = search(Session, Kernel, First.Options, Summary.Reason);
  if (New && New->chooseOrders(Summary.Stock, First.Regions, lowtide_goal(Options.goal))) {
    const char *Rejected = reasonToRejectByPressure(*New, Summary.Stock, Waves);
    Summary.Reason = Rejected ? Rejected : "";
    Summary.Chosen = Rejected ? -1 : 0;
    Summary.Tries.push_back(std::move(*New));
  }
  Summary.addTime(Summary.SearchSeconds);
}

void Improvement::runWithTrials(const lowtide_options &Options, bool CanLimitAllocator, TrialFunction StartTrial) {
  if (!boundsAllowGain(Summary.Stock, Asked)) {
    Summary.Reason = describe(Verdict::NothingGained);
    return;
  }
  const Effort Limit(Options, Summary.Instrs);
  std::vector<Plan> Plans = {firstPlan(Options, Summary.Stock)};
  // A compiler that has several threads uses the cores itself.
  Plans.front().Options.threads = hasCores() && !Trial::isThreaded() ? 2 : 1;
  uint64_t &Budget = Plans.front().Options.nanoseconds_per_instr;
  Budget = Limit.budget(Budget, Summary.Instrs, Summary.spent());
  double StockTrialSeconds = 0;
  // Nearly every search that the bounds allow promises something, so the trial of the stock orders runs beside it.
  Trial OfStock = hasCores() ? StartTrial(Summary.Stock) : Trial();
  if (Trial::isRunning())
    return;
  for (size_t I = 0; I != Plans.size(); ++I) {
    const Plan &Next = Plans[I];
    // A plan for fewer waves than an accepted try already has cannot win.
    if (Next.Waves && Summary.Chosen >= 0 && Summary.chosen().Final->Waves >= Next.Waves)
      continue;
    if (!Limit.allows(Summary.Tries.size(), Summary.spent(), StockTrialSeconds))
      break;
    std::optional<Candidate> New = search(Session, Kernel, Next.Options, Summary.Reason);
    bool IsNew = false;
    if (New) {
      New->AllocatorLimit = Next.Waves ? Waves.registersFor(Next.Waves) : 0;
      IsNew = New->chooseOrders(Summary.Stock, Next.Regions, lowtide_goal(Next.Options.goal)) &&
              none_of(Summary.Tries, [&](const Candidate &Other) { return New->isSame(Other); });
    }
    Summary.addTime(Summary.SearchSeconds);
    if (!IsNew)
      continue;

    // The trial of the stock orders decides whether the promises are worth a trial of their own. With a core for each,
    // both run at once.
    Trial OfNew;
    if (!Summary.Stock.Final) {
      if (!promisesGain(*New, Summary.Stock, Asked)) {
        Summary.Reason = describe(Verdict::NothingGained);
        Summary.Tries.push_back(std::move(*New));
        return;
      }
      if (hasCores())
        OfNew = StartTrial(*New);
      else
        OfStock = StartTrial(Summary.Stock);
      if (Trial::isRunning() || !finishTrial(Summary.Stock, OfStock))
        return;
      StockTrialSeconds = OfStock.seconds();
      Summary.addTime(Summary.WaitSeconds);
    }
    if (!canGain(*New, Summary.Stock, Asked)) {
      Summary.Reason = describe(Verdict::NothingGained);
      Summary.Tries.push_back(std::move(*New));
      if (I == 0)
        return;
      continue;
    }
    if (!OfNew.isStarted())
      OfNew = StartTrial(*New);
    if (Trial::isRunning())
      return;
    bool IsFinished = finishTrial(*New, OfNew);
    // A limit that is too tight can make the allocator fail. A failure of the free allocator has causes outside the
    // order, so further trials would fail too.
    if (!IsFinished && New->AllocatorLimit && !Trial::obstacle())
      continue;
    if (!IsFinished)
      return;
    Verdict Result = judge(*New, Summary.Stock, Asked);
    if (Result != Verdict::Accepted)
      Summary.Reason = describe(Result);
    else if (Summary.Chosen < 0 || isBetter(*New, Summary.chosen(), Asked))
      Summary.Chosen = int(Summary.Tries.size());
    Summary.Tries.push_back(std::move(*New));
    Summary.addTime(Summary.WaitSeconds);

    if (I == 0) {
      Progress So = {Summary.Stock, Summary.Tries.front(), Result, isReached(), CanLimitAllocator};
      std::vector<Plan> Further = furtherPlans(Next, So, Waves);
      Plans.insert(Plans.end(), Further.begin(), Further.end());
    } else if (isReached())
      break;
  }
}

/// Store the result of a trial in the candidate. Return whether there is one.
bool Improvement::finishTrial(Candidate &Orders, Trial &Copy) {
  Orders.Final = Copy.finish();
  Summary.TrialSeconds += Copy.seconds();
  if (Orders.Final)
    Waves.measure(*Orders.Final);
  else
    Summary.Reason = "the trial of the register allocator failed";
  return Orders.Final.has_value();
}

/// Return whether an accepted try has the most waves that any search has promised.
bool Improvement::isReached() const {
  unsigned Promised = Summary.Stock.Kernel.occupancy;
  for (const Candidate &Try : Summary.Tries)
    Promised = std::max(Promised, Try.Kernel.occupancy);
  return Summary.Chosen >= 0 && Summary.chosen().Final->Waves >= Promised;
}

} // namespace lowtide

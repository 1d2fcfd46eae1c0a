//===- Candidate.cpp - New orders for the regions of one function ---------===//

#include "Candidate.h"
#include <algorithm>

using namespace llvm;

namespace lowtide {

/// Cycles of a region with a new order for throughput, relative to the stock order. Other regions keep theirs, and with it
/// their loads, carries and waits.
static constexpr double WorthAChange = 0.99;

std::optional<Candidate> search(const lowtide_session *Session, const lowtide_kernel *Kernel,
                                const lowtide_options &Options, std::string &Reason) {
  Candidate Result;
  Result.SearchLimit = Options.registers;
  lowtide_outcome *Outcome = nullptr;
  char *Message = nullptr;
  lowtide_status Status = lowtide_schedule(Session, Kernel, &Options, &Outcome, &Message);
  Result.Outcome.reset(Outcome);
  if (Status == LOWTIDE_OK)
    Status = lowtide_outcome_kernel(Outcome, &Result.Kernel, &Message);
  Result.Regions.resize(Result.Kernel.regions);
  Result.Orders.resize(Result.Kernel.regions);
  for (size_t I = 0; I != Result.Regions.size() && Status == LOWTIDE_OK; ++I)
    Status = lowtide_outcome_region(Outcome, I, &Result.Regions[I], &Message);
  if (Status == LOWTIDE_OK)
    return Result;
  Reason = std::string("scheduling failed: ") + Message;
  lowtide_string_free(Message);
  return std::nullopt;
}

/// Return the estimated cycles of a SIMD for each of so many waves: docs/throughput.md has the formula.
static double cyclesPerWave(const lowtide_region_result &Region, unsigned Waves) {
  double Waits = Region.length - std::min(Region.length, Region.issue_cycles);
  return double(Region.issue_cycles) + Waits / std::max(1u, Waves) + Region.spill_cycles;
}

bool Candidate::chooseOrders(const Candidate &Stock, RegionChoice Choice, lowtide_goal Goal) {
  for (size_t I = 0; I != Regions.size(); ++I) {
    const lowtide_region_result &Before = Stock.Regions[I];
    lowtide_region_result &After = Regions[I];
    bool IsLimiting = Before.occupancy < Kernel.occupancy || Before.spilled > After.spilled ||
                      (SearchLimit && Before.peaks[0] > SearchLimit);
    bool IsImproved = Goal == LOWTIDE_MIN_REG ? After.peaks[0] < Before.peaks[0] : After.length < Before.length;
    if (Goal == LOWTIDE_THROUGHPUT)
      IsImproved = cyclesPerWave(After, Kernel.occupancy) <= WorthAChange * cyclesPerWave(Before, Kernel.occupancy);
    if (IsLimiting || Choice == RegionChoice::All || (Choice == RegionChoice::Improved && IsImproved)) {
      Orders[I] = ArrayRef<uint32_t>(After.order, After.count);
      ++Changed;
    } else
      After = Before;
  }
  return Changed > 0;
}

double Candidate::cost(unsigned Waves) const {
  double Sum = 0;
  for (const lowtide_region_result &Region : Regions) {
    Sum += Region.frequency * cyclesPerWave(Region, Waves);
  }
  return Sum;
}

double Candidate::costBound(unsigned Waves) const {
  double Sum = 0;
  for (lowtide_region_result Region : Regions) {
    Region.length = Region.length_bound;
    Region.spill_cycles = 0;
    Sum += Region.frequency * cyclesPerWave(Region, Waves);
  }
  return Sum;
}

uint64_t Candidate::length() const {
  uint64_t Sum = 0;
  for (const lowtide_region_result &Region : Regions)
    Sum += Region.length;
  return Sum;
}

double Candidate::weightedLength() const {
  double Sum = 0;
  for (const lowtide_region_result &Region : Regions)
    Sum += double(Region.frequency) * Region.length;
  return Sum;
}

uint64_t Candidate::spilled() const {
  uint64_t Sum = 0;
  for (const lowtide_region_result &Region : Regions)
    Sum += Region.spilled;
  return Sum;
}

unsigned Candidate::peak(unsigned File) const {
  unsigned Peak = 0;
  for (const lowtide_region_result &Region : Regions)
    Peak = std::max(Peak, Region.peaks[File]);
  return Peak;
}

std::vector<uint32_t> Candidate::peaksAtInstrs() const {
  std::vector<uint32_t> Peaks(Regions.front().classes);
  for (const lowtide_region_result &Region : Regions)
    for (size_t File = 0; File != Peaks.size(); ++File)
      Peaks[File] = std::max(Peaks[File], Region.peaks_at[File]);
  return Peaks;
}

} // namespace lowtide

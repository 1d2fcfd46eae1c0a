//===- Candidate.h - New orders for the regions of one function --*- C++ -*-===//
//
// A candidate is one set of orders for all regions of a function, with its figures at two stages. The search promises
// waves, length and pressure. A trial then shows the figures of the finished code.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_CANDIDATE_H
#define LOWTIDE_LLVM_CANDIDATE_H

#include "FinalCode.h"
#include "Owned.h"
#include "lowtide.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lowtide {

/// The regions that get new orders. All others keep the stock order.
enum class RegionChoice {
  /// Regions that limit the waves of the function, that spill, or that exceed the register limit of the search.
  Limiting,
  /// These, and regions where the new order is better for the goal: shorter, or with fewer registers.
  Improved,
  All,
};

struct Candidate {
  Owned<lowtide_outcome> Outcome;
  lowtide_kernel_result Kernel = {};
  std::vector<lowtide_region_result> Regions;
  /// The new order of each region; empty where the stock order stays.
  std::vector<llvm::ArrayRef<uint32_t>> Orders;
  /// The number of regions with a new order.
  unsigned Changed = 0;
  /// The register limit of the search, in the first file; 0 for none.
  unsigned SearchLimit = 0;
  /// The register limit of the allocator, in the first file; 0 for none.
  unsigned AllocatorLimit = 0;
  /// The figures of the finished code; none without a successful trial.
  std::optional<FinalCode> Final;

  /// Select the regions that get new orders. Return whether any region does.
  bool chooseOrders(const Candidate &Stock, RegionChoice Choice, lowtide_goal Goal);

  /// Return whether a trial of both candidates must have the same result.
  bool isSame(const Candidate &Other) const { return Orders == Other.Orders && AllocatorLimit == Other.AllocatorLimit; }

  /// Return the estimated cycles of a SIMD for each of so many waves: docs/throughput.md has the formula.
  double cost(unsigned Waves) const;
  /// Return a bound: no orders that allow so many waves, and no fewer than these orders, cost less.
  double costBound(unsigned Waves) const;

  /// Return the sum of the schedule lengths of all regions.
  uint64_t length() const;
  /// Return the same sum with the frequency of each region.
  double weightedLength() const;
  /// Return the sum of the registers that all regions must spill.
  uint64_t spilled() const;
  /// Return the highest pressure of any region between instructions, in one file.
  unsigned peak(unsigned File) const;
  /// Return the highest pressure of any region at instructions, where operands and results count together, by file.
  std::vector<uint32_t> peaksAtInstrs() const;
};

/// Schedule a kernel. Return none and set `Reason` on an error.
std::optional<Candidate> search(const lowtide_session *Session, const lowtide_kernel *Kernel,
                                const lowtide_options &Options, std::string &Reason);

} // namespace lowtide

#endif

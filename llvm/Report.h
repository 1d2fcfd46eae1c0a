//===- Report.h - What was found for a function, and what was kept -*- C++ -*-===//
#ifndef LOWTIDE_LLVM_REPORT_H
#define LOWTIDE_LLVM_REPORT_H

#include "Model.h"
#include "RegisterFiles.h"
#include "Trial.h"
#include "lowtide.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace lowtide {

/// The regions for which new orders are taken.
enum class Where {
  /// Where they are needed for the waves of the function, for fewer spills or for the limit on registers.
  Needed,
  /// There, and where they are better for the goal: shorter, or with fewer registers.
  Better,
  Everywhere,
};

/// Orders for all regions of a function: what they promise, and what the allocator makes of them.
struct Candidate {
  Owned<lowtide_outcome> Outcome;
  lowtide_kernel_result Kernel = {};
  std::vector<lowtide_region_result> Regions;
  /// For each region its new order, empty where the stock order stays.
  std::vector<llvm::ArrayRef<uint32_t>> Orders;
  unsigned Changed = 0;
  /// The registers of the first file that were allowed.
  unsigned Limit = 0;
  /// Those that the allocator is held to; 0 if it is not.
  unsigned AllocatorLimit = 0;
  std::optional<Allocation> Final;

  /// Takes new orders for some of the regions. Whether there are any.
  bool chooseOrders(const Candidate &Stock, Where Which, lowtide_goal Goal);
  /// Whether the allocator would make the same of both.
  bool isSame(const Candidate &Other) const { return Orders == Other.Orders && AllocatorLimit == Other.AllocatorLimit; }

  uint64_t length() const;
  uint64_t spilled() const;
  /// The highest pressure of any region.
  unsigned peak(unsigned File) const;
  /// The same with operands and results of an instruction counted together, for all files.
  std::vector<uint32_t> peaksAt() const;
};

struct FunctionReport {
  std::vector<CodeRegion> Regions;
  unsigned MostWaves = 0;
  Candidate Stock;
  std::vector<Candidate> Tries;
  /// The one that was taken; none if negative.
  int Chosen = -1;
  /// Why the last one that was not taken was not, or why nothing was tried.
  std::string Reason;
  double StockSeconds = 0, DescribeSeconds = 0, SearchSeconds = 0, TrialSeconds = 0;

  /// Adds the time since the last call.
  void take(double &Seconds) {
    auto Now = std::chrono::steady_clock::now();
    Seconds += std::chrono::duration<double>(Now - Last).count();
    Last = Now;
  }

  /// As a line of JSON.
  std::string format(const llvm::MachineFunction &MF, const RegisterFiles &Files,
                     llvm::function_ref<unsigned(const Allocation &)> Waves) const;

private:
  std::chrono::steady_clock::time_point Last = std::chrono::steady_clock::now();
};

} // namespace lowtide

#endif

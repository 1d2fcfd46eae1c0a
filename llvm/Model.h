//===- Model.h - A function as Lowtide sees it -------------------*- C++ -*-===//
//
// Finds the scheduling regions of a function and describes them to Lowtide: instructions with latencies and units,
// virtual registers by file and lane, dependences, and what is live at both ends.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_MODEL_H
#define LOWTIDE_LLVM_MODEL_H

#include "RegisterFiles.h"
#include "lowtide.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include <memory>
#include <string>
#include <vector>

namespace lowtide {

/// A stretch of code that the scheduler may reorder, as LLVM's own pass finds it.
struct CodeRegion {
  llvm::MachineBasicBlock *Block;
  llvm::MachineBasicBlock::iterator Begin, End;
  /// Instructions without those for the debugger, in the order in which they stand.
  std::vector<llvm::MachineInstr *> Instrs;
};

/// All regions of at least two instructions, block by block, from the end of each to its start.
std::vector<CodeRegion> findRegions(llvm::MachineFunction &MF);

/// What is live where a region starts, counted for all regions at once: one walk over the live ranges of the function.
class LiveWeights {
public:
  LiveWeights(const std::vector<CodeRegion> &Regions, RegisterFiles &Files, const llvm::MachineRegisterInfo &MRI,
              const llvm::LiveIntervals &LIS);
  /// The weight that is live where the region of this number starts, by file.
  const std::vector<unsigned> &at(unsigned Region) const { return Weights[Region]; }

private:
  std::vector<std::vector<unsigned>> Weights;
};

/// Frees what the C interface has given out.
struct Release {
  void operator()(lowtide_kernel *Kernel) const { lowtide_kernel_free(Kernel); }
  void operator()(lowtide_region *Region) const { lowtide_region_free(Region); }
  void operator()(lowtide_outcome *Outcome) const { lowtide_outcome_free(Outcome); }
  void operator()(lowtide_target *Target) const { lowtide_target_free(Target); }
  void operator()(lowtide_session *Session) const { lowtide_session_free(Session); }
  void operator()(char *Text) const { lowtide_string_free(Text); }
};
template <typename T> using Owned = std::unique_ptr<T, Release>;

/// Describes a region whose dependence graph `DAG` holds.
Owned<lowtide_region> describe(const CodeRegion &Region, llvm::StringRef Name, unsigned LoopDepth,
                               const std::vector<unsigned> &LiveWeight, RegisterFiles &Files,
                               const llvm::ScheduleDAGMI &DAG);

} // namespace lowtide

#endif

//===- Model.h - A function as Lowtide sees it -------------------*- C++ -*-===//
//
// Lowtide schedules kernels: regions of straight-line code, with the most waves that the function allows.
// This file translates a machine function of LLVM into a kernel. A region gets its instructions with
// latencies and units, its virtual registers by file and lane, and its dependences. It also gets the lanes
// that are live at both ends.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_MODEL_H
#define LOWTIDE_LLVM_MODEL_H

#include "Owned.h"
#include "RegisterFiles.h"
#include "lowtide.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include <string>
#include <vector>

namespace llvm {
class LiveIntervals;
class MachineFunction;
class ScheduleDAGMI;
class TargetSchedModel;
} // namespace llvm

namespace lowtide {

/// Straight-line code that the scheduler may reorder, with the boundaries of LLVM's own pass.
struct CodeRegion {
  llvm::MachineBasicBlock *Block;
  llvm::MachineBasicBlock::iterator Begin, End;
  /// The instructions in their current order, without debug instructions.
  std::vector<llvm::MachineInstr *> Instrs;
};

/// Return all regions of at least two instructions: block by block, and from the end of each block to its start.
std::vector<CodeRegion> findRegions(llvm::MachineFunction &MF);

/// The weight of the values that are live where each region starts. One walk over the live ranges of the function
/// counts it for all regions.
class LiveWeights {
public:
  LiveWeights(const std::vector<CodeRegion> &Regions, RegisterFiles &Files, const llvm::MachineRegisterInfo &MRI,
              const llvm::LiveIntervals &LIS);
  /// Return the live weight at the start of a region, by file.
  const std::vector<unsigned> &at(size_t Region) const { return Weights[Region]; }

private:
  std::vector<std::vector<unsigned>> Weights;
};

/// What the tables of a target know an instruction by.
struct InstrKind {
  std::string Opcode, Flags;
  std::vector<const char *> Units;
  std::vector<uint32_t> Cycles;
  int AddressSpace;

  InstrKind(const llvm::MachineInstr &MI, const llvm::TargetSchedModel &Model);

  /// Return the instruction for Lowtide. It refers to this object.
  lowtide_instr spec(unsigned Latency) const;
};

/// Return the description of a region that runs `Frequency` times per run of the function. `DAG` must hold its dependence
/// graph.
Owned<lowtide_region> describe(const CodeRegion &Region, llvm::StringRef Name, unsigned LoopDepth, double Frequency,
                               const std::vector<unsigned> &LiveWeight, RegisterFiles &Files,
                               const llvm::ScheduleDAGMI &DAG);

/// Return whether waves start at this function. Other functions are called.
bool isEntryPoint(const llvm::MachineFunction &MF);

/// Return a kernel without regions.
Owned<lowtide_kernel> newKernel(const llvm::MachineFunction &MF, const std::string &Target, unsigned MostWaves);

/// Add a region to a kernel. Return false and set `Reason` if the description is invalid.
bool addRegion(lowtide_kernel *Kernel, Owned<lowtide_region> Region, std::string &Reason);

} // namespace lowtide

#endif

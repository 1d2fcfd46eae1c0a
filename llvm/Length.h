//===- Length.h - How long finished code takes -------------------*- C++ -*-===//
//
// Scheduling regions end where blocks end, and their orders change until the code is printed: by copies and spills of
// the register allocator, by waits, and by the scheduler after allocation. This file estimates the time of the finished
// code with one model for all orders. A wave issues one instruction per cycle, in order. An instruction waits until its
// operands are ready, by the latencies of LLVM's model. `s_waitcnt` waits for all memory instructions that it names, in
// the order of their issue, whether their results are needed or not. Values on their way at the end of a block arrive in the next
// one: a block starts with the latest arrivals over all its predecessors. Blocks count by LLVM's block frequencies,
// relative to the entry.
//
// Two models of latencies are asked: LLVM's, and the table of the Lowtide target, which counts memory as hardware does.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_LENGTH_H
#define LOWTIDE_LLVM_LENGTH_H

#include <vector>

struct lowtide_target;

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

/// Return how often each block runs per run of the function, by its number.
std::vector<double> blockFrequencies(llvm::MachineFunction &MF);

/// The time of one block.
struct BlockTime {
  /// Executions per execution of the function.
  double Frequency;
  /// Cycles in which the block issues an instruction.
  unsigned Issue;
  /// These, and the cycles in which one wave waits for operands.
  unsigned Length;
};

/// Estimate the time of every reachable block of allocated code, with the latencies of a target, or LLVM's for nullptr.
std::vector<BlockTime> estimateTimes(llvm::MachineFunction &MF, const lowtide_target *Target);

} // namespace lowtide

#endif

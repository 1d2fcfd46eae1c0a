//===- FinalCode.h - The figures of finished code ----------------*- C++ -*-===//
//
// All that a user notices of an order, after the compiler has done everything else: registers and waves, memory and
// instructions for spilled values, size and time of the code. Every decision is based on these figures (Decision.h).
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_FINALCODE_H
#define LOWTIDE_LLVM_FINALCODE_H

#include <cstdint>
#include <iterator>

struct lowtide_target;

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

class RegisterFiles;

/// The figures. The object is copied between processes, so it must not hold pointers.
struct FinalCode {
  static constexpr unsigned MostFiles = 8, MostCosts = 32;

  /// Registers of each file.
  unsigned Registers[MostFiles] = {};
  /// The waves that fit, with all limits of the function and the most scalar registers that LLVM can reserve.
  unsigned Waves = 0;
  /// The same for each number of scalar registers that LLVM can reserve.
  static constexpr unsigned Reserves[] = {0, 2, 4, 6};
  unsigned WavesWith[std::size(Reserves)] = {};
  /// Bytes of the stack frame. On a GPU the frame is scratch memory.
  uint64_t StackBytes = 0;
  /// Instructions that store a register to the stack or load it back.
  unsigned Spills = 0;
  /// Scalar registers that are stored to lanes of vector registers or to the stack, as LLVM's `.sgpr_spill_count`.
  unsigned ScalarSpills = 0;

  /// Bytes of the machine code; 0 if the target does not tell.
  uint64_t CodeBytes = 0;
  /// Cycles in which one wave issues an instruction, and these with the cycles in which it waits, by block frequency and
  /// LLVM's latencies.
  double Issue = 0, Length = 0;
  /// The sum over blocks of frequency x (issue + (length - issue) / waves), for each number of waves from 1, with the
  /// latencies of the target.
  double CostAt[MostCosts] = {};
  /// Instructions that wait for memory.
  unsigned Waits = 0;
  /// Additions and subtractions with carry, and those of them with an encoding of 8 bytes.
  unsigned Carries = 0, WideCarries = 0;
  /// Loads that directly follow a load.
  unsigned LoadsAfterLoads = 0;

  /// Return the cycles that a SIMD needs per wave, if all waves run at once and wait together.
  double cost() const { return Waves == 0 || Waves > MostCosts ? Length : CostAt[Waves - 1]; }
};

/// Return the number of instructions that write a scalar to a lane of a vector register. After allocation, these
/// include the spilled scalars.
unsigned countLaneWrites(const llvm::MachineFunction &MF);

/// Set the figures that the register allocator and the frame decide. Call this right after the frame is laid out, as
/// LLVM counts spills there. `LaneWritesBefore` is the number of lane writes in the code before allocation.
void measureAllocation(FinalCode &Result, const llvm::MachineFunction &MF, const RegisterFiles &Files,
                       unsigned LaneWritesBefore);

/// Set the figures of the machine code. Call this as late as possible.
void measureCode(FinalCode &Result, llvm::MachineFunction &MF, const lowtide_target *Target);

} // namespace lowtide

#endif

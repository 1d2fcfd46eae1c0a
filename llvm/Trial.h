//===- Trial.h - What the register allocator makes of an order ---*- C++ -*-===//
//
// Pressure says how many registers an order needs at least; what a function gets in the end is up to the allocator. A
// trial finds that out: a copy of the compiler goes on with the order, as if it were the chosen one, until registers
// are allocated and the stack frame is laid out, reports, and ends. The copy is a process of its own (fork), so that
// nothing it does can be seen here, and what it reports is what the compiler itself will arrive at.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_TRIAL_H
#define LOWTIDE_LLVM_TRIAL_H

#include "RegisterFiles.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <optional>
#include <sys/types.h>

namespace lowtide {

/// What allocated code needs.
struct Allocation {
  static constexpr unsigned MostFiles = 8;
  /// Registers of each file.
  unsigned Registers[MostFiles] = {};
  /// Bytes of the stack frame: scratch memory, on a GPU.
  uint64_t StackBytes = 0;
  /// Instructions that move registers to the stack or back.
  unsigned Spills = 0;
};

class Trial {
public:
  /// Whether this process can be copied: it has one thread only, since a copy has no others.
  static bool isPossible();

  /// Whether this process is a copy.
  static bool isRunning();

  /// Starts a copy. Returns twice: here, and with `isRunning()` in the copy, which must then apply its order, return to
  /// the compiler, and never comes back.
  static Trial start(llvm::MachineFunction &MF, const RegisterFiles &Files);

  /// Waits for the report. None if there is none, since the copy has failed.
  std::optional<Allocation> finish();

private:
  pid_t Process = -1;
  int Pipe = -1;
};

} // namespace lowtide

#endif

//===- Trial.h - Run the register allocator on an order ----------*- C++ -*-===//
//
// Pressure is only a lower bound on the registers of an order; the allocator decides how many a function gets. Later
// passes decide about the size of the code. A trial measures both exactly. The process forks. The copy applies the
// order, continues the compilation until only branches are left to place, reports the figures through a pipe, and
// exits. The original process sees no side effect. Since the copy is the compiler itself, the original arrives at the
// same result if it takes the order.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_TRIAL_H
#define LOWTIDE_LLVM_TRIAL_H

#include "FinalCode.h"
#include <optional>
#include <utility>
#include <sys/types.h>

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

class RegisterFiles;

class Trial {
public:
  /// Return why this process cannot be copied; nullptr if it can.
  ///
  /// `fork` copies only the calling thread. A lock that another thread holds at that moment stays locked in the copy.
  /// The C library protects its own locks, and code generation takes few others, so a copy rarely waits for one. If a
  /// copy does not answer in time, it is killed, and this process is not copied again.
  static const char *obstacle();

  /// Return whether this process has several threads.
  static bool isThreaded();

  /// Return whether this process is a copy.
  static bool isRunning();

  /// Fork. The call returns in both processes. In the copy `isRunning()` is true: the caller must apply the order and
  /// return to the compiler. The copy exits inside the compiler.
  static Trial start(llvm::MachineFunction &MF, const RegisterFiles &Files, const lowtide_target *Target);

  /// Wait for the copy and return its report. Return none if the copy has failed.
  std::optional<FinalCode> finish();

  bool isStarted() const { return Pipe >= 0; }

  /// Return the processor time of a copy that has finished, in seconds.
  double seconds() const { return Seconds; }

  Trial() = default;
  Trial(Trial &&Other) { *this = std::move(Other); }
  Trial &operator=(Trial &&Other) {
    std::swap(Process, Other.Process);
    std::swap(Pipe, Other.Pipe);
    std::swap(Limit, Other.Limit);
    std::swap(Seconds, Other.Seconds);
    return *this;
  }
  /// A copy whose report nobody needs is killed.
  ~Trial();

private:
  void wait();

  pid_t Process = -1;
  int Pipe = -1;
  double Seconds = 0;
  /// The milliseconds in which the copy must answer; negative for no limit.
  int Limit = -1;
};

} // namespace lowtide

#endif

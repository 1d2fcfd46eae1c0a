//===- Trial.cpp - Run the register allocator on an order -----------------===//

#include "Trial.h"
#include "RegisterFiles.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace lowtide {

static bool IsCopy = false;

bool Trial::isRunning() { return IsCopy; }

bool Trial::isPossible() {
  unsigned Threads = 0;
  if (DIR *Tasks = opendir("/proc/self/task")) {
    while (const dirent *Entry = readdir(Tasks))
      Threads += Entry->d_name[0] != '.';
    closedir(Tasks);
  }
  return Threads == 1;
}

namespace {

/// Report to the original process at the end of the pipeline, and exit. LLVM has no hook for code outside the pass
/// pipeline, except that each optional pass asks this gate whether it may run.
class Reporter : public OptPassGate {
public:
  Reporter(MachineFunction &MF, const RegisterFiles &Files, int Pipe)
      : MF(MF), Files(Files), LaneWrites(isAMDGPU(MF) ? countLaneWrites(MF) : 0), Pipe(Pipe) {}

  bool isEnabled() const override { return true; }

#if LLVM_VERSION_MAJOR >= 16
  bool shouldRunPass(const StringRef Name, StringRef) override { return beforePass(Name); }
#else
  bool shouldRunPass(const Pass *P, StringRef) override { return beforePass(P->getPassName()); }
#endif

private:
  bool beforePass(StringRef PassName) {
    if (PassName == AfterFrame && MF.getProperties().hasProperty(MachineFunctionProperties::Property::NoVRegs)) {
      measureAllocation(Result, MF, Files, LaneWrites);
      IsAllocated = true;
    }
    if (!IsAllocated || PassName != (isAMDGPU(MF) ? AtEnd : AfterFrame))
      return true;
    measureCode(Result, MF);
    bool IsWritten = write(Pipe, &Result, sizeof Result) == ssize_t(sizeof Result);
    _exit(IsWritten ? 0 : 1);
  }

  /// The first optional pass after the frame is laid out.
  static constexpr const char *AfterFrame = "Control Flow Optimizer";
  /// The last optional pass of the AMDGPU back end. Only the relaxation of far branches follows. The last optional
  /// passes of other back ends differ, so their code is measured after the frame.
  static constexpr const char *AtEnd = "AMDGPU Insert Delay ALU";

  MachineFunction &MF;
  /// Held by value, because LLVM has destroyed the scheduler by then.
  RegisterFiles Files;
  unsigned LaneWrites;
  int Pipe;
  bool IsAllocated = false;
  FinalCode Result;
};

/// Exit on every error. By default LLVM prints some errors and continues with invalid code.
class ExitOnError : public DiagnosticHandler {
public:
  bool handleDiagnostics(const DiagnosticInfo &Message) override {
    if (Message.getSeverity() == DS_Error)
      _exit(1);
    return true;
  }
};

} // namespace

Trial Trial::start(MachineFunction &MF, const RegisterFiles &Files) {
  Trial Result;
  int Ends[2];
  if (pipe(Ends) != 0)
    return Result;
  Result.Process = fork();
  if (Result.Process != 0) {
    close(Ends[1]);
    Result.Pipe = Ends[0];
    return Result;
  }
  IsCopy = true;
  close(Ends[0]);
  // The copy must not print messages: the user sees those of the original process.
  if (int Null = open("/dev/null", O_WRONLY); Null >= 0) {
    dup2(Null, STDOUT_FILENO);
    dup2(Null, STDERR_FILENO);
  }
  MF.getFunction().getContext().setDiagnosticHandler(std::make_unique<ExitOnError>());
  // The gate lives until the process exits.
  MF.getFunction().getContext().setOptPassGate(*new Reporter(MF, Files, Ends[1]));
  return Result;
}

std::optional<FinalCode> Trial::finish() {
  if (Pipe < 0)
    return std::nullopt;
  FinalCode Result;
  size_t Got = 0;
  while (Got < sizeof Result) {
    ssize_t More = read(Pipe, reinterpret_cast<char *>(&Result) + Got, sizeof Result - Got);
    if (More < 0 && errno == EINTR)
      continue;
    if (More <= 0)
      break;
    Got += size_t(More);
  }
  close(Pipe);
  if (Process > 0)
    while (waitpid(Process, nullptr, 0) < 0 && errno == EINTR) {
    }
  if (Process < 0 || Got != sizeof Result)
    return std::nullopt;
  return Result;
}

} // namespace lowtide

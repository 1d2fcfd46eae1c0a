//===- Trial.cpp - Run the register allocator on an order -----------------===//

#include "Trial.h"
#include "Watch.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace lowtide {

static bool IsCopy = false;

bool Trial::isRunning() { return IsCopy; }

/// Whether a copy has not answered in time.
static std::atomic<bool> IsBlocked = false;

bool Trial::isThreaded() {
  unsigned Threads = 0;
  if (DIR *Tasks = opendir("/proc/self/task")) {
    while (const dirent *Entry = readdir(Tasks))
      Threads += Entry->d_name[0] != '.';
    closedir(Tasks);
  }
  return Threads > 1;
}

const char *Trial::obstacle() {
  if (IsBlocked)
    return "a copy of the compiler did not answer in time";
  // A copy that does not reach the passes in which it reports would write the output of the compiler.
  static const bool IsCut = [] {
    StringMap<cl::Option *> &Options = cl::getRegisteredOptions();
    for (const char *Name : {"stop-after", "stop-before", "disable-branch-fold", "amdgpu-enable-delay-alu"})
      if (auto At = Options.find(Name); At != Options.end() && At->second->getNumOccurrences() > 0)
        return true;
    return false;
  }();
  return IsCut ? "an option removes passes that a trial needs" : nullptr;
}

namespace {

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

/// Undo what the compiler does on an error: it would delete the output of the original process, or resume there.
static void exitOnErrors(LLVMContext &Context) {
  for (int Signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    signal(Signal, SIG_DFL);
  rlimit NoCore = {0, 0};
  setrlimit(RLIMIT_CORE, &NoCore);
  remove_fatal_error_handler();
  install_fatal_error_handler([](void *, const char *, bool) { _exit(1); });
  Context.setDiagnosticHandler(std::make_unique<ExitOnError>());
}

Trial Trial::start(MachineFunction &MF, const RegisterFiles &Files, const lowtide_target *Target) {
  // One thread at a time, so that no other copy inherits the end of the pipe that this copy writes to.
  static std::mutex Lock;
  std::lock_guard<std::mutex> Guard(Lock);
  Trial Result;
  int Ends[2];
  if (pipe(Ends) != 0)
    return Result;
  if (isThreaded())
    Result.Limit = int(std::min<size_t>(10'000 + MF.getInstructionCount(), INT_MAX));
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
  LLVMContext &Context = MF.getFunction().getContext();
  exitOnErrors(Context);
  watch(MF, Files, Target, [Pipe = Ends[1]](const FinalCode &Result) {
    bool IsWritten = write(Pipe, &Result, sizeof Result) == ssize_t(sizeof Result);
    _exit(IsWritten ? 0 : 1);
  });
  return Result;
}

/// Wait until there is something to read. Return false if that takes longer than `Limit` milliseconds.
static bool waitFor(int Pipe, int Limit) {
  using namespace std::chrono;
  auto End = steady_clock::now() + milliseconds(Limit);
  for (;;) {
    int Left = Limit < 0 ? -1 : int(std::max<long>(0, duration_cast<milliseconds>(End - steady_clock::now()).count()));
    pollfd Wait = {Pipe, POLLIN, 0};
    int Ready = poll(&Wait, 1, Left);
    if (Ready >= 0 || errno != EINTR)
      return Ready != 0;
  }
}

std::optional<FinalCode> Trial::finish() {
  if (Pipe < 0)
    return std::nullopt;
  FinalCode Result;
  size_t Got = 0;
  while (Got < sizeof Result) {
    if (!waitFor(Pipe, Limit)) {
      IsBlocked = true;
      // Without a copy the process is -1, which would mean every process.
      if (Process > 0)
        kill(Process, SIGKILL);
      break;
    }
    ssize_t More = read(Pipe, reinterpret_cast<char *>(&Result) + Got, sizeof Result - Got);
    if (More < 0 && errno == EINTR)
      continue;
    if (More <= 0)
      break;
    Got += size_t(More);
  }
  bool HasProcess = Process > 0;
  wait();
  if (!HasProcess || Got != sizeof Result)
    return std::nullopt;
  return Result;
}

/// Close the pipe and wait until the copy has exited.
void Trial::wait() {
  close(Pipe);
  Pipe = -1;
  rusage Used = {};
  if (Process > 0)
    while (wait4(Process, nullptr, 0, &Used) < 0 && errno == EINTR) {
    }
  Process = -1;
  auto ToSeconds = [](const timeval &Time) { return double(Time.tv_sec) + 1e-6 * double(Time.tv_usec); };
  Seconds = ToSeconds(Used.ru_utime) + ToSeconds(Used.ru_stime);
}

Trial::~Trial() {
  if (Pipe < 0 || IsCopy)
    return;
  if (Process > 0)
    kill(Process, SIGKILL);
  wait();
}

} // namespace lowtide

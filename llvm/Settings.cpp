//===- Settings.cpp - Command-line options and sessions -------------------===//

#include "Settings.h"
#include "Owned.h"
#include "RegisterFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>

using namespace llvm;

namespace lowtide {

static cl::OptionCategory Category("Lowtide options, for -misched=lowtide");

static cl::opt<std::string> Budget("lowtide-budget", cl::init("100us"), cl::cat(Category), cl::value_desc("time"),
                                   cl::desc("Limit each search to this time per instruction and pass, such as 250us, "
                                            "1ms or 2s (default: 100us; 0: no limit)"));
static cl::opt<unsigned long long> Nodes("lowtide-nodes", cl::init(0), cl::cat(Category), cl::value_desc("steps"),
                                         cl::desc("Limit each search to this number of steps instead of a time, for "
                                                  "the same code on every machine (default: 0, use -lowtide-budget)"));
static cl::opt<lowtide_goal> Goal("lowtide-goal", cl::init(LOWTIDE_THROUGHPUT), cl::cat(Category),
                                  cl::desc("Choose what the schedule optimises (default: throughput)"),
                                  cl::values(clEnumValN(LOWTIDE_THROUGHPUT, "throughput",
                                                        "minimise the estimated cycles for each wave"),
                                             clEnumValN(LOWTIDE_OCCUPANCY, "occupancy",
                                                        "maximise waves, then minimise schedule length"),
                                             clEnumValN(LOWTIDE_MIN_REG, "minreg", "minimise registers"),
                                             clEnumValN(LOWTIDE_LENGTH, "length",
                                                        "minimise schedule length without spills")));
static cl::opt<std::string> Algorithm("lowtide-algorithm", cl::cat(Category), cl::value_desc("name"),
                                      cl::desc("Choose the algorithm: waves (search for waves, list scheduling for "
                                               "length), list (no search), twopass (search for both), source (keep the "
                                               "stock order), or any other algorithm of `lowtide schedule` (default: "
                                               "waves, or auto for the goal minreg)"));
static cl::opt<std::string> Report("lowtide-report", cl::cat(Category), cl::value_desc("file"),
                                   cl::desc("Append one line of JSON per function: orders tried, their figures, and "
                                            "the decision"));
static cl::opt<std::string> Dump("lowtide-dump", cl::cat(Category), cl::value_desc("file"),
                                 cl::desc("Append all regions to a region file, with the order of the stock "
                                          "scheduler"));
static cl::opt<std::string> OrdersFile("lowtide-orders", cl::cat(Category), cl::value_desc("file"),
                                       cl::desc("Take the orders from a schedule file instead of a search. `lowtide "
                                                "schedule -o` writes it from a file of -lowtide-dump"));
static cl::opt<std::string> Only("lowtide-only", cl::cat(Category), cl::value_desc("name"),
                                 cl::desc("Schedule only this function with Lowtide"));
static cl::opt<std::string> TargetName("lowtide-target", cl::cat(Category), cl::value_desc("name or file.toml"),
                                       cl::desc("Use this target instead of the built-in one for the processor"));
static cl::opt<std::string> Store("lowtide-store", cl::cat(Category), cl::value_desc("path or url"),
                                  cl::desc("Keep decisions about functions and answers of searches in a folder, on a server "
                                           "(redis://HOST, http://HOST/PREFIX), or in a folder in front of a server "
                                           "(DIR,URL)"));
static cl::opt<bool> Trials("lowtide-trial", cl::init(true), cl::cat(Category),
                            cl::desc("Run the register allocator on new orders before accepting them (default: true)"));
static cl::opt<bool> Filter("lowtide-filter", cl::init(false), cl::cat(Category),
                            cl::desc("Reject 1-3 extra waves if they cost more than 63 cycles, summed over all regions "
                                     "(default: false)"));
static cl::opt<unsigned> GroupPrice("lowtide-group-price", cl::init(2), cl::cat(Category), cl::value_desc("cycles"),
                                    cl::desc("Let a schedule be this much longer for each pair that LLVM clusters or "
                                             "fuses and that stays together (default: 2; 0: pairs do not count)"));
static cl::opt<bool> AllTargets("lowtide-cpu", cl::init(false), cl::cat(Category),
                                cl::desc("Schedule for processors other than AMD GPUs as well (default: false)"));

bool isWanted(const MachineFunction &MF) { return isAMDGPU(MF) || AllTargets; }
bool isWantedFunction(StringRef Name) { return Only.empty() || Name == Only; }
bool isTrialWanted() { return Trials; }
StringRef reportFile() { return Report; }
StringRef dumpFile() { return Dump; }
bool hasStore() { return !Store.empty(); }
StringRef ordersFile() { return OrdersFile; }

void stop(const Twine &Message) {
  errs() << "lowtide: " << Message << "\n";
  exit(1);
}

/// Parse a time such as 250us.
static uint64_t nanoseconds(StringRef Text) {
  const std::pair<const char *, double> Units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  StringRef Number = Text;
  double Scale = 0;
  for (auto [Unit, Factor] : Units)
    if (Number.consume_back(Unit)) {
      Scale = Factor;
      break;
    }
  double Value = 0;
  bool IsBad = Number.getAsDouble(Value) || !(Value >= 0) || Value * Scale > 1e18;
  if (IsBad || (Scale == 0 && Value != 0))
    stop("-lowtide-budget=" + Text + " is not a time: write a number and a unit, such as 250us, 1ms or 2s");
  return uint64_t(Value * Scale);
}

lowtide_options schedulingOptions() {
  lowtide_options Options;
  lowtide_options_default(&Options);
  Options.goal = Goal;
  const char *Default = Goal == LOWTIDE_MIN_REG ? "auto" : "waves";
  Options.algorithm = Algorithm.empty() ? Default : Algorithm.c_str();
  Options.nanoseconds_per_instr = Nodes ? 0 : nanoseconds(Budget);
  Options.nodes = Nodes;
  Options.filter = Filter;
  Options.group_price = GroupPrice;
  char *Message = nullptr;
  if (lowtide_options_check(&Options, &Message) != LOWTIDE_OK)
    stop(Message);
  return Options;
}

/// Return the built-in target with the register files of a processor; empty for none.
static StringRef builtinTarget(StringRef CPU) {
  struct Family {
    const char *Target;
    std::initializer_list<const char *> Members;
  };
  static const Family Families[] = {
      {"gfx906", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
      {"gfx90a", {"gfx90a"}},
      {"gfx1030", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
      {"gfx1100", {"gfx1100", "gfx1101"}},
  };
  for (const Family &F : Families)
    for (const char *Member : F.Members)
      if (CPU == Member)
        return F.Target;
  return "";
}

/// Return the target file of a CPU: one wave has all registers, and more values are spilled.
static std::string describeCPU(const MachineFunction &MF, const RegisterFiles &Files, unsigned IssueWidth) {
  std::string Text;
  raw_string_ostream Out(Text);
  Out << "name = \"" << MF.getSubtarget().getCPU() << "\"\ndescription = \"from the compiler\"\n[issue]\nwidth = "
      << std::max(1u, IssueWidth) << "\n";
  for (const RegisterFile &File : Files.files())
    Out << "[[file]]\nname = \"" << File.Name << "\"\nsize = " << File.Size
        << "\ngranule = 1\nwaves = 1\nclasses = [{ name = \"" << File.Name << "\", max = " << File.Size << " }]\n";
  return Out.str();
}

namespace {
/// A session with the handles that it owns. `Reason` is set if the session could not be opened.
struct OwnedSession {
  Owned<lowtide_target> Target;
  Owned<lowtide_session> Handle;
  Session View;
  std::string Reason;
};
} // namespace

static void open(OwnedSession &Session, StringRef Name, StringRef Toml, const RegisterFiles &Files) {
  lowtide_target *Target = nullptr;
  lowtide_session *Handle = nullptr;
  char *Message = nullptr;
  lowtide_status Status = Toml.empty() ? lowtide_target_builtin(Name.str().c_str(), &Target, &Message)
                                       : lowtide_target_parse(Toml.str().c_str(), &Target, &Message);
  Session.Target.reset(Target);
  if (Status == LOWTIDE_OK) {
    Status = lowtide_session_open(Target, Store.c_str(), &Handle, &Message);
    if (Status != LOWTIDE_OK && !Store.empty())
      stop("-lowtide-store=" + Store + ": " + Message);
  }
  // The target must have the register classes of this processor.
  for (const RegisterFile &File : Files.files()) {
    const char *Class = File.Name.c_str();
    uint32_t Registers = 1, Waves;
    if (Status == LOWTIDE_OK)
      Status = lowtide_target_waves(Target, &Class, &Registers, 1, &Waves, &Message);
  }
  Session.Handle.reset(Handle);
  Session.View = {Target, Handle, Name.str()};
  if (Status != LOWTIDE_OK)
    Session.Reason = Message ? Message : "the session could not be opened";
  lowtide_string_free(Message);
}

const Session *findSession(const MachineFunction &MF, const RegisterFiles &Files, unsigned IssueWidth,
                           std::string &Reason) {
  // One session per target, for the lifetime of the compiler: functions share code, so cached results are reused.
  static std::map<std::string, OwnedSession> Sessions;
  // A linker can generate code on several threads.
  static std::mutex Lock;
  std::lock_guard<std::mutex> Guard(Lock);
  StringRef CPU = MF.getSubtarget().getCPU();
  std::string Name = TargetName, Toml;
  if (Files.files().empty()) {
    Reason = "no registers to allocate";
    return nullptr;
  }
  if (Name.empty() && isAMDGPU(MF)) {
    bool IsWave64 = MF.getSubtarget().getFeatureString().find("+wavefrontsize64") != StringRef::npos;
    bool IsRDNA = CPU.substr(0, 5) == "gfx10" || CPU.substr(0, 5) == "gfx11";
    Name = IsRDNA && IsWave64 ? "" : builtinTarget(CPU).str();
    if (Name.empty()) {
      Reason = ("no target for " + CPU + (IsWave64 ? " in wave64 mode" : "") + ": name one with -lowtide-target").str();
      return nullptr;
    }
  } else if (Name.empty()) {
    Name = CPU.str();
    Toml = describeCPU(MF, Files, IssueWidth);
  } else if (StringRef(Name).substr(Name.size() < 5 ? 0 : Name.size() - 5) == ".toml") {
    auto Text = MemoryBuffer::getFile(Name);
    if (!Text)
      stop("cannot read " + Name + ": " + Text.getError().message());
    Toml = (*Text)->getBuffer().str();
  }
  auto [At, IsNew] = Sessions.try_emplace(Name + "\n" + Toml);
  if (IsNew)
    open(At->second, Name, Toml, Files);
  if (!At->second.Reason.empty()) {
    if (!TargetName.empty())
      stop("-lowtide-target=" + TargetName + ": " + At->second.Reason);
    Reason = At->second.Reason;
    return nullptr;
  }
  return &At->second.View;
}

void warn(const Twine &Message) { errs() << "lowtide: warning: " + Message.str() + "\n"; }

void warnOnce(const Twine &Message) {
  static std::once_flag Once;
  std::call_once(Once, [&] { warn(Message); });
}

void append(StringRef File, StringRef Text) {
  std::error_code Error;
  raw_fd_ostream Out(File, Error, sys::fs::CD_OpenAlways, sys::fs::FA_Write, sys::fs::OF_Append);
  if (!Error) {
    // One write call, so that compilers that run in parallel do not mix their lines.
    Out.SetUnbuffered();
    Out << Text;
    Error = Out.error();
    Out.clear_error();
  }
  if (Error)
    stop("cannot write " + File + ": " + Error.message());
}

} // namespace lowtide

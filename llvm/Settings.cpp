//===- Settings.cpp - What the command line asks for ----------------------===//

#include "Settings.h"
#include "Model.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>

using namespace llvm;

namespace lowtide {

static cl::OptionCategory Category("Lowtide, the scheduler of -misched=lowtide");

static cl::opt<std::string> Budget("lowtide-budget", cl::init("1ms"), cl::cat(Category), cl::value_desc("time"),
                                   cl::desc("Time for each instruction and pass, such as 250us, 1ms or 2s; 0 for no limit"));
static cl::opt<unsigned long long> Nodes("lowtide-nodes", cl::init(0), cl::cat(Category), cl::value_desc("steps"),
                                         cl::desc("Steps of each search instead of time: the same result on every "
                                                  "machine; 0 for no limit"));
static cl::opt<lowtide_goal> Goal("lowtide-goal", cl::init(LOWTIDE_OCCUPANCY), cl::cat(Category),
                                  cl::desc("What to be best at"),
                                  cl::values(clEnumValN(LOWTIDE_OCCUPANCY, "occupancy", "most waves, then short schedules"),
                                             clEnumValN(LOWTIDE_MIN_REG, "minreg", "fewest registers"),
                                             clEnumValN(LOWTIDE_LENGTH, "length", "short schedules without spills")));
static cl::opt<std::string> Algorithm("lowtide-algorithm", cl::cat(Category), cl::value_desc("name"),
                                      cl::desc("How, as for `lowtide schedule`: waves (searches for waves, lists for "
                                               "length), list (no searches), twopass (searches for both), exact, ...; "
                                               "waves if not given, or auto for the goal minreg"));
static cl::opt<std::string> Report("lowtide-report", cl::cat(Category), cl::value_desc("file"),
                                   cl::desc("Add a line for each function: what was found and what was kept, as JSON"));
static cl::opt<std::string> Dump("lowtide-dump", cl::cat(Category), cl::value_desc("file"),
                                 cl::desc("Add all regions as a region file, with the order of the stock scheduler"));
static cl::opt<std::string> Only("lowtide-only", cl::cat(Category), cl::value_desc("name"),
                                 cl::desc("Leave all other functions to the stock scheduler"));
static cl::opt<std::string> TargetName("lowtide-target", cl::cat(Category), cl::value_desc("name or file.toml"),
                                       cl::desc("The target, where the processor's own is not built in"));
static cl::opt<bool> Trials("lowtide-trial", cl::init(true), cl::cat(Category),
                            cl::desc("Let the register allocator try an order before it is taken"));
static cl::opt<bool> Filter("lowtide-filter", cl::init(false), cl::cat(Category),
                            cl::desc("Do without up to 3 waves more if they cost more than 63 cycles, all regions together"));
static cl::opt<bool> AllTargets("lowtide-cpu", cl::init(false), cl::cat(Category),
                                cl::desc("Schedule for processors other than AMD GPUs, too"));

bool isWanted(const MachineFunction &MF) { return isAMDGPU(MF) || AllTargets; }
bool isWantedFunction(StringRef Name) { return Only.empty() || Name == Only; }
bool isTrialWanted() { return Trials; }
StringRef reportFile() { return Report; }
StringRef dumpFile() { return Dump; }

[[noreturn]] static void stop(const Twine &Message) {
  errs() << "lowtide: " << Message << "\n";
  exit(1);
}

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
    stop("-lowtide-budget=" + Text + " is not a time; give one such as 250us, 1ms or 2s");
  return uint64_t(Value * Scale);
}

lowtide_options schedulingOptions() {
  lowtide_options Options;
  lowtide_options_default(&Options);
  Options.goal = Goal;
  const char *Usual = Goal == LOWTIDE_MIN_REG ? "auto" : "waves";
  Options.algorithm = Algorithm.empty() ? Usual : Algorithm.c_str();
  Options.nanoseconds_per_instr = Nodes ? 0 : nanoseconds(Budget);
  Options.nodes = Nodes;
  Options.filter = Filter;
  char *Message = nullptr;
  if (lowtide_options_check(&Options, &Message) != LOWTIDE_OK)
    stop(Message);
  return Options;
}

// Processors that have the registers of another one, as far as scheduling is concerned.
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

/// A processor that has all registers to itself: what does not fit is spilled.
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
  if (Status == LOWTIDE_OK)
    Status = lowtide_session_new(Target, &Handle, &Message);
  // A target of another kind of processor knows nothing of these registers.
  for (const RegisterFile &File : Files.files()) {
    const char *Class = File.Name.c_str();
    uint32_t Registers = 1, Waves;
    if (Status == LOWTIDE_OK)
      Status = lowtide_target_waves(Target, &Class, &Registers, 1, &Waves, &Message);
  }
  Session.Handle.reset(Handle);
  Session.View = {Target, Handle, Name.str()};
  if (Status != LOWTIDE_OK)
    Session.Reason = Message ? Message : "no session";
  lowtide_string_free(Message);
}

const Session *findSession(const MachineFunction &MF, const RegisterFiles &Files, unsigned IssueWidth,
                           std::string &Reason) {
  // One for each target, for as long as the compiler runs: code repeats from function to function.
  static std::map<std::string, OwnedSession> Sessions;
  // A linker may generate code on several threads.
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
      Reason = ("no target for " + CPU + (IsWave64 ? " with 64 lanes" : "") + ": give one with -lowtide-target").str();
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

void append(StringRef File, StringRef Text) {
  std::error_code Error;
  raw_fd_ostream Out(File, Error, sys::fs::CD_OpenAlways, sys::fs::FA_Write, sys::fs::OF_Append);
  if (!Error) {
    // In one piece, so that compilers at work at the same time do not mix their lines.
    Out.SetUnbuffered();
    Out << Text;
    Error = Out.error();
    Out.clear_error();
  }
  if (Error)
    stop("cannot write " + File + ": " + Error.message());
}

} // namespace lowtide

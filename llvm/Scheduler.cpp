//===- Scheduler.cpp - Lowtide as a machine scheduler of LLVM -------------===//
//
// `llc -load liblowtide_llvm.so -misched=lowtide`. The stock scheduler of the target runs first, with all it does
// beyond reordering, such as rematerialisation. Lowtide then takes all regions of the function at once, starts from the
// stock orders, and replaces those that it can better. Before new orders are taken, the register allocator tries them
// (Trial.h); what would end with fewer waves, more scratch memory or more spills than the stock orders is dropped. Whatever
// cannot be described to Lowtide keeps the stock order.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "RegisterFiles.h"
#include "Settings.h"
#include "Trial.h"
#include "lowtide.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/MacroFusion.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <unistd.h>

using namespace llvm;

namespace lowtide {
namespace {

/// The scheduler that the target uses if none is named.
ScheduleDAGInstrs *createStockScheduler(MachineSchedContext *Context) {
  if (ScheduleDAGInstrs *Stock = Context->PassConfig->createMachineScheduler(Context))
    return Stock;
  return createGenericSchedLive(Context);
}

using MutationList = std::vector<std::unique_ptr<ScheduleDAGMutation>>;

/// What a target adds to the dependence graph is not exported by LLVM; it can only be had from a scheduler that has it.
struct MutationsOf : ScheduleDAGMI {
  static MutationList take(ScheduleDAGInstrs &Scheduler) {
    MutationList Taken;
    Taken.swap(static_cast<ScheduleDAGMI &>(Scheduler).*(&MutationsOf::Mutations));
    return Taken;
  }
};

/// Whether two objects are of one class. LLVM is built without RTTI; the table of virtual functions tells as much.
bool isSameClass(const ScheduleDAGMutation *A, const ScheduleDAGMutation *B) {
  return A && B && *reinterpret_cast<void *const *>(A) == *reinterpret_cast<void *const *>(B);
}

/// Gives out the instructions in an order that is known beforehand.
class FixedOrder : public MachineSchedStrategy {
public:
  void set(ArrayRef<uint32_t> NewOrder) { Order = NewOrder; }

  void initialize(ScheduleDAGMI *NewDAG) override {
    DAG = NewDAG;
    Next = 0;
  }
  SUnit *pickNode(bool &IsTopNode) override {
    IsTopNode = true;
    return Next == Order.size() ? nullptr : &DAG->SUnits[Order[Next++]];
  }
  // With lanes, the DAG keeps the flags of dead and undefined parts right while it moves instructions.
  bool shouldTrackPressure() const override { return true; }
  bool shouldTrackLaneMasks() const override { return true; }
  void schedNode(SUnit *, bool) override {}
  void releaseTopNode(SUnit *) override {}
  void releaseBottomNode(SUnit *) override {}

private:
  ScheduleDAGMI *DAG = nullptr;
  ArrayRef<uint32_t> Order;
  size_t Next = 0;
};

/// Orders for a function, and what they promise.
struct Candidate {
  const char *Name = "";
  Owned<lowtide_outcome> Outcome;
  lowtide_kernel_result Kernel = {};
  std::vector<lowtide_region_result> Regions;
  /// For each region its new order, empty where the stock order stays.
  std::vector<ArrayRef<uint32_t>> Orders;
  unsigned Changed = 0;
  std::optional<Allocation> Tried;

  uint64_t length() const {
    uint64_t Sum = 0;
    for (const lowtide_region_result &Region : Regions)
      Sum += Region.length;
    return Sum;
  }
  uint64_t spilled() const {
    uint64_t Sum = 0;
    for (const lowtide_region_result &Region : Regions)
      Sum += Region.spilled;
    return Sum;
  }
  /// The highest peak of any region.
  unsigned peak(unsigned File) const {
    unsigned Peak = 0;
    for (const lowtide_region_result &Region : Regions)
      Peak = std::max(Peak, Region.peaks[File]);
    return Peak;
  }
};

class Scheduler : public ScheduleDAGMILive {
public:
  Scheduler(MachineSchedContext *Context)
      : ScheduleDAGMILive(Context, std::make_unique<FixedOrder>()), Stock(createStockScheduler(Context)),
        Files(*Context->MF, *Context->RegClassInfo) {
    takeMutations(Context);
  }

  // The stock scheduler does its work as if it were alone.
  bool doMBBSchedRegionsTopDown() const override { return Stock->doMBBSchedRegionsTopDown(); }
  void startBlock(MachineBasicBlock *Block) override {
    ScheduleDAGMILive::startBlock(Block);
    Stock->startBlock(Block);
  }
  void finishBlock() override {
    ScheduleDAGMILive::finishBlock();
    Stock->finishBlock();
  }
  void enterRegion(MachineBasicBlock *Block, MachineBasicBlock::iterator Begin, MachineBasicBlock::iterator End,
                   unsigned Count) override {
    ScheduleDAGMILive::enterRegion(Block, Begin, End, Count);
    Stock->enterRegion(Block, Begin, End, Count);
  }
  void exitRegion() override {
    ScheduleDAGMILive::exitRegion();
    Stock->exitRegion();
  }
  void schedule() override {
    if (MostWaves == 0)
      MostWaves = findMostWaves();
    Stock->schedule();
  }
  void finalizeSchedule() override {
    Stock->finalizeSchedule();
    improve();
  }

private:
  void takeMutations(MachineSchedContext *Context);
  unsigned findMostWaves();

  /// Visits a region as the pass of the compiler does.
  template <typename Visit> void visit(CodeRegion &Region, Visit Do) {
    ScheduleDAGMILive::startBlock(Region.Block);
    ScheduleDAGMILive::enterRegion(Region.Block, Region.Begin, Region.End, unsigned(Region.Instrs.size()));
    Do();
    ScheduleDAGMILive::exitRegion();
    ScheduleDAGMILive::finishBlock();
  }

  void improve();
  void buildGraph(const CodeRegion &Region);
  bool describeKernel();
  std::optional<Candidate> ask(const char *Name, lowtide_options Options);
  void chooseOrders(Candidate &New, const Candidate &Old);
  bool decide(std::vector<Candidate> &Candidates, Candidate &Old, Candidate *&Best);
  void apply(const Candidate &Chosen);
  unsigned waves(const Allocation &Allocated) const;

  std::unique_ptr<ScheduleDAGInstrs> Stock;
  RegisterFiles Files;
  const Session *Current = nullptr;
  unsigned MostWaves = 0;
  std::vector<CodeRegion> Regions;
  Owned<lowtide_kernel> Kernel;
  /// Why the stock orders stay.
  std::string Reason;
};

// Sched-barriers and the like are binding; that loads stand side by side is a wish which even the source order does not
// fulfil, and so is that certain pairs are neighbours.
void Scheduler::takeMutations(MachineSchedContext *Context) {
  std::unique_ptr<ScheduleDAGInstrs> Another(createStockScheduler(Context));
  auto Loads = createLoadClusterDAGMutation(TII, TRI);
  auto Stores = createStoreClusterDAGMutation(TII, TRI);
#if LLVM_VERSION_MAJOR >= 18
  auto Fusion = createMacroFusionDAGMutation({});
#else
  auto Fusion = createMacroFusionDAGMutation(nullptr);
#endif
  for (std::unique_ptr<ScheduleDAGMutation> &Mutation : MutationsOf::take(*Another))
    if (!isSameClass(Mutation.get(), Loads.get()) && !isSameClass(Mutation.get(), Stores.get()) &&
        !isSameClass(Mutation.get(), Fusion.get()))
      addMutation(std::move(Mutation));
}

/// The waves that local memory, work-group size and attributes allow. Has to be asked before the stock scheduler
/// runs, which lowers the answer to what it reaches itself.
unsigned Scheduler::findMostWaves() {
  std::string Ignored;
  const Session *Found = findSession(MF, Files, SchedModel.getIssueWidth(), Ignored);
  if (!Found || !isAMDGPU(MF))
    return 1;
  unsigned Most = lowtide_target_max_waves(Found->Target);
  const char *Class = Files.files()[0].Name.c_str();
  uint32_t Limit = TRI->getRegPressureLimit(Files.files()[0].Base, MF), Waves = Most;
  lowtide_target_waves(Found->Target, &Class, &Limit, 1, &Waves, nullptr);
  Most = std::min(Most, Waves);
  // "fewest,most"
  StringRef Attribute = MF.getFunction().getFnAttribute("amdgpu-waves-per-eu").getValueAsString();
  unsigned Asked;
  if (!Attribute.split(',').second.trim().getAsInteger(10, Asked) && Asked > 0)
    Most = std::min(Most, Asked);
  return std::max(1u, Most);
}

/// Builds the dependence graph of a region, and changes nothing else.
void Scheduler::buildGraph(const CodeRegion &Region) {
  // LLVM takes it that instructions will be moved, and clears these flags, which it sets anew when it moves them.
  SmallVector<MachineOperand *, 32> Undefined;
  for (MachineInstr *MI : Region.Instrs)
    for (MachineOperand &Operand : MI->operands())
      if (Operand.isReg() && Operand.isDef() && Operand.isUndef())
        Undefined.push_back(&Operand);
  buildSchedGraph(AA, nullptr, nullptr, LIS, /*TrackLaneMasks=*/true);
  for (MachineOperand *Operand : Undefined)
    Operand->setIsUndef();
#if LLVM_VERSION_MAJOR >= 17
  postProcessDAG();
#else
  postprocessDAG();
#endif
}

bool Scheduler::describeKernel() {
  Kernel.reset(lowtide_kernel_new(MF.getName().str().c_str()));
  lowtide_kernel_set_origin(Kernel.get(), sys::path::stem(MF.getFunction().getParent()->getModuleIdentifier()).str().c_str());
  lowtide_kernel_set_target(Kernel.get(), Current->Name.c_str());
  lowtide_kernel_set_max_occupancy(Kernel.get(), MostWaves);
  LiveWeights Live(Regions, Files, MRI, *LIS);
  for (unsigned I = 0; I != Regions.size(); ++I) {
    CodeRegion &Region = Regions[I];
    Owned<lowtide_region> Description;
    visit(Region, [&] {
      buildGraph(Region);
      std::string Name = "bb" + std::to_string(Region.Block->getNumber()) + "." + std::to_string(I);
      unsigned Depth = MLI ? MLI->getLoopDepth(Region.Block) : 0;
      Description = describe(Region, Name, Depth, Live.at(I), Files, *this);
    });
    char *Message = nullptr;
    if (lowtide_kernel_add_region(Kernel.get(), Description.release(), &Message) != LOWTIDE_OK) {
      Reason = std::string("not described: ") + (Message ? Message : "");
      lowtide_string_free(Message);
      return false;
    }
  }
  return true;
}

std::optional<Candidate> Scheduler::ask(const char *Name, lowtide_options Options) {
  Candidate Result;
  Result.Name = Name;
  lowtide_outcome *Outcome = nullptr;
  char *Message = nullptr;
  lowtide_status Status = lowtide_schedule(Current->Handle, Kernel.get(), &Options, &Outcome, &Message);
  Result.Outcome.reset(Outcome);
  if (Status == LOWTIDE_OK)
    Status = lowtide_outcome_kernel(Outcome, &Result.Kernel, &Message);
  Result.Regions.resize(Regions.size());
  Result.Orders.resize(Regions.size());
  for (unsigned I = 0; I != Regions.size() && Status == LOWTIDE_OK; ++I)
    Status = lowtide_outcome_region(Outcome, I, &Result.Regions[I], &Message);
  if (Status != LOWTIDE_OK) {
    Reason = std::string("not scheduled: ") + (Message ? Message : "");
    lowtide_string_free(Message);
    return std::nullopt;
  }
  return Result;
}

/// Takes new orders only where they are needed for the waves of the kernel, or shorter.
void Scheduler::chooseOrders(Candidate &New, const Candidate &Old) {
  for (unsigned I = 0; I != Regions.size(); ++I) {
    const lowtide_region_result &Before = Old.Regions[I];
    lowtide_region_result &After = New.Regions[I];
    bool IsNeeded = Before.occupancy < New.Kernel.occupancy || Before.spilled > After.spilled;
    bool IsShorter = After.length < Before.length;
    if (IsNeeded || IsShorter) {
      New.Orders[I] = ArrayRef<uint32_t>(After.order, After.count);
      ++New.Changed;
    } else
      After = Before;
  }
}

void Scheduler::apply(const Candidate &Chosen) {
  for (unsigned I = 0; I != Regions.size(); ++I)
    if (!Chosen.Orders[I].empty())
      visit(Regions[I], [&] {
        static_cast<FixedOrder *>(SchedImpl.get())->set(Chosen.Orders[I]);
        ScheduleDAGMILive::schedule();
      });
}

unsigned Scheduler::waves(const Allocation &Allocated) const {
  std::vector<const char *> Classes;
  for (const RegisterFile &File : Files.files())
    Classes.push_back(File.Name.c_str());
  uint32_t Waves = 0;
  lowtide_target_waves(Current->Target, Classes.data(), Allocated.Registers, Classes.size(), &Waves, nullptr);
  return std::min(Waves, MostWaves);
}

void Scheduler::improve() {
  auto Start = std::chrono::steady_clock::now();
  if (!isWantedFunction(MF.getName()))
    return;
  Regions = findRegions(MF);
  if (Regions.empty())
    return;
  Current = findSession(MF, Files, SchedModel.getIssueWidth(), Reason);
  bool IsDescribed = Current && describeKernel();
  std::optional<Candidate> Old, New;
  lowtide_options Options = schedulingOptions();
  auto Described = std::chrono::steady_clock::now();
  if (IsDescribed) {
    lowtide_options AsIs = Options;
    AsIs.algorithm = "source";
    Old = ask("stock", AsIs);
  }
  if (Old) {
    Options.registers = Old->peak(0);
    New = ask("lowtide", Options);
  }
  auto Searched = std::chrono::steady_clock::now();
  bool IsTaken = false;
  if (New) {
    chooseOrders(*New, *Old);
    if (!New->Changed)
      Reason = "nothing better found";
    else if (isTrialWanted() && Trial::isPossible()) {
      Trial First = Trial::start(MF, Files);
      if (Trial::isRunning()) {
        apply(*New);
        return;
      }
      New->Tried = First.finish();
      Trial Second = Trial::start(MF, Files);
      if (Trial::isRunning())
        return;
      Old->Tried = Second.finish();
      if (!New->Tried || !Old->Tried)
        Reason = "the trial failed";
      else {
        unsigned Before = waves(*Old->Tried), After = waves(*New->Tried);
        if (After < Before)
          Reason = "fewer waves";
        else if (New->Tried->StackBytes > Old->Tried->StackBytes || New->Tried->Spills > Old->Tried->Spills)
          Reason = "more spills";
        else if (After == Before && New->Tried->Registers[0] > Old->Tried->Registers[0])
          Reason = "more registers";
        else
          IsTaken = true;
      }
    } else
      IsTaken = true;
  }
  if (IsTaken)
    apply(*New);
  auto End = std::chrono::steady_clock::now();
  if (!reportFile().empty()) {
    auto Seconds = [](auto From, auto To) { return std::chrono::duration<double>(To - From).count(); };
    std::string Line;
    raw_string_ostream Text(Line);
    json::OStream J(Text);
    J.object([&] {
      J.attribute("function", MF.getName());
      J.attribute("regions", int64_t(Regions.size()));
      size_t Count = 0;
      for (const CodeRegion &Region : Regions)
        Count += Region.Instrs.size();
      J.attribute("instructions", int64_t(Count));
      J.attribute("taken", IsTaken);
      J.attribute("reason", Reason);
      J.attribute("most_waves", MostWaves);
      J.attribute("describe_seconds", Seconds(Start, Described));
      J.attribute("search_seconds", Seconds(Described, Searched));
      J.attribute("trial_seconds", Seconds(Searched, End));
      for (const std::optional<Candidate> *C : {&Old, &New})
        if (*C)
          J.attributeObject((*C)->Name, [&] {
            J.attribute("waves", (*C)->Kernel.occupancy);
            J.attribute("waves_bound", (*C)->Kernel.occupancy_bound);
            J.attribute("length", int64_t((*C)->length()));
            J.attribute("spilled", int64_t((*C)->spilled()));
            J.attribute("peak", (*C)->peak(0));
            J.attribute("changed", (*C)->Changed);
            if ((*C)->Tried) {
              J.attribute("final_waves", waves(*(*C)->Tried));
              J.attribute("final_vgprs", (*C)->Tried->Registers[0]);
              J.attribute("final_sgprs", (*C)->Tried->Registers[1]);
              J.attribute("final_stack", int64_t((*C)->Tried->StackBytes));
              J.attribute("final_spills", (*C)->Tried->Spills);
            }
          });
    });
    Text << "\n";
    append(reportFile(), Text.str());
  }
}

ScheduleDAGInstrs *createScheduler(MachineSchedContext *Context) {
  // A copy of the compiler that has come to another function has missed its end.
  if (Trial::isRunning())
    _exit(1);
  if (!isWanted(*Context->MF))
    return createStockScheduler(Context);
  return new Scheduler(Context);
}

MachineSchedRegistry Registration("lowtide", "Lowtide: most waves, then short schedules", createScheduler);

} // namespace
} // namespace lowtide

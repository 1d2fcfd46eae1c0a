//===- Scheduler.cpp - Lowtide as a machine scheduler of LLVM -------------===//
//
// `llc -load liblowtide_llvm.so -misched=lowtide` selects this scheduler. It wraps the stock scheduler of the target:
//   1. The stock scheduler runs on every region, with its other changes such as rematerialisation.
//   2. Once the function is complete, all its regions are described to Lowtide together (Model.h).
//   3. The improvement loop looks for orders that are no worse than the stock orders (Improvement.h).
//   4. LLVM moves the instructions into the accepted orders.
// This file contains only the mechanics inside LLVM. Plans.h says which orders are tried, Decision.h which are kept. A
// function that cannot be described to Lowtide keeps the stock orders.
//
//===----------------------------------------------------------------------===//

#include "Dump.h"
#include "Effort.h"
#include "Improvement.h"
#include "Length.h"
#include "Memory.h"
#include "Model.h"
#include "Occupancy.h"
#include "Orders.h"
#include "RegisterFiles.h"
#include "Report.h"
#include "Settings.h"
#include "Trial.h"
#include "Watch.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/MacroFusion.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include <unistd.h>

using namespace llvm;

namespace lowtide {
namespace {

/// Return the scheduler that the target uses by default.
ScheduleDAGInstrs *createStockScheduler(MachineSchedContext *Context) {
  if (ScheduleDAGInstrs *Stock = Context->PassConfig->createMachineScheduler(Context))
    return Stock;
  return createGenericSchedLive(Context);
}

using MutationList = std::vector<std::unique_ptr<ScheduleDAGMutation>>;

/// Takes the mutations out of a scheduler. LLVM does not export the mutations of a target, and the member is protected.
struct MutationsOf : ScheduleDAGMI {
  static MutationList take(ScheduleDAGInstrs &Scheduler) {
    MutationList Taken;
    Taken.swap(static_cast<ScheduleDAGMI &>(Scheduler).*(&MutationsOf::Mutations));
    return Taken;
  }
};

/// Return whether two objects have the same class. LLVM is built without RTTI, so this compares virtual tables.
bool isSameClass(const ScheduleDAGMutation *A, const ScheduleDAGMutation *B) {
  return A && B && *reinterpret_cast<void *const *>(A) == *reinterpret_cast<void *const *>(B);
}

/// The function attribute that limits vector registers.
constexpr const char *RegisterLimit = "amdgpu-num-vgpr";

/// Return whether the allocator can be limited. A limit in the source code has precedence.
bool canLimitAllocator(const MachineFunction &MF) {
  return isAMDGPU(MF) && !MF.getFunction().hasFnAttribute(RegisterLimit);
}

/// Limit the allocator to this number of vector registers, with the attribute that source code can use.
void limitAllocator(MachineFunction &MF, unsigned Registers) {
  // LLVM doubles the number where vector and accumulation registers share a file.
  if (MF.getSubtarget().checkFeatures("+gfx90a-insts"))
    Registers /= 2;
  MF.getFunction().addFnAttr(RegisterLimit, std::to_string(Registers));
}

/// A scheduling strategy that picks instructions in a given order.
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
  // With lane tracking, LLVM updates the dead and undef flags of lanes when it moves instructions.
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

class Scheduler : public ScheduleDAGMILive {
public:
  Scheduler(MachineSchedContext *Context)
      : ScheduleDAGMILive(Context, std::make_unique<FixedOrder>()), Stock(createStockScheduler(Context)),
        Files(*Context->MF, *Context->RegClassInfo) {
    addMutations(Context);
  }

  // The stock scheduler gets every call of LLVM's pass.
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
    if (!Current)
      openSession();
    bool IsNamed = !dumpFile().empty() || (Orders::get() && Orders::get()->hasFunction(MF.getName()));
    if (Current && IsNamed && isWantedFunction(MF.getName()))
      recordRegion();
    Stock->schedule();
  }

  // LLVM calls this after the last region of the function.
  void finalizeSchedule() override {
    Stock->finalizeSchedule();
    if (!Recorded.empty() && !dumpFile().empty())
      Recorded.write(newKernel(MF, Current->Name, Waves.most()), dumpFile(), Summary.Reason);
    if (!isWantedFunction(MF.getName()))
      return;
    Regions = findRegions(MF);
    if (Regions.empty())
      return;
    Summary.Regions = Regions.size();
    for (const CodeRegion &Region : Regions)
      Summary.Instrs += Region.Instrs.size();
    improve();
    if (!Trial::isRunning() && !reportFile().empty())
      append(reportFile(), Summary.format(MF, Files, Waves));
  }

private:
  void addMutations(MachineSchedContext *Context);
  void openSession();
  void recordRegion();

  /// Visit a region with the calls of LLVM's pass around `Do`, without the stock scheduler.
  template <typename Action> void visit(CodeRegion &Region, Action Do) {
    ScheduleDAGMILive::startBlock(Region.Block);
    ScheduleDAGMILive::enterRegion(Region.Block, Region.Begin, Region.End, unsigned(Region.Instrs.size()));
    Do();
    ScheduleDAGMILive::exitRegion();
    ScheduleDAGMILive::finishBlock();
  }
  void buildGraph(const CodeRegion &Region);
  void addPairs(lowtide_region *Description);
  Owned<lowtide_region> describeRegion(const CodeRegion &Region, const std::string &Name,
                                       const std::vector<unsigned> &LiveWeight);
  Owned<lowtide_kernel> describeKernel(ArrayRef<Order> Given);
  bool findOrders(std::vector<Order> &Found);

  void improve();
  bool applyRemembered(const std::string &Key, lowtide_options Options);
  void rememberDecision(const std::string &Key);
  Trial startTrial(const Candidate &Orders);
  void apply(const Candidate &Chosen);

  std::unique_ptr<ScheduleDAGInstrs> Stock;
  /// Mutations that ask for pairs of instructions to stay together.
  MutationList Wishes;
  RegisterFiles Files;
  const Session *Current = nullptr;
  Occupancy Waves;
  /// How often each block runs, by its number.
  std::vector<double> Frequencies;
  Dump Recorded;
  std::vector<CodeRegion> Regions;
  FunctionReport Summary;
};

// Mutations add the target's own edges to the dependence graph. Edges of scheduling barriers and groups are binding.
// Clustered memory accesses and fused pairs are wishes, which even the source order does not fulfil. They get a price.
void Scheduler::addMutations(MachineSchedContext *Context) {
  std::unique_ptr<ScheduleDAGInstrs> Another(createStockScheduler(Context));
  auto Loads = createLoadClusterDAGMutation(TII, TRI);
  auto Stores = createStoreClusterDAGMutation(TII, TRI);
#if LLVM_VERSION_MAJOR >= 18
  auto Fusion = createMacroFusionDAGMutation({});
#else
  auto Fusion = createMacroFusionDAGMutation(nullptr);
#endif
  for (std::unique_ptr<ScheduleDAGMutation> &Mutation : MutationsOf::take(*Another)) {
    if (isSameClass(Mutation.get(), Loads.get()) || isSameClass(Mutation.get(), Stores.get()) ||
        isSameClass(Mutation.get(), Fusion.get()))
      Wishes.push_back(std::move(Mutation));
    else
      addMutation(std::move(Mutation));
  }
}

/// Find the session of the target, the most waves of the function and the frequencies of its blocks, before the stock
/// scheduler runs.
void Scheduler::openSession() {
  Current = findSession(MF, Files, SchedModel.getIssueWidth(), Summary.Reason);
  Waves = Occupancy(Current ? Current->Target : nullptr, Files, MF);
  Frequencies = blockFrequencies(MF);
}

/// Build the dependence graph of a region, without other changes to the function.
void Scheduler::buildGraph(const CodeRegion &Region) {
  // LLVM clears the undef flags of definitions here, and sets them again when it moves instructions. No instruction is
  // moved yet, so restore them.
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

/// Describe the pairs that LLVM wants together. Some of these mutations add binding edges and change latencies as well,
/// so this comes after everything else of the description. The graph is built again before anything is moved.
void Scheduler::addPairs(lowtide_region *Description) {
  for (std::unique_ptr<ScheduleDAGMutation> &Wish : Wishes)
    Wish->apply(this);
  for (const SUnit &SU : SUnits)
    for (const SDep &Dep : SU.Succs)
      if (Dep.isCluster() && !Dep.getSUnit()->isBoundaryNode())
        lowtide_region_hint(Description, SU.NodeNum, Dep.getSUnit()->NodeNum, LOWTIDE_CLUSTER, 0);
}

static std::string nameOf(const CodeRegion &Region, size_t Number) {
  return "bb" + std::to_string(Region.Block->getNumber()) + "." + std::to_string(Number);
}

/// Return the description of the region that is being visited. Its graph must be built.
Owned<lowtide_region> Scheduler::describeRegion(const CodeRegion &Region, const std::string &Name,
                                                const std::vector<unsigned> &LiveWeight) {
  unsigned Depth = MLI ? MLI->getLoopDepth(Region.Block) : 0;
  Owned<lowtide_region> Description =
      describe(Region, Name, Depth, Frequencies[Region.Block->getNumber()], LiveWeight, Files, *this);
  addPairs(Description.get());
  return Description;
}

/// Record the region that the stock scheduler is about to schedule, for the dump and for orders from a file.
void Scheduler::recordRegion() {
  CodeRegion Region{BB, RegionBegin, RegionEnd, {}};
  for (MachineInstr &MI : make_range(RegionBegin, RegionEnd))
    if (!MI.isDebugInstr())
      Region.Instrs.push_back(&MI);
  if (Region.Instrs.size() < 2)
    return;
  LiveWeights Live({Region}, Files, MRI, *LIS);
  buildGraph(Region);
  std::string Name = nameOf(Region, Recorded.size());
  Owned<lowtide_region> Description = describeRegion(Region, Name, Live.at(0));
  Recorded.record(std::move(Region), std::move(Name), std::move(Description));
}

/// Return the description of all regions, with orders for those that have one given; nullptr, with a reason in the
/// report, if one is invalid.
Owned<lowtide_kernel> Scheduler::describeKernel(ArrayRef<Order> Given) {
  Owned<lowtide_kernel> Kernel = newKernel(MF, Current->Name, Waves.most());
  LiveWeights Live(Regions, Files, MRI, *LIS);
  for (size_t I = 0; I != Regions.size(); ++I) {
    Owned<lowtide_region> Description;
    visit(Regions[I], [&] {
      buildGraph(Regions[I]);
      Description = describeRegion(Regions[I], nameOf(Regions[I], I), Live.at(I));
    });
    if (!Given.empty() && !Given[I].empty())
      lowtide_region_production(Description.get(), "file", Given[I].data(), Given[I].size());
    if (!addRegion(Kernel.get(), std::move(Description), Summary.Reason))
      return nullptr;
  }
  return Kernel;
}

/// Find the orders of -lowtide-orders. Return false, with a reason in the report, if the file has none for the function.
bool Scheduler::findOrders(std::vector<Order> &Found) {
  std::string Misfit;
  Found = Recorded.ordersFor(Regions, *Orders::get(), MF.getName(), Misfit);
  if (!Misfit.empty())
    warn(ordersFile() + " does not fit " + MF.getName() + ": " + Misfit);
  bool HasOrders = any_of(Found, [](const Order &One) { return !One.empty(); });
  if (!HasOrders)
    Summary.Reason = "no orders in " + ordersFile().str();
  return HasOrders;
}

/// Look for better orders, and apply the accepted ones.
void Scheduler::improve() {
  Summary.addTime(Summary.StockSeconds);
  if (!Current)
    return;
  if (isAMDGPU(MF) && !isEntryPoint(MF)) {
    // LLVM allocates the callers around the registers of this function. A better function can make a caller worse.
    Summary.Reason = "called by other functions";
    return;
  }
  lowtide_options Options = schedulingOptions();
  std::string Key;
  if (hasStore() && !Orders::get()) {
    Key = keyOf(MF, Frequencies, Waves.most(), Current->Name, Options);
    if (applyRemembered(Key, Options))
      return;
  }
  std::vector<Order> Given;
  if (Orders::get()) {
    if (!findOrders(Given))
      return;
    // The orders of the file are described as those of a production compiler.
    Options.algorithm = "production";
  }
  Owned<lowtide_kernel> Kernel = describeKernel(Given);
  if (!Kernel) {
    if (Orders::get())
      warn(ordersFile() + " does not fit " + MF.getName() + ": " + Summary.Reason);
    return;
  }
  Summary.addTime(Summary.DescribeSeconds);

  Rules Rules = {lowtide_goal(Options.goal), bool(Options.filter)};
  Improvement Loop(Current->Handle, Kernel.get(), Waves, Rules, Summary);
  const char *Obstacle = isTrialWanted() ? Trial::obstacle() : nullptr;
  if (Obstacle) {
    // Without a trial, a function can end worse than with the stock orders.
    Summary.Reason = Obstacle;
    warnOnce("functions keep the stock orders, because " + Twine(Obstacle));
  } else if (Loop.measureStock(Options)) {
    if (isTrialWanted())
      Loop.runWithTrials(Options, canLimitAllocator(MF), [this](const Candidate &Orders) { return startTrial(Orders); });
    else
      Loop.runByPressure(Options);
  }
  // A copy has applied the orders of its trial.
  if (Trial::isRunning())
    return;
  if (!Key.empty() && !Obstacle)
    rememberDecision(Key);
  if (Summary.Chosen >= 0)
    apply(Summary.chosen());
  Summary.addTime(Summary.DescribeSeconds);
  Effort::add(Summary.spent());
}

/// Do what was decided about the function before. Return false if nothing is remembered, or does not fit.
bool Scheduler::applyRemembered(const std::string &Key, lowtide_options Options) {
  std::optional<Remembered> Found = recall(Current->Handle, Key);
  if (!Found || Found->Orders.size() != Regions.size())
    return false;
  if (Found->isChanged()) {
    // The library checks orders that are described as those of a production compiler.
    Owned<lowtide_kernel> Kernel = describeKernel(Found->Orders);
    Options.algorithm = "production";
    std::optional<Candidate> Then;
    if (Kernel)
      Then = search(Current->Handle, Kernel.get(), Options, Summary.Reason);
    Summary.addTime(Summary.DescribeSeconds);
    if (!Then || Then->Regions.size() != Regions.size()) {
      forget(Current->Handle, Key);
      return false;
    }
    for (size_t I = 0; I != Regions.size(); ++I)
      if (!Found->Orders[I].empty()) {
        Then->Orders[I] = ArrayRef<uint32_t>(Then->Regions[I].order, Then->Regions[I].count);
        ++Then->Changed;
      }
    Then->AllocatorLimit = Found->AllocatorLimit;
    if (Found->IsMeasured) {
      Then->Final = Found->Final;
      watch(MF, Files, Current->Target, [Session = Current->Handle, Key, Expected = Found->Final](const FinalCode &Now) {
        if (!isAsRemembered(Now, Expected))
          forget(Session, Key);
      });
    }
    Summary.Tries.push_back(std::move(*Then));
    Summary.Chosen = 0;
    apply(Summary.chosen());
  }
  Summary.Reason = Found->Reason;
  Summary.IsRemembered = true;
  Summary.addTime(Summary.DescribeSeconds);
  Effort::add(Summary.spent());
  return true;
}

/// Keep the decision about the function.
void Scheduler::rememberDecision(const std::string &Key) {
  Remembered Decision;
  Decision.Orders.resize(Regions.size());
  Decision.Reason = Summary.Reason;
  if (Summary.Chosen >= 0) {
    const Candidate &Chosen = Summary.chosen();
    for (size_t I = 0; I != Regions.size(); ++I)
      Decision.Orders[I] = Order(Chosen.Orders[I].begin(), Chosen.Orders[I].end());
    Decision.AllocatorLimit = Chosen.AllocatorLimit;
    Decision.IsMeasured = Chosen.Final.has_value();
    if (Chosen.Final)
      Decision.Final = *Chosen.Final;
  }
  remember(Current->Handle, Key, Decision);
}

/// Start the register allocator on a candidate, in a copy of the process.
Trial Scheduler::startTrial(const Candidate &Orders) {
  Trial Copy = Trial::start(MF, Files, Current->Target);
  if (Trial::isRunning())
    apply(Orders);
  return Copy;
}

/// Move the instructions of all regions into the orders of a candidate.
void Scheduler::apply(const Candidate &Chosen) {
  if (Chosen.AllocatorLimit)
    limitAllocator(MF, Chosen.AllocatorLimit);
  for (size_t I = 0; I != Regions.size(); ++I)
    if (!Chosen.Orders[I].empty())
      visit(Regions[I], [&] {
        static_cast<FixedOrder *>(SchedImpl.get())->set(Chosen.Orders[I]);
        ScheduleDAGMILive::schedule();
      });
}

ScheduleDAGInstrs *createScheduler(MachineSchedContext *Context) {
  // A copy should have exited in the function of its trial. If it reaches another function, the trial has failed.
  if (Trial::isRunning())
    _exit(1);
  endWatch(Context->MF->getFunction().getContext());
  if (!isWanted(*Context->MF))
    return createStockScheduler(Context);
  return new Scheduler(Context);
}

MachineSchedRegistry Registration("lowtide", "Lowtide: maximise waves, then minimise schedule length", createScheduler);

} // namespace
} // namespace lowtide

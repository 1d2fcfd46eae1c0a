//===- Scheduler.cpp - Lowtide as a machine scheduler of LLVM -------------===//
//
// `llc -load liblowtide_llvm.so -misched=lowtide`. The stock scheduler of the target runs first, with all it does
// beyond reordering, such as rematerialisation. Lowtide then takes all regions of the function at once, starts from the
// stock orders, and replaces those that it can better. Before new orders are taken, the register allocator tries them
// (Trial.h). Where it needs more registers than the waves that the orders promise can have, it is held to these, and
// Lowtide looks for other orders, which leave it more room. What would end with fewer waves, more scratch memory, more
// spills or, at equal waves, more registers than the stock orders is dropped; so is whatever cannot be described to
// Lowtide.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "RegisterFiles.h"
#include "Report.h"
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
#include "llvm/Support/Path.h"
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

/// The attribute of a function that limits its vector registers.
constexpr const char *RegisterLimit = "amdgpu-num-vgpr";

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

/// A region as it came to the stock scheduler, for the dump.
struct Recorded {
  CodeRegion Region;
  Owned<lowtide_region> Description;
  /// What the instructions were: some may be gone afterwards, and others in their place.
  std::vector<unsigned> Opcodes;
};

/// How to look for orders.
struct Plan {
  lowtide_options Options;
  /// The regions for which new orders are taken.
  Where Regions = Where::Better;
  /// The allocator gets no more registers than so many waves can have; 0 for as many as it likes.
  unsigned Waves = 0;
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
    if (!Current)
      prepare();
    if (Current && !dumpFile().empty() && isWantedFunction(MF.getName()))
      record();
    Stock->schedule();
  }
  void finalizeSchedule() override {
    Stock->finalizeSchedule();
    if (!Records.empty())
      dump();
    if (!isWantedFunction(MF.getName()))
      return;
    Summary.Regions = findRegions(MF);
    if (Summary.Regions.empty())
      return;
    improve();
    if (!Trial::isRunning() && !reportFile().empty())
      append(reportFile(), Summary.format(MF, Files, [this](const Allocation &Final) { return waves(Final); }));
  }

private:
  void takeMutations(MachineSchedContext *Context);
  void prepare();
  void buildGraph(const CodeRegion &Region);
  void record();
  void dump();

  /// Visits a region as the pass of the compiler does.
  template <typename Visit> void visit(CodeRegion &Region, Visit Do) {
    ScheduleDAGMILive::startBlock(Region.Block);
    ScheduleDAGMILive::enterRegion(Region.Block, Region.Begin, Region.End, unsigned(Region.Instrs.size()));
    Do();
    ScheduleDAGMILive::exitRegion();
    ScheduleDAGMILive::finishBlock();
  }

  bool isEntry() const;
  Owned<lowtide_kernel> newKernel() const;
  bool add(lowtide_kernel *Kernel, Owned<lowtide_region> Region);
  Owned<lowtide_region> describe(const CodeRegion &Region, unsigned Number, const LiveWeights &Live, unsigned At);
  bool describeKernel();
  bool ask(Candidate &Result, lowtide_options Options);
  void improve();
  bool improveWithTrials(const lowtide_options &Options);
  bool tryOut(Candidate &Orders);
  bool isNoWorse(const Candidate &New);
  bool isBetter(const Candidate &New, const Candidate &Old) const;
  bool isReached() const;
  bool canHoldAllocator() const;
  void addPlans(std::vector<Plan> &Plans) const;
  unsigned limit(unsigned Waves) const;
  void holdAllocator(unsigned Registers);
  void apply(const Candidate &Chosen);
  unsigned waves(const uint32_t *Registers) const;
  unsigned waves(const Allocation &Final) const;

  std::unique_ptr<ScheduleDAGInstrs> Stock;
  RegisterFiles Files;
  const Session *Current = nullptr;
  Owned<lowtide_kernel> Kernel;
  std::vector<Recorded> Records;
  FunctionReport Summary;
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

/// Finds the session, and the waves that local memory, work-group size and attributes allow. These have to be asked for
/// before the stock scheduler runs, which lowers the answer to what it reaches itself.
void Scheduler::prepare() {
  Current = findSession(MF, Files, SchedModel.getIssueWidth(), Summary.Reason);
  Summary.MostWaves = 1;
  if (!Current || !isAMDGPU(MF))
    return;
  uint32_t Limit = TRI->getRegPressureLimit(Files.files()[0].Base, MF), Waves = 1;
  const char *Class = Files.files()[0].Name.c_str();
  lowtide_target_waves(Current->Target, &Class, &Limit, 1, &Waves, nullptr);
  // "fewest,most"
  StringRef Attribute = MF.getFunction().getFnAttribute("amdgpu-waves-per-eu").getValueAsString();
  unsigned Most;
  if (!Attribute.split(',').second.trim().getAsInteger(10, Most) && Most > 0)
    Waves = std::min(Waves, Most);
  Summary.MostWaves = Waves;
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

/// Whether waves start here; else it is a function that others call.
bool Scheduler::isEntry() const {
  switch (MF.getFunction().getCallingConv()) {
  case CallingConv::AMDGPU_KERNEL:
  case CallingConv::SPIR_KERNEL:
  case CallingConv::AMDGPU_VS:
  case CallingConv::AMDGPU_GS:
  case CallingConv::AMDGPU_PS:
  case CallingConv::AMDGPU_CS:
  case CallingConv::AMDGPU_HS:
  case CallingConv::AMDGPU_LS:
  case CallingConv::AMDGPU_ES:
    return true;
  default:
    return !isAMDGPU(MF);
  }
}

Owned<lowtide_kernel> Scheduler::newKernel() const {
  const Function &F = MF.getFunction();
  Owned<lowtide_kernel> Result(lowtide_kernel_new(MF.getName().str().c_str()));
  lowtide_kernel_set_origin(Result.get(), sys::path::stem(F.getParent()->getModuleIdentifier()).str().c_str());
  lowtide_kernel_set_target(Result.get(), Current->Name.c_str());
  lowtide_kernel_set_entry(Result.get(), isEntry());
  lowtide_kernel_set_max_occupancy(Result.get(), Summary.MostWaves);
  return Result;
}

bool Scheduler::add(lowtide_kernel *Kernel, Owned<lowtide_region> Region) {
  char *Message = nullptr;
  if (lowtide_kernel_add_region(Kernel, Region.release(), &Message) == LOWTIDE_OK)
    return true;
  Summary.Reason = std::string("not described: ") + Message;
  lowtide_string_free(Message);
  return false;
}

/// Describes a region that is being visited and whose graph is built.
Owned<lowtide_region> Scheduler::describe(const CodeRegion &Region, unsigned Number, const LiveWeights &Live,
                                          unsigned At) {
  std::string Name = "bb" + std::to_string(Region.Block->getNumber()) + "." + std::to_string(Number);
  unsigned Depth = MLI ? MLI->getLoopDepth(Region.Block) : 0;
  return lowtide::describe(Region, Name, Depth, Live.at(At), Files, *this);
}

bool Scheduler::describeKernel() {
  Kernel = newKernel();
  std::vector<CodeRegion> &Regions = Summary.Regions;
  LiveWeights Live(Regions, Files, MRI, *LIS);
  for (unsigned I = 0; I != Regions.size(); ++I) {
    Owned<lowtide_region> Description;
    visit(Regions[I], [&] {
      buildGraph(Regions[I]);
      Description = describe(Regions[I], I, Live, I);
    });
    if (!add(Kernel.get(), std::move(Description)))
      return false;
  }
  return true;
}

/// Describes the region that the stock scheduler is about to see.
void Scheduler::record() {
  Recorded Record{{BB, RegionBegin, RegionEnd, {}}, nullptr, {}};
  for (MachineInstr &MI : make_range(RegionBegin, RegionEnd))
    if (!MI.isDebugInstr()) {
      Record.Region.Instrs.push_back(&MI);
      Record.Opcodes.push_back(MI.getOpcode());
    }
  if (Record.Region.Instrs.size() < 2)
    return;
  LiveWeights Live({Record.Region}, Files, MRI, *LIS);
  buildGraph(Record.Region);
  Record.Description = describe(Record.Region, unsigned(Records.size()), Live, 0);
  Records.push_back(std::move(Record));
}

/// Writes the recorded regions, with the orders that the stock scheduler has given them, where it kept their instructions.
void Scheduler::dump() {
  Owned<lowtide_kernel> Dumped = newKernel();
  for (Recorded &Record : Records) {
    const std::vector<MachineInstr *> &Instrs = Record.Region.Instrs;
    DenseMap<const MachineInstr *, unsigned> Position;
    for (unsigned I = 0; I != Instrs.size(); ++I)
      Position[Instrs[I]] = I;
    std::vector<uint32_t> Order;
    bool IsInside = false, IsSame = true;
    for (const MachineInstr &MI : *Record.Region.Block) {
      if (MI.isDebugInstr())
        continue;
      auto At = Position.find(&MI);
      if (At == Position.end() && IsInside)
        break;
      if (At == Position.end())
        continue;
      IsInside = true;
      IsSame &= MI.getOpcode() == Record.Opcodes[At->second];
      Order.push_back(At->second);
    }
    if (IsSame && Order.size() == Instrs.size())
      lowtide_region_production(Record.Description.get(), "llvm-" LLVM_VERSION_STRING, Order.data(), Order.size());
    if (!add(Dumped.get(), std::move(Record.Description)))
      return;
  }
  char *Text = nullptr, *Message = nullptr;
  if (lowtide_kernel_format(Dumped.get(), &Text, &Message) == LOWTIDE_OK)
    append(dumpFile(), Text);
  lowtide_string_free(Text);
  lowtide_string_free(Message);
}

bool Scheduler::ask(Candidate &Result, lowtide_options Options) {
  lowtide_outcome *Outcome = nullptr;
  char *Message = nullptr;
  lowtide_status Status = lowtide_schedule(Current->Handle, Kernel.get(), &Options, &Outcome, &Message);
  Result.Outcome.reset(Outcome);
  if (Status == LOWTIDE_OK)
    Status = lowtide_outcome_kernel(Outcome, &Result.Kernel, &Message);
  Result.Limit = Options.registers;
  Result.Regions.resize(Summary.Regions.size());
  Result.Orders.resize(Summary.Regions.size());
  for (unsigned I = 0; I != Result.Regions.size() && Status == LOWTIDE_OK; ++I)
    Status = lowtide_outcome_region(Outcome, I, &Result.Regions[I], &Message);
  if (Status == LOWTIDE_OK)
    return true;
  // There is nothing to report of them.
  Result.Regions.clear();
  Summary.Reason = std::string("not scheduled: ") + Message;
  lowtide_string_free(Message);
  return false;
}

/// Limits the allocator to so many vector registers, as an attribute of the source can.
void Scheduler::holdAllocator(unsigned Registers) {
  // Where vector and accumulation registers share a file, LLVM doubles the number.
  if (MF.getSubtarget().checkFeatures("+gfx90a-insts"))
    Registers /= 2;
  MF.getFunction().addFnAttr(RegisterLimit, std::to_string(Registers));
}

void Scheduler::apply(const Candidate &Chosen) {
  if (Chosen.AllocatorLimit)
    holdAllocator(Chosen.AllocatorLimit);
  for (unsigned I = 0; I != Summary.Regions.size(); ++I)
    if (!Chosen.Orders[I].empty())
      visit(Summary.Regions[I], [&] {
        static_cast<FixedOrder *>(SchedImpl.get())->set(Chosen.Orders[I]);
        ScheduleDAGMILive::schedule();
      });
}

/// The registers of the first file that so many waves can have.
unsigned Scheduler::limit(unsigned Waves) const {
  uint32_t Limit = 0;
  lowtide_target_limit(Current->Target, Files.files()[0].Name.c_str(), Waves, &Limit, nullptr);
  return Limit;
}

/// Waves that fit with so many registers of each file.
unsigned Scheduler::waves(const uint32_t *Registers) const {
  std::vector<const char *> Classes;
  for (const RegisterFile &File : Files.files())
    Classes.push_back(File.Name.c_str());
  uint32_t Waves = 0;
  lowtide_target_waves(Current->Target, Classes.data(), Registers, Classes.size(), &Waves, nullptr);
  return std::min(Waves, Summary.MostWaves);
}

unsigned Scheduler::waves(const Allocation &Final) const {
  Allocation WithExtra = Final;
  // The condition code and what traps and flat addressing reserve lie above the scalar registers that code uses.
  constexpr unsigned ReservedScalars = 6;
  if (isAMDGPU(MF))
    WithExtra.Registers[1] += ReservedScalars;
  return waves(WithExtra.Registers);
}

void Scheduler::improve() {
  Summary.take(Summary.StockSeconds);
  if (Current && isAMDGPU(MF) && !isEntry()) {
    // Its callers are allocated around the registers that it happens to use, and may end worse although it ends better.
    Summary.Reason = "called by others";
    return;
  }
  if (!Current || !describeKernel())
    return;
  Summary.take(Summary.DescribeSeconds);
  lowtide_options Options = schedulingOptions(), AsIs = Options;
  AsIs.algorithm = "source";
  bool IsKnown = ask(Summary.Stock, AsIs);
  if (IsKnown && isTrialWanted() && Trial::isPossible()) {
    if (!improveWithTrials(Options))
      return;
  } else if (IsKnown) {
    // By pressure alone. What is worse by the count of operands and results together, as the back end counts, is not taken.
    Candidate New;
    Options.registers = Summary.Stock.peak(0);
    if (ask(New, Options) && New.chooseOrders(Summary.Stock, Where::Better, lowtide_goal(Options.goal))) {
      bool IsWorse = waves(New.peaksAt().data()) < waves(Summary.Stock.peaksAt().data());
      Summary.Reason = IsWorse ? "more pressure" : "";
      Summary.Chosen = IsWorse ? -1 : 0;
      Summary.Tries.push_back(std::move(New));
    }
    Summary.take(Summary.SearchSeconds);
  }
  if (Summary.Chosen >= 0)
    apply(Summary.Tries[Summary.Chosen]);
  Summary.take(Summary.TrialSeconds);
}

/// Looks for orders until the allocator keeps what they promise, or no better ones are to be expected. False in a copy, which has to
/// return to the compiler.
bool Scheduler::improveWithTrials(const lowtide_options &Options) {
  std::vector<Plan> Plans = {{Options}};
  Plans.front().Options.registers = Summary.Stock.peak(0);
  for (size_t I = 0; I != Plans.size(); ++I) {
    Plan Next = Plans[I];
    if (Next.Waves && Summary.Chosen >= 0 && waves(*Summary.Tries[Summary.Chosen].Final) >= Next.Waves)
      continue;
    Candidate New;
    New.AllocatorLimit = Next.Waves ? limit(Next.Waves) : 0;
    bool IsNew = ask(New, Next.Options) &&
                 New.chooseOrders(Summary.Stock, Next.Regions, lowtide_goal(Next.Options.goal)) &&
                 none_of(Summary.Tries, [&](const Candidate &Other) { return New.isSame(Other); });
    Summary.take(Summary.SearchSeconds);
    if (!IsNew)
      continue;
    if (tryOut(New))
      return false;
    // An allocator that is held to too few registers may fail; without that, no trial will succeed.
    if (!New.Final && New.AllocatorLimit)
      continue;
    if (!New.Final)
      break;
    bool IsTaken = isNoWorse(New);
    if (Trial::isRunning())
      return false;
    if (IsTaken && (Summary.Chosen < 0 || isBetter(New, Summary.Tries[Summary.Chosen])))
      Summary.Chosen = int(Summary.Tries.size());
    Summary.Tries.push_back(std::move(New));
    Summary.take(Summary.TrialSeconds);
    if (I == 0)
      addPlans(Plans);
    else if (isReached())
      break;
  }
  return true;
}

/// Whether the allocator has kept the most waves that were promised.
bool Scheduler::isReached() const {
  unsigned Promised = Summary.Stock.Kernel.occupancy;
  for (const Candidate &Try : Summary.Tries)
    Promised = std::max(Promised, Try.Kernel.occupancy);
  return Summary.Chosen >= 0 && waves(*Summary.Tries[Summary.Chosen].Final) >= Promised;
}

/// Whether the allocator can be limited: not where the source does so.
bool Scheduler::canHoldAllocator() const {
  return isAMDGPU(MF) && !MF.getFunction().hasFnAttribute(RegisterLimit);
}

/// What else to try after the first orders, which the allocator has not made of what they promised.
void Scheduler::addPlans(std::vector<Plan> &Plans) const {
  const Candidate &Stock = Summary.Stock, &First = Summary.Tries.front();
  unsigned Promised = First.Kernel.occupancy;
  unsigned Before = Stock.Final ? waves(*Stock.Final) : Stock.Kernel.occupancy;
  bool IsUndone = Before < Promised && !isReached();
  if (!IsUndone && Summary.Chosen >= 0)
    return;
  // Room for as many registers as the allocator needed beyond the pressure, so that it ends with those that the promised
  // waves can have, or with no more than the stock orders have.
  unsigned Wanted = IsUndone ? limit(Promised) : Stock.Final ? Stock.Final->Registers[0] : 0;
  unsigned Used = First.Final->Registers[0], Excess = Used - std::min(Used, First.peak(0));
  // Where it needed far more, pressure is not what counts: calls, or tuples of registers that do not fit between others.
  if (Excess > std::max(8u, Wanted / 4))
    return;
  lowtide_options Same = Plans.front().Options, WithRoom = Same;
  WithRoom.registers = std::max(1u, Wanted - std::min(Wanted, Excess));
  // There are several of these, and the first search has found nearly all that there is.
  WithRoom.nanoseconds_per_instr = (WithRoom.nanoseconds_per_instr + 3) / 4; // 0 would be no limit
  lowtide_options Fewest = WithRoom;
  Fewest.goal = LOWTIDE_MIN_REG;
  auto By = [&](const char *Algorithm) {
    Fewest.algorithm = Algorithm;
    return Fewest;
  };
  if (!IsUndone) {
    Plans.push_back({WithRoom});
    if (Stock.spilled() > 0)
      Plans.push_back({By("default")});
    return;
  }
  // Held to the registers, the allocator splits and moves values before it takes one more; but it also spills where it
  // would have found a way by itself. What is spilled is not taken, so that both are tried.
  unsigned Held = canHoldAllocator() ? Promised : 0;
  Plans.push_back({Same, Where::Better, Held});
  Plans.push_back({WithRoom, Where::Better});
  // The stock orders wherever they leave that much room; and elsewhere, the fewest registers.
  Plans.push_back({By("default"), Where::Needed});
  Plans.push_back({WithRoom, Where::Better, Held});
  Plans.push_back({WithRoom, Where::Needed, Held});
  Plans.push_back({By("default"), Where::Needed, Held});
  Plans.push_back({By("exact"), Where::Needed});
  Plans.push_back({By("exact"), Where::Needed, Held});
  // How values lie beside each other counts, too: what keeps the operations on one value together suits the allocator.
  Plans.push_back({By("su-cluster"), Where::Better, Held});
  Plans.push_back({By("default"), Where::Better, Held});
  Plans.push_back({By("su-cluster"), Where::Everywhere, Held});
  // Some of the waves.
  for (unsigned Fewer = Held; Fewer-- > Before + 1;) {
    Plans.push_back({Same, Where::Better, Fewer});
    Plans.push_back({By("default"), Where::Needed, Fewer});
  }
}

/// Lets the allocator try orders. True in the copy that does so, which has to return to the compiler.
bool Scheduler::tryOut(Candidate &Orders) {
  Trial Copy = Trial::start(MF, Files);
  if (Trial::isRunning()) {
    apply(Orders);
    return true;
  }
  Orders.Final = Copy.finish();
  if (!Orders.Final)
    Summary.Reason = "the trial failed";
  return false;
}

/// Whether orders end at least as well as the stock orders.
bool Scheduler::isNoWorse(const Candidate &New) {
  Candidate &Stock = Summary.Stock;
  unsigned Waves = waves(*New.Final);
  if (!Stock.Final) {
    // The stock orders cannot end better than their pressure says. What reaches that needs no further trial.
    bool IsEnough = Waves > Stock.Kernel.occupancy ||
                    (Waves == Stock.Kernel.occupancy && New.Final->Registers[0] <= Stock.peak(0));
    if (IsEnough && New.Final->Spills == 0)
      return true;
    if (tryOut(Stock) || !Stock.Final)
      return false;
  }
  unsigned StockWaves = waves(*Stock.Final);
  if (Waves < StockWaves)
    Summary.Reason = "fewer waves";
  else if (New.Final->StackBytes > Stock.Final->StackBytes || New.Final->Spills > Stock.Final->Spills)
    Summary.Reason = "more spills";
  else if (Waves == StockWaves && New.Final->Registers[0] > Stock.Final->Registers[0])
    Summary.Reason = "more registers";
  else
    return true;
  return false;
}

/// Which of two that are no worse than the stock orders.
bool Scheduler::isBetter(const Candidate &New, const Candidate &Old) const {
  auto Cost = [&](const Candidate &C) {
    return std::make_tuple(C.Final->StackBytes, C.Final->Spills, -int(waves(*C.Final)), C.length());
  };
  return Cost(New) < Cost(Old);
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

//===- Model.cpp - A function as Lowtide sees it --------------------------===//

#include "Model.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <map>

using namespace llvm;

namespace lowtide {

std::vector<CodeRegion> findRegions(MachineFunction &MF) {
  const TargetInstrInfo *TII = MF.getSubtarget().getInstrInfo();
  std::vector<CodeRegion> Regions;
  for (MachineBasicBlock &Block : MF) {
    auto IsBoundary = [&](const MachineInstr &MI) { return MI.isCall() || TII->isSchedulingBoundary(MI, &Block, MF); };
    MachineBasicBlock::iterator Begin;
    for (auto End = Block.end(); End != Block.begin(); End = Begin) {
      // A region ends before a boundary, or at the end of the block.
      if (End != Block.end() || IsBoundary(*std::prev(End)))
        --End;
      CodeRegion Region{&Block, End, End, {}};
      for (Begin = End; Begin != Block.begin() && !IsBoundary(*std::prev(Begin)); --Begin)
        if (!std::prev(Begin)->isDebugInstr())
          Region.Instrs.push_back(&*std::prev(Begin));
      if (Region.Instrs.size() < 2)
        continue;
      std::reverse(Region.Instrs.begin(), Region.Instrs.end());
      Region.Begin = Begin;
      Regions.push_back(std::move(Region));
    }
  }
  return Regions;
}

static SlotIndex before(const MachineInstr &MI, const LiveIntervals &LIS) {
  return LIS.getInstructionIndex(MI).getBaseIndex();
}
static SlotIndex after(const MachineInstr &MI, const LiveIntervals &LIS) {
  return LIS.getInstructionIndex(MI).getDeadSlot();
}

/// Return the lanes of a register that are live at a slot.
static LaneBitmask liveLanes(Register Reg, SlotIndex At, const MachineRegisterInfo &MRI, const LiveIntervals &LIS) {
  if (!LIS.hasInterval(Reg))
    return LaneBitmask::getNone();
  const LiveInterval &Interval = LIS.getInterval(Reg);
  if (!Interval.hasSubRanges())
    return Interval.liveAt(At) ? MRI.getMaxLaneMaskForVReg(Reg) : LaneBitmask::getNone();
  LaneBitmask Lanes;
  for (const LiveInterval::SubRange &Range : Interval.subranges())
    if (Range.liveAt(At))
      Lanes |= Range.LaneMask;
  return Lanes;
}

LiveWeights::LiveWeights(const std::vector<CodeRegion> &Regions, RegisterFiles &Files, const MachineRegisterInfo &MRI,
                         const LiveIntervals &LIS)
    : Weights(Regions.size(), std::vector<unsigned>(Files.files().size())) {
  // Region starts in code order, so that each segment of a live range covers consecutive entries.
  std::vector<std::pair<SlotIndex, unsigned>> Starts;
  for (unsigned I = 0; I != Regions.size(); ++I)
    Starts.push_back({before(*Regions[I].Instrs.front(), LIS), I});
  std::sort(Starts.begin(), Starts.end());
  auto ForEachStart = [&](const LiveRange &Range, auto Visit) {
    for (const LiveRange::Segment &Segment : Range) {
      auto At = std::lower_bound(Starts.begin(), Starts.end(), std::make_pair(Segment.start, 0u));
      for (; At != Starts.end() && At->first < Segment.end; ++At)
        Visit(At->second);
    }
  };
  // For registers with subranges: the lanes that are live at the start of each region.
  std::map<unsigned, uint64_t> LiveLanes;
  for (unsigned I = 0, E = MRI.getNumVirtRegs(); I != E; ++I) {
    Register Reg = Register::index2VirtReg(I);
    if (!LIS.hasInterval(Reg))
      continue;
    Footprint Size = Files.footprint(Reg, MRI);
    const LiveInterval &Interval = LIS.getInterval(Reg);
    if (!Interval.hasSubRanges()) {
      ForEachStart(Interval, [&](unsigned Region) { Weights[Region][Size.File] += Size.Lanes * Size.LaneWeight; });
      continue;
    }
    LiveLanes.clear();
    for (const LiveInterval::SubRange &Range : Interval.subranges())
      ForEachStart(Range, [&](unsigned Region) { LiveLanes[Region] |= Files.lanes(Range.LaneMask); });
    for (auto [Region, Lanes] : LiveLanes)
      Weights[Region][Size.File] += unsigned(__builtin_popcountll(Lanes)) * Size.LaneWeight;
  }
}

InstrKind::InstrKind(const MachineInstr &MI, const TargetSchedModel &Model)
    : Opcode(MI.getMF()->getSubtarget().getInstrInfo()->getName(MI.getOpcode()).str()),
      AddressSpace(MI.memoperands_empty() ? -1 : int((*MI.memoperands_begin())->getAddrSpace())) {
  if (MI.mayLoad())
    Flags += 'l';
  if (MI.mayStore())
    Flags += 's';
  const MCSchedClassDesc *Class = Model.hasInstrSchedModel() ? Model.resolveSchedClass(&MI) : nullptr;
  if (!Class || !Class->isValid())
    return;
  for (const MCWriteProcResEntry &Need :
       make_range(Model.getWriteProcResBegin(Class), Model.getWriteProcResEnd(Class))) {
    Units.push_back(Model.getProcResource(Need.ProcResourceIdx)->Name);
#if LLVM_VERSION_MAJOR >= 18
    Cycles.push_back(Need.ReleaseAtCycle);
#else
    Cycles.push_back(Need.Cycles);
#endif
  }
}

lowtide_instr InstrKind::spec(unsigned Latency) const {
  lowtide_instr Spec = {};
  Spec.opcode = Opcode.c_str();
  Spec.latency = Latency;
  Spec.units = Units.data();
  Spec.unit_cycles = Cycles.data();
  Spec.unit_count = Units.size();
  Spec.flags = Flags.c_str();
  Spec.micro_ops = 1;
  Spec.address_space = AddressSpace;
  return Spec;
}

namespace {

/// Describes one region. The description numbers the virtual registers of the region from 0.
class Describer {
public:
  Describer(const CodeRegion &Region, StringRef Name, RegisterFiles &Files, const ScheduleDAGMI &DAG)
      : Region(Region), Files(Files), DAG(DAG), MRI(DAG.MRI), LIS(*DAG.getLIS()),
        Out(lowtide_region_new(Name.str().c_str())) {
    // All regions of a kernel must have the same classes, in the same order.
    for (const RegisterFile &File : Files.files())
      lowtide_region_class(Out.get(), File.Name.c_str());
  }

  Owned<lowtide_region> run(unsigned LoopDepth, double Frequency, const std::vector<unsigned> &LiveWeight) {
    lowtide_region_set_loop_depth(Out.get(), LoopDepth);
    // Thousandths of a run, so that rare blocks keep a weight.
    lowtide_region_set_frequency(Out.get(), uint32_t(std::min(std::max(1.0, Frequency * 1000), 4e9)));
    if (Region.End != Region.Block->end())
      lowtide_region_set_boundary(Out.get(), DAG.TII->getName(Region.End->getOpcode()).str().c_str());
    for (const SUnit &SU : DAG.SUnits) {
      addInstr(SU);
      addOperands(SU);
    }
    for (const SUnit &SU : DAG.SUnits)
      for (const SDep &Dep : SU.Succs)
        addDependence(SU.NodeNum, Dep);
    addEnds(LiveWeight);
    return std::move(Out);
  }

private:
  void addInstr(const SUnit &SU) {
    const MachineInstr &MI = *SU.getInstr();
    const TargetSchedModel &Model = *DAG.getSchedModel();
    InstrKind Kind(MI, Model);
    Kind.Flags = flags(SU);
    lowtide_instr Spec = Kind.spec(SU.Latency);
    Spec.micro_ops = Model.getNumMicroOps(&MI);
    lowtide_region_instr(Out.get(), &Spec);
  }

  /// Return the flags of an instruction, as the letters of the region format.
  std::string flags(const SUnit &SU) const {
    const MachineInstr &MI = *SU.getInstr();
    std::string Flags;
    auto Add = [&](bool Is, char Letter) {
      if (Is)
        Flags += Letter;
    };
    Add(MI.mayLoad(), 'l');
    Add(MI.mayStore(), 's');
    Add(MI.isCall(), 'c');
    Add(MI.hasUnmodeledSideEffects(), 'x');
    Add(MI.isCopy(), 'C');
    Add(MI.isTerminator(), 't');
    Add(MI.isConvergent(), 'v');
    Add(MI.isInlineAsm(), 'i');
    Add(DAG.TII->isTriviallyReMaterializable(MI), 'r');
    Add(DAG.TII->isSchedulingBoundary(MI, Region.Block, DAG.MF), 'b');
    Add(SU.hasPhysRegDefs, 'p');
    return Flags;
  }

  void addOperands(const SUnit &SU) {
    const MachineInstr &MI = *SU.getInstr();
    SlotIndex At = before(MI, LIS);
    // The operands in their order, with duplicates: packing goes by position. Lanes that a write keeps follow.
    SmallVector<std::pair<Register, uint64_t>, 8> Uses, Kept;
    struct Def {
      Register Reg;
      uint64_t Lanes;
      std::string Flags;
    };
    SmallVector<Def, 4> Defs;
    for (const MachineOperand &Operand : MI.operands()) {
      if (!Operand.isReg() || !Operand.getReg().isVirtual())
        continue;
      Register Reg = Operand.getReg();
      LaneBitmask Named = Operand.getSubReg() ? DAG.TRI->getSubRegIndexLaneMask(Operand.getSubReg())
                                              : MRI.getMaxLaneMaskForVReg(Reg);
      // With separate lanes, a write to some lanes does not read the others.
      bool Reads = Operand.isUse() ? Operand.readsReg() : Operand.readsReg() && isWhole(Reg);
      if (Reads) {
        LaneBitmask Live = liveLanes(Reg, At, MRI, LIS);
        uint64_t Lanes = Files.lanes(Operand.isUse() ? Named & Live : Live);
        if (Lanes)
          (Operand.isUse() ? Uses : Kept).push_back({Reg, Lanes});
      }
      if (!Operand.isDef())
        continue;
      std::string Flags;
      if (Operand.isDead())
        Flags += 'd';
      if (Operand.isEarlyClobber())
        Flags += 'e';
      if (Operand.isTied())
        Flags += 't';
      if (Operand.isUndef())
        Flags += 'u';
      uint64_t Lanes = Files.lanes(Named);
      // Two operands can write parts of the same lane. Count the lane once.
      for (const Def &Other : Defs)
        if (Other.Reg == Reg)
          Lanes &= ~Other.Lanes;
      if (Lanes)
        Defs.push_back({Reg, Lanes, Flags});
    }
    for (const Def &Def : Defs)
      lowtide_region_def(Out.get(), SU.NodeNum, number(Def.Reg), Def.Lanes, Def.Flags.c_str());
    Uses.append(Kept);
    for (auto [Reg, Lanes] : Uses)
      lowtide_region_use(Out.get(), SU.NodeNum, number(Reg), Lanes);
  }

  /// Return whether Lowtide counts the register as one lane. LLVM may have several.
  bool isWhole(Register Reg) { return Files.footprint(Reg, MRI).Lanes == 1; }

  void addDependence(unsigned From, const SDep &Dep) {
    const SUnit *To = Dep.getSUnit();
    if (To->isBoundaryNode()) {
      lowtide_region_hint(Out.get(), From, UINT32_MAX, LOWTIDE_EXIT, Dep.getLatency());
      return;
    }
    if (Dep.isWeak()) {
      uint32_t Kind = Dep.isCluster() ? LOWTIDE_CLUSTER : LOWTIDE_WEAK;
      lowtide_region_hint(Out.get(), From, To->NodeNum, Kind, Dep.getLatency());
      return;
    }
    uint32_t Kind = Dep.getKind() == SDep::Data                    ? LOWTIDE_DATA
                    : Dep.getKind() == SDep::Anti                  ? LOWTIDE_ANTI
                    : Dep.getKind() == SDep::Output                ? LOWTIDE_OUTPUT
                    : Dep.isArtificial() || Dep.isBarrier()        ? LOWTIDE_BARRIER
                                                                   : LOWTIDE_MEMORY;
    lowtide_region_depend(Out.get(), From, To->NodeNum, Kind, Dep.getLatency());
  }

  /// Describe the live lanes at both ends. Registers without an operand in the region pass through: only their weight
  /// counts.
  void addEnds(const std::vector<unsigned> &LiveWeight) {
    SlotIndex Start = before(*Region.Instrs.front(), LIS), End = after(*Region.Instrs.back(), LIS);
    std::vector<unsigned> Through = LiveWeight;
    for (auto [Index, Number] : Numbers) {
      Register Reg = Register::index2VirtReg(Index);
      if (uint64_t In = Files.lanes(liveLanes(Reg, Start, MRI, LIS))) {
        Footprint Size = Files.footprint(Reg, MRI);
        Through[Size.File] -= unsigned(__builtin_popcountll(In)) * Size.LaneWeight;
        lowtide_region_live_in(Out.get(), Number, In);
      }
      if (uint64_t Live = Files.lanes(liveLanes(Reg, End, MRI, LIS)))
        lowtide_region_live_out(Out.get(), Number, Live);
    }
    for (unsigned File = 0; File != Through.size(); ++File)
      lowtide_region_through(Out.get(), File, Through[File]);
  }

  /// Return the number of a virtual register in the description. Add the register on its first use.
  uint32_t number(Register Reg) {
    unsigned Index = Register::virtReg2Index(Reg);
    auto At = Numbers.find(Index);
    if (At != Numbers.end())
      return At->second;
    Footprint Size = Files.footprint(Reg, MRI);
    uint32_t Number = lowtide_region_register(Out.get(), std::to_string(Index).c_str(), Size.File, Size.Lanes,
                                              Size.LaneWeight);
    Numbers[Index] = Number;
    return Number;
  }

  const CodeRegion &Region;
  RegisterFiles &Files;
  const ScheduleDAGMI &DAG;
  const MachineRegisterInfo &MRI;
  const LiveIntervals &LIS;
  Owned<lowtide_region> Out;
  /// The numbers by virtual register index. The map is sorted, so that equal code gives equal descriptions.
  std::map<unsigned, uint32_t> Numbers;
};

} // namespace

Owned<lowtide_region> describe(const CodeRegion &Region, StringRef Name, unsigned LoopDepth, double Frequency,
                               const std::vector<unsigned> &LiveWeight, RegisterFiles &Files,
                               const ScheduleDAGMI &DAG) {
  return Describer(Region, Name, Files, DAG).run(LoopDepth, Frequency, LiveWeight);
}

bool isEntryPoint(const MachineFunction &MF) {
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

Owned<lowtide_kernel> newKernel(const MachineFunction &MF, const std::string &Target, unsigned MostWaves) {
  const Module &Source = *MF.getFunction().getParent();
  Owned<lowtide_kernel> Result(lowtide_kernel_new(MF.getName().str().c_str()));
  lowtide_kernel_set_origin(Result.get(), sys::path::stem(Source.getModuleIdentifier()).str().c_str());
  lowtide_kernel_set_target(Result.get(), Target.c_str());
  lowtide_kernel_set_entry(Result.get(), isEntryPoint(MF));
  lowtide_kernel_set_max_occupancy(Result.get(), MostWaves);
  return Result;
}

bool addRegion(lowtide_kernel *Kernel, Owned<lowtide_region> Region, std::string &Reason) {
  char *Message = nullptr;
  if (lowtide_kernel_add_region(Kernel, Region.release(), &Message) == LOWTIDE_OK)
    return true;
  Reason = std::string("invalid region: ") + Message;
  lowtide_string_free(Message);
  return false;
}

} // namespace lowtide

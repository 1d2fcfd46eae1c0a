//===- Length.cpp - How long finished code takes --------------------------===//

#include "Length.h"
#include "Model.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <algorithm>

using namespace llvm;

namespace lowtide {
namespace {

/// A register unit, and the cycles until its value arrives.
using Arrival = std::pair<unsigned, unsigned>;
using Arrivals = SmallVector<Arrival, 8>;

/// The cycles in which outstanding memory instructions return, in the order of their issue. Waits count them in this
/// order.
class Outstanding {
public:
  void add(unsigned Arrives) { Returns.push_back(std::max(Arrives, Returns.empty() ? 0 : Returns.back())); }
  /// Return the cycle in which no more than `Left` are outstanding.
  unsigned waitUntil(unsigned Left) {
    if (Returns.size() <= Left)
      return 0;
    auto Last = Returns.end() - Left;
    unsigned Cycle = *(Last - 1);
    Returns.erase(Returns.begin(), Last);
    return Cycle;
  }
  void clear() { Returns.clear(); }

private:
  SmallVector<unsigned, 16> Returns;
};

/// The counters of memory instructions that `s_waitcnt` waits for: vector memory, and local memory with scalar loads.
class Counters {
public:
  explicit Counters(const MachineFunction &MF) : TII(*MF.getSubtarget().getInstrInfo()) {
    StringRef Generation = MF.getSubtarget().getCPU().substr(0, 5);
    IsGFX10 = Generation == "gfx10";
    IsGFX11 = Generation == "gfx11";
  }

  void clear() {
    Vector.clear();
    Local.clear();
  }

  /// Return the cycle in which an instruction that waits can issue; 0 for others.
  unsigned waitUntil(const MachineInstr &MI) {
    if (TII.getName(MI.getOpcode()) != "S_WAITCNT" || !MI.getOperand(0).isImm())
      return 0;
    // The bits of the counters, from the manuals of the instruction sets.
    unsigned Bits = unsigned(MI.getOperand(0).getImm());
    unsigned VectorLeft = IsGFX11 ? Bits >> 10 & 0x3f : (Bits & 0xf) | (Bits >> 14 & 3) << 4;
    unsigned LocalLeft = IsGFX11 ? Bits >> 4 & 0x3f : Bits >> 8 & (IsGFX10 ? 0x3f : 0xf);
    return std::max(Vector.waitUntil(VectorLeft), Local.waitUntil(LocalLeft));
  }

  void issue(const MachineInstr &MI, unsigned Arrives) {
    if (!MI.mayLoadOrStore())
      return;
    StringRef Name = TII.getName(MI.getOpcode());
    auto IsOneOf = [Name](std::initializer_list<StringRef> Prefixes) {
      return any_of(Prefixes, [Name](StringRef Prefix) { return Name.substr(0, Prefix.size()) == Prefix; });
    };
    bool IsFlat = IsOneOf({"FLAT_"});
    // Later generations count stores apart, and only barriers wait for them.
    bool IsCounted = MI.mayLoad() || !(IsGFX10 || IsGFX11);
    if (IsCounted && (IsFlat || IsOneOf({"BUFFER_", "GLOBAL_", "SCRATCH_", "IMAGE_", "TBUFFER_"})))
      Vector.add(Arrives);
    if (IsFlat || IsOneOf({"DS_", "S_LOAD_", "S_BUFFER_LOAD_"}))
      Local.add(Arrives);
  }

private:
  const TargetInstrInfo &TII;
  bool IsGFX10, IsGFX11;
  Outstanding Vector, Local;
};

/// One wave, which issues the instructions of blocks in order.
class Wave {
public:
  Wave(const MachineFunction &MF, const lowtide_target *Target)
      : TRI(*MF.getSubtarget().getRegisterInfo()), Target(Target), Waits(MF), Ready(TRI.getNumRegUnits()) {
    Model.init(&MF.getSubtarget());
  }

  /// Let a value arrive after this many cycles of the next block.
  void expect(Arrival Value) { Ready[Value.first] = std::max(Ready[Value.first], Value.second); }

  /// Issue a block. Return the values that are on their way at its end.
  Arrivals run(const MachineBasicBlock &Block, BlockTime &Time) {
    unsigned Now = 0;
    Time.Issue = 0;
    Waits.clear();
    for (const MachineInstr &MI : Block.instrs()) {
      if (MI.isBundle() || MI.isMetaInstruction())
        continue;
      forEachUnit(MI, [&](unsigned Unit, bool) { Now = std::max(Now, Ready[Unit]); });
      Now = std::max(Now, Waits.waitUntil(MI));
      unsigned Arrives = Now + std::max(1u, latency(MI));
      Waits.issue(MI, Arrives);
      forEachUnit(MI, [&](unsigned Unit, bool IsDef) {
        if (IsDef)
          Ready[Unit] = Arrives;
      });
      ++Now;
      ++Time.Issue;
    }
    Time.Length = Now;
    Arrivals Left;
    for (unsigned Unit = 0; Unit != Ready.size(); ++Unit) {
      if (Ready[Unit] > Now)
        Left.push_back({Unit, Ready[Unit] - Now});
      Ready[Unit] = 0;
    }
    return Left;
  }

private:
  unsigned latency(const MachineInstr &MI) {
    unsigned Recorded = Model.computeInstrLatency(&MI);
    // The tables of targets are about memory.
    if (!Target || !MI.mayLoadOrStore())
      return Recorded;
    InstrKind Kind(MI, Model);
    lowtide_instr Spec = Kind.spec(Recorded);
    return lowtide_target_latency(Target, &Spec);
  }

  /// Visit the units of all registers that an instruction reads or writes. Implicit operands that only name a whole
  /// tuple beside one of its parts are left out.
  template <typename Visitor> void forEachUnit(const MachineInstr &MI, Visitor Visit) {
    for (const MachineOperand &Operand : MI.operands()) {
      if (!Operand.isReg() || !Operand.getReg().isPhysical() || (Operand.isUse() && Operand.isUndef()))
        continue;
      MCRegister Reg = Operand.getReg().asMCReg();
      if (Operand.isImplicit() &&
          !(Operand.isDef() ? MI.getDesc().hasImplicitDefOfPhysReg(Reg) : MI.getDesc().hasImplicitUseOfPhysReg(Reg)))
        continue;
      for (MCRegUnitIterator Unit(Reg, &TRI); Unit.isValid(); ++Unit)
        Visit(*Unit, Operand.isDef());
    }
  }

  const TargetRegisterInfo &TRI;
  const lowtide_target *Target;
  TargetSchedModel Model;
  Counters Waits;
  /// The cycle in which the value of each register unit arrives.
  std::vector<unsigned> Ready;
};

} // namespace

std::vector<double> blockFrequencies(MachineFunction &MF) {
  MachineDominatorTree Dominators(MF);
  MachineLoopInfo Loops(Dominators);
  MachineBranchProbabilityInfo Branches;
  MachineBlockFrequencyInfo Frequencies(MF, Branches, Loops);
  std::vector<double> Result(MF.getNumBlockIDs());
  for (const MachineBasicBlock &Block : MF)
    Result[Block.getNumber()] = Frequencies.getBlockFreqRelativeToEntryBlock(&Block);
  return Result;
}

std::vector<BlockTime> estimateTimes(MachineFunction &MF, const lowtide_target *Target) {
  std::vector<double> Frequencies = blockFrequencies(MF);
  ReversePostOrderTraversal<MachineFunction *> Order(&MF);

  Wave Time(MF, Target);
  std::vector<Arrivals> Left(MF.getNumBlockIDs());
  std::vector<BlockTime> Times;
  // The second round knows what arrives along the back edges of loops.
  for (int Round = 0; Round != 2; ++Round) {
    Times.clear();
    for (MachineBasicBlock *Block : Order) {
      for (const MachineBasicBlock *Before : Block->predecessors())
        for (Arrival Value : Left[Before->getNumber()])
          Time.expect(Value);
      BlockTime Result = {Frequencies[Block->getNumber()], 0, 0};
      Left[Block->getNumber()] = Time.run(*Block, Result);
      Times.push_back(Result);
    }
  }
  return Times;
}

} // namespace lowtide

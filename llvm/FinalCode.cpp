//===- FinalCode.cpp - The figures of finished code -----------------------===//

#include "FinalCode.h"
#include "Length.h"
#include "RegisterFiles.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <algorithm>

using namespace llvm;

namespace lowtide {

static bool isSpill(const MachineInstr &MI, const MachineFrameInfo &Frame) {
  for (const MachineMemOperand *Memory : MI.memoperands())
    if (const PseudoSourceValue *Place = Memory->getPseudoValue())
      if (const auto *Fixed = dyn_cast<FixedStackPseudoSourceValue>(Place))
        if (Frame.isSpillSlotObjectIndex(Fixed->getFrameIndex()))
          return true;
  return false;
}

// The back end does not export its opcodes, so instructions are recognised by their names.
static StringRef nameOf(const MachineInstr &MI) {
  return MI.getMF()->getSubtarget().getInstrInfo()->getName(MI.getOpcode());
}

static bool startsWith(StringRef Name, StringRef Prefix) { return Name.substr(0, Prefix.size()) == Prefix; }

static bool isCarry(StringRef Name) {
  for (const char *Prefix : {"V_ADDC_", "V_SUBB_", "V_SUBBREV_", "V_ADD_CO_", "V_SUB_CO_", "V_SUBREV_CO_"})
    if (startsWith(Name, Prefix))
      return true;
  return false;
}

unsigned countLaneWrites(const MachineFunction &MF) {
  unsigned Count = 0;
  for (const MachineBasicBlock &Block : MF)
    for (const MachineInstr &MI : Block.instrs()) {
      StringRef Name = nameOf(MI);
      // Later versions of LLVM spill with a pseudo instruction, which becomes the real one.
      Count += startsWith(Name, "V_WRITELANE_B32") || Name == "SI_SPILL_S32_TO_VGPR";
    }
  return Count;
}

void measureAllocation(FinalCode &Result, const MachineFunction &MF, const RegisterFiles &Files,
                       unsigned LaneWritesBefore) {
  std::vector<unsigned> Used = Files.used(MF.getRegInfo());
  for (unsigned I = 0; I != Used.size() && I != FinalCode::MostFiles; ++I)
    Result.Registers[I] = Used[I];
  const MachineFrameInfo &Frame = MF.getFrameInfo();
  Result.StackBytes = Frame.getStackSize();
  for (const MachineBasicBlock &Block : MF)
    for (const MachineInstr &MI : Block)
      Result.Spills += isSpill(MI, Frame);
  if (isAMDGPU(MF)) {
    unsigned LaneWrites = countLaneWrites(MF);
    Result.ScalarSpills = LaneWrites - std::min(LaneWrites, LaneWritesBefore);
  }
}

void measureCode(FinalCode &Result, MachineFunction &MF, const lowtide_target *Target) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  bool IsGPU = isAMDGPU(MF);
  for (const MachineBasicBlock &Block : MF) {
    bool IsAfterLoad = false;
    for (const MachineInstr &MI : Block.instrs()) {
      if (MI.isBundle() || MI.isMetaInstruction())
        continue;
      unsigned Bytes = TII.getInstSizeInBytes(MI);
      Result.CodeBytes += Bytes;
      Result.LoadsAfterLoads += IsAfterLoad && MI.mayLoad();
      IsAfterLoad = MI.mayLoad();
      if (!IsGPU)
        continue;
      StringRef Name = nameOf(MI);
      Result.Waits += startsWith(Name, "S_WAITCNT") || startsWith(Name, "S_WAIT_");
      Result.Carries += isCarry(Name);
      Result.WideCarries += isCarry(Name) && Bytes > 4;
    }
  }
  for (BlockTime Block : estimateTimes(MF, nullptr)) {
    Result.Issue += Block.Frequency * Block.Issue;
    Result.Length += Block.Frequency * Block.Length;
  }
  for (BlockTime Block : estimateTimes(MF, Target)) {
    for (unsigned I = 0; I != FinalCode::MostCosts; ++I)
      Result.CostAt[I] += Block.Frequency * (Block.Issue + double(Block.Length - Block.Issue) / (I + 1));
  }
}

} // namespace lowtide

//===- RegisterFiles.cpp - Which registers compete with which -------------===//

#include "RegisterFiles.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"
#include <algorithm>

using namespace llvm;

namespace lowtide {

bool isAMDGPU(const MachineFunction &MF) {
  return MF.getTarget().getTargetTriple().getArch() == Triple::amdgcn;
}

RegisterFiles::RegisterFiles(const MachineFunction &MF, const RegisterClassInfo &Allocatable)
    : TRI(MF.getSubtarget().getRegisterInfo()), IsGPU(isAMDGPU(MF)) {
  if (IsGPU)
    findGPUFiles(Allocatable);
  else
    findFiles(MF.getRegInfo(), Allocatable);
}

// AMD GPUs have two or three files. Each has a class that contains all its 32-bit registers.
void RegisterFiles::findGPUFiles(const RegisterClassInfo &Allocatable) {
  const std::pair<const char *, const char *> Names[] = {
      {"vgpr", "VGPR_32"}, {"sgpr", "SGPR_32"}, {"agpr", "AGPR_32"}};
  for (auto [Name, ClassName] : Names)
    for (const TargetRegisterClass *RC : TRI->regclasses())
      if (TRI->getRegClassName(RC) == StringRef(ClassName) && Allocatable.getNumAllocatableRegs(RC) > 0)
        Files.push_back({Name, RC, unsigned(RC->getNumRegs())});
}

// On other processors, registers are in one file if they share a register unit, directly or through other
// registers. The base class of a file is its largest class without overlaps, of at least 4 bytes. On x86, for
// example, there are more byte registers than full ones. Only files that the function uses are kept. The most
// used file comes first.
void RegisterFiles::findFiles(const MachineRegisterInfo &MRI, const RegisterClassInfo &Allocatable) {
  unsigned Units = TRI->getNumRegUnits();
  std::vector<unsigned> Root(Units);
  for (unsigned U = 0; U != Units; ++U)
    Root[U] = U;
  auto Find = [&](unsigned U) {
    while (Root[U] != U)
      U = Root[U] = Root[Root[U]];
    return U;
  };
  auto FirstUnit = [&](const TargetRegisterClass *RC) {
    return unsigned(*MCRegUnitIterator(Allocatable.getOrder(RC).front(), TRI));
  };
  constexpr unsigned SmallestBase = 4; // bytes
  std::vector<const TargetRegisterClass *> Bases;
  for (const TargetRegisterClass *RC : TRI->regclasses()) {
    if (!RC->isAllocatable() || Allocatable.getNumAllocatableRegs(RC) == 0)
      continue;
    BitVector Seen(Units);
    bool Overlaps = false;
    for (MCPhysReg Reg : Allocatable.getOrder(RC))
      for (MCRegUnitIterator U(Reg, TRI); U.isValid(); ++U) {
        Root[Find(*U)] = Find(*MCRegUnitIterator(Reg, TRI));
        Overlaps |= Seen.test(*U);
        Seen.set(*U);
      }
    // Registers of one class are interchangeable, so they are in one file even if they do not overlap.
    for (MCPhysReg Reg : Allocatable.getOrder(RC))
      Root[Find(*MCRegUnitIterator(Reg, TRI))] = Find(FirstUnit(RC));
    if (!Overlaps && TRI->getSpillSize(*RC) >= SmallestBase)
      Bases.push_back(RC);
  }
  std::vector<unsigned> Uses(Units);
  for (unsigned I = 0, E = MRI.getNumVirtRegs(); I != E; ++I) {
    Register Reg = Register::index2VirtReg(I);
    const TargetRegisterClass *RC = MRI.getRegClassOrNull(Reg);
    if (RC && !MRI.reg_nodbg_empty(Reg) && Allocatable.getNumAllocatableRegs(RC) > 0)
      ++Uses[Find(FirstUnit(RC))];
  }
  std::stable_sort(Bases.begin(), Bases.end(), [&](const TargetRegisterClass *A, const TargetRegisterClass *B) {
    auto Rank = [&](const TargetRegisterClass *RC) {
      return std::make_pair(Uses[Find(FirstUnit(RC))], Allocatable.getNumAllocatableRegs(RC));
    };
    return Rank(A) > Rank(B);
  });
  std::vector<int> FileOfRoot(Units, -1);
  for (const TargetRegisterClass *RC : Bases) {
    unsigned R = Find(FirstUnit(RC));
    if (FileOfRoot[R] >= 0 || Uses[R] == 0)
      continue;
    FileOfRoot[R] = int(Files.size());
    Files.push_back({TRI->getRegClassName(RC), RC, Allocatable.getNumAllocatableRegs(RC)});
  }
  FileOfUnit.assign(Units, -1);
  for (unsigned U = 0; U != Units; ++U)
    FileOfUnit[U] = FileOfRoot[Find(U)];
}

unsigned RegisterFiles::unitCount(MCRegister Reg) const {
  unsigned Count = 0;
  for (MCRegUnitIterator U(Reg, TRI); U.isValid(); ++U)
    ++Count;
  return Count;
}

Footprint RegisterFiles::footprint(Register Reg, const MachineRegisterInfo &MRI) {
  const TargetRegisterClass *RC = MRI.getRegClass(Reg);
  auto [At, IsNew] = Footprints.try_emplace(RC);
  if (IsNew)
    At->second = footprintOf(RC);
  return At->second;
}

Footprint RegisterFiles::footprintOf(const TargetRegisterClass *RC) const {
  if (!IsGPU) {
    for (MCPhysReg Reg : *RC) {
      int File = FileOfUnit[*MCRegUnitIterator(Reg, TRI)];
      if (File < 0)
        continue;
      unsigned Base = unitCount(*Files[File].Base->begin());
      return {unsigned(File), 1, std::max(1u, unitCount(Reg) / Base)};
    }
    return {0, 1, 1};
  }
  // A class may contain registers of several files. Like the back end, count purely scalar classes as scalar, purely
  // accumulation classes as accumulation, and all others as vector registers.
  bool Vector = false, Scalar = false, Accumulation = false;
  for (MCPhysReg Reg : *RC) {
    StringRef Name = TRI->getName(Reg);
    if (Name.substr(0, 4) == "VGPR")
      Vector = true;
    else if (Name.substr(0, 4) == "AGPR")
      Accumulation = true;
    else
      Scalar = true;
  }
  unsigned File = Scalar && !Vector && !Accumulation ? 1 : Accumulation && !Vector && !Scalar ? 2 : 0;
  return {File, unsigned(__builtin_popcountll(lanes(RC->getLaneMask()))), 1};
}

// LLVM has one lane per 16 bits of a GPU register. Lowtide has one per 32 bits.
uint64_t RegisterFiles::lanes(LaneBitmask Mask) const {
  if (!IsGPU)
    return Mask.any() ? 1 : 0;
  uint64_t HalfLanes = Mask.getAsInteger();
  uint64_t Lanes = 0;
  for (unsigned I = 0; I != 32; ++I)
    Lanes |= uint64_t((HalfLanes >> (2 * I) & 3) != 0) << I;
  return Lanes;
}

std::vector<unsigned> RegisterFiles::used(const MachineRegisterInfo &MRI) const {
  std::vector<unsigned> Result;
  for (const RegisterFile &File : Files) {
    unsigned Position = 0, Highest = 0, Count = 0;
    for (MCPhysReg Reg : *File.Base) {
      ++Position;
      // Ignore the registers that only calls clobber: they are the same in every order.
      if (MRI.isPhysRegUsed(Reg, /*SkipRegMaskTest=*/true)) {
        Highest = Position;
        ++Count;
      }
    }
    Result.push_back(IsGPU ? Highest : Count);
  }
  return Result;
}

} // namespace lowtide

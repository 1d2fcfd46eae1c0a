//===- RegisterFiles.h - Which registers compete with which ------*- C++ -*-===//
//
// Lowtide counts pressure in register files and lanes. LLVM has hundreds of overlapping register classes. This class
// translates between them. It uses only the public interface of LLVM: the AMDGPU back end does not export its classes.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_REGISTERFILES_H
#define LOWTIDE_LLVM_REGISTERFILES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/MC/LaneBitmask.h"
#include <cstdint>
#include <string>
#include <vector>

namespace lowtide {

/// A register file. Its size and pressure are counted in registers of its base class.
struct RegisterFile {
  std::string Name;
  const llvm::TargetRegisterClass *Base;
  /// The number of registers of the base class that code may use.
  unsigned Size;
};

/// The space that a virtual register takes up.
struct Footprint {
  unsigned File;
  /// Parts with live ranges of their own.
  unsigned Lanes;
  /// Registers of the base class per lane.
  unsigned LaneWeight;
};

class RegisterFiles {
public:
  RegisterFiles(const llvm::MachineFunction &MF, const llvm::RegisterClassInfo &Allocatable);

  const std::vector<RegisterFile> &files() const { return Files; }
  /// Return the space that a virtual register takes up.
  Footprint footprint(llvm::Register Reg, const llvm::MachineRegisterInfo &MRI);

  /// Convert a lane mask of LLVM to one of Lowtide.
  uint64_t lanes(llvm::LaneBitmask Mask) const;

  /// Return the registers that allocated code uses, by file. On a GPU all registers up to the highest one count. On a
  /// CPU only the registers that occur count.
  std::vector<unsigned> used(const llvm::MachineRegisterInfo &MRI) const;

private:
  void findGPUFiles(const llvm::RegisterClassInfo &Allocatable);
  void findFiles(const llvm::MachineRegisterInfo &MRI, const llvm::RegisterClassInfo &Allocatable);
  Footprint footprintOf(const llvm::TargetRegisterClass *RC) const;
  unsigned unitCount(llvm::MCRegister Reg) const;

  const llvm::TargetRegisterInfo *TRI;
  bool IsGPU;
  std::vector<RegisterFile> Files;
  /// The file of each register unit; negative for none. Empty on a GPU.
  std::vector<int> FileOfUnit;
  /// The footprints computed so far, by class.
  llvm::DenseMap<const llvm::TargetRegisterClass *, Footprint> Footprints;
};

/// Return whether the code is for an AMD GPU.
bool isAMDGPU(const llvm::MachineFunction &MF);

} // namespace lowtide

#endif

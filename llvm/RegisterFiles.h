//===- RegisterFiles.h - Which registers compete with which ------*- C++ -*-===//
//
// Lowtide counts pressure in register files and lanes; LLVM has hundreds of overlapping register classes. This is the
// translation, made with the public interface of LLVM only: the classes of the AMDGPU back end are not exported.
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

/// A register file, and the class whose registers it is counted in.
struct RegisterFile {
  std::string Name;
  const llvm::TargetRegisterClass *Base;
  /// Registers of the base class that code may use.
  unsigned Size;
};

/// What a virtual register of some class takes up.
struct Footprint {
  unsigned File;
  /// Parts that live and die on their own.
  unsigned Lanes;
  /// Registers of the file's base class that each part takes up.
  unsigned LaneWeight;
};

class RegisterFiles {
public:
  RegisterFiles(const llvm::MachineFunction &MF, const llvm::RegisterClassInfo &Allocatable);

  const std::vector<RegisterFile> &files() const { return Files; }
  Footprint footprint(llvm::Register Reg, const llvm::MachineRegisterInfo &MRI);

  /// LLVM's lanes as Lowtide's.
  uint64_t lanes(llvm::LaneBitmask Mask) const;

  /// Registers of each file that allocated code uses: on a GPU all up to the highest, else those that occur.
  std::vector<unsigned> used(const llvm::MachineRegisterInfo &MRI) const;

private:
  void findGPUFiles(const llvm::RegisterClassInfo &Allocatable);
  void findFiles(const llvm::MachineRegisterInfo &MRI, const llvm::RegisterClassInfo &Allocatable);
  Footprint footprintOf(const llvm::TargetRegisterClass *RC) const;
  unsigned unitCount(llvm::MCRegister Reg) const;

  const llvm::TargetRegisterInfo *TRI;
  bool IsGPU;
  std::vector<RegisterFile> Files;
  /// For each register unit its file; only where files are found by aliasing.
  std::vector<int> FileOfUnit;
  llvm::DenseMap<const llvm::TargetRegisterClass *, Footprint> Known;
};

/// Whether the code is for an AMD GPU.
bool isAMDGPU(const llvm::MachineFunction &MF);

} // namespace lowtide

#endif

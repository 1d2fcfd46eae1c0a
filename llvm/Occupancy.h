//===- Occupancy.h - Registers and waves of one function ---------*- C++ -*-===//
//
// Fewer registers let more waves run at once, but only at certain steps. The target file of Lowtide knows the steps;
// the function adds limits of its own (local memory, work-group size, attributes). This class combines both, and
// converts in either direction.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_OCCUPANCY_H
#define LOWTIDE_LLVM_OCCUPANCY_H

#include "FinalCode.h"
#include "lowtide.h"
#include <cstdint>
#include <vector>

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

class RegisterFiles;

class Occupancy {
public:
  Occupancy() = default;

  /// Read the limits of a function. Call this before the stock scheduler runs: it lowers LLVM's register limit to the
  /// occupancy that it reaches itself. Without a target, and on a CPU, one wave is the most. `Files` must outlive the
  /// object.
  Occupancy(const lowtide_target *Target, const RegisterFiles &Files, llvm::MachineFunction &MF);

  /// Return the most waves that local memory, work-group size and attributes allow.
  unsigned most() const { return Most; }

  /// Set the waves that fit after allocation.
  void measure(FinalCode &Final) const;

  /// Return the waves that fit with a register pressure, given by file.
  unsigned ofPeaks(const std::vector<uint32_t> &Peaks) const;

  /// Return the registers of the first file that each of `Waves` waves can have.
  unsigned registersFor(unsigned Waves) const;

private:
  unsigned of(const uint32_t *Registers, size_t Count) const;
  unsigned of(const FinalCode &Final, unsigned ReservedScalars) const;

  const lowtide_target *Target = nullptr;
  const RegisterFiles *Files = nullptr;
  bool IsGPU = false;
  unsigned Most = 0;
};

} // namespace lowtide

#endif

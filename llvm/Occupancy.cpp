//===- Occupancy.cpp - Registers and waves of one function ----------------===//

#include "Occupancy.h"
#include "RegisterFiles.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Function.h"
#include <algorithm>

using namespace llvm;

namespace lowtide {

Occupancy::Occupancy(const lowtide_target *Target, const RegisterFiles &Files, MachineFunction &MF)
    : Target(Target), Files(&Files), IsGPU(isAMDGPU(MF)), Most(1) {
  if (!Target || !IsGPU)
    return;
  // LLVM reports the limit in registers.
  const RegisterFile &First = Files.files()[0];
  uint32_t Registers = MF.getSubtarget().getRegisterInfo()->getRegPressureLimit(First.Base, MF), Waves = 1;
  const char *Class = First.Name.c_str();
  lowtide_target_waves(Target, &Class, &Registers, 1, &Waves, nullptr);
  // The attribute reads "fewest,most".
  StringRef Attribute = MF.getFunction().getFnAttribute("amdgpu-waves-per-eu").getValueAsString();
  unsigned AttributeMost;
  if (!Attribute.split(',').second.trim().getAsInteger(10, AttributeMost) && AttributeMost > 0)
    Waves = std::min(Waves, AttributeMost);
  Most = Waves;
}

unsigned Occupancy::registersFor(unsigned Waves) const {
  uint32_t Registers = 0;
  lowtide_target_limit(Target, Files->files()[0].Name.c_str(), Waves, &Registers, nullptr);
  return Registers;
}

unsigned Occupancy::of(const uint32_t *Registers, size_t Count) const {
  std::vector<const char *> Classes;
  for (const RegisterFile &File : Files->files())
    Classes.push_back(File.Name.c_str());
  uint32_t Waves = 0;
  lowtide_target_waves(Target, Classes.data(), Registers, std::min(Count, Classes.size()), &Waves, nullptr);
  return std::min(Waves, Most);
}

unsigned Occupancy::ofPeaks(const std::vector<uint32_t> &Peaks) const { return of(Peaks.data(), Peaks.size()); }

unsigned Occupancy::of(const FinalCode &Final, unsigned ReservedScalars) const {
  FinalCode WithReserved = Final;
  if (IsGPU)
    WithReserved.Registers[1] += ReservedScalars;
  return of(WithReserved.Registers, FinalCode::MostFiles);
}

// The condition code, the trap handler and flat addressing reserve scalar registers above the used ones: a pair each.
// LLVM decides after the trial.
void Occupancy::measure(FinalCode &Final) const {
  for (size_t I = 0; I != std::size(FinalCode::Reserves); ++I)
    Final.WavesWith[I] = of(Final, FinalCode::Reserves[I]);
  Final.Waves = *std::min_element(std::begin(Final.WavesWith), std::end(Final.WavesWith));
}

} // namespace lowtide

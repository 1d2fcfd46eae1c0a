//===- Report.cpp - What was found for a function, and what was kept -------===//

#include "Report.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace lowtide {

bool Candidate::chooseOrders(const Candidate &Stock, Where Which, lowtide_goal Goal) {
  for (unsigned I = 0; I != Regions.size(); ++I) {
    const lowtide_region_result &Before = Stock.Regions[I];
    lowtide_region_result &After = Regions[I];
    bool IsNeeded =
        Before.occupancy < Kernel.occupancy || Before.spilled > After.spilled || (Limit && Before.peaks[0] > Limit);
    bool IsBetter =
        Goal == LOWTIDE_MIN_REG ? After.peaks[0] < Before.peaks[0] : After.length < Before.length;
    if (IsNeeded || Which == Where::Everywhere || (Which == Where::Better && IsBetter)) {
      Orders[I] = ArrayRef<uint32_t>(After.order, After.count);
      ++Changed;
    } else
      After = Before;
  }
  return Changed > 0;
}

uint64_t Candidate::length() const {
  uint64_t Sum = 0;
  for (const lowtide_region_result &Region : Regions)
    Sum += Region.length;
  return Sum;
}

uint64_t Candidate::spilled() const {
  uint64_t Sum = 0;
  for (const lowtide_region_result &Region : Regions)
    Sum += Region.spilled;
  return Sum;
}

unsigned Candidate::peak(unsigned File) const {
  unsigned Peak = 0;
  for (const lowtide_region_result &Region : Regions)
    Peak = std::max(Peak, Region.peaks[File]);
  return Peak;
}

std::vector<uint32_t> Candidate::peaksAt() const {
  std::vector<uint32_t> Peaks(Regions.front().classes);
  for (const lowtide_region_result &Region : Regions)
    for (unsigned File = 0; File != Peaks.size(); ++File)
      Peaks[File] = std::max(Peaks[File], Region.peaks_at[File]);
  return Peaks;
}

std::string FunctionReport::format(const MachineFunction &MF, const RegisterFiles &Files,
                                   function_ref<unsigned(const Allocation &)> Waves) const {
  std::string Line;
  raw_string_ostream Text(Line);
  json::OStream J(Text);
  auto Describe = [&](const Candidate &C) {
    J.attribute("waves", C.Kernel.occupancy);
    J.attribute("waves_bound", C.Kernel.occupancy_bound);
    J.attribute("length", int64_t(C.length()));
    J.attribute("spilled", int64_t(C.spilled()));
    J.attributeObject("peaks", [&] {
      for (unsigned File = 0; File != Files.files().size(); ++File)
        J.attribute(Files.files()[File].Name, C.peak(File));
    });
    if (!C.Final)
      return;
    J.attributeObject("final", [&] {
      J.attribute("waves", Waves(*C.Final));
      for (unsigned File = 0; File != Files.files().size() && File != Allocation::MostFiles; ++File)
        J.attribute(Files.files()[File].Name, C.Final->Registers[File]);
      J.attribute("stack", int64_t(C.Final->StackBytes));
      J.attribute("spills", C.Final->Spills);
    });
  };
  size_t Instrs = 0;
  for (const CodeRegion &Region : Regions)
    Instrs += Region.Instrs.size();
  J.object([&] {
    J.attribute("function", MF.getName());
    J.attribute("cpu", MF.getSubtarget().getCPU());
    J.attribute("regions", int64_t(Regions.size()));
    J.attribute("instructions", int64_t(Instrs));
    J.attribute("most_waves", MostWaves);
    J.attribute("taken", Chosen);
    if (Chosen < 0)
      J.attribute("reason", Reason.empty() ? "nothing better found" : Reason);
    J.attribute("stock_seconds", StockSeconds);
    J.attribute("describe_seconds", DescribeSeconds);
    J.attribute("search_seconds", SearchSeconds);
    J.attribute("trial_seconds", TrialSeconds);
    if (!Stock.Regions.empty())
      J.attributeObject("stock", [&] { Describe(Stock); });
    J.attributeArray("tries", [&] {
      for (const Candidate &Try : Tries)
        J.object([&] {
          J.attribute("limit", Try.Limit);
          J.attribute("allocator_limit", Try.AllocatorLimit);
          J.attribute("changed", Try.Changed);
          Describe(Try);
        });
    });
  });
  Text << "\n";
  return Text.str();
}

} // namespace lowtide

//===- Report.cpp - The record of one function ----------------------------===//

#include "Report.h"
#include "RegisterFiles.h"
#include "Trial.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <ctime>

using namespace llvm;

namespace lowtide {

double processorSeconds() {
  static thread_local const clockid_t Clock = Trial::isThreaded() ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
  timespec Time = {};
  clock_gettime(Clock, &Time);
  return double(Time.tv_sec) + 1e-9 * double(Time.tv_nsec);
}

void FunctionReport::addTime(double &Seconds) {
  auto Now = std::chrono::steady_clock::now();
  double NowSeconds = processorSeconds();
  Seconds += std::chrono::duration<double>(Now - Last).count();
  if (&Seconds != &StockSeconds)
    OwnSeconds += std::max(0.0, NowSeconds - LastSeconds);
  Last = Now;
  LastSeconds = NowSeconds;
}

std::string FunctionReport::format(const MachineFunction &MF, const RegisterFiles &Files,
                                   const Occupancy &Waves) const {
  std::string Line;
  raw_string_ostream Text(Line);
  json::OStream J(Text);
  auto WriteFigures = [&](const Candidate &C) {
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
    const FinalCode &Code = *C.Final;
    J.attributeObject("final", [&] {
      J.attribute("waves", Code.Waves);
      for (unsigned File = 0; File != Files.files().size() && File != FinalCode::MostFiles; ++File)
        J.attribute(Files.files()[File].Name, Code.Registers[File]);
      J.attribute("stack", int64_t(Code.StackBytes));
      J.attribute("spills", Code.Spills);
      J.attribute("scalar_spills", Code.ScalarSpills);
      J.attribute("code", int64_t(Code.CodeBytes));
      J.attribute("length", std::llround(Code.Length));
      J.attribute("length_by_target", std::llround(Code.CostAt[0]));
      J.attribute("issue", std::llround(Code.Issue));
      J.attribute("cost", std::llround(Code.cost()));
      J.attribute("waits", Code.Waits);
      J.attribute("carries", Code.Carries);
      J.attribute("wide_carries", Code.WideCarries);
      J.attribute("loads_after_loads", Code.LoadsAfterLoads);
    });
  };
  J.object([&] {
    J.attribute("function", MF.getName());
    J.attribute("cpu", MF.getSubtarget().getCPU());
    J.attribute("regions", int64_t(Regions));
    J.attribute("instructions", int64_t(Instrs));
    J.attribute("most_waves", Waves.most());
    J.attribute("taken", Chosen);
    if (Chosen < 0)
      J.attribute("reason", Reason.empty() ? "no better order found" : Reason);
    if (IsRemembered)
      J.attribute("remembered", true);
    J.attribute("stock_seconds", StockSeconds);
    J.attribute("describe_seconds", DescribeSeconds);
    J.attribute("search_seconds", SearchSeconds);
    J.attribute("trial_seconds", TrialSeconds);
    J.attribute("wait_seconds", WaitSeconds);
    if (!Stock.Regions.empty())
      J.attributeObject("stock", [&] { WriteFigures(Stock); });
    J.attributeArray("tries", [&] {
      for (const Candidate &Try : Tries)
        J.object([&] {
          J.attribute("limit", Try.SearchLimit);
          J.attribute("allocator_limit", Try.AllocatorLimit);
          J.attribute("changed", Try.Changed);
          WriteFigures(Try);
        });
    });
  });
  Text << "\n";
  return Text.str();
}

} // namespace lowtide

//===- Watch.cpp - Measure a function when its code is finished -----------===//

#include "Watch.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include <memory>

using namespace llvm;

namespace lowtide {
namespace {

class Gate : public OptPassGate {
public:
  Gate(MachineFunction &MF, const RegisterFiles &Files, const lowtide_target *Target, WhenFinished Finished)
      : MF(MF), Context(MF.getFunction().getContext()), Before(Context.getOptPassGate()), Files(Files), Target(Target),
        LaneWrites(isAMDGPU(MF) ? countLaneWrites(MF) : 0), Finished(std::move(Finished)) {
    Context.setOptPassGate(*this);
  }

  /// Give the place of the gate back, unless its context is no more.
  void end(LLVMContext &Now) {
    if (IsOpen && &Now == &Context)
      Context.setOptPassGate(Before);
    IsOpen = false;
  }

  bool isEnabled() const override { return true; }

#if LLVM_VERSION_MAJOR >= 16
  bool shouldRunPass(const StringRef Name, StringRef Unit) override {
    beforePass(Name);
    return !Before.isEnabled() || Before.shouldRunPass(Name, Unit);
  }
#else
  bool shouldRunPass(const Pass *P, StringRef Unit) override {
    beforePass(P->getPassName());
    return !Before.isEnabled() || Before.shouldRunPass(P, Unit);
  }
#endif

private:
  void beforePass(StringRef PassName) {
    if (PassName == AfterFrame && MF.getProperties().hasProperty(MachineFunctionProperties::Property::NoVRegs)) {
      measureAllocation(Result, MF, Files, LaneWrites);
      IsAllocated = true;
    }
    if (!IsOpen || !IsAllocated || PassName != (isAMDGPU(MF) ? AtEnd : AfterFrame))
      return;
    measureCode(Result, MF, Target);
    IsOpen = false;
    Context.setOptPassGate(Before);
    Finished(Result);
  }

  /// The first optional pass after the frame is laid out.
  static constexpr const char *AfterFrame = "Control Flow Optimizer";
  /// The last optional pass of the AMDGPU back end. Only the relaxation of far branches follows. The last optional
  /// passes of other back ends differ, so their code is measured after the frame.
  static constexpr const char *AtEnd = "AMDGPU Insert Delay ALU";

  MachineFunction &MF;
  LLVMContext &Context;
  OptPassGate &Before;
  /// Held by value, because LLVM has destroyed the scheduler by then.
  RegisterFiles Files;
  const lowtide_target *Target;
  unsigned LaneWrites;
  WhenFinished Finished;
  bool IsAllocated = false, IsOpen = true;
  FinalCode Result;
};

} // namespace

/// The gate is still running when it has finished, so that it lives until the next function.
static std::unique_ptr<Gate> &current() {
  static thread_local std::unique_ptr<Gate> Current;
  return Current;
}

void watch(MachineFunction &MF, const RegisterFiles &Files, const lowtide_target *Target, WhenFinished Finished) {
  endWatch(MF.getFunction().getContext());
  current() = std::make_unique<Gate>(MF, Files, Target, std::move(Finished));
}

void endWatch(LLVMContext &Context) {
  if (current())
    current()->end(Context);
  current().reset();
}

} // namespace lowtide

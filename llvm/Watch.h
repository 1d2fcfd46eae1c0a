//===- Watch.h - Measure a function when its code is finished ----*- C++ -*-===//
//
// LLVM has no hook for code outside the pass pipeline, except that each optional pass asks a gate whether it may run.
// The watch is such a gate: it lets every pass run, measures the function after the frame is laid out and again at the
// end, and hands over the figures.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_WATCH_H
#define LOWTIDE_LLVM_WATCH_H

#include "FinalCode.h"
#include "RegisterFiles.h"
#include <functional>

namespace llvm {
class LLVMContext;
class MachineFunction;
} // namespace llvm

namespace lowtide {

using WhenFinished = std::function<void(const FinalCode &)>;

/// Call `Finished` with the figures of a function when only its branches are left to place. A function whose pipeline
/// lacks the passes in which the watch measures never gets there (Trial::obstacle).
void watch(llvm::MachineFunction &MF, const RegisterFiles &Files, const lowtide_target *Target, WhenFinished Finished);

/// End the watch of this thread, if there is one, before the next function of a context.
void endWatch(llvm::LLVMContext &Context);

} // namespace lowtide

#endif

//===- Settings.h - What the command line asks for ---------------*- C++ -*-===//
#ifndef LOWTIDE_LLVM_SETTINGS_H
#define LOWTIDE_LLVM_SETTINGS_H

#include "RegisterFiles.h"
#include "lowtide.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <string>

namespace lowtide {

/// Whether functions of this target are Lowtide's business.
bool isWanted(const llvm::MachineFunction &MF);

/// Whether this function is.
bool isWantedFunction(llvm::StringRef Name);

/// Goal, algorithm and budget. Ends the compiler with a message if they make no sense.
lowtide_options schedulingOptions();

/// Whether orders are tried out with the register allocator.
bool isTrialWanted();

/// Where to write what was done, and the regions; empty for nowhere.
llvm::StringRef reportFile();
llvm::StringRef dumpFile();

/// The target and the answers that all functions for it share.
struct Session {
  const lowtide_target *Target = nullptr;
  const lowtide_session *Handle = nullptr;
  /// The name of the target.
  std::string Name;
};

/// The session for a function's processor, or none and the reason.
const Session *findSession(const llvm::MachineFunction &MF, const RegisterFiles &Files, unsigned IssueWidth,
                           std::string &Reason);

/// Adds text at the end of a file.
void append(llvm::StringRef File, llvm::StringRef Text);

} // namespace lowtide

#endif

//===- Settings.h - Command-line options and sessions ------------*- C++ -*-===//
//
// Every option of the plugin starts with -lowtide-. The options select the functions to schedule, the target, the goal
// and the budget of the searches, and the files to write. Settings.cpp holds their help texts.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_SETTINGS_H
#define LOWTIDE_LLVM_SETTINGS_H

#include "lowtide.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

class RegisterFiles;

/// Return whether Lowtide schedules for the processor of this function.
bool isWanted(const llvm::MachineFunction &MF);

/// Return whether Lowtide schedules the function of this name.
bool isWantedFunction(llvm::StringRef Name);

/// Return goal, algorithm and budget. On an invalid option, print a message and exit.
lowtide_options schedulingOptions();

/// Return whether the register allocator runs on new orders before they are accepted.
bool isTrialWanted();

/// Return the file for reports; empty for none.
llvm::StringRef reportFile();

/// Return the file for regions; empty for none.
llvm::StringRef dumpFile();

/// Return whether answers are kept across compilations.
bool hasStore();

/// Return the schedule file that has the orders; empty for none.
llvm::StringRef ordersFile();

/// A target, and the cache of results that all functions for it share.
struct Session {
  const lowtide_target *Target = nullptr;
  const lowtide_session *Handle = nullptr;
  /// The name of the target.
  std::string Name;
};

/// Return the session for the processor of a function. Return nullptr and set `Reason` if there is no target for it.
const Session *findSession(const llvm::MachineFunction &MF, const RegisterFiles &Files, unsigned IssueWidth,
                           std::string &Reason);

/// Print a message and exit.
[[noreturn]] void stop(const llvm::Twine &Message);

/// Print a warning.
void warn(const llvm::Twine &Message);

/// Print a warning, once per process.
void warnOnce(const llvm::Twine &Message);

/// Append text to a file. On an error, print a message and exit.
void append(llvm::StringRef File, llvm::StringRef Text);

} // namespace lowtide

#endif

//===- Host.cpp - Is this the right compiler for the plugin ---------------===//
//
// A plugin for another version of LLVM brings that version into the process and registers itself there. The compiler
// then says only that it knows no scheduler of this name. This file prints the cause when the plugin is loaded.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <link.h>

using namespace llvm;

namespace lowtide {
namespace {

/// Return the version of LLVM that a library contains, by its name: libLLVM-15.so.1 or libLLVM.so.19.1; 0 for none.
unsigned versionOf(StringRef Path) {
  StringRef Name = Path.substr(Path.rfind('/') + 1);
  if (!Name.consume_front("libLLVM-") && !Name.consume_front("libLLVM.so."))
    return 0;
  unsigned Version = 0;
  return Name.consumeInteger(10, Version) ? 0 : Version;
}

int warnOfOtherVersion(dl_phdr_info *Library, size_t, void *) {
  unsigned Version = versionOf(Library->dlpi_name);
  if (Version == 0 || Version == LLVM_VERSION_MAJOR)
    return 0;
  errs() << "lowtide: this plugin is for LLVM " << LLVM_VERSION_MAJOR << ", but the compiler uses LLVM " << Version
         << ": build the plugin with scripts/build-llvm-plugin " << Version << "\n";
  return 1;
}

[[maybe_unused]] const int Checked = dl_iterate_phdr(warnOfOtherVersion, nullptr);

} // namespace
} // namespace lowtide

//===- Owned.h - Handles of the C interface, freed automatically -*- C++ -*-===//
#ifndef LOWTIDE_LLVM_OWNED_H
#define LOWTIDE_LLVM_OWNED_H

#include "lowtide.h"
#include <memory>

namespace lowtide {

/// Free a handle of the C interface with the function that matches its type.
struct Release {
  void operator()(lowtide_kernel *Kernel) const { lowtide_kernel_free(Kernel); }
  void operator()(lowtide_region *Region) const { lowtide_region_free(Region); }
  void operator()(lowtide_outcome *Outcome) const { lowtide_outcome_free(Outcome); }
  void operator()(lowtide_target *Target) const { lowtide_target_free(Target); }
  void operator()(lowtide_session *Session) const { lowtide_session_free(Session); }
  void operator()(char *Text) const { lowtide_string_free(Text); }
};
template <typename T> using Owned = std::unique_ptr<T, Release>;

} // namespace lowtide

#endif

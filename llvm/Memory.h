//===- Memory.h - What functions ended with ----------------------*- C++ -*-===//
//
// -lowtide-store keeps the decision about each function: the orders that won and what the allocator made of them, or
// that the stock orders stay. The key is everything that decides about a function: its code after the stock scheduler,
// its attributes, the processor, LLVM's version and the options. The second compilation of a function needs no search and no trial.
//
// Nothing of it is believed. Orders are checked against the code like those of a search. When the code is finished, its
// figures are compared with the remembered ones. If they differ, the entry is dropped, and the next compilation runs
// its own trials.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_MEMORY_H
#define LOWTIDE_LLVM_MEMORY_H

#include "FinalCode.h"
#include "Orders.h"
#include "lowtide.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace lowtide {

/// The decision about a function.
struct Remembered {
  /// The new order of each region; empty where the stock order stays.
  std::vector<Order> Orders;
  /// The register limit of the allocator; 0 for none.
  uint32_t AllocatorLimit = 0;
  /// Whether a trial has measured the code, and what it found.
  bool IsMeasured = false;
  FinalCode Final;
  /// Why the stock orders stay.
  std::string Reason;

  bool isChanged() const;
};

/// Return the bytes that stand for a function after the stock scheduler, and for everything else that decides about it.
/// `Frequencies` are those of its blocks.
std::string keyOf(const llvm::MachineFunction &MF, const std::vector<double> &Frequencies, unsigned MostWaves,
                  const std::string &Target, const lowtide_options &Options);

/// Return the decision about a function in the store of a session; none if there is none.
std::optional<Remembered> recall(const lowtide_session *Session, const std::string &Key);
void remember(const lowtide_session *Session, const std::string &Key, const Remembered &Decision);
void forget(const lowtide_session *Session, const std::string &Key);

/// Return whether finished code has the figures that are remembered.
bool isAsRemembered(const FinalCode &Now, const FinalCode &Then);

} // namespace lowtide

#endif

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
#include <array>
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

class Memory {
public:
  using Key = std::array<uint8_t, 32>;

  /// Return the memory of -lowtide-store; nullptr without the option.
  static const Memory *get();

  /// Return the key of a function after the stock scheduler. `Frequencies` are those of its blocks.
  static Key keyOf(const llvm::MachineFunction &MF, const std::vector<double> &Frequencies, unsigned MostWaves,
                   const std::string &Target, const lowtide_options &Options);

  /// Return the decision about a function; none if there is none or it is damaged.
  std::optional<Remembered> find(const Key &Key) const;
  void keep(const Key &Key, const Remembered &Decision) const;
  void drop(const Key &Key) const;

private:
  explicit Memory(const lowtide_store *Store) : Store(Store) {}

  const lowtide_store *Store;
};

/// Return whether finished code has the figures that are remembered.
bool isAsRemembered(const FinalCode &Now, const FinalCode &Then);

} // namespace lowtide

#endif

//===- Orders.h - Orders from a schedule file --------------------*- C++ -*-===//
//
// -lowtide-orders takes the orders from a file of `lowtide schedule -o` instead of a search: made offline, with more
// time, on a GPU or on a cluster. The file belongs to regions of -lowtide-dump, so its orders are those of the code
// before the stock scheduler runs. They are translated to the code after it. An order that does not fit the code is
// reported and left out.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_ORDERS_H
#define LOWTIDE_LLVM_ORDERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lowtide {

using Order = std::vector<uint32_t>;

/// The orders of a schedule file.
class Orders {
public:
  /// Return the orders of the file of -lowtide-orders; nullptr without the option. On an error in the file, print a
  /// message and exit.
  static const Orders *get();

  bool hasFunction(llvm::StringRef Function) const;
  /// Return the order of a region; nullptr if the file has none.
  const Order *find(llvm::StringRef Function, llvm::StringRef Region) const;

private:
  explicit Orders(llvm::StringRef File);

  /// By function, then by region.
  std::map<std::string, std::map<std::string, Order>> All;
};

/// Return an order of a region for its instructions in another sequence: `Now` has their positions in the old one.
/// Return an empty order, and say why in `Reason`, if it is not one of exactly these instructions.
Order translate(const Order &Wanted, llvm::ArrayRef<uint32_t> Now, std::string &Reason);

} // namespace lowtide

#endif

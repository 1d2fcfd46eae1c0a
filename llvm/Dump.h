//===- Dump.h - Regions as a region file -------------------------*- C++ -*-===//
//
// -lowtide-dump writes each region as the stock scheduler receives it, with the order that the stock scheduler gives
// it. A region is recorded before the stock scheduler runs; its order is read afterwards. A region gets no order if the
// stock scheduler has replaced instructions in it, for example by rematerialisation.
// -lowtide-orders has orders for these regions (Orders.h). They are found again after the stock scheduler has run.
//
//===----------------------------------------------------------------------===//
#ifndef LOWTIDE_LLVM_DUMP_H
#define LOWTIDE_LLVM_DUMP_H

#include "Model.h"
#include "Orders.h"
#include "Owned.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace lowtide {

class Dump {
public:
  bool empty() const { return Records.empty(); }
  size_t size() const { return Records.size(); }

  /// Keep a region and its description, before the stock scheduler runs.
  void record(CodeRegion Region, std::string Name, Owned<lowtide_region> Description);

  /// Return the orders of a file for the regions that the code has now, each empty if the file has none that fits. Say in
  /// `Reason` why an order does not fit.
  std::vector<Order> ordersFor(llvm::ArrayRef<CodeRegion> Now, const Orders &File, llvm::StringRef Function,
                               std::string &Reason) const;

  /// Append all regions to a file, after the stock scheduler has run. On an invalid description set `Reason`, and write
  /// nothing.
  void write(Owned<lowtide_kernel> Kernel, llvm::StringRef File, std::string &Reason);

private:
  struct Record {
    CodeRegion Region;
    std::string Name;
    Owned<lowtide_region> Description;
    /// The opcode of each instruction. The stock scheduler can free an instruction and LLVM can reuse its address.
    std::vector<unsigned> Opcodes;
  };
  static std::vector<uint32_t> stockOrder(const Record &Record);

  std::vector<Record> Records;
};

} // namespace lowtide

#endif

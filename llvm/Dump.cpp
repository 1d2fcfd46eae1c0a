//===- Dump.cpp - Regions as a region file --------------------------------===//

#include "Dump.h"
#include "Settings.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/Config/llvm-config.h"

using namespace llvm;

namespace lowtide {

void Dump::record(CodeRegion Region, std::string Name, Owned<lowtide_region> Description) {
  std::vector<unsigned> Opcodes;
  for (const MachineInstr *MI : Region.Instrs)
    Opcodes.push_back(MI->getOpcode());
  Records.push_back({std::move(Region), std::move(Name), std::move(Description), std::move(Opcodes)});
}

/// Return the order in which the instructions of a region stand now; empty if they are not the recorded ones.
std::vector<uint32_t> Dump::stockOrder(const Record &Record) {
  const std::vector<MachineInstr *> &Instrs = Record.Region.Instrs;
  DenseMap<const MachineInstr *, unsigned> Position;
  for (unsigned I = 0; I != Instrs.size(); ++I)
    Position[Instrs[I]] = I;
  std::vector<uint32_t> Order;
  for (const MachineInstr &MI : *Record.Region.Block) {
    if (MI.isDebugInstr())
      continue;
    auto At = Position.find(&MI);
    if (At != Position.end()) {
      if (MI.getOpcode() != Record.Opcodes[At->second])
        return {};
      Order.push_back(At->second);
    } else if (!Order.empty())
      break;
  }
  if (Order.size() != Instrs.size())
    return {};
  return Order;
}

std::vector<Order> Dump::ordersFor(ArrayRef<CodeRegion> Now, const Orders &File, StringRef Function,
                                   std::string &Reason) const {
  DenseMap<const MachineInstr *, size_t> RegionAt;
  for (size_t I = 0; I != Now.size(); ++I)
    RegionAt[Now[I].Instrs.front()] = I;
  std::vector<Order> Result(Now.size());
  for (const Record &Record : Records) {
    const Order *Wanted = File.find(Function, Record.Name);
    if (!Wanted)
      continue;
    Order Stock = stockOrder(Record);
    auto At = Stock.empty() ? RegionAt.end() : RegionAt.find(Record.Region.Instrs[Stock.front()]);
    std::string Problem;
    if (At == RegionAt.end() || Now[At->second].Instrs.size() != Stock.size())
      Problem = "the stock scheduler has replaced instructions";
    else
      Result[At->second] = translate(*Wanted, Stock, Problem);
    if (!Problem.empty())
      Reason = "region " + Record.Name + ": " + Problem;
  }
  return Result;
}

void Dump::write(Owned<lowtide_kernel> Kernel, StringRef File, std::string &Reason) {
  for (Record &Record : Records) {
    std::vector<uint32_t> Order = stockOrder(Record);
    if (!Order.empty())
      lowtide_region_production(Record.Description.get(), "llvm-" LLVM_VERSION_STRING, Order.data(), Order.size());
    if (!addRegion(Kernel.get(), std::move(Record.Description), Reason))
      return;
  }
  char *Text = nullptr, *Message = nullptr;
  if (lowtide_kernel_format(Kernel.get(), &Text, &Message) == LOWTIDE_OK)
    append(File, Text);
  lowtide_string_free(Text);
  lowtide_string_free(Message);
}

} // namespace lowtide

//===- Orders.cpp - Orders from a schedule file ---------------------------===//

#include "Orders.h"
#include "Settings.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace lowtide {

/// The versions of the schedule format that this reads.
static constexpr int64_t OldestVersion = 1, NewestVersion = 3;

/// Parse one line. Return an error message; empty on success.
static std::string parse(StringRef Line, std::string &Function, std::string &Region, Order &Result) {
  Expected<json::Value> Value = json::parse(Line);
  if (!Value)
    return toString(Value.takeError());
  const json::Object *Object = Value->getAsObject();
  auto Version = Object ? Object->getInteger("lowtide-schedule") : decltype(Object->getInteger(""))();
  if (!Version)
    return "this is no schedule of `lowtide schedule -o`";
  if (*Version < OldestVersion || *Version > NewestVersion)
    return "this version of the schedule format is unknown";
  auto Kernel = Object->getString("kernel"), Name = Object->getString("region");
  const json::Array *Instrs = Object->getArray("order");
  if (!Kernel || !Name || !Instrs)
    return "the kernel, the region or the order is missing";
  Function = Kernel->str();
  Region = Name->str();
  for (const json::Value &Instr : *Instrs) {
    auto Number = Instr.getAsInteger();
    if (!Number || *Number < 0 || *Number > UINT32_MAX)
      return "the order has something else than instruction numbers";
    Result.push_back(uint32_t(*Number));
  }
  return "";
}

Orders::Orders(StringRef File) {
  auto Text = MemoryBuffer::getFile(File);
  if (!Text)
    stop("cannot read " + File + ": " + Text.getError().message());
  StringRef Rest = (*Text)->getBuffer();
  for (size_t Number = 1; !Rest.empty(); ++Number) {
    auto [Line, Next] = Rest.split('\n');
    Rest = Next;
    if (Line.trim().empty())
      continue;
    std::string Function, Region;
    Order Found;
    std::string Error = parse(Line, Function, Region, Found);
    if (Error.empty() && !All[Function].try_emplace(Region, std::move(Found)).second)
      Error = "region " + Region + " of " + Function + " has two orders";
    if (!Error.empty())
      stop(File + ":" + Twine(Number) + ": " + Error);
  }
}

const Orders *Orders::get() {
  if (ordersFile().empty())
    return nullptr;
  static const Orders Read(ordersFile());
  return &Read;
}

bool Orders::hasFunction(StringRef Function) const { return All.count(Function.str()) != 0; }

const Order *Orders::find(StringRef Function, StringRef Region) const {
  auto Regions = All.find(Function.str());
  if (Regions == All.end())
    return nullptr;
  auto Found = Regions->second.find(Region.str());
  return Found == Regions->second.end() ? nullptr : &Found->second;
}

Order translate(const Order &Wanted, ArrayRef<uint32_t> Now, std::string &Reason) {
  if (Wanted.size() != Now.size()) {
    Reason = "the order has " + std::to_string(Wanted.size()) + " instructions, the code " + std::to_string(Now.size());
    return {};
  }
  std::vector<uint32_t> Position(Now.size());
  for (uint32_t I = 0; I != Now.size(); ++I)
    Position[Now[I]] = I;
  std::vector<bool> IsSeen(Now.size());
  Order Result;
  for (uint32_t Instr : Wanted) {
    if (Instr >= Now.size() || IsSeen[Instr]) {
      Reason = "the order has instruction " + std::to_string(Instr) + " twice, or the code does not have it";
      return {};
    }
    IsSeen[Instr] = true;
    Result.push_back(Position[Instr]);
  }
  return Result;
}

} // namespace lowtide

//===- Memory.cpp - What functions ended with -----------------------------===//

#include "Memory.h"
#include "Owned.h"
#include "Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace llvm;

namespace lowtide {

bool Remembered::isChanged() const {
  return std::any_of(Orders.begin(), Orders.end(), [](const Order &One) { return !One.empty(); });
}

namespace {

/// Numbers and names as bytes, in an order that the reader knows.
class Writer {
public:
  template <typename T> void add(const T &Value) {
    static_assert(std::is_trivially_copyable<T>::value, "bytes that can be copied");
    Bytes.append(reinterpret_cast<const char *>(&Value), sizeof Value);
  }
  void add(StringRef Text) {
    add(uint64_t(Text.size()));
    Bytes.append(Text.data(), Text.size());
  }
  std::string Bytes;
};

/// Reads what a writer has written. `IsGood` tells whether there was enough.
class Reader {
public:
  explicit Reader(StringRef Bytes) : Rest(Bytes) {}
  template <typename T> T next() {
    T Value{};
    take(&Value, sizeof Value);
    return Value;
  }
  /// Return the number of elements that follow, each of so many bytes at least.
  uint64_t count(size_t Size) {
    uint64_t Count = next<uint64_t>();
    IsGood &= Count <= Rest.size() / Size;
    return IsGood ? Count : 0;
  }
  void take(void *To, size_t Size) {
    IsGood &= Size <= Rest.size();
    if (!IsGood)
      return;
    std::memcpy(To, Rest.data(), Size);
    Rest = Rest.drop_front(Size);
  }
  bool isAtEnd() const { return IsGood && Rest.empty(); }

private:
  StringRef Rest;
  bool IsGood = true;
};

} // namespace

/// The version of the form below, and of the meaning of decisions.
static constexpr uint32_t Form = 1;

static std::string format(const Remembered &Decision) {
  Writer Out;
  Out.add(Form);
  Out.add(Decision.AllocatorLimit);
  Out.add(uint8_t(Decision.IsMeasured));
  Out.add(Decision.Final);
  Out.add(StringRef(Decision.Reason));
  Out.add(uint64_t(Decision.Orders.size()));
  for (const Order &One : Decision.Orders) {
    Out.add(uint64_t(One.size()));
    for (uint32_t Instr : One)
      Out.add(Instr);
  }
  return Out.Bytes;
}

static std::optional<Remembered> parse(StringRef Bytes) {
  Reader In(Bytes);
  if (In.next<uint32_t>() != Form)
    return std::nullopt;
  Remembered Result;
  Result.AllocatorLimit = In.next<uint32_t>();
  Result.IsMeasured = In.next<uint8_t>() != 0;
  Result.Final = In.next<FinalCode>();
  Result.Reason.resize(In.count(1));
  In.take(&Result.Reason[0], Result.Reason.size());
  Result.Orders.resize(In.count(sizeof(uint64_t)));
  for (Order &One : Result.Orders) {
    One.resize(In.count(sizeof(uint32_t)));
    In.take(One.data(), One.size() * sizeof(uint32_t));
  }
  if (!In.isAtEnd())
    return std::nullopt;
  return Result;
}

/// Options that name files. They do not matter.
static constexpr const char *Places[] = {"o",    "lowtide-report", "lowtide-dump", "lowtide-store",
                                         "load", "fpass-plugin",   "fplugin",      "fdebug-compilation-dir",
                                         "fcoverage-compilation-dir"};

/// Return the options of the command line, without values that are words of their own: names of files, most of all.
static std::string commandLine() {
  auto Text = MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  std::string Result;
  if (!Text)
    return Result;
  StringRef Rest = (*Text)->getBuffer();
  while (!Rest.empty()) {
    auto [Word, Next] = Rest.split('\0');
    Rest = Next;
    StringRef Name = Word.ltrim('-').split('=').first;
    bool IsPlace = any_of(Places, [&](const char *Place) { return Name == Place; });
    if (Word.size() > 1 && Word[0] == '-' && !IsPlace)
      Result += (Word + "\n").str();
  }
  return Result;
}

static void addOperand(Writer &Out, const MachineOperand &Operand, const TargetRegisterInfo *TRI) {
  Out.add(uint8_t(Operand.getType()));
  if (Operand.isReg()) {
    bool Flags[] = {Operand.isDef(),          Operand.isImplicit(), Operand.isUndef(), Operand.isInternalRead(),
                    Operand.isEarlyClobber(), Operand.isTied(),     Operand.isDead()};
    Out.add(unsigned(Operand.getReg()));
    Out.add(Operand.getSubReg());
    for (bool Flag : Flags)
      Out.add(Flag);
  } else if (Operand.isImm())
    Out.add(Operand.getImm());
  else if (Operand.isMBB())
    Out.add(Operand.getMBB()->getNumber());
  else if (Operand.isRegMask())
    Out.add(StringRef(reinterpret_cast<const char *>(Operand.getRegMask()),
                      MachineOperand::getRegMaskSize(TRI->getNumRegs()) * sizeof(uint32_t)));
  else if (!Operand.isMetadata()) {
    // Metadata is the place of a line of assembly in the source.
    std::string Text;
    raw_string_ostream Stream(Text);
    Operand.print(Stream, TRI);
    Out.add(StringRef(Stream.str()));
  }
}

static void addInstr(Writer &Out, const MachineInstr &MI, const TargetRegisterInfo *TRI) {
  Out.add(MI.getOpcode());
  Out.add(uint64_t(MI.getFlags()));
  Out.add(MI.getNumOperands());
  for (const MachineOperand &Operand : MI.operands())
    addOperand(Out, Operand, TRI);
  Out.add(uint64_t(MI.getNumMemOperands()));
  for (const MachineMemOperand *Memory : MI.memoperands()) {
    std::string Size;
    raw_string_ostream Stream(Size);
    Memory->getMemoryType().print(Stream);
    Out.add(StringRef(Stream.str()));
    Out.add(uint64_t(Memory->getFlags()));
    Out.add(Memory->getOffset());
    Out.add(Memory->getAddrSpace());
    Out.add(uint64_t(Memory->getAlign().value()));
    Out.add(uint8_t(Memory->getMergedOrdering()));
    Out.add(uint8_t(Memory->getPseudoValue() ? Memory->getPseudoValue()->kind() + 1 : 0));
    const Value *Place = Memory->getValue();
    Out.add(Place ? Place->getName() : StringRef());
  }
}

std::string keyOf(const MachineFunction &MF, const std::vector<double> &Frequencies, unsigned MostWaves,
                  const std::string &Target, const lowtide_options &Options) {
  const Function &Source = MF.getFunction();
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  const TargetRegisterInfo *TRI = MF.getSubtarget().getRegisterInfo();
  Writer Out;
  Out.add(StringRef("function in the plugin for LLVM " LLVM_VERSION_STRING));
  Out.add(Form);
  Out.add(StringRef(lowtide_version()));
  // Everything that is not part of the function comes once per process.
  static const std::string Words = commandLine();
  Out.add(StringRef(Words));
  Out.add(StringRef(Target));
  Out.add(Options.goal);
  Out.add(StringRef(Options.algorithm));
  Out.add(Options.nanoseconds_per_instr);
  Out.add(Options.nodes);
  Out.add(Options.filter);
  Out.add(Options.group_price);
  Out.add(isTrialWanted());
  Out.add(MF.getSubtarget().getCPU());
  Out.add(MF.getSubtarget().getFeatureString());
  Out.add(unsigned(MF.getTarget().getOptLevel()));
  Out.add(unsigned(Source.getCallingConv()));
  Out.add(StringRef(Source.getAttributes().getFnAttrs().getAsString()));
  Out.add(MostWaves);
  for (double Frequency : Frequencies)
    Out.add(Frequency);
  const MachineFrameInfo &Frame = MF.getFrameInfo();
  for (int Object = Frame.getObjectIndexBegin(); Object != Frame.getObjectIndexEnd(); ++Object) {
    Out.add(Frame.getObjectSize(Object));
    Out.add(uint64_t(Frame.getObjectAlign(Object).value()));
  }
  for (unsigned I = 0; I != MRI.getNumVirtRegs(); ++I) {
    const TargetRegisterClass *Class = MRI.getRegClassOrNull(Register::index2VirtReg(I));
    Out.add(Class ? Class->getID() : ~0u);
  }
  for (const MachineBasicBlock &Block : MF) {
    Out.add(Block.getNumber());
    for (const auto &LiveIn : Block.liveins())
      Out.add(unsigned(LiveIn.PhysReg));
    for (const MachineBasicBlock *Next : Block.successors())
      Out.add(Next->getNumber());
    for (const MachineInstr &MI : Block)
      if (!MI.isDebugInstr())
        addInstr(Out, MI, TRI);
  }
  return Out.Bytes;
}

static const uint8_t *bytes(const std::string &Key) { return reinterpret_cast<const uint8_t *>(Key.data()); }

std::optional<Remembered> recall(const lowtide_session *Session, const std::string &Key) {
  char *Note = nullptr;
  lowtide_session_note(Session, bytes(Key), Key.size(), &Note, nullptr);
  Owned<char> Text(Note);
  std::string Bytes;
  if (!Text || !tryGetFromHex(Text.get(), Bytes))
    return std::nullopt;
  return parse(Bytes);
}

void remember(const lowtide_session *Session, const std::string &Key, const Remembered &Decision) {
  std::string Note = toHex(format(Decision), /*LowerCase=*/true);
  lowtide_session_keep_note(Session, bytes(Key), Key.size(), Note.c_str(), nullptr);
}

// An empty note says nothing.
void forget(const lowtide_session *Session, const std::string &Key) {
  lowtide_session_keep_note(Session, bytes(Key), Key.size(), "", nullptr);
}

bool isAsRemembered(const FinalCode &Now, const FinalCode &Then) {
  return std::equal(std::begin(Now.Registers), std::end(Now.Registers), std::begin(Then.Registers)) &&
         Now.StackBytes == Then.StackBytes && Now.Spills == Then.Spills && Now.ScalarSpills == Then.ScalarSpills &&
         Now.CodeBytes == Then.CodeBytes && Now.Length == Then.Length;
}

} // namespace lowtide

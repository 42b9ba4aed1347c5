//===- ExportTables.cpp - The snapshot's tables beside the code -----------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The function's record, registers, opcodes, constants, symbols, frame
/// objects, source locations and variables.
///
//===----------------------------------------------------------------------===//

#include "ExportTables.h"
#include "OpcodePrinter.h"
#include "Support.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

bool SnapshotTables::refuse(const Twine &Reason) {
  Refusal = Reason.str();
  return false;
}

void SnapshotTables::clear() {
  for (const OrielOpcode &Opcode : Opcodes)
    if (Opcode.llvm_opcode < OpcodeIndex.size())
      OpcodeIndex[Opcode.llvm_opcode] = 0;
  Opcodes.clear();
  Constants.clear();
  Symbols.clear();
  FrameObjects.clear();
  PhysicalRegisters.clear();
  Locations.clear();
  Variables.clear();
  Strings.resize(ClassNameBytes);
  SymbolOperands.clear();
  ConstantOperands.clear();
  LocationIndex.clear();
  SymbolIndex.clear();
  ExternalSymbolIndex.clear();
  ConstantIndex.clear();
  VariableIndex.clear();
  PhysicalRegisterIndex.clear();
  LastLocation = nullptr;
  LastLocationIndex = 0;
  Refusal.clear();
}

void SnapshotTables::publish() {
  lend(RegisterClasses, Snapshot.register_classes,
       Snapshot.register_class_count);
  lend(Opcodes, Snapshot.opcodes, Snapshot.opcode_count);
  lend(Constants, Snapshot.constants, Snapshot.constant_count);
  lend(Symbols, Snapshot.symbols, Snapshot.symbol_count);
  lend(FrameObjects, Snapshot.frame_objects, Snapshot.frame_object_count);
  lend(PhysicalRegisters, Snapshot.physical_registers,
       Snapshot.physical_register_count);
  lend(Locations, Snapshot.locations, Snapshot.location_count);
  lend(Variables, Snapshot.variables, Snapshot.variable_count);
  lend(Strings, Snapshot.strings, Snapshot.string_bytes);
}

OrielString SnapshotTables::addString(StringRef Text) {
  OrielString Result = {uint32_t(Strings.size()), uint32_t(Text.size())};
  Strings.append(Text.data(), Text.size());
  return Result;
}

/// Reads up to three comma-separated numbers, in the notations that LLVM reads,
/// from a function attribute; missing ones are zero, or one after a given number.
static void readDimensions(const Function &F, StringRef Attribute,
                           uint32_t Dimensions[3]) {
  StringRef Text = F.getFnAttribute(Attribute).getValueAsString();
  if (Text.empty())
    return;
  for (unsigned I = 0; I != 3; ++I) {
    auto [Head, Tail] = Text.split(',');
    if (Head.trim().getAsInteger(0, Dimensions[I]))
      Dimensions[I] = 1;
    Text = Tail;
  }
}

void SnapshotTables::exportSubtarget(const MCSubtargetInfo &Subtarget) {
  KnownSubtarget &Known = LastSubtarget;
  StringRef Features = Subtarget.getFeatureString();
  StringRef Cpu = Subtarget.getCPU();
  if (Cpu.empty())
    Cpu = "sm_30"; // As NVPTXSubtarget reads it.
  OrielFunction &Record = Snapshot.function;
  Record.cpu = addString(Cpu);
  if (Known.Features != Features || Known.Cpu != Cpu) {
    Known = {Features.str(), Cpu.str()};
    // The requested version; without a request LLVM uses a default that it does
    // not expose.
    for (StringRef Feature : split(Features, ',')) {
      uint32_t Version;
      if (Feature.consume_front("+ptx") && !Feature.getAsInteger(10, Version))
        Known.PtxVersion = Version;
    }
    if (Cpu.consume_front("sm_")) {
      if (Cpu.consume_back("a"))
        Known.Flags = ORIEL_FUNCTION_ARCH_SPECIFIC;
      else if (Cpu.consume_back("f"))
        Known.Flags = ORIEL_FUNCTION_FAMILY_SPECIFIC;
      if (Cpu.getAsInteger(10, Known.Sm))
        Known.Sm = 0;
    }
  }
  Record.ptx_version = Known.PtxVersion;
  Record.sm = Known.Sm;
  Record.flags |= Known.Flags;
}

void SnapshotTables::exportFunction(const MachineFunction &MF,
                                    OrielStage Stage) {
  const MachineFunctionProperties &Properties = MF.getProperties();
  OrielFunction &Record = Snapshot.function;
  Record = {};
  Record.abi_version = ORIEL_ABI_VERSION;
  Record.name = addString(functionName(MF));
  Record.stage = Stage;
  if (Properties.hasIsSSA())
    Record.flags |= ORIEL_FUNCTION_SSA;
  if (Properties.hasNoPHIs())
    Record.flags |= ORIEL_FUNCTION_NO_PHIS;
}

/// True if the module's PTX will tell ptxas to compile for a debugger, as
/// NVPTXAsmPrinter::emitHeader decides.
static bool isForDebugger(const Module &M) {
  return any_of(M.debug_compile_units(), [](const DICompileUnit *Unit) {
    const auto Kind = Unit->getEmissionKind();
    return Kind == DICompileUnit::LineTablesOnly ||
           Kind == DICompileUnit::FullDebug;
  });
}

void SnapshotTables::exportFunctionProperties(
    const MachineFunction &MF, const MachineBlockFrequencyInfo *Frequencies) {
  const Function &F = MF.getFunction();
  OrielFunction &Record = Snapshot.function;
  Record.module = addString(F.getParent()->getModuleIdentifier());
  Record.triple = addString(MF.getTarget().getTargetTriple().str());
  Record.optimization_level = uint32_t(MF.getTarget().getOptLevel());
  Record.pointer_bits = MF.getDataLayout().getPointerSizeInBits();
  if (F.getCallingConv() == CallingConv::PTX_Kernel)
    Record.flags |= ORIEL_FUNCTION_KERNEL;
  if (F.getSubprogram())
    Record.flags |= ORIEL_FUNCTION_DEBUG_INFO;
  if (isForDebugger(*F.getParent()))
    Record.flags |= ORIEL_FUNCTION_FOR_DEBUGGER;
  if (F.hasOptSize())
    Record.flags |= ORIEL_FUNCTION_OPT_SIZE;
  if (F.isConvergent())
    Record.flags |= ORIEL_FUNCTION_CONVERGENT;
  if (F.hasAddressTaken(/*PutOffender=*/nullptr, /*IgnoreCallbackUses=*/false,
                        /*IgnoreAssumeLikeCalls=*/true,
                        /*IgnoreLLVMUsed=*/true))
    Record.flags |= ORIEL_FUNCTION_ADDRESS_TAKEN;
  if (Frequencies) {
    Record.flags |= ORIEL_FUNCTION_FREQUENCIES;
    Record.entry_frequency = Frequencies->getEntryFreq().getFrequency();
  }
  readDimensions(F, "nvvm.maxntid", Record.max_threads);
  readDimensions(F, "nvvm.reqntid", Record.required_threads);
  readDimensions(F, "nvvm.cluster_dim", Record.cluster_size);
  Record.max_cluster_rank =
      F.getFnAttributeAsParsedInteger("nvvm.maxclusterrank");
  Record.min_blocks_per_sm = F.getFnAttributeAsParsedInteger("nvvm.minctasm");
  Record.max_registers = F.getFnAttributeAsParsedInteger("nvvm.maxnreg");
  exportSubtarget(MF.getSubtarget());
}

void SnapshotTables::exportRegisterClasses(const MachineFunction &MF) {
  const TargetRegisterInfo &TRI = *MF.getSubtarget().getRegisterInfo();
  if (KnownClasses == TRI.regclass_begin())
    return;
  KnownClasses = TRI.regclass_begin();
  RegisterClasses.clear();
  Strings.clear();
  for (const TargetRegisterClass *Class : TRI.regclasses()) {
    StringRef Name = TRI.getRegClassName(Class);
    OrielRegisterClass Record = {};
    Record.name = addString(Name);
    // LLVM stores predicates in a byte; as registers they have one bit.
    bool IsPredicate = Name == "B1";
    Record.bits =
        IsPredicate ? 1 : TRI.getRegSizeInBits(*Class).getFixedValue();
    Record.file = IsPredicate             ? ORIEL_FILE_PREDICATE
                  : Name == "SpecialRegs" ? ORIEL_FILE_SPECIAL
                                          : ORIEL_FILE_GENERAL;
    RegisterClasses.push_back(Record);
  }
  ClassNameBytes = Strings.size();
}

void SnapshotTables::exportFrame(const MachineFunction &MF) {
  const MachineFrameInfo &Frame = MF.getFrameInfo();
  Snapshot.function.fixed_frame_objects = Frame.getNumFixedObjects();
  for (int I = Frame.getObjectIndexBegin(), E = Frame.getObjectIndexEnd();
       I != E; ++I) {
    OrielFrameObject Record = {};
    Record.alignment = Frame.getObjectAlign(I).value();
    if (Frame.isDeadObjectIndex(I)) {
      Record.flags |= ORIEL_FRAME_DEAD;
    } else if (Frame.isVariableSizedObjectIndex(I)) {
      Record.flags |= ORIEL_FRAME_VARIABLE_SIZE;
    } else {
      Record.size_bytes = Frame.getObjectSize(I);
      Record.offset = Frame.getObjectOffset(I);
    }
    Record.flags |= Frame.isSpillSlotObjectIndex(I) ? ORIEL_FRAME_SPILL : 0;
    Record.flags |= Frame.isImmutableObjectIndex(I) ? ORIEL_FRAME_IMMUTABLE : 0;
    Record.flags |= Frame.isAliasedObjectIndex(I) ? ORIEL_FRAME_ALIASED : 0;
    FrameObjects.push_back(Record);
  }
}

/// Returns the snapshot's flags of an opcode.
static uint32_t opcodeFlags(const MachineInstr &MI) {
  uint32_t Flags = descriptorFlags(MI.getDesc());
  auto Add = [&Flags](bool Holds, uint32_t Flag) {
    if (Holds)
      Flags |= Flag;
  };
  Add(MI.isPHI(), ORIEL_OPCODE_PHI);
  Add(MI.isCopy(), ORIEL_OPCODE_COPY);
  Add(MI.isImplicitDef(), ORIEL_OPCODE_IMPLICIT_DEF);
  Add(MI.isInlineAsm(), ORIEL_OPCODE_INLINE_ASM);
  Add(MI.isDebugOrPseudoInstr(), ORIEL_OPCODE_DEBUG);
  Add(MI.isPosition(), ORIEL_OPCODE_POSITION);
  Add(MI.isMetaInstruction(), ORIEL_OPCODE_META);
  return Flags;
}

uint32_t SnapshotTables::addOpcode(const MachineInstr &MI) {
  unsigned Opcode = MI.getOpcode();
  if (LLVM_UNLIKELY(Opcode >= KnownOpcodeIndex.size() ||
                    !KnownOpcodeIndex[Opcode])) {
    const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
    OpcodeIndex.resize(TII.getNumOpcodes());
    KnownOpcodeIndex.resize(TII.getNumOpcodes());
    const MCInstrDesc &Desc = MI.getDesc();
    OrielOpcode Record = {};
    Record.flags = opcodeFlags(MI);
    Record.operands = Desc.getNumOperands();
    Record.definitions = Desc.getNumDefs();
    Record.llvm_opcode = Opcode;
    std::string Mnemonic;
    if (isAnonymous(TII.getName(Opcode)))
      Mnemonic = anonymousOpcodeName(MI.getMF()->getTarget(), Opcode);
    KnownOpcodes.push_back({TII.getName(Opcode), std::move(Mnemonic), Record});
    KnownOpcodeIndex[Opcode] = KnownOpcodes.size();
  }
  const KnownOpcode &Known = KnownOpcodes[KnownOpcodeIndex[Opcode] - 1];
  Opcodes.push_back(Known.Record);
  Opcodes.back().name = addString(Known.Name);
  if (!Known.Mnemonic.empty())
    Opcodes.back().mnemonic = addString(Known.Mnemonic);
  OpcodeIndex[Opcode] = Opcodes.size();
  return Opcodes.size() - 1;
}

uint32_t SnapshotTables::locationIndex(const DILocation *Location) {
  if (Location == LastLocation)
    return LastLocationIndex;
  // Calls at which a location is inlined come first, so that a location only
  // refers to smaller indices.
  SmallVector<const DILocation *, 8> Pending;
  for (const DILocation *L = Location; L && !LocationIndex.count(L);
       L = L->getInlinedAt())
    Pending.push_back(L);
  for (const DILocation *L : reverse(Pending)) {
    OrielLocation Record = {};
    Record.file = addString(L->getFilename());
    if (const DISubprogram *Subprogram = L->getScope()->getSubprogram())
      Record.function = addString(Subprogram->getName());
    Record.line = L->getLine();
    Record.column = L->getColumn();
    Record.discriminator = L->getDiscriminator();
    if (const DILocation *Call = L->getInlinedAt())
      Record.inlined_at = LocationIndex.lookup(Call);
    Locations.push_back(Record);
    LocationIndex[L] = Locations.size();
  }
  LastLocation = Location;
  LastLocationIndex = LocationIndex.lookup(Location);
  return LastLocationIndex;
}

uint32_t SnapshotTables::globalSymbolIndex(const GlobalValue &Global) {
  auto [Entry, IsNew] = SymbolIndex.try_emplace(&Global, Symbols.size());
  if (!IsNew)
    return Entry->second;
  OrielSymbol &Record = Symbols.emplace_back();
  Record.name =
      addString(GlobalValue::dropLLVMManglingEscape(Global.getName()));
  Record.kind = ORIEL_SYMBOL_OTHER;
  Record.address_space = Global.getAddressSpace();
  if (Global.isDeclaration())
    Record.flags |= ORIEL_SYMBOL_DECLARATION;
  if (Global.hasLocalLinkage())
    Record.flags |= ORIEL_SYMBOL_INTERNAL;
  if (const auto *Variable = dyn_cast<GlobalVariable>(&Global)) {
    Record.kind = ORIEL_SYMBOL_VARIABLE;
    if (Variable->isConstant())
      Record.flags |= ORIEL_SYMBOL_CONSTANT;
    const DataLayout &Layout = Variable->getDataLayout();
    if (Variable->getValueType()->isSized())
      Record.size_bytes =
          Layout.getTypeAllocSize(Variable->getValueType()).getFixedValue();
    Record.alignment = Layout.getPreferredAlign(Variable).value();
  } else if (isa<Function>(Global)) {
    Record.kind = ORIEL_SYMBOL_FUNCTION;
  }
  SymbolOperands.push_back(nullptr);
  return Entry->second;
}

uint32_t SnapshotTables::symbolIndex(const MachineOperand &MO) {
  uint32_t Index;
  if (MO.isGlobal()) {
    Index = globalSymbolIndex(*MO.getGlobal());
  } else {
    const void *Key = MO.isSymbol()
                          ? static_cast<const void *>(MO.getSymbolName())
                          : static_cast<const void *>(MO.getBlockAddress());
    auto [Entry, IsNew] = SymbolIndex.try_emplace(Key, Symbols.size());
    if (IsNew && MO.isSymbol()) {
      // One name may exist at several addresses: it is created for each access
      // to a parameter.
      auto [Named, IsNewName] = ExternalSymbolIndex.try_emplace(
          MO.getSymbolName(), uint32_t(Symbols.size()));
      Entry->second = Named->second;
      IsNew = IsNewName;
    }
    Index = Entry->second;
    if (IsNew) {
      OrielSymbol &Record = Symbols.emplace_back();
      Record.kind = MO.isSymbol() ? ORIEL_SYMBOL_EXTERNAL : ORIEL_SYMBOL_OTHER;
      if (MO.isSymbol())
        Record.name = addString(MO.getSymbolName());
      SymbolOperands.push_back(nullptr);
    }
  }
  // A plan that names the symbol gets it from the first operand that has it.
  if (!SymbolOperands[Index])
    SymbolOperands[Index] = &MO;
  return Index;
}

const fltSemantics *oriel::floatFormat(uint32_t Kind) {
  switch (Kind) {
  case ORIEL_CONSTANT_HALF:
    return &APFloat::IEEEhalf();
  case ORIEL_CONSTANT_BFLOAT:
    return &APFloat::BFloat();
  case ORIEL_CONSTANT_SINGLE:
    return &APFloat::IEEEsingle();
  case ORIEL_CONSTANT_DOUBLE:
    return &APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

/// Returns the snapshot's kind for constants in \p Format.
static OrielConstantKind constantKind(const fltSemantics &Format) {
  for (OrielConstantKind Kind :
       {ORIEL_CONSTANT_HALF, ORIEL_CONSTANT_BFLOAT, ORIEL_CONSTANT_SINGLE,
        ORIEL_CONSTANT_DOUBLE})
    if (floatFormat(Kind) == &Format)
      return Kind;
  return ORIEL_CONSTANT_OTHER;
}

uint32_t SnapshotTables::constantIndex(const MachineOperand &MO) {
  const Constant *C = MO.isFPImm()
                          ? static_cast<const Constant *>(MO.getFPImm())
                          : MO.getCImm();
  auto [Entry, IsNew] = ConstantIndex.try_emplace(C, Constants.size());
  if (!IsNew)
    return Entry->second;
  OrielConstant &Record = Constants.emplace_back();
  APInt Bits;
  if (MO.isFPImm()) {
    const APFloat &Value = MO.getFPImm()->getValueAPF();
    Record.kind = constantKind(Value.getSemantics());
    Bits = Value.bitcastToAPInt();
  } else {
    Record.kind = ORIEL_CONSTANT_INTEGER;
    Bits = MO.getCImm()->getValue();
  }
  Record.bits = Bits.getBitWidth();
  if (Record.bits > 128) {
    Record.kind = ORIEL_CONSTANT_OTHER;
  } else {
    Record.low = Bits.getRawData()[0];
    if (Bits.getNumWords() > 1)
      Record.high = Bits.getRawData()[1];
  }
  ConstantOperands.push_back(&MO);
  return Entry->second;
}

uint32_t SnapshotTables::variableIndex(const MachineOperand &MO) {
  const auto *Variable = dyn_cast<DILocalVariable>(MO.getMetadata());
  if (!Variable)
    return 0;
  auto [Entry, IsNew] =
      VariableIndex.try_emplace(Variable, Variables.size() + 1);
  if (!IsNew)
    return Entry->second;
  OrielVariable Record = {};
  Record.name = addString(Variable->getName());
  if (const DISubprogram *Subprogram = Variable->getScope()->getSubprogram())
    Record.function = addString(Subprogram->getName());
  Record.line = Variable->getLine();
  Record.argument = Variable->getArg();
  Variables.push_back(Record);
  return Entry->second;
}

uint32_t SnapshotTables::physicalRegisterIndex(Register Reg,
                                               const TargetRegisterInfo &TRI) {
  auto [Entry, IsNew] =
      PhysicalRegisterIndex.try_emplace(Reg.id(), PhysicalRegisters.size());
  if (IsNew) {
    OrielPhysicalRegister Record = {};
    Record.name = addString(TRI.getName(Reg.asMCReg()));
    Record.number = Reg.id();
    PhysicalRegisters.push_back(Record);
  }
  return Entry->second;
}

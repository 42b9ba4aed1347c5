//! Turns a module for NVPTX into one for the host.
//!
//! | device | host |
//! |---|---|
//! | intrinsics of NVPTX | calls of [`host_call`](super::block::host_call), by number |
//! | inline assembly | calls of equivalent functions |
//! | variables in shared memory | addresses in one piece of memory, reused by every block |
//! | `ptx_kernel`, `ptx_device` | the C calling convention |
//! | `llvm.fmuladd` | `llvm.fma`, as the NVPTX back end has it |
//! | `fptosi`, `fptoui` | the saturating forms, as `cvt` has it |
//! | fast-math flags | none |
//! | debug information | none |
//!
//! Address spaces stay: the host's back ends map those of NVPTX to their only one. The data layouts
//! agree on all types that clang uses.

use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetData;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};
use inkwell::values::FastMathFlags;
use inkwell::values::{
    BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, GlobalValue, InstructionOpcode,
    InstructionValue, ValueKind,
};

use super::HostError;
use super::inline_assembly::Assembly;
use super::memory::AlignedBytes;
use super::operation::{self, Operation};
use super::wrapper::Wrappers;

/// The calling convention of kernels.
const PTX_KERNEL: u32 = 71;
const C_CALL: u32 = 0;
const SHARED_SPACE: u16 = 3;
/// The most dynamic shared memory that a launch description can request.
pub(super) const DYNAMIC_SHARED_LIMIT: usize = 232_448;

/// The results of rewriting besides the module.
pub(super) struct Rewritten {
    /// By the number with which compiled code calls them.
    pub(super) operations: Vec<Operation>,
    pub(super) kernels: Vec<RewrittenKernel>,
    pub(super) shared: SharedMemory,
}

pub(super) struct RewrittenKernel {
    pub(super) name: String,
    /// The function that takes the address of each argument.
    pub(super) launcher: String,
    pub(super) parameter_bytes: Vec<usize>,
}

/// The shared memory of the running block: variables first, then the dynamic array.
pub(super) struct SharedMemory {
    pub(super) bytes: AlignedBytes,
    /// Bytes before the dynamic array.
    pub(super) dynamic_start: usize,
}

/// Rewrites a module in place; `target` is the host's data layout, which the module has already.
pub(super) fn rewrite<'context>(
    context: &'context Context,
    module: &Module<'context>,
    target: &TargetData,
) -> Result<Rewritten, HostError> {
    module.strip_debug_info();
    let kernels: Vec<FunctionValue> = module
        .get_functions()
        .filter(|function| function.get_call_conventions() == PTX_KERNEL && !is_declaration(*function))
        .collect();
    let shared = place_shared_variables(context, module, target);
    for function in module.get_functions() {
        function.set_call_conventions(C_CALL);
        for key in ["target-cpu", "target-features"] {
            function.remove_string_attribute(AttributeLoc::Function, key);
        }
        for instruction in instructions(function) {
            rewrite_instruction(context, module, instruction)?;
        }
    }
    let wrappers = Wrappers::new(module, target);
    let operations = replace_declarations(module, &wrappers)?;
    let kernels = kernels
        .into_iter()
        .map(|kernel| {
            let name = kernel.get_name().to_string_lossy().into_owned();
            let launcher = format!("oriel.launch.{name}");
            wrappers.launcher(kernel, &launcher);
            RewrittenKernel {
                name,
                launcher,
                parameter_bytes: wrappers.parameter_bytes(kernel),
            }
        })
        .collect();
    module
        .verify()
        .map_err(|error| HostError::Module(error.to_string()))?;
    Ok(Rewritten {
        operations,
        kernels,
        shared,
    })
}

fn is_declaration(function: FunctionValue<'_>) -> bool {
    function.count_basic_blocks() == 0
}

/// Returns all instructions, collected because they may be replaced.
fn instructions(function: FunctionValue<'_>) -> Vec<InstructionValue<'_>> {
    let blocks = function.get_basic_block_iter();
    blocks.flat_map(|block| block.get_instructions()).collect()
}

/// Assigns an address to each variable in shared memory. All arrays without a size begin where the
/// others end.
fn place_shared_variables<'context>(
    context: &'context Context,
    module: &Module<'context>,
    target: &TargetData,
) -> SharedMemory {
    let is_shared = |variable: &GlobalValue| {
        variable.as_pointer_value().get_type().get_address_space() == SHARED_SPACE.into()
    };
    let mut end = 0usize;
    let mut offsets: Vec<(GlobalValue, Option<usize>)> = Vec::new();
    for variable in module.get_globals().filter(is_shared) {
        let offset = (!variable.is_declaration()).then(|| {
            let ty = variable.get_value_type();
            let start = end.next_multiple_of(variable.get_alignment().max(16) as usize);
            end = start + target.get_abi_size(&ty) as usize;
            start
        });
        offsets.push((variable, offset));
    }
    let dynamic_start = end.next_multiple_of(256);
    let mut bytes = AlignedBytes::zeroed(dynamic_start + DYNAMIC_SHARED_LIMIT);
    let start = bytes.address();
    for (variable, offset) in offsets {
        let pointer = variable.as_pointer_value();
        let address = start + offset.unwrap_or(dynamic_start) as u64;
        let address = context.i64_type().const_int(address, false);
        pointer.replace_all_uses_with(address.const_to_pointer(pointer.get_type()));
    }
    SharedMemory { bytes, dynamic_start }
}

fn rewrite_instruction<'context>(
    context: &'context Context,
    module: &Module<'context>,
    instruction: InstructionValue<'context>,
) -> Result<(), HostError> {
    if instruction.can_use_fast_math_flags() {
        let cleared = instruction.set_fast_math_flags(FastMathFlags::empty());
        cleared.expect("an instruction that can have flags");
    }
    match instruction.get_opcode() {
        InstructionOpcode::FPToSI => saturate(context, module, instruction, "llvm.fptosi.sat"),
        InstructionOpcode::FPToUI => saturate(context, module, instruction, "llvm.fptoui.sat"),
        InstructionOpcode::Call => {
            let call = CallSiteValue::try_from(instruction).expect("a call is a call site");
            call.set_call_convention(C_CALL);
            // The callee of inline assembly is not a function.
            if call.get_called_fn_value().is_none()
                && let Some(assembly) = Assembly::of_call(instruction)
            {
                return replace_assembly(context, module, instruction, call, &assembly);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Replaces a conversion by the intrinsic whose result is defined for every operand.
fn saturate<'context>(
    context: &'context Context,
    module: &Module<'context>,
    conversion: InstructionValue<'context>,
    name: &str,
) -> Result<(), HostError> {
    let operand = operand(conversion, 0);
    let to = BasicTypeEnum::try_from(conversion.get_type()).expect("an integer or a vector of integers");
    let intrinsic = Intrinsic::find(name).expect("an intrinsic of LLVM 22");
    let function = intrinsic
        .get_declaration(module, &[to, operand.get_type()])
        .expect("an overloaded intrinsic with its types");
    replace_by_call(context, conversion, function, &[operand]);
    Ok(())
}

fn operand(instruction: InstructionValue<'_>, index: u32) -> BasicValueEnum<'_> {
    let operand = instruction.get_operand(index).and_then(|operand| operand.value());
    operand.expect("an operand that is a value")
}

fn replace_assembly<'context>(
    context: &'context Context,
    module: &Module<'context>,
    instruction: InstructionValue<'context>,
    call: CallSiteValue<'context>,
    assembly: &Assembly,
) -> Result<(), HostError> {
    // The text is the name: it is unique, and LLVM accepts any.
    let name = format!("oriel.{}", assembly.name());
    let unsupported = || HostError::Unsupported(assembly.to_string());
    let function = match module.get_function(&name) {
        Some(function) => function,
        None => {
            let text = assembly.module(&name).ok_or_else(unsupported)?;
            let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "assembly");
            let library = context
                .create_module_from_ir(buffer)
                .map_err(|error| HostError::Module(error.to_string()))?;
            library.set_triple(&module.get_triple());
            library.set_data_layout(&module.get_data_layout());
            module
                .link_in_module(library)
                .map_err(|error| HostError::Module(error.to_string()))?;
            module.get_function(&name).expect("just linked")
        }
    };
    if function.get_type() != call.get_called_fn_type() {
        return Err(unsupported());
    }
    let arguments: Vec<BasicValueEnum> = (0..call.count_arguments())
        .map(|index| operand(instruction, index))
        .collect();
    replace_by_call(context, instruction, function, &arguments);
    Ok(())
}

fn replace_by_call<'context>(
    context: &'context Context,
    instruction: InstructionValue<'context>,
    function: FunctionValue<'context>,
    arguments: &[BasicValueEnum<'context>],
) {
    let builder = context.create_builder();
    builder.position_before(&instruction);
    let arguments: Vec<_> = arguments.iter().map(|&argument| argument.into()).collect();
    let call = builder
        .build_call(function, &arguments, "")
        .expect("arguments of the function's types");
    if !matches!(instruction.get_type(), AnyTypeEnum::VoidType(_)) {
        let ValueKind::Basic(result) = call.try_as_basic_value() else {
            unreachable!("a function of the instruction's type has its result")
        };
        let result = result.as_instruction_value().expect("a call is an instruction");
        instruction.replace_all_uses_with(&result);
    }
    instruction.erase_from_basic_block();
}

/// Replaces the functions that exist on the device but not on the host.
fn replace_declarations<'context>(
    module: &Module<'context>,
    wrappers: &Wrappers<'_, 'context>,
) -> Result<Vec<Operation>, HostError> {
    let mut operations = Vec::new();
    let declarations: Vec<FunctionValue> = module
        .get_functions()
        .filter(|function| is_declaration(*function))
        .collect();
    for declaration in declarations {
        let name = declaration.get_name().to_string_lossy().into_owned();
        let is_used = declaration
            .as_global_value()
            .as_pointer_value()
            .get_first_use()
            .is_some();
        if !is_used {
            continue;
        }
        if let Some(operation) = operation::find(&name) {
            let number = u32::try_from(operations.len()).expect("fewer than 2^32 intrinsics");
            operations.push(operation);
            declaration.replace_all_uses_with(wrappers.intrinsic(declaration, number)?);
        } else if name.starts_with("llvm.fmuladd.") {
            let ty = declaration.get_type().get_return_type().expect("a result");
            let intrinsic = Intrinsic::find("llvm.fma").expect("an intrinsic of LLVM 22");
            let fma = intrinsic
                .get_declaration(module, &[ty])
                .expect("an overloaded intrinsic with its type");
            declaration.replace_all_uses_with(fma);
        } else if name.starts_with("llvm.nvvm.") || !name.starts_with("llvm.") {
            return Err(HostError::Unsupported(format!("function `{name}`")));
        }
    }
    Ok(operations)
}

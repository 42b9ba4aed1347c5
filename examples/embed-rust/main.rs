//! A GPU compiler in one file: makes a kernel's IR with inkwell, compiles it through Oriel with a
//! phase of its own beside Oriel's, and prints the PTX and what Oriel knows of the kernel.
//!
//! ```console
//! $ cargo run --release --example embed-rust
//! ```

use oriel::compile::Compiler;
use oriel::inkwell::builder::{Builder, BuilderError};
use oriel::inkwell::context::Context;
use oriel::inkwell::module::Module;
use oriel::inkwell::values::IntValue;
use oriel::inkwell::{AddressSpace, IntPredicate};
use oriel::live::LiveRangeCalc;
use oriel::options::Options;
use oriel::ori::{Function, Operation};
use oriel::phases::registry::{Forms, Phase, Profiles};
use oriel::phases::{PhaseContext, PhaseResult};
use oriel::report::write_table;
use oriel::snapshot::abi::Stage;
use std::error::Error;
use std::fmt::Write;

/// LLVM's number of the calling convention `ptx_kernel`.
const PTX_KERNEL: u32 = 71;
/// The address space of global memory.
const GLOBAL: u16 = 1;

/// A phase of this compiler: counts what a roofline model asks for. It is in both profiles, so it
/// runs without being asked for.
static COUNT_ARITHMETIC: Phase =
    Phase::new("CountArithmetic", Stage::Late, Forms::all(), count_arithmetic).in_profiles(Profiles::all());

fn count_arithmetic(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let operations = function.blocks().iter().flat_map(|&block| {
        let instructions = function.instructions(block);
        instructions.map(|instruction| function.operation(instruction))
    });
    let (mut fused, mut loads) = (0, 0);
    for operation in operations {
        match operation {
            Operation::Ffma => fused += 1,
            Operation::Ld => loads += 1,
            _ => {}
        }
    }
    context.count("fused multiply-adds", fused);
    context.count("loads, of parameters too", loads);
    PhaseResult::Unchanged
}

/// `y[i] = a * x[i] + y[i]` for each `i` below `n`.
fn saxpy(context: &Context) -> Result<Module<'_>, BuilderError> {
    let module = context.create_module("saxpy");
    let builder = context.create_builder();
    let (i32, f32) = (context.i32_type(), context.f32_type());
    let pointer = context.ptr_type(AddressSpace::from(GLOBAL));
    let parameters = [pointer.into(), pointer.into(), f32.into(), i32.into()];
    let kernel = module.add_function("saxpy", context.void_type().fn_type(&parameters, false), None);
    kernel.set_call_conventions(PTX_KERNEL);
    let [y, x, a, n] = kernel.get_params()[..] else {
        unreachable!("it has four parameters");
    };
    let entry = context.append_basic_block(kernel, "entry");
    let body = context.append_basic_block(kernel, "body");
    let exit = context.append_basic_block(kernel, "exit");

    builder.position_at_end(entry);
    let block = read_register(&module, &builder, "ctaid.x")?;
    let size = read_register(&module, &builder, "ntid.x")?;
    let thread = read_register(&module, &builder, "tid.x")?;
    let first = builder.build_int_mul(block, size, "first")?;
    let i = builder.build_int_add(first, thread, "i")?;
    let is_inside = builder.build_int_compare(IntPredicate::ULT, i, n.into_int_value(), "is_inside")?;
    builder.build_conditional_branch(is_inside, body, exit)?;

    builder.position_at_end(body);
    // SAFETY: `i` is below `n`, which is how many elements the kernel's caller has.
    let (x, y) = unsafe {
        (
            builder.build_gep(f32, x.into_pointer_value(), &[i], "x_i")?,
            builder.build_gep(f32, y.into_pointer_value(), &[i], "y_i")?,
        )
    };
    let x_value = builder.build_load(f32, x, "x_value")?;
    let y_value = builder.build_load(f32, y, "y_value")?;
    let fma = module.add_function(
        "llvm.fma.f32",
        f32.fn_type(&[f32.into(), f32.into(), f32.into()], false),
        None,
    );
    let sum = builder.build_call(fma, &[a.into(), x_value.into(), y_value.into()], "sum")?;
    builder.build_store(y, sum.try_as_basic_value().unwrap_basic())?;
    builder.build_unconditional_branch(exit)?;

    builder.position_at_end(exit);
    builder.build_return(None)?;
    Ok(module)
}

/// The value of a special register.
fn read_register<'c>(
    module: &Module<'c>,
    builder: &Builder<'c>,
    name: &str,
) -> Result<IntValue<'c>, BuilderError> {
    let intrinsic = format!("llvm.nvvm.read.ptx.sreg.{name}");
    let kind = module.get_context().i32_type().fn_type(&[], false);
    let function = module.get_function(&intrinsic);
    let function = function.unwrap_or_else(|| module.add_function(&intrinsic, kind, None));
    let call = builder.build_call(function, &[], name)?;
    Ok(call.try_as_basic_value().unwrap_basic().into_int_value())
}

/// Compiles the kernel; what there is to print.
fn compile() -> Result<String, Box<dyn Error>> {
    let context = Context::create();
    let module = saxpy(&context)?;

    // The phase above among Oriel's, and what the environment asks for (ORIEL_FLAGS).
    let mut options = Options {
        phase_effects: true,
        ..Options::default()
    };
    options
        .registry
        .insert_before("OriSplitHighPressureLiveRanges", &COUNT_ARITHMETIC)?;
    options.add_environment()?;
    let compilation = Compiler::new().sm("90").options(options).compile(&module)?;

    let mut out = compilation.ptx_text().into_owned();
    writeln!(out)?;
    write_table(&compilation.reports(), &mut out)?;
    for function in &compilation.functions {
        let late = function.effects.iter().filter(|effects| effects.stage == "late");
        let phases = late.flat_map(|effects| &effects.phases);
        for phase in phases.filter(|phase| phase.phase == COUNT_ARITHMETIC.name) {
            for (counter, count) in &phase.counters {
                writeln!(out, "{counter}: {count}")?;
            }
        }
        // The live-range engine by itself.
        let code = function.code.view();
        let intervals = LiveRangeCalc::new().analyze(&code);
        writeln!(
            out,
            "{} live intervals of {} segments in {}",
            intervals.registers().count(),
            intervals.segment_count(),
            code.name()
        )?;
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compile()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_is_compiled_and_the_hosts_own_phase_has_seen_it() {
        let printed = super::compile().unwrap();
        for line in [
            ".target sm_90",
            ".visible .entry saxpy(",
            "fma.rn.f32",
            "saxpy     kernel  90",
            "fused multiply-adds: 1\n",
            "loads, of parameters too: 6\n",
            "live intervals of",
        ] {
            assert!(printed.contains(line), "no '{line}' in\n{printed}");
        }
    }
}

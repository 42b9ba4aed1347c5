//! Runs the examples on the host as their launch descriptions say, and checks the results.
//!
//! clang compiles each twice: for sm_90 at -O2 and for sm_50 at -O1, where other instructions do
//! the same work (loops of compare-and-swap for atomics, shifts for dp4a).
//!
//! Generated kernels run before and after LLVM's optimiser. `ORIEL_TEST_KERNELS` sets their number
//! (default 165), `ORIEL_TEST_SEED` the first seed.

#![cfg(feature = "llvm")]

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetTriple};
use oriel_generate::{Options, Shape};
use oriel_interpreter::launch::{LaunchDescription, Role};
use oriel_laboratory::host::{HostError, HostMemory, HostModule};
use oriel_random::setting;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inline PTX and asynchronous intrinsics that the host does not support, and matrix fragments
/// whose distribution over a warp PTX leaves open.
const UNSUPPORTED: [&str; 14] = [
    "async_intrinsics",
    "block_scan_asm",
    "cp_async_pipeline",
    "decoupled_lookback",
    "grid_dependency",
    "mbarrier_pipeline",
    "mma_fragments",
    "named_barriers",
    "predicated_softmax",
    "radix_rank",
    "spin_locks",
    "thread_groups",
    "wide_carries",
    "tensor_core_tile",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns all sources, relative to the root.
fn sources() -> Vec<String> {
    let list = Command::new("python3")
        .args(["scripts/examples.py", "list"])
        .current_dir(root())
        .output()
        .expect("python3 runs");
    let list = String::from_utf8(list.stdout).expect("paths in UTF-8");
    list.lines().map(str::to_owned).collect()
}

fn name(source: &str) -> String {
    let stem = Path::new(source).file_stem().expect("the path of a file");
    stem.to_string_lossy().into_owned()
}

fn compile(source: &str, sm: &str, level: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let output = folder.join(format!("{}-{sm}{level}.bc", name(source)));
    let status = Command::new("python3")
        .args(["scripts/examples.py", "compile", source, "--sm", sm, level])
        .args(["--fp-contract", "off", "-o"])
        .arg(&output)
        .current_dir(root())
        .status()
        .expect("python3 runs");
    assert!(status.success(), "{source} for sm_{sm} at {level}");
    fs::read(output).expect("the bitcode")
}

fn description(source: &str) -> LaunchDescription {
    LaunchDescription::load(root().join(source).with_extension("toml")).expect("a launch description")
}

/// Returns the contents of the buffers after all launches.
fn run(source: &str, sm: &str, level: &str) -> Result<Vec<Vec<u8>>, HostError> {
    let description = description(source);
    let context = Context::create();
    let mut module = HostModule::compile(&context, &compile(source, sm, level))?;
    let mut memory = HostMemory::new(&description);
    // SAFETY: the kernels stay within the buffers of their descriptions, which were written
    // together.
    unsafe { module.run_description(&description, &mut memory) }?;
    Ok(memory.into_contents())
}

#[test]
fn examples_give_the_same_in_two_configurations() {
    let mut unsupported = Vec::new();
    for source in sources() {
        let results = run(&source, "90", "-O2").and_then(|new| Ok((new, run(&source, "50", "-O1")?)));
        let (new, old) = match results {
            Ok(results) => results,
            Err(HostError::Unsupported(_)) => {
                unsupported.push(name(&source));
                continue;
            }
            Err(error) => panic!("{source}: {error}"),
        };
        let mut changed = false;
        for ((buffer, new), old) in description(&source).buffers().iter().zip(&new).zip(&old) {
            if let Err(difference) = buffer.compare(old, new) {
                panic!("{source}: buffer `{}`, {difference}", buffer.name);
            }
            let as_before = *new == buffer.initial_bytes();
            assert!(
                as_before || buffer.role != Role::In,
                "{source}: `{}` is read only",
                buffer.name
            );
            changed |= !as_before;
        }
        assert!(changed, "{source} writes nothing");
    }
    assert_eq!(unsupported, UNSUPPORTED);
}

/// The buffers of an example after a run, by name.
struct Finished {
    description: LaunchDescription,
    contents: Vec<Vec<u8>>,
}

impl Finished {
    fn new(source: &str) -> Self {
        let contents = run(source, "90", "-O2").unwrap_or_else(|error| panic!("{source}: {error}"));
        Self {
            description: description(source),
            contents,
        }
    }

    fn number(&self, name: &str) -> usize {
        let mut buffers = self.description.buffers().iter();
        let number = buffers.position(|buffer| buffer.name == name);
        number.expect("a buffer of the description")
    }

    fn bytes(&self, name: &str) -> &[u8] {
        &self.contents[self.number(name)]
    }

    fn words(&self, name: &str) -> Vec<u32> {
        words(self.bytes(name))
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        self.words(name).into_iter().map(f32::from_bits).collect()
    }

    fn initial(&self, name: &str) -> Vec<u8> {
        self.description.buffers()[self.number(name)].initial_bytes()
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect()
}

#[test]
fn checksums_are_those_of_another_implementation() {
    let run = Finished::new("examples/codec/crc32.cu");
    let expected: Vec<u32> = run.bytes("data").chunks_exact(37).map(crc32fast::hash).collect();
    assert_eq!(run.words("by_byte"), expected);
    assert_eq!(run.words("by_word"), expected);
}

#[test]
fn sorted_keys_are_those_that_were_there() {
    let bitonic = Finished::new("examples/sort/bitonic_sort.cu");
    let mut expected = words(&bitonic.initial("data"));
    expected.sort_unstable();
    assert_eq!(bitonic.words("data"), expected);

    let radix = Finished::new("examples/sort/radix_sort.cu");
    let mut expected = words(&radix.initial("keys"));
    expected.sort_unstable();
    assert_eq!(radix.words("keys"), expected);
}

#[test]
fn shuffles_and_barriers_add_up() {
    let run = Finished::new("examples/reduction/inclusive_scan.cu");
    let sums = run.words("in").into_iter().scan(0u32, |sum, value| {
        *sum = sum.wrapping_add(value);
        Some(*sum)
    });
    assert_eq!(run.words("out"), sums.collect::<Vec<u32>>());
}

#[test]
fn the_largest_element_of_each_warp() {
    let run = Finished::new("examples/reduction/warp_shuffle_reduction.cu");
    let input = run.floats("in");
    for (warp, elements) in input.chunks(32).enumerate() {
        let largest = elements.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(run.floats("best_value")[warp], largest);
        assert_eq!(input[run.words("best_index")[warp] as usize], largest);
    }
}

#[test]
fn histogram_of_bytes() {
    let run = Finished::new("examples/reduction/histogram.cu");
    let mut expected = vec![0u32; 256];
    for &byte in run.bytes("data") {
        expected[usize::from(byte)] += 1;
    }
    assert_eq!(run.words("bins"), expected);
}

#[test]
fn shared_memory_tiles_transpose() {
    const WIDTH: usize = 70;
    const HEIGHT: usize = 45;
    let run = Finished::new("examples/linear-algebra/transpose.cu");
    let matrix = run.floats("matrix");
    let expected: Vec<f32> = (0..WIDTH * HEIGHT)
        .map(|index| matrix[index % HEIGHT * WIDTH + index / HEIGHT])
        .collect();
    assert_eq!(run.floats("naive"), expected);
    assert_eq!(run.floats("tiled"), expected);
}

/// Returns the module after LLVM's optimiser, which uses every liberty of undefined behaviour.
fn optimized(ir: &str) -> Vec<u8> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "generated");
    let module = context.create_module_from_ir(buffer).expect("a valid module");
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let machine = Target::from_triple(&triple)
        .expect("LLVM has NVPTX")
        .create_target_machine(
            &triple,
            "sm_80",
            "",
            OptimizationLevel::Default,
            RelocMode::Default,
            CodeModel::Default,
        )
        .expect("LLVM has sm_80");
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module
        .run_passes("default<O3>", &machine, PassBuilderOptions::create())
        .expect("a pipeline of LLVM");
    module.write_bitcode_to_memory().as_slice().to_vec()
}

fn run_generated(ir: &[u8], launches: &LaunchDescription) -> Vec<Vec<u8>> {
    let context = Context::create();
    let mut module = HostModule::compile(&context, ir).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = HostMemory::new(launches);
    // SAFETY: generated kernels stay within the buffers of their launches.
    let done = unsafe { module.run_description(launches, &mut memory) };
    done.unwrap_or_else(|error| panic!("{error}"));
    memory.into_contents()
}

#[test]
fn generated_kernels_give_the_same_after_optimisation() {
    const FUNCTIONS: usize = 5;
    let first = setting("ORIEL_TEST_SEED", 0);
    let count = setting("ORIEL_TEST_KERNELS", 165);
    for seed in (first..first + count).step_by(FUNCTIONS) {
        for all_operations in [true, false] {
            let options = Options {
                seed,
                functions: FUNCTIONS,
                shape: Shape::ALL[(seed / FUNCTIONS as u64) as usize % Shape::ALL.len()],
                calls: true,
                all_operations,
                ..Options::default()
            };
            let mut ir = Vec::new();
            oriel_generate::llvm_ir(&options, &mut ir).expect("a vector takes all bytes");
            let ir = String::from_utf8(ir).expect("LLVM IR is ASCII");
            let text = oriel_generate::launch_description(&options, seed);
            let launches = LaunchDescription::parse(&text, "generated").expect("a launch description");
            let plain = run_generated(ir.as_bytes(), &launches);
            let optimized = run_generated(&optimized(&ir), &launches);
            for ((buffer, plain), optimized) in launches.buffers().iter().zip(&plain).zip(&optimized) {
                if let Err(difference) = buffer.compare(plain, optimized) {
                    panic!("{options:?}: buffer `{}`, {difference}", buffer.name);
                }
            }
        }
    }
}

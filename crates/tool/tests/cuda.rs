//! `oriel_laboratory::cuda` on a driver without a GPU: crates/tool/tests/fake_cuda/fake_cuda.c.

#![cfg(target_os = "linux")]

mod fake_cuda;

use fake_cuda::{SAXPY, build_driver, fused_saxpy, saxpy_description};
use oriel_interpreter::launch::LaunchDescription;
use oriel_laboratory::cuda::{
    Absent, Agreement, Comparison, CudaError, DeviceResult, Driver, Module, Stopwatch, compare,
    run_described_on_device, time_described_on_device,
};
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::time::Duration;

fn parse(description: &str) -> LaunchDescription {
    LaunchDescription::parse(description, "test.toml").unwrap()
}

fn load(library: &Path) -> Result<Driver, Absent> {
    // SAFETY: the fake driver has the driver's types.
    unsafe { Driver::load_from(library) }
}

/// The fake's own record: its calls, and how much has not been given back.
fn record(library: &Path) -> (String, c_int) {
    // SAFETY: the library is loaded already; these are the functions' types in fake_cuda.c, and the
    // text is static.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let calls: libloading::Symbol<unsafe extern "C" fn() -> *const c_char> =
            library.get("fake_calls").unwrap();
        let live: libloading::Symbol<unsafe extern "C" fn() -> c_int> = library.get("fake_live").unwrap();
        (CStr::from_ptr(calls()).to_string_lossy().into_owned(), live())
    }
}

fn run(driver: &Driver, ptx: &str, description: &str) -> Result<DeviceResult, CudaError> {
    let device = driver.device(0)?;
    run_described_on_device(&device, &CString::new(ptx).unwrap(), &parse(description))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| f32::from_le_bytes(bytes))
        .collect()
}

#[test]
fn a_description_runs_and_everything_is_given_back() {
    let library = build_driver("complete", &[]);
    let driver = load(&library).unwrap();
    assert_eq!(driver.device_count(), Ok(1));
    let device = driver.device(0).unwrap();
    assert_eq!(device.name().unwrap(), "Fake GPU");
    assert_eq!(device.compute_capability().to_string(), "8.0");

    let text = saxpy_description("", "inout");
    let result = run(&driver, SAXPY, &text).unwrap();
    let description = parse(&text);
    let [x, y] = [0, 1].map(|index| floats(&description.buffers()[index].initial_bytes()));
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.7f32 * x + y).collect();
    assert_eq!(floats(&result.memory.buffers[0].bytes), x);
    assert_eq!(floats(&result.memory.buffers[1].bytes), expected);
    assert_eq!(result.memory.buffers[2].bytes, [0; 3]);
    assert_eq!(result.memory.variables.len(), 1);
    assert_eq!(result.memory.variables[0].name, "counter");
    assert_eq!(result.memory.variables[0].bytes, 228u32.to_le_bytes());
    assert_eq!(result.kernels.len(), 1);
    assert_eq!(
        (result.kernels[0].registers, result.kernels[0].local_bytes),
        (15, 24)
    );

    let (calls, live) = record(&library);
    assert_eq!(live, 0, "{calls}");
    let count = |name: &str| calls.split(' ').filter(|call| *call == name).count();
    assert_eq!((count("cuMemAlloc_v2"), count("cuMemFree_v2")), (3, 3));
    // The buffer of zeros is made on the device.
    assert_eq!((count("cuMemcpyHtoD_v2"), count("cuMemsetD8_v2")), (2, 1));
    assert_eq!((count("cuModuleLoadDataEx"), count("cuModuleUnload")), (1, 1));
    assert_eq!((count("cuLaunchKernel"), count("cuFuncSetAttribute")), (1, 0));
    assert_eq!(
        (
            count("cuDevicePrimaryCtxRetain"),
            count("cuDevicePrimaryCtxRelease_v2")
        ),
        (1, 1)
    );
}

#[test]
fn arguments_lie_where_the_kernel_declares_its_parameters() {
    let driver = load(&build_driver("arguments", &[])).unwrap();
    let ptx = "\
.version 7.0
.target sm_80
.visible .entry copy_parameters(
	.param .u64 .ptr .global .align 1 copy_parameters_param_0,
	.param .u8 copy_parameters_param_1,
	.param .align 8 .b8 copy_parameters_param_2[16],
	.param .u16 copy_parameters_param_3,
	.param .u64 copy_parameters_param_4
)
{
";
    let description = r#"
description = "parameters"
[[buffer]]
name = "out"
element = "u8"
length = 64
role = "out"
initial = { constant = 238 }
[[launch]]
kernel = "copy_parameters"
grid = [1, 1, 1]
block = [1, 1, 1]
arguments = [
    { buffer = "out", offset_bytes = 8 },
    { u8 = 1 },
    { struct = [{ u16 = 0x0302 }, { i32 = -1 }] },
    { u16 = 0x0504 },
    { u64 = "0x1122334455667788" },
]
"#;
    let result = run(&driver, ptx, description).unwrap();
    let bytes = &result.memory.buffers[0].bytes;
    assert_eq!(bytes[..8], [238; 8]);
    let parameters = &bytes[8..];
    assert_eq!(parameters[8..16], [1, 0, 0, 0, 0, 0, 0, 0]);
    // The struct's own size is 8; the rest of the parameter is zeros.
    assert_eq!(
        parameters[16..32],
        [2, 3, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(parameters[32..40], [4, 5, 0, 0, 0, 0, 0, 0]);
    assert_eq!(parameters[40..48], 0x1122_3344_5566_7788u64.to_le_bytes());
    assert_eq!(parameters[48..], [238; 8]);

    let too_few = description.replace("    { u16 = 0x0504 },\n", "");
    assert_eq!(
        run(&driver, ptx, &too_few).unwrap_err().to_string(),
        "copy_parameters has 5 parameters, the launch 4 arguments"
    );
}

#[test]
fn grid_block_and_shared_memory_arrive() {
    let driver = load(&build_driver("grid", &[])).unwrap();
    let ptx = ".target sm_75\n.visible .entry copy_launch(\n\t.param .u64 copy_launch_param_0\n)\n{\n";
    let description = r#"
description = "the launch"
[[buffer]]
name = "out"
element = "u32"
length = 7
role = "out"
initial = "zero"
[[launch]]
kernel = "copy_launch"
grid = [2, 3, 4]
block = [5, 6, 7]
dynamic_shared_bytes = 65536
arguments = [{ buffer = "out" }]
"#;
    let result = run(&driver, ptx, description).unwrap();
    let expected = [2u32, 3, 4, 5, 6, 7, 65536].map(u32::to_le_bytes).concat();
    assert_eq!(result.memory.buffers[0].bytes, expected);
}

#[test]
fn what_is_no_driver_is_named() {
    let missing = Path::new("/nonexistent/libcuda.so.1");
    let message = load(missing).err().unwrap().to_string();
    assert!(
        message.starts_with("/nonexistent/libcuda.so.1 cannot be loaded: "),
        "{message}"
    );
    assert!(
        message.ends_with("name its library in ORIEL_CUDA_DRIVER"),
        "{message}"
    );

    let incomplete = build_driver("incomplete", &["FAKE_WITHOUT_SET_ATTRIBUTE"]);
    let error = load(&incomplete).err().unwrap();
    assert!(
        matches!(&error, Absent::Symbol { symbol, .. } if *symbol == "cuFuncSetAttribute"),
        "{error}"
    );

    let without_device = build_driver("no_device", &["FAKE_NO_DEVICE"]);
    let message = load(&without_device).err().unwrap().to_string();
    let expected =
        "libcuda.so.1 does not start: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_device_that_is_not_there() {
    let driver = load(&build_driver("devices", &[])).unwrap();
    let error = driver.device(1).err().unwrap();
    assert_eq!(error.to_string(), "there is no device 1: the driver has 1");
}

#[test]
fn ptx_for_a_newer_device_is_refused_before_it_is_loaded() {
    let library = build_driver("older", &["FAKE_MAJOR=7", "FAKE_MINOR=5"]);
    let driver = load(&library).unwrap();
    let error = run(&driver, SAXPY, &saxpy_description("", "inout")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the PTX is compiled for sm_80, which does not run on a device of compute capability 7.5"
    );
    let (calls, live) = record(&library);
    assert!(!calls.contains("cuModuleLoadDataEx"), "{calls}");
    assert_eq!(live, 0);
    let error = run(&driver, ".version 7.0\n", &saxpy_description("", "inout")).unwrap_err();
    assert_eq!(error, CudaError::NoTarget);
}

#[test]
fn the_log_of_the_drivers_compiler_is_shown() {
    let library = build_driver("jit", &[]);
    let driver = load(&library).unwrap();
    let ptx = format!("{SAXPY}.extern .func missing\n;\n");
    let error = run(&driver, &ptx, &saxpy_description("", "inout")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the driver cannot compile the PTX: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation \
         failed\nptxas fatal   : Unresolved extern function 'missing'"
    );
    assert_eq!(record(&library).1, 0);
}

#[test]
fn after_a_kernel_that_fails_the_process_cannot_use_the_device() {
    let library = build_driver("fault", &[]);
    let driver = load(&library).unwrap();
    let description = saxpy_description("", "inout");
    let out_of_bounds = description.replace("i32 = 100", "i32 = 101");
    let error = run(&driver, SAXPY, &out_of_bounds).unwrap_err().to_string();
    let problem = "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered";
    assert_eq!(error, format!("cuCtxSynchronize: {problem}"));
    assert_eq!(record(&library).1, 0);
    let error = run(&driver, SAXPY, &description).unwrap_err().to_string();
    assert_eq!(error, format!("cuDevicePrimaryCtxRetain: {problem}"));
}

#[test]
fn a_kernel_that_is_not_there_and_one_of_another_name() {
    let driver = load(&build_driver("kernels", &[])).unwrap();
    let description = saxpy_description("", "inout").replace("kernel = \"saxpy\"", "kernel = \"daxpy\"");
    assert_eq!(
        run(&driver, SAXPY, &description),
        Err(CudaError::NoKernel("daxpy".to_owned()))
    );

    let context = driver.device(0).unwrap().context().unwrap();
    let ptx = CString::new(SAXPY).unwrap();
    let module = Module::from_ptx(&context, &ptx).unwrap();
    let launch = oriel_interpreter::Launch {
        kernel: "daxpy".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        arguments: Vec::new(),
        dynamic_shared_bytes: 0,
    };
    let error = module.function("saxpy").unwrap().prepare(&launch).err().unwrap();
    assert_eq!(
        error,
        CudaError::Misfit("a launch of daxpy is not one of saxpy".to_owned())
    );
}

#[test]
fn an_input_that_is_written_to_is_an_error() {
    let driver = load(&build_driver("input", &[])).unwrap();
    let error = run(&driver, SAXPY, &saxpy_description("", "in")).unwrap_err();
    assert_eq!(error, CudaError::InputChanged("y".to_owned()));
}

#[test]
fn variables_that_the_driver_hides_are_left_out() {
    let driver = load(&build_driver("hiding", &["FAKE_HIDES_VARIABLES"])).unwrap();
    let result = run(&driver, SAXPY, &saxpy_description("", "inout")).unwrap();
    assert_eq!(result.memory.variables, []);
}

#[test]
fn two_runs_compare_as_the_description_says() {
    let driver = load(&build_driver("comparison", &[])).unwrap();
    let agreement_of_y = |text: &str| {
        let before = run(&driver, SAXPY, text).unwrap();
        let after = run(&driver, &fused_saxpy(), text).unwrap();
        let comparisons = compare(&parse(text), &before.memory, &after.memory);
        let names: Vec<&str> = comparisons.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "unused", "counter"]);
        for other in [0, 2, 3] {
            assert_eq!(comparisons[other].agreement, Agreement::Identical);
        }
        comparisons
            .into_iter()
            .nth(1)
            .map(|Comparison { agreement, .. }| agreement)
            .unwrap()
    };
    let exact = agreement_of_y(&saxpy_description("", "inout"));
    assert!(matches!(exact, Agreement::Different(_)), "{exact:?}");
    let close = saxpy_description("compare = { absolute = 1e-6, relative = 1e-6 }", "inout");
    assert_eq!(agreement_of_y(&close), Agreement::Allowed);
}

#[test]
fn each_timed_run_starts_from_the_initial_contents() {
    let library = build_driver("timing", &[]);
    let driver = load(&library).unwrap();
    let device = driver.device(0).unwrap();
    let description = parse(&saxpy_description("", "inout"));
    let ptx = CString::new(SAXPY).unwrap();
    let modules = [ptx.as_c_str(), ptx.as_c_str()];
    let times = time_described_on_device(&device, &modules, &description, 3).unwrap();
    assert_eq!(times.len(), 1);
    assert_eq!(
        times[0].modules,
        [[Duration::from_micros(10); 3]; 2].map(Vec::from)
    );
    let (calls, live) = record(&library);
    assert_eq!(live, 0);
    // Of each module a run that does not count and three that do.
    assert_eq!(calls.matches("cuLaunchKernel ").count(), 8);

    let context = device.context().unwrap();
    let module = Module::from_ptx(&context, &ptx).unwrap();
    let stopwatch = Stopwatch::new(&context, &device, &description).unwrap();
    let timed = stopwatch.prepare(&module).unwrap();
    let first = stopwatch.run(&timed).unwrap();
    stopwatch.time(&[&timed], 2).unwrap();
    let last = stopwatch.run(&timed).unwrap();
    assert_eq!((first.buffers, first.variables), (last.buffers, last.variables));
}

#[test]
fn only_whole_machine_code_is_loaded() {
    let driver = load(&build_driver("machine_code", &[])).unwrap();
    let context = driver.device(0).unwrap().context().unwrap();
    let program = std::fs::read("/proc/self/exe").unwrap();
    for (code, is_whole) in [
        (&program[..], true),
        (&program[..program.len() / 2], false),
        (&program[..40], false),
        (b"not ELF", false),
    ] {
        let loaded = Module::from_machine_code(&context, SAXPY, code);
        assert_eq!(loaded.err(), (!is_whole).then_some(CudaError::NotMachineCode));
    }
}

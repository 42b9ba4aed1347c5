//! `OrielMachineFunction`: snapshots and their analyses.

use super::call::{CallFailure, Message, OrielStatus, c_text, call, given, into_raw, text};
use crate::live::LiveRangeCalc;
use crate::report::estimate::CallGraph;
use crate::report::page::{PageFunction, PageWriter};
use crate::report::pressure::FunctionPressure;
use crate::report::{CodeFigures, CodeReport, write_details, write_table};
use crate::snapshot::{FileError, OwnedSnapshot};
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// `OrielMachineFunction`.
#[derive(Debug)]
pub struct OrielMachineFunction {
    pub(super) snapshot: Arc<OwnedSnapshot>,
    /// The functions that it may call, itself among them.
    module: Arc<Module>,
    name: CString,
    stage: CString,
}

/// Functions that were compiled together.
#[derive(Debug)]
pub(super) struct Module {
    functions: Vec<Arc<OwnedSnapshot>>,
    /// Made when figures of one are asked for.
    graph: OnceLock<CallGraph>,
}

impl Module {
    fn graph(&self) -> &CallGraph {
        let functions = || self.functions.iter().map(AsRef::as_ref);
        self.graph.get_or_init(|| CallGraph::of_snapshots(functions()))
    }
}

impl From<OwnedSnapshot> for OrielMachineFunction {
    fn from(snapshot: OwnedSnapshot) -> Self {
        let mut module = Self::of_module(vec![snapshot]);
        module.pop().expect("there is one function for each snapshot")
    }
}

impl OrielMachineFunction {
    /// Returns the functions of a module.
    pub(super) fn of_module(snapshots: Vec<OwnedSnapshot>) -> Vec<Self> {
        let module = Arc::new(Module {
            functions: snapshots.into_iter().map(Arc::new).collect(),
            graph: OnceLock::new(),
        });
        let functions = module.functions.iter().map(|snapshot| Self {
            name: c_text(&*snapshot.view().name()),
            stage: c_text(snapshot.view().stage().name()),
            snapshot: snapshot.clone(),
            module: module.clone(),
        });
        functions.collect()
    }

    /// Returns the report on it, with the functions that it calls.
    fn report(&self, pressure: &FunctionPressure<'_>) -> CodeReport {
        CodeReport::with_callees(pressure, None, self.module.graph())
    }

    pub(super) fn pressure(&self) -> FunctionPressure<'_> {
        FunctionPressure::compute(self.snapshot.view(), &mut LiveRangeCalc::new())
    }
}

fn file_failure(path: &Path, error: &FileError) -> CallFailure {
    let status = match error {
        FileError::Io(_) => OrielStatus::FileError,
        FileError::Format { .. } | FileError::Content(_) => OrielStatus::InvalidSnapshot,
    };
    CallFailure::new(status, format!("{}: {error}", path.display()))
}

/// `oriel_function_load`.
///
/// # Safety
/// `path` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_function_load(
    path: *const c_char,
    function: Option<&mut *mut OrielMachineFunction>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let out = given(function, "function")?;
        // SAFETY: the caller vouches for the text.
        let path = Path::new(unsafe { text(path, "path")? });
        let snapshot = OwnedSnapshot::load(path).map_err(|error| file_failure(path, &error))?;
        *out = Box::into_raw(Box::new(snapshot.into()));
        Ok(())
    })
}

/// `oriel_function_load_bytes`.
///
/// # Safety
/// `bytes` is null or valid for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_function_load_bytes(
    bytes: *const c_void,
    length: usize,
    function: Option<&mut *mut OrielMachineFunction>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let out = given(function, "function")?;
        if bytes.is_null() {
            return Err(CallFailure::argument("bytes", "is null"));
        }
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
        let snapshot = OwnedSnapshot::from_bytes(bytes)
            .map_err(|error| CallFailure::new(OrielStatus::InvalidSnapshot, error.to_string()))?;
        *out = Box::into_raw(Box::new(snapshot.into()));
        Ok(())
    })
}

/// `oriel_function_export`.
///
/// # Safety
/// `machine_function` is null or an `llvm::MachineFunction` that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_function_export(
    machine_function: *mut c_void,
    function: Option<&mut *mut OrielMachineFunction>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let out = given(function, "function")?;
        let machine_function = given(
            (!machine_function.is_null()).then_some(machine_function),
            "machine_function",
        )?;
        // SAFETY: it is not null; the caller vouches for the rest.
        let snapshot = unsafe { export(machine_function)? };
        *out = Box::into_raw(Box::new(snapshot.into()));
        Ok(())
    })
}

/// # Safety
/// As `oriel_function_export`, and the pointer is not null.
#[cfg(feature = "llvm")]
unsafe fn export(machine_function: *mut c_void) -> Result<OwnedSnapshot, CallFailure> {
    use crate::ffi::{check_compatible, export_function};
    check_compatible()
        .map_err(|reason| CallFailure::new(OrielStatus::WrongLlvm, format!("Oriel is {reason}")))?;
    // SAFETY: the caller vouches for the function.
    let exported = unsafe { export_function(machine_function) };
    exported.map_err(|refusal| {
        CallFailure::new(
            OrielStatus::Unsupported,
            format!("a snapshot cannot carry the function: {refusal}"),
        )
    })
}

/// # Safety
/// None is needed.
#[cfg(not(feature = "llvm"))]
unsafe fn export(_: *mut c_void) -> Result<OwnedSnapshot, CallFailure> {
    Err(CallFailure::new(
        OrielStatus::WithoutLlvm,
        "this library was built without LLVM",
    ))
}

/// `oriel_function_save`.
///
/// # Safety
/// `path` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_function_save(
    function: Option<&OrielMachineFunction>,
    path: *const c_char,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        // SAFETY: the caller vouches for the text.
        let path = Path::new(unsafe { text(path, "path")? });
        let saved = function.snapshot.view().save(path);
        saved.map_err(|error| file_failure(path, &error))
    })
}

/// `oriel_function_name`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_name(function: Option<&OrielMachineFunction>) -> *const c_char {
    function.map_or(std::ptr::null(), |function| function.name.as_ptr())
}

/// `oriel_function_stage`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_stage(function: Option<&OrielMachineFunction>) -> *const c_char {
    function.map_or(std::ptr::null(), |function| function.stage.as_ptr())
}

/// `oriel_function_sm`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_sm(function: Option<&OrielMachineFunction>) -> u32 {
    function.map_or(0, |function| function.snapshot.view().function().sm)
}

/// `oriel_function_is_kernel`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_is_kernel(function: Option<&OrielMachineFunction>) -> i32 {
    function.map_or(0, |function| function.snapshot.view().is_kernel().into())
}

/// `oriel_function_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_dispose(function: Option<Box<OrielMachineFunction>>) {
    drop(function);
}

/// `ORIEL_UNKNOWN`.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// `OrielFigures`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct OrielFigures {
    pub(super) peak_pressure_r32: u32,
    pub(super) peak_pressure_pred: u32,
    pub(super) registers_estimate: u32,
    pub(super) registers_estimate_low: u32,
    pub(super) registers_estimate_high: u32,
    pub(super) spill_risk_percent: u32,
    pub(super) registers_limit: u32,
    pub(super) occupancy_threads_per_block: u32,
    pub(super) occupancy_blocks_per_sm: u32,
    pub(super) occupancy_warps_per_sm: u32,
    pub(super) occupancy_max_warps_per_sm: u32,
    pub(super) registers_for_more_warps: u32,
    pub(super) static_shared_bytes: u64,
}

const _: () = assert!(size_of::<OrielFigures>() == 56);

impl From<&CodeFigures<'_>> for OrielFigures {
    fn from(figures: &CodeFigures<'_>) -> Self {
        let known = |figure: Option<u32>| figure.unwrap_or(UNKNOWN);
        let occupancy = figures.occupancy.as_ref();
        Self {
            peak_pressure_r32: figures.peak_pressure_r32,
            peak_pressure_pred: figures.peak_pressure_pred,
            registers_estimate: known(figures.registers_estimate),
            registers_estimate_low: known(figures.registers_estimate_low),
            registers_estimate_high: known(figures.registers_estimate_high),
            spill_risk_percent: known(figures.spill_risk_percent),
            registers_limit: known(figures.registers_limit),
            occupancy_threads_per_block: known(occupancy.map(|it| it.occupancy_threads_per_block)),
            occupancy_blocks_per_sm: known(occupancy.map(|it| it.occupancy_blocks_per_sm)),
            occupancy_warps_per_sm: known(occupancy.map(|it| it.occupancy_warps_per_sm)),
            occupancy_max_warps_per_sm: known(occupancy.map(|it| it.occupancy_max_warps_per_sm)),
            registers_for_more_warps: known(occupancy.and_then(|it| it.registers_for_more_warps)),
            static_shared_bytes: figures.static_shared_bytes,
        }
    }
}

/// `oriel_function_figures`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_figures(
    function: Option<&OrielMachineFunction>,
    figures: Option<&mut OrielFigures>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        let out = given(figures, "figures")?;
        *out = (&function.report(&function.pressure()).figures).into();
        Ok(())
    })
}

/// `oriel_function_report`. The form is a number here, since C can pass any.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_function_report(
    function: Option<&OrielMachineFunction>,
    form: u32,
    text: Option<&mut *mut c_char>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        let out = given(text, "text")?;
        let pressure = function.pressure();
        let report = function.report(&pressure);
        let internal =
            |error: &dyn std::fmt::Display| CallFailure::new(OrielStatus::InternalError, error.to_string());
        let text = match form {
            0 => serde_json::to_vec(&report.with_details(&pressure)).map_err(|error| internal(&error))?,
            1 => details(&report.with_details(&pressure))
                .map_err(|error| internal(&error))?
                .into_bytes(),
            2 => page(report, &pressure).map_err(|error| internal(&error))?,
            other => {
                return Err(CallFailure::argument(
                    "form",
                    &format!("is {other}, which is not an OrielReportForm"),
                ));
            }
        };
        *out = into_raw(text);
        Ok(())
    })
}

fn details(report: &CodeReport) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    write_table(std::slice::from_ref(report), &mut text)?;
    if let Some(details) = &report.details {
        write_details(report, details, &mut text)?;
    }
    Ok(text)
}

fn page(report: CodeReport, pressure: &FunctionPressure<'_>) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let function = PageFunction {
        report,
        effects: Vec::new(),
        llvm: None,
    };
    PageWriter::new(&mut page)?.add(&function, pressure)?;
    Ok(page)
}

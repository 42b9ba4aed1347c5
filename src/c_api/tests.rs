use super::call::{OrielStatus, oriel_dispose_message};
use super::compilation::oriel_compile;
use super::function::*;
use super::intervals::*;
use super::options::*;
use super::phase_run::*;
use super::process::*;
use crate::snapshot::sample;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

/// A call with a message: status and message.
fn with_message(call: impl FnOnce(Option<&mut *mut c_char>) -> OrielStatus) -> (OrielStatus, String) {
    // What a host leaves there has to be overwritten.
    let mut message = std::ptr::dangling_mut();
    let status = call(Some(&mut message));
    assert_eq!(status == OrielStatus::Ok, message.is_null(), "{status:?}");
    (status, taken(message))
}

/// A text that Oriel gave out, disposed of.
fn taken(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: it is one that Oriel gave out.
    unsafe {
        let copy = CStr::from_ptr(text).to_str().unwrap().to_owned();
        oriel_dispose_message(text);
        copy
    }
}

/// A text that belongs to an object.
fn borrowed<'a>(text: *const c_char) -> &'a str {
    assert!(!text.is_null());
    // SAFETY: the test keeps the object.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}

fn sample_function() -> Box<OrielMachineFunction> {
    let bytes = sample::counting_loop().view().to_bytes();
    let mut function = null_mut();
    // SAFETY: the bytes live for the call.
    let (status, message) = with_message(|message| unsafe {
        oriel_function_load_bytes(bytes.as_ptr().cast(), bytes.len(), Some(&mut function), message)
    });
    assert_eq!(status, OrielStatus::Ok, "{message}");
    // SAFETY: the call made it, for the caller.
    unsafe { Box::from_raw(function) }
}

#[test]
fn a_header_of_another_version_is_refused() {
    let sizes = (
        size_of::<OrielFigures>(),
        size_of::<OrielInterval>(),
        size_of::<OrielSegment>(),
    );
    let check = |version, figures| {
        with_message(|message| oriel_check_abi_of(version, figures, sizes.1, sizes.2, message))
    };
    assert_eq!(check(1, sizes.0).0, OrielStatus::Ok);
    for (version, figures) in [(0, sizes.0), (2, sizes.0), (1, sizes.0 + 8)] {
        let (status, message) = check(version, figures);
        assert_eq!(status, OrielStatus::WrongApi);
        assert!(message.contains("compile it with the header"), "{message}");
    }
    assert_eq!(borrowed(oriel_version()), env!("CARGO_PKG_VERSION"));
}

#[test]
fn null_is_an_argument_that_is_named() {
    let mut figures = None;
    let (status, message) = with_message(|message| oriel_function_figures(None, figures.as_mut(), message));
    assert_eq!(
        (status, message.as_str()),
        (OrielStatus::InvalidArgument, "'function' is null")
    );
    // A host that wants no message gets none.
    assert_eq!(
        oriel_intervals_compute(None, None, None),
        OrielStatus::InvalidArgument
    );
    let mut compilation = null_mut();
    // SAFETY: null is allowed.
    let (status, message) = with_message(|message| unsafe {
        oriel_compile(null_mut(), null_mut(), None, Some(&mut compilation), message)
    });
    assert_eq!(
        (status, message.as_str()),
        (OrielStatus::InvalidArgument, "'module' is null")
    );
    assert!(compilation.is_null());
    oriel_function_dispose(None);
    oriel_intervals_dispose(None);
    oriel_phase_run_dispose(None);
    oriel_options_dispose(None);
    // SAFETY: null is allowed.
    unsafe { oriel_dispose_message(null_mut()) };
}

#[test]
fn snapshots_are_read_saved_and_refused() {
    let function = sample_function();
    let snapshot = sample::counting_loop();
    assert_eq!(
        borrowed(oriel_function_name(Some(&function))),
        &*snapshot.view().name()
    );
    assert_eq!(oriel_function_sm(Some(&function)), snapshot.view().function().sm);
    let path = std::env::temp_dir().join(format!("oriel-c-api-{}.oriel", std::process::id()));
    let text = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the texts live for the calls.
    unsafe {
        let (status, message) =
            with_message(|message| oriel_function_save(Some(&function), text.as_ptr(), message));
        assert_eq!(status, OrielStatus::Ok, "{message}");
        let mut again = null_mut();
        assert_eq!(
            oriel_function_load(text.as_ptr(), Some(&mut again), None),
            OrielStatus::Ok
        );
        oriel_function_dispose(Some(Box::from_raw(again)));
        std::fs::write(&path, "no snapshot").unwrap();
        let mut none = null_mut();
        let (status, message) =
            with_message(|message| oriel_function_load(text.as_ptr(), Some(&mut none), message));
        assert_eq!(status, OrielStatus::InvalidSnapshot);
        assert!(message.contains("not a usable snapshot"), "{message}");
        std::fs::remove_file(&path).unwrap();
        let (status, _) =
            with_message(|message| oriel_function_load(text.as_ptr(), Some(&mut none), message));
        assert_eq!(status, OrielStatus::FileError);
        let (status, message) =
            with_message(|message| oriel_function_load(c"\xff".as_ptr(), Some(&mut none), message));
        assert_eq!(status, OrielStatus::InvalidArgument);
        assert_eq!(message, "'path' is not valid UTF-8");
        assert!(none.is_null());
    }
}

#[test]
fn intervals_are_those_of_the_engine() {
    let function = sample_function();
    let mut intervals = null_mut();
    let (status, message) =
        with_message(|message| oriel_intervals_compute(Some(&function), Some(&mut intervals), message));
    assert_eq!(status, OrielStatus::Ok, "{message}");
    // SAFETY: the call made them, for the caller.
    let intervals = unsafe { Box::from_raw(intervals) };
    let snapshot = sample::counting_loop();
    let engine = crate::live::LiveRangeCalc::new().analyze(&snapshot.view());
    assert_eq!(
        borrowed(oriel_intervals_text(Some(&intervals))),
        engine.to_string()
    );
    let (mut count, mut segment_count) = (0, 0);
    let first = oriel_intervals(Some(&intervals), Some(&mut count));
    let segments = oriel_intervals_segments(Some(&intervals), Some(&mut segment_count));
    assert_eq!(count, snapshot.view().register_count());
    assert_eq!(segment_count, engine.segment_count());
    // SAFETY: as many as it says.
    let (records, segments) = unsafe {
        (
            std::slice::from_raw_parts(first, count),
            std::slice::from_raw_parts(segments, segment_count),
        )
    };
    for (register, record) in snapshot.view().registers().zip(records) {
        let range = engine.interval(register);
        let first = record.first_segment as usize;
        assert_eq!(
            &segments[first..first + record.segment_count as usize],
            range.segments()
        );
        assert_eq!(record.value_count as usize, range.values().count());
    }
}

#[test]
fn figures_and_reports_are_those_of_the_tool() {
    let function = sample_function();
    let report = |form| {
        let mut text = null_mut();
        let (status, message) =
            with_message(|message| oriel_function_report(Some(&function), form, Some(&mut text), message));
        (status, if text.is_null() { message } else { taken(text) })
    };
    let (status, json) = report(0);
    assert_eq!(status, OrielStatus::Ok);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["function"], *sample::counting_loop().view().name());
    let mut figures = OrielFigures::default();
    assert_eq!(
        oriel_function_figures(Some(&function), Some(&mut figures), None),
        OrielStatus::Ok
    );
    assert_eq!(json["peak_pressure_r32"], figures.peak_pressure_r32);
    assert!(report(1).1.contains(&*sample::counting_loop().view().name()));
    assert!(report(2).1.starts_with("<!DOCTYPE html>"));
    assert_eq!(
        report(3),
        (
            OrielStatus::InvalidArgument,
            "'form' is 3, which is no OrielReportForm".to_owned()
        )
    );
}

#[test]
fn phases_run_on_snapshots_with_options_of_their_own() {
    let function = sample_function();
    let mut options = null_mut();
    assert_eq!(oriel_options_create(Some(&mut options), None), OrielStatus::Ok);
    // SAFETY: the call made them, for the caller.
    let mut options = unsafe { Box::from_raw(options) };
    let add = |options: &mut OrielOptions, flags: &CStr| {
        // SAFETY: the text lives for the call.
        with_message(|message| unsafe { oriel_options_add(Some(options), flags.as_ptr(), message) })
    };
    let (status, message) = add(&mut options, c"-oriel-verify -oriel-profile=fast");
    assert_eq!(status, OrielStatus::InvalidFlags);
    assert!(message.contains("allowed are: ptxas, max"), "{message}");
    // None was added.
    assert!(!options.options.verify);
    let stage = borrowed(oriel_function_stage(Some(&function)));
    let flags = CString::new(format!("-oriel-phases=OriPerformLiveDead@{stage} -oriel-verify")).unwrap();
    assert_eq!(add(&mut options, &flags).0, OrielStatus::Ok);
    let mut run = null_mut();
    let (status, message) = with_message(|message| {
        oriel_phase_run_compute(Some(&function), Some(&options), Some(&mut run), message)
    });
    assert_eq!(status, OrielStatus::Ok, "{message}");
    // SAFETY: the call made it, for the caller.
    let run = unsafe { Box::from_raw(run) };
    let parsed = crate::ori::parse_functions(borrowed(oriel_phase_run_text(Some(&run)))).unwrap();
    assert_eq!(parsed.len(), 1);
    let effects: serde_json::Value =
        serde_json::from_str(borrowed(oriel_phase_run_effects(Some(&run)))).unwrap();
    assert_eq!(effects["stage"], stage);
    assert_eq!(effects["phases"].as_array().unwrap().len(), 4);
    assert_eq!(effects["changed"], oriel_phase_run_changed(Some(&run)) != 0);
}

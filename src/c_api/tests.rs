use super::call::{OrielStatus, oriel_dispose_message};
use super::compilation::oriel_compile;
use super::function::*;
use super::host_function::*;
use super::intervals::*;
use super::options::*;
use super::phase_run::*;
use super::process::*;
use super::queries::*;
use crate::live::pressure::{Pressure, PressureFile};
use crate::live::{LiveRangeCalc, SlotIndex};
use crate::options::{Options, with_options};
use crate::snapshot::abi::RegisterFile;
use crate::snapshot::sample;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;

/// Makes a call with a message. Returns status and message.
fn with_message(call: impl FnOnce(Option<&mut *mut c_char>) -> OrielStatus) -> (OrielStatus, String) {
    // Whatever a host leaves there must be overwritten.
    let mut message = std::ptr::dangling_mut();
    let status = call(Some(&mut message));
    assert_eq!(status == OrielStatus::Ok, message.is_null(), "{status:?}");
    (status, taken(message))
}

/// Returns a text from Oriel and disposes of it.
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

/// Returns a text that belongs to an object.
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
    // SAFETY: the call created it for the caller.
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
    assert!(borrowed(oriel_llvm_version()).starts_with("22."));
}

#[test]
fn null_is_an_argument_that_is_named() {
    let mut figures = None;
    let (status, message) = with_message(|message| oriel_function_figures(None, figures.as_mut(), message));
    assert_eq!(
        (status, message.as_str()),
        (OrielStatus::InvalidArgument, "'function' is null")
    );
    // A host without interest in the message gets none.
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
    // SAFETY: the call created them for the caller.
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
    // SAFETY: as many as stated.
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
            "'form' is 3, which is not an OrielReportForm".to_owned()
        )
    );
}

/// The process's options.
fn created_options() -> Box<OrielOptions> {
    let mut options = null_mut();
    assert_eq!(oriel_options_create(Some(&mut options), None), OrielStatus::Ok);
    // SAFETY: the call created them for the caller.
    unsafe { Box::from_raw(options) }
}

/// A host's pass may ask while a compilation runs with options of its own.
#[test]
fn the_options_of_the_process_are_never_those_of_a_compilation() {
    let of_compilation = Options {
        verify: true,
        ..Options::default()
    };
    with_options(of_compilation.into(), || {
        assert!(!created_options().options.verify);
        assert!(!options_or_process(None).unwrap().verify);
    });
}

#[test]
fn phases_run_on_snapshots_with_options_of_their_own() {
    let function = sample_function();
    let mut options = created_options();
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
    // SAFETY: the call created it for the caller.
    let run = unsafe { Box::from_raw(run) };
    let parsed = crate::ori::parse_functions(borrowed(oriel_phase_run_text(Some(&run)))).unwrap();
    assert_eq!(parsed.len(), 1);
    let effects: serde_json::Value =
        serde_json::from_str(borrowed(oriel_phase_run_effects(Some(&run)))).unwrap();
    assert_eq!(effects["stage"], stage);
    assert_eq!(effects["phases"].as_array().unwrap().len(), 4);
    assert_eq!(effects["changed"], oriel_phase_run_changed(Some(&run)) != 0);
}

/// The intervals of the sample, for questions.
fn sample_intervals() -> Box<OrielIntervals> {
    let mut intervals = null_mut();
    let status = oriel_intervals_compute(Some(&sample_function()), Some(&mut intervals), None);
    assert_eq!(status, OrielStatus::Ok);
    // SAFETY: the call made them, for the caller.
    unsafe { Box::from_raw(intervals) }
}

#[test]
fn questions_are_answered_as_the_engine_does() {
    let intervals = sample_intervals();
    let all = Some(&*intervals);
    let snapshot = sample::counting_loop();
    let view = snapshot.view();
    let engine = LiveRangeCalc::new().analyze(&view);
    let indexes = engine.indexes();
    let last = indexes.last_index().number();
    assert_eq!(oriel_intervals_block_count(all) as usize, view.block_count());
    assert_eq!(
        oriel_intervals_instruction_count(all) as usize,
        view.instruction_count()
    );
    for instruction in view.instructions() {
        let index = oriel_intervals_instruction_index(all, instruction.as_u32());
        assert_eq!(index, indexes.instruction_index(instruction).number());
        assert_eq!(
            oriel_intervals_instruction_at(all, index + 2),
            instruction.as_u32()
        );
    }
    let mut general = 0;
    for register in view.registers() {
        let range = engine.interval(register);
        let number = register.as_u32();
        for index in 0..=last {
            let value = range.value_at(SlotIndex::from_number(index));
            let answer = oriel_intervals_value_at(all, number, index);
            assert_eq!(answer, value.map_or(u32::MAX, |value| value.as_u32()));
            assert_eq!(oriel_intervals_live_at(all, number, index) != 0, value.is_some());
        }
        for block in view.blocks() {
            let live_in = oriel_intervals_live_in(all, number, block.as_u32());
            assert_eq!(live_in != 0, engine.is_live_in(register, block));
            let live_out = oriel_intervals_live_out(all, number, block.as_u32());
            assert_eq!(live_out != 0, engine.is_live_out(register, block));
            let (start, end) = indexes.block_range(block);
            assert_eq!(oriel_intervals_block_start(all, block.as_u32()), start.number());
            assert_eq!(oriel_intervals_block_end(all, block.as_u32()), end.number());
            assert_eq!(oriel_intervals_block_at(all, end.number() - 1), block.as_u32());
        }
        for other in view.registers() {
            let interfere = oriel_intervals_interfere(all, number, other.as_u32());
            assert_eq!(interfere != 0, engine.interfere(register, other));
        }
        let mut count = 0;
        let values = oriel_intervals_values(all, number, Some(&mut count));
        assert_eq!(count, range.value_count());
        if let Some(start) = range.start() {
            // SAFETY: it has at least one value.
            assert_eq!(unsafe { (*values).definition }, start.number());
        }
        general += u32::from(view.register_file(register) != RegisterFile::Predicate);
    }
    assert!(general > 0);
    let mut count = 0;
    let points = oriel_intervals_pressure(all, 0, Some(&mut count));
    // SAFETY: as many as it says.
    let points = unsafe { std::slice::from_raw_parts(points, count) };
    let pressure = Pressure::new(&engine, &view);
    assert_eq!(points, pressure.file(PressureFile::General).points());
    assert!(oriel_intervals_pressure(all, 2, None).is_null());
    // What stands for nothing.
    assert_eq!(oriel_intervals_value_at(all, 1000, 0), u32::MAX);
    assert_eq!(oriel_intervals_instruction_index(all, u32::MAX), u32::MAX);
    assert_eq!(oriel_intervals_block_start(all, 1000), u32::MAX);
    assert_eq!(oriel_intervals_live_in(all, 0, 1000), 0);
    assert_eq!(oriel_intervals_block_at(all, u32::MAX), u32::MAX);
    assert!(oriel_intervals_values(all, 1000, Some(&mut count)).is_null() && count == 0);
}

#[test]
fn as_many_live_registers_as_there_is_room_for() {
    let intervals = sample_intervals();
    let all = Some(&*intervals);
    let last = intervals.computed.indexes().last_index().number();
    let live = |index, room: &mut [u32]| {
        // SAFETY: it has the room.
        unsafe { oriel_intervals_registers_at(all, index, room.as_mut_ptr(), room.len()) }
    };
    let fullest = (0..last).max_by_key(|&index| live(index, &mut []));
    let fullest = fullest.expect("the sample has instructions");
    let mut room = [u32::MAX; 64];
    let count = live(fullest, &mut room);
    assert!(count > 1 && room[..count].is_sorted() && room[count] == u32::MAX);
    let mut less = [u32::MAX; 1];
    assert_eq!((live(fullest, &mut less), less[0]), (count, room[0]));
}

/// A loop: `%0 = …; do { %1 = phi %0, %2; %2 = %1 + %0 } while (%3 = …)`.
struct HostLoop {
    units: [u32; 4],
    successors: Vec<Vec<u32>>,
    operands: Vec<Vec<Vec<OrielHostOperand>>>,
    /// What the first block has besides its own instructions, as the host says.
    more_instructions: u32,
}

impl HostLoop {
    fn new() -> Self {
        let operand = |register, access, block| OrielHostOperand {
            register,
            access,
            block,
        };
        let block = vec![
            vec![operand(1, 1, 0), operand(0, 3, 0), operand(2, 3, 1)],
            vec![operand(2, 1, 0), operand(1, 0, 0), operand(0, 0, 0)],
            vec![operand(3, 1, 0), operand(2, 0, 0)],
            vec![operand(3, 0, 0)],
        ];
        Self {
            units: [1, 1, 1, 0],
            successors: vec![vec![1], vec![1, 2], vec![]],
            operands: vec![vec![vec![operand(0, 1, 0)]], block, vec![]],
            more_instructions: 0,
        }
    }

    fn intervals(&mut self) -> Result<Box<OrielIntervals>, String> {
        unsafe extern "C" fn units(host: *mut c_void, register: u32) -> u32 {
            // SAFETY: the context is the function below.
            unsafe { (*host.cast::<HostLoop>()).units[register as usize] }
        }
        unsafe extern "C" fn successors(host: *mut c_void, block: u32, count: *mut usize) -> *const u32 {
            // SAFETY: the context is the function below.
            unsafe {
                let targets = &(&(*host.cast::<HostLoop>()).successors)[block as usize];
                *count = targets.len();
                targets.as_ptr()
            }
        }
        unsafe extern "C" fn instruction_count(host: *mut c_void, block: u32) -> u32 {
            // SAFETY: the context is the function below.
            let host = unsafe { &*host.cast::<HostLoop>() };
            let more = if block == 0 { host.more_instructions } else { 0 };
            host.operands[block as usize].len() as u32 + more
        }
        unsafe extern "C" fn operands(
            host: *mut c_void,
            block: u32,
            instruction: u32,
            count: *mut usize,
        ) -> *const OrielHostOperand {
            // SAFETY: the context is the function below.
            unsafe {
                let block = &(&(*host.cast::<HostLoop>()).operands)[block as usize];
                *count = block[instruction as usize].len();
                block[instruction as usize].as_ptr()
            }
        }
        let function = OrielHostFunction {
            context: (&raw mut *self).cast(),
            register_count: 4,
            block_count: self.successors.len() as u32,
            register_units: Some(units),
            successors: Some(successors),
            instruction_count: Some(instruction_count),
            operands: Some(operands),
        };
        let mut intervals = null_mut();
        // SAFETY: the callbacks are the functions above.
        let (status, message) = with_message(|message| unsafe {
            oriel_intervals_compute_host(Some(&function), Some(&mut intervals), message)
        });
        match status {
            // SAFETY: the call made them, for the caller.
            OrielStatus::Ok => Ok(unsafe { Box::from_raw(intervals) }),
            OrielStatus::InvalidArgument => Err(message),
            other => panic!("{other:?}: {message}"),
        }
    }
}

#[test]
fn a_host_has_functions_of_its_own() {
    let intervals = HostLoop::new().intervals().expect("a sound function");
    let text = borrowed(oriel_intervals_text(Some(&intervals))).replace("  weight:0.000000e+00", "");
    assert_eq!(
        text,
        "%0 [16r,112B:0) 0@16r\n%1 [48r,64r:0) 0@48r\n%2 [64r,112B:0) 0@64r\n%3 [80r,96r:0) 0@80r\n"
    );
}

#[test]
fn what_a_host_says_is_checked() {
    type Change = fn(&mut HostLoop);
    let problem = |change: Change| {
        let mut host = HostLoop::new();
        change(&mut host);
        host.intervals().expect_err("it is refused")
    };
    let cases: [(Change, &str); 7] = [
        (
            |host| host.successors[0][0] = 3,
            "names block 3 of 3 after block 0",
        ),
        (
            |host| host.operands[1][1][0].register = 4,
            "names register 4 of 4 in instruction 1 of block 1",
        ),
        (
            |host| host.operands[1][0][1].block = 9,
            "names block 9 of 3 in instruction 0",
        ),
        (
            |host| host.operands[1][1][0].access = 7,
            "access 7, which is no OrielAccess",
        ),
        (|host| host.successors.clear(), "'block_count' is zero"),
        (
            |host| host.units[1] = i32::MAX as u32,
            "gives register 1 2147483647 units, with which all have more than 2147483647",
        ),
        (
            |host| host.more_instructions = (1 << 28) - 5,
            "gives block 0 268435452 instructions, with which all blocks have more than 268435454",
        ),
    ];
    for (change, expected) in cases {
        let message = problem(change);
        assert!(message.contains(expected), "{message}");
    }
}

//! Compiles modules on several threads of a process at the same time, each in a context of its own,
//! and checks that the results equal those of sequential compilation.
#![cfg(feature = "llvm")]

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use oriel::compile::Compiler;
use oriel::options::Options;
use oriel_generate::{self, Options as Generated, Shape};
// Adds its checks to the plug-in's options.
use oriel_laboratory as _;
use oriel_random::setting;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};

/// The number of modules, unless `ORIEL_PARALLEL_MODULES` sets it.
const MODULES: u64 = 200;
const THREADS: usize = 8;

/// The results of a module: PTX, and the report without varying parts.
#[derive(Debug, PartialEq)]
struct CompiledModule {
    ptx: Vec<u8>,
    report: Vec<String>,
    figures: Vec<String>,
}

/// Returns the text of a module whose shape, size, target and options depend on its number.
fn text_of(number: usize) -> Vec<u8> {
    let options = Generated {
        shape: Shape::ALL[number % Shape::ALL.len()],
        seed: number as u64,
        instructions: 30 + 40 * (number % 17),
        functions: 1 + number % 3,
        debug_info: number.is_multiple_of(2),
        ..Generated::default()
    };
    let mut text = Vec::new();
    oriel_generate::llvm_ir(&options, &mut text).expect("writing to memory does not fail");
    text
}

fn compile(number: usize, text: &[u8]) -> CompiledModule {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text, "module");
    let module = context
        .create_module_from_ir(buffer)
        .expect("generated IR is right");
    let flags = [
        "-oriel-profile=max",
        "-oriel-profile=ptxas -oriel-verify",
        "-oriel=analyze",
        "-oriel-phases=OriSplitLiveRanges,PlaceBlocksInSourceOrder -oriel-check-intervals",
        "-oriel-check-control-flow",
    ];
    let mut options = Options::default();
    options
        .set_all(flags[number % flags.len()])
        .expect("these are options");
    let sm = ["52", "75", "80", "90", "100"][number % 5];
    let compilation = Compiler::new()
        .sm(sm)
        .options(options)
        .compile(&module)
        .expect("it compiles");
    CompiledModule {
        figures: compilation
            .reports()
            .iter()
            .map(|report| format!("{report:?}"))
            .collect(),
        report: compilation.report.lines().map(without_times).collect(),
        ptx: compilation.ptx,
    }
}

/// Returns a line of the report without times.
fn without_times(line: &str) -> String {
    let mut line: serde_json::Value = serde_json::from_str(line).expect("a report has lines of JSON");
    let object = line.as_object_mut().expect("each an object");
    object.retain(|key, _| !key.ends_with("_ns"));
    line.to_string()
}

#[test]
fn threads_compile_as_one_does() {
    let modules = setting("ORIEL_PARALLEL_MODULES", MODULES) as usize;
    let texts: Vec<Vec<u8>> = (0..modules).map(text_of).collect();
    // The threads run first, so that several of them do one-time initialisation at the same time.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(number) else {
                return done;
            };
            done.push((number, compile(number, text)));
        }
    };
    let mut outcomes: Vec<(usize, CompiledModule)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no thread panics"))
            .collect()
    });
    outcomes.sort_by_key(|(number, _)| *number);
    assert_eq!(outcomes.len(), modules);
    for (number, outcome) in &outcomes {
        assert!(
            !outcome.ptx.is_empty() && !outcome.report.is_empty(),
            "module {number}"
        );
        assert_eq!(*outcome, compile(*number, &texts[*number]), "module {number}");
    }
}

/// Hosts compile in destructors of their own, after those of this thread's other values have run.
#[test]
fn a_thread_compiles_while_it_ends() {
    struct AtEnd(Sender<CompiledModule>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            // A receiver that is gone has panicked.
            _ = self.0.send(compile(0, &text_of(0)));
        }
    }
    thread_local! {
        static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(|| {
        // The value that a thread uses first is destroyed last.
        AT_END.set(Some(AtEnd(sender)));
        compile(0, &text_of(0))
    });
    let before = thread.join().expect("it does not panic");
    assert_eq!(receiver.recv().expect("it compiles"), before);
}

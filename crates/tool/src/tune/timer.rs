//! Times variants on the GPU of this machine, for `--goal time`.
//!
//! A thread owns the device. It keeps the module with the given options loaded and lets each variant
//! take turns with it, so that the ratio of the two does not depend on the device's clock rate at the
//! time. A variant must leave the same memory as the given options.

use oriel_interpreter::launch::LaunchDescription;
use oriel_laboratory::cuda::{
    Agreement, ComputeCapability, Context, CudaError, DeviceMemory, Driver, Module, Stopwatch, TimedModule,
    compare,
};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The runs that a variant is tried in.
pub const RUNS: usize = 20;

/// The runs that decide whether the best variant is better.
pub const RUNS_TO_CONFIRM: usize = 100;

/// Times are told apart in parts of the time with the given options: a smaller difference is noise.
const STEPS: f64 = 100.0;

/// Nanoseconds by kernel.
pub type Times = BTreeMap<String, u64>;

/// A module in PTX and as machine code.
pub struct Image {
    /// The PTX.
    pub ptx: Vec<u8>,
    /// ptxas' code for it.
    pub code: Vec<u8>,
}

/// A variant that waits to be timed.
struct Request {
    image: Image,
    runs: usize,
    reply: Sender<Result<Times, String>>,
}

/// A device that times the launches of a description.
pub struct Timer {
    requests: Mutex<Sender<Request>>,
    /// Why the device cannot be used any more: a variant's kernel failed there.
    lost: Arc<OnceLock<String>>,
    /// The device's name.
    pub device: String,
}

/// Returns the compute capability of the first device.
///
/// # Errors
/// There is no driver, or no device.
pub fn compute_capability() -> Result<ComputeCapability, String> {
    let driver = Driver::load().map_err(|absent| format!("no CUDA driver: {absent}"))?;
    let device = driver.device(0).map_err(|error| error.to_string())?;
    Ok(device.compute_capability())
}

impl Timer {
    /// Starts with the given options' module, which every variant is compared with.
    ///
    /// # Errors
    /// There is no device, the module does not run there, or its results differ from run to run.
    pub fn start(description: &Path, base: Image) -> Result<Self, String> {
        let description = LaunchDescription::load(description).map_err(|error| error.to_string())?;
        let (requests, received) = channel();
        let (ready, is_ready) = channel();
        let lost: Arc<OnceLock<String>> = Arc::default();
        let lost_in_thread = Arc::clone(&lost);
        std::thread::spawn(move || {
            let problem = serve(&description, &base, &received, &ready, &lost_in_thread).err();
            let problem = problem.unwrap_or_else(|| "the device is gone".to_owned());
            // Reports the first problem at the start, and later ones to whoever asks.
            _ = ready.send(Err(problem.clone()));
            for request in received {
                _ = request.reply.send(Err(problem.clone()));
            }
        });
        let device = is_ready.recv().map_err(|error| error.to_string())??;
        Ok(Self {
            requests: Mutex::new(requests),
            lost,
            device,
        })
    }

    /// Returns the error of the variant whose kernel failed, after which none can be timed.
    pub fn problem(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Times a variant.
    ///
    /// # Errors
    /// It fails on the device, or leaves other results than the given options.
    pub fn time(&self, image: Image, runs: usize) -> Result<Times, String> {
        let (reply, answer) = channel();
        let request = Request { image, runs, reply };
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.send(request).map_err(|error| error.to_string())?;
        drop(requests);
        answer.recv().map_err(|error| error.to_string())?
    }
}

/// Starts the device, says so by `ready`, and answers requests until there are none.
///
/// # Errors
/// The device does not start, or the given options fail there.
fn serve(
    description: &LaunchDescription,
    base: &Image,
    requests: &Receiver<Request>,
    ready: &Sender<Result<String, String>>,
    lost: &OnceLock<String>,
) -> Result<(), String> {
    let text = |error: CudaError| error.to_string();
    let driver = Driver::load().map_err(|absent| format!("no CUDA driver: {absent}"))?;
    let device = driver.device(0).map_err(text)?;
    let name = device.name().map_err(text)?;
    let context = device.context().map_err(text)?;
    let stopwatch = Stopwatch::new(&context, &device, description).map_err(text)?;
    let module = load(&context, base).map_err(text)?;
    let given = Given::new(&context, &stopwatch, description, &module)?;
    _ = ready.send(Ok(name));
    // By machine code: many variants differ in the PTX only.
    let mut known: HashMap<Vec<u8>, Times> = HashMap::from([(base.code.clone(), given.times.clone())]);
    for request in requests {
        // The given options have been timed as often as a variant that is judged again.
        let is_enough = request.runs <= RUNS || request.image.code == base.code;
        let answer = match known.get(&request.image.code) {
            Some(times) if is_enough => Ok(times.clone()),
            _ => given.time(&request),
        };
        match &answer {
            Ok(times) => _ = known.insert(request.image.code, times.clone()),
            // The driver does nothing more for this process.
            Err(problem) if context.synchronize().is_err() => _ = lost.set(problem.clone()),
            Err(_) => {}
        }
        _ = request.reply.send(answer);
    }
    Ok(())
}

/// The module with the given options, on the device.
struct Given<'c> {
    context: &'c Context<'c>,
    stopwatch: &'c Stopwatch<'c>,
    description: &'c LaunchDescription,
    module: TimedModule<'c>,
    /// The memory that its launches leave.
    memory: DeviceMemory,
    times: Times,
}

impl<'c> Given<'c> {
    /// Runs and times it.
    ///
    /// # Errors
    /// A launch failed, or two runs leave different memory.
    fn new(
        context: &'c Context<'c>,
        stopwatch: &'c Stopwatch<'c>,
        description: &'c LaunchDescription,
        module: &'c Module<'c>,
    ) -> Result<Self, String> {
        let text = |error: CudaError| error.to_string();
        let module = stopwatch.prepare(module).map_err(text)?;
        let memory = stopwatch.run(&module).map_err(text)?;
        let again = stopwatch.run(&module).map_err(text)?;
        check(description, &memory, &again)
            .map_err(|problem| format!("two runs of the same code: {problem}"))?;
        let times = stopwatch.time(&[&module], RUNS_TO_CONFIRM).map_err(text)?;
        let nanoseconds = times
            .iter()
            .map(|times| (times.kernel.clone(), times.median(0).as_nanos() as u64));
        Ok(Self {
            context,
            stopwatch,
            description,
            times: nanoseconds.collect(),
            module,
            memory,
        })
    }

    /// Times a variant beside it.
    fn time(&self, request: &Request) -> Result<Times, String> {
        let text = |error: CudaError| error.to_string();
        let module = load(self.context, &request.image).map_err(text)?;
        let variant = self.stopwatch.prepare(&module).map_err(text)?;
        let memory = self.stopwatch.run(&variant).map_err(text)?;
        check(self.description, &self.memory, &memory)?;
        let modules = [&self.module, &variant];
        let times = self.stopwatch.time(&modules, request.runs).map_err(text)?;
        let in_steps = times.iter().map(|times| {
            let ratio = (times.ratio(1, 0) * STEPS).round() / STEPS;
            let time = self.times[&times.kernel] as f64 * ratio;
            (times.kernel.clone(), time as u64)
        });
        Ok(in_steps.collect())
    }
}

fn load<'c>(context: &'c Context<'c>, image: &Image) -> Result<Module<'c>, CudaError> {
    Module::from_machine_code(context, &String::from_utf8_lossy(&image.ptx), &image.code)
}

/// Compares what two runs leave.
fn check(
    description: &LaunchDescription,
    expected: &DeviceMemory,
    actual: &DeviceMemory,
) -> Result<(), String> {
    for comparison in compare(description, expected, actual) {
        if let Agreement::Different(difference) = comparison.agreement {
            return Err(format!("{} differs: {difference}", comparison.name));
        }
    }
    Ok(())
}

//! Times variants on the GPU of this machine, for `--goal time`.
//!
//! A thread owns the device. It keeps the module with the given options loaded and lets each variant
//! take turns with it, so that the ratio of the two does not depend on the device's clock rate at the
//! time. What a variant leaves in memory must be what the given options leave.

use oriel_interpreter::launch::LaunchDescription;
use oriel_laboratory::cuda::{
    Agreement, ComputeCapability, Context, CudaError, DeviceResult, Driver, Module, Stopwatch, TimedModule,
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
    /// What ptxas made of it.
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
            let mut device_thread = DeviceThread {
                description,
                base,
                known: HashMap::new(),
                lost: lost_in_thread,
                base_times: Times::new(),
            };
            let problem = device_thread.serve(&received, &ready).err();
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

/// The state of the thread that owns the device.
struct DeviceThread {
    description: LaunchDescription,
    base: Image,
    /// The times of the given options.
    base_times: Times,
    /// Times by machine code: many variants differ in the PTX only.
    known: HashMap<Vec<u8>, Times>,
    lost: Arc<OnceLock<String>>,
}

impl DeviceThread {
    fn serve(
        &mut self,
        requests: &Receiver<Request>,
        ready: &Sender<Result<String, String>>,
    ) -> Result<(), String> {
        let driver = Driver::load().map_err(|absent| format!("no CUDA driver: {absent}"))?;
        let device = driver.device(0).map_err(|error| error.to_string())?;
        let name = device.name().map_err(|error| error.to_string())?;
        let text = |error: CudaError| error.to_string();
        let context = device.context().map_err(text)?;
        let description = self.description.clone();
        let stopwatch = Stopwatch::new(&context, &device, &description).map_err(text)?;
        let module = load(&context, &self.base).map_err(text)?;
        let base = stopwatch.prepare(&module).map_err(text)?;
        let expected = stopwatch.run(&base).map_err(text)?;
        let again = stopwatch.run(&base).map_err(text)?;
        check(&description, &expected, &again)
            .map_err(|problem| format!("two runs of the same code: {problem}"))?;
        let times = stopwatch.time(&[&base], RUNS_TO_CONFIRM).map_err(text)?;
        let nanoseconds = times
            .iter()
            .map(|times| (times.kernel.clone(), times.median(0).as_nanos() as u64));
        self.base_times = nanoseconds.collect();
        _ = ready.send(Ok(name));
        while let Ok(request) = requests.recv() {
            let is_thorough = request.runs > RUNS;
            let known = self.known.get(&request.image.code).filter(|_| !is_thorough);
            let answer = match known {
                _ if request.image.code == self.base.code => Ok(self.base_times.clone()),
                Some(times) => Ok(times.clone()),
                None => self.time(&context, &stopwatch, &base, &expected, &request),
            };
            if let Ok(times) = &answer {
                self.known.insert(request.image.code, times.clone());
            }
            if answer.is_err() && context.synchronize().is_err() {
                // The driver does nothing more for this process.
                self.lost.get_or_init(|| answer.clone().err().unwrap_or_default());
            }
            _ = request.reply.send(answer);
        }
        Ok(())
    }

    /// Times a variant beside the given options.
    fn time(
        &self,
        context: &Context<'_>,
        stopwatch: &Stopwatch<'_>,
        base: &TimedModule<'_>,
        expected: &DeviceResult,
        request: &Request,
    ) -> Result<Times, String> {
        let text = |error: CudaError| error.to_string();
        let module = load(context, &request.image).map_err(text)?;
        let variant = stopwatch.prepare(&module).map_err(text)?;
        let result = stopwatch.run(&variant).map_err(text)?;
        check(&self.description, expected, &result)?;
        let times = stopwatch.time(&[base, &variant], request.runs).map_err(text)?;
        let in_steps = times.iter().map(|times| {
            let ratio = (times.ratio(1, 0) * STEPS).round() / STEPS;
            let time = self.base_times[&times.kernel] as f64 * ratio;
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
    expected: &DeviceResult,
    actual: &DeviceResult,
) -> Result<(), String> {
    for comparison in compare(description, expected, actual) {
        if let Agreement::Different(difference) = comparison.agreement {
            return Err(format!("{} differs: {difference}", comparison.name));
        }
    }
    Ok(())
}

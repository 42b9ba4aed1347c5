//! The time of a description's launches, by modules that take turns.
//!
//! Each run starts from the initial contents of buffers and variables. Before each run, a write as
//! large as the device's largest cache evicts the previous run's data. It also keeps the device busy
//! until all launches are queued, so that only one kernel runs between two events. Later launches of a
//! description find the cache as the previous launch left it. The modules take turns, so that changes
//! of the device's clock rate affect all of them.

use super::described::{allocate_buffers, prepare_launches, visible_variables};
use super::{Context, CudaError, Device, DeviceBuffer, DeviceMemory, Event, Module, PreparedLaunch};
use oriel_interpreter::launch::LaunchDescription;
use std::ffi::CStr;
use std::time::Duration;

/// The bytes written before a run for each byte of the largest cache.
const EVICTION_FACTOR: usize = 4;

/// Times the launches of a description on a device.
pub struct Stopwatch<'c> {
    context: &'c Context<'c>,
    description: &'c LaunchDescription,
    buffers: Vec<DeviceBuffer<'c>>,
    initial: Vec<Saved<'c>>,
    /// Written before each run.
    eviction: DeviceBuffer<'c>,
    /// One before each launch, and one at the end.
    events: Vec<Event<'c>>,
}

/// A module with the launches of a description.
pub struct TimedModule<'m> {
    module: &'m Module<'m>,
    launches: Vec<PreparedLaunch<'m>>,
    /// The visible variables.
    initial: Vec<Saved<'m>>,
}

/// Device memory that runs change, with its initial content.
struct Saved<'c> {
    address: u64,
    initial: DeviceBuffer<'c>,
}

impl<'c> Saved<'c> {
    fn new(context: &'c Context<'c>, address: u64, bytes: usize) -> Result<Self, CudaError> {
        Ok(Self {
            address,
            initial: context.copy_of(address, bytes)?,
        })
    }
}

/// The times of a kernel's launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTimes {
    /// The kernel's name.
    pub kernel: String,
    /// For each module the time of each run, the shortest first: the sum of the kernel's launches.
    pub modules: Vec<Vec<Duration>>,
}

impl KernelTimes {
    /// Returns the median time of a module.
    pub fn median(&self, module: usize) -> Duration {
        quantile(&self.modules[module], 1, 2)
    }

    /// Returns the times that a quarter of a module's runs and three quarters of them stay below.
    pub fn quartiles(&self, module: usize) -> [Duration; 2] {
        [1, 3].map(|count| quantile(&self.modules[module], count, 4))
    }

    /// Returns the median time of a module divided by that of another.
    pub fn ratio(&self, module: usize, other: usize) -> f64 {
        let nanoseconds = |module| self.median(module).as_nanos().max(1) as f64;
        nanoseconds(module) / nanoseconds(other)
    }
}

/// Returns the element of a sorted list that `count` of `parts` of it stay below.
fn quantile(sorted: &[Duration], count: usize, parts: usize) -> Duration {
    sorted[(sorted.len() - 1) * count / parts]
}

impl<'c> Stopwatch<'c> {
    /// Allocates the buffers of a description.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(
        context: &'c Context<'c>,
        device: &Device<'_>,
        description: &'c LaunchDescription,
    ) -> Result<Self, CudaError> {
        let eviction_bytes = EVICTION_FACTOR * device.cache_bytes()? as usize;
        let buffers = allocate_buffers(context, description)?;
        let saved = buffers
            .iter()
            .map(|buffer| Saved::new(context, buffer.address(), buffer.size_bytes()));
        Ok(Self {
            context,
            description,
            initial: saved.collect::<Result<_, _>>()?,
            buffers,
            eviction: context.zeroed_buffer(eviction_bytes.max(1))?,
            events: (0..=description.launches.len())
                .map(|_| context.event())
                .collect::<Result<_, _>>()?,
        })
    }

    /// Prepares the launches by a module.
    ///
    /// # Errors
    /// The module lacks a kernel, or there is not enough memory.
    pub fn prepare<'m>(&self, module: &'m Module<'m>) -> Result<TimedModule<'m>, CudaError> {
        let variables = visible_variables(module)?;
        let saved = variables
            .iter()
            .map(|(_, global)| Saved::new(module.context(), global.address(), global.size_bytes()));
        Ok(TimedModule {
            module,
            launches: prepare_launches(module, self.description, &self.buffers)?,
            initial: saved.collect::<Result<_, _>>()?,
        })
    }

    /// Runs the launches once and returns the resulting memory.
    ///
    /// # Errors
    /// A launch failed, or one changed a read-only buffer.
    pub fn run(&self, module: &TimedModule<'_>) -> Result<DeviceMemory, CudaError> {
        self.restore(module)?;
        for launch in &module.launches {
            launch.start()?;
        }
        self.context.synchronize()?;
        DeviceMemory::read(self.description, &self.buffers, module.module)
    }

    /// Runs the launches `runs` times by each module, the modules taking turns, after a run of each
    /// that does not count. Returns the times of each launched kernel, in the order of the launches.
    ///
    /// # Errors
    /// A launch failed.
    pub fn time(&self, modules: &[&TimedModule<'_>], runs: usize) -> Result<Vec<KernelTimes>, CudaError> {
        let mut kernels: Vec<KernelTimes> = Vec::new();
        let mut place_of_launch = Vec::new();
        for launch in &self.description.launches {
            let known = kernels.iter().position(|it| it.kernel == launch.kernel);
            place_of_launch.push(known.unwrap_or(kernels.len()));
            if known.is_none() {
                kernels.push(KernelTimes {
                    kernel: launch.kernel.clone(),
                    modules: vec![Vec::with_capacity(runs); modules.len()],
                });
            }
        }
        for run in 0..=runs {
            for turn in 0..modules.len() {
                // Each module is the first as often as the others.
                let module = (turn + run) % modules.len();
                let times = self.time_run(modules[module])?;
                if run == 0 {
                    continue;
                }
                let mut sums = vec![Duration::ZERO; kernels.len()];
                for (&place, time) in place_of_launch.iter().zip(times) {
                    sums[place] += time;
                }
                for (kernel, sum) in kernels.iter_mut().zip(sums) {
                    kernel.modules[module].push(sum);
                }
            }
        }
        for times in kernels.iter_mut().flat_map(|kernel| &mut kernel.modules) {
            times.sort_unstable();
        }
        Ok(kernels)
    }

    /// Runs the launches once and returns the time of each.
    fn time_run(&self, module: &TimedModule<'_>) -> Result<Vec<Duration>, CudaError> {
        self.restore(module)?;
        self.eviction.clear()?;
        self.events[0].record()?;
        for (launch, end) in module.launches.iter().zip(&self.events[1..]) {
            launch.start()?;
            end.record()?;
        }
        if let Some(last) = self.events.last() {
            last.synchronize()?;
        }
        let spans = self.events.windows(2);
        spans.map(|span| span[1].time_since(&span[0])).collect()
    }

    /// Gives buffers and variables their initial contents.
    fn restore(&self, module: &TimedModule<'_>) -> Result<(), CudaError> {
        for saved in self.initial.iter().chain(&module.initial) {
            let initial = &saved.initial;
            self.context
                .copy(saved.address, initial.address(), initial.size_bytes())?;
        }
        Ok(())
    }
}

/// Times the launches of a description by several modules in PTX, which the driver compiles.
///
/// # Errors
/// The device cannot run one of them, or a launch failed.
pub fn time_described_on_device(
    device: &Device<'_>,
    modules: &[&CStr],
    description: &LaunchDescription,
    runs: usize,
) -> Result<Vec<KernelTimes>, CudaError> {
    let context = device.context()?;
    let modules = modules.iter().map(|ptx| Module::from_ptx(&context, ptx));
    let modules: Vec<Module<'_>> = modules.collect::<Result<_, _>>()?;
    let stopwatch = Stopwatch::new(&context, device, description)?;
    let timed = modules.iter().map(|module| stopwatch.prepare(module));
    let timed: Vec<TimedModule<'_>> = timed.collect::<Result<_, _>>()?;
    stopwatch.time(&timed.iter().collect::<Vec<_>>(), runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_quartiles_and_ratios() {
        let milliseconds = |values: &[u64]| values.iter().map(|&it| Duration::from_millis(it)).collect();
        let times = KernelTimes {
            kernel: "k".to_owned(),
            modules: vec![milliseconds(&[1, 2, 4, 5, 9]), milliseconds(&[2])],
        };
        assert_eq!(times.median(0), Duration::from_millis(4));
        assert_eq!(times.quartiles(0), [2, 5].map(Duration::from_millis));
        assert_eq!(times.quartiles(1), [2, 2].map(Duration::from_millis));
        assert!((times.ratio(1, 0) - 0.5).abs() < 1e-9);
    }
}

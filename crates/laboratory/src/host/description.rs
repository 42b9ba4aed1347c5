//! Runs the launches of a launch description.

use super::{HostError, HostLaunch, HostMemory, HostModule, HostStatistics};
use oriel_interpreter::DescribedResult;
use oriel_interpreter::launch::LaunchDescription;

impl HostModule<'_> {
    /// Runs all launches of a description that the interpreter has run before.
    ///
    /// `interpreted` proves that the kernels stay within their buffers: the interpreter checks
    /// every address and gives a result only if all were valid.
    ///
    /// # Errors
    /// As for [`run_description`](Self::run_description).
    pub fn run_interpreted(
        &mut self,
        description: &LaunchDescription,
        interpreted: &DescribedResult,
        memory: &mut HostMemory,
    ) -> Result<HostStatistics, HostError> {
        assert_eq!(
            interpreted.buffers.len(),
            description.buffers().len(),
            "the result is one of another description"
        );
        // SAFETY: the interpreter ran the same kernels on the same launches without an access
        // outside.
        unsafe { self.run_description(description, memory) }
    }

    /// Runs all launches of a description in order, on memory created for it.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run): with the description's buffers and arguments the kernels stay
    /// within those buffers.
    pub unsafe fn run_description(
        &mut self,
        description: &LaunchDescription,
        memory: &mut HostMemory,
    ) -> Result<HostStatistics, HostError> {
        let mut statistics = HostStatistics::default();
        for launch in &description.launches {
            let addresses = memory.addresses();
            let arguments: Vec<Vec<u8>> = launch
                .arguments
                .iter()
                .map(|argument| argument.to_bytes(&|buffer| addresses[buffer.index()]))
                .collect();
            let launch = HostLaunch {
                kernel: &launch.kernel,
                grid: launch.grid,
                block: launch.block,
                dynamic_shared_bytes: launch.dynamic_shared_bytes,
                arguments: &arguments,
            };
            // SAFETY: required of the caller.
            let done = unsafe { self.run(&launch) }?;
            statistics.threads += done.threads;
            statistics.waits += done.waits;
        }
        Ok(statistics)
    }
}

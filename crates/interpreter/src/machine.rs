//! The grid: runs blocks one after the other, and the warps of a block in turns.

use super::access::LaneFault;
use super::error::{Fault, FaultKind, FaultLocation};
use super::memory::Memory;
use super::module::Parameter;
use super::program::{BarrierKind, BarrierReduction, Program};
use super::surroundings::{Launch, Surroundings, WARP_SIZE};
use super::warp::{Stop, Warp};
use oriel_arithmetic::lanes::LaneIter;

const BARRIERS: usize = 16;

/// The limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most steps, one for each instruction that a warp executes with any number of its
    /// threads.
    pub steps: u64,
    /// Gives inline assembly and opcodes that Ori does not know a made-up meaning that depends only
    /// on what they read and on their order, and adds a hash of these and other events to the
    /// results of a launch. Only useful for comparisons.
    pub uninterpreted: bool,
    /// Steps that a warp executes in its turn, unless it waits earlier. The result of a kernel without
    /// races does not depend on it, nor on which warp comes first.
    pub turn: u64,
    /// Begins each round of turns with the last warp of the block instead of the first, and lets clocks
    /// begin later and run faster.
    pub last_first: bool,
}

/// The time that clocks begin with if the last warp comes first.
const CLOCK: u64 = 1_000_003;
/// How long a step takes then: differences of two times are others, too.
const TIME_OF_STEP: u64 = 3;

impl Limits {
    /// The limits of `Default`.
    pub const DEFAULT: Self = Self {
        steps: 200_000_000,
        uninterpreted: false,
        turn: 4096,
        last_first: false,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStatistics {
    /// Instructions executed, one for each thread.
    pub thread_instructions: u64,
    /// Steps of warps: instructions, and the copies and address computations that they need.
    pub steps: u64,
    /// Threads started.
    pub threads: u64,
}

impl std::ops::AddAssign for LaunchStatistics {
    fn add_assign(&mut self, other: Self) {
        self.thread_instructions += other.thread_instructions;
        self.steps += other.steps;
        self.threads += other.threads;
    }
}

/// A barrier of a block.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Warps that have arrived.
    arrived: u32,
    /// The number that must arrive, if the program gives one.
    expected: Option<u32>,
    /// The warps among them that wait, with the reduction of each.
    waiting: Vec<(usize, Option<BarrierReduction>)>,
    /// Threads whose predicate holds, and all threads that have contributed one.
    yes: u32,
    voters: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Done,
}

struct Machine<'a> {
    program: &'a Program,
    around: Surroundings<'a>,
    kernel: u32,
    warps: Vec<Warp>,
    states: Vec<State>,
    barriers: Vec<Barrier>,
    statistics: LaunchStatistics,
    limits: Limits,
}

/// Runs a kernel. Blocks run one after the other, x first; the warps of a block take turns; lanes
/// go in order. The same launch on the same memory therefore always gives the same result.
///
/// # Errors
/// If the launch does not match the program, or the program fails; the memory is left as it was at
/// the failure.
pub fn run(
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    limits: Limits,
) -> Result<LaunchStatistics, Fault> {
    let kernel = program
        .functions
        .iter()
        .position(|function| function.name == launch.kernel && function.is_kernel)
        .ok_or_else(|| Fault::of_launch(format!("there is no kernel {}", launch.kernel)))?;
    let threads = launch
        .block
        .iter()
        .try_fold(1u32, |product, &size| product.checked_mul(size));
    let threads = match threads {
        Some(threads @ 1..=1024) => threads,
        _ => return Err(Fault::of_launch("a block has 1 to 1024 threads")),
    };
    let declared = program
        .kernel(&launch.kernel)
        .map(|kernel| kernel.parameters.as_slice());
    let (parameters, parameter_offsets) = lay_out(launch, declared)?;
    let warps = threads.div_ceil(WARP_SIZE);
    let mut machine = Machine {
        program,
        around: Surroundings {
            memory,
            shared: vec![0; (program.shared_bytes + u64::from(launch.dynamic_shared_bytes)) as usize],
            parameters,
            parameter_offsets,
            launch,
            block: [0; 3],
            clock: if limits.last_first { CLOCK } else { 0 },
            time_of_step: if limits.last_first { TIME_OF_STEP } else { 1 },
        },
        kernel: kernel as u32,
        warps: vec![Warp::default(); warps as usize],
        states: vec![State::Ready; warps as usize],
        barriers: vec![Barrier::default(); BARRIERS],
        statistics: LaunchStatistics::default(),
        limits,
    };
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                machine.run_block([x, y, z], threads)?;
            }
        }
    }
    Ok(machine.statistics)
}

/// The parameter space of a launch, and where each parameter begins.
///
/// # Errors
/// If the arguments do not match the kernel's declared parameters.
pub fn lay_out(launch: &Launch, declared: Option<&[Parameter]>) -> Result<(Vec<u8>, Vec<u32>), Fault> {
    if let Some(declared) = declared
        && declared.len() != launch.arguments.len()
    {
        return Err(Fault::of_launch(format!(
            "{} has {} parameters, the launch {} arguments",
            launch.kernel,
            declared.len(),
            launch.arguments.len()
        )));
    }
    let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
    for (number, argument) in launch.arguments.iter().enumerate() {
        let (size, alignment) = match declared {
            Some(declared) => (
                declared[number].size as usize,
                declared[number].alignment as usize,
            ),
            None => (argument.len(), 16),
        };
        if argument.len() > size {
            return Err(Fault::of_launch(format!(
                "argument {number} of {} has {} bytes, the parameter {size}",
                launch.kernel,
                argument.len()
            )));
        }
        bytes.resize(bytes.len().next_multiple_of(alignment.max(1)), 0);
        offsets.push(bytes.len() as u32);
        let end = bytes.len() + size;
        bytes.extend_from_slice(argument);
        bytes.resize(end, 0);
    }
    Ok((bytes, offsets))
}

impl Machine<'_> {
    fn run_block(&mut self, block: [u32; 3], threads: u32) -> Result<(), Fault> {
        self.around.block = block;
        self.around.shared.fill(0);
        self.barriers.fill_with(Barrier::default);
        self.states.fill(State::Ready);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let number = number as u32;
            let lanes = (threads - number * WARP_SIZE).min(WARP_SIZE);
            let lanes = u32::MAX >> (WARP_SIZE - lanes);
            warp.start(
                self.program,
                self.kernel,
                number,
                lanes,
                self.limits.uninterpreted,
            );
        }
        let steps_before = self.statistics.steps;
        while self.states.iter().any(|&state| state != State::Done) {
            if !self.states.contains(&State::Ready) {
                return Err(self.deadlock());
            }
            let warps = self.warps.len();
            for turn in 0..warps {
                let number = if self.limits.last_first {
                    warps - 1 - turn
                } else {
                    turn
                };
                if self.states[number] == State::Ready {
                    self.run_turn(number)?;
                }
            }
            self.statistics.steps = steps_before + self.warps.iter().map(|warp| warp.steps).sum::<u64>();
            if self.statistics.steps > self.limits.steps {
                let first = self.states.iter().position(|&state| state != State::Done);
                let limit = (Box::new(FaultKind::StepLimit(self.limits.steps)), None);
                return Err(self.fault(first.unwrap_or(0), limit));
            }
        }
        let executed = self.warps.iter().map(|warp| warp.thread_instructions);
        self.statistics.thread_instructions += executed.sum::<u64>();
        self.statistics.threads += u64::from(threads);
        if self.limits.uninterpreted {
            let effects = self
                .warps
                .iter()
                .flat_map(|warp| warp.effects.iter().flat_map(|it| it.iter()));
            let traces = effects.take(threads as usize).map(|thread| thread.trace);
            self.around.memory.traces.extend(traces);
        }
        Ok(())
    }

    /// Runs a warp until it waits, ends, or has used its turn.
    fn run_turn(&mut self, number: usize) -> Result<(), Fault> {
        let stop = self.warps[number].run(self.program, &mut self.around, self.limits.turn);
        match stop {
            Ok(Stop::Pause) => {}
            Ok(Stop::End) => {
                self.states[number] = State::Done;
                self.release_all();
            }
            Ok(Stop::Barrier {
                number: barrier,
                threads,
                kind,
            }) => self.arrive(number, barrier, threads, kind)?,
            Err(failure) => return Err(self.fault(number, failure)),
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        warp: usize,
        number: u32,
        threads: Option<u32>,
        kind: BarrierKind,
    ) -> Result<(), Fault> {
        let problem = |problem: String| (Box::new(FaultKind::Divergence(problem)), None);
        if number as usize >= BARRIERS {
            return Err(self.fault(warp, problem(format!("barrier {number} of {BARRIERS}"))));
        }
        let live = self.warps[warp].live;
        let barrier = &mut self.barriers[number as usize];
        let expected = threads.map(|threads| threads.div_ceil(WARP_SIZE));
        if barrier.arrived > 0 && barrier.expected != expected {
            let text = format!("warps come to barrier {number} with different thread counts");
            return Err(self.fault(warp, problem(text)));
        }
        barrier.expected = expected;
        barrier.arrived += 1;
        match kind {
            BarrierKind::Arrive => {}
            BarrierKind::Sync => barrier.waiting.push((warp, None)),
            BarrierKind::Reduce {
                predicate,
                result,
                reduction,
            } => {
                barrier.yes += (self.warps[warp].registers.predicate(predicate) & live).count_ones();
                barrier.voters += live.count_ones();
                barrier.waiting.push((warp, Some(reduction)));
                self.warps[warp].barrier_result = Some(result);
            }
        }
        if kind != BarrierKind::Arrive {
            self.states[warp] = State::Waiting;
        }
        self.release(number as usize);
        Ok(())
    }

    /// Releases the warps at a barrier if all have arrived.
    fn release(&mut self, number: usize) {
        let not_ended = self.states.iter().filter(|&&state| state != State::Done).count() as u32;
        let barrier = &mut self.barriers[number];
        if barrier.arrived == 0 || barrier.arrived < barrier.expected.unwrap_or(not_ended) {
            return;
        }
        let barrier = std::mem::take(barrier);
        for (warp, reduction) in barrier.waiting {
            self.states[warp] = State::Ready;
            let warp = &mut self.warps[warp];
            if let (Some(row), Some(reduction)) = (warp.barrier_result.take(), reduction) {
                let value = match reduction {
                    BarrierReduction::Count => barrier.yes,
                    BarrierReduction::All => u32::from(barrier.yes == barrier.voters),
                    BarrierReduction::Any => u32::from(barrier.yes > 0),
                };
                warp.registers.fill(row, warp.live, |_| value);
            }
        }
    }

    /// A warp has ended, so barriers may wait for fewer.
    fn release_all(&mut self) {
        for number in 0..BARRIERS {
            self.release(number);
        }
    }

    fn deadlock(&self) -> Fault {
        let waits: Vec<String> = self
            .barriers
            .iter()
            .enumerate()
            .filter(|(_, barrier)| !barrier.waiting.is_empty())
            .map(|(number, barrier)| {
                let warps: Vec<String> = barrier.waiting.iter().map(|(warp, _)| warp.to_string()).collect();
                format!("warps {} wait at barrier {number}", warps.join(", "))
            })
            .collect();
        let first = self.states.iter().position(|&state| state == State::Waiting);
        let text = format!("{}, and no warp will come", waits.join("; "));
        self.fault(first.unwrap_or(0), (Box::new(FaultKind::Deadlock(text)), None))
    }

    fn fault(&self, warp: usize, (kind, lane): LaneFault) -> Fault {
        let warp = &self.warps[warp];
        let lane = lane
            .map(|lane| lane as u32)
            .or_else(|| LaneIter(warp.live).next().map(|lane| lane as u32));
        let at_barrier = matches!(*kind, FaultKind::Deadlock(_));
        // A waiting warp is at the step after the barrier.
        let step = warp.step().saturating_sub(u32::from(at_barrier));
        Fault {
            kind: *kind,
            location: Box::new(FaultLocation {
                block: Some(self.around.block),
                thread: lane.map(|lane| self.around.thread(warp.number, lane)),
                ..self.program.location_of(step)
            }),
        }
    }
}

//! Runs a thread block on the host; each thread is a fiber with its own stack.
//!
//! One thread runs at a time, in the order of thread indices, each until it ends or must wait. When
//! none can run, threads whose partners have all arrived at their barrier or warp-wide operation
//! continue. If there are no such threads, the block is deadlocked.

use std::cell::Cell;
use std::ptr;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use oriel_arithmetic::lanes::LANES;

use super::HostStatistics;
use super::collective::{self, BarrierRequest, Results, WarpRequest};
use super::operation::{LaneMask, Memory, Operation, Register};

/// Arguments and results of a call into the host.
#[repr(C)]
pub(super) struct CallFrame {
    arguments: [u64; ARGUMENTS],
    results: Results,
}

/// The most arguments of an operation.
pub(super) const ARGUMENTS: usize = 4;
/// The most results of an operation.
pub(super) const RESULTS: usize = 2;

/// A kernel's entry point. Its parameter is an array of the arguments' addresses.
pub(super) type Entry = unsafe extern "C" fn(*const *const u8);

/// The size of a thread's stack. Kernels with larger local arrays hit the guard page next to it.
const STACK_BYTES: usize = 256 << 10;

/// Why a thread yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Barrier(BarrierRequest),
    /// Arrive at the barrier without waiting.
    Arrive(BarrierRequest),
    Warp(WarpRequest),
    ActiveMask,
    Exit,
    Trap,
}

type Fiber = Coroutine<Results, Request, (), DefaultStack>;

/// Data shared by all threads of a launch.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a> {
    pub(super) entry: Entry,
    /// By the number that compiled code passes to [`host_call`].
    pub(super) operations: &'a [Operation],
    /// The address of each argument.
    pub(super) arguments: &'a [*const u8],
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared_bytes: u32,
    /// The range of addresses of shared memory.
    pub(super) shared: (u64, u64),
}

/// An invalid action of a thread.
pub(super) struct HostFault {
    pub(super) thread: [u32; 3],
    pub(super) problem: String,
}

/// A fiber's own data while it runs, on its stack.
struct Context {
    yielder: *const Yielder<Results, Request>,
    operations: *const [Operation],
    thread: [u32; 3],
    /// Position of the thread in its block.
    position: u32,
    block_index: [u32; 3],
    block: [u32; 3],
    grid: [u32; 3],
    dynamic_shared_bytes: u32,
    shared: (u64, u64),
    stack: (u64, u64),
}

thread_local! {
    /// The context of the fiber that runs on this thread of the process.
    static CURRENT: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// The function that compiled code calls in place of an intrinsic.
///
/// # Safety
///
/// Only from compiled code on a fiber started by [`run`], with a number assigned by the rewriting
/// and a frame that is not shared.
pub(super) unsafe extern "C" fn host_call(operation: u32, frame: *mut CallFrame) {
    // SAFETY: `CURRENT` is set whenever a fiber starts or continues, to a value on that fiber's
    // stack; the frame is the caller's, and the operations outlive the launch.
    let (context, frame, operations) = unsafe {
        let context = &*CURRENT.get();
        (context, &mut *frame, &*context.operations)
    };
    frame.results = context.perform(&operations[operation as usize], &frame.arguments);
}

impl Context {
    /// Performs an operation, during which the thread may have to wait.
    fn perform(&self, operation: &Operation, arguments: &[u64; ARGUMENTS]) -> Results {
        match *operation {
            Operation::Compute(compute) => [compute.apply(arguments), 0],
            Operation::Register(register) => [self.register(register).into(), 0],
            Operation::Nothing => [0, 0],
            Operation::Barrier(barrier) => {
                let request = barrier.request(arguments);
                self.wait(if barrier.arrive {
                    Request::Arrive(request)
                } else {
                    Request::Barrier(request)
                })
            }
            Operation::Warp(operation) => self.wait(Request::Warp(WarpRequest::new(operation, arguments))),
            Operation::ActiveMask => self.wait(Request::ActiveMask),
            Operation::IsInMemory(memory) => [self.is_in_memory(memory, arguments[0]).into(), 0],
            Operation::Trap => self.wait(Request::Trap),
            Operation::Exit => self.wait(Request::Exit),
        }
    }

    /// Suspends the thread with a request. Returns the results with which it continues.
    fn wait(&self, request: Request) -> Results {
        // SAFETY: the yielder is that of this running fiber, and lives as long as the fiber.
        let results = unsafe { &*self.yielder }.suspend(request);
        CURRENT.set(self);
        results
    }

    /// Returns the value of a special register.
    fn register(&self, register: Register) -> u32 {
        let lane = self.position % LANES as u32;
        let threads: u32 = self.block.iter().product();
        match register {
            Register::Constant(value) => value,
            Register::Thread(axis) => self.thread[axis],
            Register::BlockSize(axis) => self.block[axis],
            Register::Block(axis) => self.block_index[axis],
            Register::GridSize(axis) => self.grid[axis],
            Register::Lane => lane,
            Register::Warp => self.position / LANES as u32,
            Register::WarpCount => threads.div_ceil(LANES as u32),
            Register::LaneMask(which) => {
                let equal = 1u32 << lane;
                let below = equal - 1;
                match which {
                    LaneMask::Equal => equal,
                    LaneMask::Below => below,
                    LaneMask::BelowOrEqual => below | equal,
                    LaneMask::Above => !(below | equal),
                    LaneMask::AboveOrEqual => !below,
                }
            }
            Register::DynamicSharedBytes => self.dynamic_shared_bytes,
        }
    }

    fn is_in_memory(&self, memory: Memory, address: u64) -> bool {
        let is_in = |(start, end): (u64, u64)| (start..end).contains(&address);
        match memory {
            Memory::Shared => is_in(self.shared),
            Memory::Local => is_in(self.stack),
            Memory::Global => !is_in(self.shared) && !is_in(self.stack),
        }
    }
}

/// The state of a thread.
enum State {
    /// Not started yet.
    New,
    /// Continues with these results.
    Ready(Fiber, Results),
    /// Suspended until the request is fulfilled.
    Waiting(Fiber, Request),
    Ended,
}

struct Block<'a> {
    kernel: Kernel<'a>,
    index: [u32; 3],
    threads: Vec<State>,
    /// By barrier number: how many threads have arrived without waiting.
    arrived: Vec<(u32, u32)>,
    stacks: &'a mut Vec<DefaultStack>,
    statistics: HostStatistics,
}

/// Runs the threads of one block to their end.
///
/// # Safety
///
/// The entry is compiled code that calls the host as rewritten, and its arguments are those of the
/// kernel; the memory that it accesses through them is not used by anything else.
pub(super) unsafe fn run(
    kernel: Kernel<'_>,
    index: [u32; 3],
    stacks: &mut Vec<DefaultStack>,
) -> Result<HostStatistics, HostFault> {
    let count = kernel.block.iter().product::<u32>() as usize;
    let mut block = Block {
        kernel,
        index,
        threads: (0..count).map(|_| State::New).collect(),
        arrived: Vec::new(),
        stacks,
        statistics: HostStatistics::default(),
    };
    let result = block.run();
    for position in 0..count {
        block.end(position);
    }
    result.map(|()| block.statistics)
}

impl Block<'_> {
    fn run(&mut self) -> Result<(), HostFault> {
        loop {
            for position in 0..self.threads.len() {
                self.advance(position)?;
            }
            if self.threads.iter().all(|state| matches!(state, State::Ended)) {
                return Ok(());
            }
            // Both must run, since they release different threads.
            let released = self.release_barriers() | self.release_warps();
            if !released && !self.release_active_masks() {
                return Err(self.deadlock());
            }
        }
    }

    /// Runs a thread, if it can run, until it ends or waits.
    fn advance(&mut self, position: usize) -> Result<(), HostFault> {
        let (mut fiber, mut results) = match std::mem::replace(&mut self.threads[position], State::Ended) {
            State::New => (self.start(position), [0, 0]),
            State::Ready(fiber, results) => (fiber, results),
            other @ (State::Waiting(..) | State::Ended) => {
                self.threads[position] = other;
                return Ok(());
            }
        };
        loop {
            match fiber.resume(results) {
                CoroutineResult::Return(()) => {
                    self.statistics.threads += 1;
                    self.stacks.push(fiber.into_stack());
                    return Ok(());
                }
                CoroutineResult::Yield(Request::Arrive(barrier)) => {
                    self.arrive(barrier.number);
                    results = [0, 0];
                }
                CoroutineResult::Yield(request @ (Request::Exit | Request::Trap)) => {
                    self.threads[position] = State::Waiting(fiber, request);
                    self.end(position);
                    self.statistics.threads += 1;
                    if request == Request::Trap {
                        return Err(self.fault(position, "trap".to_owned()));
                    }
                    return Ok(());
                }
                CoroutineResult::Yield(
                    request @ (Request::Barrier(_) | Request::Warp(_) | Request::ActiveMask),
                ) => {
                    self.statistics.waits += 1;
                    self.threads[position] = State::Waiting(fiber, request);
                    return Ok(());
                }
            }
        }
    }

    fn start(&mut self, position: usize) -> Fiber {
        let stack = self.stacks.pop().unwrap_or_else(|| {
            DefaultStack::new(STACK_BYTES).expect("address space for the stacks of a block's threads")
        });
        let Kernel {
            entry,
            operations,
            arguments,
            grid,
            block,
            dynamic_shared_bytes,
            shared,
        } = self.kernel;
        let (operations, arguments) = (ptr::from_ref(operations), arguments.as_ptr());
        let (thread, block_index) = (self.thread(position), self.index);
        let stack_addresses = (stack.limit().get() as u64, stack.base().get() as u64);
        Coroutine::with_stack(stack, move |yielder: &Yielder<Results, Request>, _: Results| {
            let context = Context {
                yielder,
                operations,
                thread,
                position: position as u32,
                block_index,
                block,
                grid,
                dynamic_shared_bytes,
                shared,
                stack: stack_addresses,
            };
            CURRENT.set(&context);
            // SAFETY: required of the caller of `run`.
            unsafe { entry(arguments) };
        })
    }

    /// Ends a thread at its current point, and frees its stack for another.
    fn end(&mut self, position: usize) {
        if let State::Ready(mut fiber, _) | State::Waiting(mut fiber, _) =
            std::mem::replace(&mut self.threads[position], State::Ended)
        {
            // SAFETY: the frames on the fiber's stack are those of compiled code, `host_call` and
            // the closure in `start`, which own nothing to drop.
            unsafe { fiber.force_reset() };
            self.stacks.push(fiber.into_stack());
        }
    }

    /// Counts a thread that has arrived at a barrier without waiting.
    fn arrive(&mut self, number: u32) {
        match self.arrived.iter_mut().find(|(known, _)| *known == number) {
            Some((_, count)) => *count += 1,
            None => self.arrived.push((number, 1)),
        }
    }

    /// Returns the waiting threads whose request `accept` accepts: their positions, with the values
    /// that it returned.
    fn waiting<T>(&self, accept: impl Fn(Request) -> Option<T>) -> Vec<(usize, T)> {
        let threads = self.threads.iter().enumerate();
        threads
            .filter_map(|(position, state)| match state {
                State::Waiting(_, request) => Some((position, accept(*request)?)),
                State::New | State::Ready(..) | State::Ended => None,
            })
            .collect()
    }

    /// Fulfils the request of a waiting thread.
    fn release(&mut self, position: usize, results: Results) {
        let state = &mut self.threads[position];
        match std::mem::replace(state, State::Ended) {
            State::Waiting(fiber, _) => *state = State::Ready(fiber, results),
            State::New | State::Ready(..) | State::Ended => {
                unreachable!("only waiting threads are released")
            }
        }
    }

    /// Lets the threads at complete barriers continue. Returns whether there were any.
    fn release_barriers(&mut self) -> bool {
        let mut waiting = self.waiting(|request| match request {
            Request::Barrier(request) => Some(request),
            _ => None,
        });
        let live = self.live(0..self.threads.len());
        let mut released = false;
        while let Some(&(_, first)) = waiting.first() {
            let number = first.number;
            let (here, elsewhere): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|(_, request)| request.number == number);
            waiting = elsewhere;
            let arrived = self.arrived.iter().find(|(known, _)| *known == number);
            let count = here.len() as u32 + arrived.map_or(0, |(_, count)| *count);
            if count < first.expected.unwrap_or(live) {
                continue;
            }
            let predicates = here.iter().map(|(_, request)| request.predicate);
            let results = collective::combine(first.combine, predicates);
            self.arrived.retain(|(known, _)| *known != number);
            for (position, _) in here {
                self.release(position, results);
            }
            released = true;
        }
        released
    }

    /// Lets the lanes at complete warp-wide operations continue. Returns whether there were any.
    fn release_warps(&mut self) -> bool {
        let mut released = false;
        let waiting = self.waiting(|request| match request {
            Request::Warp(request) => Some(request),
            _ => None,
        });
        for warp in waiting.chunk_by(|(left, _), (right, _)| left / LANES == right / LANES) {
            let start = warp[0].0 / LANES * LANES;
            let live = self.live_lanes(start);
            let mut pending: Vec<(usize, WarpRequest)> = warp.to_vec();
            while let Some(&(_, first)) = pending.first() {
                let (together, others): (Vec<_>, Vec<_>) = pending.into_iter().partition(|(_, request)| {
                    request.operation == first.operation && request.mask == first.mask
                });
                pending = others;
                let lanes: Vec<(u32, WarpRequest)> = together
                    .iter()
                    .map(|(position, request)| ((position - start) as u32, *request))
                    .collect();
                let here = lanes.iter().fold(0u32, |mask, (lane, _)| mask | 1 << lane);
                if first.mask & live & !here != 0 {
                    continue;
                }
                let results = collective::complete(first.operation, &lanes);
                for ((position, _), results) in together.into_iter().zip(results) {
                    self.release(position, results);
                }
                released = true;
            }
        }
        released
    }

    /// Lets the lanes that query the active mask continue. Called only if nothing else can continue,
    /// so that as many lanes as possible are together. Returns whether there were any.
    fn release_active_masks(&mut self) -> bool {
        let waiting = self.waiting(|request| (request == Request::ActiveMask).then_some(()));
        for warp in waiting.chunk_by(|(left, ()), (right, ())| left / LANES == right / LANES) {
            let mask = warp
                .iter()
                .fold(0u64, |mask, (position, ())| mask | 1 << (position % LANES));
            for (position, ()) in warp {
                self.release(*position, [mask, 0]);
            }
        }
        !waiting.is_empty()
    }

    /// Returns the number of these threads that have not ended.
    fn live(&self, positions: std::ops::Range<usize>) -> u32 {
        let threads = &self.threads[positions];
        threads
            .iter()
            .filter(|state| !matches!(state, State::Ended))
            .count() as u32
    }

    /// Returns the mask of lanes that have not ended, of the warp that starts at a position.
    fn live_lanes(&self, start: usize) -> u32 {
        let end = (start + LANES).min(self.threads.len());
        (start..end).fold(0, |mask, position| {
            mask | self.live(position..position + 1) << (position - start)
        })
    }

    /// Describes a deadlock by the first thread that waits.
    fn deadlock(&self) -> HostFault {
        let waiting = self.waiting(Some);
        let (position, request) = waiting[0];
        let place = match request {
            Request::Barrier(request) => format!("barrier {}", request.number),
            Request::Warp(request) => format!("{:?} of lanes {:#x}", request.operation, request.mask),
            other => format!("{other:?}"),
        };
        let count = waiting.len();
        self.fault(
            position,
            format!("deadlock: it waits at {place}; {count} threads of the block wait"),
        )
    }

    fn fault(&self, position: usize, problem: String) -> HostFault {
        HostFault {
            thread: self.thread(position),
            problem,
        }
    }

    /// Returns the index of the thread at a position.
    fn thread(&self, position: usize) -> [u32; 3] {
        let [x, y, _] = self.kernel.block;
        let position = position as u32;
        [position % x, position / x % y, position / (x * y)]
    }
}

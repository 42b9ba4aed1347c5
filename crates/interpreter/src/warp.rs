//! A warp: its registers and paths, and the loop that executes its steps.

mod registers;

use super::access::{LaneFault, WarpAccess};
use super::error::FaultKind;
use super::memory::{FUNCTION_STRIDE, FUNCTION_WINDOW, Spaces};
use super::program::{Access, BarrierKind, Base, Callee, Program, Step};
use super::stack::{Frame, PathStack};
use super::surroundings::Surroundings;
use super::thread_effects::{ThreadEffects, WarpEffects, mix};
use super::threads;
use super::uninterpreted::{self, Uninterpreted};
use oriel_arithmetic::lanes::{LANES, LaneIter, Registers};

/// Deeper calls are taken for infinite recursion; the hardware's stack is smaller.
const DEEPEST_CALL: usize = 1000;

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has executed the steps of its turn.
    Pause,
    /// It reached a barrier.
    Barrier {
        number: u32,
        threads: Option<u32>,
        kind: BarrierKind,
    },
    /// All its threads have ended.
    End,
}

/// A warp of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Warp {
    pub registers: Registers,
    pub paths: PathStack,
    pub frames: Vec<Frame>,
    /// Local memory of each lane.
    pub local: Vec<Vec<u8>>,
    /// Lanes whose threads have not ended.
    pub live: u32,
    /// Its number in the block.
    pub number: u32,
    /// The row for the result of the barrier at which it waits.
    pub barrier_result: Option<u32>,
    pub thread_instructions: u64,
    pub steps: u64,
    /// How many undefined values its threads have read.
    undefined_reads: u64,
    /// The events of its threads, if recorded.
    pub effects: Option<Box<WarpEffects>>,
}

impl Warp {
    /// Starts a kernel with the lanes of a mask, and records events if requested.
    pub fn start(&mut self, program: &Program, kernel: u32, number: u32, mask: u32, takes_notes: bool) {
        let code = &program.functions[kernel as usize];
        self.registers.reset(&code.template);
        self.paths.reset(code.entry, mask);
        self.frames.clear();
        self.frames.push(Frame {
            function: kernel,
            site: None,
            first_path: 0,
            local_base: 0,
            caller_local_base: 0,
            caller_rows: oriel_arithmetic::lanes::Bases::default(),
        });
        self.local.resize_with(LANES, Vec::new);
        for lane in LaneIter(mask) {
            self.local[lane].clear();
            self.local[lane].resize(code.local_bytes as usize, 0);
        }
        self.live = mask;
        self.number = number;
        self.barrier_result = None;
        (self.thread_instructions, self.steps) = (0, 0);
        self.undefined_reads = 0;
        self.effects = takes_notes.then(|| Box::new([ThreadEffects::default(); LANES]));
    }

    fn frame(&self) -> &Frame {
        self.frames.last().expect("a warp that runs is in a function")
    }

    /// Returns the current step.
    pub fn step(&self) -> u32 {
        self.paths.top().map_or(0, |path| path.step)
    }

    /// Executes up to `budget` steps.
    ///
    /// # Errors
    /// If a step failed; it is the step of the topmost path.
    pub fn run(
        &mut self,
        program: &Program,
        around: &mut Surroundings<'_>,
        budget: u64,
    ) -> Result<Stop, LaneFault> {
        let Some(&top) = self.paths.top() else {
            return Ok(Stop::End);
        };
        let (mut at, mut mask, mut reconverge) = (top.step, top.mask, top.reconverge);
        let mut active = u64::from(mask.count_ones());
        // The paths have changed: continues with the topmost.
        macro_rules! settle {
            () => {
                if !self.settle() {
                    return Ok(Stop::End);
                }
                let top = self.paths.top().expect("a path is left");
                (at, mask, reconverge) = (top.step, top.mask, top.reconverge);
                active = u64::from(mask.count_ones());
            };
        }
        macro_rules! jump {
            ($target:expr) => {
                at = $target;
                if reconverge == Some(at) {
                    self.paths.hold_at(at);
                    settle!();
                }
            };
        }
        // A failure is located at the step of the topmost path.
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(failure) => {
                        self.paths.hold_at(at);
                        return Err(failure);
                    }
                }
            };
        }
        for _ in 0..budget {
            self.steps += 1;
            if program.origins[at as usize].counts {
                self.thread_instructions += active;
            }
            match program.steps[at as usize] {
                Step::Compute { run, ref fields } => run(&mut self.registers, fields, mask),
                Step::Jump(target) => {
                    jump!(target);
                    continue;
                }
                Step::Branch {
                    predicate,
                    taken,
                    other,
                    reconverge: meeting,
                } => {
                    let yes = self.registers.predicate(predicate) & mask;
                    if yes == mask {
                        jump!(taken);
                    } else if yes == 0 {
                        jump!(other);
                    } else {
                        self.paths
                            .part(meeting, [(other, mask & !yes), (taken, yes)].into_iter());
                        settle!();
                    }
                    continue;
                }
                Step::Table {
                    index,
                    first,
                    count,
                    reconverge: meeting,
                } => {
                    let targets = &program.targets[first as usize..(first + count) as usize];
                    let groups = attempt!(self.group_targets(index, targets, mask));
                    if groups.len() == 1 {
                        jump!(groups[0].0);
                    } else {
                        self.paths.part(meeting, groups.into_iter());
                        settle!();
                    }
                    continue;
                }
                Step::Call { callee, site } => {
                    self.paths.hold_at(at);
                    attempt!(self.call(program, callee, site, mask));
                    settle!();
                    continue;
                }
                Step::Return if self.frames.len() > 1 => {
                    let first = self.frame().first_path;
                    self.paths.remove_lanes(first, mask);
                    settle!();
                    continue;
                }
                Step::Return | Step::Exit => {
                    self.live &= !mask;
                    self.paths.remove_lanes(0, mask);
                    settle!();
                    continue;
                }
                Step::Barrier {
                    barrier,
                    threads,
                    kind,
                } => {
                    let stop = attempt!(self.stop_at_barrier(barrier, threads, kind, mask));
                    self.paths.hold_at(at + 1);
                    return Ok(stop);
                }
                ref step => attempt!(self.execute(program, around, step, mask)),
            }
            at += 1;
        }
        self.paths.hold_at(at);
        Ok(Stop::Pause)
    }

    /// Executes a step after which the paths go on to the next one.
    fn execute(
        &mut self,
        program: &Program,
        around: &mut Surroundings<'_>,
        step: &Step,
        mask: u32,
    ) -> Result<(), LaneFault> {
        match *step {
            Step::Load(number) | Step::Store(number) => {
                let access = &program.accesses[number as usize];
                let addresses = self.addresses(program, around, access.base, access.offset)?;
                self.note_access(access, &addresses, mask);
                let (mut spaces, registers) = self.spaces(around, access.is_viewed);
                let rows = rows(program, access);
                let access = WarpAccess::new(access, mask, &addresses);
                match *step {
                    Step::Load(_) => access.load(&mut spaces, registers, rows)?,
                    _ => access.store(&mut spaces, registers, rows)?,
                }
            }
            Step::Atomic(ref fields) => {
                let access = &program.accesses[fields.access as usize];
                let addresses = self.addresses(program, around, access.base, access.offset)?;
                self.note_access(access, &addresses, mask);
                let (mut spaces, registers) = self.spaces(around, false);
                WarpAccess::new(access, mask, &addresses).update(&mut spaces, registers, fields)?;
            }
            Step::Address {
                base,
                offset,
                window,
                result,
                is_wide,
            } => {
                let offset = offset.wrapping_add_unsigned(window);
                let addresses = self.addresses(program, around, base, offset)?;
                if is_wide {
                    self.registers.write(result, mask, &addresses);
                } else {
                    self.registers
                        .write(result, mask, &addresses.map(|address| address as u32));
                }
            }
            Step::Special {
                register,
                result,
                is_wide,
            } => self.read_special(around, register, result, is_wide, mask),
            Step::Undefined { result, bits } => self.read_undefined(result, bits, mask),
            Step::WarpSync { mask: members } => self.check_members(Some(members), mask)?,
            Step::Shuffle(ref fields) => {
                self.check_members(fields.mask, mask)?;
                threads::shuffle(&mut self.registers, fields, mask);
            }
            Step::Vote(ref fields) => {
                self.check_members(fields.mask, mask)?;
                threads::vote(&mut self.registers, fields, mask);
            }
            Step::Match(ref fields) => {
                self.check_members(Some(fields.mask), mask)?;
                threads::match_values(&mut self.registers, fields, mask);
            }
            Step::Reduction(ref fields) => {
                self.check_members(Some(fields.mask), mask)?;
                threads::reduce(&mut self.registers, fields, mask);
            }
            Step::ActiveMask { result } => self.registers.fill(result, mask, |_| mask),
            Step::Agree {
                register,
                row,
                is_wide,
            } => self.check_agreement(register, row, is_wide, mask)?,
            Step::Nothing => {}
            Step::Event(event) => self.note(event, mask),
            Step::Uninterpreted(number) => {
                let what = &program.uninterpreted[number as usize];
                if !self.execute_uninterpreted(around, what, mask) {
                    let text = program.unsupported[what.message as usize].clone();
                    return Err(failure(FaultKind::Unsupported(text), mask));
                }
            }
            Step::Trap => return Err(failure(FaultKind::Trap, mask)),
            Step::Unreachable => return Err(failure(FaultKind::Unreachable, mask)),
            Step::Unsupported(message) => {
                let text = program.unsupported[message as usize].clone();
                return Err(failure(FaultKind::Unsupported(text), mask));
            }
            Step::Compute { run, ref fields } => run(&mut self.registers, fields, mask),
            Step::Jump(_)
            | Step::Branch { .. }
            | Step::Table { .. }
            | Step::Call { .. }
            | Step::Return
            | Step::Exit
            | Step::Barrier { .. } => unreachable!("the step changes the paths"),
        }
        Ok(())
    }

    /// Drops ended paths and functions; returns whether anything is left.
    fn settle(&mut self) -> bool {
        while let Some(&frame) = self.frames.last() {
            if self.paths.settle(frame.first_path) {
                return true;
            }
            self.frames.pop();
            if self.frames.is_empty() {
                return false;
            }
            self.registers.pop_frame(frame.caller_rows);
        }
        false
    }

    /// Returns memory, unchanged or as the threads see it, and the registers.
    fn spaces<'a>(
        &'a mut self,
        around: &'a mut Surroundings<'_>,
        is_viewed: bool,
    ) -> (Spaces<'a>, &'a mut Registers) {
        let spaces = Spaces {
            threads: self.effects.as_deref_mut().filter(|_| is_viewed),
            global: around.memory,
            shared: &mut around.shared,
            local: &mut self.local,
            parameters: &around.parameters,
        };
        (spaces, &mut self.registers)
    }

    /// Records an event of all lanes of a mask.
    fn note(&mut self, event: u64, mask: u32) {
        if let Some(threads) = &mut self.effects {
            LaneIter(mask).for_each(|lane| threads[lane].note(event));
        }
    }

    /// Records an access that must stay in order.
    fn note_access(&mut self, access: &Access, addresses: &[u64; LANES], mask: u32) {
        if let (Some(event), Some(threads)) = (access.event, &mut self.effects) {
            for lane in LaneIter(mask) {
                if let Some(address) = uninterpreted::common_address(access.space, addresses[lane]) {
                    threads[lane].note(mix(event, address));
                }
            }
        }
    }

    /// Executes an instruction without a meaning; false if there is none.
    fn execute_uninterpreted(
        &mut self,
        around: &mut Surroundings<'_>,
        what: &Uninterpreted,
        mask: u32,
    ) -> bool {
        let Some(threads) = self.effects.as_deref_mut() else {
            return false;
        };
        let mut spaces = Spaces {
            global: around.memory,
            shared: &mut around.shared,
            local: &mut self.local,
            parameters: &around.parameters,
            threads: None,
        };
        uninterpreted::execute(what, &mut self.registers, &mut spaces, threads, mask);
        true
    }

    /// The addresses of all lanes.
    fn addresses(
        &self,
        program: &Program,
        around: &Surroundings<'_>,
        base: Base,
        offset: i64,
    ) -> Result<[u64; LANES], LaneFault> {
        let frame = self.frame();
        let of_call = |number: u32, what: &str, select: fn(&super::program::CallSite) -> &[u32]| {
            let site = frame.site.map(|site| &program.call_sites[site as usize]);
            let place = site.and_then(|site| select(site).get(number as usize));
            let problem = || {
                let problem = format!("the call has no {what} {number}");
                (Box::new(FaultKind::Call(problem)), None)
            };
            place
                .map(|place| u64::from(frame.caller_local_base + place))
                .ok_or_else(problem)
        };
        let start = match base {
            Base::Wide(row) => {
                return Ok(self
                    .registers
                    .row::<u64>(row)
                    .map(|address| address.wrapping_add_signed(offset)));
            }
            Base::Word(row) => {
                // The sum is an address of 32 bits as well.
                return Ok(self
                    .registers
                    .row::<u32>(row)
                    .map(|address| u64::from(address.wrapping_add_signed(offset as i32))));
            }
            Base::Fixed(address) => address,
            Base::Frame(place) => u64::from(frame.local_base + place),
            Base::Parameter(number) if frame.site.is_none() => around
                .parameter_offsets
                .get(number as usize)
                .map(|&place| u64::from(place))
                .ok_or_else(|| {
                    let problem = format!("the launch has no argument {number}");
                    (Box::new(FaultKind::Call(problem)), None)
                })?,
            Base::Parameter(number) => of_call(number, "parameter", |site| &site.parameters)?,
            Base::Result(number) => of_call(number, "result", |site| &site.results)?,
        };
        Ok([start.wrapping_add_signed(offset); LANES])
    }

    /// Enters the callee, or splits the lanes if they call several.
    fn call(&mut self, program: &Program, callee: Callee, site: u32, mask: u32) -> Result<(), LaneFault> {
        let at = self.step();
        let function = match callee {
            Callee::Function(function) => function,
            Callee::Row(row) => {
                let row = self.registers.row::<u64>(row);
                let first = mask.trailing_zeros() as usize;
                let same = LaneIter(mask)
                    .filter(|&lane| row[lane] == row[first])
                    .fold(0u32, |same, lane| same | 1 << lane);
                if same != mask {
                    // All reconverge after the call; the others reach it a second time.
                    let targets = [(at, mask & !same), (at, same)];
                    self.paths.part(Some(at + 1), targets.into_iter());
                    return Ok(());
                }
                let number = row[first].wrapping_sub(FUNCTION_WINDOW) / FUNCTION_STRIDE;
                if !row[first].is_multiple_of(FUNCTION_STRIDE) || number >= program.functions.len() as u64 {
                    let problem = format!("a call of {:#x}, which is no function", row[first]);
                    return Err((Box::new(FaultKind::Call(problem)), Some(first)));
                }
                number as u32
            }
        };
        if self.frames.len() >= DEEPEST_CALL {
            let problem = format!("calls are more than {DEEPEST_CALL} deep");
            return Err(failure(FaultKind::Call(problem), mask));
        }
        let caller = *self.frame();
        let caller_bytes = program.functions[caller.function as usize].local_bytes;
        let code = &program.functions[function as usize];
        let local_base = caller.local_base + caller_bytes;
        for lane in LaneIter(mask) {
            self.local[lane].truncate(local_base as usize);
            self.local[lane].resize((local_base + code.local_bytes) as usize, 0);
        }
        self.paths.hold_at(at + 1);
        self.frames.push(Frame {
            function,
            site: Some(site),
            first_path: self.paths.len(),
            local_base,
            caller_local_base: caller.local_base,
            caller_rows: self.registers.push_frame(&code.template),
        });
        self.paths.push(code.entry, None, mask);
        Ok(())
    }
}

/// Returns a failure of the first lane of a mask.
fn failure(kind: FaultKind, mask: u32) -> LaneFault {
    (Box::new(kind), Some(mask.trailing_zeros() as usize))
}

fn rows<'a>(program: &'a Program, access: &Access) -> &'a [u32] {
    &program.rows[access.first_row as usize..(access.first_row + access.count) as usize]
}

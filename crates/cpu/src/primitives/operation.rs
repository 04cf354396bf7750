//! From one operation to the two loops of a case.
//!
//! A primitive writes its operation once, as [`Operation::execute`]. `timed_loop` repeats the operation's context
//! [`UNROLL`] times per iteration. The test executes the operation once more in each context. Both loops are instances
//! of one generic function, so they differ in nothing else. By default the context is the operation itself: once in the
//! baseline, twice in the test.

use std::sync::Arc;

use syncscope_core::{Shot, Side};

use crate::evidence::LoopFunctions;
use crate::team::Body;

/// How often one iteration of the baseline holds the operation. Counting and branching cost a cycle or two, which
/// becomes negligible. The test loop still fits into the first-level instruction cache.
pub const UNROLL: u32 = 16;

/// Writes its argument four times.
macro_rules! four_times {
    ($body:expr) => {
        $body;
        $body;
        $body;
        $body;
    };
}

/// A synchronization operation on a state that a team shares. The state exists several times ("slots"). Each pair of
/// shots works on another slot, so that a figure does not depend on one memory address.
pub trait Operation: Send + Sync + 'static {
    /// What a thread keeps in registers: addresses, looked up before the loop.
    type Local<'a>;

    /// How many operations the context executes: one if it is the operation itself, none if it is something else.
    const IN_CONTEXT: u64 = 1;

    /// The thread's view of a slot. Runs once, inside the timed part.
    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_>;

    /// The operation.
    fn execute(local: &mut Self::Local<'_>);

    /// What both loops do before the place of the operation. A primitive with another context also sets
    /// [`Self::IN_CONTEXT`].
    #[inline(always)]
    fn before(local: &mut Self::Local<'_>) {
        Self::execute(local);
    }

    /// What both loops do after the place of the operation.
    #[inline(always)]
    fn after(_local: &mut Self::Local<'_>) {}

    /// What both loops do once at the end of each iteration. Its cost cancels in the difference.
    #[inline(always)]
    fn move_on(_local: &mut Self::Local<'_>) {}

    /// The timed loop, with `COPIES` copies of the operation besides its context. Code that this program does not compile has
    /// loops of its own, of the same form.
    fn repeat<const COPIES: u32>(local: Self::Local<'_>, iterations: u64)
    where
        Self: Sized,
    {
        timed_loop::<Self, COPIES>(local, iterations);
    }

    /// The loop of threads that are timed in a window, with as many copies.
    fn repeat_in_window<W: Turns, const COPIES: u32>(local: Self::Local<'_>, watch: &mut W)
    where
        Self: Sized,
    {
        window_loop::<Self, W, COPIES>(local, watch);
    }

    /// Initializes the thread's part of a slot before a shot.
    fn prepare(&self, slot: usize, thread: usize);

    /// Checks the thread's part of the slot after what the threads `executed`. Another thread may already prepare its part
    /// for the next shot. State that several threads share therefore belongs to one of them, which prepares and verifies it.
    ///
    /// # Errors
    /// What was expected and what was found.
    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String>;
}

/// How many operations the threads of a team executed in a shot, those of the context included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// By the thread that asks.
    pub own: u64,
    /// By the thread that executed the most.
    pub most: u64,
    /// By all threads together; `None` where each executed as many.
    pub all: Option<u64>,
}

impl Executed {
    /// The same number of operations by each thread.
    pub const fn by_each(operations: u64) -> Self {
        Self { own: operations, most: operations, all: None }
    }

    /// The operations of all `threads` threads together.
    pub fn by_all(&self, threads: u32) -> u64 {
        self.all.unwrap_or(self.own * u64::from(threads))
    }
}

/// Slots of every state. The address of a line decides which slice of the last-level cache holds it, and so how far it
/// is from each core. Consecutive lines are spread over the slices; large processors have some dozens of slices. It is
/// expected, but not measured, that more lines make runs agree better.
pub const SLOTS: usize = 64;

/// The slot that a pair of shots works on.
pub(crate) const fn slot_of(pair: u64) -> usize {
    (pair % SLOTS as u64) as usize
}

/// The timed loop with `COPIES` copies of the operation besides its context: none in the baseline, one in the test, two in the
/// loop that shows whether a second copy costs as much. Never inlined, so that the disassembler finds it.
#[inline(never)]
fn timed_loop<O: Operation, const COPIES: u32>(mut local: O::Local<'_>, iterations: u64) {
    for _ in 0..iterations {
        // As often as `UNROLL` says.
        four_times!({
            four_times!(step::<O, COPIES>(&mut local));
        });
        O::move_on(&mut local);
    }
}

/// How often a turn of the loop holds the operation. Two, because some operations alternate between two variables.
pub(super) const TURN: u32 = 2;

/// Says how many turns of its loop a thread executes that is timed in a window.
pub trait Turns {
    /// The turns until the first look.
    fn first(&self) -> u64;

    /// Takes a look after these turns and returns how many follow: 0 when the thread is done.
    fn look(&mut self) -> u64;
}

/// The loop of one thread, with `COPIES` copies of the operation besides its context. Never inlined, so that the disassembler
/// finds it.
#[inline(never)]
pub(super) fn window_loop<O: Operation, W: Turns, const COPIES: u32>(mut local: O::Local<'_>, watch: &mut W) {
    let mut left = watch.first();
    // The look comes first: a turn begins where no retry of the operation leads back to, so that turns can be told apart in
    // the machine code.
    loop {
        if left == 0 {
            left = watch.look();
            if left == 0 {
                break;
            }
        }
        left -= 1;
        step::<O, COPIES>(&mut local);
        step::<O, COPIES>(&mut local);
    }
}

#[inline(always)]
fn step<O: Operation, const COPIES: u32>(local: &mut O::Local<'_>) {
    O::before(local);
    if COPIES >= 1 {
        O::execute(local);
    }
    if COPIES >= 2 {
        O::execute(local);
    }
    O::after(local);
}

/// Where the machine code of both loops of an operation begins.
pub(super) fn loop_functions<O: Operation>() -> LoopFunctions {
    let baseline: fn(O::Local<'static>, u64) = timed_loop::<O, 0>;
    let test: fn(O::Local<'static>, u64) = timed_loop::<O, 1>;
    LoopFunctions { baseline: baseline as usize, test: test as usize, unroll: UNROLL }
}

/// An operation as a job for a team.
pub(super) struct Repeated<O>(pub(super) Arc<O>);

impl<O: Operation> Body for Repeated<O> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.0.prepare(slot_of(shot.pair), thread);
    }

    #[inline(never)]
    fn run(&self, shot: &Shot, thread: usize) {
        let local = self.0.local(slot_of(shot.pair), thread);
        match shot.side {
            Side::Baseline => O::repeat::<0>(local, shot.iterations),
            Side::Test => O::repeat::<1>(local, shot.iterations),
            Side::Double => O::repeat::<2>(local, shot.iterations),
        }
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        let each = (O::IN_CONTEXT + shot.side.copies()) * u64::from(UNROLL) * shot.iterations;
        self.0.verify(slot_of(shot.pair), thread, Executed::by_each(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Records what happens in which order.
    struct Trace(Mutex<String>);

    impl Operation for Trace {
        type Local<'a> = &'a Mutex<String>;
        const IN_CONTEXT: u64 = 0;
        fn local(&self, _: usize, _: usize) -> Self::Local<'_> {
            &self.0
        }
        fn execute(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push('!');
        }
        fn before(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push('(');
        }
        fn after(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push(')');
        }
        fn move_on(local: &mut Self::Local<'_>) {
            local.lock().unwrap().push(';');
        }
        fn prepare(&self, _: usize, _: usize) {
            self.0.lock().unwrap().clear();
        }
        fn verify(&self, _: usize, _: usize, executed: Executed) -> Result<(), String> {
            Err(format!("{} in {}", executed.own, self.0.lock().unwrap()))
        }
    }

    #[test]
    fn an_operation_stands_in_its_context() {
        let body = Repeated(Arc::new(Trace(Mutex::default())));
        for (side, step, operations) in [(Side::Baseline, "()", 0), (Side::Test, "(!)", 32), (Side::Double, "(!!)", 64)]
        {
            let shot = Shot { side, iterations: 2, pair: 0 };
            body.prepare(&shot, 0);
            body.run(&shot, 0);
            let trace = format!("{operations} in {0};{0};", step.repeat(16));
            assert_eq!(body.verify(&shot, 0), Err(trace));
        }
    }
}

//! `cpu.handoff.pipe`: a message through a pipe.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use syncscope_core::Primitive;
use syncscope_host::descriptors::wait_readable;

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::kernel::Inherited;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::wait::{LIMIT, or_fail};
use crate::primitives::workload::Workload;
use crate::processes;
use crate::sync::{BetweenProcesses, WaitTimeout};

/// In theory: as an eventfd, with a buffer page and a mutex of the pipe, and four bytes that are copied in and out.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.pipe",
        summary: "Two threads send a number to each other through pipes; the waiter polls and then reads",
        operation: handoff::OPERATION,
        source: "Linux, pipe(2), poll(2)",
        facts: handoff::SLEEPING,
    },
    handoff::cases,
    |case| {
        handoff::workload::<Pipes>(case, Expected::Uncounted("a pipe is system calls, not an instruction"))
            .map(Workload::long_blocking)
    },
)
.in_studies(&[handoff::ON_PAIRS_THAT_EXIST])
.beyond_quick();

/// A pipe to each thread: `E` has them. The token is in that of the thread whose turn it is.
pub(in crate::primitives) struct Pipes<E = Opened> {
    turns: AtomicU32,
    ends: E,
}

// SAFETY: a number; the pipes are each process's own.
unsafe impl BetweenProcesses for Pipes<Inherited> {}

/// Pipes of one process, opened where they are needed: most tokens are never passed.
#[derive(Default)]
pub(in crate::primitives) struct Opened(OnceLock<io::Result<[(PipeReader, PipeWriter); 2]>>);

impl BothPipes for Opened {
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2] {
        let pipes = self.0.get_or_init(|| Ok([io::pipe()?, io::pipe()?]));
        or_fail(pipes.as_ref(), "no pipe (see `ulimit -n`)")
    }
}

impl BothPipes for Inherited {
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2] {
        &or_fail(processes::ends().ok_or("this process is no worker"), "no pipe").pipes
    }
}

/// Has a pipe to each of two threads.
pub(in crate::primitives) trait BothPipes: Default + Send + Sync + 'static {
    /// They are.
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2];
}

impl<E: BothPipes> Pipes<E> {
    fn send(&self, thread: usize, token: u32) {
        or_fail((&self.ends.pipes()[thread].1).write_all(&token.to_ne_bytes()), "the pipe could not be written");
    }

    /// The token, once it is there.
    fn receive(&self, thread: usize, limit: Duration) -> Option<u32> {
        let mut reader = &self.ends.pipes()[thread].0;
        let mut token = [0; 4];
        or_fail(wait_readable(reader, limit), "the pipe could not be polled").then(|| {
            or_fail(reader.read_exact(&mut token), "the pipe could not be read");
            u32::from_ne_bytes(token)
        })
    }
}

impl<E: BothPipes> Handoff for Pipes<E> {
    fn new() -> Self {
        Self { turns: AtomicU32::new(0), ends: E::default() }
    }

    fn join(&self, thread: usize) {
        if thread == 0 {
            self.turns.store(0, Ordering::Relaxed);
            (0..2).for_each(|thread| while self.receive(thread, Duration::ZERO).is_some() {});
            self.send(0, 0);
        }
    }

    #[inline(always)]
    fn pass(&self, thread: usize, _turn: u32) -> Result<(), WaitTimeout> {
        let turns = self.receive(thread, LIMIT).ok_or(WaitTimeout)?.wrapping_add(1);
        // Relaxed: the system calls publish it.
        self.turns.store(turns, Ordering::Relaxed);
        self.send(1 - thread, turns);
        Ok(())
    }

    fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }
}

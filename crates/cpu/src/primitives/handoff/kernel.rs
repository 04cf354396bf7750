//! Hand-offs through file descriptors: eventfds and pipes. The waiter sleeps in `poll`, which has a time limit, and then reads,
//! as event loops do.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use syncscope_host::descriptors::{EventFd, wait_readable};

use crate::memory::inherited;
use crate::primitives::handoff::{self, Handoff, Token};
use crate::primitives::prelude::*;

/// Descriptors that two processes inherit from the one that started them.
#[derive(Default)]
pub(in crate::primitives) struct Inherited;

/// In theory: three system calls, write, poll and read, and the time until the operating system runs the waiter again: a futex
/// hand-off has two. This is what a program pays that waits for threads, timers and sockets in one place.
pub(super) static EVENTFD: Entry = handoff::entry::<Events>(
    "cpu.handoff.eventfd",
    "Two threads wake each other by writing to eventfds; the waiter sleeps in poll(2), then reads",
    "Linux, eventfd(2), poll(2)",
);

/// The counters that the threads wait for: `E` has them.
#[derive(Default)]
pub(in crate::primitives) struct Events<E = OpenedEvents>(E);

// SAFETY: a number and a wait limit; the counters are each process's own.
unsafe impl BetweenProcesses for Token<Events<Inherited>> {}

/// Counters of one process. They are opened where they are needed: most tokens are never passed.
#[derive(Default)]
pub(in crate::primitives) struct OpenedEvents(OnceLock<io::Result<[EventFd; 2]>>);

impl Counters for OpenedEvents {
    fn counters(&self) -> &[EventFd; 2] {
        let counters = self.0.get_or_init(|| Ok([EventFd::new()?, EventFd::new()?]));
        or_fail(counters.as_ref(), "no eventfd (see `ulimit -n`)")
    }
}

impl Counters for Inherited {
    fn counters(&self) -> &[EventFd; 2] {
        &or_fail(inherited::ends().ok_or("this process is not a worker"), "no eventfd").events
    }
}

/// Has a counter for each of two threads.
pub(in crate::primitives) trait Counters: Default + Send + Sync + 'static {
    fn counters(&self) -> &[EventFd; 2];
}

impl<E: Counters> Events<E> {
    fn wake(&self, thread: usize) {
        or_fail(self.0.counters()[thread].add(1), "the eventfd could not be written");
    }

    fn taken(&self, thread: usize, limit: Duration) -> bool {
        or_fail(self.0.counters()[thread].take(limit), "the eventfd could not be read").is_some()
    }
}

impl<E: Counters> Handoff for Events<E> {
    const EXPECTED: Expected = Expected::Uncounted("an eventfd takes system calls, not an instruction");

    fn reset(&self) {
        (0..2).for_each(|thread| while self.taken(thread, Duration::ZERO) {});
        self.wake(0);
    }

    #[inline(always)]
    fn pass(Token { turns, way, .. }: &Token<Self>, thread: usize, turn: u32) -> Result<(), WaitTimeout> {
        if !way.taken(thread, LIMIT) {
            return Err(WaitTimeout);
        }
        // Relaxed: the system calls publish it.
        turns.store(turn.wrapping_add(1), Ordering::Relaxed);
        way.wake(1 - thread);
        Ok(())
    }
}

/// In theory: as an eventfd, with a buffer page and a mutex of the pipe, and four bytes that are copied in and out.
pub(super) static PIPE: Entry = handoff::entry::<Pipes>(
    "cpu.handoff.pipe",
    "Two threads pass a number back and forth through pipes; the waiter sleeps in poll(2), then reads",
    "Linux, pipe(2), poll(2)",
)
.beyond_quick();

/// A pipe to each thread: `E` has them. The token is in the pipe of the thread whose turn it is.
#[derive(Default)]
pub(in crate::primitives) struct Pipes<E = OpenedPipes>(E);

// SAFETY: as above; the pipes are each process's own.
unsafe impl BetweenProcesses for Token<Pipes<Inherited>> {}

/// Pipes of one process, opened where they are needed: most tokens are never passed.
#[derive(Default)]
pub(in crate::primitives) struct OpenedPipes(OnceLock<io::Result<[(PipeReader, PipeWriter); 2]>>);

impl BothPipes for OpenedPipes {
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2] {
        let pipes = self.0.get_or_init(|| Ok([io::pipe()?, io::pipe()?]));
        or_fail(pipes.as_ref(), "no pipe (see `ulimit -n`)")
    }
}

impl BothPipes for Inherited {
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2] {
        &or_fail(inherited::ends().ok_or("this process is not a worker"), "no pipe").pipes
    }
}

/// Has a pipe to each of two threads.
pub(in crate::primitives) trait BothPipes: Default + Send + Sync + 'static {
    fn pipes(&self) -> &[(PipeReader, PipeWriter); 2];
}

impl<E: BothPipes> Pipes<E> {
    fn send(&self, thread: usize, token: u32) {
        or_fail((&self.0.pipes()[thread].1).write_all(&token.to_ne_bytes()), "the pipe could not be written");
    }

    /// Receives the token, once it is there.
    fn receive(&self, thread: usize, limit: Duration) -> Option<u32> {
        let mut reader = &self.0.pipes()[thread].0;
        let mut token = [0; 4];
        or_fail(wait_readable(reader, limit), "the pipe could not be polled").then(|| {
            or_fail(reader.read_exact(&mut token), "the pipe could not be read");
            u32::from_ne_bytes(token)
        })
    }
}

impl<E: BothPipes> Handoff for Pipes<E> {
    const EXPECTED: Expected = Expected::Uncounted("a pipe takes system calls, not an instruction");

    fn reset(&self) {
        (0..2).for_each(|thread| while self.receive(thread, Duration::ZERO).is_some() {});
        self.send(0, 0);
    }

    #[inline(always)]
    fn pass(Token { turns, way, .. }: &Token<Self>, thread: usize, _turn: u32) -> Result<(), WaitTimeout> {
        let found = way.receive(thread, LIMIT).ok_or(WaitTimeout)?.wrapping_add(1);
        // Relaxed: the system calls publish it.
        turns.store(found, Ordering::Relaxed);
        way.send(1 - thread, found);
        Ok(())
    }
}

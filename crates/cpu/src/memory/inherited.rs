//! What the workers of a team share: memory and descriptors that their parent opened.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use syncscope_host::child_process;
use syncscope_host::descriptors::EventFd;
use syncscope_host::shared_memory::SharedMemory;

use super::Pages;
use crate::sync::BetweenProcesses;

/// Room for the state of a case: the largest has 1,024 tokens on lines of their own, 128 KiB.
const MEMORY_BYTES: usize = 1 << 20;

/// Alignment of each part of the state: no two parts share a pair of lines.
const ALIGNMENT: usize = 128;

/// A counter and a pipe to each of the first two workers.
pub(crate) struct Ends {
    /// Counters that a worker waits for.
    pub(crate) events: [EventFd; 2],
    /// Both ends of the pipe that a worker reads.
    pub(crate) pipes: [(PipeReader, PipeWriter); 2],
}

/// Memory and descriptors of a team.
pub(crate) struct Inherited {
    memory: SharedMemory,
    ends: Ends,
    /// How much of the memory holds the state of the case.
    used: AtomicUsize,
    /// Whether this process makes the state, which the others then find.
    makes: bool,
}

/// What this process has inherited, if it is a worker.
static INHERITED: OnceLock<Inherited> = OnceLock::new();

/// `count` elements of the state of a case between processes. In a worker they are in the memory of its team; the first
/// worker makes them. Any other process, which runs no shot of such a case, makes its own. `None` if there is no room.
pub(crate) fn state<T: BetweenProcesses>(count: usize, make: impl FnMut(usize) -> T) -> Option<Pages<T>> {
    match INHERITED.get() {
        Some(inherited) => inherited.place(count, make),
        None => Some(Pages::filled(count, make)),
    }
}

/// The descriptors of this process, if it is a worker.
pub(crate) fn ends() -> Option<&'static Ends> {
    INHERITED.get().map(|inherited| &inherited.ends)
}

impl Inherited {
    /// Creates the memory and the descriptors that workers are to inherit.
    pub(crate) fn create() -> io::Result<Self> {
        let ends = Ends { events: [EventFd::new()?, EventFd::new()?], pipes: [io::pipe()?, io::pipe()?] };
        Ok(Self { memory: SharedMemory::create(MEMORY_BYTES)?, ends, used: AtomicUsize::new(0), makes: true })
    }

    /// Its descriptors, in the order that [`Self::adopt`] expects.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let events = self.ends.events.iter().map(AsFd::as_fd);
        let pipes = self.ends.pipes.iter().flat_map(|(reader, writer)| [reader.as_fd(), writer.as_fd()]);
        [self.memory.as_fd()].into_iter().chain(events).chain(pipes).collect()
    }

    /// The numbers of the descriptors, by which a worker adopts them.
    pub(crate) fn numbers(&self) -> Vec<RawFd> {
        self.descriptors().iter().map(BorrowedFd::as_raw_fd).collect()
    }

    /// Takes over the descriptors with these numbers; `makes` is true in the first worker.
    pub(crate) fn adopt(numbers: &[RawFd], makes: bool) -> Result<&'static Self, String> {
        let own =
            |number: &RawFd| child_process::inherited(*number).map_err(|error| format!("descriptor {number}: {error}"));
        let owned: Result<Vec<OwnedFd>, String> = numbers.iter().map(own).collect();
        let [memory, event_0, event_1, reader_0, writer_0, reader_1, writer_1] =
            <[OwnedFd; 7]>::try_from(owned?).map_err(|_| "seven descriptors are expected".to_owned())?;
        let memory =
            SharedMemory::of_file(File::from(memory)).map_err(|error| format!("the shared memory: {error}"))?;
        let ends = Ends {
            events: [event_0.into(), event_1.into()],
            pipes: [(reader_0.into(), writer_0.into()), (reader_1.into(), writer_1.into())],
        };
        Ok(INHERITED.get_or_init(|| Self { memory, ends, used: AtomicUsize::new(0), makes }))
    }

    /// Forgets the state of the last case. The first worker, which does it before the others, also takes new pages: their
    /// position decides how far each line is from each core.
    ///
    /// # Safety
    /// No process uses the state.
    pub(crate) unsafe fn renew(&self) -> Result<(), String> {
        self.used.store(0, Ordering::Relaxed);
        if self.makes {
            // SAFETY: the caller ensures that no process uses the state.
            unsafe { self.memory.renew() }
                .map_err(|error| format!("the shared memory could not be renewed: {error}"))?;
        }
        Ok(())
    }

    fn place<T: BetweenProcesses>(&self, count: usize, mut make: impl FnMut(usize) -> T) -> Option<Pages<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let start = self.used.load(Ordering::Relaxed).next_multiple_of(ALIGNMENT);
        let end = start.checked_add(count.checked_mul(size_of::<T>())?)?;
        if end > self.memory.bytes() {
            return None;
        }
        self.used.store(end, Ordering::Relaxed);
        // SAFETY: `start` lies within the memory.
        let first = unsafe { self.memory.first().add(start) }.cast::<T>();
        for index in 0..if self.makes { count } else { 0 } {
            // SAFETY: there is room for `count` elements, aligned as lines are. No other process uses them before this one
            // has reported that it is ready.
            unsafe { first.add(index).write(make(index)) };
        }
        // SAFETY: the first worker has made the elements, before the others are asked. `INHERITED` is never dropped.
        Some(unsafe { Pages::shared(first, count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::CachePadded;
    use std::sync::atomic::AtomicU64;

    /// A second view of the same memory and descriptors, as another worker has it.
    fn seen_by_another(inherited: &Inherited) -> Inherited {
        let file = File::from(inherited.memory.as_fd().try_clone_to_owned().unwrap());
        let memory = SharedMemory::of_file(file).unwrap();
        Inherited { memory, makes: false, ..Inherited::create().unwrap() }
    }

    #[test]
    fn what_the_first_worker_makes_the_others_find() {
        let first: &'static Inherited = Box::leak(Box::new(Inherited::create().unwrap()));
        let other: &'static Inherited = Box::leak(Box::new(seen_by_another(first)));
        for round in 0..2 {
            // SAFETY: the pages of the round before are not used any more.
            unsafe { first.renew().and_then(|()| other.renew()) }.unwrap();
            let make = |index: usize| CachePadded::new(AtomicU64::new(10 * round + index as u64));
            let [one, two] = [first, other].map(|inherited| {
                (inherited.place(3, make).unwrap(), inherited.place(1, |_| AtomicU64::new(7)).unwrap())
            });
            assert_eq!(
                two.0.iter().map(|value| value.load(Ordering::Relaxed) - 10 * round).collect::<Vec<_>>(),
                [0, 1, 2]
            );
            one.0[2].store(99, Ordering::Relaxed);
            assert_eq!((two.0[2].load(Ordering::Relaxed), two.1[0].load(Ordering::Relaxed)), (99, 7));
        }
        assert!(first.place(MEMORY_BYTES, |_| AtomicU64::new(0)).is_none(), "no room");
        assert!(first.place(usize::MAX, |_| AtomicU64::new(0)).is_none());
    }

    #[test]
    fn numbers_that_are_no_descriptors_are_an_error() {
        assert!(
            Inherited::adopt(&[1_048_576, 1, 1, 1, 1, 1, 1], false).is_err_and(|reason| reason.contains("1048576"))
        );
        assert!(Inherited::adopt(&[0], false).is_err_and(|reason| reason.contains("seven")));
        assert!(ends().is_none(), "this process is not a worker");
    }
}

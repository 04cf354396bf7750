//! Variables whose position on cache lines is known.

use std::ops::Range;

use syncscope_core::{Case, Dtype, Layout, Refusal};

use super::operation::SLOTS;
use crate::memory::Pages;
use crate::memory::inherited;
use crate::sync::BetweenProcesses;

/// Alignment of slots: a multiple of every line length in common use (64 bytes; 128 on some ARM and POWER cores, and
/// as the pair of lines that x86 prefetches).
const ALIGNMENT: usize = 128;

/// Variables as the columns `layout` and `stride` describe them: in each slot one element for all threads, or one for each. Slots
/// are aligned, and the elements share their pages with nothing else.
pub(crate) struct Elements<T> {
    pages: Pages<T>,
    per_slot: usize,
    layout: Layout,
    threads: u32,
}

/// Up to this many bytes, nobody asks whether there is room.
const ALWAYS_THERE: u64 = 64 << 20;

/// Whether there is room for the elements of a case. A lack of memory found only later ends the process, or the machine.
///
/// # Errors
/// Where they take more bytes than are free, if that is known: another time more may be free.
pub(crate) fn room_for(case: &Case, free: impl FnOnce() -> Option<u64>) -> Result<(), Refusal> {
    let (Some(Layout::Private { stride }), Some(threads)) = (case.layout, case.threads) else { return Ok(()) };
    let size = case.dtype.map_or(ALIGNMENT, Dtype::size_bytes) as u64;
    let bytes = [stride.into(), threads.into(), SLOTS as u64].into_iter().fold(size, u64::saturating_mul);
    match Some(bytes).filter(|bytes| *bytes > ALWAYS_THERE).and_then(|_| free()).filter(|free| bytes > *free) {
        Some(free) => Err(Refusal::Prevented(format!(
            "its elements take {} MiB of memory, and {} MiB are free (MemAvailable of /proc/meminfo, `ulimit -v`, `-d`)",
            bytes >> 20,
            free >> 20
        ))),
        None => Ok(()),
    }
}

impl<T: Default> Elements<T> {
    /// The elements of a case, on pages that the calling thread touches first. `None` if it has no layout or no
    /// threads.
    pub(crate) fn of(case: &Case) -> Option<Self> {
        Self::on(case, |count| Some(Pages::filled(count, |_| T::default())))
    }

    /// The elements of a case in memory that several processes map.
    pub(crate) fn between_processes(case: &Case) -> Option<Self>
    where
        T: BetweenProcesses,
    {
        Self::on(case, |count| inherited::state(count, |_| T::default()))
    }

    fn on(case: &Case, pages: impl FnOnce(usize) -> Option<Pages<T>>) -> Option<Self> {
        let (layout, threads) = (case.layout?, case.threads?);
        let count = match layout {
            Layout::Shared => 1,
            Layout::Private { stride } => threads as usize * stride as usize,
        };
        let per_line = (ALIGNMENT / size_of::<T>().max(1)).max(1);
        // Rounded up to whole lines: slots share no line.
        let per_slot = count.next_multiple_of(per_line);
        Some(Self { pages: pages(SLOTS * per_slot)?, per_slot, layout, threads })
    }

    /// The addresses of all elements.
    pub(crate) fn extent(&self) -> Range<usize> {
        self.pages.extent()
    }

    /// The element that `thread` uses.
    pub(crate) fn get(&self, slot: usize, thread: usize) -> &T {
        let within = match self.layout {
            Layout::Shared => 0,
            Layout::Private { stride } => thread * stride as usize,
        };
        &self.pages[slot * self.per_slot + within]
    }

    /// The element that `thread` prepares and verifies; one thread does so for all that share an element.
    pub(crate) fn owned(&self, slot: usize, thread: usize) -> Option<&T> {
        (thread == 0 || self.layout != Layout::Shared).then(|| self.get(slot, thread))
    }

    /// The threads that use the element of `thread`.
    pub(crate) fn users(&self, thread: usize) -> std::ops::Range<usize> {
        match self.layout {
            Layout::Shared => 0..self.threads as usize,
            Layout::Private { .. } => thread..thread + 1,
        }
    }

    /// How many threads use one element.
    pub(crate) fn sharers(&self) -> u32 {
        self.users(0).len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicU64};
    use syncscope_core::limits::MOST_STRIDE;

    #[test]
    fn slots_are_aligned_and_share_no_line() {
        fn addresses<T: Default>(layout: Layout) -> Vec<usize> {
            let case = Case { layout: Some(layout), threads: Some(3), ..Case::new("cpu.atomic.add") };
            let elements = Elements::<T>::of(&case).unwrap();
            let address = |slot| std::ptr::from_ref(elements.get(slot, 0)).addr();
            let last = std::ptr::from_ref(elements.get(SLOTS - 1, 2)).addr();
            assert!(elements.extent().contains(&address(0)) && elements.extent().contains(&last));
            (0..SLOTS).map(address).collect()
        }
        for layout in [Layout::Shared, Layout::Private { stride: 1 }, Layout::Private { stride: 50 }] {
            for addresses in [addresses::<AtomicU32>(layout), addresses::<AtomicU64>(layout)] {
                assert!(addresses.iter().all(|address| address.is_multiple_of(ALIGNMENT)));
                assert!(addresses.windows(2).all(|pair| pair[1] >= pair[0] + ALIGNMENT));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_touched() {
        let case = |layout, threads| Case { layout: Some(layout), threads, dtype: Some(Dtype::U64), ..Case::new("a") };
        let far = Layout::Private { stride: MOST_STRIDE };
        let refused = |case: &Case, free| matches!(room_for(case, || free), Err(Refusal::Prevented(_)));
        assert!(refused(&case(far, Some(2)), Some(1 << 33)) && refused(&case(far, Some(u32::MAX)), Some(1 << 60)));
        assert!(!refused(&case(far, Some(1)), Some(SLOTS as u64 * 8 * u64::from(MOST_STRIDE))));
        assert!(!refused(&case(far, Some(2)), None) && !refused(&case(Layout::Shared, Some(2)), Some(0)));
    }

    #[test]
    fn elements_are_shared_or_private() {
        let case = |layout| Case { layout: Some(layout), threads: Some(3), ..Case::new("cpu.atomic.add") };
        let address = |elements: &Elements<AtomicU32>, thread| std::ptr::from_ref(elements.get(1, thread)).addr();
        let shared = Elements::<AtomicU32>::of(&case(Layout::Shared)).unwrap();
        assert_eq!(address(&shared, 0), address(&shared, 2));
        assert_eq!((shared.sharers(), shared.users(2)), (3, 0..3));
        assert!(shared.owned(0, 0).is_some() && shared.owned(0, 1).is_none());
        let private = Elements::<AtomicU32>::of(&case(Layout::Private { stride: 4 })).unwrap();
        assert_eq!(address(&private, 2) - address(&private, 0), 2 * 4 * 4);
        assert_eq!((private.sharers(), private.users(2)), (1, 2..3));
        assert!(private.owned(0, 1).is_some());
    }
}

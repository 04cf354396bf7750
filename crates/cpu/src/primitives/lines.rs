//! Memory whose place relative to cache lines is known.

use syncscope_core::{Case, Layout};

use super::operation::SLOTS;

/// Alignment of arrays: a multiple of every line length in common use (64 bytes; 128 on some ARM and POWER cores, and
/// as the pair of lines that x86 prefetches).
const ALIGNMENT: usize = 128;

/// Elements that start at a 128-byte boundary.
pub(crate) struct Aligned<T> {
    elements: Vec<T>,
    first: usize,
}

impl<T: Default> Aligned<T> {
    /// `count` elements with their default value.
    pub(crate) fn new(count: usize) -> Self {
        let spare = ALIGNMENT / size_of::<T>().max(1);
        let elements: Vec<T> = std::iter::repeat_with(T::default).take(count + 2 * spare).collect();
        // One more alignment's worth of elements behind the last one keeps strangers off its line.
        let first = elements.as_ptr().align_offset(ALIGNMENT).min(spare);
        Self { elements, first }
    }

    /// Element `index`, counted from the boundary.
    pub(crate) fn get(&self, index: usize) -> &T {
        &self.elements[self.first + index]
    }
}

/// What the columns `layout` and `stride` describe: in each slot one element for all threads, or one for each.
pub(crate) struct Elements<T> {
    slots: Vec<Aligned<T>>,
    layout: Layout,
    threads: u32,
}

impl<T: Default> Elements<T> {
    /// The elements of a case. `None` if it has no layout or no threads.
    pub(crate) fn of(case: &Case) -> Option<Self> {
        let (layout, threads) = (case.layout?, case.threads?);
        let count = match layout {
            Layout::Shared => 1,
            Layout::Private { stride } => threads as usize * stride as usize,
        };
        Some(Self { slots: std::iter::repeat_with(|| Aligned::new(count)).take(SLOTS).collect(), layout, threads })
    }

    /// The element that `thread` uses.
    pub(crate) fn get(&self, slot: usize, thread: usize) -> &T {
        self.slots[slot].get(match self.layout {
            Layout::Shared => 0,
            Layout::Private { stride } => thread * stride as usize,
        })
    }

    /// The element that `thread` looks after, before and after it is used; one thread does so for all that share it.
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

    #[test]
    fn arrays_start_at_a_boundary() {
        for count in [1, 3, 1000] {
            let narrow = Aligned::<AtomicU32>::new(count);
            let wide = Aligned::<AtomicU64>::new(count);
            assert_eq!(std::ptr::from_ref(narrow.get(0)).addr() % ALIGNMENT, 0);
            assert_eq!(std::ptr::from_ref(wide.get(0)).addr() % ALIGNMENT, 0);
            let _last = (narrow.get(count - 1), wide.get(count - 1));
        }
    }

    #[test]
    fn elements_are_shared_or_private() {
        let case = |layout| Case { layout: Some(layout), threads: Some(3), ..Case::new("cpu.atomic.add") };
        let place = |elements: &Elements<AtomicU32>, thread| std::ptr::from_ref(elements.get(1, thread)).addr();
        let shared = Elements::<AtomicU32>::of(&case(Layout::Shared)).unwrap();
        assert_eq!(place(&shared, 0), place(&shared, 2));
        assert_eq!((shared.sharers(), shared.users(2)), (3, 0..3));
        assert!(shared.owned(0, 0).is_some() && shared.owned(0, 1).is_none());
        let private = Elements::<AtomicU32>::of(&case(Layout::Private { stride: 4 })).unwrap();
        assert_eq!(place(&private, 2) - place(&private, 0), 2 * 4 * 4);
        assert_eq!((private.sharers(), private.users(2)), (1, 2..3));
        assert!(private.owned(0, 1).is_some());
    }
}

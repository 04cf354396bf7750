//! Memory on whole pages of its own.
//!
//! An allocator hands out pages that another thread touched before, perhaps on another NUMA node. Measured data
//! therefore comes from the operating system directly, and the thread that makes it touches it first.
//! `page_homes.rs` asks which nodes the pages are on.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::{ptr, slice};

use crate::sync::BetweenProcesses;

/// Elements that share their pages with nothing else. The thread that calls [`Pages::filled`] touches them first.
pub(crate) struct Pages<T> {
    first: NonNull<T>,
    count: usize,
    /// Length of the mapping; `None` where the elements stand in memory that belongs to something else.
    bytes: Option<usize>,
}

// SAFETY: it owns its elements as a boxed slice does.
unsafe impl<T: Send> Send for Pages<T> {}
// SAFETY: as above; a shared reference gives shared references to the elements and nothing else.
unsafe impl<T: Sync> Sync for Pages<T> {}

impl<T> Pages<T> {
    /// `count` elements, element `i` being `make(i)`. Without memory the program ends, as with every other allocation.
    pub(crate) fn filled(count: usize, mut make: impl FnMut(usize) -> T) -> Self {
        const { assert!(align_of::<T>() <= SMALLEST_PAGE) };
        let bytes = count.saturating_mul(size_of::<T>()).max(1);
        let mut pages = Self { first: map(bytes).cast(), count: 0, bytes: Some(bytes) };
        for index in 0..count {
            // SAFETY: the mapping has room for `count` elements, and pages are aligned to more than an element is.
            unsafe { pages.first.add(index).write(make(index)) };
            // Counted one by one: if `make` panics, the elements made so far are dropped and nothing else.
            pages.count = index + 1;
        }
        pages
    }

    /// `count` elements that stand in memory which several processes map.
    ///
    /// # Safety
    /// From `first` on there are `count` elements, which are never dropped and live as long as this process.
    pub(crate) unsafe fn shared(first: NonNull<T>, count: usize) -> Self
    where
        T: BetweenProcesses,
    {
        const { assert!(!std::mem::needs_drop::<T>()) };
        Self { first, count, bytes: None }
    }

    /// The addresses of the elements.
    pub(crate) fn extent(&self) -> Range<usize> {
        let start = self.first.as_ptr().addr();
        start..start + self.count * size_of::<T>()
    }
}

impl<T> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `count` elements were written, one after the other, and live as long as `self`.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl<T> AsRef<[T]> for Pages<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        let Some(bytes) = self.bytes else { return };
        let elements = ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.count);
        // SAFETY: no reference to the elements is left, and they are dropped only here.
        unsafe { ptr::drop_in_place(elements) };
        // SAFETY: the range is the mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), bytes) };
    }
}

/// The smallest page of any system that Linux runs on.
pub(super) const SMALLEST_PAGE: usize = 4096;

/// Fresh pages for that many bytes, at least one.
pub(super) fn map(bytes: usize) -> NonNull<u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice overlaps no memory in use.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    match NonNull::new(address.cast()) {
        Some(first) if address != libc::MAP_FAILED => first,
        _ => handle_alloc_error(Layout::from_size_align(bytes, SMALLEST_PAGE).unwrap_or(Layout::new::<u8>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn elements_are_made_and_dropped() {
        let counted = Arc::new(());
        let pages = Pages::filled(1000, |index| (index, Arc::clone(&counted)));
        assert_eq!(pages.len(), 1000);
        assert!(pages.iter().enumerate().all(|(index, element)| element.0 == index));
        assert_eq!(Arc::strong_count(&counted), 1001);
        drop(pages);
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(Pages::filled(0, |_| 1_u8).is_empty());
    }

    #[test]
    fn a_panic_drops_the_elements_made_so_far() {
        let counted = Arc::new(());
        let make = || {
            Pages::filled(10, |index| {
                assert!(index < 5, "on purpose");
                Arc::clone(&counted)
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).is_err());
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn elements_begin_at_a_page() {
        let pages = Pages::filled(3 * 4096, |_| 1_u8);
        assert!(pages.extent().start.is_multiple_of(SMALLEST_PAGE));
    }
}

//! Memory in whole pages of its own, and the NUMA nodes it is really on.
//!
//! The allocator hands out pages that another thread has touched before, on whatever node that thread ran. Where the place of
//! memory is part of what is measured, it therefore comes from the operating system directly, and the thread that makes it
//! touches it first (Linux `Documentation/admin-guide/mm/numa_memory_policy.rst`: the default policy takes pages from
//! the node of the CPU that touches them). Whether they came from there is asked, not assumed.

use std::alloc::{Layout, handle_alloc_error};
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::{io, ptr, slice};

use syncscope_host::cpu_list;

/// Elements that share their pages with nothing else, made and touched first by the thread that calls [`Pages::filled`].
pub(crate) struct Pages<T> {
    first: NonNull<T>,
    count: usize,
    /// Length of the mapping.
    bytes: usize,
}

// SAFETY: it owns its elements as a boxed slice does.
unsafe impl<T: Send> Send for Pages<T> {}
// SAFETY: as above; a shared reference gives shared references to the elements and nothing else.
unsafe impl<T: Sync> Sync for Pages<T> {}

impl<T> Pages<T> {
    /// `count` elements, element `i` being `make(i)`. Where there is no memory the program ends, as with every other
    /// allocation.
    pub(crate) fn filled(count: usize, mut make: impl FnMut(usize) -> T) -> Self {
        const { assert!(align_of::<T>() <= SMALLEST_PAGE) };
        let bytes = count.saturating_mul(size_of::<T>()).max(1);
        let mut pages = Self { first: map(bytes).cast(), count: 0, bytes };
        for index in 0..count {
            // SAFETY: the mapping has room for `count` elements, and pages are aligned to more than an element is.
            unsafe { pages.first.add(index).write(make(index)) };
            // Counted one by one: should `make` panic, what is there is dropped and nothing else.
            pages.count = index + 1;
        }
        pages
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

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        let elements = ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.count);
        // SAFETY: nobody can use the elements any more, and they are dropped here alone.
        unsafe { ptr::drop_in_place(elements) };
        // SAFETY: the range is the mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}

/// The smallest page of any system that Linux runs on.
const SMALLEST_PAGE: usize = 4096;

/// Fresh pages for that many bytes, at least one.
fn map(bytes: usize) -> NonNull<u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice concerns no memory that is in use.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    match NonNull::new(address.cast()) {
        Some(first) if address != libc::MAP_FAILED => first,
        _ => handle_alloc_error(Layout::from_size_align(bytes, SMALLEST_PAGE).unwrap_or(Layout::new::<u8>())),
    }
}

/// On which NUMA nodes some memory is: the number of pages on each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pages: BTreeMap<u32, usize>,
}

impl Whereabouts {
    /// Asks the operating system (`move_pages(2)`, which moves nothing if no nodes are given).
    ///
    /// # Errors
    /// What the system says (`EPERM`: a container's seccomp profile forbids to ask), also of a single page.
    pub(crate) fn of(extents: &[Range<usize>]) -> io::Result<Self> {
        let addresses: Vec<usize> = extents.iter().flat_map(|extent| pages_of(extent, page_bytes())).collect();
        let mut statuses = vec![-libc::ENOENT; addresses.len()];
        // SAFETY: both arrays have as many entries as the call is told; without an array of nodes it writes to `statuses`
        // alone, and the addresses are only looked up. 0 is this process.
        let result = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                addresses.len(),
                addresses.as_ptr(),
                ptr::null::<i32>(),
                statuses.as_mut_ptr(),
                0,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut pages = BTreeMap::new();
        for status in statuses {
            let node = u32::try_from(status).map_err(|_| io::Error::from_raw_os_error(-status))?;
            *pages.entry(node).or_default() += 1;
        }
        Ok(Self { pages })
    }

    /// The node that all of it is on; `None` where it is on several or there is none of it.
    pub(crate) fn node(&self) -> Option<u32> {
        let mut nodes = self.pages.keys();
        nodes.next().copied().filter(|_| nodes.next().is_none())
    }
}

impl std::fmt::Display for Whereabouts {
    /// `NUMA node 1`, `NUMA nodes 0-1`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes: Vec<u32> = self.pages.keys().copied().collect();
        write!(f, "NUMA node{} {}", if nodes.len() == 1 { "" } else { "s" }, cpu_list::format(&nodes))
    }
}

fn page_bytes() -> usize {
    // SAFETY: the call takes a number and returns one.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(SMALLEST_PAGE).max(SMALLEST_PAGE)
}

/// The addresses of the pages of a range.
fn pages_of(extent: &Range<usize>, page: usize) -> impl Iterator<Item = usize> {
    (extent.start / page * page..extent.end).step_by(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn elements_are_made_and_dropped() {
        let witness = Arc::new(());
        let pages = Pages::filled(1000, |index| (index, Arc::clone(&witness)));
        assert_eq!(pages.len(), 1000);
        assert!(pages.iter().enumerate().all(|(index, element)| element.0 == index));
        assert_eq!(Arc::strong_count(&witness), 1001);
        drop(pages);
        assert_eq!(Arc::strong_count(&witness), 1);
        assert!(Pages::filled(0, |_| 1_u8).is_empty());
    }

    #[test]
    fn a_panic_while_they_are_made_drops_those_that_are() {
        let witness = Arc::new(());
        let make = || {
            Pages::filled(10, |index| {
                assert!(index < 5, "on purpose");
                Arc::clone(&witness)
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).is_err());
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn pages_are_whole_and_counted() {
        let pages = Pages::filled(3 * 4096, |_| 1_u8);
        assert!(pages.extent().start.is_multiple_of(SMALLEST_PAGE));
        assert_eq!(pages_of(&(8192..8193), 4096).collect::<Vec<_>>(), [8192]);
        assert_eq!(pages_of(&(8200..16385), 4096).collect::<Vec<_>>(), [8192, 12288, 16384]);
        assert_eq!(pages_of(&(0..0), 4096).count(), 0);
    }

    #[test]
    fn memory_that_was_touched_is_somewhere() {
        let pages = Pages::filled(5 * 4096, |_| 1_u8);
        // A sandbox may forbid to ask, or not know the call.
        match Whereabouts::of(&[pages.extent()]) {
            Ok(found) => {
                assert_eq!(found.pages.values().sum::<usize>(), (5 * 4096_usize).div_ceil(page_bytes()));
                assert!(found.node().is_none_or(|node| found.to_string() == format!("NUMA node {node}")));
            }
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)), "{error}"),
        }
    }

    #[test]
    fn memory_that_nobody_touched_is_an_error_and_not_node_0() {
        let untouched = map(4096);
        let start = untouched.as_ptr().addr();
        let extents = std::array::from_fn::<_, 1, _>(|_| start..start + 4096);
        assert!(Whereabouts::of(&extents).is_err());
        // SAFETY: the mapping was made above and nobody else knows it.
        unsafe { libc::munmap(untouched.as_ptr().cast(), 4096) };
    }

    #[test]
    fn several_nodes_are_told_as_such() {
        let found = Whereabouts { pages: [(0, 3), (1, 1)].into() };
        assert_eq!((found.node(), found.to_string()), (None, "NUMA nodes 0-1".to_owned()));
        assert_eq!(Whereabouts { pages: BTreeMap::new() }.node(), None);
    }
}

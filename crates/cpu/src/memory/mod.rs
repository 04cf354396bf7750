//! Memory on whole pages of its own, and the NUMA nodes that it is on.
//!
//! An allocator hands out pages that another thread touched before, perhaps on another NUMA node. Measured data
//! therefore comes from the operating system directly, and the thread that makes it touches it first. By default Linux takes
//! a page from the node of the CPU that touches it first (`Documentation/admin-guide/mm/numa_memory_policy.rst`). A full
//! node or a policy (numactl, cpuset.mems) may change that, so [`PageHomes`] asks the system.

pub(crate) mod inherited;

use std::alloc::{Layout, handle_alloc_error};
use std::collections::BTreeSet;
use std::ops::{Deref, Range};
use std::ptr::{self, NonNull};
use std::{fmt, io, slice};

use syncscope_core::Refusal;
use syncscope_host::{cpu_list, limits};

use crate::sync::BetweenProcesses;
use syncscope_machine::system::System;
use syncscope_machine::topology::Topology;

/// Elements that share their pages with nothing else. The thread that calls [`Pages::filled`] touches them first.
pub(crate) struct Pages<T> {
    first: NonNull<T>,
    count: usize,
    /// Length of the mapping; `None` where the elements are in memory that belongs to something else.
    bytes: Option<usize>,
}

// SAFETY: `Pages` owns its elements as a boxed slice does.
unsafe impl<T: Send> Send for Pages<T> {}
// SAFETY: as above; a shared reference gives shared references to the elements and nothing else.
unsafe impl<T: Sync> Sync for Pages<T> {}

impl<T> Pages<T> {
    /// Makes `count` elements, element `i` by `make(i)`. Without memory the program ends, as with any other allocation.
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

    /// Wraps `count` elements in memory that several processes map.
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

/// The bytes that this process can have without taking them from another one; `None` where the system does not say.
pub(crate) fn free(system: &System) -> Option<u64> {
    [system.available_bytes(), limits::memory()].into_iter().flatten().min()
}

/// The smallest page of any system that Linux runs on.
const SMALLEST_PAGE: usize = 4096;

/// Maps fresh pages for `bytes` bytes, at least one.
fn map(bytes: usize) -> NonNull<u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the system's choice overlaps no memory in use.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    match NonNull::new(address.cast()) {
        Some(first) if address != libc::MAP_FAILED => first,
        _ => handle_alloc_error(Layout::from_size_align(bytes, SMALLEST_PAGE).unwrap_or(Layout::new::<u8>())),
    }
}

/// The NUMA nodes that pages are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHomes(BTreeSet<u32>);

impl PageHomes {
    /// Asks the operating system about the pages of some address ranges (`move_pages(2)`, which moves nothing if no
    /// nodes are given).
    ///
    /// # Errors
    /// The system's error, for the call or for a single page (`EPERM`: a container's seccomp profile forbids the call).
    pub(crate) fn of(extents: &[Range<usize>]) -> io::Result<Self> {
        let addresses: Vec<usize> = extents.iter().flat_map(|extent| pages_of(extent, page_bytes())).collect();
        let mut statuses = vec![-libc::ENOENT; addresses.len()];
        // SAFETY: both arrays have as many entries as the call is given. Without an array of nodes it writes to
        // `statuses` alone and only looks up the addresses. 0 is this process.
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
        let node = |status: i32| u32::try_from(status).map_err(|_| io::Error::from_raw_os_error(-status));
        statuses.into_iter().map(node).collect::<io::Result<_>>().map(Self)
    }

    /// The node that all pages are on; `None` where they are on several, or there is no page.
    pub(crate) fn node(&self) -> Option<u32> {
        self.0.first().copied().filter(|_| self.0.len() == 1)
    }
}

impl fmt::Display for PageHomes {
    /// `NUMA node 1`, `NUMA nodes 0-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<u32> = self.0.iter().copied().collect();
        write!(f, "NUMA node{} {}", if nodes.len() == 1 { "" } else { "s" }, cpu_list::format(&nodes))
    }
}

/// The CPU whose first touch puts memory on a node.
///
/// # Errors
/// When this process may use no CPU of the node.
pub(crate) fn first_touch_cpu(topology: &Topology, node: u32) -> Result<u32, Refusal> {
    let near = topology.allowed().find(|thread| thread.numa_node == Some(node));
    near.map(|thread| thread.os).ok_or_else(|| {
        Refusal::Skipped(format!(
            "no CPU this process may use is next to NUMA node {node}, to touch memory there first"
        ))
    })
}

/// Checks that memory first touched by `cpu` is on `node`, and returns the remark for the row.
///
/// # Errors
/// When the memory is elsewhere, or the system does not say where it is.
pub(crate) fn verify(extents: &[Range<usize>], node: u32, cpu: u32) -> Result<String, Refusal> {
    judge(PageHomes::of(extents), node, cpu)
}

fn judge(found: io::Result<PageHomes>, node: u32, cpu: u32) -> Result<String, Refusal> {
    match found {
        Ok(found) if found.node() == Some(node) => Ok(format!("the line is on {found}")),
        Ok(found) => Err(Refusal::Skipped(format!(
            "memory first touched by CPU {cpu} of NUMA node {node} is on {found}: node {node} has no free memory, or a \
             policy (numactl, cpuset.mems) keeps this process off it"
        ))),
        Err(error) => Err(Refusal::Skipped(format!(
            "the system does not say where the line is (move_pages: {error}); a container needs the capability SYS_NICE"
        ))),
    }
}

/// The remark for a row whose memory is not near the first CPU of its threads. `None` where it is, or where the system
/// does not say.
pub(crate) fn misplaced(topology: &Topology, extents: &[Range<usize>], first_cpu: u32) -> Option<String> {
    let expected = topology.threads.iter().find(|thread| thread.os == first_cpu)?.numa_node?;
    if topology.numa_nodes.len() < 2 || extents.is_empty() {
        return None;
    }
    let found = PageHomes::of(extents).ok()?;
    let is_misplaced = found.node() != Some(expected);
    is_misplaced.then(|| format!("the line is on {found}, not on node {expected} of CPU {first_cpu}"))
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
    use std::sync::Arc;

    use super::*;
    use syncscope_machine::topology::regular;

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

    #[test]
    fn a_range_has_all_pages_that_it_touches() {
        assert_eq!(pages_of(&(8192..8193), 4096).collect::<Vec<_>>(), [8192]);
        assert_eq!(pages_of(&(8200..16385), 4096).collect::<Vec<_>>(), [8192, 12288, 16384]);
        assert_eq!(pages_of(&(0..0), 4096).count(), 0);
    }

    #[test]
    fn touched_memory_has_homes() {
        let pages = Pages::filled(5 * 4096, |_| 1_u8);
        // The system answers for each of them, or not at all.
        assert_eq!(pages_of(&pages.extent(), page_bytes()).count(), (5 * 4096_usize).div_ceil(page_bytes()));
        // A sandbox may forbid the call, or not know it.
        match PageHomes::of(&[pages.extent()]) {
            Ok(found) => {
                assert!(!found.0.is_empty());
                assert!(found.node().is_none_or(|node| found.to_string() == format!("NUMA node {node}")));
            }
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)), "{error}"),
        }
    }

    #[test]
    fn untouched_memory_is_an_error_and_not_on_node_0() {
        let untouched = map(4096);
        let start = untouched.as_ptr().addr();
        let extents = std::array::from_fn::<_, 1, _>(|_| start..start + 4096);
        assert!(PageHomes::of(&extents).is_err());
        // SAFETY: the mapping was made above and nothing else refers to it.
        unsafe { libc::munmap(untouched.as_ptr().cast(), 4096) };
    }

    #[test]
    fn several_nodes_are_all_named() {
        let found = PageHomes([0, 1].into());
        assert_eq!((found.node(), found.to_string()), (None, "NUMA nodes 0-1".to_owned()));
        assert_eq!(PageHomes(BTreeSet::new()).node(), None);
    }

    #[test]
    fn a_node_without_a_usable_cpu_has_no_first_touch() {
        let machine = regular(2, 1, 1, 4, 1).restricted(|cpu| cpu < 4);
        assert_eq!(first_touch_cpu(&machine, 0), Ok(0));
        assert!(
            matches!(first_touch_cpu(&machine, 1), Err(Refusal::Skipped(reason)) if reason.contains("NUMA node 1"))
        );
    }

    #[test]
    fn memory_on_another_node_is_refused() {
        let pages = Pages::filled(100, |_| 0_u64);
        // No machine has this node.
        assert!(matches!(verify(&[pages.extent()], 9999, 3), Err(Refusal::Skipped(_))));
        let denied = judge(Err(io::Error::from_raw_os_error(libc::EPERM)), 0, 0);
        assert!(
            matches!(denied, Err(Refusal::Skipped(reason)) if reason.contains("move_pages") && reason.contains("SYS_NICE"))
        );
        let found = PageHomes([1].into());
        assert_eq!(judge(Ok(found.clone()), 1, 0), Ok("the line is on NUMA node 1".to_owned()));
        let elsewhere = judge(Ok(found), 2, 7);
        assert!(
            matches!(elsewhere, Err(Refusal::Skipped(reason)) if reason.contains("CPU 7 of NUMA node 2 is on NUMA node 1:"))
        );
    }

    #[test]
    fn a_machine_with_one_node_has_no_misplaced_memory() {
        let pages = Pages::filled(100, |_| 0_u64);
        assert_eq!(misplaced(&regular(1, 1, 1, 4, 1), &[pages.extent()], 0), None);
        assert_eq!(misplaced(&regular(2, 1, 1, 4, 1), &[], 0), None);
    }
}

//! Memory whose place relative to cache lines is known.

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
}

//! Stable sorts that are compiled once. The standard library's is compiled anew, to 5 KB, for each kind of element and each
//! comparison; of this one only the last step is. For all lists whose sorting takes no time.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// In place of `sort_by` and `sort_by_key`.
pub trait Order<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|one, other| key(one).cmp(&key(other)));
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut sources = sources(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        for index in 0..self.len() {
            // What stood there was swapped to where an earlier element came from.
            let mut source = sources[index];
            while source < index {
                source = sources[source];
            }
            sources[index] = source;
            self.swap(index, source);
        }
    }
}

/// Sets and maps in place of `collect`, which sorts first. Of equal keys the last one counts.
pub trait Ordered: Iterator + Sized {
    /// All items.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }

    /// All pairs of a key and a value.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }
}

impl<I: Iterator> Ordered for I {}

/// For each place of the sorted list, where its element stands now.
fn sources(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sources: Vec<usize> = (0..count).collect();
    sources.sort_by(|one, other| compare(*one, *other));
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library_does() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in 0..60 {
            let list: Vec<(u8, usize)> = (0..count).map(|index| (random.u8(0..8), index)).collect();
            let (mut one, mut other) = (list.clone(), list);
            one.order_by_key(|(key, _)| *key);
            other.sort_by_key(|(key, _)| *key);
            assert_eq!(one, other, "equal keys stay in order");
            one.order_by(|a, b| b.1.cmp(&a.1));
            other.sort_by_key(|one| std::cmp::Reverse(one.1));
            assert_eq!(one, other);
        }
    }
}

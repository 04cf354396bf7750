//! Items by their keys.

use std::collections::BTreeMap;

/// The items of each key, in the order of the keys.
pub(super) fn sets<K: Ord, V>(items: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut sets: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, item) in items {
        sets.entry(key).or_default().push(item);
    }
    sets
}

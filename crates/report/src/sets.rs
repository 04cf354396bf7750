//! Items by their keys.

use std::collections::BTreeMap;

/// The items of each key, in the order of the keys.
pub(crate) fn sets<K: Ord, V>(items: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut sets: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, item) in items {
        sets.entry(key).or_default().push(item);
    }
    sets
}

/// The items of each key, in the order in which the keys first occur.
pub fn in_groups<K: PartialEq, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

//! Collects items by their keys.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// The items of each key, in the order of the keys.
pub fn sets<K: Ord, V>(items: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut sets: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, item) in items {
        sets.entry(key).or_default().push(item);
    }
    sets
}

/// The items, each once, in the order in which they first occur.
pub fn unique<T: Eq + Hash + Clone>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

/// The items of each key, in the order in which the keys first occur.
pub fn in_groups<K: Eq + Hash + Clone, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, item) in items {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

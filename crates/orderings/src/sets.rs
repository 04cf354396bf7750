//! Which changes can be made together, of those that can be made one by one.

/// The most sets that are tried.
const MOST_TRIED: usize = 16;

/// The largest sets of changes that pass together: all changes, else all but one, all but two, down to pairs. `passes` judges
/// several sets at a time. Empty where no pair passes, or no set that was tried.
pub fn largest_sets(changes: usize, mut passes: impl FnMut(&[Vec<usize>]) -> Vec<bool>) -> Vec<Vec<usize>> {
    let mut level = vec![(0..changes).collect::<Vec<usize>>()];
    let mut left = MOST_TRIED;
    while left > 0 && level.first().is_some_and(|set| set.len() > 1) {
        level.truncate(left);
        left -= level.len();
        let found: Vec<Vec<usize>> =
            level.iter().zip(passes(&level)).filter(|(_, passes)| *passes).map(|(set, _)| set.clone()).collect();
        if !found.is_empty() {
            return found;
        }
        let without_one = |set: &Vec<usize>| -> Vec<Vec<usize>> {
            set.iter().map(|left_out| set.iter().copied().filter(|one| one != left_out).collect()).collect()
        };
        level = level.iter().flat_map(without_one).collect();
        level.sort_unstable();
        level.dedup();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_that_does_not_fit_costs_the_others_nothing() {
        let of = |conflicts: &[(usize, usize)], changes| {
            let mut tried = 0;
            let sets = largest_sets(changes, |sets| {
                tried += sets.len();
                let holds = |set: &Vec<usize>| !conflicts.iter().any(|(a, b)| set.contains(a) && set.contains(b));
                sets.iter().map(holds).collect()
            });
            (sets, tried)
        };
        assert_eq!(of(&[], 4), (vec![vec![0, 1, 2, 3]], 1));
        // The first two exclude each other: trying prefixes alone would end at the pair.
        assert_eq!(of(&[(0, 1)], 4), (vec![vec![0, 2, 3], vec![1, 2, 3]], 5));
        assert_eq!(of(&[(0, 1), (1, 2), (0, 2)], 3), (Vec::new(), 4), "no pair");
        assert_eq!(of(&[], 1).0, Vec::<Vec<usize>>::new());
        assert!(of(&[(0, 1), (2, 3), (4, 5), (6, 7)], 8).1 <= MOST_TRIED);
    }
}

//! Layouts: the places in memory at which a user's code is measured. The position decides what some loops cost: an untimed
//! function in front of a scan of flags moved it by 48 bytes, and it took 1.17 times as long.
//!
//! Each pass over the cases has a layout, which places every function by its name. Two operations are compared in the same
//! layouts, so that equal code costs the same, whatever else is in the files. Different code reacts differently to a layout:
//! the ratios in the layouts show by how much, and the interval of the ratio is made of them.
//!
//! Compilers align functions to 16 bytes, and a core fetches lines of 64. Four layouts in turn make a group, in which every
//! function begins once at each of the four places in a line. Groups differ in the place in a page, and all layouts in the
//! address, by which a core predicts branches: on a Sapphire Rapids the ratio of two inner loops of 100 iterations differs
//! by 3 % from layout to layout, so that 24 layouts do not show a difference of 2 %.

use std::collections::BTreeMap;

use crate::stats::median;

/// The places of a function in a line, and so the layouts of a group.
pub const PLACES: u32 = 4;

/// The number of layouts.
pub const LAYOUTS: u32 = 24 * PLACES;

/// The fewest layouts whose median has an interval by ranks.
const FEWEST: usize = 6;

/// The layout of a pass; passes count from one.
pub const fn of_pass(pass: u32) -> u32 {
    pass.saturating_sub(1) % LAYOUTS
}

/// The ratio of two costs in each layout, given both costs in each pass. Costs of one pass share the state of the machine.
/// Empty where there are too few layouts to tell how they differ.
pub fn ratios(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Vec<f64> {
    let mut layouts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (pass, ratio) in of_passes(one, other) {
        layouts.entry(of_pass(pass)).or_default().push(ratio);
    }
    if layouts.len() < FEWEST { Vec::new() } else { layouts.values().filter_map(|of| median(of)).collect() }
}

/// The ratio of two costs in each pass that has both.
pub fn of_passes(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Vec<(u32, f64)> {
    let both = other.iter().filter_map(|(pass, cost)| Some((*pass, one.get(pass)? / cost)));
    both.filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_go_through_all_layouts_in_turn() {
        let layouts: Vec<u32> = (1..=2 * LAYOUTS).map(of_pass).collect();
        assert_eq!(layouts[..LAYOUTS as usize], (0..LAYOUTS).collect::<Vec<_>>());
        assert_eq!(layouts[..LAYOUTS as usize], layouts[LAYOUTS as usize..]);
    }

    /// Whatever a layout and the state of the machine make of a cost.
    #[test]
    fn what_a_layout_does_to_both_cancels_out_and_what_it_does_to_one_shows() {
        let costs = |of_layout: fn(u32) -> f64| -> BTreeMap<u32, f64> {
            (1..=10 * LAYOUTS).map(|pass| (pass, f64::from(1 + pass / 50) * of_layout(of_pass(pass)))).collect()
        };
        let by_layout = costs(|layout| 10.0 + f64::from(layout * layout % 7));
        let twice: BTreeMap<u32, f64> = by_layout.iter().map(|(pass, cost)| (*pass, 2.0 * cost)).collect();
        assert_eq!(ratios(&twice, &by_layout), [2.0; LAYOUTS as usize]);
        let other = ratios(&by_layout, &costs(|_| 10.0));
        assert!(other.iter().any(|ratio| *ratio > 1.3) && other.contains(&1.0), "{other:?}");
    }

    #[test]
    fn passes_of_which_one_half_is_missing_do_not_count() {
        let all: BTreeMap<u32, f64> = (1..=LAYOUTS).map(|pass| (pass, 2.0)).collect();
        let some: BTreeMap<u32, f64> =
            all.iter().filter(|(pass, _)| **pass > 7).map(|(pass, cost)| (*pass, *cost)).collect();
        assert_eq!(ratios(&all, &some).len(), LAYOUTS as usize - 7);
        let few: BTreeMap<u32, f64> = (1..=5).map(|pass| (pass, 2.0)).collect();
        assert!(ratios(&all, &few).is_empty() && of_passes(&all, &few).len() == 5);
        assert_eq!(ratios(&all, &(1..=6).map(|pass| (pass, 4.0)).collect()), [0.5; 6]);
    }
}

//! Says what changed in a few sentences: families and primitives that changed together, largest first, and what could not
//! have been seen.

use std::collections::BTreeSet;

use super::case::{Change, ComparedCase, by_family};
use crate::figure::{self, percent};
use crate::naming::{enumeration, plural};
use syncscope_core::sets::sets;
use syncscope_core::stats::median;

/// The most groups to name in each direction; the others are counted.
const MOST_GROUPS: usize = 5;

/// Cases that changed alike.
struct Group<'c> {
    name: String,
    /// The median ratio of the cases that changed.
    ratio: f64,
    changed: usize,
    of: usize,
    change: &'c Change,
}

/// Says what changed, for the head of a comparison.
pub(super) fn sentences(cases: &[ComparedCase<'_>], threshold: f64) -> Vec<String> {
    let groups = groups(cases);
    let direction = |change: Change| {
        let all: Vec<&Group<'_>> = groups.iter().filter(|group| *group.change == change).collect();
        let shown = if all.len() > MOST_GROUPS + 1 { MOST_GROUPS } else { all.len() };
        let named: Vec<String> = all[..shown].iter().enumerate().map(|(at, group)| in_words(group, at == 0)).collect();
        let more = if shown < all.len() {
            format!("; {} more groups are {change}, too", all.len() - shown)
        } else {
            String::new()
        };
        (!named.is_empty()).then(|| format!("some cases are {change} in B: {}{more}", enumeration(&named)))
    };
    let changes: Vec<String> = [Change::Slower, Change::Faster].into_iter().filter_map(direction).collect();
    let elsewhere = cases.iter().filter(|case| case.change == Change::AnotherState).count();
    let in_another_state = (elsewhere > 0).then(|| {
        let [cost, counts] = if elsewhere == 1 { ["cost", "counts"] } else { ["costs", "count"] };
        format!("{elsewhere} {cost} changed, but in another state of the machine, and so {counts} as neither slower nor faster")
    });
    let is_tested = cases.iter().filter(|case| case.p_value.is_some()).count() > elsewhere;
    let other = if elsewhere > 0 { "other " } else { "" };
    let nothing = (changes.is_empty() && is_tested)
        .then(|| format!("no {other}cost certainly changed by more than {}", percent(threshold)));
    changes
        .into_iter()
        .chain(in_another_state)
        .chain(nothing)
        .chain(least_changes(cases))
        .chain(without_intervals(cases))
        .collect()
}

/// Groups changes by family if several of its primitives changed, all in one direction, and otherwise by primitive.
fn groups<'c>(cases: &'c [ComparedCase<'_>]) -> Vec<Group<'c>> {
    let is_change = |case: &&&ComparedCase<'_>| matches!(case.change, Change::Slower | Change::Faster);
    let group = |name: &str, of: &[&'c ComparedCase<'_>], change: &'c Change| {
        let changed: Vec<f64> =
            of.iter().filter(|case| case.change == *change).filter_map(|case| case.ratio.or(case.low)).collect();
        let of = of.iter().filter(|case| case.change != Change::NotComparable).count();
        Some(Group { name: name.to_owned(), ratio: median(&changed)?, changed: changed.len(), of, change })
    };
    let of_family = |(family, all): (String, Vec<&'c ComparedCase<'_>>)| -> Vec<Group<'c>> {
        let mut changes: Vec<&Change> = all.iter().filter(is_change).map(|case| &case.change).collect();
        changes.sort();
        changes.dedup();
        let primitives: BTreeSet<&str> = all.iter().filter(is_change).map(|case| &*case.a.case.primitive).collect();
        if let ([change], true) = (&changes[..], primitives.len() > 1) {
            return group(&family, &all, change).into_iter().collect();
        }
        let of_primitive = sets(all.iter().map(|case| (case.a.case.primitive.as_str(), *case)));
        let each = of_primitive.iter().flat_map(|(primitive, of)| {
            changes.iter().filter_map(|change| group(primitive, of, change)).collect::<Vec<_>>()
        });
        each.collect()
    };
    let mut groups: Vec<Group<'_>> = by_family(cases).into_iter().flat_map(of_family).collect();
    groups.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    groups
}

/// `gpu.cluster costs 0.50 times as much (24 of 30 cases)`, or after another group `gpu.cluster 0.50 times (24 of 30
/// cases)`.
fn in_words(group: &Group<'_>, is_first: bool) -> String {
    let Group { name, ratio, changed, of, .. } = group;
    let [verb, rest] = if is_first { [" costs", " as much"] } else { [""; 2] };
    format!("{name}{verb} {} times{rest} ({changed} of {})", figure::ratio(*ratio), plural(*of, "case"))
}

/// The smallest changes that would have been seen in the other cases.
fn least_changes(cases: &[ComparedCase<'_>]) -> Option<String> {
    let is_open = |case: &&ComparedCase<'_>| matches!(case.change, Change::Same | Change::Undecided);
    let mut seen: Vec<f64> =
        cases.iter().filter(is_open).map(|case| case.least_change.unwrap_or(f64::INFINITY)).collect();
    seen.sort_by(f64::total_cmp);
    let at = |share: usize| seen.get((share * seen.len()).div_ceil(10).saturating_sub(1)).copied();
    let (half, most) = (at(5)?, at(9)?);
    let from =
        |factor: f64| Some(format!("a factor of {} or more", figure::ratio(factor))).filter(|_| factor.is_finite());
    let rest = match from(most) {
        _ if seen.len() < 3 => String::new(),
        Some(most) => format!("; in nine out of ten, a slowdown by {most}"),
        None => "; in more than one in ten, no slowdown at all".to_owned(),
    };
    let shown = from(half).map_or("no slowdown at all".to_owned(), |from| format!("a slowdown by {from}{rest}"));
    let is_changed = |case: &ComparedCase<'_>| matches!(case.change, Change::Slower | Change::Faster);
    let other = if cases.iter().any(is_changed) { "other " } else { "" };
    let whose = match seen.len() {
        1 => format!("the {other}case"),
        all => format!("half of the {} {other}cases", figure::grouped(all)),
    };
    Some(format!("in {whose} (same or undecided), these runs would have detected {shown}"))
}

/// Summarizes figures without intervals, which have ratios but no verdict.
fn without_intervals(cases: &[ComparedCase<'_>]) -> Vec<String> {
    let of_family = |(family, of): (String, Vec<&ComparedCase<'_>>)| {
        // Other cases that are not comparable have no ratio.
        let open = of.iter().filter(|case| case.change == Change::NotComparable);
        let ratios: Vec<f64> = open.filter_map(|case| case.ratio_of_figures()).collect();
        let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
        Some(format!(
            "in B, {family} costs {} times as much as in A (median of {}, range {} to {}); A and B do not both have intervals, so this counts as \
             neither slower nor faster",
            figure::ratio(median(&ratios)?),
            plural(ratios.len(), "case"),
            figure::ratio(least),
            figure::ratio(most)
        ))
    };
    by_family(cases).into_iter().filter_map(of_family).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Row, Verdict};

    fn said(cases: &[(&str, Change, f64, Option<f64>)]) -> Vec<String> {
        let rows: Vec<Row> = cases.iter().map(|(id, ..)| Row::unmeasured(Case::new(id), Verdict::Resolved)).collect();
        let of = |(row, (_, change, ratio, least_change)): (&'_ Row, &(&str, Change, f64, Option<f64>))| {
            // Rows that outlive the cases.
            let row: &'static Row = Box::leak(Box::new(row.clone()));
            let is_open = *change == Change::NotComparable;
            ComparedCase {
                a: row,
                b: row,
                change: *change,
                ratio: Some(*ratio),
                common_factor: 1.0,
                low: None,
                high: None,
                equal_work: None,
                p_value: (!is_open).then_some(0.5),
                least_change: *least_change,
            }
        };
        sentences(&rows.iter().zip(cases).map(of).collect::<Vec<_>>(), 0.05)
    }

    #[test]
    fn families_that_change_together_are_named_first_and_others_by_primitive() {
        use Change::{Faster, Same, Slower, Undecided};
        let found = said(&[
            ("gpu.fence.block", Faster, 0.8, None),
            ("gpu.fence.device", Same, 1.0, Some(1.1)),
            ("gpu.cluster.sync", Faster, 0.5, None),
            ("gpu.cluster.arrive_wait", Faster, 0.48, None),
            ("gpu.launch.stream", Slower, 1.3, None),
            ("gpu.launch.programmatic", Faster, 0.4, None),
            ("cpu.lock.mcs", Undecided, 1.02, None),
            ("cpu.lock.ttas", Undecided, 1.02, Some(1.4)),
        ]);
        assert_eq!(found[0], "some cases are slower in B: gpu.launch.stream costs 1.30 times as much (1 of 1 case)");
        let faster = "some cases are faster in B: gpu.launch.programmatic costs 0.400 times as much (1 of 1 case), gpu.cluster \
                      0.490 times (2 of 2 cases) and gpu.fence.block 0.800 times (1 of 1 case)";
        assert_eq!(found[1], faster);
        let open = "in half of the 3 other cases (same or undecided), these runs would have detected a slowdown by a factor of 1.40 \
                    or more; in more than one in ten, no slowdown at all";
        assert_eq!(found[2..], [open]);
    }

    #[test]
    fn a_change_of_the_machine_is_no_cost_that_stayed() {
        use Change::{AnotherState, Same};
        let moved = ("cpu.lock.mcs", AnotherState, 1.5, None);
        let text = "changed, but in another state of the machine, and so";
        assert_eq!(said(&[moved, moved]), [format!("2 costs {text} count as neither slower nor faster")]);
        let found = said(&[moved, ("cpu.lock.ttas", Same, 1.0, Some(1.1))]);
        assert_eq!(found[0], format!("1 cost {text} counts as neither slower nor faster"));
        assert_eq!(found[1], "no other cost certainly changed by more than 5 %");
    }

    #[test]
    fn cases_are_others_where_some_changed() {
        use Change::{Same, Slower, Undecided};
        let mutex = ("cpu.lock.mutex", Undecided, 1.02, Some(1.4));
        let open = |cases: &[_]| said(cases).pop().unwrap();
        assert!(open(&[mutex]).starts_with("in the case (same"));
        assert!(open(&[mutex, ("cpu.lock.mcs", Same, 1.0, Some(1.2))]).starts_with("in half of the 2 cases (same"));
        assert!(open(&[mutex, ("cpu.lock.mcs", Slower, 2.0, None)]).starts_with("in the other case (same"));
    }

    #[test]
    fn imports_have_ratios_and_nothing_else_is_said_of_them() {
        let one = |ratio| ("cpu.handoff.cas_pingpong", Change::NotComparable, ratio, None);
        let expected = "in B, cpu.handoff costs 0.900 times as much as in A (median of 3 cases, range 0.400 to 2.00); A \
                        and B do not both have intervals, so this counts as neither slower nor faster";
        assert_eq!(said(&[one(0.4), one(0.9), one(2.0)]), [expected]);
        assert_eq!(said(&[]), [""; 0]);
    }

    /// The sentences and the table of families tell one median.
    #[test]
    fn a_bound_is_in_no_median() {
        let of = |verdict| Row::unmeasured(Case::new("gpu.vote.all"), verdict);
        let figure = of(Verdict::Imported(String::new()));
        let wide = Row { ns_interval: Some(Interval { low: 1.0, high: 9.0 }), ..of(Verdict::Noisy("wide".into())) };
        let below = of(Verdict::BelowResolution("at most 5 ns".into()));
        let case = |a, b, ratio| ComparedCase {
            a,
            b,
            change: Change::NotComparable,
            ratio: Some(ratio),
            common_factor: 1.0,
            low: None,
            high: None,
            equal_work: None,
            p_value: None,
            least_change: None,
        };
        let cases = [
            case(&figure, &figure, 2.0),
            case(&figure, &below, 0.1),
            case(&below, &figure, 0.2),
            case(&wide, &figure, 0.3),
            case(&figure, &wide, 0.4),
        ];
        let families = crate::analysis::compare::case::families(&cases);
        assert_eq!((families[0].cases, families[0].ratios, families[0].median_ratio), (5, 1, Some(2.0)));
        let sentence = &sentences(&cases, 0.05)[0];
        assert!(sentence.contains("gpu.vote costs 2.00 times as much as in A (median of 1 case, range"), "{sentence}");
    }
}

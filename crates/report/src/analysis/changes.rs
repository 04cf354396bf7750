//! The tables and sentences that the terminal, Markdown and the page show of a comparison of two runs.

use syncscope_core::stats::{Interval, median};
use syncscope_core::{Row, Verdict};

use super::compare::{Change, ComparedCase, Comparison, IN_RUNS, bounds_alone};
use super::phrases::joined;
use crate::figure::{self, grouped, percent};
use crate::grid::Grid;
use crate::naming;
use crate::reading::{self, Reading};

/// `of the 416 common cases, 31 are slower, 9 are faster, 350 are the same within 5 % and 26 are undecided; 3 cases appear only in
/// A`, `all 12 common cases are undecided`, `none of the 416 common cases is comparable`.
pub(crate) fn summary(comparison: &Comparison<'_>) -> String {
    let (all, threshold) = (comparison.cases.len(), percent(comparison.threshold));
    let [slower, faster, same, undecided] =
        [Change::Slower, Change::Faster, Change::Same, Change::Undecided].map(|change| comparison.count(change));
    let alike = format!("the same within {threshold}");
    let counts = [
        (slower, "slower"),
        (faster, "faster"),
        (same, &*alike),
        (undecided, "undecided"),
        (comparison.count(Change::AnotherState), "in another machine state"),
        (comparison.count(Change::NotComparable), "not comparable"),
    ];
    let is_said = |(count, _): &&(usize, &str)| *count > 0;
    let only = [(comparison.only_a, "A"), (comparison.only_b, "B")];
    let only = only.iter().filter(is_said).enumerate().map(|(at, (count, run))| match (at, *count) {
        (0, 1) => format!("1 case appears only in {run}"),
        (0, count) => format!("{} cases appear only in {run}", grouped(count)),
        (_, count) => format!("{} only in {run}", grouped(count)),
    });
    let only = naming::enumeration(&only.collect::<Vec<_>>());
    let only = if only.is_empty() { only } else { format!("; {only}") };
    if let Some((_, words)) = counts.iter().find(|(count, _)| *count == all && all > 0) {
        return match (all, *words) {
            (1, words) => format!("the only common case is {words}{only}"),
            (_, "not comparable") => format!("none of the {} common cases is comparable{only}", grouped(all)),
            (2, words) => format!("both common cases are {words}{only}"),
            (_, words) => format!("all {} common cases are {words}{only}", grouped(all)),
        };
    }
    let in_words = |(count, words): &(usize, &str)| {
        format!("{} {} {words}", grouped(*count), if *count == 1 { "is" } else { "are" })
    };
    let none =
        (slower == 0).then(|| if faster == 0 { "none is slower or faster" } else { "none is slower" }.to_owned());
    let parts: Vec<String> = none.into_iter().chain(counts.iter().filter(is_said).map(in_words)).collect();
    format!("of the {} common cases, {}{only}", grouped(all), naming::enumeration(&parts))
}

/// Compares the clocks of the cores, if both runs measured them.
pub(crate) fn clocks(comparison: &Comparison<'_>) -> Option<String> {
    let of_cpu = comparison.cases.iter().filter(|case| case.a.case.domain_and_family().0 == "cpu");
    let both: Vec<(f64, f64)> =
        of_cpu.filter_map(|case| Some((case.a.clock?.value(), case.b.clock?.value()))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
    let ghz = |hz: &[f64]| Some(format!("{:.2} GHz", median(hz)? / 1e9));
    Some(format!("cores run at {} in A and {} in B", ghz(&a)?, ghz(&b)?))
}

/// The differences between the runs; `None` if there are none.
pub(crate) fn differences(comparison: &Comparison<'_>) -> Option<Grid> {
    let grid = Grid::of(&comparison.differences)
        .text("what", |one| one.what.clone())
        .text("A", |one| one.a.clone())
        .text("B", |one| one.b.clone());
    (!comparison.differences.is_empty()).then(|| grid.grid())
}

pub(crate) fn families(comparison: &Comparison<'_>) -> Grid {
    let first = Grid::of(&comparison.families)
        .text("family", |family| family.family.clone())
        .number("cases", |family| family.cases.to_string())
        .number("median B/A", |family| match (family.median_ratio, family.ratios) {
            (Some(ratio), count) if count < family.cases => format!("{} (of {count})", figure::ratio(ratio)),
            (Some(ratio), _) => figure::ratio(ratio),
            (None, _) => "–".to_owned(),
        });
    let shown =
        Change::ALL.iter().copied().filter(|change| *change != Change::AnotherState || comparison.count(*change) > 0);
    let counted = shown.fold(first, |grid, change| {
        let name = match change {
            Change::NotComparable => "not comparable",
            Change::AnotherState => "another state",
            other => other.as_str(),
        };
        grid.number(name, |family| family.changes[&change].to_string())
    });
    counted.grid()
}

/// The certain changes in one direction.
pub(crate) struct Changes {
    /// `Slower in B: 74 cases`.
    pub(crate) title: String,
    /// Which change is first, as part of a sentence.
    pub(crate) order: String,
    /// The changes that are shown.
    pub(crate) grid: Grid,
    /// The number of changes that are not shown.
    pub(crate) left_out: usize,
}

/// The slower cases, then the faster ones, at most `most` of each. A direction without a case is left out.
pub(crate) fn directions(comparison: &Comparison<'_>, most: usize) -> Vec<Changes> {
    let direction = |change: Change, first: &str| {
        let of_change = || comparison.cases.iter().filter(move |case| case.change == change);
        let count = of_change().count();
        let has_others = of_change().any(ComparedCase::has_other_instructions);
        let others = if has_others { "; cases with different machine instructions in B come last" } else { "" };
        (count > 0).then(|| Changes {
            title: format!("{} in B: {}", naming::capitalized(change.as_str()), naming::plural(count, "case")),
            order: format!("sorted by the {first} first{others}"),
            grid: rows_of(of_change().take(most), false),
            left_out: count.saturating_sub(most),
        })
    };
    let slower = direction(Change::Slower, "lower end of the interval, largest");
    slower.into_iter().chain(direction(Change::Faster, "upper end of the interval, smallest")).collect()
}

/// The undecided and the unchanged cases, at most `most` of each, with the smallest change that would have been seen.
pub(crate) fn unchanged(comparison: &Comparison<'_>, most: usize) -> Vec<Changes> {
    let of = |change: Change, title: &str| {
        let mut cases: Vec<_> = comparison.cases.iter().filter(|case| case.change == change).collect();
        let least = |case: &ComparedCase<'_>| case.least_change.unwrap_or(f64::INFINITY);
        cases.sort_by(|one, other| least(other).total_cmp(&least(one)));
        (!cases.is_empty()).then(|| Changes {
            title: format!("{title}: {}", naming::plural(cases.len(), "case")),
            order: "sorted by minimum detectable slowdown, least sensitive cases first".to_owned(),
            grid: rows_of(cases.iter().copied().take(most), true),
            left_out: cases.len().saturating_sub(most),
        })
    };
    let same = format!("Same within {}", percent(comparison.threshold));
    [of(Change::Undecided, "Undecided"), of(Change::Same, &same)].into_iter().flatten().collect()
}

/// Explains the printed intervals where they do not decide by themselves.
pub(crate) fn about_intervals(comparison: &Comparison<'_>) -> Option<String> {
    let tested = comparison.cases.iter().filter(|case| case.p_value.is_some()).count();
    let is_changed = comparison.count(Change::Slower) + comparison.count(Change::Faster) > 0;
    let several = (is_changed && tested > 1).then(|| {
        format!(
            "Each interval covers only its own case. Because {tested} cases are tested at once, verdicts are stricter \
             than these intervals: a case can be undecided even though its interval lies beyond the threshold."
        )
    });
    let limit = 1.0 + comparison.threshold;
    let is_beyond = |case: &ComparedCase<'_>| {
        case.change == Change::Same
            && (case.low.is_none_or(|low| low * limit < 1.0) || case.high.is_none_or(|high| high > limit))
    };
    let one_sided = comparison.cases.iter().any(is_beyond).then(|| {
        let threshold = percent(comparison.threshold);
        format!(
            "The same within {threshold} is decided by two one-sided tests at 5 %, like a 90 % interval: a 95 % \
             interval can end just beyond the threshold."
        )
    });
    joined([several, one_sided], " ")
}

/// A table with a line for each case. Unchanged cases show the smallest change that would have been seen.
fn rows_of<'a>(cases: impl Iterator<Item = &'a ComparedCase<'a>>, is_open: bool) -> Grid {
    let remark = |case: &ComparedCase<'_>| {
        Some(case.remark(IN_RUNS)).filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(" ({text})"))
    };
    let grid = Grid::of(cases)
        .number("B/A", |case| case.ratio_of_figures().map_or("–".to_owned(), figure::ratio))
        .text("95 % interval", |case| figure::ends(case.low, case.high));
    let grid = if is_open {
        grid.number("seen from", |case| case.least_change.map_or("none".to_owned(), figure::ratio))
    } else {
        grid
    };
    grid.number("A", |case| cost(case.a))
        .number("B", |case| cost(case.b))
        .text("case", |case| format!("{}{}", case.a.case, remark(case)))
        .grid()
}

/// The cost as far as it is known: `9.18 ns`, `~9.18 ns` if it is rough, `< 0.05 ns`, `17 to 30 µs` without a figure.
fn cost(row: &Row) -> String {
    match (&row.verdict, row.ns, bounds_alone(row)) {
        (Verdict::NonAdditive(_), Some(ns), _) => figure::rough_time(ns.value()),
        (_, _, Some(Interval { low, high })) if low > 0.0 => figure::between(low, high),
        (_, _, Some(_)) => reading::less_than(row).unwrap_or_else(|| Reading::of(row).figure),
        _ => Reading::of(row).figure,
    }
}

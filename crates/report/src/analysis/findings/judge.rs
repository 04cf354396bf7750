//! Comparisons that intervals make certain, and the sentences that say them.

use syncscope_core::Domain;

use super::super::contest::Known;
use super::{ClaimVerdict, Outcome};
use crate::figure::{self, interval_within_run};
use crate::naming;

/// "Constant", "identical", "no difference", "similar": costs within this factor. It is the factor within which the report
/// takes costs for one level elsewhere (core-to-core matrix, end of false sharing).
pub(crate) const ALIKE: f64 = 1.25;
/// "Largely constant", "fairly constant": [`GENERALLY`] of the costs are within this factor of their median. The papers' charts
/// with these words vary by up to about this much.
pub(crate) const LARGELY: f64 = 2.0;
/// "Much cheaper", "quite slow", "a great gap", "a large degrade": by this factor. Less would not change a choice in a program
/// that spends half of its time elsewhere.
pub(crate) const MUCH: f64 = 2.0;
/// "In general", "generally", "most": in at least this share of the comparisons.
pub(crate) const GENERALLY: f64 = 0.75;

/// Of longer series a sentence names the powers of two alone.
const MOST_STEPS: usize = 8;

/// Whether intervals make a statement certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certain {
    Yes,
    No,
    Unknown,
}

impl Certain {
    fn of(yes: bool, no: bool) -> Self {
        match (yes, no) {
            (true, _) => Self::Yes,
            (_, true) => Self::No,
            _ => Self::Unknown,
        }
    }

    fn verdict(self) -> ClaimVerdict {
        match self {
            Self::Yes => ClaimVerdict::Holds,
            Self::No => ClaimVerdict::DoesNotHold,
            Self::Unknown => ClaimVerdict::Open,
        }
    }
}

/// A statement about two costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Test {
    /// The first is at most so many times the second.
    AtMost(f64),
    /// The first is at least so many times the second.
    AtLeast(f64),
    /// The first is below the second.
    Below,
    /// Neither is above so many times the other.
    Within(f64),
}

impl Test {
    pub(super) fn of(self, a: &Known<'_>, b: &Known<'_>) -> Certain {
        let ([al, ah], [bl, bh]) = ([a.bounds.low, a.bounds.high], [b.bounds.low, b.bounds.high]);
        match self {
            Self::AtMost(factor) => Certain::of(ah <= factor * bl, al > factor * bh),
            Self::AtLeast(factor) => Certain::of(al >= factor * bh, ah < factor * bl),
            Self::Below => Certain::of(ah < bl, al >= bh),
            Self::Within(factor) => {
                Certain::of(ah <= factor * bl && bh <= factor * al, al > factor * bh || bl > factor * ah)
            }
        }
    }
}

/// The unit of the costs that stand in one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Cycles,
    Time,
}

impl Unit {
    /// Cycles where all rows are of a GPU and have cycles that are resolved, a time elsewhere.
    pub(super) fn of<'k, 'd: 'k>(rows: impl IntoIterator<Item = &'k Known<'d>>) -> Self {
        let has_cycles = |known: &Known<'_>| {
            let on_gpu = known.row.case.domain_and_family().0 == Domain::Gpu.as_str();
            on_gpu && known.cycles_figure().is_some()
        };
        if rows.into_iter().all(has_cycles) { Self::Cycles } else { Self::Time }
    }

    /// `14.0 cycles`, `1.40 µs`.
    pub(super) fn cost(self, known: &Known<'_>) -> String {
        match known.cycles_figure().filter(|_| self == Self::Cycles) {
            Some(cycles) => figure::cycles(cycles.value()),
            None => known.time(),
        }
    }

    /// `1.40 µs with 16 threads`.
    pub(super) fn sized(self, known: &Known<'_>) -> String {
        format!("{} with {}", self.cost(known), naming::size(&known.row.case))
    }
}

/// The larger cost in units of the smaller one: `3.55 times (3.25 to 4.01)`; without intervals `3.55 times`; where a cost has
/// no figure `2.10 to 9.30 times`.
fn times(a: &Known<'_>, b: &Known<'_>) -> String {
    let (more, less) = if a.ns < b.ns { (b, a) } else { (a, b) };
    let ratio = more.over(less);
    let point = figure::ratio(ratio.point);
    if interval_within_run(more.row).is_none() {
        return format!("{point} times");
    }
    let ends = figure::ends(ratio.low, ratio.high);
    if more.has_figure() && less.has_figure() { format!("{point} times ({ends})") } else { format!("{ends} times") }
}

/// A statement about two costs; the names say what they are.
pub(super) fn two(test: Test, (name_a, a): (&str, &Known<'_>), (name_b, b): (&str, &Known<'_>)) -> Outcome {
    let unit = Unit::of([a, b]);
    let named = |name: &str, known: &Known<'_>| match name {
        "" => unit.sized(known),
        _ => format!("{name} {}", unit.sized(known)),
    };
    let certain = test.of(a, b);
    let mut sentence = format!("{}, {}: {}", named(name_a, a), named(name_b, b), times(a, b));
    if certain == Certain::Unknown {
        sentence.push_str("; the intervals do not decide");
    }
    Outcome { verdict: certain.verdict(), sentence, rows: vec![a.index, b.index] }
}

/// A statement that "in general" holds for pairs of costs: for [`GENERALLY`] of them. `words` say what is true of a pair
/// that agrees: "is below the other".
pub(super) fn generally(test: Test, words: &str, pairs: &[(Known<'_>, Known<'_>)]) -> Option<Outcome> {
    let tested: Vec<Certain> = pairs.iter().map(|(a, b)| test.of(a, b)).collect();
    let count = |certain| tested.iter().filter(|one| **one == certain).count();
    let (yes, no, all) = (count(Certain::Yes), count(Certain::No), tested.len());
    if all == 0 {
        return None;
    }
    let needed = GENERALLY * all as f64;
    let certain = Certain::of(yes as f64 >= needed, ((all - no) as f64) < needed);
    // The pair that shows the verdict best: the last one of its kind, which has the most threads.
    let shown = tested.iter().rposition(|one| *one == certain).or(Some(all - 1))?;
    let (a, b) = pairs.get(shown)?;
    let (name_a, name_b) = different_names(a, b);
    let against = if no > 0 { format!(", certainly not in {no}") } else { String::new() };
    let unit = Unit::of([a, b]);
    let (of_a, of_b) = (unit.sized(a), unit.sized(b));
    let mut sentence = format!("{words} in {yes} of {all} comparisons{against}; {name_a}{of_a}, {name_b}{of_b}");
    if certain == Certain::Unknown {
        sentence.push_str("; too few are certain");
    }
    let rest = pairs.iter().flat_map(|(a, b)| [a.index, b.index]);
    Some(Outcome { verdict: certain.verdict(), sentence, rows: unique([a.index, b.index].into_iter().chain(rest)) })
}

/// A recommendation of the first of each pair over the second: it is somewhere certainly cheaper by more than [`ALIKE`], and
/// certainly more expensive by more than that in so few pairs that the opposite is [`GENERALLY`] the case.
pub(super) fn preferred(words: &str, pairs: &[(Known<'_>, Known<'_>)]) -> Option<Outcome> {
    let tested: Vec<(Certain, Certain)> =
        pairs.iter().map(|(a, b)| (Test::AtLeast(ALIKE).of(b, a), Test::AtLeast(ALIKE).of(a, b))).collect();
    let count = |is: fn(&(Certain, Certain)) -> bool| tested.iter().filter(|one| is(one)).count();
    let (cheaper, no_cheaper) = (count(|one| one.0 == Certain::Yes), count(|one| one.0 == Certain::No));
    let (worse, no_worse, all) = (count(|one| one.1 == Certain::Yes), count(|one| one.1 == Certain::No), tested.len());
    if all == 0 {
        return None;
    }
    let needed = GENERALLY * all as f64;
    let certain =
        Certain::of(cheaper > 0 && no_worse as f64 >= needed, no_cheaper == all || ((all - worse) as f64) < needed);
    let shown = match certain {
        Certain::Yes => tested.iter().rposition(|one| one.0 == Certain::Yes),
        _ => tested.iter().rposition(|one| one.1 == Certain::Yes),
    };
    let (a, b) = pairs.get(shown.unwrap_or(all - 1))?;
    let (name_a, name_b) = different_names(a, b);
    let unit = Unit::of([a, b]);
    let sentence = format!(
        "{words} certainly cheaper by more than a factor of {ALIKE} in {cheaper} of {all} comparisons, more expensive by that in \
         {worse}; {name_a}{}, {name_b}{}",
        unit.sized(a),
        unit.sized(b)
    );
    let rest = pairs.iter().flat_map(|(a, b)| [a.index, b.index]);
    Some(Outcome { verdict: certain.verdict(), sentence, rows: unique([a.index, b.index].into_iter().chain(rest)) })
}

/// What distinguishes two rows beside their size, as words before their costs.
fn different_names(a: &Known<'_>, b: &Known<'_>) -> (String, String) {
    let words = |known: &Known<'_>| -> [Option<String>; 6] {
        let case = &known.row.case;
        [
            Some(known.name()),
            case.dtype.map(|dtype| dtype.to_string()),
            case.layout.map(naming::layout),
            case.placement.as_ref().map(ToString::to_string),
            case.group.as_ref().map(naming::group),
            case.form.map(|form| naming::form(form).to_owned()),
        ]
    };
    let (a, b) = (words(a), words(b));
    let of = |own: &[Option<String>; 6], other: &[Option<String>; 6]| {
        let differing = own.iter().zip(other).filter(|(own, other)| own != other);
        let words: Vec<&str> = differing.filter_map(|(own, _)| own.as_deref()).collect();
        if words.is_empty() { String::new() } else { format!("{} ", words.join(" ")) }
    };
    (of(&a, &b), of(&b, &a))
}

/// All costs lie within one factor of each other.
pub(super) fn flat(factor: f64, rows: &[Known<'_>]) -> Option<Outcome> {
    let highest = rows.iter().max_by(|a, b| a.bounds.low.total_cmp(&b.bounds.low))?;
    let lowest = rows.iter().min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))?;
    if rows.len() < 2 {
        return None;
    }
    let [low, high] = [
        rows.iter().map(|row| row.bounds.low).fold(f64::INFINITY, f64::min),
        rows.iter().map(|row| row.bounds.high).fold(f64::NEG_INFINITY, f64::max),
    ];
    let certain = Certain::of(high <= factor * low, highest.bounds.low > factor * lowest.bounds.high);
    let unit = Unit::of([lowest, highest]);
    let mut sentence = if unit.cost(lowest) == unit.cost(highest) {
        format!("{} in all {} cases", unit.cost(lowest), rows.len())
    } else {
        format!("{} to {}, in {} cases", unit.sized(lowest), unit.sized(highest), rows.len())
    };
    if certain == Certain::Unknown {
        sentence.push_str("; the intervals do not decide");
    }
    let all = [lowest.index, highest.index].into_iter().chain(rows.iter().map(|row| row.index));
    Some(Outcome { verdict: certain.verdict(), sentence, rows: unique(all) })
}

/// "Largely constant": [`GENERALLY`] of the costs are within [`LARGELY`] of their median.
pub(super) fn largely_flat(rows: &[Known<'_>]) -> Option<Outcome> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let (least, median, most) = (sorted.first()?, sorted.get(sorted.len() / 2)?, sorted.last()?);
    if rows.len() < 3 {
        return None;
    }
    let tested: Vec<Certain> = rows.iter().map(|row| Test::Within(LARGELY).of(row, median)).collect();
    let count = |certain| tested.iter().filter(|one| **one == certain).count();
    let (yes, no, all) = (count(Certain::Yes), count(Certain::No), tested.len());
    let needed = GENERALLY * all as f64;
    let certain = Certain::of(yes as f64 >= needed, ((all - no) as f64) < needed);
    let unit = Unit::of([least, median, most]);
    let sentence = format!(
        "median {}; {yes} of {all} cases certainly within a factor of {LARGELY} of it, {no} certainly not; {} to {}",
        unit.cost(median),
        unit.sized(least),
        unit.sized(most)
    );
    let all = [median, least, most].into_iter().chain(rows).map(|row| row.index);
    Some(Outcome { verdict: certain.verdict(), sentence, rows: unique(all) })
}

/// Costs that rise from each size to the next: none certainly falls, and the last is certainly above the first.
pub(super) fn rising(rows: &[Known<'_>]) -> Option<Outcome> {
    let (first, last) = (rows.first()?, rows.last()?);
    if rows.len() < 3 {
        return None;
    }
    let falls =
        rows.windows(2).find(|pair| matches!(pair, [a, b] if Test::Below.of(b, a) == Certain::Yes && b.ns < a.ns));
    let mut outcome = if let Some([a, b]) = falls {
        let unit = Unit::of([a, b]);
        let sentence = format!("{} after {}", unit.sized(b), unit.sized(a));
        Outcome { verdict: ClaimVerdict::DoesNotHold, sentence, rows: vec![a.index, b.index] }
    } else {
        let is_shown =
            |row: &&Known<'_>| rows.len() <= MOST_STEPS || row.row.case.threads.is_some_and(u32::is_power_of_two);
        let shown: Vec<&Known<'_>> = rows.iter().filter(is_shown).collect();
        let unit = Unit::of(shown.iter().copied());
        let steps: Vec<String> = shown.into_iter().map(|row| unit.sized(row)).collect();
        Outcome { sentence: steps.join(", "), ..two(Test::Below, ("", first), ("", last)) }
    };
    outcome.rows = unique(outcome.rows.iter().copied().chain(rows.iter().map(|row| row.index)));
    Some(outcome)
}

/// Whether one cost grows by a larger factor than another: each is the later and the earlier row. The names say of what.
pub(super) fn grows_more(
    (name_a, most_a, few_a): (&str, &Known<'_>, &Known<'_>),
    (name_b, most_b, few_b): (&str, &Known<'_>, &Known<'_>),
) -> Outcome {
    let ([low_a, high_a], [low_b, high_b]) = (growth(most_a, few_a), growth(most_b, few_b));
    let certain = Certain::of(low_a > high_b, high_a < low_b);
    grown(certain, (name_a, most_a, few_a), (name_b, most_b, few_b))
}

/// Whether two costs grow by alike factors: each is the later and the earlier row. The names say of what.
pub(super) fn grows_alike(
    (name_a, most_a, few_a): (&str, &Known<'_>, &Known<'_>),
    (name_b, most_b, few_b): (&str, &Known<'_>, &Known<'_>),
) -> Outcome {
    let ([low_a, high_a], [low_b, high_b]) = (growth(most_a, few_a), growth(most_b, few_b));
    let certain = Certain::of(
        high_a <= ALIKE * low_b && high_b <= ALIKE * low_a,
        low_a > ALIKE * high_b || low_b > ALIKE * high_a,
    );
    grown(certain, (name_a, most_a, few_a), (name_b, most_b, few_b))
}

fn growth(most: &Known<'_>, few: &Known<'_>) -> [f64; 2] {
    let ratio = most.over(few);
    [ratio.low.unwrap_or_default(), ratio.high.unwrap_or(f64::INFINITY)]
}

fn grown(
    certain: Certain,
    (name_a, most_a, few_a): (&str, &Known<'_>, &Known<'_>),
    (name_b, most_b, few_b): (&str, &Known<'_>, &Known<'_>),
) -> Outcome {
    let unit = Unit::of([most_a, few_a, most_b, few_b]);
    let grows = |name: &str, most: &Known<'_>, few: &Known<'_>| {
        format!("{name} from {} to {}: {}", unit.sized(few), unit.sized(most), times(most, few))
    };
    let mut sentence = format!("{}; {}", grows(name_a, most_a, few_a), grows(name_b, most_b, few_b));
    if certain == Certain::Unknown {
        sentence.push_str("; the intervals do not decide");
    }
    Outcome { verdict: certain.verdict(), sentence, rows: unique([most_a, few_a, most_b, few_b].map(|row| row.index)) }
}

/// A statement about all pairs: one that certainly contradicts it is enough.
pub(super) fn every(test: Test, words: &str, pairs: &[(Known<'_>, Known<'_>)]) -> Option<Outcome> {
    let tested: Vec<Certain> = pairs.iter().map(|(a, b)| test.of(a, b)).collect();
    let count = |certain| tested.iter().filter(|one| **one == certain).count();
    let verdict = match () {
        () if count(Certain::No) > 0 => ClaimVerdict::DoesNotHold,
        () if count(Certain::Unknown) > 0 => ClaimVerdict::Open,
        () => ClaimVerdict::Holds,
    };
    let apart = |(a, b): &(Known<'_>, Known<'_>)| (a.ns / b.ns).max(b.ns / a.ns);
    let worst = pairs.iter().max_by(|one, other| apart(one).total_cmp(&apart(other)))?;
    let outcome = two(test, ("", &worst.0), ("", &worst.1));
    let sentence =
        format!("{words} in {} of {} pairs; farthest apart: {}", count(Certain::Yes), tested.len(), outcome.sentence);
    let rest = pairs.iter().flat_map(|(a, b)| [a.index, b.index]);
    Some(Outcome { verdict, sentence, rows: unique(outcome.rows.into_iter().chain(rest)) })
}

/// A claim of several parts: it holds if all do, and does not if one does not.
pub(super) fn all(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
    let parts: Vec<Outcome> = parts.into_iter().collect();
    let has = |verdict| parts.iter().any(|part| part.verdict == verdict);
    let verdict = if has(ClaimVerdict::DoesNotHold) {
        ClaimVerdict::DoesNotHold
    } else if has(ClaimVerdict::Open) || parts.is_empty() {
        ClaimVerdict::Open
    } else {
        ClaimVerdict::Holds
    };
    let sentence = parts.iter().map(|part| part.sentence.as_str()).collect::<Vec<_>>().join("; ");
    Outcome { verdict, sentence, rows: unique(parts.into_iter().flat_map(|part| part.rows)) }
}

/// The parts that a run has, if it has any.
pub(super) fn any_parts(parts: impl IntoIterator<Item = Outcome>) -> Option<Outcome> {
    let parts: Vec<Outcome> = parts.into_iter().collect();
    (!parts.is_empty()).then(|| all(parts))
}

pub(super) fn unique(rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    rows.into_iter().filter(|row| seen.insert(*row)).collect()
}

#[cfg(test)]
mod tests {
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Cycles, Nanoseconds, Row, Verdict};

    use super::super::super::contest::Basis;
    use super::*;
    use crate::{RunData, testing};

    /// Barriers of growing blocks; the cost of the third one has this verdict.
    fn data(third: &Verdict) -> RunData {
        let row = |at: u32| {
            let ns = 10.0 * f64::from(1 << at);
            Row {
                ns: Some(Nanoseconds(ns)),
                ns_within: Some(Interval { low: 0.99 * ns, high: 1.01 * ns }),
                cycles: Some(Cycles(2.0 * ns)),
                ..Row::unmeasured(
                    Case { threads: Some(32 << at), ..Case::new("gpu.block.syncthreads") },
                    if at == 2 { third.clone() } else { Verdict::Resolved },
                )
            }
        };
        testing::data((0..4).map(row).collect())
    }

    fn sentences(data: &RunData) -> Vec<String> {
        let rows: Vec<Known<'_>> = (0..4).filter_map(|at| Known::of(data, at, Basis::Run)).collect();
        let [a, b, c, d] = rows[..] else { panic!("four rows") };
        let of = |outcome: Option<Outcome>| outcome.unwrap().sentence;
        vec![
            two(Test::Below, ("", &b), ("", &c)).sentence,
            of(generally(Test::Below, "is below", &[(b, c)])),
            of(preferred("is", &[(b, c)])),
            of(flat(ALIKE, &[b, c])),
            of(largely_flat(&[a, b, c])),
            of(rising(&rows)),
            of(rising(&[b, c, a])),
            grows_more(("one", &b, &a), ("other", &c, &d)).sentence,
            grows_alike(("one", &b, &a), ("other", &c, &d)).sentence,
        ]
    }

    #[test]
    fn costs_that_are_compared_have_one_unit() {
        for sentence in sentences(&data(&Verdict::Resolved)) {
            assert!(sentence.contains(" cycles") && !sentence.contains(" ns"), "{sentence}");
        }
        for sentence in sentences(&data(&Verdict::Noisy("wide".to_owned()))) {
            assert!(sentence.contains(" ns with") && sentence.contains('~'), "{sentence}");
            assert!(!sentence.contains(" cycles"), "{sentence}");
        }
    }
}

//! Compares costs where their intervals decide, and writes the sentences.

use syncscope_core::Domain;
use syncscope_core::sets::unique;

use super::super::contest::Known;
use super::super::phrases::{enumerated, joined};
use super::{Outcome, Truth};
use crate::figure;
use crate::naming;
use crate::reading::{in_range, interval_within_run, lacks_number};

/// "Constant", "identical", "no difference", "similar": costs within this factor. Elsewhere the report also takes costs
/// within it for one level (core-to-core matrix, end of false sharing).
pub(crate) const ALIKE: f64 = 1.25;
/// "Largely constant", "fairly constant": [`GENERALLY`] of the costs are within this factor of their median. The papers' charts
/// with these words vary by up to about this much.
pub(crate) const LARGELY: f64 = 2.0;
/// "Much cheaper", "quite slow", "a great gap", "a large degrade": by this factor. Less would not change the choice in a
/// program that spends half of its time elsewhere.
pub(crate) const MUCH: f64 = 2.0;
/// "In general", "generally", "most": in at least this share of the comparisons.
pub(crate) const GENERALLY: f64 = 0.75;

/// The longest series that is named in full; of longer ones, only the powers of two.
const MOST_STEPS: usize = 8;

/// Two costs that are compared.
pub(super) type Pair<'a> = (Known<'a>, Known<'a>);

/// A statement about two costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::analysis) enum Test {
    /// The first is at most this many times the second.
    AtMost(f64),
    /// The first is at least this many times the second.
    AtLeast(f64),
    /// The first is below the second.
    Below,
    /// Neither is above this many times the other.
    Within(f64),
}

impl Test {
    pub(in crate::analysis) fn of(self, a: &Known<'_>, b: &Known<'_>) -> Truth {
        self.between([a.bounds.low, a.bounds.high], [b.bounds.low, b.bounds.high])
    }

    /// Tests the ends of two intervals.
    pub(super) fn between(self, [al, ah]: [f64; 2], [bl, bh]: [f64; 2]) -> Truth {
        match self {
            Self::AtMost(factor) => Truth::of(ah <= factor * bl, al > factor * bh),
            Self::AtLeast(factor) => Truth::of(al >= factor * bh, ah < factor * bl),
            Self::Below => Truth::of(ah < bl, al >= bh),
            Self::Within(factor) => {
                Truth::of(ah <= factor * bl && bh <= factor * al, al > factor * bh || bl > factor * ah)
            }
        }
    }
}

/// How many of several statements certainly hold, and how many certainly do not.
pub(super) struct Tally {
    pub(super) yes: usize,
    pub(super) no: usize,
    pub(super) all: usize,
}

impl Tally {
    pub(super) fn of(tested: impl IntoIterator<Item = Truth>) -> Self {
        let tested: Vec<Truth> = tested.into_iter().collect();
        let count = |verdict| tested.iter().filter(|one| **one == verdict).count();
        Self { yes: count(Truth::Holds), no: count(Truth::Fails), all: tested.len() }
    }

    /// Whether at least this share of the statements is true.
    pub(super) fn reaches(&self, share: f64) -> Truth {
        let needed = share * self.all as f64;
        Truth::of(self.yes as f64 >= needed, ((self.all - self.no) as f64) < needed)
    }

    const fn open(&self) -> usize {
        self.all - self.yes - self.no
    }

    /// `in 68 of 70 pairs`, `in 3 of 5 pairs (not in 1; 1 undecided)`.
    pub(super) fn in_words(&self, noun: &str) -> String {
        let found = format!("in {}", figure::share(self.yes, self.all, noun).0);
        let rest = match self.open() {
            0 => String::new(),
            open if open == self.all => ", with all undecided".to_owned(),
            open if self.yes > 0 && self.no > 0 => format!(" (not in {}; {open} undecided)", self.no),
            open => format!(", with {open} undecided"),
        };
        format!("{found}{rest}")
    }

    /// Says for how many pairs the words are true, and shows one pair after the words in `begin`.
    fn sentence(&self, words: &str, noun: &str, begin: &str, shown: &str) -> String {
        match self.is_complete() {
            Truth::Holds if self.all == 1 => format!("{words} in the only {noun}: {shown}"),
            Truth::Fails if self.all == 1 => format!("in the only {noun}, it is not true that {words}: {shown}"),
            Truth::Open if self.all == 1 => format!("the only {noun} does not show whether {words}: {shown}"),
            Truth::Open if self.open() == self.all => {
                let all = figure::share(self.all, self.all, noun).0;
                format!("whether {words} is undecided in {all}; {begin} {shown}")
            }
            _ => format!("{words} {}; {begin} {shown}", self.in_words(noun)),
        }
    }

    /// Whether all statements are true.
    const fn is_complete(&self) -> Truth {
        Truth::of(self.all > 0 && self.yes == self.all, self.no > 0)
    }
}

/// The outcome of comparing these rows. If it is open, `doubt` says why.
fn outcome(verdict: Truth, mut sentence: String, doubt: &str, rows: impl IntoIterator<Item = usize>) -> Outcome {
    if verdict == Truth::Open {
        sentence.push_str(doubt);
    }
    Outcome::of(verdict, sentence).on(unique(rows))
}

const UNDECIDED: &str = "; the intervals are too wide to tell";

/// The rows of the shown pair, then those of all pairs.
fn rows_of(shown: &Pair<'_>, pairs: &[Pair<'_>]) -> Vec<usize> {
    std::iter::once(shown).chain(pairs).flat_map(|(a, b)| [a.index, b.index]).collect()
}

/// The unit of the costs in one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Cycles,
    Time,
}

impl Unit {
    /// Cycles if all rows are of a GPU and have resolved cycles, otherwise time.
    pub(super) fn of<'k, 'd: 'k>(rows: impl IntoIterator<Item = &'k Known<'d>>) -> Self {
        let has_cycles = |known: &Known<'_>| {
            let on_gpu = known.row.case.domain_and_family().0 == Domain::Gpu.as_str();
            on_gpu && known.cycles_figure().is_some()
        };
        if rows.into_iter().all(has_cycles) { Self::Cycles } else { Self::Time }
    }

    /// The unit of a sentence with these factors, each of the first cost over the second one. Factors are of times. Because the
    /// clock changed in between, the quotient of the cycles may lie outside the factor's interval; the sentence then shows times.
    fn of_factors<'k, 'd: 'k>(pairs: impl IntoIterator<Item = (&'k Known<'d>, &'k Known<'d>)>) -> Self {
        let is_of_cycles = |(a, b): (&Known<'_>, &Known<'_>)| {
            let quotient = a.cycles_figure()?.value() / b.cycles_figure()?.value();
            let ratio = a.over(b);
            let is_inside =
                ratio.low.is_none_or(|low| low <= quotient) && ratio.high.is_none_or(|high| quotient <= high);
            let is_shown = is_inside || figure::ratio(quotient) == figure::ratio(ratio.point);
            Some(Self::of([a, b]) == Self::Cycles && is_shown)
        };
        if pairs.into_iter().all(|pair| is_of_cycles(pair) == Some(true)) { Self::Cycles } else { Self::Time }
    }

    /// `14.0 cycles`, `1.40 µs`.
    pub(super) fn cost(self, known: &Known<'_>) -> String {
        match known.cycles_figure().filter(|_| self == Self::Cycles) {
            Some(cycles) => figure::cycles(cycles.value()),
            None if lacks_number(known.row) && known.bounds.high > 0.0 => in_range(known.bounds),
            None => known.to_string(),
        }
    }

    /// The cost with its size and, after "from" or "to", ranges with a dash: `164–354 ns with 16 threads`.
    fn sized_as_end(self, known: &Known<'_>) -> String {
        format!("{} with {}", figure::dashed(&self.cost(known)), naming::size(&known.row.case))
    }

    /// `1.40 µs with 16 threads`.
    pub(super) fn sized(self, known: &Known<'_>) -> String {
        format!("{} with {}", self.cost(known), naming::size(&known.row.case))
    }

    /// `1.40 µs for a barrier with 16 threads`; the size is left out if it follows.
    fn named(self, name: &str, known: &Known<'_>, size: Option<&str>) -> String {
        let name = if name.is_empty() { String::new() } else { format!(" for {name}") };
        let size = size.map(|size| format!(" with {size}")).unwrap_or_default();
        format!("{}{name}{size}", self.cost(known))
    }

    /// `with 16 threads, 1.40 µs for a barrier against 20 ns for a fence`, `16.0 cycles both with 2 threads and with 4 threads`.
    fn both(self, (name_a, a): (&str, &Known<'_>), (name_b, b): (&str, &Known<'_>)) -> String {
        let [of_a, of_b] = naming::sizes([&a.row.case, &b.row.case]);
        let differ = of_a != of_b;
        if self.cost(a) != self.cost(b) {
            // A size after one cost would seem to apply to that one only.
            let shared = if differ { String::new() } else { format!("with {of_b}, ") };
            let [first, second] = [(name_a, a, &of_a), (name_b, b, &of_b)]
                .map(|(name, known, size)| self.named(name, known, differ.then_some(&**size)));
            return format!("{shared}{first} against {second}");
        }
        let cost = self.cost(a);
        match (name_a, name_b) {
            ("", "") if !differ => format!("both cost {cost} with {of_b}"),
            ("", "") => format!("{cost} both with {of_a} and with {of_b}"),
            (name, "") => format!("{cost} for {name} both with {of_a} and with {of_b}"),
            _ if !differ => format!("{name_a} and {name_b} both cost {cost} with {of_b}"),
            _ => format!("{name_a} with {of_a} and {name_b} with {of_b} both cost {cost}"),
        }
    }
}

/// The upper end of a ratio without a figure says nothing beyond this multiple of the lower end (or beyond this ratio if no
/// lower end is known): a thread may have been starved.
const WIDE: f64 = 10.0;

const NO_RATIO: &str = "the ratio is unknown";

/// The first cost in units of the second one, in the order of the sentence: `a factor of 3.55 (3.25 to 4.01)`, or `a factor of
/// 3.55` if there are no intervals or the interval is narrower than the digits. If a cost has no figure, `a factor of 2.10 to
/// 9.30`, or only the certain end if the range exceeds [`WIDE`].
fn times(a: &Known<'_>, b: &Known<'_>) -> String {
    let ratio = a.over(b);
    let point = figure::ratio(ratio.point);
    let whose = a.other_actor().or_else(|| b.other_actor());
    let whose = whose.map(|actor| format!(", comparing the {actor} threads")).unwrap_or_default();
    let high_says_something = |high: &f64| a.has_figure() || *high <= WIDE * ratio.low.unwrap_or(1.0);
    let low_says_something = |low: &f64| b.has_figure() || WIDE * *low >= ratio.high.unwrap_or(1.0);
    let (low, high) = (ratio.low.filter(low_says_something), ratio.high.filter(high_says_something));
    let ends = figure::ends(low, high);
    if [a, b].iter().all(|one| interval_within_run(one.row).is_none()) || ends == format!("{point} to {point}") {
        return format!("a factor of {point}{whose}");
    }
    let has_figures = a.has_figure() && b.has_figure();
    if !has_figures && low.is_none() && high.is_none() {
        return NO_RATIO.to_owned();
    }
    match low {
        _ if has_figures => format!("a factor of {point} ({ends}){whose}"),
        Some(_) if high.is_some() => format!("a factor of {ends}{whose}"),
        _ => format!("a factor {ends}{whose}"),
    }
}

/// Costs are written as equal if their ratio is within the first factor of 1 and its interval within the second.
const SAME: [f64; 2] = [1.02, 1.05];

fn are_same(a: &Known<'_>, b: &Known<'_>) -> bool {
    let ratio = a.over(b);
    let is_within = |most: f64, value: f64| (1.0 / most..=most).contains(&value);
    is_within(SAME[0], ratio.point) && [ratio.low, ratio.high].into_iter().flatten().all(|end| is_within(SAME[1], end))
}

/// A statement about two costs, with their names.
pub(super) fn two(test: Test, (name_a, a): (&str, &Known<'_>), (name_b, b): (&str, &Known<'_>)) -> Outcome {
    let costs = |unit: Unit| unit.both((name_a, a), (name_b, b));
    let unit = Unit::of([a, b]);
    let sentence = if unit.cost(a) == unit.cost(b) && are_same(a, b) {
        costs(unit)
    } else {
        let ratio = times(a, b);
        format!("{}{} {ratio}", costs(Unit::of_factors([(a, b)])), if ratio == NO_RATIO { ";" } else { "," })
    };
    outcome(test.of(a, b), sentence, UNDECIDED, [a.index, b.index])
}

/// A statement that "in general" holds for pairs of costs, which is for [`GENERALLY`] of them. `words` say what is true of a
/// pair that agrees: "is below the other".
pub(super) fn generally(test: Test, words: &str, pairs: &[Pair<'_>]) -> Option<Outcome> {
    let tally = Tally::of(pairs.iter().map(|(a, b)| test.of(a, b)));
    let verdict = tally.reaches(GENERALLY);
    // The pair that shows the verdict best is the last with that verdict, which has the most threads.
    let pair = pairs.iter().rfind(|(a, b)| test.of(a, b) == verdict).or(pairs.last())?;
    let shows = match test.of(&pair.0, &pair.1) {
        Truth::Fails if tally.yes > 0 && tally.no == 1 => "the exception is".to_owned(),
        Truth::Fails if tally.yes > 0 => format!("one of the {} exceptions is", tally.no),
        Truth::Open if tally.open() == 1 => "the undecided one is".to_owned(),
        Truth::Open if tally.open() < tally.all => format!("one of the {} undecided ones is", tally.open()),
        _ => "for example,".to_owned(),
    };
    let sentence = tally.sentence(words, "comparison", &shows, &with_different_names(pair));
    let doubt = match tally.open() {
        1 if tally.all == 1 => UNDECIDED,
        open if open == tally.all => "",
        _ => "; too few are decided for a verdict",
    };
    Some(outcome(verdict, sentence, doubt, rows_of(pair, pairs)))
}

/// The two costs of most pairs are the same within [`ALIKE`].
pub(super) fn alike(words: &str, pairs: &[Pair<'_>]) -> Option<Outcome> {
    generally(Test::Within(ALIKE), &format!("{words} cost the same to within a factor of {ALIKE}"), pairs)
}

/// A recommendation of the first of each pair over the second. It holds if the first is certainly cheaper by more than
/// [`ALIKE`] in more than half of the pairs, and more expensive by that in so few that the opposite is [`GENERALLY`] the
/// case. It fails if the first is cheaper nowhere, or more expensive in too many pairs. Being cheaper in only a few pairs
/// leaves it open.
pub(super) fn preferred(words: &str, pairs: &[Pair<'_>]) -> Option<Outcome> {
    let is_cheaper = |(a, b): &Pair<'_>| Test::AtLeast(ALIKE).of(b, a);
    let is_worse = |(a, b): &Pair<'_>| Test::AtLeast(ALIKE).of(a, b);
    let (cheap, costly) = (Tally::of(pairs.iter().map(is_cheaper)), Tally::of(pairs.iter().map(is_worse)));
    let Tally { yes: cheaper, no: not_cheaper, all } = cheap;
    let Tally { yes: worse, no: not_worse, .. } = costly;
    let seldom_worse = Tally { yes: not_worse, no: worse, all }.reaches(GENERALLY);
    let verdict = Truth::of(
        2 * cheaper > all && seldom_worse == Truth::Holds,
        not_cheaper == all || seldom_worse == Truth::Fails,
    );
    let is_example = |pair: &&Pair<'_>| {
        let tested = if verdict == Truth::Holds { is_cheaper(pair) } else { is_worse(pair) };
        tested == Truth::Holds
    };
    let cheaper_one = || pairs.iter().rfind(|pair| is_cheaper(pair) == Truth::Holds);
    let pair = pairs.iter().rfind(is_example).or_else(cheaper_one).or(pairs.last())?;
    let shown = with_different_names(pair);
    if all == 1 {
        let (tally, how) = if worse == 1 { (costly, "more expensive") } else { (cheap, "cheaper") };
        let sentence =
            tally.sentence(&format!("{words} {how} by a factor of at least {ALIKE}"), "comparison", "", &shown);
        return Some(outcome(verdict, sentence, UNDECIDED, rows_of(pair, pairs)));
    }
    let opposite = match worse {
        _ if cheaper == all => String::new(),
        0 => " and more expensive by that much in none".to_owned(),
        _ => format!(" and more expensive by that much in {worse}"),
    };
    let sentence = format!(
        "{words} cheaper by a factor of at least {ALIKE} in {}{opposite}; for example, {shown}",
        figure::share(cheaper, all, "comparison").0,
    );
    Some(outcome(verdict, sentence, "; too few to recommend it", rows_of(pair, pairs)))
}

/// Two costs, each after the names that distinguish its row, besides the size.
fn with_different_names((a, b): &Pair<'_>) -> String {
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
    let (of_a, of_b) = (words(a), words(b));
    let name = |own: &[Option<String>; 6], other: &[Option<String>; 6]| {
        let differing = own.iter().zip(other).filter(|(own, other)| own != other).filter_map(|(own, _)| own.clone());
        differing.collect::<Vec<_>>().join(" ")
    };
    Unit::of([a, b]).both((&name(&of_a, &of_b), a), (&name(&of_b, &of_a), b))
}

/// A statement that all costs lie within one factor of each other.
pub(super) fn flat(factor: f64, rows: &[Known<'_>]) -> Option<Outcome> {
    let highest = rows.iter().max_by(|a, b| a.bounds.low.total_cmp(&b.bounds.low))?;
    let lowest = rows.iter().min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))?;
    if rows.len() < 2 {
        return None;
    }
    let (low, high) = figure::extremes(rows.iter().flat_map(|row| [row.bounds.low, row.bounds.high]))?;
    let verdict = Truth::of(high <= factor * low, highest.bounds.low > factor * lowest.bounds.high);
    let unit = Unit::of([lowest, highest]);
    let sentence = match unit.cost(lowest) {
        cost if cost == unit.cost(highest) => format!("{cost} in {}", figure::share(rows.len(), rows.len(), "case").0),
        _ if rows.len() == 2 => format!("the costs are {} and {}", unit.sized(lowest), unit.sized(highest)),
        _ => {
            format!("the lowest of {} costs is {}, the highest {}", rows.len(), unit.sized(lowest), unit.sized(highest))
        }
    };
    let all = [lowest, highest].into_iter().chain(rows).map(|row| row.index);
    Some(outcome(verdict, sentence, UNDECIDED, all))
}

/// "Largely constant": [`GENERALLY`] of the costs are within [`LARGELY`] of their median.
pub(super) fn largely_flat(rows: &[Known<'_>]) -> Option<Outcome> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let [least, _, .., most] = sorted.as_slice() else { return None };
    let median = &sorted[sorted.len() / 2];
    let tally = Tally::of(rows.iter().map(|row| Test::Within(LARGELY).of(row, median)));
    let Tally { yes, no, all } = tally;
    let unit = Unit::of([least, median, most]);
    let (middle, [low, high]) = (unit.cost(median), [least, most].map(|end| unit.sized_as_end(end)));
    let (inside, is_singular) = figure::share(yes, all, "case");
    let are = |is_one: bool| if is_one { "is" } else { "are" };
    let inside = format!("{inside} {}", are(is_singular));
    let part = |count: usize, what: &str| (count > 0).then(|| format!("{count} {} {what}", are(count == 1)));
    let outside = enumerated([part(no, "not"), part(tally.open(), "undecided")].into_iter().flatten());
    let outside = outside.map(|parts| format!(" ({parts})")).unwrap_or_default();
    let sentence = format!(
        "{inside} within a factor of {LARGELY} of the median of {middle}{outside}; costs range from {low} to {high}"
    );
    let all = [median, least, most].into_iter().chain(rows).map(|row| row.index);
    Some(outcome(tally.reaches(GENERALLY), sentence, "", all))
}

/// A statement that costs rise from each size to the next: none certainly falls, and the last is certainly above the first.
pub(super) fn rising(rows: &[Known<'_>]) -> Option<Outcome> {
    let [first, _, .., last] = rows else { return None };
    let falls = |(a, b): &(&Known<'_>, &Known<'_>)| Test::Below.of(b, a) == Truth::Holds && b.ns < a.ns;
    let mut outcome = if let Some((a, b)) = rows.iter().zip(&rows[1..]).find(falls) {
        let unit = Unit::of([a, b]);
        let sentence = format!("the cost falls from {} to {}", unit.sized_as_end(a), unit.sized_as_end(b));
        Outcome::of(Truth::Fails, sentence).on(vec![a.index, b.index])
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

/// What grows: its name, the later and the earlier row.
type Growth<'k, 'a> = (&'k str, &'k Known<'a>, &'k Known<'a>);

/// Whether one cost grows by a larger factor than another.
pub(super) fn grows_more(a: Growth<'_, '_>, b: Growth<'_, '_>) -> Outcome {
    let ([low_a, high_a], [low_b, high_b]) = (growth(a), growth(b));
    grown(Truth::of(low_a > high_b, high_a < low_b), a, b)
}

/// Whether two costs grow by similar factors.
pub(super) fn grows_alike(a: Growth<'_, '_>, b: Growth<'_, '_>) -> Outcome {
    grown(Test::Within(ALIKE).between(growth(a), growth(b)), a, b)
}

fn growth((_, most, few): Growth<'_, '_>) -> [f64; 2] {
    let ratio = most.over(few);
    [ratio.low.unwrap_or_default(), ratio.high.unwrap_or(f64::INFINITY)]
}

fn grown(certain: Truth, a: Growth<'_, '_>, b: Growth<'_, '_>) -> Outcome {
    let rows = [a.1, a.2, b.1, b.2];
    let unit = Unit::of_factors([(a.1, a.2), (b.1, b.2)]);
    let grows = |(name, most, few): Growth<'_, '_>| {
        if are_same(most, few) {
            return format!("{name} stays the same ({} and {})", unit.sized(few), unit.sized(most));
        }
        let changes = if most.ns < few.ns { "falls" } else { "grows" };
        let [from, to] = [few, most].map(|end| unit.sized_as_end(end));
        format!("{name} {changes} from {from} to {to}, {}", figure::dashed(&times(most, few)))
    };
    outcome(certain, format!("{}; {}", grows(a), grows(b)), UNDECIDED, rows.map(|row| row.index))
}

/// A statement about all pairs, which one pair refutes if it certainly contradicts it.
pub(super) fn every(test: Test, words: &str, pairs: &[Pair<'_>]) -> Option<Outcome> {
    let tally = Tally::of(pairs.iter().map(|(a, b)| test.of(a, b)));
    let apart = |(a, b): &Pair<'_>| (a.ns / b.ns).max(b.ns / a.ns);
    let worst = pairs.iter().max_by(|one, other| apart(one).total_cmp(&apart(other)))?;
    let shown = two(test, ("", &worst.0), ("", &worst.1)).sentence;
    let what = if are_same(&worst.0, &worst.1) { "for example," } else { "the largest difference is" };
    let sentence = tally.sentence(words, "pair", what, &shown);
    Some(outcome(tally.is_complete(), sentence, "", rows_of(worst, pairs)))
}

/// A claim of several parts, judged by the parts that a run has: it holds if all do, and fails if one does.
pub(super) fn all(parts: impl IntoIterator<Item = Outcome>) -> Option<Outcome> {
    let parts: Vec<Outcome> = parts.into_iter().collect();
    let verdict = Tally::of(parts.iter().map(|part| part.verdict)).is_complete();
    let sentence = joined(parts.iter().map(|part| Some(part.sentence.as_str())), "; ")?;
    Some(Outcome::of(verdict, sentence).on(unique(parts.into_iter().flat_map(|part| part.rows))))
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
        // A sentence with a factor that is not the quotient of the cycles has the times that it is the quotient of.
        let mut clocked = data(&Verdict::Resolved);
        clocked.rows[2].cycles = Some(Cycles(82.0));
        for sentence in sentences(&clocked) {
            let has_factor = sentence.contains(", a factor of ");
            assert!(has_factor || sentence.contains(" cycles"), "{sentence}");
            assert!(!has_factor || sentence.contains(" ns") && !sentence.contains(" cycles"), "{sentence}");
        }
        for sentence in sentences(&data(&Verdict::Noisy("wide".to_owned()))) {
            assert!(sentence.contains(" ns with") && sentence.contains('~'), "{sentence}");
            assert!(!sentence.contains(" cycles"), "{sentence}");
        }
    }

    #[test]
    fn a_tally_says_how_many_are_true_not_true_and_undecided() {
        let of = |yes, no, all| Tally { yes, no, all }.in_words("pair");
        assert_eq!(of(5, 0, 5), "in all 5 pairs");
        assert_eq!(of(3, 1, 5), "in 3 of 5 pairs (not in 1; 1 undecided)");
        assert_eq!(of(0, 5, 5), "in none of the 5 pairs");
        assert_eq!(of(0, 3, 5), "in none of the 5 pairs, with 2 undecided");
        assert_eq!(of(0, 0, 5), "in none of the 5 pairs, with all undecided");
    }

    #[test]
    fn a_comparison_that_is_the_only_one_is_called_so() {
        let of = |yes, no, all| Tally { yes, no, all }.sentence("it costs less", "pair", "for example,", "1 ns");
        assert_eq!(of(1, 0, 1), "it costs less in the only pair: 1 ns");
        assert_eq!(of(0, 1, 1), "in the only pair, it is not true that it costs less: 1 ns");
        assert_eq!(of(0, 0, 1), "the only pair does not show whether it costs less: 1 ns");
        assert_eq!(of(0, 0, 2), "whether it costs less is undecided in both pairs; for example, 1 ns");
        assert_eq!(of(0, 1, 2), "it costs less in neither of the 2 pairs, with 1 undecided; for example, 1 ns");
    }

    /// Within a run, even a cost without a figure for another run has a range, and it is written as ranges are elsewhere.
    #[test]
    fn a_range_is_written_as_readings_are() {
        let mut data = data(&Verdict::Noisy("wide".to_owned()));
        let mut of = |low, high| {
            data.rows[2].ns_within = Some(Interval { low, high });
            Unit::Time.cost(&Known::of(&data, 2, Basis::Run).unwrap())
        };
        assert_eq!(of(10.2, 190.0), "10 to 190 ns");
        assert_eq!(of(610.0, 5240.0), "0.61 to 5.2 µs");
        assert_eq!(of(-5.0, 190.0), "< 190 ns");
    }

    #[test]
    fn the_interval_of_a_starved_thread_gives_no_ratio() {
        let mut data = data(&Verdict::BelowResolution("starved".to_owned()));
        let mut of = |low, high| {
            data.rows[2].ns_within = Some(Interval { low, high });
            let known = |at| Known::of(&data, at, Basis::Run);
            known(2).zip(known(0)).map(|(a, b)| [times(&a, &b), times(&b, &a)])
        };
        assert_eq!(of(-1e6, 1e6).unwrap(), ["the ratio is unknown", "the ratio is unknown"]);
        assert_eq!(of(-20.0, 60.0).unwrap(), ["a factor below 6.06", "a factor above 0.165"]);
        assert_eq!(of(30.0, 1e6).unwrap(), ["a factor above 2.97", "a factor below 0.337"]);
        assert_eq!(of(-60.0, -20.0), None, "hidden: no cost at all");
    }

    /// Readers take the factor of a sentence for the first cost over the second one.
    #[test]
    fn a_factor_is_the_first_cost_over_the_second() {
        let data = data(&Verdict::Resolved);
        let known = |at| Known::of(&data, at, Basis::Run).unwrap();
        for (a, b, factor) in [(0, 1, "0.500"), (1, 0, "2.00"), (0, 3, "0.125"), (3, 0, "8.00")] {
            let sentence = two(Test::Below, ("", &known(a)), ("", &known(b))).sentence;
            assert!(sentence.contains(&format!("a factor of {factor} (")), "{sentence}");
            let grown = grows_more(("it", &known(a), &known(b)), ("that", &known(2), &known(1))).sentence;
            assert!(grown.contains(&format!(", a factor of {factor} (")), "{grown}");
        }
    }

    /// What stands after "for example" is a case of what stands before it.
    #[test]
    fn an_undecided_example_is_called_so() {
        let row = |ns: f64| Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(Interval { low: 0.95 * ns, high: 1.05 * ns }),
            ..Row::unmeasured(Case { threads: Some(2), ..Case::new("cpu.atomic.add") }, Verdict::Resolved)
        };
        let said = |costs: &[f64]| {
            let data = testing::data(costs.iter().flat_map(|ns| [row(*ns), row(100.0)]).collect());
            let known = |at| Known::of(&data, at, Basis::Run).unwrap();
            let pairs: Vec<Pair<'_>> = (0..costs.len()).map(|at| (known(2 * at), known(2 * at + 1))).collect();
            generally(Test::Below, "it costs less", &pairs).unwrap().sentence
        };
        for (costs, begin) in [
            (&[50.0, 60.0, 99.0, 102.0][..], "2 of 4 comparisons, with 2 undecided; one of the 2 undecided ones is"),
            (&[50.0, 60.0, 102.0], "2 of 3 comparisons, with 1 undecided; the undecided one is"),
            (&[99.0, 102.0], "it costs less is undecided in both comparisons; for example,"),
            (&[50.0, 60.0, 70.0, 102.0], "3 of 4 comparisons, with 1 undecided; for example, with 2 threads, 70.0 ns"),
            (
                &[150.0, 160.0, 102.0],
                "none of the 3 comparisons, with 1 undecided; for example, with 2 threads, 160 ns",
            ),
        ] {
            let sentence = said(costs);
            assert!(sentence.contains(begin), "{sentence}");
        }
    }

    #[test]
    fn a_count_of_costs_near_the_median_leaves_none_unsaid() {
        let row = |(ns, half): (f64, f64)| Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(Interval { low: ns - half, high: ns + half }),
            ..Row::unmeasured(Case { threads: Some(2), ..Case::new("cpu.atomic.add") }, Verdict::Resolved)
        };
        let said = |costs: &[(f64, f64)]| {
            let data = testing::data(costs.iter().copied().map(row).collect());
            let rows: Vec<_> = (0..costs.len()).filter_map(|at| Known::of(&data, at, Basis::Run)).collect();
            largely_flat(&rows).unwrap().sentence
        };
        let (near, undecided, far) = ((100.0, 1.0), (200.0, 20.0), (900.0, 1.0));
        for (costs, count) in [
            (vec![near; 3], "all 3 cases are within a factor of 2 of the median of 100 ns; costs"),
            (
                vec![near, near, near, far],
                "3 of 4 cases are within a factor of 2 of the median of 100 ns (1 is not); costs",
            ),
            (vec![near, near, near, undecided], "100 ns (1 is undecided); costs"),
            (vec![near, near, near, near, undecided, far, far], "100 ns (2 are not and 1 is undecided); costs"),
        ] {
            let sentence = said(&costs);
            assert!(sentence.contains(count), "{sentence}");
        }
    }
}

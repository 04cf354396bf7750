//! Puts one row into words. Terminal, page, exports, charts and sentences all take the words from here, so that they agree.
//! [`syncscope_core::run::shown`] decides which interval counts where.
//!
//! - [`State`]: whether the row has a cost, a bound or nothing
//! - [`Reading`]: the state with its texts
//! - [`bounds`] and [`interval_within_run`]: the interval of its cost
//! - [`VERDICTS`] and [`SIGNS`]: what the words and signs mean

use serde::Serialize;
use syncscope_core::run::shown::RANGE_UP_TO;
use syncscope_core::stats::Interval;
use syncscope_core::{Row, Settings, Verdict};

use crate::figure;
use crate::naming::KERNEL_US;

/// What a row shows, in the words of the page's scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A number with its interval.
    Resolved,
    /// A noisy estimate whose interval is narrow enough for a rough figure.
    Rough,
    /// An estimate that is too uncertain for a figure: a range, or no figure.
    Open,
    /// An upper bound of a cost.
    Bound,
    /// A cost that depends on the operations around it.
    NonAdditive,
    /// A primitive whose cost the surrounding code hides.
    Overlapped,
    /// No figure.
    #[default]
    Missing,
}

impl State {
    pub(crate) fn of(row: &Row) -> Self {
        let has_cost = row.ns.is_some_and(|ns| ns.value() > 0.0);
        match row.verdict {
            Verdict::Overlapped(_) => Self::Overlapped,
            Verdict::BelowResolution(_) if bound(row).is_some() => Self::Bound,
            Verdict::Resolved | Verdict::Imported(_) if has_cost => Self::Resolved,
            Verdict::NonAdditive(_) if has_cost => Self::NonAdditive,
            Verdict::Noisy(_) if row.has_figure() => Self::Rough,
            Verdict::Noisy(_) | Verdict::Interfered(_) if has_cost => Self::Open,
            _ => Self::Missing,
        }
    }

    /// Whether the cost may be written as a number.
    pub(crate) const fn has_figure(self) -> bool {
        matches!(self, Self::Resolved | Self::Rough)
    }
}

/// What the marks of a chart mean, in the order of its legend; a filled mark needs no words.
pub(crate) const MARKS: [(State, &str); 6] = [
    (State::Rough, "rough (~)"),
    (State::Open, "a range, or no figure"),
    (State::Bound, "a bound"),
    (State::NonAdditive, "not additive"),
    (State::Overlapped, "overlapped"),
    (State::Missing, "no figure"),
];

/// A row as short texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// What the row shows.
    pub state: State,
    /// `9.18 ns`, `46.1 ns [equal work: 71.8 ns]`, `~9.18 ns` (noisy), `7.0 to 12 µs`, `< 0.05 ns`, `no figure`, `skipped`.
    pub figure: String,
    /// `±1.0 %`, where there is a figure and an interval.
    pub interval: Option<String>,
    /// `33.8 cycles`, where cycles were measured and are certain; the nanoseconds need not be.
    pub cycles: Option<String>,
}

impl Reading {
    /// Reads a row.
    pub fn of(row: &Row) -> Self {
        let state = State::of(row);
        let written = if state == State::Rough { figure::rough_time } else { figure::time };
        let equal_work = row.of_equal_work().and_then(|equal| equal.ns).map(|ns| written(ns.value()));
        let time = row.ns.filter(|_| state.has_figure()).map(|ns| match equal_work {
            Some(equal) => format!("{} [equal work: {equal}]", written(ns.value())),
            None => written(ns.value()),
        });
        let figure = match (state, &row.verdict) {
            (State::Resolved | State::Rough, _) => time.unwrap_or_default(),
            (State::Bound, _) => less_than(row).unwrap_or_default(),
            _ if is_negative(row) => NEGATIVE.to_owned(),
            (_, Verdict::Resolved | Verdict::Noisy(_) | Verdict::Interfered(_)) => {
                range(row).map_or_else(|| NO_NUMBER.to_owned(), in_range)
            }
            (_, verdict) => words(verdict.name()).to_owned(),
        };
        let shown = row.ns.zip(row.shown_interval()).filter(|_| state.has_figure());
        let cycles = row.cycles.filter(|_| state.has_figure() && has_certain_cycles(row));
        Self {
            state,
            figure,
            interval: shown.and_then(|(ns, interval)| figure::relative(ns.value(), interval)),
            cycles: cycles.map(|value| figure::cycles(value.value())),
        }
    }

    /// The figure, its interval and its cycles for a table; unknown ones are empty.
    pub(crate) fn cells(self) -> [String; 3] {
        [self.figure, self.interval.unwrap_or_default(), self.cycles.unwrap_or_default()]
    }
}

/// Whether a measured row has neither a figure nor a range to show.
pub(crate) fn lacks_number(row: &Row) -> bool {
    let is_measured = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_) | Verdict::Interfered(_));
    is_measured && !matches!(State::of(row), State::Resolved | State::Rough | State::Bound) && range(row).is_none()
}

/// The interval for comparing a row with others of its run. Rows of older versions have one interval for every purpose.
pub fn interval_within_run(row: &Row) -> Option<Interval> {
    row.ns_within.or(row.ns_interval)
}

/// The interval in which the cost of a row lies within its run, also for a cost below the resolution. A resolved cost
/// without an interval counts as exact. `None` where the figure is not the row's own cost, or where the whole interval is
/// below zero because the surrounding code hides the primitive.
pub(crate) fn bounds(row: &Row) -> Option<Interval> {
    let ns = row.ns?.value();
    match row.verdict {
        Verdict::Resolved | Verdict::Imported(_) => {
            Some(interval_within_run(row).unwrap_or(Interval { low: ns, high: ns }))
        }
        Verdict::Noisy(_) | Verdict::BelowResolution(_) => {
            interval_within_run(row).filter(|interval| interval.high > 0.0)
        }
        _ => None,
    }
}

/// The upper bound of a cost in nanoseconds: the larger of the upper ends of both intervals.
pub(crate) fn bound(row: &Row) -> Option<f64> {
    let most = [row.ns_interval, row.ns_within].into_iter().flatten().map(|interval| interval.high).reduce(f64::max);
    most.filter(|most| *most > 0.0)
}

/// `< 0.05 ns`.
pub(crate) fn less_than(row: &Row) -> Option<String> {
    bound(row).map(figure::less_than)
}

/// Whether the cost of a row may be written as a number. Every table and sentence follows this rule.
pub fn has_figure(row: &Row) -> bool {
    State::of(row).has_figure()
}

/// Whether the cost of a row may be written, as a number or as its interval: `7.0 to 12 µs`.
pub(crate) fn is_written(row: &Row) -> bool {
    has_figure(row) || range(row).is_some()
}

/// The range of a cost without a figure: `7.0 to 12 µs`, or `< 12 µs` where it may be zero.
pub(crate) fn in_range(Interval { low, high }: Interval) -> String {
    if low > 0.0 { figure::between(low, high) } else { figure::less_than(high) }
}

/// Whether the cost of a row can be compared with the same case in another run. A cost that is not additive qualifies,
/// because the other run adds up in the same way.
pub fn has_cost_of_case(row: &Row) -> bool {
    row.verdict.has_cost() || matches!(row.verdict, Verdict::Noisy(_) | Verdict::NonAdditive(_))
}

/// The range of a noisy row whose cost is too uncertain for a figure.
pub fn range(row: &Row) -> Option<Interval> {
    let is_range = matches!(row.verdict, Verdict::Noisy(_)) && row.shown_width()? <= RANGE_UP_TO;
    row.shown_interval().filter(|interval| is_range && interval.low > 0.0)
}

/// Whether the cycles may be written: when they are as certain as a resolved cost. If the nanoseconds are as certain too and
/// the row is still noisy, the case had too few blocks.
fn has_certain_cycles(row: &Row) -> bool {
    let is_narrow = |width: Option<f64>| width.is_none_or(|width| width <= Settings::NOISY_ABOVE);
    is_narrow(row.shown_width_in_cycles()) && (row.verdict.has_cost() || !is_narrow(row.shown_width()))
}

/// The words in place of a figure that is too uncertain.
pub(crate) const NO_NUMBER: &str = "no figure";

/// Another tool's difference of two times may be below zero; it has no interval.
fn is_negative(row: &Row) -> bool {
    let is_estimate = matches!(row.verdict, Verdict::Imported(_) | Verdict::Noisy(_));
    is_estimate && row.ns.is_some_and(|ns| ns.value() < 0.0) && row.shown_interval().is_none()
}

const NEGATIVE: &str = "negative";

/// How the explanations write a range.
const RANGE: &str = "a to b";

/// A verdict in words.
#[derive(Debug, Serialize)]
pub(crate) struct VerdictWords {
    pub(crate) name: &'static str,
    /// The style class of the verdict's colour.
    tone: &'static str,
    words: &'static str,
    pub(crate) meaning: &'static str,
}

const fn verdict(name: &'static str, tone: &'static str, words: &'static str, meaning: &'static str) -> VerdictWords {
    VerdictWords { name, tone, words, meaning }
}

/// The verdicts, in the order of the explanations.
pub(crate) const VERDICTS: [VerdictWords; 12] = [
    verdict("Resolved", "good", "resolved", "The interval is narrow and excludes zero."),
    verdict("Imported", "bound", "imported", "Another tool's figure, without an interval."),
    verdict(
        "BelowResolution",
        "bound",
        "below resolution",
        "The cost cannot be distinguished from zero; the figure is an upper bound.",
    ),
    verdict(
        "Overlapped",
        "bound",
        "overlapped",
        "The loop ran faster with the primitive than without it: adding the primitive sped up the surrounding code by more \
         than the primitive costs.",
    ),
    verdict(
        "NonAdditive",
        "doubt",
        "not additive",
        "A second copy of the primitive differs in cost from the first, so the figure holds only in this context.",
    ),
    verdict("Noisy", "doubt", "noisy", "The interval was still wide when time ran out."),
    verdict("Interfered", "doubt", "disturbed", "Too many pairs were excluded because of interference."),
    verdict("NotTogether", "void", "not together", "The measured threads did not run at the same time."),
    verdict(
        "Elided",
        "void",
        "elided",
        "The compiler removed or replaced the primitive, so there is nothing to \
             measure.",
    ),
    verdict("Skipped", "void", "skipped", "The case does not exist on this machine."),
    verdict("TimedOut", "bad", "timed out", "A loop did not end within its time limit."),
    verdict("Failed", "bad", "failed", "The case could not be measured, or its check failed."),
];

/// A verdict in a sentence: `below resolution`.
pub(crate) fn words(verdict: &str) -> &str {
    VERDICTS.iter().find(|known| known.name == verdict).map_or(verdict, |known| known.words)
}

/// A sign next to a figure, or a word in its place.
#[derive(Debug, Serialize)]
pub(crate) struct Sign {
    pub(crate) text: &'static str,
    pub(crate) meaning: &'static str,
}

const PROVISIONAL: &str = "provisional";
const KERNEL_LENGTH: &str = "5 µs";

/// The signs, in the order of the explanations. The page explains the verdicts separately.
pub(crate) const SIGNS: [Sign; 8] = [
    Sign {
        text: figure::ROUGHLY,
        meaning: "a rough figure: the interval is wider than ±5 % or based on too few blocks",
    },
    Sign { text: "<", meaning: "an upper bound: the cost may be zero" },
    Sign { text: RANGE, meaning: "the interval alone, because it is wider than ±25 %" },
    Sign { text: NO_NUMBER, meaning: "the interval is wider than ±50 %, or too many pairs were excluded" },
    Sign { text: NEGATIVE, meaning: "another tool's difference of two times, which is below zero" },
    Sign { text: "not additive", meaning: "a second copy costs more or less than the first" },
    Sign { text: PROVISIONAL, meaning: "some planned measurement blocks are missing" },
    Sign { text: KERNEL_LENGTH, meaning: "duration of the launched kernels (not included in the cost)" },
];

impl Sign {
    fn occurs(&self, rows: &[Row]) -> bool {
        rows.iter().any(|row| match self.text {
            PROVISIONAL => row.provisional,
            KERNEL_LENGTH => row.case.in_group(KERNEL_US),
            RANGE => range(row).is_some() && !row.has_figure(),
            figure => Reading::of(row).figure.starts_with(figure),
        })
    }
}

/// Explains, in one text, the signs that occur among the rows of a run; `None` if none does.
pub(crate) fn signs_of(rows: &[Row]) -> Option<String> {
    let found = SIGNS.iter().filter(|sign| sign.occurs(rows));
    let texts: Vec<String> = found.map(|sign| format!("{}: {}", sign.text, sign.meaning)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::run::shown::ROUGH_UP_TO;
    use syncscope_core::{Case, Cycles, Group, Nanoseconds};

    #[test]
    fn every_verdict_has_its_words() {
        let sorted = |mut names: [&'static str; Verdict::NAMES.len()]| {
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(VERDICTS.map(|known| known.name)), sorted(Verdict::NAMES));
    }

    #[test]
    fn a_bound_is_the_larger_of_both_ends_and_never_rounded_below() {
        let interval = |high| Some(Interval { low: -1.0, high });
        let of = |quoted, within| {
            let row = Row::unmeasured(Case::new("cpu.handoff.park"), Verdict::BelowResolution(String::new()));
            Reading::of(&Row { ns_interval: quoted, ns_within: within, ..row }).figure
        };
        assert_eq!(of(interval(141.0), interval(4119.965)), "< 4.2 µs");
        assert_eq!((of(interval(4846.0), None), of(None, interval(10.288))), ("< 4.9 µs".into(), "< 11 ns".into()));
        assert_eq!((of(interval(0.05), None), of(interval(996.0), None)), ("< 0.050 ns".into(), "< 1.0 µs".into()));
        assert_eq!(of(interval(-0.5), None), "below resolution");
    }

    /// Published differences may be below zero: that is why they have no figure, not a wide interval.
    #[test]
    fn a_negative_difference_of_another_tool_is_called_negative() {
        let of = |ns, verdict: Verdict| Row {
            ns: Some(Nanoseconds(ns)),
            ..Row::unmeasured(Case::new("gpu.fence.block"), verdict)
        };
        for verdict in [Verdict::Imported("published".into()), Verdict::Noisy("a negative time".into())] {
            let rows = [of(-0.5, verdict)];
            assert_eq!((Reading::of(&rows[0]).figure.as_str(), State::of(&rows[0])), (NEGATIVE, State::Missing));
            let said = signs_of(&rows).unwrap();
            assert!(said.contains("below zero") && !said.contains("±50 %"), "{said}");
        }
        let measured =
            Row { ns_within: Some(Interval { low: -9.0, high: 8.0 }), ..of(-0.5, Verdict::Noisy("wide".into())) };
        assert_eq!(Reading::of(&measured).figure, NO_NUMBER);
        assert_eq!(Reading::of(&of(-0.5, Verdict::Failed("check".into()))).figure, "failed");
    }

    #[test]
    fn a_mean_over_unequal_threads_stands_beside_what_equal_work_costs() {
        let row = Row {
            ns: Some(Nanoseconds(46.1)),
            ns_within: Some(Interval { low: 46.0, high: 46.2 }),
            equal_work_ns: Some(Nanoseconds(69.3)),
            equal_work_within: Some(Interval { low: 66.0, high: 72.0 }),
            ..Row::unmeasured(Case::new("gpu.atomic.add"), Verdict::Resolved)
        };
        assert_eq!(Reading::of(&row).figure, "46.1 ns [equal work: 69.3 ns]");
        let overlapping = Row { equal_work_within: Some(Interval { low: 40.0, high: 99.0 }), ..row };
        assert_eq!(Reading::of(&overlapping).figure, "46.1 ns");
    }

    #[test]
    fn a_cost_that_may_be_nothing_is_not_written() {
        let row = |ns, low, verdict| Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low, high: 2.0 * ns - low }),
            ..Row::unmeasured(Case::new("cpu.fence.acquire"), verdict)
        };
        let noisy = |low| row(1.0, low, Verdict::Noisy("wide".into()));
        assert_eq!([0.7, 0.5, 0.2].map(|low| is_written(&noisy(low))), [true, true, false]);
        let from_zero = Row { ns_interval: Some(Interval { low: 0.0, high: 1.0 }), ..noisy(0.5) };
        assert!(!is_written(&from_zero));
        for (verdict, with_cost) in
            [(Verdict::Resolved, State::Resolved), (Verdict::NonAdditive("more".into()), State::NonAdditive)]
        {
            let state = |ns| State::of(&row(ns, 0.0, verdict.clone()));
            assert_eq!([1.0, 0.0, -1.0].map(state), [with_cost, State::Missing, State::Missing]);
        }
    }

    #[test]
    fn unresolved_rows_have_no_figure_unless_their_interval_is_narrow() {
        let row = |verdict, high| Row {
            ns: Some(Nanoseconds(0.01)),
            ns_interval: Some(Interval { low: -0.02, high }),
            cycles: Some(Cycles(0.1)),
            ..Row::unmeasured(Case::new("cpu.fence.acquire"), verdict)
        };
        let below = Verdict::BelowResolution("at most 0.050 ns".into());
        assert_eq!(Reading::of(&row(below.clone(), 0.05)).figure, "< 0.050 ns");
        assert_eq!(Reading::of(&row(below, -0.01)).figure, "below resolution");
        let noisy = Reading::of(&row(Verdict::Noisy("wide".into()), 4.0));
        assert_eq!((noisy.figure.as_str(), noisy.cycles, noisy.state), ("no figure", None, State::Open));
        let rough = Row {
            ns: Some(Nanoseconds(2.0)),
            ns_interval: Some(Interval { low: 1.8, high: 2.2 }),
            ..row(Verdict::Noisy("wide".into()), 4.0)
        };
        let rough = Reading::of(&rough);
        assert_eq!((rough.figure.as_str(), rough.state), ("~2.0 ns", State::Rough));
        assert_eq!(rough.interval.as_deref(), Some("±10 %"));
    }

    #[test]
    fn the_interval_of_a_figure_is_the_one_for_another_run() {
        let row = Row {
            ns: Some(Nanoseconds(2.0)),
            ns_interval: Some(Interval { low: 1.4, high: 2.6 }),
            ns_within: Some(Interval { low: 1.8, high: 2.2 }),
            ..Row::unmeasured(Case::new("cpu.atomic.add"), Verdict::Noisy("wide".into()))
        };
        let of = |low, high| {
            let reading = Reading::of(&Row { ns_interval: Some(Interval { low, high }), ..row.clone() });
            (reading.figure, reading.interval.unwrap_or_default())
        };
        // The interval within the run is narrow enough for a rough figure, but the shown interval decides.
        assert_eq!(of(1.4, 2.6), ("1.4 to 2.6 ns".into(), String::new()));
        assert_eq!(of(1.6, 2.4), ("~2.0 ns".into(), "±20 %".into()));
        assert_eq!(of(0.9, 3.1), ("no figure".into(), String::new()));
        let resolved = Row { verdict: Verdict::Resolved, ..row.clone() }.judged();
        assert_eq!(Reading::of(&resolved).figure, "1.4 to 2.6 ns");
    }

    #[test]
    fn cycles_may_be_certain_alone() {
        let around =
            |middle: f64, half: f64| Some(Interval { low: middle * (1.0 - half), high: middle * (1.0 + half) });
        let cycles = |ns: f64, cycles: f64, verdict| {
            let row = Row {
                ns: Some(Nanoseconds(2.0)),
                ns_interval: around(2.0, ns),
                cycles: Some(Cycles(6.0)),
                cycles_interval: around(6.0, cycles),
                ..Row::unmeasured(Case::new("cpu.atomic.add"), verdict)
            };
            Reading::of(&row).cycles.is_some()
        };
        let noisy = || Verdict::Noisy("wide".into());
        assert!(cycles(0.01, 0.01, Verdict::Resolved) && cycles(0.1, 0.01, noisy()));
        assert!(!cycles(0.01, 0.1, Verdict::Resolved) && !cycles(0.1, 0.1, noisy()));
        assert!(!cycles(0.01, 0.01, noisy()), "too few blocks");
    }

    #[test]
    fn a_cost_that_is_hidden_or_depends_on_its_neighbours_has_words() {
        let row = |verdict| Row { ns: Some(Nanoseconds(2.0)), ..Row::unmeasured(Case::new("cpu.atomic.add"), verdict) };
        assert_eq!(Reading::of(&row(Verdict::Overlapped("hidden".into()))).figure, "overlapped");
        assert_eq!(Reading::of(&row(Verdict::NonAdditive("differs".into()))).figure, "not additive");
    }

    fn signs(rows: &[Row]) -> Vec<String> {
        let text = signs_of(rows).unwrap_or_default();
        text.split("; ").map(|one| one.split(": ").next().unwrap().to_owned()).collect()
    }

    fn noisy(half: f64) -> Row {
        Row {
            ns: Some(Nanoseconds(10.0)),
            ns_within: Some(Interval { low: 10.0 - half, high: 10.0 + half }),
            ..Row::unmeasured(Case::new("cpu.atomic.add"), Verdict::Noisy("wide".into()))
        }
    }

    #[test]
    fn only_signs_that_occur_are_explained() {
        let resolved = Row { verdict: Verdict::Resolved, ..noisy(0.1) };
        assert_eq!(signs_of(std::slice::from_ref(&resolved)), None);
        assert_eq!(signs(&[resolved.clone(), noisy(1.0)]), ["~"]);
        assert_eq!(signs(&[noisy(4.0), noisy(6.0), resolved.clone()]), [RANGE, "no figure"]);
        let launch = Case { group: Some(Group::of_word("5 us")), ..Case::new("gpu.launch.stream") };
        let not_additive = Row { verdict: Verdict::NonAdditive("differs".into()), ..resolved.clone() };
        assert_eq!(signs(&[Row { case: launch, ..resolved }, not_additive]), ["not additive", "5 µs"]);
    }

    #[test]
    fn the_width_that_decides_is_the_one_that_is_named() {
        let widths = [("~", Settings::NOISY_ABOVE), (RANGE, ROUGH_UP_TO), ("no figure", RANGE_UP_TO)];
        for (text, half_width) in widths {
            let meaning = SIGNS.iter().find(|sign| sign.text == text).unwrap().meaning;
            assert!(meaning.contains(&format!("±{} %", 100.0 * half_width)), "{meaning}");
        }
    }
}

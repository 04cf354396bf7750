//! Numbers as text: short, with a unit and three significant digits.

use std::fmt::Display;

use serde::Serialize;
use syncscope_core::stats::Interval;
use syncscope_core::{Row, Verdict};

use crate::naming::{self, KERNEL_US};

/// A number with this many significant digits and without an exponent: `0.0521`, `9.18`, `212`.
fn digits(value: f64, count: i32) -> String {
    // The exponent is taken after rounding: 0.9996 is written as 1.00.
    let scientific = format!("{value:.*e}", (count - 1).unsigned_abs() as usize);
    let magnitude: i32 = scientific.split('e').next_back().and_then(|exponent| exponent.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(count - 1 - magnitude).unwrap_or(0).min(6);
    format!("{value:.decimals$}")
}

/// A ratio of two costs: `1.05`, `0.981`, `1,308`.
pub(crate) fn ratio(value: f64) -> String {
    grouped(digits(value, 3))
}

/// The interval of a ratio: `1.88 to 1.92`; an end that is not known has no number.
pub(crate) fn ends(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", ratio(low), ratio(high)),
        (Some(low), None) => format!("above {}", ratio(low)),
        (None, Some(high)) => format!("below {}", ratio(high)),
        (None, None) => "–".to_owned(),
    }
}

/// A time in the unit that needs the fewest digits: `2.03 ns`, `1.26 µs`, `3.10 ms`.
pub fn time(ns: f64) -> String {
    time_with(ns, 3)
}

fn time_with(ns: f64, significant: i32) -> String {
    let (divisor, unit) = match ns.abs() {
        // 999.5 would round to 1000, which has four digits.
        ..999.5 => (1.0, "ns"),
        ..999.5e3 => (1e3, "µs"),
        ..999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", digits(ns / divisor, significant))
}

/// `33.8 cycles`, `69,638 cycles`.
pub(crate) fn cycles(value: f64) -> String {
    format!("{} cycles", grouped(digits(value, 3)))
}

/// A number that is written in decimals, with commas between thousands: `135,168`, `1,234.5`.
pub fn grouped(number: impl Display) -> String {
    let text = number.to_string();
    let first = text.find(|character: char| character.is_ascii_digit()).unwrap_or(0);
    let end = text.find('.').unwrap_or(text.len());
    let mut grouped = String::new();
    for (at, character) in text.char_indices() {
        if at > first && at < end && (end - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(character);
    }
    grouped
}

/// `5 %`, `2.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 1e6).round() / 1e4;
    format!("{rounded} %")
}

/// The half-width of an interval relative to its point: `±1.0 %`.
pub(crate) fn relative(point: f64, interval: Interval) -> Option<String> {
    let percent = 100.0 * interval.half_width() / point.abs();
    percent.is_finite().then(|| match percent {
        ..0.05 => "±<0.1 %".to_owned(),
        ..9.95 => format!("±{percent:.1} %"),
        _ => format!("±{percent:.0} %"),
    })
}

/// The cost of a row as short texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// `9.18 ns`, `~9.18 ns` (noisy), `< 0.05 ns`, `no number`, `skipped`.
    pub(crate) figure: String,
    /// `±1.0 %`, where there is a figure and an interval.
    pub(crate) interval: Option<String>,
    /// `33.8 cycles`, where cycles were measured.
    pub(crate) cycles: Option<String>,
    /// Whether `figure` is a cost.
    pub(crate) resolved: bool,
}

impl Cost {
    /// The cost of a row, or the words that stand in its place.
    pub(crate) fn of(row: &Row) -> Self {
        let figure = match &row.verdict {
            Verdict::Resolved => return Self::resolved(row),
            Verdict::Noisy(_) if has_figure(row) => {
                let rough = Self::resolved(row);
                return Self { figure: format!("{ROUGHLY}{}", rough.figure), cycles: None, resolved: false, ..rough };
            }
            Verdict::BelowResolution(_) => less_than(row).unwrap_or_else(|| "no number".to_owned()),
            Verdict::Noisy(_) | Verdict::Interfered(_) => "no number".to_owned(),
            other => naming::verdict(other.name()),
        };
        Self { figure, ..Self::default() }
    }

    /// The figure, its interval and its cycles for a table; what is not known is empty.
    pub(crate) fn cells(self) -> [String; 3] {
        [self.figure, self.interval.unwrap_or_default(), self.cycles.unwrap_or_default()]
    }

    /// The figure where no interval stands beside it. A cost that is resolved in cycles may be less certain in nanoseconds than a
    /// rough one: it has its interval.
    pub(crate) fn alone(row: &Row) -> String {
        match Self::of(row) {
            Self { figure, interval: Some(interval), resolved: true, .. } if is_narrow(row) == Some(false) => {
                format!("{figure} {interval}")
            }
            Self { figure, .. } => figure,
        }
    }

    fn resolved(row: &Row) -> Self {
        let Some(ns) = row.ns else { return Self { figure: "no figure".to_owned(), ..Self::default() } };
        Self {
            figure: time(ns.value()),
            interval: row.ns_interval.and_then(|interval| relative(ns.value(), interval)),
            cycles: row.cycles.map(|value| cycles(value.value())),
            resolved: true,
        }
    }
}

/// The interval to compare a row with others of its run by. Rows of older versions have one interval for everything.
pub fn interval_within_run(row: &Row) -> Option<Interval> {
    row.ns_within.or(row.ns_interval)
}

/// What a cost is less than, in nanoseconds: the larger of the upper ends of both intervals.
pub(crate) fn bound(row: &Row) -> Option<f64> {
    let most = [row.ns_interval, row.ns_within].into_iter().flatten().map(|interval| interval.high).reduce(f64::max);
    most.filter(|most| *most > 0.0)
}

/// `< 0.05 ns`.
pub(crate) fn less_than(row: &Row) -> Option<String> {
    bound(row).map(|most| format!("< {}", time_with(rounded_up(most), 2)))
}

/// With two significant digits and not below the number.
fn rounded_up(number: f64) -> f64 {
    let step = 10_f64.powf(number.log10().floor() - 1.0);
    (number / step * (1.0 - 1e-9)).ceil() * step
}

/// Whether the cost of a row may be written as a number: it is resolved, or noisy with an interval narrow enough for a rough
/// figure. Every table and sentence follows this rule.
pub fn has_figure(row: &Row) -> bool {
    match row.verdict {
        Verdict::Resolved => row.ns.is_some(),
        Verdict::Noisy(_) => is_narrow(row) == Some(true),
        _ => false,
    }
}

/// Whether the interval within the run is narrow enough for a rough figure; `None` without one.
fn is_narrow(row: &Row) -> Option<bool> {
    Some(interval_within_run(row)?.half_width() < ROUGH_HALF_WIDTH * row.ns?.value())
}

/// What stands before a rough figure.
pub(crate) const ROUGHLY: &str = "~";

/// The relative half-width of an interval below which a noisy estimate is shown, as a rough one. The scripts of the page
/// read it from the page's data.
pub(crate) const ROUGH_HALF_WIDTH: f64 = 0.25;

/// `1.25`, or `1.25 to 3.50` where the ends differ as texts.
pub(crate) fn range(low: &str, high: &str) -> String {
    if low == high { low.to_owned() } else { format!("{low} to {high}") }
}

/// The least and the largest of these numbers; `None` without any.
pub(crate) fn extremes(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let wider = |(low, high): (f64, f64), (least, most): (f64, f64)| (low.min(least), high.max(most));
    numbers.into_iter().map(|number| (number, number)).reduce(wider)
}

/// A duration: `42 s`, `3 min 20 s`, `2 h 05 min`, with no-break spaces.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds}\u{a0}s"),
        60..3600 => format!("{}\u{a0}min\u{a0}{:02}\u{a0}s", seconds / 60, seconds % 60),
        _ => format!("{}\u{a0}h\u{a0}{:02}\u{a0}min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A sign beside a figure, or a word in its place.
#[derive(Debug, Serialize)]
pub(crate) struct Sign {
    pub(crate) text: &'static str,
    pub(crate) meaning: &'static str,
}

const PROVISIONAL: &str = "provisional";
const KERNEL_LENGTH: &str = "5 µs";

/// The signs, in the order of the explanations. The verdicts have explanations of their own on the page.
pub(crate) const SIGNS: [Sign; 6] = [
    Sign {
        text: ROUGHLY,
        meaning: "a rough figure, whose interval within this run is wider than ±5 % or based on too few blocks",
    },
    Sign { text: "<", meaning: "at most this, not distinguished from zero" },
    Sign { text: "no number", meaning: "the interval is wider than ±25 %, or too many pairs were excluded" },
    Sign { text: "not additive", meaning: "a second copy costs more or less than the first" },
    Sign { text: PROVISIONAL, meaning: "more measurement blocks were planned" },
    Sign { text: KERNEL_LENGTH, meaning: "length of the launched kernels, not part of the cost" },
];

impl Sign {
    fn occurs(&self, rows: &[Row]) -> bool {
        rows.iter().any(|row| match self.text {
            PROVISIONAL => row.provisional,
            KERNEL_LENGTH => row.case.in_group(KERNEL_US),
            figure => Cost::of(row).figure.starts_with(figure),
        })
    }
}

/// The signs that occur among the rows of a run in one text; `None` without any.
pub(crate) fn signs_of(rows: &[Row]) -> Option<String> {
    let found = SIGNS.iter().filter(|sign| sign.occurs(rows));
    let texts: Vec<String> = found.map(|sign| format!("{}: {}", sign.text, sign.meaning)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Cycles, Group, Nanoseconds, Settings};

    #[test]
    fn times_keep_three_digits() {
        for (ns, text) in [
            (0.0, "0.00 ns"),
            (0.052_13, "0.0521 ns"),
            (2.0331, "2.03 ns"),
            (98.76, "98.8 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (1_260.0, "1.26 µs"),
            (3.1e6, "3.10 ms"),
            (2.5e9, "2.50 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn a_bound_is_the_larger_of_both_ends_and_never_rounded_below() {
        let interval = |high| Some(Interval { low: -1.0, high });
        let of = |quoted, within| {
            let row = Row::unmeasured(Case::new("cpu.handoff.park"), Verdict::BelowResolution(String::new()));
            Cost::of(&Row { ns_interval: quoted, ns_within: within, ..row }).figure
        };
        assert_eq!(of(interval(141.0), interval(4119.965)), "< 4.2 µs");
        assert_eq!((of(interval(4846.0), None), of(None, interval(10.288))), ("< 4.9 µs".into(), "< 11 ns".into()));
        assert_eq!((of(interval(0.05), None), of(interval(996.0), None)), ("< 0.050 ns".into(), "< 1.0 µs".into()));
        assert_eq!(of(interval(-0.5), None), "no number");
    }

    #[test]
    fn thousands_of_cycles_have_a_separator() {
        for (value, text) in [(33.84, "33.8 cycles"), (837.0, "837 cycles"), (69_638.4, "69,638 cycles")] {
            assert_eq!(cycles(value), text);
        }
    }

    #[test]
    fn commas_stand_between_thousands_before_the_decimals() {
        let texts = ["7", "135168", "1000000", "100", "-837", "-1234.5678", "0.0001", "12345.", ""].map(grouped);
        assert_eq!(texts, ["7", "135,168", "1,000,000", "100", "-837", "-1,234.5678", "0.0001", "12,345.", ""]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn intervals_are_relative() {
        let around = |half: f64| relative(10.0, Interval { low: 10.0 - half, high: 10.0 + half });
        assert_eq!(around(0.1).as_deref(), Some("±1.0 %"));
        assert_eq!(around(0.001).as_deref(), Some("±<0.1 %"));
        assert_eq!(around(2.6).as_deref(), Some("±26 %"));
        assert_eq!(relative(0.0, Interval { low: 0.0, high: 0.0 }), None);
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
        assert_eq!(Cost::of(&row(below.clone(), 0.05)).figure, "< 0.050 ns");
        assert_eq!(Cost::of(&row(below, -0.01)).figure, "no number");
        let noisy = Cost::of(&row(Verdict::Noisy("wide".into()), 4.0));
        assert_eq!((noisy.figure.as_str(), noisy.cycles, noisy.resolved), ("no number", None, false));
        let rough = Row {
            ns: Some(Nanoseconds(2.0)),
            ns_interval: Some(Interval { low: 1.8, high: 2.2 }),
            ..row(Verdict::Noisy("wide".into()), 4.0)
        };
        let rough = Cost::of(&rough);
        assert_eq!((rough.figure.as_str(), rough.resolved), ("~2.00 ns", false));
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
        // The verdict is about this run: within it, the estimate is narrow enough for a rough figure.
        let cost = Cost::of(&row);
        assert_eq!((cost.figure.as_str(), cost.interval.as_deref()), ("~2.00 ns", Some("±30 %")));
        assert_eq!(Cost::of(&Row { ns_within: None, ..row.clone() }).figure, "no number");
        // Resolved in cycles: the time is so uncertain that it is not written without its interval.
        let resolved = Row { verdict: Verdict::Resolved, ..row };
        assert_eq!(Cost::alone(&resolved), "2.00 ns");
        assert_eq!(Cost::alone(&Row { ns_within: None, ..resolved }), "2.00 ns ±30 %");
    }

    #[test]
    fn a_cost_that_is_hidden_or_depends_on_its_neighbours_has_words() {
        let row = |verdict| Row { ns: Some(Nanoseconds(2.0)), ..Row::unmeasured(Case::new("cpu.atomic.add"), verdict) };
        assert_eq!(Cost::of(&row(Verdict::Overlapped("hidden".into()))).figure, "overlapped");
        assert_eq!(Cost::of(&row(Verdict::NonAdditive("differs".into()))).figure, "not additive");
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in [(41.6, "42 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 05 min")] {
            assert_eq!(duration(seconds).replace('\u{a0}', " "), text);
        }
    }

    use syncscope_core::stats::Interval;

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
        assert_eq!(signs(&[noisy(5.0), resolved.clone()]), ["no number"]);
        let launch = Case { group: Some(Group::of_word("5 us")), ..Case::new("gpu.launch.stream") };
        let not_additive = Row { verdict: Verdict::NonAdditive("differs".into()), ..resolved.clone() };
        assert_eq!(signs(&[Row { case: launch, ..resolved }, not_additive]), ["not additive", "5 µs"]);
    }

    #[test]
    fn the_width_that_decides_is_the_one_that_is_named() {
        for (text, half_width) in [("~", Settings::NOISY_ABOVE), ("no number", ROUGH_HALF_WIDTH)] {
            let meaning = SIGNS.iter().find(|sign| sign.text == text).unwrap().meaning;
            assert!(meaning.contains(&format!("±{} %", 100.0 * half_width)), "{meaning}");
        }
    }
}

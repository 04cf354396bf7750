//! Numbers as text: short, with a unit and three significant digits, rough ones with two.

use std::fmt::Display;

use syncscope_core::stats::Interval;

/// Writes a number with `count` significant digits and without an exponent: `0.0521`, `9.18`, `212`.
pub(crate) fn digits(value: f64, count: i32) -> String {
    // The exponent is taken after rounding: 0.9996 is written as 1.00.
    let scientific = format!("{value:.*e}", (count - 1).unsigned_abs() as usize);
    let magnitude: i32 = scientific.split('e').next_back().and_then(|exponent| exponent.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(count - 1 - magnitude).unwrap_or(0).min(6);
    format!("{value:.decimals$}")
}

/// A ratio of two costs: `1.05`, `0.981`, `1,308`.
pub fn ratio(value: f64) -> String {
    grouped(digits(value, 3))
}

/// The interval of a ratio: `1.88 to 1.92`, or `above 1.88` where an end is unknown.
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

/// The sign before a rough figure.
pub(crate) const ROUGHLY: &str = "~";

/// A rough time with two significant digits: `~2.0 ns`, `~8.5 µs`, `~395 ns`.
pub fn rough_time(ns: f64) -> String {
    format!("{ROUGHLY}{}", time_with(ns, 2))
}

/// A rough ratio with two significant digits: `~1.1`.
pub(crate) fn rough_ratio(value: f64) -> String {
    format!("{ROUGHLY}{}", grouped(digits(value, 2)))
}

/// A large number as far as two significant digits tell it: `1304` becomes `1300`, and `39.8` becomes `40`.
pub(crate) fn rounded(value: f64) -> f64 {
    let step = 10_f64.powf(value.abs().log10().floor() - 1.0);
    if step.is_normal() { (value / step).round() * step } else { value }
}

/// The unit that writes a time in the fewest digits, and its length in nanoseconds.
fn unit_of(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        // 999.5 would round to 1000, which has four digits.
        ..999.5 => (1.0, "ns"),
        ..999.5e3 => (1e3, "µs"),
        ..999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

fn time_with(ns: f64, significant: i32) -> String {
    let (divisor, unit) = unit_of(ns);
    format!("{} {unit}", digits(ns / divisor, significant))
}

/// `33.8 cycles`, `69,638 cycles`.
pub(crate) fn cycles(value: f64) -> String {
    format!("{} cycles", grouped(digits(value, 3)))
}

/// A decimal number with commas between thousands: `135,168`, `1,234.5`.
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

/// How many of all there are, and whether a verb after it is singular: `all 340 cases`, `both cases`, `neither of the 2
/// cases`, `3 of 9 cases`.
pub fn share(count: usize, all: usize, noun: &str) -> (String, bool) {
    let [shown, grouped_all] = [count, all].map(grouped);
    let text = match (count, all) {
        (0, 1) => format!("no {noun}"),
        (0, 2) => format!("neither of the 2 {noun}s"),
        (0, _) => format!("none of the {grouped_all} {noun}s"),
        (1, 1) => format!("the only {noun}"),
        (2, 2) => format!("both {noun}s"),
        _ if count == all => format!("all {grouped_all} {noun}s"),
        _ => format!("{shown} of {grouped_all} {noun}s"),
    };
    (text, count <= 1)
}

/// `5 %`, `2.5 %`.
pub fn percent(share: f64) -> String {
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

/// Where a cost lies, in the unit of its upper end: `7.0 to 12 µs`.
pub(crate) fn between(low: f64, high: f64) -> String {
    let (divisor, unit) = unit_of(high);
    range(&digits(low / divisor, 2), &format!("{} {unit}", digits(high / divisor, 2)))
}

/// `< 0.05 ns`.
pub(crate) fn less_than(most: f64) -> String {
    format!("< {}", time_with(rounded_up(most), 2))
}

/// Rounds a number up to two significant digits.
fn rounded_up(number: f64) -> f64 {
    let step = 10_f64.powf(number.log10().floor() - 1.0);
    (number / step * (1.0 - 1e-9)).ceil() * step
}

/// A figure as a heading: `59×`, `≥56×`, `1.5–2.7 µs`, `13 of 28`. Of two figures it takes the first.
pub(crate) fn heading(figure: impl Display) -> String {
    let text = figure.to_string();
    let first = text.split(" [").next().unwrap_or_default();
    let signs = [("at least ", "≥"), ("up to ", "≤"), (" times", "×"), (" to ", "–"), (" ", "\u{a0}")];
    signs.into_iter().fold(first.to_owned(), |text, (words, sign)| text.replace(words, sign))
}

/// `1.25`, or `1.25 to 3.50` where the ends differ as texts.
pub(crate) fn range(low: &str, high: &str) -> String {
    if low == high { low.to_owned() } else { format!("{low} to {high}") }
}

/// A range with a dash instead of "to", and one unit where both ends have the same: `6.40–22.7 µs`.
pub(crate) fn dashed(range: &str) -> String {
    let Some((low, high)) = range.split_once(" to ") else { return range.to_owned() };
    let unit = high.find(' ').map_or("", |at| &high[at..]);
    let low = if unit.is_empty() { low } else { low.strip_suffix(unit).unwrap_or(low) };
    format!("{low}–{high}")
}

/// The least and the largest of these numbers; `None` if there are none.
pub fn extremes(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn rough_numbers_keep_two_digits() {
        for (number, kept) in
            [(1304.0, 1300.0), (39.8, 40.0), (997.0, 1000.0), (0.0, 0.0), (43_800_000.0, 44_000_000.0)]
        {
            assert!((rounded(number) - kept).abs() < 1e-6 * kept.max(1.0), "{number}");
        }
    }

    #[test]
    fn a_range_has_the_unit_of_its_upper_end() {
        assert_eq!(between(6_960.0, 12_300.0), "7.0 to 12 µs");
        assert_eq!([between(610.0, 1_240.0), between(61.0, 124.0)], ["0.61 to 1.2 µs", "61 to 124 ns"]);
    }

    #[test]
    fn a_range_between_from_and_to_has_a_dash() {
        for (words, text) in [
            ("6.40 µs to 22.7 µs", "6.40–22.7 µs"),
            ("164 to 354 ns", "164–354 ns"),
            ("900 ns to 1.20 µs", "900 ns–1.20 µs"),
            ("a factor of 29.0 to 121", "a factor of 29.0–121"),
            ("~395 ns", "~395 ns"),
        ] {
            assert_eq!(dashed(words), text);
        }
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
    fn shares_are_words_where_all_or_none_is_meant() {
        for (count, all, text, is_singular) in [
            (0, 1, "no case", true),
            (0, 2, "neither of the 2 cases", true),
            (0, 96, "none of the 96 cases", true),
            (1, 1, "the only case", true),
            (1, 2, "1 of 2 cases", true),
            (2, 2, "both cases", false),
            (3, 4060, "3 of 4,060 cases", false),
            (340, 340, "all 340 cases", false),
        ] {
            assert_eq!(share(count, all, "case"), (text.to_owned(), is_singular));
        }
    }

    #[test]
    fn headings_are_short() {
        for (figure, text) in [
            ("1,308 times", "1,308×"),
            ("at least 56 times", "≥56×"),
            ("1.04 to 1.7 times", "1.04–1.7×"),
            ("46.1 ns [equal work: 69.3 ns]", "46.1 ns"),
            ("13 of 28", "13 of 28"),
        ] {
            assert_eq!(heading(figure).replace('\u{a0}', " "), text);
        }
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
    fn durations_are_short() {
        for (seconds, text) in [(41.6, "42 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 05 min")] {
            assert_eq!(duration(seconds).replace('\u{a0}', " "), text);
        }
    }
}

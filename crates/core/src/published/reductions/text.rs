//! Variants and times as text, for the page and the terminal.

use super::variants::variant;

/// The name of the variant with this id; the id where there is none.
#[must_use]
pub fn name(id: &str) -> String {
    variant(id).map_or_else(|| id.to_owned(), |variant| variant.name.to_owned())
}

/// A time with three digits and its unit: `4.70 us`.
#[must_use]
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        assert_eq!(
            [3.0, 999.4, 4700.0, 245_000.0, -1.2e6].map(time),
            ["3.00 ns", "999 ns", "4.70 us", "245 us", "-1.20 ms"]
        );
    }

    #[test]
    fn variants_have_their_names() {
        assert_eq!((name("device.graph").as_str(), name("unknown").as_str()), ("graph of two kernels", "unknown"));
    }
}

//! The terms that two variants differ by, as text.

use std::fmt::Write as _;

use super::super::terms::Term;
use super::priced::Priced;

/// `1 x gpu.grid.cooperative 1290 ns - 1 x gpu.launch.stream 2700 ns`, without the terms that both have.
pub(super) fn explanation(variant: &Priced<'_>, reference: &Priced<'_>) -> String {
    let mut text = String::new();
    let has = |priced: &Priced<'_>, wanted: &Term| priced.terms.iter().any(|(term, _)| term == wanted);
    let mut write = |sign: &str, from: &Priced<'_>, other: &Priced<'_>| {
        for (term, cost) in from.terms.iter().filter(|(term, _)| !has(other, term)) {
            let separator = if text.is_empty() && sign == "+" { String::new() } else { format!(" {sign} ") };
            // Writing to a String cannot fail.
            let _ = write!(text, "{}", separator.trim_start_matches(|_: char| text.is_empty() && sign == "+"));
            let _ = match cost {
                Some(cost) => write!(text, "{} x {} {}", count(term.count), term.case, nanoseconds(cost.ns)),
                None => write!(text, "{} x {} (no cost)", count(term.count), term.case),
            };
        }
    };
    write("+", variant, reference);
    write("-", reference, variant);
    text.trim().to_owned()
}

fn count(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count}") } else { format!("{count:.1}") }
}

fn nanoseconds(ns: f64) -> String {
    if ns < 10.0 { format!("{ns:.3} ns") } else { format!("{ns:.0} ns") }
}

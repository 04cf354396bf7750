//! What the signs in tables and charts mean. The page explains all of them, the terminal those that its table has.

use serde::Serialize;

use crate::RunData;
use crate::figure::Cost;
use crate::naming::KERNEL_US;

/// A sign beside a figure, or a word in its place.
#[derive(Debug, Serialize)]
pub(crate) struct Sign {
    pub(crate) text: &'static str,
    pub(crate) meaning: &'static str,
    #[serde(skip)]
    occurs: fn(&RunData) -> bool,
}

/// The signs, in the order of the explanations. The verdicts have explanations of their own on the page.
pub(crate) const SIGNS: [Sign; 6] = [
    Sign {
        text: "~",
        meaning: "a rough figure, whose interval within this run is wider than ±5 % or based on too few blocks",
        occurs: |data| has_figure(data, |figure| figure.starts_with('~')),
    },
    Sign {
        text: "<",
        meaning: "at most this, not distinguished from zero",
        occurs: |data| has_figure(data, |figure| figure.starts_with('<')),
    },
    Sign {
        text: "no number",
        meaning: "the interval is wider than ±25 %, or too many pairs were excluded",
        occurs: |data| has_figure(data, |figure| figure == "no number"),
    },
    Sign {
        text: "not additive",
        meaning: "a second copy costs more or less than the first",
        occurs: |data| has_figure(data, |figure| figure == "not additive"),
    },
    Sign {
        text: "provisional",
        meaning: "more measurement blocks were planned",
        occurs: |data| data.provisional() > 0,
    },
    Sign {
        text: "5 µs",
        meaning: "length of the launched kernels, not part of the cost",
        occurs: |data| data.rows.iter().any(|row| row.case.in_group(KERNEL_US)),
    },
];

fn has_figure(data: &RunData, is_meant: impl Fn(&str) -> bool) -> bool {
    data.rows.iter().any(|row| is_meant(&Cost::of(row).figure))
}

/// The signs that occur among the rows of a run in one text; `None` without any.
pub(crate) fn of(data: &RunData) -> Option<String> {
    let found = SIGNS.iter().filter(|sign| (sign.occurs)(data));
    let texts: Vec<String> = found.map(|sign| format!("{}: {}", sign.text, sign.meaning)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Group, Nanoseconds, Row, Settings, Verdict};

    use super::*;
    use crate::figure::ROUGH_HALF_WIDTH;

    fn signs(rows: Vec<Row>) -> Vec<String> {
        let text = of(&crate::testing::data(rows)).unwrap_or_default();
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
        assert_eq!(of(&crate::testing::data(vec![resolved.clone()])), None);
        assert_eq!(signs(vec![resolved.clone(), noisy(1.0)]), ["~"]);
        assert_eq!(signs(vec![noisy(5.0), resolved.clone()]), ["no number"]);
        let launch = Case { group: Some(Group::of_word("5 us")), ..Case::new("gpu.launch.stream") };
        let not_additive = Row { verdict: Verdict::NonAdditive("differs".into()), ..resolved.clone() };
        assert_eq!(signs(vec![Row { case: launch, ..resolved }, not_additive]), ["not additive", "5 µs"]);
    }

    #[test]
    fn the_width_that_decides_is_the_one_that_is_named() {
        for (text, half_width) in [("~", Settings::NOISY_ABOVE), ("no number", ROUGH_HALF_WIDTH)] {
            let meaning = SIGNS.iter().find(|sign| sign.text == text).unwrap().meaning;
            assert!(meaning.contains(&format!("±{} %", 100.0 * half_width)), "{meaning}");
        }
    }
}

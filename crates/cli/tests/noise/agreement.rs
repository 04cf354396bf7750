//! How far the figures of a disturbed run agree with those of a quiet one.

use std::collections::{BTreeMap, HashMap};

use syncscope_core::{Case, Nanoseconds, Row, Verdict};

/// A figure counts as the same within this share of the quiet one.
pub(crate) const TOLERANCE: f64 = 0.10;

/// A resolved figure that is not the quiet one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    pub(crate) case: Case,
    /// The disturbed figure over the nearest quiet one.
    pub(crate) ratio: f64,
}

/// What became of the cases of a disturbed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Agreement {
    /// Cases by verdict.
    pub(crate) verdicts: BTreeMap<&'static str, usize>,
    /// Resolved cases whose quiet figure is resolved too.
    pub(crate) compared: usize,
    /// Those that are off, the furthest first.
    pub(crate) off: Vec<Deviation>,
}

impl Agreement {
    /// Compares with quiet runs. A machine has several states, such as the cores that a host gives to the CPUs of a guest,
    /// and each quiet run shows one of them: a figure has to agree with one.
    pub(crate) fn of(quiet: &[&[Row]], disturbed: &[Row]) -> Self {
        let mut expected: HashMap<&Case, Vec<f64>> = HashMap::new();
        for row in quiet.iter().copied().flatten() {
            expected.entry(&row.case).or_default().extend(resolved(row));
        }
        let mut agreement = Self::default();
        for row in disturbed {
            *agreement.verdicts.entry(row.verdict.name()).or_default() += 1;
            let (Some(ns), Some(expected)) = (resolved(row), expected.get(&row.case)) else { continue };
            let ratios = expected.iter().map(|quiet| ns / quiet);
            let Some(ratio) = ratios.min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())) else { continue };
            agreement.compared += 1;
            if !((1.0 - TOLERANCE)..=(1.0 + TOLERANCE)).contains(&ratio) {
                agreement.off.push(Deviation { case: row.case.clone(), ratio });
            }
        }
        agreement.off.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        agreement
    }

    /// The share of the compared cases that agree; `None` if there are none.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.compared > 0).then(|| 1.0 - self.off.len() as f64 / self.compared as f64)
    }

    /// One line, and one for each of the cases that are off.
    pub(crate) fn text(&self, name: &str) -> String {
        let verdicts: Vec<String> = self.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let share = self.share().map_or_else(|| "none".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let head = format!(
            "{name}: {share} of {} resolved cases lie within {:.0} % of the quiet figure ({})",
            self.compared,
            TOLERANCE * 100.0,
            verdicts.join(", ")
        );
        let off = self.off.iter().map(|off| format!("    {:6.2} times  {}", off.ratio, off.case));
        std::iter::once(head).chain(off).collect::<Vec<_>>().join("\n")
    }
}

/// The figure of a case that is resolved.
fn resolved(row: &Row) -> Option<f64> {
    row.ns.filter(|_| row.verdict == Verdict::Resolved).map(Nanoseconds::value)
}

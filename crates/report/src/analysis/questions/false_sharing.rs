//! How far apart the variables of threads must be.

use std::collections::BTreeMap;

use syncscope_core::{Case, Layout, Mode, Row};

use super::rows::{one_line_each, plain_series, unreliable};
use super::spec::{Axis, Point, Rule, Spec, Unit};
use super::{Picture, Question, Said};
use crate::RunData;
use crate::analysis::contest::{Basis, Known, is_absent};
use crate::analysis::false_sharing;
use crate::analysis::placements;

pub(super) const QUESTION: Question = Question {
    id: "decide-false-sharing",
    title: "How far apart must variables be?",
    sentences: &[drop_of_the_cost],
    picture: Some(picture),
    advice: None,
};

/// The drop of the cost where elements of different threads are no longer on one cache line. The finding is made from
/// intervals within the run: all strides are measured in the same way.
fn drop_of_the_cost(data: &RunData) -> Option<Said> {
    let findings = false_sharing::findings(&data.run, &data.rows);
    let (finding, drop) = findings.iter().find_map(|finding| Some((finding, finding.cost_drop?)))?;
    let is_shown = |case: &Case| {
        case.primitive == false_sharing::PRIMITIVE
            && case.threads == Some(finding.threads)
            && case.dtype == Some(finding.dtype)
            && case.placement == finding.placement
            && case.form.is_none()
    };
    let rows: Vec<usize> = data.rows_where(|row| is_shown(&row.case)).collect();
    let known = rows.iter().filter_map(|index| Known::with_figure(data, *index, Basis::Run));
    let mut strides: Vec<(u32, Known<'_>)> =
        known.filter_map(|one| Some((one.row.case.layout?.stride()?, one))).collect();
    strides.sort_by_key(|(stride, _)| *stride);
    let (_, adjacent) = strides.first()?;
    let (_, distant) = strides.iter().find(|(stride, _)| *stride == drop.stride)?;
    let both = distant.against(*adjacent)?;
    let whose = if both.less.is_of_another_actor() { ", for the median thread" } else { "" };
    let together = u64::from(finding.threads) * finding.dtype.size_bytes() as u64;
    let near = if together <= drop.bytes { "in one cache line" } else { "side by side" };
    let text = format!(
        "False sharing makes an atomic add {} as expensive{whose}: {} with {} counters ({}) {near}, {} with {} bytes for each.",
        both.times(),
        both.more.time(),
        finding.threads,
        finding.dtype,
        both.less.time(),
        drop.bytes,
    );
    Some(Said::certain(text, rows))
}

/// The most teams of the usual type beside the largest one.
const MOST_TEAMS: usize = 2;

fn picture(data: &RunData) -> Option<Picture> {
    let findings = false_sharing::findings(&data.run, &data.rows);
    let rows = one_line_each(data, &shown(data), label, |case| case.layout = None);
    let drop = findings.iter().find_map(|finding| finding.cost_drop);
    let rules = drop.map(|drop| Rule { x: drop.bytes as f64, label: format!("{} bytes", drop.bytes) });
    let chart = Spec::lines(
        Axis::log("bytes from element to element", Unit::Count),
        Axis::log("time per addition", Unit::Time),
        plain_series(data, &rows, label, bytes, Point::cost),
    )?;
    // The words where no drop is certain.
    let none = (!findings.is_empty() && drop.is_none())
        .then(|| "No false sharing: adjacent and distant elements cost the same.".to_owned());
    let types: Vec<String> = findings.iter().map(false_sharing::StrideFinding::sentence).collect();
    let types = (!types.is_empty()).then(|| format!("{}.", types.join("; ")));
    // Without figures for a sentence, the drop itself is what the card says.
    let is_unsaid = drop.is_some() && drop_of_the_cost(data).is_none();
    let (said, types) = if is_unsaid { (types, None) } else { (none, types) };
    let is_mixed = findings.iter().any(|finding| finding.is_of_median);
    let whose = is_mixed.then(|| {
        "Marks are the slowest thread's where elements share a line and the median one's elsewhere; ratios are those of the \
         median thread."
            .to_owned()
    });
    let chart = chart.ruled(rules.into_iter().collect());
    let otherwise = "Where false sharing ends is undecided in this run: too few strides have a reliable figure.";
    Some(Picture::of([Some(chart)], otherwise, [types, whose, unreliable(data, &rows)])?.saying(said))
}

fn bytes(case: &Case) -> u64 {
    let stride = case.layout.and_then(Layout::stride).unwrap_or(1);
    u64::from(stride) * case.dtype.map_or(4, |dtype| dtype.size_bytes() as u64)
}

fn label(case: &Case) -> String {
    let dtype = case.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
    format!("{dtype}, {} threads", case.threads.unwrap_or(1))
}

/// The strides of every type with the largest team that fits the CPUs, and of the first type with two smaller teams.
fn shown(data: &RunData) -> Vec<usize> {
    let cpus = data.run.machine.cpu.hardware_threads;
    let shown = placements::shown(data);
    let is_one = |row: &Row| {
        let case = &row.case;
        let threads = case.threads.unwrap_or(1);
        case.primitive == false_sharing::PRIMITIVE
            && case.form.is_none()
            && case.group.is_none()
            && !is_absent(row)
            && case.mode != Some(Mode::Latency)
            && matches!(case.layout, Some(Layout::Private { .. }))
            && case.placement.as_ref().is_none_or(|placement| *placement == shown)
            && threads > 1
            && (cpus == 0 || threads <= cpus)
    };
    let mut sets: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate().filter(|(_, row)| is_one(row)) {
        sets.entry((row.case.dtype, std::cmp::Reverse(row.case.threads))).or_default().push(index);
    }
    sets.retain(|_, rows| rows.len() > 1);
    let most = sets.keys().map(|(_, threads)| *threads).min();
    let first = sets.keys().map(|(dtype, _)| *dtype).min();
    let smaller = sets.keys().filter(|(dtype, threads)| Some(*dtype) == first && Some(*threads) != most);
    let smaller = smaller.filter(|(_, threads)| threads.0.is_some_and(u32::is_power_of_two));
    let smaller: Vec<_> = smaller.take(MOST_TEAMS).copied().collect();
    let shown = sets.iter().filter(|(key, _)| Some(key.1) == most || smaller.contains(key));
    shown.flat_map(|(_, rows)| rows.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{add, decision, noisy};
    use super::super::testing::{case, data, row, said};
    use super::*;

    #[test]
    fn the_stride_that_ends_false_sharing_is_a_rule() {
        let add = |stride, ns| add(Layout::Private { stride }, 16, ns, 1e7);
        let rows = vec![add(1, 367.0), add(8, 43.9), add(16, 16.9), add(32, 16.9)];
        let found = decision("decide-false-sharing", &data(rows.clone())).unwrap();
        let Spec::Lines { rules, .. } = &found.charts[0] else { panic!("lines") };
        assert_eq!(rules.iter().map(|rule| rule.x).collect::<Vec<_>>(), [64.0]);
        let blurred: Vec<Row> = rows.into_iter().map(|row| noisy(row, 10.0, 400.0)).collect();
        let found = decision("decide-false-sharing", &data(blurred)).unwrap();
        assert!(
            found.sentence.as_deref().unwrap().starts_with("Where false sharing ends is undecided"),
            "{:?}",
            found.sentence
        );
    }

    #[test]
    fn the_drop_of_the_cost_is_said() {
        let add = |stride, ns| {
            let layout = Some(Layout::Private { stride });
            row(Case { layout, dtype: Some(syncscope_core::Dtype::I32), ..case("cpu.atomic.add", 16) }, ns, 0.2)
        };
        let rows = vec![add(1, 367.0), add(8, 43.9), add(16, 16.9), add(32, 16.9)];
        let sentence = "False sharing makes an atomic add 22 times as expensive: 367 ns with 16 counters (i32) in one cache \
                        line, 16.9 ns with 64 bytes for each.";
        assert_eq!(said(drop_of_the_cost, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(drop_of_the_cost, rows[..2].to_vec()), None, "two strides show no plateau");
        let flat = vec![add(1, 17.0), add(8, 17.1), add(16, 16.9), add(32, 16.9)];
        assert_eq!(said(drop_of_the_cost, flat), None);
    }
}

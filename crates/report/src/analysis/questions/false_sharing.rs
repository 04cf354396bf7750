//! How far apart the variables of threads must be.

use syncscope_core::{Actor, Run};

use super::prelude::*;
use crate::analysis::contest::alike::of_one_actor;

pub(super) const SENTENCES: Sentences = &[sentence(drop_of_the_cost, &[On::Placement])];

/// Says where the cost drops because elements of different threads are no longer on one cache line. All strides are measured
/// in the same way, so intervals within the run decide.
fn drop_of_the_cost(data: &RunData) -> Option<Outcome> {
    let findings = findings(&data.run, &data.rows);
    let (finding, drop) = findings.iter().find_map(|finding| Some((finding, finding.cost_drop?)))?;
    let is_shown = |case: &Case| {
        case.primitive == PRIMITIVE
            && case.threads == Some(finding.threads)
            && case.dtype == Some(finding.dtype)
            && case.placement == finding.placement
            && case.form.is_none()
    };
    let rows: Vec<usize> = data.rows_where(|row| is_shown(&row.case)).collect();
    let known = rows.iter().filter_map(|index| Known::written(data, *index, Basis::Run));
    let strides = by_stride(known);
    let at = |stride| strides.iter().find(|(of, _)| *of == stride).map(|(_, known)| *known);
    let Comparison { less, more, ratio } = at(drop.stride)?.against(at(ADJACENT)?)?;
    let whose = if less.is_of_another_actor() { " for the median thread" } else { "" };
    let (StrideFinding { threads, dtype, .. }, CostDrop { bytes, .. }) = (finding, drop);
    let together = u64::from(*threads) * dtype.size_bytes() as u64;
    let near = if together <= bytes.min(LEAST_LINE) { "in one cache line" } else { "side by side" };
    let text = format!(
        "False sharing makes an atomic add {ratio} as expensive{whose}: {more} with {threads} counters ({dtype}) \
         {near}, {less} with one every {bytes} bytes."
    );
    Some(Outcome::holds(text, rows).headed(ratio))
}

/// The shortest cache line of any current processor, in bytes.
const LEAST_LINE: u64 = 64;

/// The most teams of the usual type to show besides the largest one.
const MOST_TEAMS: usize = 2;

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let findings = findings(&data.run, &data.rows);
    let rows = one_line_each(data, &shown(data), label, |case| case.layout = None);
    let drop = findings.iter().find_map(|finding| finding.cost_drop);
    let rules = drop.map(|drop| Rule { x: drop.bytes as f64, label: format!("{} bytes", drop.bytes) });
    let chart = Spec::lines(
        Axis::log("stride in bytes", Unit::Count),
        Axis::log("time per addition", Unit::Time),
        plain(series(data, &rows, label, bytes, Point::cost)),
    )?;
    // The words if no drop is certain.
    let none = (!findings.is_empty() && drop.is_none())
        .then(|| "No false sharing: adjacent and distant elements cost the same.".to_owned());
    let is_one_team = findings.iter().all(|finding| finding.threads == findings[0].threads);
    let types = joined(findings.iter().map(|finding| Some(finding.sentence(is_one_team))), "; ");
    let types = types.map(|types| format!("Relative to adjacent elements, {types}."));
    // Without figures for a sentence, the card states the drop itself.
    let is_unsaid = drop.is_some() && drop_of_the_cost(data).is_none();
    let (said, types) = if is_unsaid { (types, None) } else { (none, types) };
    let is_mixed = findings.iter().any(|finding| finding.is_of_median);
    let whose = if is_mixed { whose_marks(data, &rows) } else { None };
    let chart = chart.ruled(rules.into_iter().collect());
    let otherwise = "The run does not show where false sharing ends, because too few strides have a reliable \
                     figure.";
    Some(
        Picture::of([Some(chart)], otherwise, [types, whose, unreliable(data, &rows)])?
            .saying(said.map(|text| Outcome::holds(text, []))),
    )
}

/// Says whose costs the marks are, if the rows differ in that. `None` if all are the median thread's.
fn whose_marks(data: &RunData, rows: &[usize]) -> Option<String> {
    let others: BTreeSet<Actor> = rows.iter().filter_map(|row| data.rows[*row].actor).collect();
    let name = |actor: &Actor| match actor {
        Actor::Mean => Some("the mean over all threads"),
        Actor::Slowest => Some("the slowest thread's cost"),
        Actor::Median => None,
    };
    let others: Vec<&str> = others.iter().filter_map(name).collect();
    (!others.is_empty()).then(|| {
        format!(
            "Where elements share a cache line, a mark shows {}; elsewhere, and in all ratios, the cost is the median thread's.",
            others.join(" or ")
        )
    })
}

fn bytes(case: &Case) -> u64 {
    case.bytes_apart().unwrap_or_default() as u64
}

fn label(case: &Case) -> String {
    let dtype = case.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
    format!("{dtype}, {} threads", case.threads.unwrap_or(1))
}

/// The strides of every type with the largest team that fits the CPUs, and of the first type with two smaller teams.
fn shown(data: &RunData) -> Vec<usize> {
    let machine = MachineSize::of(&data.run.machine);
    let shown = placements::shown(data);
    let is_one = |row: &Row| {
        is_of_team(&row.case, machine)
            && is_plain(row)
            && row.case.mode != Some(Mode::Latency)
            && row.case.placement.as_ref().is_none_or(|placement| *placement == shown)
    };
    let mut sets = data.sets(|row| is_one(row).then_some((row.case.dtype, std::cmp::Reverse(row.case.threads))));
    sets.retain(|_, rows| rows.len() > 1);
    let most = sets.keys().map(|(_, threads)| *threads).min();
    let first = sets.keys().map(|(dtype, _)| *dtype).min();
    let smaller = sets.keys().filter(|(dtype, threads)| Some(*dtype) == first && Some(*threads) != most);
    let smaller = smaller.filter(|(_, threads)| threads.0.is_some_and(u32::is_power_of_two));
    let smaller: Vec<_> = smaller.take(MOST_TEAMS).copied().collect();
    let shown = sets.iter().filter(|(key, _)| Some(key.1) == most || smaller.contains(key));
    shown.flat_map(|(_, rows)| rows.iter().copied()).collect()
}

/// The primitive whose strides are compared.
const PRIMITIVE: &str = "cpu.atomic.add";

/// The stride of adjacent elements.
const ADJACENT: u32 = 1;

/// Costs that differ by less than this factor belong to one plateau.
const PLATEAU: f64 = 1.25;

/// The least ratio of costs that counts as a drop.
const LEAST_DROP: f64 = 1.5;

/// What a sweep of strides shows for one type.
#[derive(Debug, Clone, PartialEq)]
struct StrideFinding {
    dtype: Dtype,
    /// The threads of the team, the largest one that fits the hardware threads.
    threads: u32,
    placement: Option<Placement>,
    /// Whether the strides are compared by the median thread, because their rows hold costs of different actors.
    is_of_median: bool,
    /// The drop of the cost; `None` where adjacent and distant elements cost the same.
    cost_drop: Option<CostDrop>,
}

/// The stride from which elements are on different cache lines.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostDrop {
    /// The smallest stride, in elements, from which the cost stays low.
    stride: u32,
    /// The stride in bytes.
    bytes: u64,
    /// The cost of adjacent elements divided by the cost at this stride.
    factor: Ratio,
}

/// A cost and the stride between the elements.
type OfStride<'a> = (u32, Known<'a>);

/// The costs that have a stride, with it.
fn by_stride<'a>(costs: impl IntoIterator<Item = Known<'a>>) -> Vec<OfStride<'a>> {
    costs.into_iter().filter_map(|one| Some((one.row.case.layout?.stride()?, one))).collect()
}

/// The finding of each type, from additions to private elements in the default form by the largest team that fits the CPUs.
/// Noisy costs count with their intervals. A type has no finding if fewer than three strides have a cost, if adjacent
/// elements have none, or if neither a drop nor its absence is certain.
fn findings(run: &Run, rows: &[Row]) -> Vec<StrideFinding> {
    let machine = MachineSize::of(&run.machine);
    let compared = rows.iter().enumerate().filter(|(_, row)| is_compared(row, machine));
    let known = compared.filter_map(|(index, row)| Known::of_row(row, index, Basis::Run));
    let mut sweeps = sets(known.map(|known| (Case { layout: None, ..known.row.case.clone() }, known)));
    sweeps.retain(|_, costs| costs.len() >= 3);
    Dtype::ALL.iter().filter_map(|dtype| finding(*dtype, &sweeps)).collect()
}

fn is_compared(row: &Row, machine: MachineSize) -> bool {
    is_of_team(&row.case, machine)
        && row.case.form.is_none()
        && (row.verdict.has_cost() || matches!(row.verdict, Verdict::Noisy(_)))
        && !matches!(row.case.placement, Some(Placement::List(_)))
}

/// Whether a case is an addition by a team that fits the CPUs, each thread to its own element.
fn is_of_team(case: &Case, machine: MachineSize) -> bool {
    let is_private = matches!(case.layout, Some(Layout::Private { .. }));
    case.primitive == PRIMITIVE && is_private && case.threads > Some(1) && !machine.is_oversubscribed_by(case)
}

/// The finding of one type, from the sweep with the most threads. Among equals, the first in the order of cases counts
/// (`cores`, `close`, `spread`).
fn finding(dtype: Dtype, sweeps: &BTreeMap<Case, Vec<Known<'_>>>) -> Option<StrideFinding> {
    let own = sweeps.iter().filter(|(case, _)| case.dtype == Some(dtype));
    let (case, costs) = own.reduce(|best, other| if other.0.threads > best.0.threads { other } else { best })?;
    let costs = of_one_actor(costs.clone())?;
    let is_of_median = costs.iter().any(Known::is_of_another_actor);
    let mut costs = by_stride(costs);
    costs.sort_by_key(|(stride, _)| *stride);
    costs.first().filter(|(stride, _)| *stride == ADJACENT)?;
    let cost_drop = cost_drop(&costs, dtype);
    let is_certain = cost_drop.is_some() || is_flat(&costs);
    let (threads, placement) = (case.threads?, case.placement.clone());
    is_certain.then_some(StrideFinding { dtype, threads, placement, is_of_median, cost_drop })
}

/// Whether adjacent elements certainly cost too little for a drop.
fn is_flat(costs: &[OfStride<'_>]) -> bool {
    let least = costs.iter().map(|(_, cost)| cost.bounds.low).fold(f64::INFINITY, f64::min);
    costs.first().is_some_and(|(_, first)| first.bounds.high < LEAST_DROP * least)
}

/// The drop at the start of the plateau that ends a sweep, in the order of strides. `None` unless the stride before it is
/// certainly more expensive and the stride itself is certainly on the plateau.
fn cost_drop(costs: &[OfStride<'_>], dtype: Dtype) -> Option<CostDrop> {
    let least = |tail: &[OfStride<'_>]| tail.iter().map(|(_, cost)| cost.ns).fold(f64::INFINITY, f64::min);
    // A stride belongs to the plateau if its interval reaches it.
    let low = |(_, cost): &OfStride<'_>| cost.bounds.low.min(cost.ns);
    let most = |tail: &[OfStride<'_>]| tail.iter().map(low).fold(0.0, f64::max);
    let flat = |from: &usize| most(&costs[*from..]) <= PLATEAU * least(&costs[*from..]);
    let from = (1..costs.len()).find(flat)?;
    let (before, (_, first), (stride, start)) = (costs[from - 1], costs[0], costs[from]);
    let certain = low(&before) > start.bounds.high && start.bounds.high < LEAST_DROP * least(&costs[from..]);
    let factor = first.over(&start);
    (certain && before.1.ns >= PLATEAU * start.ns && factor.point >= LEAST_DROP && factor.is_above_one())
        .then(|| CostDrop { stride, bytes: u64::from(stride) * dtype.size_bytes() as u64, factor })
}

impl StrideFinding {
    /// `f64 additions are 5.2 times as fast at strides of 8 elements (64 bytes) or more`, compared with adjacent elements.
    /// The team is named unless all types have the same.
    fn sentence(&self, is_one_team: bool) -> String {
        let team = if is_one_team { String::new() } else { format!(" by {} threads", self.threads) };
        let additions = format!("{} additions{team}", self.dtype);
        match self.cost_drop {
            Some(CostDrop { stride, bytes, factor }) => {
                format!("{additions} are {factor} as fast at strides of {stride} elements ({bytes} bytes) or more")
            }
            None => format!("{additions} cost the same at every stride"),
        }
    }
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
        assert!(found.claim[0].starts_with("The run does not show where false sharing ends"), "{:?}", found.claim);
    }

    #[test]
    fn the_drop_of_the_cost_is_said() {
        let add = |stride, ns| {
            let layout = Some(Layout::Private { stride });
            row(Case { layout, dtype: Some(syncscope_core::Dtype::I32), ..case("cpu.atomic.add", 16) }, ns, 0.2)
        };
        let rows = vec![add(1, 367.0), add(8, 43.9), add(16, 16.9), add(32, 16.9)];
        let sentence = "False sharing makes an atomic add 22 times as expensive: 367 ns with 16 counters (i32) in \
                        one cache \
                        line, 16.9 ns with one every 64 bytes.";
        assert_eq!(said(drop_of_the_cost, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(drop_of_the_cost, rows[..2].to_vec()), None, "two strides show no plateau");
        let flat = vec![add(1, 17.0), add(8, 17.1), add(16, 16.9), add(32, 16.9)];
        assert_eq!(said(drop_of_the_cost, flat), None);
        assert_eq!(said(drop_of_the_cost, vec![add(4, 43.9), add(16, 16.9), add(32, 16.9)]), None, "none is adjacent");
        let rough = [vec![noisy(rows[0].clone(), 180.0, 560.0)], rows[1..].to_vec()].concat();
        assert_eq!(said(drop_of_the_cost, rough), None, "adjacent elements have no number");
    }

    /// For elements that share a line, earlier versions recorded the slowest thread, later ones the mean of a window.
    #[test]
    fn marks_are_of_whom_their_rows_are() {
        let of = |actor, stride, ns| {
            let (actor, median_ns) = (Some(actor), Some(Nanoseconds(ns)));
            Row { actor, median_ns, ..add(Layout::Private { stride }, 16, ns, 1e7) }
        };
        for (actor, words) in
            [(Actor::Mean, "the mean over all threads"), (Actor::Slowest, "the slowest thread's cost")]
        {
            let near = [(1, 367.0), (8, 43.9)].map(|(stride, ns)| of(actor, stride, 1.1 * ns));
            let far = [(16, 16.9), (32, 16.9)].map(|(stride, ns)| of(Actor::Median, stride, ns));
            let near = near.map(|row| Row { median_ns: row.ns.map(|ns| Nanoseconds(ns.value() / 1.1)), ..row });
            let found = decision("decide-false-sharing", &data([near, far].concat())).unwrap();
            let note = found.note.unwrap_or_default();
            assert!(note.contains(&format!("Where elements share a cache line, a mark shows {words};")), "{note}");
        }
        assert_eq!(whose_marks(&data(vec![of(Actor::Median, 16, 16.9)]), &[0]), None);
    }

    use std::sync::LazyLock;

    use syncscope_core::{Form, Nanoseconds};

    fn costs(values: &[(u32, f64)], half_width: f64) -> Vec<OfStride<'static>> {
        static ROW: LazyLock<Row> = LazyLock::new(|| stride_row(Dtype::F64, 4, 1, 1.0));
        let around = |ns: f64| Interval { low: ns * (1.0 - half_width), high: ns * (1.0 + half_width) };
        let known = |ns: f64| Known { index: 0, row: &ROW, ns, bounds: around(ns), basis: Basis::Run };
        values.iter().map(|(stride, ns)| (*stride, known(*ns))).collect()
    }

    fn stride_row(dtype: Dtype, threads: u32, stride: u32, ns: f64) -> Row {
        let case = Case {
            dtype: Some(dtype),
            layout: Some(Layout::Private { stride }),
            threads: Some(threads),
            placement: Some(Placement::Close),
            ..Case::new("cpu.atomic.add")
        };
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    #[test]
    fn the_stride_of_the_drop_is_found() {
        let found = cost_drop(&costs(&[(1, 52.0), (2, 48.0), (4, 31.0), (8, 10.0), (16, 10.1)], 0.02), Dtype::F64);
        assert_eq!(found.map(|found| (found.stride, found.bytes, found.factor.point)), Some((8, 64, 5.2)));
        // No drop is found if the interval of the adjacent elements reaches the plateau.
        let mut uncertain = costs(&[(1, 52.0), (2, 48.0), (4, 31.0), (8, 10.0), (16, 10.1)], 0.02);
        uncertain[0].1.bounds.low = -5.0;
        assert_eq!(cost_drop(&uncertain, Dtype::F64).map(|found| found.stride), None);
        let found = cost_drop(&costs(&[(1, 90.0), (4, 60.0), (8, 40.0), (16, 6.0)], 0.02), Dtype::I32);
        assert_eq!(found.map(|found| (found.stride, found.bytes)), Some((16, 64)));
    }

    #[test]
    fn lines_of_128_bytes_are_found() {
        // Elements half a line apart still share it.
        let found = cost_drop(&costs(&[(1, 80.0), (4, 60.0), (8, 30.0), (16, 8.0), (32, 8.1)], 0.02), Dtype::F64);
        assert_eq!(found.map(|found| found.bytes), Some(128));
    }

    #[test]
    fn a_flat_sweep_has_no_drop() {
        assert_eq!(cost_drop(&costs(&[(1, 9.1), (2, 9.0), (4, 9.3), (8, 9.2)], 0.02), Dtype::F64), None);
        // Nor has a sweep whose cost at the stride of the drop may still be that of a shared line.
        let wide = (8, Known { bounds: Interval { low: 9.0, high: 60.0 }, ..costs(&[(8, 30.0)], 0.0)[0].1 });
        let sweep = [costs(&[(1, 90.0)], 0.02), vec![wide], costs(&[(16, 9.0), (32, 9.1)], 0.02)].concat();
        assert_eq!(cost_drop(&sweep, Dtype::I32), None);
        // A sweep that still falls at its end has no plateau.
        assert_eq!(cost_drop(&costs(&[(1, 80.0), (2, 40.0), (4, 20.0)], 0.6), Dtype::F64), None);
    }

    #[test]
    fn noise_is_no_drop() {
        // Wide intervals that overlap, and a bump in the middle.
        assert_eq!(cost_drop(&costs(&[(1, 20.0), (2, 19.0), (4, 11.0), (8, 10.0)], 0.4), Dtype::F64), None);
        assert_eq!(cost_drop(&costs(&[(1, 10.0), (2, 14.0), (4, 10.0), (8, 10.0)], 0.02), Dtype::F64), None);
    }

    #[test]
    fn the_largest_team_that_fits_the_cpus_counts() {
        let mut run = crate::testing::run();
        run.machine.cpu.hardware_threads = 16;
        let sweep = |threads, factor: f64| {
            [(1, 50.0), (4, 30.0), (8, 10.0), (16, 10.0)]
                .map(|(stride, ns)| stride_row(Dtype::F64, threads, stride, if stride < 8 { ns * factor } else { ns }))
        };
        let rows: Vec<Row> = [sweep(2, 0.5), sweep(16, 1.0), sweep(20, 9.0)].concat();
        let found = findings(&run, &rows);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].threads, found[0].cost_drop.map(|found| found.factor.point)), (16, Some(5.0)));
        assert_eq!(
            found[0].sentence(true),
            "f64 additions are 5.0 times as fast at strides of 8 elements (64 bytes) or more"
        );
    }

    /// Plans for large machines measure only one type with large teams.
    #[test]
    fn teams_that_differ_are_named() {
        let sweep = |dtype, threads| {
            [(1, 50.0), (8, 10.0), (16, 10.0)].map(|(stride, ns)| {
                let case = stride_row(dtype, threads, stride, ns).case;
                row(case, ns, 0.1)
            })
        };
        let note = |rows: [[Row; 3]; 2]| decision("decide-false-sharing", &data(rows.concat())).unwrap().note.unwrap();
        let differ = note([sweep(Dtype::U64, 16), sweep(Dtype::F64, 8)]);
        assert!(
            differ.contains("u64 additions by 16 threads are") && differ.contains("f64 additions by 8 threads are"),
            "{differ}"
        );
        let alike = note([sweep(Dtype::U64, 16), sweep(Dtype::F64, 16)]);
        assert!(alike.contains("u64 additions are") && alike.contains("f64 additions are"), "{alike}");
    }

    #[test]
    fn noisy_strides_count_with_their_intervals() {
        let noisy = |row: Row, share: f64| {
            let ns = row.ns.unwrap().value();
            let ns_interval = Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
            Row { verdict: Verdict::Noisy("wide".into()), ns_interval, ..row }
        };
        let rows = [
            stride_row(Dtype::I32, 4, 1, 50.0),
            stride_row(Dtype::I32, 4, 8, 40.0),
            stride_row(Dtype::I32, 4, 16, 5.0),
        ];
        let found = |rows: &[Row]| findings(&crate::testing::run(), rows);
        assert_eq!(found(&rows)[0].cost_drop.map(|found| found.stride), Some(16));
        let wide = rows.clone().map(|row| noisy(row, 0.3));
        assert_eq!(
            found(&wide)[0].cost_drop.map(|found| found.stride),
            Some(16),
            "at least 28 ns against at most 6.5 ns is a drop"
        );
        let wider = rows.clone().map(|row| noisy(row, 0.9));
        assert_eq!(found(&wider), [], "neither a drop nor its absence is certain");
        assert_eq!(found(&[vec![stride_row(Dtype::I32, 4, 4, 5.0)], rows[2..].to_vec()].concat()), [], "too few");
    }

    #[test]
    fn rows_of_one_run_are_compared_by_their_intervals_within_it() {
        // Another run may differ by so much that the quoted intervals overlap.
        let rows = [(1, 50.0), (8, 40.0), (16, 5.0)].map(|(stride, ns)| Row {
            ns_interval: Some(Interval { low: ns * 0.05, high: ns * 9.0 }),
            ns_within: Some(Interval { low: ns * 0.98, high: ns * 1.02 }),
            ..stride_row(Dtype::I32, 4, stride, ns)
        });
        let stride = |rows: &[Row]| {
            let found = findings(&crate::testing::run(), rows);
            found.first().and_then(|finding| finding.cost_drop).map(|drop| drop.stride)
        };
        assert_eq!(stride(&rows), Some(16));
        assert_eq!(stride(&rows.map(|row| Row { ns_within: None, ..row })), None);
    }

    #[test]
    fn forms_are_no_strides_of_the_default() {
        let form = |stride, ns| {
            let row = stride_row(Dtype::I32, 4, stride, ns);
            Row { case: Case { form: Some(Form::Varying), ..row.case }, ..row }
        };
        let forms = [form(1, 50.0), form(8, 40.0), form(16, 5.0)];
        assert_eq!(findings(&crate::testing::run(), &forms), []);
    }

    #[test]
    fn the_absence_of_a_drop_is_reported_if_it_is_certain() {
        let flat =
            [stride_row(Dtype::F64, 4, 1, 9.1), stride_row(Dtype::F64, 4, 4, 9.0), stride_row(Dtype::F64, 4, 8, 9.2)];
        let sentences =
            findings(&crate::testing::run(), &flat).iter().map(|one| one.sentence(true)).collect::<Vec<_>>();
        assert_eq!(sentences, ["f64 additions cost the same at every stride"]);
        // The first stride is far more expensive, but by an unknown factor.
        let first = Row {
            verdict: Verdict::Noisy("wide".into()),
            ns_interval: Some(Interval { low: 8.0, high: 70.0 }),
            ..stride_row(Dtype::F64, 4, 1, 40.0)
        };
        assert_eq!(findings(&crate::testing::run(), &[&[first], &flat[1..]].concat()), []);
    }
}

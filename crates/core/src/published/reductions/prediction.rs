//! Whether the costs of primitives predict which variant is the fastest, and by how much.
//!
//! For each size the reference is the fastest variant whose synchronization consists of operations of the catalogue.
//! For every other such variant of the class, the measured difference of the two times is compared with the difference
//! of their terms (see [`super::terms`]). What both have in common, reading the vector above all, drops out.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::costs::{Costs, SyncCost};
use super::row::ReductionRow;
use super::terms::{Term, terms_of};
use super::variants::{Class, Operation};
use crate::model::case::Case;

/// Largest deviation of a prediction that counts as agreement, relative to the measured difference.
pub const TOLERANCE: f64 = 0.2;

/// Whether a prediction agrees with the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Within 20 % of the measured difference.
    Within,
    /// Further off.
    Outside,
    /// Further off than 20 %, but the intervals of both overlap: nothing is decided.
    Undecided,
    /// A cost is missing.
    Missing,
}

impl Agreement {
    /// For tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Within => "within 20 %",
            Self::Outside => "outside",
            Self::Undecided => "undecided",
            Self::Missing => "no cost",
        }
    }
}

/// A predicted difference beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The class.
    pub class: Class,
    /// The operation.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part.
    pub devices: Option<u32>,
    /// Id of the variant.
    pub variant: String,
    /// Id of the variant it is compared with.
    pub reference: String,
    /// Measured time of the variant minus that of the reference, in nanoseconds.
    pub measured_ns: f64,
    /// Half of the 95 % interval of `measured_ns`.
    pub measured_half_width_ns: Option<f64>,
    /// Difference of the terms.
    pub predicted_ns: Option<f64>,
    /// Half of the 95 % interval of `predicted_ns`.
    pub predicted_half_width_ns: Option<f64>,
    /// Predicted minus measured, relative to the measured difference.
    pub relative_error: Option<f64>,
    /// Predicted minus measured time of the variant, relative to the measured time.
    pub relative_error_of_time: Option<f64>,
    /// Whether they agree.
    pub agreement: Agreement,
    /// The terms that differ, with their costs, or what is missing.
    pub terms: String,
    /// What the terms leave out, where the prediction is off.
    pub why_not: Option<String>,
}

/// What the costs of the primitives recommend at one size, and what was the fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The class.
    pub class: Class,
    /// The operation.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part.
    pub devices: Option<u32>,
    /// Id of the fastest of the variants with known terms.
    pub measured: String,
    /// Id of the variant whose terms are the cheapest.
    pub predicted: String,
    /// How much longer the predicted variant took than the fastest, relative to the fastest; 0 if it is the fastest.
    pub loss: f64,
    /// Id of the second fastest of the variants with known terms.
    pub runner_up: String,
    /// How much longer the second took than the fastest, in nanoseconds.
    pub lead_ns: f64,
    /// The same as the terms predict it.
    pub predicted_lead_ns: f64,
}

/// The sum of a variant's terms.
struct Priced<'a> {
    row: &'a ReductionRow,
    ns: f64,
    /// What it takes longer than at the smallest size: reading the vector.
    reading_ns: f64,
    half_width_ns: Option<f64>,
    terms: Vec<(Term, Option<SyncCost>)>,
}

impl<'a> Priced<'a> {
    fn of(row: &'a ReductionRow, rows: &[ReductionRow], kernel_us: u32, costs: &Costs) -> Option<Self> {
        let ns = row.usable_ns()?;
        let is_same = |other: &&ReductionRow| {
            other.variant == row.variant && (other.operation, other.devices) == (row.operation, row.devices)
        };
        let shortest = rows.iter().filter(is_same).filter_map(ReductionRow::usable_ns).fold(ns, f64::min);
        let terms = terms_of(row, kernel_us)?;
        let terms =
            terms.into_iter().map(|term| (costs.of_term(&term), term)).map(|(cost, term)| (term, cost)).collect();
        Some(Self { row, ns, reading_ns: ns - shortest, half_width_ns: row.half_width_ns(), terms })
    }

    fn is_complete(&self) -> bool {
        self.terms.iter().all(|(_, cost)| cost.is_some())
    }

    /// Sum of the terms that overlap with reading, or of the others, and half of its interval.
    fn sum(&self, overlaps: bool) -> (f64, f64) {
        let terms = self.terms.iter().filter(|(term, _)| term.overlaps == overlaps);
        terms.fold((0.0, 0.0), |(sum, half_width), (term, cost)| match cost {
            Some(cost) => {
                let width = term.count * (cost.ns_high - cost.ns_low) / 2.0;
                (term.count.mul_add(cost.ns, sum), f64::hypot(half_width, width))
            }
            None => (sum, half_width),
        })
    }
}

/// Length of the launch cases whose kernels last about as long, in microseconds: those of the catalogue.
#[must_use]
pub fn kernel_us(ns: f64) -> u32 {
    match ns {
        ns if ns < 3_200.0 => 2,
        ns if ns < 10_000.0 => 5,
        _ => 20,
    }
}

/// The priced variants of one class, operation and size; all with launches beside kernels of one length.
fn priced<'a>(problem: &[&'a ReductionRow], rows: &[ReductionRow], costs: &Costs) -> Vec<Priced<'a>> {
    let fastest = problem.iter().filter_map(|row| row.usable_ns()).fold(f64::INFINITY, f64::min);
    problem.iter().filter_map(|row| Priced::of(row, rows, kernel_us(fastest), costs)).collect()
}

/// The rows of each problem, in the order of the problems.
fn by_size(rows: &[ReductionRow]) -> Vec<Vec<&ReductionRow>> {
    let mut sorted: Vec<&ReductionRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.problem());
    sorted.chunk_by(|a, b| a.problem() == b.problem()).map(<[&ReductionRow]>::to_vec).collect()
}

/// A prediction for every variant of known terms except the reference, at every size.
#[must_use]
pub fn predictions(rows: &[ReductionRow], costs: &Costs) -> Vec<Prediction> {
    by_size(rows).iter().flat_map(|problem| predictions_at(&priced(problem, rows, costs))).collect()
}

fn predictions_at(priced: &[Priced<'_>]) -> Vec<Prediction> {
    let complete = priced.iter().filter(|variant| variant.is_complete());
    let Some(reference) = complete.min_by(|a, b| a.ns.total_cmp(&b.ns)) else { return Vec::new() };
    let others = priced.iter().filter(|variant| variant.row.variant != reference.row.variant);
    others.map(|variant| prediction(variant, reference)).collect()
}

fn prediction(variant: &Priced<'_>, reference: &Priced<'_>) -> Prediction {
    let measured_ns = variant.ns - reference.ns;
    let measured_half_width_ns =
        variant.half_width_ns.zip(reference.half_width_ns).map(|(one, other)| f64::hypot(one, other));
    let found = Prediction {
        class: variant.row.class,
        operation: variant.row.operation,
        elements: variant.row.elements,
        devices: variant.row.devices,
        variant: variant.row.variant.clone(),
        reference: reference.row.variant.clone(),
        measured_ns,
        measured_half_width_ns,
        predicted_ns: None,
        predicted_half_width_ns: None,
        relative_error: None,
        relative_error_of_time: None,
        agreement: Agreement::Missing,
        terms: explanation(variant, reference),
        why_not: None,
    };
    if !variant.is_complete() {
        return found;
    }
    let (predicted, half_width) = predicted_difference(variant, reference);
    let error = predicted - measured_ns;
    let relative = (measured_ns != 0.0).then(|| error / measured_ns.abs());
    let agreement = match relative {
        Some(relative) if relative.abs() <= TOLERANCE => Agreement::Within,
        _ if error.abs() <= half_width + measured_half_width_ns.unwrap_or(0.0) => Agreement::Undecided,
        _ => Agreement::Outside,
    };
    let why_not = (agreement != Agreement::Within).then(|| why_not(variant, reference, measured_ns)).flatten();
    Prediction {
        why_not: why_not.map(str::to_owned),
        predicted_ns: Some(predicted),
        predicted_half_width_ns: Some(half_width),
        relative_error: relative,
        relative_error_of_time: Some(error / variant.ns),
        agreement,
        ..found
    }
}

/// A difference below this share of the time is within what reading the vector varies by from variant to variant.
const SMALL_SHARE: f64 = 0.02;

/// What the terms leave out of the difference of two variants.
fn why_not(variant: &Priced<'_>, reference: &Priced<'_>, measured_ns: f64) -> Option<&'static str> {
    if measured_ns.abs() < SMALL_SHARE * variant.ns {
        return Some("the difference is below 2 % of the time: reading the vector varies by as much");
    }
    if variant.row.class == Class::Device && variant.row.blocks != reference.row.blocks {
        return Some("the grids differ, because clusters are whole: reading differs too");
    }
    match variant.row.variant.as_str() {
        "cpu.lock" | "cpu.openmp_critical" => Some(
            "the cost is that of a loop, in which a thread often takes the lock again at once; here every thread takes it \
             once, all at the same moment, and waiters sleep",
        ),
        id if id.starts_with("cpu.") && variant.row.elements > CACHED_ELEMENTS => {
            Some("the threads do not end reading at the same moment, and wait in the barrier for the last")
        }
        "listing.1" | "listing.2" => Some("atomic operations and reading overlap in part"),
        id if id.starts_with("cpu.tree_") => Some(
            "at each level half of the threads join results and the others are early at the barrier; the cost is that of a \
             loop in which all arrive together",
        ),
        "devices.host" => Some(
            "the host launches on one device after the other: with flags long kernels hide that, with the host's wait nothing \
             does",
        ),
        "device.atomic"
        | "device.cluster"
        | "device.kernel_boundary"
        | "device.grid_cooperative"
        | "device.grid_counter"
        | "device.grid_lock_free" => Some(
            "the host queues these kernels while they run: what one more costs follows from how fast it is with two \
             different kernels and with these arguments; variants that are queued first have the device's cost alone",
        ),
        _ => None,
    }
}

/// Elements beyond which a thread's part is not in its nearest caches.
const CACHED_ELEMENTS: u64 = 1 << 17;

/// The difference of two variants' terms and half of its interval. What overlaps with reading counts as far as it takes
/// longer than reading.
fn predicted_difference(variant: &Priced<'_>, reference: &Priced<'_>) -> (f64, f64) {
    let (added, added_width) = variant.sum(false);
    let (of_reference, of_reference_width) = reference.sum(false);
    let reading = reference.reading_ns;
    let exceeds = |priced: &Priced<'_>| {
        let (ns, half_width) = priced.sum(true);
        if ns > reading { (ns - reading, half_width) } else { (0.0, 0.0) }
    };
    let ((over, over_width), (reference_over, _)) = (exceeds(variant), exceeds(reference));
    let half_width = added_width.hypot(of_reference_width).hypot(over_width);
    (added - of_reference + over - reference_over, half_width)
}

/// `1 x gpu.grid.cooperative 1290 ns - 1 x gpu.launch.stream 2700 ns`, without the terms that both have.
fn explanation(variant: &Priced<'_>, reference: &Priced<'_>) -> String {
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

/// What the terms recommend at every size where at least two variants have known costs.
#[must_use]
pub fn decisions(rows: &[ReductionRow], costs: &Costs) -> Vec<Decision> {
    by_size(rows).iter().filter_map(|problem| decision(&priced(problem, rows, costs))).collect()
}

fn decision(priced: &[Priced<'_>]) -> Option<Decision> {
    let mut complete: Vec<&Priced<'_>> = priced.iter().filter(|variant| variant.is_complete()).collect();
    complete.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let [fastest, second, ..] = complete[..] else { return None };
    let from_fastest = |variant: &Priced<'_>| predicted_difference(variant, fastest).0;
    let cheapest = *complete.iter().min_by(|a, b| from_fastest(a).total_cmp(&from_fastest(b)))?;
    Some(Decision {
        class: fastest.row.class,
        operation: fastest.row.operation,
        elements: fastest.row.elements,
        devices: fastest.row.devices,
        measured: fastest.row.variant.clone(),
        predicted: cheapest.row.variant.clone(),
        loss: cheapest.ns / fastest.ns - 1.0,
        runner_up: second.row.variant.clone(),
        lead_ns: second.ns - fastest.ns,
        predicted_lead_ns: from_fastest(second),
    })
}

/// The cases whose costs are needed to predict these rows.
#[must_use]
pub fn needed_cases(rows: &[ReductionRow]) -> Vec<Case> {
    let mut cases: Vec<Case> = needed_terms(rows).into_iter().map(|term| term.case).collect();
    cases.sort();
    cases.dedup();
    cases
}

/// The costs that predictions of these rows use, each once.
#[must_use]
pub fn used_costs(rows: &[ReductionRow], costs: &Costs) -> Vec<SyncCost> {
    let mut used: Vec<SyncCost> = Vec::new();
    for term in needed_terms(rows) {
        if let Some(cost) = costs.of_term(&term).filter(|cost| !used.contains(cost)) {
            used.push(cost);
        }
    }
    used
}

/// The terms of all variants of these rows.
fn needed_terms(rows: &[ReductionRow]) -> Vec<Term> {
    let none = Costs::default();
    let groups = by_size(rows);
    let terms = groups.iter().flat_map(|problem| priced(problem, rows, &none)).flat_map(|priced| priced.terms);
    terms.map(|(term, _)| term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::{Dtype, Layout, Mode, Scope, Space};
    use crate::model::group::Group;
    use crate::published::reductions::costs::CostSource;
    use crate::published::reductions::costs::tests::measured;
    use crate::published::reductions::row::tests::row;
    use crate::run::row::Row;

    const SIZE: u64 = 1 << 20;

    fn launch(how: &str, blocks: u32, ns: f64) -> Row {
        let group = Some(Group::KernelUs(5));
        measured(Case { blocks: Some(blocks), threads: Some(512), group, ..Case::new(how) }, ns)
    }

    fn on_grid(id: &str, ns: f64) -> Row {
        measured(Case { blocks: Some(264), threads: Some(512), ..Case::new(id) }, ns)
    }

    /// Costs as on an H200.
    fn costs() -> Costs {
        let reduce = Case { blocks: Some(1), threads: Some(32), ..Case::new("gpu.reduce.max") };
        let reduce = Case { dtype: Some(Dtype::I32), mode: Some(Mode::Latency), ..reduce };
        let rows = vec![
            launch("gpu.launch.stream", 264, 2700.0),
            launch("gpu.launch.stream", 1, 2600.0),
            launch("gpu.launch.cooperative", 264, 3000.0),
            launch("gpu.launch.graph", 264, 700.0),
            launch("gpu.launch.graph", 1, 500.0),
            on_grid("gpu.grid.cooperative", 1300.0),
            measured(Case { blocks: Some(1), threads: Some(512), ..Case::new("gpu.block.syncthreads") }, 22.0),
            measured(reduce, 22.0),
            measured(maximum(1, 32, Mode::Latency), 100.0),
        ];
        Costs::of(rows, CostSource::Here)
    }

    fn maximum(blocks: u32, threads: u32, mode: Mode) -> Case {
        Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            blocks: Some(blocks),
            threads: Some(threads),
            scope: Some(Scope::Device),
            space: Some(Space::Global),
            mode: Some(mode),
            ..Case::new("gpu.atomic.max")
        }
    }

    /// Times made of a streaming term and the costs, some with a deviation.
    fn rows() -> Vec<ReductionRow> {
        vec![
            row("device.atomic_graph_chain", SIZE, 4000.0 + 700.0),
            row("device.atomic", SIZE, 4000.0 + 2700.0),
            row("device.kernel_boundary", SIZE, 4000.0 + 5300.0 + 266.0),
            row("device.grid_cooperative", SIZE, 4000.0 + 4300.0 + 266.0 + 1500.0),
            row("device.cub", SIZE, 9000.0),
        ]
    }

    fn of<'a>(found: &'a [Prediction], id: &str) -> &'a Prediction {
        found.iter().find(|prediction| prediction.variant == id).unwrap()
    }

    #[test]
    fn the_streaming_term_drops_out_of_the_difference() {
        let found = predictions(&rows(), &costs());
        assert_eq!(found.len(), 3, "the reference and CUB have no prediction");
        assert!(found.iter().all(|prediction| prediction.reference == "device.atomic_graph_chain"));
        let two = of(&found, "device.kernel_boundary");
        assert!((two.predicted_ns.unwrap() - 4866.0).abs() < 1e-6 && (two.measured_ns - 4866.0).abs() < 1e-6);
        assert_eq!(
            (two.agreement, two.relative_error.map(|error| error.abs() < 1e-9)),
            (Agreement::Within, Some(true))
        );
        assert!(
            two.terms.contains("1 x gpu.launch.stream") && two.terms.contains("- 1 x gpu.launch.graph"),
            "{}",
            two.terms
        );
        // The same times with a vector that takes a millisecond longer.
        let longer: Vec<ReductionRow> =
            rows().into_iter().map(|row| ReductionRow { ns: row.ns.map(|ns| ns + 1e6), ..row }).collect();
        let shifted = predictions(&longer, &costs());
        assert!((of(&shifted, "device.kernel_boundary").predicted_ns.unwrap() - 4866.0).abs() < 1e-6);
    }

    #[test]
    fn a_difference_that_is_further_off_is_outside_and_says_by_how_much() {
        let found = predictions(&rows(), &costs());
        let grid = of(&found, "device.grid_cooperative");
        assert_eq!(grid.agreement, Agreement::Outside);
        // 3,866 of 5,366 measured.
        assert!((grid.relative_error.unwrap() + 1500.0 / 5366.0).abs() < 1e-9, "{grid:?}");
        assert!((grid.relative_error_of_time.unwrap() + 1500.0 / 10_066.0).abs() < 1e-9, "{grid:?}");
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        let mut rows = rows();
        rows[3].ns_low = Some(7000.0);
        rows[3].ns_high = Some(12_000.0);
        assert_eq!(of(&predictions(&rows, &costs()), "device.grid_cooperative").agreement, Agreement::Undecided);
    }

    #[test]
    fn what_the_terms_leave_out_is_said_where_they_are_off() {
        let small = [row("device.atomic", SIZE, 500_000.0), row("device.kernel_boundary", SIZE, 505_000.0)];
        let found = predictions(&small, &costs());
        assert!(found[0].why_not.as_ref().unwrap().contains("below 2 %"), "{found:?}");
        assert_eq!(of(&predictions(&rows(), &costs()), "device.kernel_boundary").why_not, None, "it agrees");
    }

    #[test]
    fn kernels_that_the_host_queues_while_they_run_say_so() {
        let found = predictions(&rows(), &costs());
        let grid = of(&found, "device.grid_cooperative");
        assert!(grid.why_not.as_ref().unwrap().contains("the host queues these kernels"), "{grid:?}");
        let ids = ["device.atomic_queued", "device.graph_chain"];
        for id in ids {
            let slower = [row("device.atomic_graph_chain", SIZE, 4000.0), row(id, SIZE, 9000.0)];
            let found = predictions(&slower, &costs());
            assert_eq!((found[0].agreement, &found[0].why_not), (Agreement::Outside, &None), "{id} has no such excuse");
        }
    }

    #[test]
    fn different_numbers_of_devices_are_different_problems() {
        let on = |devices, id: &str, ns: f64| ReductionRow { devices: Some(devices), ..row(id, SIZE, ns) };
        let barrier = |id: &str, devices, ns| {
            let case = Case { devices: Some(devices), blocks: Some(264), threads: Some(512), ..Case::new(id) };
            measured(case, ns)
        };
        let costs = Costs::of(
            vec![
                launch("gpu.launch.stream", 264, 2000.0),
                barrier("gpu.multi.flags", 2, 2000.0),
                barrier("gpu.multi.flags", 4, 3000.0),
                barrier("gpu.multi.host_barrier", 2, 10_000.0),
                barrier("gpu.multi.host_barrier", 4, 15_000.0),
            ],
            CostSource::Here,
        );
        let rows = [
            on(2, "devices.flags", 54_000.0),
            on(4, "devices.flags", 30_000.0),
            on(2, "devices.host", 60_000.0),
            on(4, "devices.host", 40_000.0),
        ];
        let found = predictions(&rows, &costs);
        let measured: Vec<_> = found.iter().map(|found| (found.devices, found.measured_ns)).collect();
        assert_eq!(measured, [(Some(2), 6000.0), (Some(4), 10_000.0)]);
        assert!(found.iter().all(|found| found.agreement == Agreement::Within), "{found:?}");
        let decided = decisions(&rows, &costs);
        assert_eq!(decided.iter().map(|decision| decision.devices).collect::<Vec<_>>(), [Some(2), Some(4)]);
    }

    #[test]
    fn a_missing_cost_is_named() {
        let mut rows = rows();
        rows.push(row("device.grid_counter", SIZE, 8000.0));
        let found = predictions(&rows, &costs());
        let counter = of(&found, "device.grid_counter");
        assert_eq!((counter.agreement, counter.predicted_ns), (Agreement::Missing, None));
        assert!(counter.terms.contains("gpu.grid.counter") && counter.terms.contains("(no cost)"), "{}", counter.terms);
    }

    #[test]
    fn atomics_hide_behind_reading_until_they_take_longer() {
        let case = maximum(264, 1024, Mode::Throughput);
        // 0.02 ns for each operation of a thread.
        let costs = Costs::of(vec![measured(case, 0.02 * 264.0 * 1024.0)], CostSource::Here);
        let (small, large) = (1 << 10, 1 << 28);
        let rows = [
            row("listing.5", small, 3000.0),
            row("listing.1", small, 3000.0),
            row("listing.5", large, 250_000.0),
            row("listing.1", large, 5_300_000.0),
        ];
        let found = predictions(&rows, &costs);
        // Nothing is read that the operations could hide behind.
        assert!((found[0].predicted_ns.unwrap() - 0.02 * 1024.0).abs() < 1e-9);
        let expected = 0.02 * large as f64 - 247_000.0;
        assert!((found[1].predicted_ns.unwrap() - expected).abs() < 1.0, "{:?}", found[1]);
        assert_eq!(found[1].agreement, Agreement::Within);
    }

    #[test]
    fn the_decision_names_what_a_wrong_choice_would_cost() {
        let decided = decisions(&rows(), &costs());
        assert_eq!(decided.len(), 1);
        assert_eq!((decided[0].predicted.as_str(), decided[0].loss), ("device.atomic_graph_chain", 0.0));
        assert_eq!(decided[0].runner_up, "device.atomic");
        assert!((decided[0].lead_ns - 2000.0).abs() < 1e-6 && (decided[0].predicted_lead_ns - 2000.0).abs() < 1e-6);
        // Grids measured as faster than the launches say: the prediction chooses the other.
        let rows = [row("device.kernel_boundary", SIZE, 9000.0), row("device.grid_cooperative", SIZE, 10_000.0)];
        let decided = decisions(&rows, &costs());
        assert_eq!(
            (decided[0].measured.as_str(), decided[0].predicted.as_str()),
            ("device.kernel_boundary", "device.grid_cooperative")
        );
        assert!((decided[0].loss - 1.0 / 9.0).abs() < 1e-9);
        assert!(decisions(&rows[..1], &costs()).is_empty());
    }

    #[test]
    fn what_must_be_measured_follows_from_the_rows() {
        let needed = needed_cases(&rows());
        let ids: Vec<&str> = needed.iter().map(|case| case.primitive.as_str()).collect();
        assert_eq!(ids.iter().filter(|id| **id == "gpu.launch.stream").count(), 2, "{ids:?}");
        assert!(ids.contains(&"gpu.grid.cooperative") && !ids.contains(&"gpu.cluster.sync"), "{ids:?}");
    }

    #[test]
    fn kernels_are_as_long_as_those_of_the_catalogue() {
        assert_eq!([1_500.0, 4_000.0, 9_000.0, 250_000.0].map(kernel_us), [2, 5, 5, 20]);
    }
}

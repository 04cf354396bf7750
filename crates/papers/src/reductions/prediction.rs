//! Whether the costs of primitives predict which variant is the fastest, and by how much.
//!
//! For each size the reference is the fastest variant whose synchronization consists of operations of the catalogue. For every
//! other such variant of the class, the measured difference of the two times is compared with the difference of their terms.
//! What both have in common, reading the vector above all, drops out.

use syncscope_core::{Case, Row, words};
use syncscope_report::has_cost_of_case;

use super::terms::{KERNEL_US, Term, terms_of};
use super::{Class, Measured, measured};

/// The largest deviation of a prediction that counts as agreement, relative to the measured difference.
const TOLERANCE: f64 = 0.2;

/// A difference below this share of the time is no larger than the differences in reading the vector between variants.
const SMALL_SHARE: f64 = 0.02;

/// The number of elements beyond which a thread's part is not in its nearest caches.
const CACHED_ELEMENTS: u64 = 1 << 17;

words! {
    /// Whether a prediction agrees with the measurement.
    pub(super) enum Agreement ("agreement") {
        /// Within 20 % of the measured difference.
        Within = "within 20 %",
        /// Further off than 20 %.
        Outside = "outside",
        /// Further off than 20 %, but the intervals of both overlap, so nothing is decided.
        Undecided = "undecided",
        /// A cost is missing.
        Missing = "no cost",
    }
}

/// A predicted difference next to the measured one.
#[derive(Debug, Clone)]
pub(super) struct Prediction<'a> {
    pub(super) variant: Measured<'a>,
    pub(super) reference: Measured<'a>,
    /// The variant's time minus the reference's, and half of its interval.
    pub(super) measured: (f64, f64),
    /// The difference of their terms, and half of its interval; `None` if a cost is missing.
    pub(super) predicted: Option<(f64, f64)>,
    /// The terms that differ, with their costs, or what is missing.
    pub(super) terms: String,
}

impl Prediction<'_> {
    /// Predicted minus measured, relative to the measured difference.
    pub(super) fn relative_error(&self) -> Option<f64> {
        let (measured, _) = self.measured;
        let (predicted, _) = self.predicted?;
        (measured != 0.0).then(|| (predicted - measured) / measured.abs())
    }

    pub(super) fn agreement(&self) -> Agreement {
        let Some((predicted, half_width)) = self.predicted else { return Agreement::Missing };
        let (measured, measured_half_width) = self.measured;
        if self.relative_error().is_some_and(|error| error.abs() <= TOLERANCE) {
            Agreement::Within
        } else if (predicted - measured).abs() <= half_width + measured_half_width {
            Agreement::Undecided
        } else {
            Agreement::Outside
        }
    }

    /// What the terms leave out, where the prediction is off.
    pub(super) fn why_not(&self) -> Option<&'static str> {
        let is_off = matches!(self.agreement(), Agreement::Outside | Agreement::Undecided);
        if is_off { why_not(&self.variant, &self.reference) } else { None }
    }
}

/// What the costs recommend for a problem, and which of the variants with known terms was the fastest.
#[derive(Debug, Clone)]
pub(super) struct Decision<'a> {
    pub(super) fastest: Measured<'a>,
    /// The variant with the cheapest terms.
    pub(super) recommended: Measured<'a>,
    pub(super) runner_up: Measured<'a>,
    /// By how much longer the second takes than the first according to their terms.
    pub(super) predicted_lead_ns: f64,
}

impl Decision<'_> {
    /// How much longer the recommended variant took than the fastest, relative to the fastest.
    pub(super) fn loss(&self) -> f64 {
        self.recommended.ns / self.fastest.ns - 1.0
    }
}

/// The decisions and the predictions of a run, problem by problem.
pub(super) fn predicted(rows: &[Row]) -> (Vec<Decision<'_>>, Vec<Prediction<'_>>) {
    let all = measured(rows);
    let (mut decisions, mut predictions) = (Vec::new(), Vec::new());
    for problem in all.chunk_by(|one, other| one.problem() == other.problem()) {
        let fastest = problem.iter().map(|one| one.ns).fold(f64::INFINITY, f64::min);
        let mut priced: Vec<Priced<'_>> =
            problem.iter().filter_map(|one| Priced::of(one, &all, kernel_us(fastest), rows)).collect();
        priced.sort_by(|one, other| one.measured.ns.total_cmp(&other.measured.ns));
        let complete: Vec<&Priced<'_>> = priced.iter().filter(|one| one.is_complete()).collect();
        let Some(reference) = complete.first() else { continue };
        decisions.extend(decision(&complete));
        let others = priced.iter().filter(|one| !one.measured.is_variant_of(&reference.measured));
        predictions.extend(others.map(|one| prediction(one, reference)));
    }
    (decisions, predictions)
}

fn decision<'a>(complete: &[&Priced<'a>]) -> Option<Decision<'a>> {
    let [fastest, second, ..] = complete[..] else { return None };
    let from_fastest = |one: &Priced<'_>| one.more_than(fastest).0;
    let cheapest = complete.iter().min_by(|one, other| from_fastest(one).total_cmp(&from_fastest(other)))?;
    Some(Decision {
        fastest: fastest.measured,
        recommended: cheapest.measured,
        runner_up: second.measured,
        predicted_lead_ns: from_fastest(second),
    })
}

fn prediction<'a>(variant: &Priced<'a>, reference: &Priced<'a>) -> Prediction<'a> {
    let (own, other) = (variant.measured, reference.measured);
    let measured = (own.ns - other.ns, f64::hypot(own.half_width_ns, other.half_width_ns));
    let predicted = variant.is_complete().then(|| variant.more_than(reference));
    Prediction { variant: own, reference: other, measured, predicted, terms: explanation(variant, reference) }
}

/// A variant with the costs of its terms, each with half of its interval.
struct Priced<'a> {
    measured: Measured<'a>,
    /// The time that the variant takes beyond its time at the smallest size: reading the vector.
    reading_ns: f64,
    terms: Vec<(Term, Option<(f64, f64)>)>,
}

impl<'a> Priced<'a> {
    fn of(measured: &Measured<'a>, all: &[Measured<'_>], kernel_us: u32, rows: &[Row]) -> Option<Self> {
        let same = all.iter().filter(|other| measured.is_variant_of(other));
        let shortest = same.map(|other| other.ns).fold(measured.ns, f64::min);
        let priced = |term: Term| (term.clone(), cost_of(&term, rows));
        let terms = terms_of(measured, kernel_us)?.into_iter().map(priced).collect();
        Some(Self { measured: *measured, reading_ns: measured.ns - shortest, terms })
    }

    fn is_complete(&self) -> bool {
        self.terms.iter().all(|(_, cost)| cost.is_some())
    }

    /// The sum of the terms that overlap with reading, or of the others, and half of its interval.
    fn sum(&self, overlaps: bool) -> (f64, f64) {
        let terms = self.terms.iter().filter(|(term, _)| term.overlaps == overlaps);
        terms.fold((0.0, 0.0), |(sum, half_width), (term, cost)| {
            let (ns, of_term) = cost.unwrap_or_default();
            (term.count.mul_add(ns, sum), f64::hypot(half_width, term.count * of_term))
        })
    }

    /// How much more these terms cost than the reference's, and half of the interval. Terms that overlap with reading
    /// count as far as they take longer than reading.
    fn more_than(&self, reference: &Self) -> (f64, f64) {
        let (added, added_width) = self.sum(false);
        let (of_reference, of_reference_width) = reference.sum(false);
        let exceeds = |priced: &Self| {
            let (ns, half_width) = priced.sum(true);
            if ns > reference.reading_ns { (ns - reference.reading_ns, half_width) } else { (0.0, 0.0) }
        };
        let ((over, over_width), (reference_over, _)) = (exceeds(self), exceeds(reference));
        let half_width = added_width.hypot(of_reference_width).hypot(over_width);
        (added - of_reference + over - reference_over, half_width)
    }
}

/// The length in microseconds, out of the catalogue's, of the launch cases whose kernels last about as long.
fn kernel_us(ns: f64) -> u32 {
    match ns {
        ns if ns < 3_200.0 => 2,
        ns if ns < 10_000.0 => 5,
        _ => 20,
    }
}

/// The cost of one operation of a term and half of its interval, from the same case. If there is none, the case of the
/// same primitive, type, order, mode and group with the nearest grid stands for it, and of two equally near the larger.
fn cost_of(term: &Term, rows: &[Row]) -> Option<(f64, f64)> {
    let is_figure = |row: &&Row| has_cost_of_case(row) && row.ns.is_some_and(|ns| ns.value() > 0.0);
    let candidates = rows.iter().filter(|row| is_same_operation(&row.case, &term.case)).filter(is_figure);
    let row = candidates.min_by(|a, b| {
        let [near, other] = [a, b].map(|row| distance(&row.case, &term.case));
        near.total_cmp(&other).then_with(|| b.case.actors().cmp(&a.case.actors())).then_with(|| a.case.cmp(&b.case))
    })?;
    let half_width = row.ns_interval.or(row.ns_within).map_or(0.0, |interval| interval.half_width());
    // An overlapping term counts operations of all threads together.
    let share = if term.overlaps { row.case.actors().max(1) as f64 } else { 1.0 };
    Some((row.ns?.value() / share, half_width / share))
}

/// Whether two cases differ only in their grid. What the wanted case leaves open may be anything.
fn is_same_operation(found: &Case, wanted: &Case) -> bool {
    fn fits<T: PartialEq>(found: Option<&T>, wanted: Option<&T>) -> bool {
        wanted.is_none() || found == wanted
    }
    found.primitive == wanted.primitive
        // A barrier without an order keeps memory accesses in order; a relaxed one does not.
        && found.order == wanted.order
        && fits(found.dtype.as_ref(), wanted.dtype.as_ref())
        && fits(found.layout.as_ref(), wanted.layout.as_ref())
        && fits(found.space.as_ref(), wanted.space.as_ref())
        && fits(found.scope.as_ref(), wanted.scope.as_ref())
        && fits(found.mode.as_ref(), wanted.mode.as_ref())
        // Kernels of any length but zero are one group: the preset `quick` has one length.
        && (length(found).is_some() && length(wanted).is_some() || fits(found.group.as_ref(), wanted.group.as_ref()))
        && found.form == wanted.form
        && found.devices.unwrap_or(1) == wanted.devices.unwrap_or(1)
}

fn length(case: &Case) -> Option<u32> {
    case.group_number(KERNEL_US)
}

/// The distance between the grids of two cases, in factors of two of blocks, threads and length of the kernel.
fn distance(found: &Case, wanted: &Case) -> f64 {
    let steps = |found: Option<u32>, wanted: Option<u32>| match (found, wanted) {
        (Some(found), Some(wanted)) => (f64::from(found.max(1)) / f64::from(wanted.max(1))).log2().abs(),
        // Where the grid is left open, the largest one is nearest.
        (Some(found), None) => 1.0 / f64::from(found.max(1)),
        _ => 0.0,
    };
    let of_length = length(wanted).map_or(0.0, |wanted| steps(length(found), Some(wanted)));
    // Blocks matter most to barriers of a grid, and threads hardly matter.
    2.0 * steps(found.blocks, wanted.blocks) + steps(found.threads, wanted.threads) + of_length
}

/// `1 x gpu.grid.cooperative 1290 ns - 1 x gpu.launch.stream 2700 ns`, without the terms that both have.
fn explanation(variant: &Priced<'_>, reference: &Priced<'_>) -> String {
    let own = |from: &Priced<'_>, other: &Priced<'_>| -> Vec<String> {
        let is_own = |term: &Term| !other.terms.iter().any(|(found, _)| found == term);
        from.terms.iter().filter(|(term, _)| is_own(term)).map(|(term, cost)| priced_term(term, *cost)).collect()
    };
    let added = own(variant, reference).join(" + ");
    let left_out = own(reference, variant).into_iter().map(|term| format!(" - {term}"));
    std::iter::once(added).chain(left_out).collect::<String>().trim().to_owned()
}

fn priced_term(term: &Term, cost: Option<(f64, f64)>) -> String {
    let count = if term.count.fract() == 0.0 { format!("{}", term.count) } else { format!("{:.1}", term.count) };
    match cost {
        Some((ns, _)) if ns < 10.0 => format!("{count} x {} {ns:.3} ns", term.case),
        Some((ns, _)) => format!("{count} x {} {ns:.0} ns", term.case),
        None => format!("{count} x {} (no cost)", term.case),
    }
}

/// What the terms leave out of the difference of two variants.
fn why_not(variant: &Measured<'_>, reference: &Measured<'_>) -> Option<&'static str> {
    if (variant.ns - reference.ns).abs() < SMALL_SHARE * variant.ns {
        return Some("the difference is below 2 % of the time, and the time to read the vector varies by as much");
    }
    if variant.class == Class::Device && variant.row.case.blocks != reference.row.case.blocks {
        return Some(
            "the grid sizes differ because a grid consists of whole clusters, so the time to read the vector \
                     differs, too",
        );
    }
    match (variant.class, variant.name) {
        (Class::Cpu, "lock" | "openmp_critical") => Some(
            "the cost was measured in a loop, in which a thread often retakes the lock at once; here all threads \
             take the lock once, at the same moment, and waiters sleep",
        ),
        (Class::Cpu, _) if variant.elements > CACHED_ELEMENTS => {
            Some("the threads finish reading at different times and wait in the barrier for the last one")
        }
        (Class::Cpu, name) if name.starts_with("tree_") => Some(
            "at each level, half of the threads merge results while the others reach the barrier early; the cost was \
             measured in a loop in which all arrive together",
        ),
        (Class::Listing, "listing_1" | "listing_2") => Some("atomic operations and reading overlap in part"),
        (Class::Devices, "devices_host") => Some(
            "the host launches on one device after another; long kernels hide this if flags are used, but nothing \
             hides it if the host waits",
        ),
        (Class::Device, name) if !name.ends_with("_queued") && !name.ends_with("_chain") => Some(
            "the host queues these kernels while earlier ones run, so an additional kernel costs the host's time to \
             launch two different kernels with these arguments; variants that queue all kernels first cost only \
             device time",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::recommendation;
    use super::super::testing::{reduction, resolved};
    use super::*;
    use syncscope_core::Group;
    use syncscope_core::{Dtype, Layout, MemoryOrder, Mode, Scope, Space};

    const SIZE: u64 = 1 << 20;

    fn launch(how: &str, blocks: u32, ns: f64) -> Row {
        let group = Some(Group::of_word("5 us"));
        resolved(Case { blocks: Some(blocks), threads: Some(512), group, ..Case::new(how) }, ns)
    }

    fn maximum(blocks: u32, threads: u32, mode: Mode) -> Case {
        Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            blocks: Some(blocks),
            threads: Some(threads),
            scope: Some(Scope::Device),
            space: Some(Space::Global),
            order: Some(MemoryOrder::Relaxed),
            mode: Some(mode),
            ..Case::new("gpu.atomic.max")
        }
    }

    /// Costs as on an H200.
    fn costs() -> Vec<Row> {
        let one = |id: &str| Case { blocks: Some(1), threads: Some(32), ..Case::new(id) };
        let reduce = Case { dtype: Some(Dtype::I32), mode: Some(Mode::Latency), ..one("gpu.reduce.max") };
        let grid = Case { blocks: Some(264), threads: Some(512), ..Case::new("gpu.grid.cooperative") };
        vec![
            launch("gpu.launch.stream", 264, 2700.0),
            launch("gpu.launch.stream", 1, 2600.0),
            launch("gpu.launch.cooperative", 264, 3000.0),
            launch("gpu.launch.graph", 264, 700.0),
            resolved(grid, 1300.0),
            resolved(one("gpu.block.syncthreads"), 22.0),
            resolved(reduce, 22.0),
            resolved(maximum(1, 32, Mode::Latency), 100.0),
        ]
    }

    /// Times made of a streaming term and the costs, one with a deviation.
    fn rows() -> Vec<Row> {
        let times = [
            reduction("atomic_graph_chain", SIZE, 4000.0 + 700.0),
            reduction("atomic", SIZE, 4000.0 + 2700.0),
            reduction("kernel_boundary", SIZE, 4000.0 + 5300.0 + 266.0),
            reduction("grid_cooperative", SIZE, 4000.0 + 4300.0 + 266.0 + 1500.0),
            reduction("cub", SIZE, 9000.0),
        ];
        costs().into_iter().chain(times).collect()
    }

    fn of<'a>(found: &'a [Prediction<'_>], name: &str) -> &'a Prediction<'a> {
        found.iter().find(|prediction| prediction.variant.name == name).unwrap()
    }

    #[test]
    fn the_streaming_term_drops_out_of_the_difference() {
        let rows = rows();
        let (_, found) = predicted(&rows);
        assert_eq!(found.len(), 3, "the reference and CUB have no prediction");
        assert!(found.iter().all(|prediction| prediction.reference.name == "atomic_graph_chain"));
        let two = of(&found, "kernel_boundary");
        assert!((two.predicted.unwrap().0 - 4866.0).abs() < 1e-6 && (two.measured.0 - 4866.0).abs() < 1e-6);
        assert_eq!((two.agreement(), two.why_not()), (Agreement::Within, None));
        assert!(
            two.terms.contains("1 x gpu.launch.stream") && two.terms.contains(" - 1 x gpu.launch.graph"),
            "{two:?}"
        );
        let grid = of(&found, "grid_cooperative");
        assert_eq!(grid.agreement(), Agreement::Outside);
        assert!(grid.why_not().unwrap().contains("queues these kernels while earlier ones run"));
    }

    #[test]
    fn the_decision_names_what_a_wrong_choice_would_cost() {
        let all = rows();
        let (decided, _) = predicted(&all);
        assert_eq!((decided.len(), decided[0].recommended.name), (1, "atomic_graph_chain"));
        assert_eq!((decided[0].runner_up.name, decided[0].loss()), ("atomic", 0.0));
        assert!((decided[0].predicted_lead_ns - 2000.0).abs() < 1e-6);
        // The second kernel is measured as faster than the launches predict: the prediction chooses the barrier of the
        // grid.
        let two = [reduction("kernel_boundary", SIZE, 9000.0), reduction("grid_cooperative", SIZE, 10_000.0)];
        let all: Vec<Row> = costs().into_iter().chain(two).collect();
        let (decided, _) = predicted(&all);
        assert_eq!((decided[0].fastest.name, decided[0].recommended.name), ("kernel_boundary", "grid_cooperative"));
        assert!((decided[0].loss() - 1.0 / 9.0).abs() < 1e-9);
        let said = |times: &[Row]| recommendation(&[costs(), times.to_vec()].concat()).unwrap().sentence;
        let two = said(&[reduction("kernel_boundary", SIZE, 9000.0), reduction("grid_cooperative", SIZE, 10_000.0)]);
        assert!(
            two.contains("of 1 reduction problem: 1 wrong (the variant named takes up to 11.1 % longer). "),
            "{two}"
        );
        let close = said(&[reduction("kernel_boundary", SIZE, 9000.0), reduction("grid_cooperative", SIZE, 9050.0)]);
        assert!(close.contains("of 1 reduction problem: 1 undecided. "), "{close}");
        assert!(recommendation(&rows()).unwrap().sentence.contains("of 1 reduction problem: 1 right. "));
    }

    #[test]
    fn a_missing_cost_is_named() {
        let mut rows = rows();
        rows.push(reduction("grid_counter", SIZE, 8000.0));
        let (_, found) = predicted(&rows);
        let counter = of(&found, "grid_counter");
        assert_eq!((counter.agreement(), counter.predicted), (Agreement::Missing, None));
        assert!(counter.terms.contains("gpu.grid.counter") && counter.terms.contains("(no cost)"), "{}", counter.terms);
    }

    #[test]
    fn atomics_hide_behind_reading_until_they_take_longer() {
        // 0.02 ns for each operation of a thread.
        let cost = resolved(maximum(264, 1024, Mode::Throughput), 0.02 * 264.0 * 1024.0);
        let (small, large) = (1 << 10, 1 << 28);
        let rows = [
            cost,
            reduction("listing_5", small, 3000.0),
            reduction("listing_1", small, 3000.0),
            reduction("listing_5", large, 250_000.0),
            reduction("listing_1", large, 5_300_000.0),
        ];
        let (_, found) = predicted(&rows);
        // Nothing is read that the operations could hide behind.
        assert!((found[0].predicted.unwrap().0 - 0.02 * 1024.0).abs() < 1e-9);
        let expected = 0.02 * large as f64 - 247_000.0;
        assert!((found[1].predicted.unwrap().0 - expected).abs() < 1.0, "{:?}", found[1]);
        assert_eq!(found[1].agreement(), Agreement::Within);
    }

    #[test]
    fn the_nearest_grid_stands_for_one_that_was_not_measured() {
        let wanted = Case { blocks: Some(264), threads: Some(512), ..Case::new("gpu.launch.stream") };
        let wanted = Case { group: Some(Group::of_word("2 us")), ..wanted };
        let near = distance(&launch("gpu.launch.stream", 132, 1.0).case, &wanted);
        assert!(near < distance(&launch("gpu.launch.stream", 1, 1.0).case, &wanted));
        // The relaxed barrier does not stand in, and of two equally near grids the larger does, whatever the order of
        // the rows.
        let sync = |threads: u32, order: Option<MemoryOrder>, ns: f64| {
            let case = Case { blocks: Some(8), threads: Some(threads), order, ..Case::new("gpu.cluster.sync") };
            resolved(case, ns)
        };
        let mut rows = [(256, None, 398.0), (256, Some(MemoryOrder::Relaxed), 43.0), (1024, None, 644.0)]
            .map(|(threads, order, ns)| sync(threads, order, ns));
        let term = Term::added(sync(512, None, 1.0).case, 1.0);
        for _ in 0..2 {
            assert!((cost_of(&term, &rows).unwrap().0 - 644.0).abs() < 1e-9);
            rows.reverse();
        }
        assert_eq!([1_500.0, 4_000.0, 9_000.0, 250_000.0].map(kernel_us), [2, 5, 5, 20]);
    }
}

//! False sharing, found among rows: the stride at which private elements no longer share a line.

use std::collections::BTreeMap;
use std::fmt::Write;

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Dtype, Layout, Placement, Row, Run, Verdict};

/// The primitive whose strides are compared.
pub(crate) const PRIMITIVE: &str = "cpu.atomic.add";

/// Costs that differ by less than this factor are the same plateau.
const PLATEAU: f64 = 1.25;

/// A step smaller than this factor is no jump.
const JUMP: f64 = 1.5;

/// What a sweep of strides says of one type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) dtype: Dtype,
    /// Threads of the team, as many as were measured without sharing CPUs.
    pub(crate) threads: u32,
    pub(crate) placement: Option<Placement>,
    /// The jump; `None` where neighbouring elements cost what distant ones cost.
    pub(crate) jump: Option<Jump>,
}

/// Where elements leave the shared line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Jump {
    /// The smallest stride, in elements, from which on the cost stays low.
    pub(crate) stride: u32,
    /// The same in bytes.
    pub(crate) bytes: u64,
    /// How many times cheaper than neighbouring elements (the smallest stride measured).
    pub(crate) times: f64,
}

/// One stride with its cost.
#[derive(Debug, Clone, Copy)]
struct Step {
    stride: u32,
    ns: f64,
    interval: Option<Interval>,
}

/// The jump of each type, of `cpu.atomic.add` on private elements with the most threads. Costs that are not resolved count by
/// their intervals. No entry for a type of which fewer than three strides have a cost, or of which neither a jump nor its
/// absence is certain.
pub(crate) fn findings(run: &Run, rows: &[Row]) -> Vec<Finding> {
    let most = run.machine.cpu.hardware_threads;
    let mut sweeps: BTreeMap<Case, Vec<Step>> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_subject(row, most)) {
        let (Some(Layout::Private { stride }), Some(ns)) = (row.case.layout, row.ns) else { continue };
        let sweep = Case { layout: None, ..row.case.clone() };
        sweeps.entry(sweep).or_default().push(Step { stride, ns: ns.value(), interval: row.ns_interval });
    }
    sweeps.retain(|_, steps| steps.len() >= 3);
    Dtype::ALL.iter().filter_map(|dtype| finding(*dtype, &sweeps)).collect()
}

fn is_subject(row: &Row, hardware_threads: u32) -> bool {
    let threads = row.case.threads.unwrap_or(1);
    row.case.primitive == PRIMITIVE
        && (row.verdict == Verdict::Resolved || (matches!(row.verdict, Verdict::Noisy(_)) && row.ns_interval.is_some()))
        && threads > 1
        && (hardware_threads == 0 || threads <= hardware_threads)
        && !matches!(row.case.placement, Some(Placement::List(_)))
}

/// Of one type, the sweep with the most threads; of these the first in the order of cases (`close` before `spread`).
fn finding(dtype: Dtype, sweeps: &BTreeMap<Case, Vec<Step>>) -> Option<Finding> {
    let own = sweeps.iter().filter(|(case, _)| case.dtype == Some(dtype));
    let (case, steps) = own.reduce(|best, other| if other.0.threads > best.0.threads { other } else { best })?;
    let mut steps = steps.clone();
    steps.sort_by_key(|step| step.stride);
    let jump = jump(&steps, dtype);
    let is_certain = jump.is_some() || is_even(&steps);
    is_certain.then_some(Finding { dtype, threads: case.threads?, placement: case.placement.clone(), jump })
}

/// Whether neighbouring elements certainly cost less than what would be a jump.
fn is_even(steps: &[Step]) -> bool {
    let least =
        steps.iter().map(|step| step.interval.map_or(step.ns, |interval| interval.low)).fold(f64::INFINITY, f64::min);
    steps.first().is_some_and(|first| first.interval.map_or(first.ns, |interval| interval.high) < JUMP * least)
}

/// The first stride of the flat end of a sweep in order, if what stands before it is certainly more expensive.
fn jump(steps: &[Step], dtype: Dtype) -> Option<Jump> {
    let least = |tail: &[Step]| tail.iter().map(|step| step.ns).fold(f64::INFINITY, f64::min);
    // What may belong to the plateau does.
    let low = |step: &Step| step.interval.map_or(step.ns, |interval| interval.low.min(step.ns));
    let most = |tail: &[Step]| tail.iter().map(low).fold(0.0, f64::max);
    let flat = |from: &usize| most(&steps[*from..]) <= PLATEAU * least(&steps[*from..]);
    let from = (1..steps.len()).find(flat)?;
    let (before, first, apart) = (steps[from - 1], steps[0], steps[from]);
    let certain = low(&before) > apart.interval.map_or(apart.ns, |interval| interval.high);
    let times = first.ns / apart.ns;
    (certain && before.ns >= PLATEAU * apart.ns && times >= JUMP).then(|| Jump {
        stride: apart.stride,
        bytes: u64::from(apart.stride) * dtype.size_bytes() as u64,
        times,
    })
}

impl Finding {
    /// `f64: from stride 8 (64 bytes) on, 5.2 times cheaper`.
    pub(crate) fn sentence(&self) -> String {
        match self.jump {
            Some(Jump { stride, bytes, times }) => {
                format!("{}: from stride {stride} ({bytes} bytes) on, {} times cheaper", self.dtype, factor(times))
            }
            None => format!("{}: no jump, neighbouring elements cost what distant ones cost", self.dtype),
        }
    }
}

fn factor(times: f64) -> String {
    if times < 99.5 { format!("{times:.1}") } else { format!("{times:.0}") }
}

/// All findings in one sentence, for a terminal; `None` where there is none.
pub(crate) fn summary(findings: &[Finding]) -> Option<String> {
    let first = findings.first()?;
    let mut text = format!("false sharing of neighbouring elements ({} threads", first.threads);
    // Writing to a String cannot fail.
    if let Some(placement) = &first.placement {
        let _ = write!(text, ", {placement}");
    }
    let sentences: Vec<String> = findings.iter().map(Finding::sentence).collect();
    let _ = write!(text, "): {}", sentences.join("; "));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Nanoseconds;

    fn steps(costs: &[(u32, f64)], half_width: f64) -> Vec<Step> {
        let interval = |ns: f64| Some(Interval { low: ns * (1.0 - half_width), high: ns * (1.0 + half_width) });
        costs.iter().map(|(stride, ns)| Step { stride: *stride, ns: *ns, interval: interval(*ns) }).collect()
    }

    fn row(dtype: Dtype, threads: u32, stride: u32, ns: f64) -> Row {
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
    fn the_stride_of_the_jump_is_named() {
        let found = jump(&steps(&[(1, 52.0), (2, 48.0), (4, 31.0), (8, 10.0), (16, 10.1)], 0.02), Dtype::F64);
        assert_eq!(found, Some(Jump { stride: 8, bytes: 64, times: 5.2 }));
        let found = jump(&steps(&[(1, 90.0), (4, 60.0), (8, 40.0), (16, 6.0)], 0.02), Dtype::I32);
        assert_eq!(found.map(|jump| (jump.stride, jump.bytes)), Some((16, 64)));
    }

    #[test]
    fn lines_of_128_bytes_are_seen() {
        // Half a line apart still shares it.
        let found = jump(&steps(&[(1, 80.0), (4, 60.0), (8, 30.0), (16, 8.0), (32, 8.1)], 0.02), Dtype::F64);
        assert_eq!(found.map(|jump| jump.bytes), Some(128));
    }

    #[test]
    fn a_flat_sweep_has_no_jump() {
        assert_eq!(jump(&steps(&[(1, 9.1), (2, 9.0), (4, 9.3), (8, 9.2)], 0.02), Dtype::F64), None);
        // A slope without an end is no plateau.
        assert_eq!(jump(&steps(&[(1, 80.0), (2, 40.0), (4, 20.0)], 0.6), Dtype::F64), None);
    }

    #[test]
    fn noise_is_no_jump() {
        // Wide intervals that overlap, and a bump in the middle.
        assert_eq!(jump(&steps(&[(1, 20.0), (2, 19.0), (4, 11.0), (8, 10.0)], 0.4), Dtype::F64), None);
        assert_eq!(jump(&steps(&[(1, 10.0), (2, 14.0), (4, 10.0), (8, 10.0)], 0.02), Dtype::F64), None);
    }

    #[test]
    fn the_most_threads_that_have_their_own_cpus_count() {
        let mut run = crate::testing::run();
        run.machine.cpu.hardware_threads = 16;
        let sweep = |threads, factor: f64| {
            [(1, 50.0), (4, 30.0), (8, 10.0), (16, 10.0)]
                .map(|(stride, ns)| row(Dtype::F64, threads, stride, if stride < 8 { ns * factor } else { ns }))
        };
        let rows: Vec<Row> = [sweep(2, 0.5), sweep(16, 1.0), sweep(20, 9.0)].concat();
        let found = findings(&run, &rows);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].threads, found[0].jump.map(|jump| jump.times)), (16, Some(5.0)));
        assert_eq!(found[0].sentence(), "f64: from stride 8 (64 bytes) on, 5.0 times cheaper");
        assert_eq!(
            summary(&found).as_deref(),
            Some(
                "false sharing of neighbouring elements (16 threads, close): f64: from stride 8 (64 bytes) on, \
                 5.0 times cheaper"
            )
        );
    }

    #[test]
    fn unresolved_strides_count_by_their_intervals() {
        let noisy = |row: Row, share: f64| {
            let ns = row.ns.unwrap().value();
            let ns_interval = Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
            Row { verdict: Verdict::Noisy("wide".into()), ns_interval, ..row }
        };
        let rows = [row(Dtype::I32, 4, 1, 50.0), row(Dtype::I32, 4, 8, 40.0), row(Dtype::I32, 4, 16, 5.0)];
        let found = |rows: &[Row]| findings(&crate::testing::run(), rows);
        assert_eq!(found(&rows)[0].jump.map(|jump| jump.stride), Some(16));
        let wide = rows.clone().map(|row| noisy(row, 0.3));
        assert_eq!(found(&wide)[0].jump.map(|jump| jump.stride), Some(16), "from 28 to 6.5 ns is a jump all the same");
        let wider = rows.clone().map(|row| noisy(row, 0.9));
        assert_eq!(found(&wider), [], "from 4 to 9.5 ns is none, and evenness is not certain");
        assert_eq!(found(&[vec![row(Dtype::I32, 4, 4, 5.0)], rows[2..].to_vec()].concat()), [], "too few");
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn that_there_is_no_jump_is_said_where_neighbours_were_measured_well() {
        let even = [row(Dtype::F64, 4, 1, 9.1), row(Dtype::F64, 4, 4, 9.0), row(Dtype::F64, 4, 8, 9.2)];
        let said = findings(&crate::testing::run(), &even).iter().map(Finding::sentence).collect::<Vec<_>>();
        assert_eq!(said, ["f64: no jump, neighbouring elements cost what distant ones cost"]);
        // The first stride is much dearer, and how much is not known.
        let first = Row {
            verdict: Verdict::Noisy("wide".into()),
            ns_interval: Some(Interval { low: 8.0, high: 70.0 }),
            ..row(Dtype::F64, 4, 1, 40.0)
        };
        assert_eq!(findings(&crate::testing::run(), &[&[first], &even[1..]].concat()), []);
    }
}

//! How do atomics scale? The total rate of all threads on both sides of the machine, and what another type or order costs.

pub(super) mod orders;
pub(super) mod shared;

use std::collections::BTreeMap;
use std::fmt;

use syncscope_core::{Form, Scope, Space};

use super::prelude::*;
use super::rows::both_sides;
use crate::figure::grouped;

pub(super) const SENTENCES: Sentences = &[
    sentence(float_against_int, &[On::Thread]),
    sentence(sequential_store, &[On::Placement]),
    sentence(lost_updates, &[]),
];

/// Says that simultaneous additions by CPU and GPU are not atomic, as the driver reports for the link. The run skips these
/// cases, in which updates would be lost.
fn lost_updates(data: &RunData) -> Option<Outcome> {
    data.run.machine.gpus.iter().find(|gpu| gpu.host_native_atomics == Some(false))?;
    let is_of_both = |row: &Row| row.case.primitive == "hybrid.atomic.add" && row.case.in_group("both");
    let rows: Vec<usize> = data.rows_where(is_of_both).collect();
    let text = "On this machine, CPU and GPU lose updates when both add at once, because the link between them carries \
                no native atomics.";
    (!rows.is_empty()).then(|| Outcome::holds(text.to_owned(), rows))
}

/// The total rate of all threads, from a row whose cost has a figure.
pub(super) struct Total<'a> {
    pub(super) known: Known<'a>,
    rate: f64,
}

impl<'a> Total<'a> {
    pub(super) fn of(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        let known = Known::of(data, index, basis).filter(Known::has_figure)?;
        Some(Self { known, rate: known.row.ops_per_s_total? })
    }

    /// Reads a row whose cost may also be written as an interval.
    pub(super) fn written(data: &'a RunData, index: usize) -> Option<Self> {
        let known = Known::written(data, index, Basis::Machine)?;
        let shown = known.row.shown_interval().filter(|_| !known.has_figure());
        Some(Self {
            known: Known { bounds: shown.unwrap_or(known.bounds), ..known },
            rate: total_rate(data, known.row)?,
        })
    }

    /// The rates at the ends of the interval, if the cost is written as one.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        let Interval { low, high } = self.known.bounds;
        (!self.known.has_figure() && low > 0.0).then(|| [high, low].map(|end| self.rate * self.known.ns / end))
    }

    /// Whether the rate is written with two digits and a sign.
    pub(super) const fn is_rough(&self) -> bool {
        !self.known.row.verdict.has_cost()
    }

    /// Whether this rate is certainly the higher one.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        let [own, other] = [self, other].map(|total| total.known.with_cost(1.0 / total.rate));
        own.is_below(&other)
    }

    /// This total rate over the other, as uncertain as the costs of their operations.
    pub(super) fn over(&self, other: &Self) -> Ratio {
        let [own, other] = [self, other].map(|total| total.known.with_cost(1.0 / total.rate));
        other.over(&own)
    }
}

impl fmt::Display for Total<'_> {
    /// `43.8 million`, `~44 million` where the row is noisy.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some([low, high]) = self.range() {
            return write!(out, "{} to {}", count_with(low, 2), count_with(high, 2));
        }
        if self.is_rough() {
            return write!(out, "{}{}", figure::ROUGHLY, count_with(self.rate, 2));
        }
        write!(out, "{}", count(self.rate))
    }
}

/// The total rate per second, also for a cost without a number.
pub(super) fn total_rate(data: &RunData, row: &Row) -> Option<f64> {
    let from_cost = || {
        let at_once = data.catalogue.facts(&row.case.primitive)?.operations_at_once(&row.case);
        Some(at_once as f64 * 1e9 / row.rate_ns?.value())
    };
    row.ops_per_s_total.or_else(from_cost)
}

/// The row of the same case in the form that keeps the compiler from adding up a warp's operands before one atomic
/// operation, if it has a rate.
fn row_not_aggregated(data: &RunData, case: &Case) -> Option<usize> {
    let form = Case { form: Some(Form::NotAggregated), ..case.clone() };
    let has_rate = |row: &Row| row.ops_per_s_total.is_some();
    data.rows.iter().position(|row| row.case == form && has_rate(row))
}

/// A large number in words: `43.8 million`, `1.37 billion`.
pub(super) fn count(number: f64) -> String {
    count_with(number, 3)
}

/// [`count`] with this many significant digits.
fn count_with(number: f64, significant: i32) -> String {
    let (divisor, word) = match number {
        ..1e6 => (1e3, "thousand"),
        ..1e9 => (1e6, "million"),
        _ => (1e9, "billion"),
    };
    format!("{} {word}", figure::digits(number / divisor, significant))
}

const CPU: &str = "cpu.atomic.add";
const GPU: &str = "gpu.atomic.add";

/// Variables this far apart share no cache line of any known CPU.
const SEPARATE_BYTES: usize = 64;

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let cpu = one_line_each(data, &cpu_rows(data), label, |case| case.threads = None);
    // A single thread has nothing to scale to.
    let cpu = if cpu.iter().any(|index| data.case(*index).threads > Some(1)) { cpu } else { Vec::new() };
    let gpu = on_one_path(data, one_line_each(data, &gpu_rows(data), label, sizes));
    let lines = |rows: &[usize], x: fn(&Case) -> u64| plain(series(data, rows, label, x, Point::total_rate));
    let charts = both_sides(
        data,
        &Axis::log("additions per second, all threads", Unit::Rate),
        ("threads", lines(&cpu, team)),
        ("threads on the device", lines(&gpu, Case::actors)),
    );
    let all: Vec<usize> = cpu.iter().chain(&gpu).copied().collect();
    let sentences = [
        Some(
            "All additions are relaxed and go to one variable shared by all threads or to one variable per \
              thread."
                .to_owned(),
        ),
        (!gpu.is_empty()).then(|| {
            "In rows marked “not aggregated”, the compiler cannot sum each warp's values \
                                   first."
                .to_owned()
        }),
        unreliable(data, &all),
    ];
    let otherwise = "The run does not show how additions scale, because too few rows have a reliable rate.";
    let said = [cpu_sentence(data, &cpu), gpu_sentence(data, &gpu).map(|text| Outcome::holds(text, []))];
    Some(Picture::of(charts, otherwise, sentences)?.finding(said))
}

/// Additions on the CPU in teams of the shown placement: to one variable, and to variables on separate lines.
fn cpu_rows(data: &RunData) -> Vec<usize> {
    let shown = placements::shown(data);
    rows_of(data, CPU, |case| {
        case.placement.as_ref().is_none_or(|placement| *placement == shown) && case.group.is_none() && is_apart(case)
    })
}

/// Independent additions on the device in global memory: to one variable, and each thread to its own.
fn gpu_rows(data: &RunData) -> Vec<usize> {
    rows_of(data, GPU, |case| matches!(case.space, None | Some(Space::Global)) && case.group.is_none())
}

/// From this many numbers of blocks, a line over threads would jump between blocks of several sizes.
const MANY_GRIDS: usize = 3;

/// Rows of one block and of full blocks, if a run has many grids, so that each number of threads comes once.
fn on_one_path(data: &RunData, rows: Vec<usize>) -> Vec<usize> {
    let case = |index: &usize| data.case(*index);
    let blocks: BTreeSet<u32> = rows.iter().filter_map(|index| case(index).blocks).collect();
    let most = rows.iter().filter_map(|index| case(index).threads).max();
    let is_on_path = |index: &usize| case(index).blocks == Some(1) || case(index).threads == most;
    rows.into_iter().filter(|index| blocks.len() < MANY_GRIDS || is_on_path(index)).collect()
}

/// The rows of independent operations that fit. Of private variables, only the nearest are shown, as in advice; other
/// strides are a separate question.
fn rows_of(data: &RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<usize> {
    let is_shown = |row: &Row| {
        row.case.primitive == primitive && !is_absent(row) && row.case.mode != Some(Mode::Latency) && fits(&row.case)
    };
    let rows: Vec<usize> = data.rows_where(is_shown).collect();
    let stride = |index: &usize| data.case(*index).layout.and_then(Layout::stride);
    let mut nearest = BTreeMap::new();
    for index in &rows {
        let of_type = nearest.entry(data.case(*index).dtype).or_insert(u32::MAX);
        *of_type = stride(index).map_or(*of_type, |stride| stride.min(*of_type));
    }
    let is_nearest = |index: &usize| stride(index).is_none_or(|stride| stride == nearest[&data.case(*index).dtype]);
    rows.iter().copied().filter(is_nearest).collect()
}

/// One variable, or variables that share no line.
pub(super) fn is_apart(case: &Case) -> bool {
    case.bytes_apart().is_none_or(|bytes| bytes >= SEPARATE_BYTES)
}

/// `i32, shared`, `f64, 64 B apart`, `i32, shared, values vary`.
fn label(case: &Case) -> String {
    let place = case.bytes_apart().map_or_else(|| "shared".to_owned(), |bytes| format!("{bytes} B apart"));
    let form = case.form.map(|form| match form {
        Form::Varying => "values vary".to_owned(),
        Form::NotAggregated => "not aggregated".to_owned(),
        other => naming::form(other).to_owned(),
    });
    let dtype = case.dtype.map(|dtype| dtype.to_string());
    let scope = case.scope.filter(|scope| *scope != Scope::Device).map(|scope| format!("{scope} scope"));
    let order = case.order.filter(|order| *order != MemoryOrder::Relaxed).map(|order| order.to_string());
    [dtype, Some(place), form, scope, order].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The ratio of one rate to another, if it is certainly higher.
fn beyond(one: &Total<'_>, other: &Total<'_>) -> Option<Ratio> {
    one.is_above(other).then(|| one.over(other))
}

/// The usual type: the first one with a row for one variable.
fn usual<'a>(data: &'a RunData, rows: &[usize]) -> Option<&'a Case> {
    let shared = rows.iter().map(|index| data.case(*index)).filter(|case| case.layout == Some(Layout::Shared));
    shared.filter(|case| case.form.is_none()).min_by_key(|case| unusualness(case))
}

/// The rate of the row with this many threads, for one variable or for separate ones.
fn total<'a>(data: &'a RunData, rows: &[usize], like: &Case, threads: u32, is_shared: bool) -> Option<Total<'a>> {
    let fits = |case: &Case| {
        let same = Case { layout: like.layout, threads: like.threads, ..case.clone() } == *like;
        same && case.threads == Some(threads) && (case.layout == Some(Layout::Shared)) == is_shared
    };
    let index = rows.iter().copied().find(|index| fits(data.case(*index)))?;
    Total::of(data, index, Basis::Run)
}

/// Says how the rate changes with more CPU threads. The rows are measured in the same way, so intervals within the run
/// decide. The smallest and the largest team with a rate are compared, among teams that fit the CPUs.
fn cpu_sentence(data: &RunData, rows: &[usize]) -> Option<Outcome> {
    let like = usual(data, rows)?;
    let of = |threads, is_shared| total(data, rows, like, threads, is_shared);
    let fits = largest_team(data, rows)?;
    let teams = rows.iter().filter_map(|index| data.case(*index).threads).filter(|team| *team <= fits);
    let teams: BTreeSet<u32> = teams.collect();
    let with_rate = |team: u32| Some((team, of(team, true)?));
    let (fewest, few) = teams.iter().copied().find_map(with_rate)?;
    let (most, all) = teams.iter().rev().copied().find_map(with_rate).filter(|(most, _)| *most > fewest)?;
    let team = if fewest == 1 {
        "one CPU thread performs".to_owned()
    } else {
        format!("{fewest} CPU threads combined perform")
    };
    let contended = if let Some(times) = beyond(&few, &all) {
        format!(
            "On one variable, {team} {times} as many additions per second as {most} threads combined ({few} against {all})"
        )
    } else if let Some(times) = beyond(&all, &few) {
        format!("On one variable, {most} CPU threads combined perform {times} as many additions per second as {fewest}")
    } else {
        format!(
            "The run does not show whether {fewest} or {most} CPU threads together perform more additions per second on one \
             variable"
        )
    };
    let apart = of(most, false).and_then(|apart| beyond(&apart, &all));
    let apart = apart.map(|times| {
        format!(
            "On separate cache lines, the same {most} threads perform {times} as many \
                                   additions per second."
        )
    });
    Some(Outcome::holds(format!("{contended}."), []).followed_by(apart))
}

/// Says the rate of all threads of the device, without a comparison.
fn gpu_sentence(data: &RunData, rows: &[usize]) -> Option<String> {
    let like = usual(data, rows)?;
    let same = |index: &&usize| {
        let case = data.case(**index);
        Case { blocks: like.blocks, threads: like.threads, ..case.clone() } == *like
    };
    let totals = rows.iter().filter(same).filter_map(|index| Total::of(data, *index, Basis::Machine));
    let most = totals.max_by_key(|total| total.known.row.case.actors())?;
    let separate = row_not_aggregated(data, &most.known.row.case).and_then(|index| data.rows[index].ops_per_s_total);
    let separate =
        separate.map(|rate| format!(" ({} where the compiler does not sum each warp's values first)", count(rate)));
    let separate = separate.unwrap_or_default();
    let threads = grouped(most.known.row.case.actors());
    Some(format!("{threads} GPU threads perform {most} additions per second on one variable{separate}."))
}

const CPU_STORE: &str = "cpu.atomic.write";

/// Compares the row at `index` with the row of `changed`; both need figures.
fn pair<'a>(data: &'a RunData, index: usize, changed: &Case) -> Option<Comparison<'a>> {
    let other = data.rows.iter().position(|row| row.case == *changed)?;
    let of = |index| Known::written(data, index, Basis::Run);
    of(index)?.against(of(other)?)
}

/// Independent operations of a primitive on one variable, in their default form.
fn on_one_variable<'a>(data: &'a RunData, id: &'static str) -> impl Iterator<Item = (usize, &'a Row)> {
    data.rows.iter().enumerate().filter(move |(_, row)| {
        let case = &row.case;
        let is_usual = case.form.is_none() && case.group.is_none() && case.mode != Some(Mode::Latency);
        case.primitive == id && is_usual && case.layout == Some(Layout::Shared)
    })
}

/// Compares `atomicAdd` of float and int on one variable for all threads of the device: where the compiler sums neither, and
/// where it first sums the ints of each warp.
fn float_against_int(data: &RunData) -> Option<Outcome> {
    let ints = on_one_variable(data, GPU).filter(|(_, row)| row.case.dtype == Some(Dtype::I32));
    let of = |(summed, row): (usize, &Row)| {
        let float = Case { dtype: Some(Dtype::F32), ..row.case.clone() };
        Some((pair(data, row_not_aggregated(data, &row.case)?, &float)?, pair(data, summed, &float)?))
    };
    let certain = ints.filter_map(of).filter(|(lanes, _)| lanes.is_certain());
    let (lanes, summed) = certain.max_by_key(|(lanes, _)| lanes.less.row.case.actors())?;
    let (Comparison { less, more, ratio }, threads) = (lanes, grouped(lanes.less.row.case.actors()));
    let text = format!(
        "On one variable, a float atomicAdd takes {ratio} as long as an int one: {more} against {less} with {threads} \
         GPU threads. Where the compiler sums each warp's ints first, the float version takes {} as \
         long as the int version ({more} against {}).",
        summed.ratio, summed.less
    );
    Some(Outcome::holds(text, lanes.rows()).headed(ratio))
}

/// Compares `store(SeqCst)` with `store(Relaxed)`, by one thread and by as many as fit the CPUs.
fn sequential_store(data: &RunData) -> Option<Outcome> {
    let machine = MachineSize::of(&data.run.machine);
    let relaxed = on_one_variable(data, CPU_STORE)
        .filter(|(_, row)| row.case.order == Some(MemoryOrder::Relaxed) && !machine.is_oversubscribed_by(&row.case));
    let of =
        |(index, row): (usize, &Row)| pair(data, index, &Case { order: Some(MemoryOrder::SeqCst), ..row.case.clone() });
    let mut pairs: Vec<Comparison<'_>> = relaxed.filter_map(of).collect();
    pairs.sort_by_key(|both| both.less.row.case.actors());
    let alone = pairs.first().filter(|both| both.less.row.case.has_one_thread() && both.is_certain())?;
    let together = pairs.last().filter(|both| !both.less.row.case.has_one_thread()).map(|both| {
        let Comparison { less, more, ratio } = both;
        let threads = naming::size(&less.row.case);
        let times = if both.is_certain() { ratio.to_string() } else { "the two cannot be told apart".to_owned() };
        format!("; with {threads} on one variable, {times} ({more} against {less})")
    });
    let (Comparison { less, more, ratio }, together) = (alone, together.unwrap_or_default());
    let text = format!(
        "On one thread, store(SeqCst) takes {ratio} as long as store(Relaxed): {more} against {less}{together}."
    );
    let mut rows: Vec<usize> = [Some(alone), pairs.last()].into_iter().flatten().flat_map(Comparison::rows).collect();
    rows.dedup();
    Some(Outcome::holds(text, rows).headed(ratio))
}

#[cfg(test)]
mod tests {
    use syncscope_core::Group;

    use super::super::testing::{add, decision, labels, sentence, series, text};
    use super::super::testing::{case, data, on_blocks, row, said, within};
    use super::*;

    #[test]
    fn rates_that_overlap_are_not_ranked() {
        let rows = |all: f64| {
            let apart = Layout::Private { stride: 16 };
            vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 16, 366.0, all), add(apart, 16, 6.2, 2.5e9)]
        };
        assert_eq!(
            sentence("decide-atomics", rows(44e6)),
            "On one variable, one CPU thread performs 3.6 times as many additions per second as 16 threads combined (160 \
             million against 44.0 million). On separate cache lines, the same 16 threads perform 57 times as many \
             additions per second."
        );
        let text = sentence("decide-atomics", rows(161e6));
        assert!(
            text.starts_with(
                "The run does not show whether 1 or 16 CPU threads together perform more additions per second on one variable."
            ),
            "{text}"
        );
    }

    #[test]
    fn one_thread_scales_to_nothing() {
        let alone = vec![add(Layout::Shared, 1, 5.0, 2e8), add(Layout::Private { stride: 16 }, 1, 5.0, 2e8)];
        assert!(decision("decide-atomics", &data(alone.clone())).is_none());
        let both = [alone, vec![add(Layout::Shared, 2, 20.0, 1e8)]].concat();
        assert!(decision("decide-atomics", &data(both)).is_some());
    }

    #[test]
    fn variables_on_one_line_are_not_called_apart() {
        let near = Layout::Private { stride: 1 };
        let rows =
            vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 2, 40.0, 50e6), add(near, 2, 20.0, 100e6)];
        let found = decision("decide-atomics", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["i32, shared"]);
        assert!(!text(&found).contains("separate cache lines"), "{:?}", found.claim);
    }

    #[test]
    fn rows_of_another_order_are_no_points_of_a_line() {
        let add = |threads, order, rate| {
            let of = add(Layout::Shared, threads, 10.0, rate);
            Row { case: Case { order: Some(order), ..of.case.clone() }, ..of }
        };
        let relaxed =
            [(1, 160e6), (2, 90e6), (4, 80e6)].map(|(threads, rate)| add(threads, MemoryOrder::Relaxed, rate));
        let group =
            |row: Row| Row { case: Case { group: Some(Group::named("sibling_busy")), ..row.case.clone() }, ..row };
        let other = group(add(2, MemoryOrder::Relaxed, 5e6));
        let rows = [&relaxed[..], &[add(2, MemoryOrder::SeqCst, 70e6), other]].concat();
        let found = decision("decide-atomics", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["i32, shared", "i32, shared, seq_cst"]);
        let rates: Vec<f64> = series(&found.charts[0])[0].points.iter().filter_map(|point| point.y).collect();
        assert_eq!(rates, [160e6, 90e6, 80e6]);
    }

    #[test]
    fn a_gpu_rate_says_what_the_compiler_did() {
        let case =
            Case { layout: Some(Layout::Shared), dtype: Some(Dtype::I32), ..on_blocks("gpu.atomic.add", 132, 1024) };
        let written = Row { ops_per_s_total: Some(47.4e9), ..row(case.clone(), 3000.0, 0.02) };
        let form = Case { form: Some(Form::NotAggregated), ..case };
        let bare = Row { ops_per_s_total: Some(1.47e9), ..row(form, 90_000.0, 0.02) };
        let found = decision("decide-atomics", &data(vec![written, bare])).unwrap();
        assert_eq!(labels(&found.charts[0]), ["i32, shared", "i32, shared, not aggregated"]);
        assert_eq!(
            text(&found),
            "135,168 GPU threads perform 47.4 billion additions per second on one variable (1.47 billion where the \
             compiler does not sum each warp's values first)."
        );
    }

    #[test]
    fn many_grids_are_one_line_without_zigzag() {
        let add = |(blocks, threads)| Row {
            ops_per_s_total: Some(1e9),
            ..row(on_blocks("gpu.atomic.add", blocks, threads), 10.0, 0.02)
        };
        let grids = [(1, 32), (1, 1024), (2, 32), (2, 1024), (66, 32), (66, 1024)];
        let points = |count: usize| {
            let found = decision("decide-atomics", &data(grids[..count].iter().copied().map(add).collect())).unwrap();
            series(&found.charts[0])[0].points.iter().filter_map(|point| point.x).collect::<Vec<_>>()
        };
        assert_eq!(points(4), [32.0, 64.0, 1024.0, 2048.0]);
        assert_eq!(points(6), [32.0, 1024.0, 2048.0, 67_584.0]);
    }

    #[test]
    fn a_link_without_atomic_operations_is_a_finding_about_the_machine() {
        let skipped = |group| {
            let case = Case { group: Some(group), ..case("hybrid.atomic.add", 32) };
            Row::unmeasured(case, Verdict::Skipped("lost".into()))
        };
        let mut data =
            super::super::testing::data(vec![skipped(Group::named("gpu_alone")), skipped(Group::named("both"))]);
        assert_eq!(lost_updates(&data), None, "a run of an older version does not know");
        data.run.machine.gpus[0].host_native_atomics = Some(true);
        assert_eq!(lost_updates(&data), None);
        data.run.machine.gpus[0].host_native_atomics = Some(false);
        let Some(Outcome { sentence: text, rows, .. }) = lost_updates(&data) else { panic!("no answer") };
        assert!(text.contains("CPU and GPU lose updates"), "{text}");
        assert_eq!(rows, [1]);
    }

    #[test]
    fn large_numbers_are_words() {
        let texts = [999.4e3, 43.76e6, 1.365e9, 47.4e9, 128.4e6].map(count);
        assert_eq!(texts, ["999 thousand", "43.8 million", "1.36 billion", "47.4 billion", "128 million"]);
    }

    #[test]
    fn float_is_compared_with_int_where_most_threads_add() {
        let add = |threads, dtype, ns| {
            let case = on_blocks(GPU, 1, threads);
            row(Case { dtype: Some(dtype), layout: Some(Layout::Shared), ..case }, ns, 0.1)
        };
        let (int, float) = (Dtype::I32, Dtype::F32);
        let rows = vec![add(32, int, 3.0), add(32, float, 56.0), add(1024, int, 32.0), add(1024, float, 1792.0)];
        assert_eq!(said(float_against_int, rows.clone()), None, "sums of warps are not what a lane costs");
        let lanes = |threads, ns| {
            let of = add(threads, int, ns);
            let case = Case { form: Some(Form::NotAggregated), ..of.case.clone() };
            Row { case, ops_per_s_total: Some(1e9), ..of }
        };
        let all = [rows, vec![lanes(32, 28.0), lanes(1024, 896.0)]].concat();
        let sentence = "On one variable, a float atomicAdd takes 2.0 times as long as an int one: 1.79 µs against 896 ns \
                        with 1,024 GPU threads. Where the compiler sums each warp's ints first, the float version \
                        takes 56 times as long as the int version (1.79 µs against 32.0 ns).";
        assert_eq!(said(float_against_int, all.clone()), Some(Ok(sentence.into())));
        let wide = |row: &Row| within(row.clone(), 20.0, 2000.0);
        assert_eq!(said(float_against_int, vec![all[2].clone(), wide(&all[3]), all[5].clone()]), None);
    }

    #[test]
    fn an_ordered_store_is_expensive_alone_and_not_in_contention() {
        let store = |threads, order, ns| {
            let case = case(CPU_STORE, threads);
            row(Case { order: Some(order), layout: Some(Layout::Shared), ..case }, ns, 0.1)
        };
        let (relaxed, ordered) = (MemoryOrder::Relaxed, MemoryOrder::SeqCst);
        let alone = vec![store(1, relaxed, 0.33), store(1, ordered, 5.61)];
        let one = "On one thread, store(SeqCst) takes 17 times as long as store(Relaxed): 5.61 ns against 0.330 ns";
        assert_eq!(said(sequential_store, alone.clone()), Some(Ok(format!("{one}."))));
        let both = [alone, vec![store(16, relaxed, 424.0), within(store(16, ordered, 430.0), 400.0, 450.0)]].concat();
        let end = "; with 16 threads on one variable, the two cannot be told apart (430 ns against 424 ns).";
        assert_eq!(said(sequential_store, both.clone()), Some(Ok(format!("{one}{end}"))));
        assert_eq!(said(sequential_store, both[2..].to_vec()), None);
    }
}

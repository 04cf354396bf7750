//! How atomic additions scale: the rate of all threads together, on both sides of the machine.

use syncscope_core::{Case, Form, Layout, MemoryOrder, Mode, Placement, Row, Scope, Space};

use super::Decision;
use super::spec::{Axis, Point, Spec, Unit, share_vertical_axis};
use super::sweep::{
    cpu_rules, exists, largest_team, note, one_line_each, plain_series, sizes, team, threads, unreliable,
};
use crate::analysis::answers::atomics::{Total, count, not_aggregated};
use crate::analysis::answers::field::{Basis, Ratio};
use crate::figure::grouped;
use crate::{RunData, naming};

const CPU: &str = "cpu.atomic.add";
const GPU: &str = "gpu.atomic.add";
pub(super) const PRIMITIVES: [&str; 2] = [CPU, GPU];

/// Variables this far apart share no cache line of any known CPU.
const SEPARATE_BYTES: u64 = 64;

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let cpu = one_line_each(data, &cpu_rows(data), label, threads);
    let gpu = one_line_each(data, &gpu_rows(data), label, sizes);
    let axes = |x| (Axis::log(x, Unit::Count), Axis::log("additions per second, all threads", Unit::Rate));
    let chart = |rows: &[usize], x, total: fn(&Case) -> u64, title: &str| {
        let (x, y) = axes(x);
        Some(Spec::lines(x, y, plain_series(data, rows, label, total, Point::total_rate))?.titled(title))
    };
    let cpu_chart = chart(&cpu, "threads", team, "CPU").map(|chart| chart.ruled(cpu_rules(data)));
    let device_chart = chart(&gpu, "threads on the device", Case::actors, "GPU");
    let mut charts: Vec<Spec> = [cpu_chart, device_chart].into_iter().flatten().collect();
    share_vertical_axis(&mut charts);
    if charts.is_empty() {
        return None;
    }
    let sentences: Vec<String> = [cpu_sentence(data, &cpu), gpu_sentence(data, &gpu)].into_iter().flatten().collect();
    let sentence = if sentences.is_empty() {
        "How additions scale is not certain in this run: too few rows have a reliable rate.".to_owned()
    } else {
        sentences.join(" ")
    };
    let all: Vec<usize> = cpu.iter().chain(&gpu).copied().collect();
    Some(Decision {
        id: "decide-atomics",
        question: "How do atomics scale?",
        sentence,
        charts,
        note: note([
            Some("Relaxed additions to one variable for all threads (shared), or to one for each.".to_owned()),
            (!gpu.is_empty()).then(|| "Not aggregated: the compiler cannot add up each warp first.".to_owned()),
            unreliable(data, &all),
        ]),
    })
}

/// Additions on the CPU in close teams: to one variable, and to variables on lines of their own.
fn cpu_rows(data: &RunData) -> Vec<usize> {
    rows_of(data, CPU, |case| {
        matches!(case.placement, None | Some(Placement::Close)) && case.group.is_none() && is_apart(case)
    })
}

/// Independent additions on the device in global memory: to one variable, and each thread to its own.
fn gpu_rows(data: &RunData) -> Vec<usize> {
    rows_of(data, GPU, |case| matches!(case.space, None | Some(Space::Global)) && case.group.is_none())
}

/// The rows of independent operations that fit. Of private variables, only those the farthest apart are shown: what
/// strides between do is a question of its own.
fn rows_of(data: &RunData, primitive: &str, fits: fn(&Case) -> bool) -> Vec<usize> {
    let is_shown = |row: &Row| {
        row.case.primitive == primitive && exists(row) && row.case.mode != Some(Mode::Latency) && fits(&row.case)
    };
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| is_shown(&data.rows[*index])).collect();
    let stride = |index: &usize| data.rows[*index].case.layout.and_then(Layout::stride);
    let farthest = |index: &usize| {
        let dtype = data.rows[*index].case.dtype;
        rows.iter().filter(|other| data.rows[**other].case.dtype == dtype).filter_map(stride).max()
    };
    rows.iter().copied().filter(|index| stride(index).is_none() || stride(index) == farthest(index)).collect()
}

/// One variable, or variables that share no line.
fn is_apart(case: &Case) -> bool {
    match case.layout {
        Some(Layout::Private { stride }) => bytes(case, stride) >= SEPARATE_BYTES,
        _ => true,
    }
}

fn bytes(case: &Case, stride: u32) -> u64 {
    u64::from(stride) * case.dtype.map_or(4, |dtype| dtype.size_bytes() as u64)
}

/// `i32, shared`, `f64, 64 B apart`, `i32, shared, values vary`.
fn label(case: &Case) -> String {
    let place = match case.layout {
        Some(Layout::Private { stride }) => format!("{} B apart", bytes(case, stride)),
        _ => "shared".to_owned(),
    };
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

/// How many times one rate is another one, if it is certainly more.
fn beyond(one: &Total<'_>, other: &Total<'_>) -> Option<String> {
    Some(one.over(other)).filter(|ratio| ratio.is_above_one()).map(Ratio::times)
}

/// The usual type: the first one with a row for one variable.
fn usual<'a>(data: &'a RunData, rows: &[usize]) -> Option<&'a Case> {
    let shared = rows.iter().map(|index| &data.rows[*index].case).filter(|case| case.layout == Some(Layout::Shared));
    shared.filter(|case| case.form.is_none()).min_by_key(|case| crate::analysis::row_query::unusualness(case))
}

/// The rate of the row with so many threads, of one variable or of variables apart.
fn total<'a>(data: &'a RunData, rows: &[usize], like: &Case, threads: u32, is_shared: bool) -> Option<Total<'a>> {
    let fits = |case: &Case| {
        let same = Case { layout: like.layout, threads: like.threads, ..case.clone() } == *like;
        same && case.threads == Some(threads) && (case.layout == Some(Layout::Shared)) == is_shared
    };
    let index = rows.iter().copied().find(|index| fits(&data.rows[*index].case))?;
    Total::of(data, index, Basis::Run)
}

/// What more threads of the CPU do to the rate. The rows are measured in the same way: intervals within the run decide. Of
/// the teams that fit the CPUs, the smallest and the largest one with a rate are compared.
fn cpu_sentence(data: &RunData, rows: &[usize]) -> Option<String> {
    let like = usual(data, rows)?;
    let of = |threads, is_shared| total(data, rows, like, threads, is_shared);
    let fits = largest_team(data, rows)?;
    let mut teams: Vec<u32> = rows.iter().filter_map(|index| data.rows[*index].case.threads).collect();
    teams.retain(|team| *team <= fits);
    teams.sort_unstable();
    let with_rate = |team: u32| Some((team, of(team, true)?));
    let (fewest, few) = teams.iter().copied().find_map(with_rate)?;
    let (most, all) = teams.iter().rev().copied().find_map(with_rate).filter(|(most, _)| *most > fewest)?;
    let team = if fewest == 1 { "One CPU thread adds".to_owned() } else { format!("{fewest} CPU threads add") };
    let contended = if let Some(times) = beyond(&few, &all) {
        let rates = format!("{} against {} a second", few.rate(), all.rate());
        format!("{team} {times} as often to one variable as {most} together ({rates})")
    } else if let Some(times) = beyond(&all, &few) {
        format!("{most} CPU threads together add {times} as often to one variable as {fewest}")
    } else {
        format!("Whether {most} CPU threads add more often to one variable than {fewest} cannot be decided")
    };
    let apart = of(most, false).and_then(|apart| beyond(&apart, &all));
    let apart =
        apart.map(|times| format!(". To variables on separate cache lines, the {most} add {times} as often as to one"));
    Some(format!("{contended}{}.", apart.unwrap_or_default()))
}

/// The rate of all threads of the device, which is no comparison.
fn gpu_sentence(data: &RunData, rows: &[usize]) -> Option<String> {
    let like = usual(data, rows)?;
    let same = |index: &&usize| {
        let case = &data.rows[**index].case;
        Case { blocks: like.blocks, threads: like.threads, ..case.clone() } == *like
    };
    let totals = rows.iter().filter(same).filter_map(|index| Total::of(data, *index, Basis::Machine));
    let most = totals.max_by_key(|total| total.known.row.case.actors())?;
    let separate = not_aggregated(data, &most.known.row.case)
        .map(|rate| format!(" ({} where the compiler does not add up each warp first)", count(rate)))
        .unwrap_or_default();
    let (threads, rate) = (grouped(most.known.row.case.actors()), most.rate());
    Some(format!("{threads} GPU threads add {rate} times a second to one variable{separate}."))
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Dtype, Group};

    use super::super::testing::{add, decision, labels, sentence, series};
    use super::*;
    use crate::analysis::answers::testing::{data, on_blocks, row};

    #[test]
    fn rates_that_overlap_are_not_ranked() {
        let rows = |all: f64| {
            let apart = Layout::Private { stride: 16 };
            vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 16, 366.0, all), add(apart, 16, 6.2, 2.5e9)]
        };
        assert_eq!(
            sentence("decide-atomics", rows(44e6)),
            "One CPU thread adds 3.6 times as often to one variable as 16 together (160 million against 44.0 million a second). To \
             variables on separate cache lines, the 16 add 57 times as often as to one."
        );
        let text = sentence("decide-atomics", rows(161e6));
        assert!(
            text.starts_with("Whether 16 CPU threads add more often to one variable than 1 cannot be decided"),
            "{text}"
        );
    }

    #[test]
    fn variables_on_one_line_are_not_called_apart() {
        let near = Layout::Private { stride: 1 };
        let rows =
            vec![add(Layout::Shared, 1, 6.0, 160e6), add(Layout::Shared, 2, 40.0, 50e6), add(near, 2, 20.0, 100e6)];
        let found = decision("decide-atomics", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["i32, shared"]);
        assert!(!found.sentence.contains("separate cache lines"), "{}", found.sentence);
    }

    #[test]
    fn rows_of_another_order_are_no_points_of_a_line() {
        let add = |threads, order, rate| {
            let of = add(Layout::Shared, threads, 10.0, rate);
            Row { case: Case { order: Some(order), ..of.case.clone() }, ..of }
        };
        let relaxed =
            [(1, 160e6), (2, 90e6), (4, 80e6)].map(|(threads, rate)| add(threads, MemoryOrder::Relaxed, rate));
        let group = |row: Row| Row { case: Case { group: Some(Group::SiblingBusy), ..row.case.clone() }, ..row };
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
            found.sentence,
            "135,168 GPU threads add 47.4 billion times a second to one variable (1.47 billion where the compiler does not add up \
             each warp first)."
        );
    }
}

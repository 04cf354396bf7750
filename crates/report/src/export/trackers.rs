//! Writes the rows whose cost is a number in the formats of tools that follow figures over time.
//!
//! - Bencher Metric Format: <https://bencher.dev/docs/reference/bencher-metric-format>
//! - github-action-benchmark, tool `customSmallerIsBetter`: <https://github.com/benchmark-action/github-action-benchmark>
//! - Google Benchmark's JSON, for what reads its output (compare.py, CodSpeed, Bencher's `cpp_google`, github-action-benchmark's
//!   `googlecpp`): <https://github.com/google/benchmark/blob/main/docs/user_guide.md#output-formats>
//! - ReFrame, lines for a performance function: <https://reframe-hpc.readthedocs.io>
//!
//! A row has the same name in every run: its case and the id of the case. Ranges and rows without a figure are left out,
//! because these tools draw a line through all figures and know no verdict.

use serde_json::{Value, json};
use syncscope_core::Row;
use syncscope_core::stats::Interval;

use crate::RunData;
use crate::harmless::{self, plain};

/// The most characters of a name that Bencher takes.
const LONGEST_NAME: usize = 1024;

/// The rows whose cost is a number, with their cost.
fn known(data: &RunData) -> impl Iterator<Item = (&Row, f64)> {
    let known = data.rows.iter().filter(|row| row.has_figure());
    known.filter_map(|row| Some((row, row.ns?.value()))).filter(|(_, ns)| ns.is_finite())
}

/// The number of rows without a number to write.
pub fn left_out(data: &RunData) -> usize {
    data.rows.len() - known(data).count()
}

/// `cpu.atomic.add i32 shared 16 threads close (a383fef0ed1155ab)`.
fn name(row: &Row) -> String {
    let id = format!(" ({})", row.case.id());
    let label = plain(&row.case.to_string());
    format!("{}{id}", label.chars().take(LONGEST_NAME - id.len()).collect::<String>())
}

/// Writes the Bencher Metric Format. `latency` is in nanoseconds, bounded by the interval to quote; `throughput` is in
/// operations per second, all threads together.
pub fn as_bmf(data: &RunData) -> String {
    let benchmark = |(row, ns): (&Row, f64)| {
        let mut measures = json!({ "latency": metric(ns, row.ns_interval) });
        if let Some(rate) = row.ops_per_s_total.filter(|rate| rate.is_finite()) {
            measures["throughput"] = metric(rate, None);
        }
        (name(row), measures)
    };
    harmless::json(&Value::Object(known(data).map(benchmark).collect()))
}

fn metric(value: f64, interval: Option<Interval>) -> Value {
    match interval {
        Some(Interval { low, high }) => json!({ "value": value, "lower_value": low, "upper_value": high }),
        None => json!({ "value": value }),
    }
}

/// Writes the list that github-action-benchmark reads with `customSmallerIsBetter`.
pub fn as_github(data: &RunData) -> String {
    let entry = |(row, ns): (&Row, f64)| {
        let mut entry = json!({ "name": name(row), "unit": "ns", "value": ns });
        if let Some(interval) = row.ns_interval {
            // The charts show this text after the value.
            entry["range"] = json!(format!("± {:.3}", interval.half_width()));
            entry["extra"] = json!(format!("95 % interval: {:.3} to {:.3} ns", interval.low, interval.high));
        }
        entry
    };
    harmless::json(&Value::Array(known(data).map(entry).collect()))
}

/// Writes what Google Benchmark prints with `--benchmark_format=json`. Readers require a CPU time; it equals the time of an
/// operation, because threads spin or wait in their own time.
pub fn as_google_benchmark(data: &RunData) -> String {
    let benchmark = |(row, ns): (&Row, f64)| {
        let name = name(row);
        json!({
            "name": name, "run_name": name, "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
            "threads": row.case.threads.unwrap_or(1), "iterations": row.pairs.unwrap_or(1),
            "real_time": ns, "cpu_time": ns, "time_unit": "ns",
        })
    };
    let run = &data.run;
    let context = json!({
        "date": run.started, "executable": "syncscope", "library_version": run.version,
        "num_cpus": run.machine.cpu.hardware_threads, "library_build_type": "release",
    });
    harmless::json(&json!({ "context": context, "benchmarks": known(data).map(benchmark).collect::<Vec<_>>() }))
}

/// Writes lines of `name: value unit`, which `^(\S+): (\S+) (\S+)$` reads. The first ones are for a sanity function: how the
/// run ended, and how many rows it has.
pub fn as_reframe(data: &RunData) -> String {
    let mut lines = vec![
        format!("run.status: {} -", data.run.status),
        format!("run.rows: {} rows", data.rows.len()),
        format!("run.resolved: {} rows", data.rows.iter().filter(|row| row.verdict.has_cost()).count()),
    ];
    lines.extend(known(data).map(|(row, ns)| format!("{}: {ns} ns", word(row))));
    lines.join("\n")
}

/// The name as one word: `cpu.atomic.add-i32-shared-16-threads-close-a383fef0ed1155ab`.
fn word(row: &Row) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let label: String = row.case.to_string().chars().map(|letter| if is_kept(letter) { letter } else { '-' }).collect();
    format!("{label}-{}", row.case.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use syncscope_core::{Case, Group, Nanoseconds, Verdict};

    fn data() -> RunData {
        let row = |case: Case, ns: f64, verdict| Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns - 0.25, high: ns + 0.5 }),
            ..Row::unmeasured(case, verdict)
        };
        let named = |id: &str| Case { threads: Some(2), ..Case::new(id) };
        let hostile = Case { group: Some(Group::of_word("a: 1 ns\n\"<script>\u{1b}[31m")), ..Case::new("cpu.fence.x") };
        let without_interval = Row { ns_interval: None, ..row(hostile, 3.5, Verdict::Resolved) };
        testing::data(vec![
            Row { ops_per_s_total: Some(2e8), ..row(named("cpu.atomic.add"), 10.0, Verdict::Resolved) },
            row(named("cpu.lock.ticket"), 0.9, Verdict::Noisy("wide".into())),
            without_interval,
        ])
    }

    #[test]
    fn bencher_gets_the_cost_with_its_bounds() {
        let value: Value = serde_json::from_str(&as_bmf(&data())).unwrap();
        let benchmarks = value.as_object().unwrap();
        assert_eq!((benchmarks.len(), left_out(&data())), (2, 1), "a range is no figure for a chart of time");
        let id = data().rows[0].case.id();
        let add = &benchmarks[&format!("cpu.atomic.add 2 threads ({id})")];
        assert_eq!(add["latency"], json!({ "value": 10.0, "lower_value": 9.75, "upper_value": 10.5 }));
        assert_eq!(add["throughput"], json!({ "value": 2e8 }));
        let (name, imported) = benchmarks.iter().find(|(name, _)| name.starts_with("cpu.fence.x")).unwrap();
        assert_eq!(imported["latency"], json!({ "value": 3.5 }), "no interval is invented");
        assert!(!name.chars().any(char::is_control), "{name:?}");
    }

    #[test]
    fn the_github_action_gets_value_and_range() {
        let value: Value = serde_json::from_str(&as_github(&data())).unwrap();
        let entries = value.as_array().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            (&entries[0]["unit"], &entries[0]["value"], &entries[0]["range"]),
            (&json!("ns"), &json!(10.0), &json!("± 0.375"))
        );
        assert!(entries[0]["extra"].as_str().unwrap().contains("9.750 to 10.500 ns"));
        assert!(entries[1].get("range").is_none());
    }

    /// The fields that `compare.py` of Google Benchmark and the parsers of trackers read.
    #[test]
    fn readers_of_google_benchmark_find_their_fields() {
        let value: Value = serde_json::from_str(&as_google_benchmark(&data())).unwrap();
        let benchmarks = value["benchmarks"].as_array().unwrap();
        assert_eq!(benchmarks.len(), 2);
        let add = &benchmarks[0];
        assert!(add["name"].as_str().is_some_and(|name| name.starts_with("cpu.atomic.add 2 threads")), "{add}");
        assert_eq!((&add["real_time"], &add["time_unit"], &add["threads"]), (&json!(10.0), &json!("ns"), &json!(2)));
        for field in ["run_name", "run_type", "iterations", "cpu_time", "repetitions"] {
            assert!(benchmarks.iter().all(|one| !one[field].is_null()), "{field}");
        }
        assert!(value["context"]["date"].is_string() && value["context"]["num_cpus"].is_number(), "{value}");
    }

    #[test]
    fn every_line_for_reframe_is_a_word_a_value_and_a_unit() {
        let text = as_reframe(&data());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.len(), 5, "{text}");
        for line in &lines {
            let [name, _, _] = line.as_slice() else { panic!("{line:?}") };
            assert!(name.ends_with(':') && name.matches(':').count() == 1, "{name}");
        }
        assert_eq!(lines[0], ["run.status:", "done", "-"]);
        assert_eq!(lines[2][1], "2");
        let id = data().rows[0].case.id();
        assert_eq!(lines[3], [&format!("cpu.atomic.add-2-threads-{id}:"), "10", "ns"]);
    }

    #[test]
    fn a_name_is_the_same_in_every_run_and_not_too_long() {
        let long = Case { group: Some(Group::of_word(&"ü".repeat(3000))), ..Case::new("cpu.fence.x") };
        let row = Row { ns: Some(Nanoseconds(1.0)), ..Row::unmeasured(long, Verdict::Resolved) };
        let text = name(&row);
        assert!(text.chars().count() <= LONGEST_NAME && text.ends_with(&format!("({})", row.case.id())));
        let later = Row { ns: Some(Nanoseconds(2.0)), pairs: Some(7), ..row.clone() };
        assert_eq!((name(&later), word(&later)), (text, word(&row)));
    }
}

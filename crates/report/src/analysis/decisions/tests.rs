//! The decisions of stored runs.

use std::path::PathBuf;

use super::spec::Spec;
use super::*;

/// A run that the repository holds.
fn stored(name: &str) -> RunData {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
    RunData::load(&path).unwrap()
}

fn points(chart: &Spec) -> usize {
    chart.series.iter().map(|series| series.points.len()).sum()
}

#[test]
fn stored_runs_answer_every_question_that_their_machine_has() {
    let all = ["lock", "atomics", "barrier", "relaunch", "fences", "handoff", "placement", "false-sharing"];
    let without_gpu: Vec<&str> = all.into_iter().filter(|id| *id != "relaunch").collect();
    for (name, expected) in
        [("h200", all.as_slice()), ("h200-x4", all.as_slice()), ("xeon-16cpu-vm-paper", &without_gpu)]
    {
        let data = stored(name);
        let found = decisions(&data);
        for one in &found {
            eprintln!(
                "{name} {}: {} [{}] {:?}",
                one.id,
                one.sentence,
                one.charts
                    .iter()
                    .map(|c| format!("{} series {} points", c.series.len(), points(c)))
                    .collect::<Vec<_>>()
                    .join(", "),
                one.note
            );
            for chart in &one.charts {
                for s in &chart.series {
                    eprintln!("      {} {}", s.label, s.points.len());
                }
            }
            eprintln!("{}", serde_json::to_string(one).unwrap().len());
        }
        let ids: Vec<&str> = found.iter().filter_map(|one| one.id.strip_prefix("decide-")).collect();
        assert_eq!(ids, expected, "{name}");
    }
}

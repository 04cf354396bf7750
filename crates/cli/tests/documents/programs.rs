//! The programs of `examples/programs` and the script that predicts their costs, in a small form in which times do not count.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Rows of a run on a machine with round figures.
const ROWS: &str = "\
case_id,primitive,dtype,layout,threads,placement,mode,group,form,ns,ns_low,ns_high,verdict,inside,outside
a,cpu.barrier.sense,,,2,close,latency,,,300,290,310,Resolved,,
b,cpu.barrier.dissemination,,,2,close,latency,,,200,190,210,Resolved,,
c,cpu.barrier.openmp,,,2,close,latency,libgomp,,400,390,410,Noisy,,
d,cpu.handoff.cas_pingpong,,,2,close,latency,,,100,90,110,Resolved,,
e,cpu.lock.pthread_mutex,u64,shared,1,close,latency,,,20,19,21,Resolved,,
f,cpu.lock.pthread_mutex,u64,shared,1,close,latency,,one_thread_process,5,4,6,Resolved,,
g,cpu.lock.pthread_mutex,u64,shared,2,close,latency,,,650,640,660,Resolved,,500ns
h,cpu.lock.ticket,u64,shared,1,close,latency,,,10,9,11,Resolved,,
i,cpu.lock.ticket,u64,shared,2,close,latency,,,600,590,610,Resolved,,500ns
j,cpu.atomic.add_capture,u64,shared,1,close,latency,,,5,4,6,Resolved,,
k,cpu.atomic.add_capture,u64,shared,2,close,latency,,,900,890,910,Resolved,,
";

/// Variants and the predictions from these rows, with two threads and 500 ns of work.
const PREDICTED: &[(&str, &str, &str)] = &[
    ("pool threads=2 width=128", "sense", "500 (470 to 530)"),
    ("pool threads=2 width=128", "dissemination", "400 (370 to 430)"),
    ("sweep threads=2 cells=2048", "barrier", "~600 (570 to 630)"),
    ("sweep threads=2 cells=2048", "region", "~1100 (1050 to 1150)"),
    ("table threads=2 stripes=1024 work=500 chained=1", "mutex", "70.0 (64.0 to 76.0)"),
    ("table threads=2 stripes=1 work=500", "ticket", "100 (90.0 to 110)"),
    // The row with this work outside is not certainly dearer than a free lock and three lines.
    ("queue threads=2 work=500", "mutex", "170 (154 to 186)"),
    ("loop threads=2 work=500", "atomic", "105 (94.0 to 116)"),
];

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs")
}

#[test]
fn programs_compute_what_they_should_and_predictions_follow_from_rows() {
    let have =
        |command: &str| Command::new(command).arg("--version").output().is_ok_and(|output| output.status.success());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 || !have("cc") || !have("python3") {
        eprintln!("skipped: the programs need two CPUs, a C compiler and python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows");
    std::fs::create_dir(&rows).unwrap();
    std::fs::write(rows.join("measurements.csv"), ROWS).unwrap();
    std::fs::write(rows.join("run.json"), "{}").unwrap();

    let mut predict = Command::new(programs().join("predict"));
    predict.args(["pool", "sweep", "table", "queue", "loop", "--processes", "1", "--rounds", "1", "--rows"]).arg(&rows);
    predict.arg("--out").arg(folder.path().join("out"));
    for size in ["threads=2", "work=500", "layers=20", "sweeps=20", "keys=100", "items=100", "iterations=100"] {
        predict.args(["--set", size]);
    }
    let output = predict.output().unwrap();
    let (table, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A wrong result of a program is exit code 3.
    assert!(output.status.success(), "{errors}");

    let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for (program, variant, predicted) in PREDICTED {
        let line = cells.iter().find(|line| line.len() > 6 && line[1] == *program && line[2] == *variant);
        let line = line.unwrap_or_else(|| panic!("no line of {program}, {variant} in {table}"));
        assert_eq!(line[3], *predicted, "{program}, {variant}");
        assert!(line[5].parse::<f64>().is_ok(), "ratio of {program}, {variant}: {}", line[5]);
    }
    assert!(table.contains("no row for pool threads=2 width=128, predict pthread: cpu.barrier.pthread"), "{table}");
}

#[test]
fn the_programs_name_primitives_that_exist() {
    let primitives = include_str!("../../../../docs/PRIMITIVES.md");
    let mut read = 0;
    let files = std::fs::read_dir(programs()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.extension().is_some_and(|end| end == "c" || end == "cu")) {
        let text = std::fs::read_to_string(file).unwrap();
        let head = text.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join("\n");
        read += usize::from(head.contains("// predict "));
        let is_of_id = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '.';
        let words = head.split(|sign| !is_of_id(sign));
        for id in words.filter(|word| ["cpu.", "gpu.", "hybrid."].iter().any(|domain| word.starts_with(domain))) {
            assert!(primitives.contains(&format!("| `{id}` |")), "{id}");
        }
    }
    assert_eq!(read, 9, "programs with a prediction");
}

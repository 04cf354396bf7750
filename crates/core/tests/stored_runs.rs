//! The runs in `results/` are read by this version, and hold nothing twice.

#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::run::Status;
use syncscope_core::run::columns::{COLUMNS, Header};
use syncscope_core::run::plain::read_text;
use syncscope_core::run::provenance::StolenTime;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::session::preset::time_around;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Preset, Row, stored_run};

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results")
}

fn stored_runs() -> Vec<RunDirectory> {
    let runs = stored_run::stored_runs(&results()).unwrap();
    assert!(runs.len() > 10, "{runs:?}");
    runs
}

#[test]
fn every_stored_run_is_read() {
    for run in stored_runs() {
        let name = run.path().display();
        let read = run.read_run().unwrap();
        assert_eq!(read.status, Status::Done, "{name}");
        let rows = run.read_rows().unwrap();
        assert_eq!(rows.len() as u64, read.planned, "{name}");
        for row in &rows {
            let defect = if read.preset == "imported" { defect_of_imported(row) } else { row.defect() };
            assert_eq!(defect, None, "{name}: {} {:?}", row.case, row.verdict);
        }
        let cases: HashSet<_> = rows.iter().map(|row| row.case.id()).collect();
        let details = run.read_details().unwrap();
        assert!(details.keys().all(|case| cases.contains(case)), "{name}");
        for (listing, path) in run.evidence_files().unwrap() {
            let text = read_text(&path).unwrap();
            // A library's code is not disassembled.
            assert!(text.lines().count() > 1 || text.starts_with("library call "), "{name}: {listing}");
        }
    }
}

/// Runs on 2, 16, 32 and 64 CPUs, with H100s and H200s. Experiments are not in the plan.
#[test]
fn planned_times_are_those_of_stored_runs() {
    const EXPERIMENTS: f64 = 60.0;
    // Until then, cases of CPUs had 6 s more in quick runs.
    const SHORTER_SINCE: &str = "2026-11-30T18";
    const LONGER_BEFORE: f64 = 36.0 / 30.0;
    let cases_of = |directory: &RunDirectory| -> (Vec<Case>, Vec<Case>) {
        directory.read_rows().unwrap().into_iter().map(|row| row.case).partition(Case::is_on_cpus)
    };
    // No CPU case gets less time than the quick preset gives it. The machine with 16 CPUs has a run of that preset.
    let quick = cases_of(&RunDirectory::open(&results().join("h200")).unwrap()).0;
    let least = |cases: usize| Preset::Quick.planned_time(&quick).as_secs_f64() * cases as f64 / quick.len() as f64;
    let mut compared = Vec::new();
    for directory in stored_runs() {
        let run = directory.read_run().unwrap();
        let Ok(preset) = run.preset.parse::<Preset>() else { continue };
        let (on_cpus, others) = cases_of(&directory);
        let [cpu_time, other_time] = [&on_cpus, &others].map(|cases| preset.planned_time(cases).as_secs_f64());
        let longer = if run.started.as_str() < SHORTER_SINCE { LONGER_BEFORE } else { 1.0 };
        // On more CPUs the fewest blocks take longer than that.
        let is_quick = preset == Preset::Quick && cpu_time < 36.0;
        let cpu_time = if is_quick { longer * cpu_time } else { cpu_time };
        let around = [&on_cpus, &others].map(|cases| time_around(cases).as_secs_f64()).iter().sum::<f64>();
        let has_16 = run.machine.cpu.hardware_threads == 16;
        let planned = around + other_time + if has_16 { cpu_time.max(longer * least(on_cpus.len())) } else { cpu_time };
        let has_experiments = run.command.iter().any(|word| word == "--experiments");
        let planned = planned + if has_experiments { EXPERIMENTS } else { 0.0 };
        let planned = planned * f64::from(run.repeat.unwrap_or(1));
        let took: f64 = run.sessions.iter().map(|session| session.seconds).sum();
        let name = directory.path().file_name().unwrap().display().to_string();
        // Where the hypervisor takes CPUs away, so often that the run warns of it, teams wait for threads that do not run.
        let is_taken = |stolen: &StolenTime| stolen.share > StolenTime::LARGEST_SHARE;
        let stolen = run.sessions.iter().any(|session| session.stolen.as_ref().is_some_and(is_taken));
        // Compiled kernels may be there from an earlier run, and cases may be precise early. Two machines of one kind took 962 and
        // 708 s for one plan.
        let is_near = (0.75..1.1).contains(&(took / planned)) || (stolen && (1.0..3.0).contains(&(took / planned)));
        assert!(is_near, "{name}: planned {planned:.0} s, took {took:.0} s");
        compared.push((name, planned.round(), took.round()));
    }
    assert!(compared.len() >= 7, "{compared:?}");
}

/// What is wrong with an imported row, which has no interval: none was published, and none may be invented.
fn defect_of_imported(row: &Row) -> Option<String> {
    let intervals = [row.ns_interval, row.ns_within, row.ns_spread, row.cycles_interval];
    if intervals.iter().any(Option::is_some) || row.cycles.is_some() {
        return Some("an interval or cycles that nobody published".to_owned());
    }
    // With an interval of no width it must pass like any other.
    let point = row.ns.map(|ns| Interval { low: ns.value(), high: ns.value() });
    Row { ns_within: point, ..row.clone() }.defect()
}

#[test]
fn the_published_ids_are_those_of_the_parameters() {
    for run in stored_runs() {
        let (_, bytes) = run.measurement_bytes().unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let names = reader.headers().unwrap();
        assert_eq!(&names[0], "case_id");
        let header = Header::of(names.iter()).unwrap();
        let mut ids = HashSet::new();
        for record in reader.records() {
            let record = record.unwrap();
            let row = header.row(&record).unwrap();
            assert_eq!(record[0], row.case.id().0, "{}: {}", run.path().display(), row.case);
            assert!(ids.insert(row.case.id()), "{}: {} twice", run.path().display(), row.case);
        }
    }
}

#[test]
fn what_follows_from_other_columns_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["h200", "h200-paper", "published-system1"] {
        let run = RunDirectory::open(&results().join(name)).unwrap();
        let joins_runs = run.read_run().unwrap().repeat.is_some();
        let (_, bytes) = run.measurement_bytes().unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = reader.headers().unwrap().clone();
        writer.write_record(&names).unwrap();
        let mut altered = 0;
        for record in reader.records() {
            let cells = record.unwrap();
            let column = |name: &str| COLUMNS.iter().find(|column| column.name == name).unwrap();
            let cells =
                names.iter().map(column).zip(&cells).map(|(column, cell)| match column.is_derived(joins_runs) {
                    true if column.is_number => "1e-9",
                    true => "anything",
                    false => cell,
                });
            writer.write_record(cells).unwrap();
            altered += 1;
        }
        let copy = folder.path().join(name);
        fs::create_dir(&copy).unwrap();
        fs::copy(run.run_json(), copy.join("run.json")).unwrap();
        fs::write(copy.join("measurements.csv"), writer.into_inner().unwrap()).unwrap();
        let rows = run.read_rows().unwrap();
        assert!(altered == rows.len() && altered > 200);
        assert!(RunDirectory::open(&copy).unwrap().read_rows().unwrap() == rows, "{name}");
    }
    let derived: Vec<&str> =
        COLUMNS.iter().filter(|column| column.is_derived(false)).map(|column| column.name).collect();
    assert_eq!(
        derived,
        [
            "domain",
            "family",
            "ns_low",
            "ns_high",
            "cycles_low",
            "cycles_high",
            "ops_per_s_thread",
            "ops_per_s_total",
            "allowance"
        ]
    );
}

#[test]
fn stored_runs_hold_nothing_that_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for (number, run) in stored_runs().into_iter().enumerate() {
        let name = run.path().display().to_string();
        let imported = run.read_run().unwrap().preset == "imported";
        assert_eq!(imported, run.path().join("LICENSE").is_file(), "{name}: the licence of imported figures");
        for entry in fs::read_dir(run.path()).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let table = file.strip_suffix(".gz").unwrap_or(file);
            if Path::new(table).extension().is_some_and(|extension| extension == "csv") {
                // Up to this size code hosts show a table; above it, compressed.
                let is_large = read_text(&run.path().join(table)).unwrap().len() > 128 * 1024;
                assert_eq!(is_large, table != file, "{name}: {file}");
                assert!(!table.ends_with("samples.csv"), "{name}: {file}");
                continue;
            }
            // A page that `make pages` drew is no part of what is stored.
            let of_import = imported && ["LICENSE", "machine.json"].contains(&file);
            assert!(of_import || ["run.json", "report.html"].contains(&file), "{name}: {file}");
        }
        let (_, rows) = run.measurement_bytes().unwrap();
        let copy = folder.path().join(number.to_string());
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("measurements.csv"), &rows).unwrap();
        fs::copy(run.run_json(), copy.join("run.json")).unwrap();
        let details = read_text(&run.details()).unwrap();
        fs::write(copy.join("details.csv"), &details).unwrap();
        let copy = RunDirectory::open(&copy).unwrap();
        copy.tidy().unwrap();
        assert!(fs::read(copy.measurements()).unwrap() == rows, "{name}");
        assert!(fs::read(copy.details()).unwrap() == details.as_bytes(), "{name}: details.csv is not compact");
    }
}

#[test]
fn each_disassembly_is_stored_once_and_used() {
    let used: BTreeSet<String> = stored_runs()
        .iter()
        .flat_map(|run| run.evidence_files().unwrap().into_values())
        .map(|path| format!("{}.gz", path.file_name().unwrap().display()))
        .collect();
    let entries = fs::read_dir(results().join("evidence")).unwrap();
    let stored: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(used, stored);
    let text = |file: &String| read_text(&results().join("evidence").join(file.strip_suffix(".gz").unwrap())).unwrap();
    assert_eq!(stored.iter().map(text).collect::<HashSet<_>>().len(), stored.len());
}

/// The primitives whose loops have changed since a stored run.
const CHANGED: [&str; 27] = [
    "cpu.lock.mcs",
    "cpu.lock.reciprocating",
    "gpu.block.mbarrier",
    "gpu.block.mbarrier_transaction",
    "gpu.block.named_barrier",
    "gpu.cluster.mbarrier_remote",
    "gpu.grid.counter",
    "gpu.grid.hierarchical",
    "gpu.grid.lock_free",
    "gpu.launch.conditional",
    "gpu.launch.cooperative",
    "gpu.launch.device_graph",
    "gpu.launch.event_sync",
    "gpu.launch.event_wait",
    "gpu.launch.graph",
    "gpu.launch.programmatic",
    "gpu.launch.stream",
    "gpu.launch.stream_sync",
    "gpu.launch.wait_value",
    "gpu.multi.counter",
    "gpu.multi.flags",
    "gpu.reduction.grid_cooperative",
    "gpu.reduction.grid_counter",
    "gpu.reduction.grid_graph_chain",
    "gpu.reduction.grid_lock_free",
    "gpu.reduction.grid_queued",
    "gpu.reduction.listing_5",
];

#[test]
fn runs_on_one_architecture_timed_the_same_loops() {
    let mut runs: Vec<_> = stored_runs().into_iter().map(|run| (run.read_run().unwrap(), run)).collect();
    runs.sort_by(|(one, _), (other, _)| other.started.cmp(&one.started));
    let (mut newest, mut differing) = (HashMap::new(), BTreeSet::new());
    for (about, run) in &runs {
        let of_gpu = about.machine.gpus.first().map(|gpu| format!("{:?}", gpu.compute_capability));
        for row in run.read_rows().unwrap() {
            // Where there is no instruction, the evidence is in words, which may change.
            let Some(evidence) = row.evidence.clone().filter(|text| !text.starts_with("no instruction")) else {
                continue;
            };
            let on = if row.case.is_on_cpus() { Some(about.machine.cpu.architecture.clone()) } else { of_gpu.clone() };
            // How many operations a loop has, as in `16/32` and `2/4`, depends on how long one takes.
            let counts = evidence.split(' ').filter(|word| word.contains('/')).collect::<String>();
            if *newest.entry((on, row.case.id(), counts)).or_insert_with(|| evidence.clone()) != evidence {
                differing.insert(row.case.primitive.clone());
            }
        }
    }
    assert_eq!(differing, CHANGED.map(str::to_owned).into(), "the primitives that differ");
}

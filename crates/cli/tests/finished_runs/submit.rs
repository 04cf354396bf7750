//! `syncscope submit`: what a bundle holds, that it reads back as a run, and which bundles are refused.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use syncscope_core::run::plain::read_text;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{CaseId, Placement, Row, Verdict};

use crate::common::{output, stderr};

fn stored(name: &str) -> String {
    format!("{}/../../results/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The bundle of a stored run, unpacked.
fn bundle(run: &str, file: &Path) -> Value {
    let made = output(&["submit", run, "-o", file.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    assert!(stderr(&made).contains("compute capability 10.0"), "no stored run has one: {}", stderr(&made));
    let mut text = String::new();
    GzDecoder::new(fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_bundle_is_small_and_reads_back_as_a_run_of_the_gallery() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    bundle(&stored("h200"), folder.path().join("h200.json.gz").as_path());
    assert!(fs::metadata(path("h200.json.gz")).unwrap().len() < 64 << 10);
    let checked = output(&["submit", "--check", &path("h200.json.gz"), "-o", &path("run")]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let mut nowhere = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    nowhere.args(["submit", "--check", &path("h200.json.gz")]).env("TMPDIR", "/nowhere");
    let nowhere = nowhere.output().unwrap();
    assert!(stderr(&nowhere).contains("/nowhere/") && stderr(&nowhere).contains("set TMPDIR to a folder for"));
    let rows = RunDirectory::open(Path::new(&path("run"))).unwrap().read_rows().unwrap();
    let of_run = RunDirectory::open(Path::new(&stored("h200"))).unwrap().read_rows().unwrap();
    assert!(
        rows.len() > 300 && rows.iter().all(|row| of_run.iter().any(|one| one.case == row.case && one.ns == row.ns))
    );
    // Alternatives without a number are still there, so nothing wins that did not win in the run.
    let decided = |run: &str| {
        let advised = output(&["advise", run, "--format", "json"]);
        let all: Value = serde_json::from_slice(&advised.stdout).unwrap();
        let key = |one: &Value| ["situation", "decision", "reason"].map(|key| one[key].clone());
        let all = all["advice"].as_array().unwrap().iter();
        all.map(|one| (key(one), one["choice"]["id"].clone())).collect::<Vec<_>>()
    };
    let (of_bundle, of_run) = (decided(&path("run")), decided(&stored("h200")));
    assert_eq!(of_bundle.len(), of_run.len());
    for (left, whole) in of_bundle.into_iter().zip(of_run) {
        // The costs of single threads are left out.
        assert!(left == whole || left.0[1] == "undecided", "{left:?}, in its run {whole:?}");
    }
    let gallery = output(&["gallery", &path("run"), "-o", &path("index.html")]);
    assert_eq!(gallery.status.code(), Some(0), "{}", stderr(&gallery));
    assert!(fs::read_to_string(path("index.html")).unwrap().contains("NVIDIA H200"));
}

#[test]
fn a_bundle_of_a_quick_run_that_is_too_large_has_costs_alone_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("quiet")).unwrap();
    for file in ["run.json", "details.csv.gz"] {
        fs::copy(format!("{}/{file}", stored("h200")), path("quiet").join(file)).unwrap();
    }
    // The column of evidence gets random digits, which do not compress.
    let table = read_text(&Path::new(&stored("h200")).join("measurements.csv")).unwrap();
    let mut state = 1_u64;
    let mut digits = move || {
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:08x}", state >> 32)
        };
        (0..100).map(next).collect::<String>()
    };
    let at = table.lines().next().unwrap().split(',').position(|name| name == "evidence").unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let mut writer = csv::Writer::from_path(path("quiet/measurements.csv")).unwrap();
    for (line, record) in reader.records().enumerate() {
        let record = record.unwrap();
        let evidence = if line == 0 { "evidence".to_owned() } else { digits() };
        let cells = record.iter().enumerate().map(|(index, cell)| if index == at { &evidence } else { cell });
        writer.write_record(cells).unwrap();
    }
    writer.flush().unwrap();
    let found = bundle(path("quiet").to_str().unwrap(), &path("quiet.json.gz"));
    assert!(fs::metadata(path("quiet.json.gz")).unwrap().len() < 64 << 10);
    assert_eq!(found["run"]["warnings"].as_array().map(Vec::len), Some(1));
    let (file, run) = (path("quiet.json.gz"), path("run"));
    let checked = output(&["submit", "--check", file.to_str().unwrap(), "-o", run.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let rows = |run: &Path| RunDirectory::open(run).unwrap().read_rows().unwrap();
    let (left, all) = (rows(&run), rows(&path("quiet")));
    assert!(left.len() > 400, "{}", left.len());
    for row in left {
        let whole = all.iter().find(|one| one.case == row.case).unwrap();
        assert_eq!((row.ns, row.ns_within, row.cycles), (whole.ns, whole.ns_within, None), "{}", row.case);
    }
}

/// Some columns follow from all rows of a run and from its processes, which a bundle does not have.
#[test]
fn a_row_of_a_bundle_says_as_much_as_in_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |run: &str| -> HashMap<String, [String; 7]> {
        let table = output(&["show", run, "--format", "csv"]).stdout;
        let mut reader = csv::Reader::from_reader(table.as_slice());
        let names = ["case_id", "verdict", "ns", "ns_low", "ns_high", "allowance", "ops_per_s_total"];
        let header = reader.headers().unwrap().clone();
        let columns = names.map(|name| header.iter().position(|column| column == name).unwrap());
        let cells = reader.records().map(|record| columns.map(|column| record.as_ref().unwrap()[column].to_owned()));
        cells.map(|cells| (cells[0].clone(), cells)).collect()
    };
    let change = |a: &str, b: &str| -> HashMap<String, String> {
        let table = output(&["compare", a, b, "--only", "gpu.*", "--format", "json"]).stdout;
        let all: Value = serde_json::from_slice(&table).unwrap();
        let text = |case: &Value, name: &str| case[name].as_str().unwrap().to_owned();
        all["cases"].as_array().unwrap().iter().map(|case| (text(case, "case_id"), text(case, "change"))).collect()
    };
    for name in ["h200", "epyc-zen4-2cpu-vm", "epyc-zen5-2cpu-vm", "h100", "h100-x2", "h200-x2", "h200-standard"] {
        let [file, run] = ["json.gz", "run"].map(|end| folder.path().join(format!("{name}.{end}")));
        bundle(&stored(name), &file);
        let checked = output(&["submit", "--check", file.to_str().unwrap(), "-o", run.to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
        let (of_bundle, of_run) = (shown(run.to_str().unwrap()), shown(&stored(name)));
        assert!(of_bundle.len() > 90, "{name}: {}", of_bundle.len());
        for (case, cells) in of_bundle {
            assert_eq!(cells, of_run[&case], "{name}");
        }
    }
    // Two bundles differ where their runs differ.
    let of_runs = change(&stored("h100"), &stored("h200"));
    let [a, b] = ["h100.run", "h200.run"].map(|name| folder.path().join(name));
    let of_bundles = change(a.to_str().unwrap(), b.to_str().unwrap());
    assert!(of_bundles.len() > 200, "{}", of_bundles.len());
    for (case, found) in of_bundles {
        let whole = &of_runs[&case];
        assert!(found == *whole || found == "undecided", "{case}: {found}, between the runs {whole}");
    }
}

/// The quick cases are planned anew from the description of the machine, which may differ from this machine.
#[test]
fn a_bundle_of_a_large_run_has_the_cases_of_the_preset_quick_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (large, quick) in [("h200-standard", "h200"), ("h200-paper", "h200"), ("h200-x4", "h200-x4")] {
        let (file, run) = (folder.path().join(format!("{large}.json.gz")), folder.path().join(large));
        let made = output(&["submit", &stored(large), "-o", file.to_str().unwrap()]);
        assert!(made.status.success() && String::from_utf8_lossy(&made.stdout).contains("quick"), "{}", stderr(&made));
        assert!(fs::metadata(&file).unwrap().len() < 64 << 10);
        let checked = output(&["submit", "--check", file.to_str().unwrap(), "-o", run.to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
        let rows = |run: &Path| RunDirectory::open(run).unwrap().read_rows().unwrap();
        let planned: HashSet<CaseId> = rows(Path::new(&stored(quick))).iter().map(|row| row.case.id()).collect();
        let of_run = rows(Path::new(&stored(large)));
        let is_pair = |row: &Row| matches!(row.case.placement, Some(Placement::List(_)));
        let is_held = |row: &&Row| row.verdict == Verdict::Resolved || !row.verdict.is_failure() && !is_pair(row);
        // In these families, quick measures other cases now than when the runs were stored.
        let changed = ["cpu.wake.", "gpu.launch.", "gpu.fence."];
        let is_as_stored = |row: &&Row| !changed.iter().any(|family| row.case.primitive.starts_with(family));
        let ids = of_run.iter().filter(is_held).filter(is_as_stored).map(|row| row.case.id());
        let expected: HashSet<CaseId> = ids.filter(|id| planned.contains(id)).collect();
        let held: HashSet<CaseId> = rows(&run).iter().filter(is_as_stored).map(|row| row.case.id()).collect();
        assert!(held.len() > 50, "{large}: {}", held.len());
        assert_eq!(held, expected, "{large}");
    }
}

#[test]
fn nothing_in_a_bundle_names_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("epyc");
    fs::create_dir(&run).unwrap();
    for file in ["measurements.csv", "details.csv"] {
        fs::copy(format!("{}/{file}", stored("epyc-zen5-2cpu-vm")), run.join(file)).unwrap();
    }
    let text = fs::read_to_string(format!("{}/run.json", stored("epyc-zen5-2cpu-vm"))).unwrap();
    let mut known: Value = serde_json::from_str(&text).unwrap();
    for (place, value) in [
        ("/command", json!(["syncscope", "run", "-o", "/home/secret"])),
        ("/only", json!(["secret*"])),
        ("/warnings", json!(["secret is active"])),
        ("/environment/os", json!("Linux secret")),
    ] {
        *known.pointer_mut(place).unwrap() = value;
    }
    known["environment"]["libraries"]["secret"] = json!("/opt/secret");
    known["environment"]["variables"] = json!({ "OMP_SECRET": "secret" });
    known["environment"]["preloaded"] = json!(["secret.so"]);
    fs::write(run.join("run.json"), known.to_string()).unwrap();
    let found = bundle(run.to_str().unwrap(), &folder.path().join("bundle.json.gz"));
    assert!(!found.to_string().contains("secret") && found["run"]["machine"] == known["machine"], "{found}");
}

#[test]
fn what_submit_would_not_write_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle.json.gz");
    let good = bundle(&stored("epyc-zen5-2cpu-vm"), &file);
    let table = good["measurements"].as_str().unwrap().to_owned();
    let with = |name: &str, value: Value| {
        let mut bundle = good.clone();
        bundle[name] = value;
        packed(bundle.to_string().as_bytes())
    };
    let with_ns = |ns: &str| {
        let at = table.lines().next().unwrap().split(',').position(|name| name == "ns").unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
        let mut writer = csv::Writer::from_writer(Vec::new());
        for (line, record) in reader.records().enumerate() {
            let record = record.unwrap();
            let cells = record.iter().enumerate().map(|(index, cell)| if line == 1 && index == at { ns } else { cell });
            writer.write_record(cells).unwrap();
        }
        with("measurements", json!(String::from_utf8(writer.into_inner().unwrap()).unwrap()))
    };
    let whole = fs::read(&file).unwrap();
    let mut named = good["run"].clone();
    named["command"] = json!(["/home/me/syncscope"]);
    let mut large = good["run"].clone();
    large["machine"]["cpu"]["packages"] = json!(u32::MAX);
    let refused = [
        ("a number that no machine has", with("run", large)),
        ("no archive", b"{}".to_vec()),
        ("half an archive", whole[..whole.len() / 2].to_vec()),
        ("too large", vec![0x1f; (64 << 10) + 1]),
        ("zeros", packed(&vec![0; 16 << 20])),
        ("another object", packed(b"{}")),
        ("a file outside", with("../../outside.csv", json!("x"))),
        ("another column", with("measurements", json!(table.replacen("verdict", "judgement", 1)))),
        ("infinite", with_ns("inf")),
        ("no number", with_ns("NaN")),
        ("no rows", with("measurements", json!(table.lines().next().unwrap()))),
        ("a name", with("run", named)),
    ];
    let out = folder.path().join("run");
    for (what, bytes) in refused {
        fs::write(&file, bytes).unwrap();
        let checked = output(&["submit", "--check", file.to_str().unwrap(), "-o", out.to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(1), "{what}: {}", stderr(&checked));
        assert!(!out.exists() && !stderr(&checked).contains("panicked"), "{what}: {}", stderr(&checked));
    }
    fs::write(&file, with("run", good["run"].clone())).unwrap();
    assert_eq!(output(&["submit", "--check", file.to_str().unwrap()]).status.code(), Some(0), "packed again");
}

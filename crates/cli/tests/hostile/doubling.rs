//! Twice the input costs at most two and a half times the work, for each reader and command: work that grows with the square of
//! the lines takes minutes for a file that fits into a mail. The inputs are two doublings apart, where a square costs 16 times
//! as much and a straight line 4 times: a busy machine, whose CPU times vary by a fifth, does not turn one into the other.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use csv::StringRecord;
use serde_json::Value;

use crate::common::{command, copy};
use crate::directory::end;

/// A stored run of this kind of machine, whose tables are made longer.
const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/epyc-zen5-2cpu-vm");

/// The most counts. CPU time varies with the load of the machine, so the least of several counts is used.
const ATTEMPTS: usize = 6;
/// The largest quotient for two doublings.
const MOST: f64 = 2.5 * 2.5;
/// The seconds that a process takes to start.
const START: f64 = 0.03;

/// The CPU seconds of a command.
fn work(words: &str, folder: &Path) -> f64 {
    let mut command = command(&words.split(' ').collect::<Vec<_>>());
    command.current_dir(folder).env("HOME", folder.join("home")).stdout(Stdio::null()).stderr(Stdio::null());
    let (code, used, _) = end(&command.spawn().unwrap()).unwrap_or_else(|| panic!("{words} does not end"));
    assert!([0, 1, 3].contains(&code), "{words}: {code}");
    used
}

/// Compares the least work for a small and a large input.
fn assert_in_proportion(words: &str, mut small: impl FnMut() -> f64, mut large: impl FnMut() -> f64) {
    let (mut less, mut more) = (f64::INFINITY, f64::INFINITY);
    for attempt in 1.. {
        (less, more) = (less.min(small()), more.min(large()));
        if more <= MOST * less + START {
            break;
        }
        assert!(attempt < ATTEMPTS, "{words}: {less} s, and {more} s for four times as much");
    }
}

/// Makes an input of half the `size` and one of twice the `size`, and compares the work of these commands on them; `IN` is the
/// input.
fn assert_linear(size: usize, make: impl Fn(usize, &Path), commands: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, size) in [("small", size / 2), ("large", 2 * size)] {
        make(size, &folder.path().join(name));
    }
    for words in commands {
        let of = |name: &str| {
            let _ =
                fs::remove_dir_all(folder.path().join("out")).or_else(|_| fs::remove_file(folder.path().join("out")));
            work(&words.replace("IN", name), folder.path())
        };
        assert_in_proportion(words, || of("small"), || of("large"));
    }
}

fn stored(to: &Path) {
    copy(Path::new(STORED), to);
    let _ = fs::remove_file(to.join("evidence.csv"));
}

/// Makes a copy of the stored run whose `count` rows are copies of matching rows, varied by `change`. Its details are left out.
fn with_rows(
    to: &Path,
    count: usize,
    is_one: impl Fn(&dyn Fn(&str) -> String) -> bool,
    change: impl Fn(usize, &mut dyn FnMut(&str, String)),
) {
    stored(to);
    let file = to.join("measurements.csv");
    let mut reader = csv::Reader::from_path(&file).unwrap();
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let all: Vec<StringRecord> = reader.records().map(Result::unwrap).collect();
    let chosen: Vec<_> = all.iter().filter(|row| is_one(&|name| row[place(name)].to_owned())).collect();
    let mut writer = csv::Writer::from_path(&file).unwrap();
    writer.write_record(&header).unwrap();
    for at in 0..count {
        let mut row: Vec<String> = chosen[at % chosen.len()].iter().map(str::to_owned).collect();
        change(at / chosen.len(), &mut |name, cell| row[place(name)] = cell);
        writer.write_record(&row).unwrap();
    }
    writer.flush().unwrap();
    fs::write(to.join("details.csv"), "case_id,name,actor,value\n").unwrap();
}

fn rows_of_one_primitive(count: usize, to: &Path) {
    let is_one = |of: &dyn Fn(&str) -> String| of("primitive") == "cpu.atomic.add" && of("threads") == "2";
    with_rows(to, count, is_one, |at, set| {
        set("threads", (2 + at % 500).to_string());
        set("stride", (1 + at / 500).to_string());
        set("layout", "private".to_owned());
    });
}

fn rows_of_all_primitives(count: usize, to: &Path) {
    let is_one = |of: &dyn Fn(&str) -> String| of("verdict") == "Resolved" && !of("threads").is_empty();
    with_rows(to, count, is_one, |at, set| set("threads", (1 + at).to_string()));
}

fn pairs_of_cpus(count: usize, to: &Path) {
    let is_one = |of: &dyn Fn(&str) -> String| of("primitive") == "cpu.handoff.cas_pingpong";
    let pair = |at: usize| {
        (1..=at + 1)
            .find(|second| second * (second + 1) / 2 > at)
            .map(|second| (at - second * (second - 1) / 2, second))
    };
    with_rows(
        to,
        count,
        |of| is_one(of) && of("mode") == "latency",
        |at, set| {
            let (first, second) = pair(at).unwrap();
            set("placement", format!("{first},{second}"));
            set("group", String::new());
            set("dtype", String::new());
        },
    );
}

#[test]
fn many_rows_of_one_primitive() {
    let commands = ["show IN --format csv", "report IN -o out", "advise IN", "findings IN", "report IN IN -o out"];
    assert_linear(6000, rows_of_one_primitive, &commands);
}

#[test]
fn many_rows_of_all_primitives() {
    let commands = [
        "show IN",
        "report IN -o out",
        "advise IN",
        "findings IN",
        "gallery IN -o out",
        "show IN --sort cost --format json",
    ];
    assert_linear(4000, rows_of_all_primitives, &commands);
    let beside = |count: usize, to: &Path| {
        for name in ["a", "b", "c"] {
            rows_of_all_primitives(count, &to.join(name));
        }
    };
    assert_linear(
        2000,
        beside,
        &["compare IN/a IN/b --format json", "fleet IN/a IN/b IN/c", "report IN/a IN/b -o out"],
    );
}

#[test]
fn many_pairs_of_cpus() {
    assert_linear(10_000, pairs_of_cpus, &["show IN", "report IN -o out", "advise IN --format json"]);
}

#[test]
fn many_details_warnings_and_damaged_lines() {
    let shared = |count: usize, to: &Path| {
        stored(to);
        let lines: Vec<String> = (0..count).map(|at| format!("cpu,n{at},,1\n")).collect();
        fs::write(to.join("details.csv"), format!("case_id,name,actor,value\n{}", lines.concat())).unwrap();
    };
    assert_linear(8000, shared, &["show IN", "report IN -o out"]);
    let of_cases = |count: usize, to: &Path| {
        stored(to);
        let table = fs::read_to_string(to.join("measurements.csv")).unwrap();
        let ids: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        let line = |at: usize| format!("{},process_ns,{},{}\n", ids[at % ids.len()], at / ids.len(), 1000 + at % 7);
        fs::write(
            to.join("details.csv"),
            "case_id,name,actor,value\n".to_owned() + &(0..count).map(line).collect::<String>(),
        )
        .unwrap();
    };
    assert_linear(100_000, of_cases, &["show IN", "report IN -o out", "submit IN -o out"]);
    let warnings = |count: usize, to: &Path| {
        stored(to);
        let mut run: Value = serde_json::from_slice(&fs::read(to.join("run.json")).unwrap()).unwrap();
        run["warnings"] = (0..count).map(|at| format!("warning {at}")).collect();
        run["sessions"] = vec![run["sessions"][0].clone(); count / 2].into();
        fs::write(to.join("run.json"), run.to_string()).unwrap();
    };
    assert_linear(8000, warnings, &["show IN", "report IN -o out", "gallery IN -o out"]);
    let damaged = |count: usize, to: &Path| {
        stored(to);
        for file in ["measurements.csv", "details.csv"] {
            let table = fs::read_to_string(to.join(file)).unwrap()
                + &"\"a,b\n".repeat(count)
                + &"\n\n\0x,\"\"\"\",\n".repeat(count);
            fs::write(to.join(file), table).unwrap();
        }
    };
    assert_linear(20_000, damaged, &["show IN --format json"]);
}

#[test]
fn many_runs_and_files_of_other_tools() {
    let runs = |count: usize, to: &Path| (0..count).for_each(|at| stored(&to.join(at.to_string())));
    let all = |count: usize| (0..count).map(|at| format!("IN/{at}")).collect::<Vec<_>>().join(" ");
    let folder = tempfile::tempdir().unwrap();
    runs(32, folder.path());
    for what in ["gallery -o out", "fleet -o out", "findings", "report -o out"] {
        let of = |count| work(&format!("{what} {}", all(count).replace("IN/", "")), folder.path());
        assert_in_proportion(what, || of(8), || of(32));
    }
    let matrix = |count: usize, to: &Path| {
        fs::create_dir_all(to).unwrap();
        let cpus = (1..=count).find(|cpus| cpus * cpus >= count).unwrap();
        let line = |at: usize| (0..cpus).map(|other| if other < at { "25.5," } else { "," }).collect::<String>() + "\n";
        fs::write(to.join("m.csv"), (0..cpus).map(line).collect::<String>()).unwrap();
    };
    assert_linear(40_000, matrix, &["import core-to-core-latency IN/m.csv -o out"]);
    let results = |count: usize, to: &Path| {
        for program in 0..8 {
            let to = to.join(format!("omp_barrier{program}"));
            fs::create_dir_all(&to).unwrap();
            let threads = ",1,2,3,4,5,6,7,8";
            let block = format!("type mode,aggregate{threads}\nint,max{}\n", ",1e-9".repeat(8));
            fs::write(to.join("runtimes.csv"), format!("omp_barrier\nn iter,1000\n\"\"\n{}", block.repeat(count / 8)))
                .unwrap();
        }
    };
    assert_linear(16_000, results, &["import syncperformance IN -o out"]);
}

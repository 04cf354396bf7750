//! What threads that contend pay, measured here and by a C program that knows nothing of this project, in turn. Run by
//! `make truths` on a quiet machine. Where there is no C compiler, `SYNCSCOPE_CONTEND` names the program:
//! `cc -O2 -pthread -static -o contend crates/cpu/tests/independent/contend.c`

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the person who runs it reads the figures")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    Cancel, Case, Dtype, Engine, Laboratory, Layout, MemoryOrder, Nanoseconds, Placement, Settings, stats,
};
use syncscope_cpu::CpuLaboratory;

const SOURCE: &str = include_str!("independent/contend.c");

/// Names a prebuilt program.
const PREBUILT: &str = "SYNCSCOPE_CONTEND";

/// How long the program lets its threads run, some dozen times for each row.
const MILLISECONDS: &str = "1";

/// How often both sides are measured, in turn: what changes the machine in between changes both.
const TURNS: usize = 9;

/// The fewest turns with a figure: one without, such as next to another guest on the core, is passed over.
const FEWEST_TURNS: usize = 4;

/// How far the rates may be apart, of several threads and of one. Another hardware thread raises the cost of one thread by a
/// tenth and more; its samples are excluded here and not there.
const TOLERANCES: [f64; 2] = [0.10, 0.15];

/// The row of the C program, and the case here.
fn rows(threads: u32, cpus: &[u32]) -> [(&'static str, Case); 3] {
    let on = |primitive: &str, dtype, layout| Case {
        dtype: Some(dtype),
        layout: Some(layout),
        threads: Some(threads),
        placement: Some(Placement::List(cpus[..threads as usize].to_vec())),
        ..Case::new(primitive)
    };
    let add = |layout| Case { order: Some(MemoryOrder::Relaxed), ..on("cpu.atomic.add", Dtype::I32, layout) };
    [
        ("ttas", on("cpu.lock.ttas", Dtype::U64, Layout::Shared)),
        ("counter", add(Layout::Shared)),
        ("false_sharing", add(Layout::Private { stride: 1 })),
    ]
}

/// What an operation costs at the rate of all threads together, the fastest thread and the slowest.
type Figures = [f64; 3];

/// The figures of each turn, by operation and threads.
type Found = BTreeMap<(String, u32), Vec<Figures>>;

fn measure_here(cpus: &[u32], found: &mut Found) {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let rule = PrecisionRule { precision: 0.0, min_pairs: 40, max_pairs: 40, max_time: Duration::from_secs(5) };
    for threads in teams(cpus.len()) {
        for (what, case) in rows(threads, cpus) {
            let mut experiment = laboratory.experiment(&case).unwrap();
            let measurement = Engine::new(Settings::with_rule(rule.clone()), Cancel::new());
            let measurement = measurement.measure(experiment.as_mut(), 1).unwrap();
            let Some(estimate) = measurement.estimate else {
                println!("{case}: {}", measurement.verdict);
                continue;
            };
            let figures = [estimate.rate_ns.unwrap(), estimate.fastest_ns, estimate.slowest_ns].map(Nanoseconds::value);
            found.entry((what.to_owned(), threads)).or_default().push(figures);
        }
    }
}

/// 1, 2, 4 and so on.
fn teams(cpus: usize) -> impl Iterator<Item = u32> {
    (0..32).map(|power| 1 << power).take_while(move |threads| *threads as usize <= cpus)
}

/// Lines that read `figure ttas 2 12.3 11.0 14.2`.
fn measure_there(program: &Path, cpus: &[u32], found: &mut Found) {
    let output = Command::new(program).arg(MILLISECONDS).args(cpus.iter().map(ToString::to_string)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.len() > 4 && words[0] == "figure", "{line}");
        let number = |index: usize| -> f64 { words[index].parse().unwrap() };
        let figures = [number(3), number(4), number(words.len() - 1)];
        found.entry((words[1].to_owned(), words[2].parse().unwrap())).or_default().push(figures);
    }
}

/// The program, compiled if it has to be; `None` where there is no C compiler.
fn program(folder: &Path) -> Option<OsString> {
    if let Some(program) = std::env::var_os(PREBUILT) {
        return Some(program);
    }
    let (source, program) = (folder.join("contend.c"), folder.join("contend"));
    std::fs::write(&source, SOURCE).unwrap();
    let output = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(&source).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program.into())
}

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn a_c_program_finds_the_same_for_threads_that_contend() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else {
        println!("skipped: no C compiler, and {PREBUILT} is not set");
        return;
    };
    let cpus = CpuLaboratory::open().unwrap().topology().allowed_cpus();
    let (mut here, mut there) = (Found::new(), Found::new());
    for _ in 0..TURNS {
        measure_here(&cpus, &mut here);
        measure_there(Path::new(&program), &cpus, &mut there);
    }
    let middle = |turns: &[Figures]| -> Figures {
        [0, 1, 2].map(|index| stats::median(&turns.iter().map(|turn| turn[index]).collect::<Vec<_>>()).unwrap())
    };
    let least = |turns: &[Figures]| turns.iter().copied().min_by(|a, b| a[0].total_cmp(&b[0])).unwrap_or_default();
    let mut differing = Vec::new();
    println!(
        "ns per operation: at the rate of all threads, the fastest, the slowest; of one thread the least, of more the median of {TURNS} turns"
    );
    for ((what, threads), theirs) in &there {
        let ours = here.remove(&(what.clone(), *threads)).unwrap_or_default();
        if ours.len() < FEWEST_TURNS {
            differing.push(format!("{what}, {threads} threads: {} figures here", ours.len()));
            continue;
        }
        let of = |turns: &[Figures]| if *threads == 1 { least(turns) } else { middle(turns) };
        let (ours, theirs) = (of(&ours), of(theirs));
        let ratio = ours[0] / theirs[0];
        let line = format!("{what}, {threads} threads: {ours:.2?} here, {theirs:.2?} in C, ratio {ratio:.3}");
        println!("{line}");
        if (ratio - 1.0).abs() > TOLERANCES[usize::from(*threads == 1)] {
            differing.push(line);
        }
    }
    assert!(differing.is_empty(), "more than {TOLERANCES:?} apart (several threads, one):\n{}", differing.join("\n"));
}

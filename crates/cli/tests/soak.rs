//! Runs one after the other: no run takes more than the one before, and no run leaves anything behind. `SYNCSCOPE_SOAK=20`
//! makes so many runs of this machine with `SYNCSCOPE_SOAK_OPTIONS` [default: `--preset standard --budget 1m`] and prints their
//! loads.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]
#![allow(clippy::print_stdout, reason = "the figures are read by people")]

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::command;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Case, Nanoseconds, Verdict};

/// The resources of a run's processes at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    resident_kb: u64,
    threads: u64,
    descriptors: u64,
}

/// The loads of a run over time.
struct Soaked(Vec<Load>);

impl Soaked {
    fn most(&self, of: fn(&Load) -> u64) -> u64 {
        self.0.iter().map(of).max().unwrap_or(0)
    }

    /// The ninth decile of the loads in the first three quarters of the run, and after that. The two are equal in a run too
    /// short to say anything. A leak stays; teams of many processes come and go within a second, so the maximum says nothing.
    fn early_and_late(&self, of: fn(&Load) -> u64) -> (u64, u64) {
        let (early, late) = self.0.split_at(self.0.len() * 3 / 4);
        let usual = |loads: &[Load]| {
            let mut values: Vec<u64> = loads.iter().map(of).collect();
            values.sort_unstable();
            values.get(values.len() * 9 / 10).copied().unwrap_or(0)
        };
        if self.0.len() < 8 { (usual(&self.0), usual(&self.0)) } else { (usual(early), usual(late)) }
    }
}

/// This process and all processes below it.
fn tree(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|child| child.parse().ok()).flat_map(tree));
    }
    found
}

/// The load of a process; `None` if it has ended.
fn load(process: u32) -> Option<Load> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    let descriptors = fs::read_dir(folder.join("fd")).ok()?.count() as u64;
    Some(Load { resident_kb: field("VmRSS")?, threads: field("Threads")?, descriptors })
}

/// Runs a command to its end and samples its load.
fn soaked(mut command: Command) -> Soaked {
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut loads = Vec::new();
    let status = loop {
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
        let all = tree(run.id()).into_iter().filter_map(load);
        loads.push(all.fold(Load::default(), |sum, of| Load {
            resident_kb: sum.resident_kb + of.resident_kb,
            threads: sum.threads + of.threads,
            descriptors: sum.descriptors + of.descriptors,
        }));
        sleep(Duration::from_millis(50));
    };
    assert!(matches!(status.code(), Some(0 | 3)), "{status}");
    Soaked(loads)
}

/// How many cases have their last row, for people.
fn finished(folder: &Path) -> String {
    let run = RunDirectory::open(folder).unwrap();
    let last = run.read_rows().unwrap().iter().filter(|row| !row.provisional).count();
    format!("{last} of {} cases finished", run.read_run().unwrap().planned)
}

fn resolved(folder: &Path) -> HashMap<Case, f64> {
    let rows = RunDirectory::open(folder).unwrap().read_rows().unwrap();
    let resolved = rows.into_iter().filter(|row| row.verdict == Verdict::Resolved);
    resolved.filter_map(|row| Some((row.case, row.ns.map(Nanoseconds::value)?))).collect()
}

/// The files of shared memory, such as those in `/dev/shm`.
fn shared_memory() -> BTreeSet<PathBuf> {
    let names = fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.path());
    names.filter(|path| path.to_string_lossy().contains("syncscope")).collect()
}

/// How far the figures of the last run differ from those of the first, for people.
fn drift(first: &HashMap<Case, f64>, last: &HashMap<Case, f64>) -> String {
    let mut ratios: Vec<f64> = first.iter().filter_map(|(case, ns)| Some(last.get(case)? / ns)).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios.get((share * (ratios.len().max(1) - 1) as f64).round() as usize).copied();
    let [low, middle, high] = [0.05, 0.5, 0.95].map(|share| at(share).unwrap_or(f64::NAN));
    format!("last over first run: {} cases, median {middle:.4}, 5 to 95 %: {low:.4} to {high:.4}", ratios.len())
}

#[test]
fn runs_one_after_the_other_leave_nothing_behind() {
    let large: Option<usize> = std::env::var("SYNCSCOPE_SOAK").ok().map(|count| count.parse().unwrap());
    let options =
        std::env::var("SYNCSCOPE_SOAK_OPTIONS").unwrap_or_else(|_| "--preset standard --budget 1m".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let before = shared_memory();
    let runs: Vec<Soaked> = (0..large.unwrap_or(2))
        .map(|number| {
            let out = folder.path().join(number.to_string());
            let mut run = command(&["run", "--seed", "3", "--out", out.to_str().unwrap()]);
            run.env("TMPDIR", &temporary);
            match large {
                Some(_) => run.env_remove("SYNCSCOPE_FAKE").args(options.split(' ')),
                None => {
                    run.env("SYNCSCOPE_FAKE", "threads=20").args(["--only", "cpu.atomic.add", "--only", "cpu.[fl]*.*"])
                }
            };
            let started = Instant::now();
            let soaked = soaked(run);
            let threads = soaked.early_and_late(|load| load.threads);
            let descriptors = soaked.early_and_late(|load| load.descriptors);
            println!(
                "run {number}: {} in {:.0?}, {} MB, threads {} then {}, descriptors {} then {}",
                finished(&out),
                started.elapsed(),
                soaked.most(|load| load.resident_kb) / 1000,
                threads.0,
                threads.1,
                descriptors.0,
                descriptors.1
            );
            // A leak would add some for each of thousands of blocks.
            let grows = |(early, late): (u64, u64)| late > early + early / 4;
            assert!(!grows(threads) && !grows(descriptors), "run {number} grows");
            let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
            assert!(left.is_empty(), "run {number} left {left:?}");
            soaked
        })
        .collect();
    assert_eq!(shared_memory(), before, "left in shared memory");
    // How many pairs a run keeps depends on how quiet the machine is, so later runs may take less.
    let most: Vec<u64> = runs.iter().map(|run| run.most(|load| load.resident_kb)).collect();
    let (first, last) = most.split_at(most.len().div_ceil(2));
    let (first, last) = (first.iter().max().unwrap(), last.iter().max().unwrap());
    assert!(*last <= first + first / 4 + 10_000, "{first} and {last} kB");
    let figures = |number: usize| resolved(&folder.path().join(number.to_string()));
    println!("{}", drift(&figures(0), &figures(runs.len() - 1)));
}

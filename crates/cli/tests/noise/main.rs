//! Are resolved figures right on a disturbed machine? A run next to busy processes and one with half a CPU are compared with
//! quiet runs before and after: `make noise`, on a machine that is quiet otherwise. `SYNCSCOPE_COMMAND` names another command
//! than the one built with this test, so that both run on a machine without Rust.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]
#![allow(clippy::print_stdout, reason = "the shares are read by people")]

mod agreement;
#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use agreement::Agreement;
use common::cgroup::Quota;
use common::{program, stderr};
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Nanoseconds, Row, Verdict};

/// The share of the resolved cases that have to agree.
const GOAL: f64 = 0.95;

/// Processes that only use CPU time, one for each CPU.
struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    fn on_all_cpus() -> Self {
        let cpus = syncscope_host::scheduling::allowed_cpus();
        let busy =
            |_: &u32| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Self(cpus.iter().map(busy).collect())
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A process that keeps the GPUs busy with kernels of all sizes: the command itself, which measures atomics.
struct BusyGpus {
    process: Child,
    _folder: tempfile::TempDir,
}

impl BusyGpus {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("busy");
        let options = ["run", "--preset", "paper", "--only", "gpu.atomic.*", "--only", "gpu.grid.*", "--out"];
        let mut command = Command::new(program());
        command.args(options).arg(&out).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        // The GPUs are busy once a row exists: its kernels are compiled then.
        let begun = || std::fs::metadata(out.join("measurements.csv")).is_ok_and(|file| file.len() > 2_000);
        for _ in 0..600 {
            if begun() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        assert!(begun(), "the busy process measured nothing within a minute");
        Self { process, _folder: folder }
    }

    fn is_busy(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for BusyGpus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder to keep the run of this name in, below `SYNCSCOPE_NOISE_RUNS`.
fn place(name: &str) -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("SYNCSCOPE_NOISE_RUNS")?).join(name))
}

/// The rows of a kept run, so that runs of another machine can be compared again. A run that was cut off does not
/// count.
fn kept(name: &str) -> Option<Vec<Row>> {
    let place = place(name).filter(|place| place.exists())?;
    let directory = RunDirectory::open(&place).unwrap();
    let status = directory.read_run().unwrap().status;
    assert!(matches!(status, Status::Done | Status::BudgetSpent), "{} is {status:?}: remove it", place.display());
    Some(directory.read_rows().unwrap())
}

/// The rows of a run, for the primitives of one kind of processor; `start` makes the command.
fn rows(name: &str, primitives: &str, start: impl FnOnce() -> Command) -> Vec<Row> {
    if let Some(rows) = kept(name) {
        return rows;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = place(name).unwrap_or_else(|| folder.path().join(name));
    let options = std::env::var("SYNCSCOPE_NOISE_OPTIONS").unwrap_or_else(|_| "--preset quick".to_owned());
    // Options that select primitives replace `only`: a case that matches one of several `--only` is measured.
    let only: &[&str] = if options.contains("--only") { &[] } else { &["--only", primitives] };
    let mut command = start();
    command.args(["run", "--seed", "1", "--out", out.to_str().unwrap()]).args(only).args(options.split(' '));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{name}: {}", stderr(&output));
    RunDirectory::open(&out).unwrap().read_rows().unwrap()
}

/// Quiet, busy, quiet, half a CPU, quiet. The second quiet run is compared with the others as if it were disturbed: if it
/// does not agree with them, the machine is not steady enough to decide anything.
#[test]
#[ignore = "measures for minutes, and wants a machine that is quiet otherwise: `make noise`"]
fn what_is_resolved_beside_busy_processes_is_right() {
    let quiet = |name| rows(name, "cpu.*", || Command::new(program()));
    let first = quiet("quiet-1");
    let busy = {
        let _busy = BusyProcesses::on_all_cpus();
        rows("busy", "cpu.*", || Command::new(program()))
    };
    let second = quiet("quiet-2");
    let quota = Quota::of_half_a_cpu();
    let throttled = quota.map(|quota| rows("half-a-cpu", "cpu.*", || quota.command(&program())));
    let third = quiet("quiet-3");
    println!("3 quiet runs; each disturbed run is compared with the quiet runs right before and after");
    let steady = Agreement::of(&first, &second, &third);
    println!("{}", steady.text("quiet, between quiet runs"));
    let busy = Agreement::of(&first, &busy, &second);
    println!("{}", busy.text("a busy process on every CPU"));
    let throttled = throttled.map(|rows| Agreement::of(&second, &rows, &third));
    if let Some(throttled) = &throttled {
        println!("{}", throttled.text("half a CPU"));
    }
    let share = steady.share();
    assert!(
        share.is_some_and(|share| share >= GOAL),
        "undecided: {share:?} of the figures of a quiet run agree with others"
    );
    for (name, agreement) in [("busy", Some(busy)), ("half a CPU", throttled)] {
        let share = agreement.and_then(|agreement| agreement.share());
        assert!(share.is_none_or(|share| share >= GOAL), "{name}: {share:?} of the resolved cases agree");
    }
}

/// Quiet, next to another process that computes on the same GPUs, quiet, quiet.
#[test]
#[ignore = "needs a CUDA device that is quiet otherwise, and measures for minutes: `make noise-gpu`"]
fn what_is_resolved_beside_another_process_on_the_gpu_is_right() {
    let quiet = |name| rows(name, "gpu.*", || Command::new(program()));
    let first = quiet("gpu-quiet-1");
    let beside = || {
        let mut busy = BusyGpus::start();
        let rows = rows("gpu-busy", "gpu.*", || Command::new(program()));
        assert!(busy.is_busy(), "the busy process ended before the run beside it");
        rows
    };
    let disturbed = kept("gpu-busy").unwrap_or_else(beside);
    let (second, third) = (quiet("gpu-quiet-2"), quiet("gpu-quiet-3"));
    let steady = Agreement::of(&first, &second, &third);
    println!("{}", steady.text("quiet, between quiet runs"));
    let disturbed = Agreement::of(&first, &disturbed, &second);
    println!("{}", disturbed.text("another process on the GPU"));
    assert!(steady.share().is_some_and(|share| share >= GOAL), "undecided: quiet runs differ: {:?}", steady.share());
    assert!(
        disturbed.share().is_some_and(|share| share >= GOAL),
        "{:?} of the resolved cases agree",
        disturbed.share()
    );
}

fn row(threads: u32, ns: f64, verdict: Verdict) -> Row {
    let case = Case { threads: Some(threads), ..Case::new("cpu.atomic.add") };
    Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, verdict) }
}

#[test]
fn only_what_both_runs_resolve_is_compared() {
    let noisy = || Verdict::Noisy("wide".to_owned());
    let quiet = [row(1, 5.0, Verdict::Resolved), row(2, 50.0, Verdict::Resolved), row(3, 9.0, noisy())];
    let disturbed = [row(1, 5.4, Verdict::Resolved), row(2, 90.0, noisy()), row(3, 20.0, Verdict::Resolved)];
    let agreement = Agreement::of(&quiet, &disturbed, &quiet);
    assert_eq!((agreement.compared, agreement.unknown, agreement.share()), (1, 1, Some(1.0)));
    let nothing = Agreement::of(&quiet, &[row(2, 90.0, noisy())], &quiet);
    assert_eq!(nothing.share(), None, "to resolve nothing is no merit");
}

/// A figure has to agree with the state that the machine was in, not with any state it ever had.
#[test]
fn a_figure_between_two_states_has_no_quiet_figure() {
    let of = |ns| [row(2, ns, Verdict::Resolved)];
    let (near, far) = (of(23.0), of(126.0));
    for ns in [24.0, 60.0, 125.0] {
        let between = Agreement::of(&near, &of(ns), &far);
        assert_eq!((between.compared, between.changed, between.share()), (0, 1, None), "{ns}");
    }
    for (ns, share) in [(24.0, 1.0), (125.0, 0.0)] {
        assert_eq!(Agreement::of(&near, &of(ns), &of(23.5)).share(), Some(share), "{ns}");
    }
}

#[test]
fn where_one_quiet_run_resolved_a_case_its_figure_counts_and_is_counted() {
    let resolved = [row(2, 50.0, Verdict::Resolved)];
    let noisy = [row(2, 80.0, Verdict::Noisy("wide".to_owned()))];
    for (before, after) in [(&resolved, &noisy), (&noisy, &resolved)] {
        let agreement = Agreement::of(before, &[row(2, 57.0, Verdict::Resolved)], after);
        assert_eq!((agreement.compared, agreement.with_one_quiet_run, agreement.off.len()), (1, 1, 1));
    }
}

/// A machine with other costs in a quiet run had them without any disturbance, and no figure is the quiet one.
#[test]
fn a_quiet_run_with_other_costs_shows_that_the_machine_changed() {
    let resolved = [row(2, 127.0, Verdict::Resolved)];
    let ranging = |low, high| {
        let noisy = row(2, 118.0, Verdict::Noisy("wide".to_owned()));
        [Row { ns_spread: Some(Interval { low, high }), ..noisy }]
    };
    let of = |ns, after: [Row; 1]| {
        let agreement = Agreement::of(&resolved, &[row(2, ns, Verdict::Resolved)], &after);
        (agreement.compared, agreement.changed, agreement.share())
    };
    for ns in [25.0, 125.0] {
        assert_eq!(of(ns, ranging(23.0, 130.0)), (0, 1, None), "{ns}: whether it agrees or not");
    }
    assert_eq!(of(25.0, ranging(118.0, 136.0)), (1, 0, Some(0.0)), "it never took 25 ns");
    assert_eq!(of(125.0, ranging(118.0, 136.0)), (1, 0, Some(1.0)));
}

/// After a pause by a quota a core starts again below its highest clock: nanoseconds differ but cycles do not.
#[test]
fn at_another_clock_the_cycles_have_to_agree() {
    let at = |ns: f64, hz: f64| [Row { cycles: Some(Cycles(ns * hz / 1e9)), ..row(1, ns, Verdict::Resolved) }];
    let share_at = |disturbed: [Row; 1]| {
        let quiet = at(10.0, 3e9);
        let agreement = Agreement::of(&quiet, &disturbed, &quiet);
        (agreement.share(), agreement.by_cycles)
    };
    assert_eq!(share_at(at(12.0, 2.5e9)), (Some(1.0), 1));
    assert_eq!(share_at(at(10.5, 2.5e9)), (Some(1.0), 0), "a time that agrees is enough");
    assert_eq!(share_at(at(12.0, 3e9)), (Some(0.0), 0));
    assert_eq!(share_at(at(15.0, 2.5e9)), (Some(0.0), 0), "neither the time nor the cycles");
}

#[test]
fn figures_that_are_half_or_twice_as_large_are_found() {
    let all = |factor: f64| -> Vec<Row> {
        (1..=10).map(|threads| row(threads, f64::from(threads) * factor, Verdict::Resolved)).collect()
    };
    let mut disturbed = all(1.09);
    disturbed[3] = row(4, 2.0, Verdict::Resolved);
    disturbed[7] = row(8, 20.0, Verdict::Resolved);
    let agreement = Agreement::of(&all(1.0), &disturbed, &all(1.0));
    assert_eq!((agreement.compared, agreement.share()), (10, Some(0.8)));
    let off: Vec<f64> = agreement.off.iter().map(|off| off.ratio).collect();
    assert_eq!(off, [2.5, 0.5], "the furthest first");
    assert!(agreement.text("busy").starts_with("busy: 80.0 % of 10 resolved cases lie within 10 %"));
}

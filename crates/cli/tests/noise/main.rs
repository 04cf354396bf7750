//! Are resolved figures right on a machine that is disturbed? Runs beside busy processes and under a quota of half a CPU
//! are compared with quiet runs before and after: `make noise`, on a machine that is quiet otherwise.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]
#![allow(clippy::print_stdout, reason = "the shares are read by people")]

mod agreement;
#[path = "../common/mod.rs"]
mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use agreement::Agreement;
use common::cgroup::Quota;
use common::stderr;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Case, Nanoseconds, Row, Verdict};

/// The share of the resolved cases that has to agree.
const GOAL: f64 = 0.95;

/// Processes that do nothing but use CPU time, one for each CPU.
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

/// The rows of a run of the command that `start` makes.
fn rows(name: &str, start: impl FnOnce() -> Command) -> Vec<Row> {
    let kept = std::env::var("SYNCSCOPE_NOISE_RUNS").ok();
    let folder = tempfile::tempdir().unwrap();
    let out = kept.map_or_else(|| folder.path().join(name), |kept| Path::new(&kept).join(name));
    let options = std::env::var("SYNCSCOPE_NOISE_OPTIONS").unwrap_or_else(|_| "--preset quick".to_owned());
    let mut command = start();
    command.args(["run", "--seed", "1", "--only", "cpu.*", "--out", out.to_str().unwrap()]).args(options.split(' '));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{name}: {}", stderr(&output));
    RunDirectory::open(&out).unwrap().read_rows().unwrap()
}

#[test]
#[ignore = "measures for minutes, and wants a machine that is quiet otherwise: `make noise`"]
fn what_is_resolved_beside_busy_processes_is_right() {
    let syncscope = || Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let before = rows("quiet", syncscope);
    let busy = {
        let _busy = BusyProcesses::on_all_cpus();
        rows("busy", syncscope)
    };
    let quota = Quota::of_half_a_cpu();
    let throttled = quota.map(|quota| rows("half-a-cpu", || quota.command(env!("CARGO_BIN_EXE_syncscope"))));
    let after = rows("quiet-again", syncscope);
    // Where they differ, the machine has changed its state meanwhile. That is no fault.
    println!("{}", Agreement::of(&[&before], &after).text("quiet, again"));
    let quiet = [before.as_slice(), &after];
    let busy = Agreement::of(&quiet, &busy);
    println!("{}", busy.text("a busy process on every CPU"));
    let throttled = throttled.map(|rows| Agreement::of(&quiet, &rows));
    if let Some(throttled) = &throttled {
        println!("{}", throttled.text("half a CPU"));
    }
    for (name, agreement) in [("busy", Some(busy)), ("half a CPU", throttled)] {
        let share = agreement.and_then(|agreement| agreement.share());
        assert!(share.is_none_or(|share| share >= GOAL), "{name}: {share:?} of the resolved cases agree");
    }
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
    let agreement = Agreement::of(&[&quiet], &disturbed);
    assert_eq!((agreement.compared, agreement.share()), (1, Some(1.0)));
    assert_eq!(Agreement::of(&[&quiet], &[row(2, 90.0, noisy())]).share(), None, "to resolve nothing is no merit");
}

#[test]
fn a_machine_of_two_states_has_two_quiet_figures() {
    let of = |ns| [row(2, ns, Verdict::Resolved)];
    let (near, far) = (of(23.0), of(126.0));
    for (ns, share) in [(24.0, 1.0), (125.0, 1.0), (60.0, 0.0)] {
        assert_eq!(Agreement::of(&[&near, &far], &of(ns)).share(), Some(share), "{ns}");
    }
}

#[test]
fn figures_that_are_half_or_twice_as_large_are_found() {
    let all = |factor: f64| -> Vec<Row> {
        (1..=10).map(|threads| row(threads, f64::from(threads) * factor, Verdict::Resolved)).collect()
    };
    let mut disturbed = all(1.09);
    disturbed[3] = row(4, 2.0, Verdict::Resolved);
    disturbed[7] = row(8, 20.0, Verdict::Resolved);
    let agreement = Agreement::of(&[&all(1.0)], &disturbed);
    assert_eq!((agreement.compared, agreement.share()), (10, Some(0.8)));
    let off: Vec<f64> = agreement.off.iter().map(|off| off.ratio).collect();
    assert_eq!(off, [2.5, 0.5], "the furthest first");
    assert!(agreement.text("busy").starts_with("busy: 80 % of 10 resolved cases lie within 10 %"));
}

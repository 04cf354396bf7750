//! The laboratory makes experiments that run and check themselves, with the remarks that a reader needs.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use syncscope_core::machine::{CpuMachine, Environment};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    Cancel, Case, Check, Dtype, Engine, Form, Laboratory, Layout, Measurement, MemoryOrder, Placement, Preset, Refusal,
    Row, Side, Verdict,
};
use syncscope_core::{Group, Settings};
use syncscope_cpu::bench::{barrier, handoff, lock, operation};
use syncscope_cpu::primitives::{Executed, Operation, Workload, workload_of};
use syncscope_cpu::{CpuLaboratory, catalogue};
use syncscope_machine::studies::core_to_core;

/// Short and coarse: no test here depends on times.
fn engine() -> Engine {
    let rule = PrecisionRule { precision: 0.5, min_pairs: 8, max_pairs: 8, max_time: Duration::from_millis(20) };
    Engine::new(
        Settings { sample: Duration::from_micros(20), noisy_above: 0.5, ..Settings::with_rule(rule) },
        Cancel::new(),
    )
}

fn measure(laboratory: &mut CpuLaboratory, case: &Case) -> Measurement {
    let mut experiment = laboratory.experiment(case).unwrap();
    engine().measure(experiment.as_mut(), 1).unwrap()
}

/// Whether a case was not measured because other programs used the CPUs: its threads wait for each other.
fn was_kept_from_the_cpus(measurement: &Measurement) -> bool {
    let is_late = matches!(measurement.verdict, Verdict::TimedOut(_) | Verdict::Interfered(_));
    is_late && measurement.check == Check::NotApplicable
}

#[test]
fn every_planned_case_can_be_made() {
    let machine = CpuMachine { packages: 1, numa_nodes: 2, cores: 4, hardware_threads: 8, ..CpuMachine::default() };
    let listing = CpuLaboratory::open().unwrap().listing();
    for case in Preset::ALL.iter().flat_map(|preset| syncscope_cpu::cases(*preset, &machine)) {
        let line = listing.iter().find(|line| line.primitive.id == case.primitive).unwrap();
        assert_eq!(workload_of(&case).is_ok(), line.unavailable.is_none(), "{case}");
    }
}

#[test]
fn every_primitive_passes_its_check() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let mut by_kind = BTreeMap::new();
    for case in laboratory.plan(Preset::Paper) {
        let threads = case.threads.map(|threads| threads.min(4));
        by_kind.insert((case.primitive.clone(), case.dtype, case.layout, case.mode, case.form, threads), case);
    }
    let listing = laboratory.listing();
    let exists = |case: &&Case| {
        let missing = listing.iter().any(|line| line.primitive.id == case.primitive && line.unavailable.is_some());
        // A case without a placement stands for something that this machine lacks. Worker processes run the command, which this
        // program is not.
        let is_of_command = case.form == Some(Form::OneThreadProcess)
            || ["cpu.process.", "cpu.openmp."].iter().any(|family| case.primitive.starts_with(family));
        !missing && !is_of_command && case.placement.is_some() && case.threads.unwrap() <= 4
    };
    let cases: Vec<&Case> = by_kind.values().filter(exists).collect();
    let mut unmeasured = Vec::new();
    for case in &cases {
        if let Err(Refusal::Lost(_)) = laboratory.experiment(case).map(|_| ()) {
            // The threads of the case before have not come back yet.
            laboratory = CpuLaboratory::open().unwrap();
        }
        let measurement = measure(&mut laboratory, case);
        if was_kept_from_the_cpus(&measurement) {
            unmeasured.push(*case);
            continue;
        }
        if let Verdict::Elided(reason) = &measurement.verdict {
            let nature = syncscope_cpu::elided_by_nature(&case.primitive, std::env::consts::ARCH);
            assert_eq!(nature, Some(reason.as_str()), "{case}");
            continue;
        }
        assert_eq!(measurement.check, Check::Ok, "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
    }
    assert!(unmeasured.len() * 10 <= cases.len(), "{unmeasured:?} of {}", cases.len());
}

#[test]
fn the_catalogue_is_what_is_listed_and_planned() {
    let laboratory = CpuLaboratory::open().unwrap();
    let listing = laboratory.listing();
    let listed: Vec<_> = listing.iter().map(|line| line.primitive.id).collect();
    assert_eq!(listed, catalogue().iter().map(|primitive| primitive.id).collect::<Vec<_>>());
    let planned = |preset| {
        let mut planned: Vec<_> = laboratory.plan(preset).into_iter().map(|case| case.primitive).collect();
        planned.dedup();
        planned
    };
    // What this machine lacks may be without cases.
    let in_paper = planned(Preset::Paper);
    let expected =
        listing.iter().filter(|line| line.unavailable.is_none() || in_paper.contains(&line.primitive.id.into()));
    assert_eq!(in_paper, expected.map(|line| line.primitive.id).collect::<Vec<_>>());
    let mut rest = listed.iter();
    assert!(planned(Preset::Quick).iter().all(|id| rest.any(|listed| listed == id)), "in the catalogue's order");
    let mut ids: Vec<_> = laboratory.plan(Preset::Paper).iter().map(Case::id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "no case is planned twice");
}

#[test]
fn more_threads_than_cpus_are_remarked() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let cpu = laboratory.topology().allowed_cpus()[0];
    let case = Case { threads: Some(3), placement: Some(Placement::List(vec![cpu])), ..Case::new("cpu.barrier.sense") };
    let measurement = measure(&mut laboratory, &case);
    assert!(measurement.remark.unwrap().starts_with("3 threads on 1 CPU"));
    assert_eq!(measurement.excluded, 0, "context switches are part of what is measured");
}

#[test]
fn a_class_of_pairs_that_does_not_exist_is_skipped() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let plan = laboratory.plan(Preset::Standard);
    let missing: Vec<_> = plan.iter().filter(|case| case.placement.is_none()).collect();
    assert!(!missing.is_empty(), "no machine has pairs of all classes");
    for case in missing {
        assert!(matches!(laboratory.experiment(case), Err(Refusal::Skipped(reason)) if reason.contains("may use")));
    }
}

#[test]
fn the_matrix_shows_which_cpus_are_near() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let plan = laboratory.plan(Preset::Quick);
    let of_pair =
        |case: &&Case| case.primitive == core_to_core::PRIMITIVE && matches!(case.placement, Some(Placement::List(_)));
    let pairs: Vec<&Case> = plan.iter().filter(of_pair).collect();
    let cpus = laboratory.topology().allowed().count();
    assert_eq!(pairs.len(), (cpus * (cpus - 1) / 2).min(if cpus <= 64 { 512 } else { 256 }));
    let all = cpus * (cpus - 1) / 2;
    assert_eq!(laboratory.notes(Preset::Quick, &plan).is_empty(), pairs.len() == all, "a sample is noted");
    let Some(case) = pairs.first() else { return };
    let measurement = measure(&mut laboratory, case);
    assert_eq!(measurement.check, Check::Ok);
    let row = Row::measured((*case).clone(), None, &measurement);
    if matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_)) {
        let measured = laboratory.measured_topology(std::slice::from_ref(&row)).unwrap();
        assert_eq!(measured.groups.len(), 1);
        assert_eq!((Some(measured.groups[0].handoff_ns), measured.contradictions.len()), (row.ns.map(|ns| ns.0), 0));
    }
    assert_eq!(laboratory.measured_topology(&[]), None);
}

#[test]
fn the_line_is_on_the_node_of_its_group() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let Some(node) = laboratory.topology().allowed().next().unwrap().numa_node else { return };
    let cpu = laboratory.topology().allowed_cpus()[0];
    for primitive in ["cpu.atomic.add", core_to_core::PRIMITIVE] {
        let on = |node: u32| Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            order: Some(MemoryOrder::Relaxed),
            threads: Some(2),
            placement: Some(Placement::List(vec![cpu])),
            group: Some(Group::numbered("line_on_node #", node)),
            ..Case::new(primitive)
        };
        match laboratory.experiment(&on(node)) {
            Ok(experiment) => {
                assert!(experiment.remark().unwrap().ends_with(&format!("the line is on NUMA node {node}")));
            }
            // A sandbox may forbid the call.
            Err(Refusal::Skipped(reason)) => assert!(reason.contains("move_pages"), "{reason}"),
            Err(other) => panic!("{other}"),
        }
        assert!(matches!(laboratory.experiment(&on(4242)), Err(Refusal::Skipped(reason)) if reason.contains("4242")));
    }
}

#[test]
fn a_hand_off_is_half_a_round_trip() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let case = Case { threads: Some(2), ..Case::new("cpu.handoff.futex") };
    let experiment = laboratory.experiment(&case).unwrap();
    assert_eq!(experiment.operations(Side::Baseline, 1), 2 * u64::from(experiment.protocol().unroll));
}

#[test]
fn an_unknown_primitive_is_skipped() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let unknown = Case::new("cpu.barrier.telepathic");
    assert!(matches!(laboratory.experiment(&unknown), Err(Refusal::Skipped(reason)) if reason.contains("telepathic")));
    let incomplete = Case::new("cpu.atomic.add");
    assert!(matches!(laboratory.experiment(&incomplete), Err(Refusal::Skipped(_))));
}

/// Panics in one of its threads.
struct Panics;

impl Operation for Panics {
    type Local<'a> = usize;
    fn local(&self, _: usize, thread: usize) -> usize {
        thread
    }
    fn execute(thread: &mut usize) {
        if *thread == 1 {
            std::panic::resume_unwind(Box::new("out of luck"));
        }
    }
    fn prepare(&self, _: usize, _: usize) {}
    fn verify(&self, _: usize, _: usize, _: Executed) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn after_a_panic_the_next_experiment_works() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let mut experiment = laboratory.experiment_of(Workload::of(Panics), &Placement::None, 2).unwrap();
    let failed = engine().measure(experiment.as_mut(), 1).unwrap();
    assert!(failed.verdict.is_failure());
    assert_eq!(failed.verdict.reason(), "thread 1 panicked: out of luck");
    drop(experiment);
    let next = Case { threads: Some(2), placement: Some(Placement::None), ..Case::new("cpu.barrier.sense") };
    assert_eq!(measure(&mut laboratory, &next).check, Check::Ok);
}

#[test]
fn operations_are_counted_per_thread() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let case = Case { threads: Some(1), ..Case::new("cpu.barrier.std") };
    let experiment = laboratory.experiment(&case).unwrap();
    assert_eq!(experiment.operations(Side::Test, 10), 2 * experiment.operations(Side::Baseline, 10));
    assert_eq!(experiment.operations(Side::Baseline, 1), u64::from(experiment.protocol().unroll));
}

#[test]
fn the_environment_is_described() {
    let laboratory = CpuLaboratory::open().unwrap();
    let mut environment = Environment::default();
    laboratory.describe(&mut environment);
    assert_eq!(environment.clocks.len(), 1);
    assert!(!environment.allowed_cpus.is_empty() && environment.os.contains("kernel"));
    assert!(environment.libraries["parking_lot"].starts_with("0."));
    assert!(environment.libraries["rust"].starts_with("rustc 1."));
    assert!(cfg!(not(target_env = "gnu")) || environment.libraries["glibc"].starts_with("2."));
    assert!(!laboratory.machine().model.is_empty());
}

/// What a program measures of its own, with one thread: a holder that a busy machine stops would let the others time out.
#[test]
fn each_kind_of_a_bench_does_its_work() {
    let spin = lock(
        "spin",
        |_| AtomicBool::new(false),
        |lock, me| {
            while lock.swap(true, Ordering::Acquire) {
                spin_loop();
            }
            me.count();
            lock.store(false, Ordering::Release);
        },
    );
    let std = lock(
        "std",
        |_| Mutex::new(()),
        |lock, me| {
            let _held = lock.lock();
            me.count();
        },
    );
    let forgets = lock("forgets", |_| (), |(), _| ());
    let add = operation(
        "add",
        |_| AtomicU64::new(0),
        |x, _| {
            x.fetch_add(1, Ordering::Relaxed);
        },
    );
    let waits = barrier(
        "waits",
        |threads| Barrier::new(threads as usize),
        |barrier, _| {
            barrier.wait();
        },
    );
    let short = Duration::from_millis(20);
    let found = &spin.against(std).against(add).against(waits).measure(&[1], short).unwrap()[0];
    assert!(found.costs.iter().all(|(_, one)| !one.verdict.is_failure()), "{found}");
    assert_eq!((found.costs.len(), found.ratios.len()), (4, 3));
    assert!(
        format!("{:?}", found.costs[2].1.evidence).contains("lock ") || cfg!(not(target_arch = "x86_64")),
        "{found:?}"
    );
    let found = &forgets.measure(&[1], short).unwrap()[0];
    let (_, forgets) = &found.costs[0];
    assert!(forgets.verdict.is_failure() || forgets.estimate.is_none(), "it counts nothing: {found}");
    let pass = handoff(
        "pass",
        |_| AtomicUsize::new(0),
        |token, me| {
            while token.load(Ordering::Acquire) != me.thread() {
                spin_loop();
            }
            me.count();
            token.store(1 - me.thread(), Ordering::Release);
        },
    );
    assert!(pass.measure(&[1], short).unwrap_err().contains("--threads 2"));
}

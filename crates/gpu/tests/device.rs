//! Tests that need a CUDA device: `make test-gpu`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

#[path = "device/asynchrony.rs"]
mod asynchrony;
#[path = "device/barriers.rs"]
mod barriers;
#[path = "device/crosscheck.rs"]
mod crosscheck;
#[path = "device/nccl.rs"]
mod nccl;
#[path = "device/reductions.rs"]
mod reductions;
#[path = "device/stress.rs"]
mod stress;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use syncscope_core::machine::Environment;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    BlockCount, Cancel, Case, Check, Dtype, Engine, Form, Laboratory, Layout, Measurement, Mode, Preset, Refusal, Row,
    Scope, Shot, Side, Space, Verdict,
};
use syncscope_core::{Group, Settings};
use syncscope_gpu::compile::Program;
use syncscope_gpu::{Fault, GpuError, GpuLaboratory, NvrtcError, program_of};

#[path = "device/timeline.rs"]
mod timeline;

fn open() -> GpuLaboratory {
    GpuLaboratory::open(None).unwrap_or_else(|error| panic!("{error}"))
}

fn engine() -> Engine {
    let rule = PrecisionRule { precision: 0.005, min_pairs: 8, max_pairs: 40, max_time: Duration::from_millis(100) };
    Engine::new(Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule }, Cancel::new())
}

fn measure(laboratory: &mut GpuLaboratory, case: &Case) -> Measurement {
    let mut experiment = laboratory.experiment(case).unwrap_or_else(|error| panic!("{case}: {error}"));
    engine().measure(experiment.as_mut(), 1).unwrap()
}

fn cycles(measurement: &Measurement) -> f64 {
    measurement.estimate.as_ref().unwrap().cycles.unwrap().value()
}

/// The case of a plan that `wanted` describes.
fn planned(laboratory: &GpuLaboratory, wanted: impl Fn(&Case) -> bool) -> Case {
    laboratory.plan(Preset::Standard).into_iter().find(|case| wanted(case)).unwrap()
}

/// Whether a case in its default form is of this primitive and on this grid.
fn on_grid(case: &Case, id: &str, blocks: u32, threads: u32) -> bool {
    case.form.is_none() && case.primitive == id && case.blocks == Some(blocks) && case.threads == Some(threads)
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_device_and_its_clock_are_described() {
    let laboratory = open();
    let machines = laboratory.machine();
    assert!(machines[0].multiprocessors > 0 && machines[0].max_threads_per_block >= 1024, "{machines:?}");
    let mut environment = Environment::default();
    laboratory.describe(&mut environment);
    let clock = &environment.clocks[0];
    assert!((5e8..5e9).contains(&clock.frequency_hz), "{clock:?}");
    assert!(clock.read_cost_ns > 0.0 && clock.read_cost_ns < 100.0, "{clock:?}");
    assert!(environment.cuda_driver.is_some() && environment.nvrtc.is_some() && environment.nvidia_driver.is_some());
    println!("{machines:#?}\n{environment:#?}\n{:#?}", laboratory.warnings());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_barrier_of_one_warp_costs_some_dozens_of_cycles() {
    let mut laboratory = open();
    let case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    let measurement = measure(&mut laboratory, &case);
    assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
    // 23 and 24 on A100 and RTX 4090 (SyncPerformance's figures), 14 on H200.
    assert!((10.0..40.0).contains(&cycles(&measurement)), "{}", cycles(&measurement));
    let full = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 1024));
    let full = measure(&mut laboratory, &full);
    assert!(cycles(&full) > 1.5 * cycles(&measurement), "32 warps take longer than one: {}", cycles(&full));
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_shuffle_takes_its_latency_and_two_for_64_bits() {
    let mut laboratory = open();
    let of = |laboratory: &GpuLaboratory, dtype| {
        planned(laboratory, |case| on_grid(case, "gpu.shuffle.idx", 1, 32) && case.dtype == Some(dtype))
    };
    for (dtype, expected) in [(Dtype::I32, 15.0..40.0), (Dtype::F32, 15.0..40.0), (Dtype::F64, 15.0..80.0)] {
        let case = of(&laboratory, dtype);
        assert_eq!(case.mode, Some(Mode::Latency));
        let measurement = measure(&mut laboratory, &case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
        assert!(expected.contains(&cycles(&measurement)), "{case}: {}", cycles(&measurement));
    }
}

/// Checks of every kind of grid: parts of warps, parts of blocks, more blocks than multiprocessors.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_primitive_does_its_work_on_every_kind_of_grid() {
    let mut laboratory = open();
    let multiprocessors = laboratory.machine()[0].multiprocessors;
    let layouts =
        [None, Some(Layout::Shared), Some(Layout::Private { stride: 1 }), Some(Layout::Private { stride: 32 })];
    let is_usual = |case: &Case| [1, 2 * multiprocessors].map(Some).contains(&case.blocks);
    let plan = laboratory.plan(Preset::Standard);
    let on_usual_grids: HashSet<_> =
        plan.iter().filter(|case| is_usual(case)).map(|case| case.primitive.clone()).collect();
    let cases: Vec<Case> = plan
        .into_iter()
        .filter(|case| [1, 16, 32, 1024].map(Some).contains(&case.threads))
        .filter(|case| {
            let is_wide = matches!(case.group, Some(Group::Cluster(_)));
            let is_tried = is_usual(case) || !on_usual_grids.contains(&case.primitive);
            is_tried || is_wide || case.primitive.starts_with("gpu.grid.") || case.primitive.starts_with("gpu.multi.")
        })
        .filter(|case| layouts.contains(&case.layout))
        // A hundred thousand threads on one variable take seconds and show no more than ten thousand.
        .filter(|case| case.actors() <= 16_384)
        .collect();
    laboratory.prepare(&cases, &mut |_, _| {});
    let mut done = HashSet::new();
    let mut wrong = Vec::new();
    for case in cases {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => short_engine().measure(experiment.as_mut(), 1).unwrap(),
            Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        if measurement.check != Check::Ok || measurement.verdict.is_failure() {
            wrong.push(format!("{case}: {:?}, {}", measurement.check, measurement.verdict));
        }
        done.insert(case.primitive);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let listing = laboratory.listing();
    let missing: Vec<_> = listing
        .iter()
        .filter(|line| line.unavailable.is_none() && !done.contains(line.primitive.id))
        .map(|line| line.primitive.id)
        .collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
}

/// One case of each primitive with a third loop, of few blocks. A sum that does not count the third loop is wrong.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_third_loop_of_every_primitive_runs_and_is_checked() {
    let mut laboratory = open();
    let mut seen = HashSet::new();
    let mut wrong = Vec::new();
    for case in laboratory.plan(Preset::Standard) {
        if case.actors() > 16_384 * 8 || !seen.insert((case.primitive.clone(), case.mode, case.space, case.layout)) {
            continue;
        }
        let mut experiment = match laboratory.experiment(&case) {
            Ok(experiment) if experiment.has_double() => experiment,
            Ok(_) | Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let iterations = experiment.min_iterations().max(2);
        let shot = |side, pair| Shot { side, iterations, pair };
        let shots = [shot(Side::Test, 1), shot(Side::Double, 1), shot(Side::Baseline, 1), shot(Side::Double, 2)];
        let samples = experiment.samples(&shots).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(samples.len(), shots.len());
        let check = experiment.check();
        if check != Check::Ok {
            wrong.push(format!("{case}: {check:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen.len() > 40, "{}", seen.len());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_second_barrier_of_a_block_costs_what_the_first_one_does() {
    let mut laboratory = open();
    let engine = engine().test_additivity(true);
    for (id, threads) in [("gpu.block.syncthreads", 256), ("gpu.shuffle.idx", 32), ("gpu.grid.cooperative", 32)] {
        let case = planned(&laboratory, |case| case.primitive == id && case.threads == Some(threads));
        let mut experiment = laboratory.experiment(&case).unwrap();
        let measurement = engine.measure(experiment.as_mut(), 1).unwrap();
        let [first, second] = ["first_copy_ns", "second_copy_ns"].map(|name| detail(&measurement, name));
        println!("{case}: {} ns, copies {first} and {second} ns, {}", ns(&measurement), measurement.verdict);
        assert_eq!(measurement.verdict, Verdict::Resolved, "{case}: {first} and {second}");
        assert!((second / first - 1.0).abs() < 0.05, "{case}: {first} and {second}");
    }
}

/// One block in each of three passes. Their contexts are new, and the figures are of the same thing.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_case_goes_on_in_the_contexts_of_later_passes() {
    let mut laboratory = open();
    let blocks = BlockCount { min: 3, max: 3 };
    let engine = engine().with_blocks(blocks);
    let wanted = [
        ("gpu.block.syncthreads", 1),
        ("gpu.atomic.add", 2),
        ("gpu.lock.ticket", 1),
        ("gpu.grid.counter", 1),
        ("gpu.launch.stream", 1),
    ];
    let cases = wanted.map(|(id, at_least)| {
        planned(&laboratory, |case| case.primitive == id && case.blocks.is_some_and(|blocks| blocks >= at_least))
    });
    let mut found: Vec<Option<Measurement>> = vec![None; cases.len()];
    for pass in 0..blocks.max {
        let started = Instant::now();
        laboratory.begin_pass(pass);
        let destroyed = started.elapsed();
        for (case, found) in cases.iter().zip(&mut found) {
            let started = Instant::now();
            let mut experiment = laboratory.experiment(case).unwrap_or_else(|error| panic!("{case}: {error}"));
            println!("pass {pass}, {case}: {destroyed:?} to give up, {:?} to set up", started.elapsed());
            *found = Some(engine.measure_block(experiment.as_mut(), found.take(), 1).unwrap());
        }
    }
    for (case, measurement) in cases.iter().zip(found) {
        let measurement = measurement.unwrap();
        assert_eq!((measurement.blocks, &measurement.check), (blocks.max, &Check::Ok), "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
        let of_block = |block| {
            let mut all: Vec<f64> = Vec::new();
            all.extend(measurement.observations.iter().filter(|pair| pair.block == block).map(|pair| pair.ns));
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let medians = [1, 2, 3].map(of_block);
        println!("{case}: {medians:?} ns in the three blocks");
        let (low, high) = medians.iter().fold((f64::MAX, f64::MIN), |(low, high), ns| (low.min(*ns), high.max(*ns)));
        assert!(high < 1.5 * low, "{case}: {medians:?}");
    }
}

/// Two pairs are enough to see whether something works.
fn short_engine() -> Engine {
    let rule = PrecisionRule { precision: 0.1, min_pairs: 2, max_pairs: 2, max_time: Duration::from_millis(50) };
    Engine::new(Settings { sample: Duration::from_micros(20), noisy_above: 0.05, rule }, Cancel::new())
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn divergent_halves_of_a_warp_take_longer() {
    let mut laboratory = open();
    let mut of = |group: &Group| {
        let wanted = |case: &Case| on_grid(case, "gpu.warp.syncwarp", 1, 32) && case.group.as_ref() == Some(group);
        let case = planned(&laboratory, wanted);
        measure(&mut laboratory, &case)
    };
    let (together, apart) = (of(&Group::Converged), of(&Group::Divergent));
    assert_eq!((&apart.verdict, &apart.check), (&Verdict::Resolved, &Check::Ok), "{apart:?}");
    assert!(cycles(&apart) > 2.0 * cycles(&together), "{} and {}", cycles(&apart), cycles(&together));
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn waiting_for_an_atomics_result_takes_longer_than_not_waiting() {
    let mut laboratory = open();
    let mut of = |mode, space| {
        let wanted = |case: &Case| {
            let is_mode = case.mode == Some(mode) && case.space == Some(space) && case.scope != Some(Scope::System);
            let is_kind = case.dtype == Some(Dtype::I32) && case.layout == Some(Layout::Shared);
            on_grid(case, "gpu.atomic.add", 1, 32) && is_mode && is_kind
        };
        let case = planned(&laboratory, wanted);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        cycles(&measurement)
    };
    let unused = of(Mode::Throughput, Space::Global);
    let used = of(Mode::Latency, Space::Global);
    let in_shared = of(Mode::Latency, Space::Shared);
    assert!(used > 100.0 && used > 2.0 * unused, "the way to the cache and back: {used}, {unused}");
    assert!(in_shared < used, "shared memory is nearer: {in_shared}, {used}");
}

/// One addition for a warp costs less than one for each lane.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn additions_that_the_compiler_aggregates_cost_less() {
    let mut laboratory = open();
    let mut of = |form| {
        let wanted = |case: &Case| {
            let is_kind = case.dtype == Some(Dtype::I32) && case.layout == Some(Layout::Shared) && case.form == form;
            let is_plain = case.scope == Some(Scope::Device) && case.mode == Some(Mode::Throughput);
            let as_written = Case { form: None, ..case.clone() };
            on_grid(&as_written, "gpu.atomic.add", 1, 1024) && is_kind && is_plain
        };
        let case = planned(&laboratory, wanted);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        cycles(&measurement)
    };
    let (as_written, varying) = (of(None), of(Some(Form::Varying)));
    let one_by_one = of(Some(Form::NotAggregated));
    assert!(as_written < 0.5 * one_by_one, "{as_written}, {varying}, {one_by_one}");
    assert!(varying < one_by_one, "{as_written}, {varying}, {one_by_one}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn nanoseconds_and_cycles_agree_with_the_clock() {
    let mut laboratory = open();
    let case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 2, 256));
    let measurement = measure(&mut laboratory, &case);
    let estimate = measurement.estimate.as_ref().unwrap();
    let hertz = estimate.cycles.unwrap().value() / estimate.ns.value() * 1e9;
    assert!((hertz / measurement.clock.unwrap().value() - 1.0).abs() < 0.01, "{hertz} and {:?}", measurement.clock);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_kernel_that_hangs_is_stopped_and_later_cases_go_on() {
    let mut laboratory = open();
    let started = Instant::now();
    let mut experiment = laboratory.faulty(Fault::Hang, Duration::from_millis(300)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    assert!(matches!(measurement.verdict, Verdict::TimedOut(_)), "{}", measurement.verdict);
    drop(experiment);
    assert!(started.elapsed() < Duration::from_secs(10));
    works(&mut laboratory);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_kernel_that_breaks_its_context_fails_and_nothing_hangs() {
    // Such an error stays in the process: the driver returns it from every later call.
    if std::env::var_os(CHILD).is_none() {
        return in_a_process_of_its_own("a_kernel_that_breaks_its_context_fails_and_nothing_hangs");
    }
    let mut laboratory = open();
    let mut experiment = laboratory.faulty(Fault::Trap, Duration::from_secs(5)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    let Verdict::Failed(reason) = &measurement.verdict else { panic!("{}", measurement.verdict) };
    assert!(reason.contains("CUDA_ERROR"), "{reason}");
    drop(experiment);
    let case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    let again = laboratory.experiment(&case).map(drop);
    match again {
        Ok(()) => works(&mut laboratory),
        Err(Refusal::Lost(reason)) => assert!(reason.contains("CUDA_ERROR"), "{reason}"),
        Err(other) => panic!("{other}"),
    }
}

/// The case of the standard plan with this primitive, group and shape.
fn with_host(laboratory: &GpuLaboratory, id: &str, group: &Group, blocks: u32, threads: u32) -> Case {
    planned(laboratory, |case| on_grid(case, id, blocks, threads) && case.group.as_ref() == Some(group))
}

fn ns(measurement: &Measurement) -> f64 {
    measurement.estimate.as_ref().unwrap().ns.value()
}

fn detail(measurement: &Measurement, name: &str) -> f64 {
    measurement.details.iter().find(|detail| detail.name == name).unwrap().value
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn launches_are_barriers_and_waiting_for_each_costs_more() {
    let mut laboratory = open();
    let mut of = |id: &str, group: &Group| {
        let case = with_host(&laboratory, id, group, 1, 32);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
        println!("{case}: {} ns, {}", ns(&measurement), measurement.verdict);
        ns(&measurement)
    };
    let [stream, graph, waited] =
        ["gpu.launch.stream", "gpu.launch.graph", "gpu.launch.stream_sync"].map(|id| of(id, &Group::EmptyKernel));
    assert!((200.0..20_000.0).contains(&stream), "a launch takes microseconds: {stream}");
    assert!(graph < stream, "a graph is launched once: {graph}, {stream}");
    assert!(waited > 1.5 * stream, "there and back: {waited}, {stream}");
    let [cooperative, event] =
        ["gpu.launch.cooperative", "gpu.launch.event_sync"].map(|id| of(id, &Group::EmptyKernel));
    assert!(cooperative > 200.0 && event > stream);
    let hidden = of("gpu.launch.stream", &Group::KernelUs(5));
    assert!(hidden < 5000.0, "a kernel's own length is not its launch's: {hidden}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_chain_of_full_grids_is_a_chain_of_barriers() {
    let mut laboratory = open();
    let multiprocessors = laboratory.machine()[0].multiprocessors;
    for id in ["stream", "cooperative", "graph", "stream_sync", "event_sync"] {
        let case = with_host(&laboratory, &format!("gpu.launch.{id}"), &Group::EmptyKernel, multiprocessors, 1024);
        let mut experiment = laboratory.experiment(&case).unwrap();
        assert_eq!(experiment.check(), Check::Ok, "{case}");
    }
    let too_many = Case {
        blocks: Some(100 * multiprocessors),
        ..with_host(&laboratory, "gpu.launch.cooperative", &Group::EmptyKernel, 1, 32)
    };
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&too_many).map(drop) else { panic!("{too_many}") };
    assert!(reason.contains("cannot run at the same time"), "{reason}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_clocks_of_both_sides_agree_on_a_round_trip() {
    let mut laboratory = open();
    let case = with_host(&laboratory, "hybrid.flag.round_trip", &Group::Near, 1, 1);
    let measurement = measure(&mut laboratory, &case);
    assert_eq!(measurement.check, Check::Ok, "{case}");
    println!("{case}: {} ns, {:?}", ns(&measurement), measurement.details);
    assert!((300.0..20_000.0).contains(&ns(&measurement)), "{}", ns(&measurement));
    let [device, host] = ["device_clock_ns", "host_clock_ns"].map(|name| detail(&measurement, name));
    assert!((host / device - 1.0).abs() < 0.02, "{host} and {device}");
    assert!((device / ns(&measurement) - 1.0).abs() < 0.1, "{device} and {}", ns(&measurement));
    assert!(detail(&measurement, "p50_ns") <= detail(&measurement, "p99_ns"));
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_cpu_thread_that_does_not_answer_is_given_up() {
    let mut laboratory = open();
    let case = with_host(&laboratory, "hybrid.flag.round_trip", &Group::Near, 1, 1);
    let started = Instant::now();
    let mut experiment = laboratory.silent_round_trip(&case, Duration::from_millis(300)).unwrap();
    let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
    assert!(matches!(measurement.verdict, Verdict::TimedOut(_)), "{}", measurement.verdict);
    drop(experiment);
    assert!(started.elapsed() < Duration::from_secs(10));
    works(&mut laboratory);
    assert_eq!(measure(&mut laboratory, &case).check, Check::Ok);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn additions_of_one_side_are_never_lost() {
    let mut laboratory = open();
    let alone: Vec<Case> = laboratory
        .plan(Preset::Standard)
        .into_iter()
        .filter(|case| case.primitive == "hybrid.atomic.add")
        .filter(|case| case.group != Some(Group::Both))
        .collect();
    assert!(!alone.is_empty());
    for case in alone {
        let mut experiment = laboratory.experiment(&case).unwrap_or_else(|error| panic!("{case}: {error}"));
        let measurement = short_engine().measure(experiment.as_mut(), 1).unwrap();
        assert_eq!(measurement.check, Check::Ok, "{case}");
    }
}

const CHILD: &str = "SYNCSCOPE_TEST_CHILD";

fn in_a_process_of_its_own(test: &str) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(CHILD, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

fn works(laboratory: &mut GpuLaboratory) {
    let case = planned(laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    let measurement = measure(laboratory, &case);
    assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_missing_device_is_named() {
    let error = GpuLaboratory::open(Some(&[99])).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("there is no device 99; there "), "{error}");
    assert!(!matches!(error, GpuError::Nvrtc(NvrtcError::NotFound)));
    let mut laboratory = open();
    let mut case = planned(&laboratory, |case| on_grid(case, "gpu.block.syncthreads", 1, 32));
    case.threads = Some(2048);
    assert!(matches!(laboratory.experiment(&case), Err(Refusal::Skipped(_))));
    assert!(matches!(laboratory.experiment(&Case::new("gpu.block.none")), Err(Refusal::Skipped(_))));
}

/// The cases of each program of the paper's plan.
fn cases_of_programs(laboratory: &GpuLaboratory) -> Vec<Vec<Case>> {
    let mut programs: HashMap<Program, Vec<Case>> = HashMap::new();
    for case in laboratory.plan(Preset::Paper) {
        programs.entry(program_of(&case).unwrap()).or_default().push(case);
    }
    programs.into_values().collect()
}

/// Small enough for a tool that makes every program a hundred times slower.
fn is_small(case: &Case) -> bool {
    case.blocks.is_some_and(|blocks| blocks <= 2) && case.threads.is_some_and(|threads| threads <= 256)
}

/// Runs both kernels of each case and its check, once. The times are not used.
fn run_once(laboratory: &mut GpuLaboratory, cases: &[Case]) {
    laboratory.prepare(cases, &mut |_, _| {});
    for case in cases {
        let mut experiment = match laboratory.experiment(case) {
            Ok(experiment) => experiment,
            Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let shots = [Side::Baseline, Side::Test].map(|side| Shot { side, iterations: 1, pair: 0 });
        experiment.samples(&shots).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(experiment.check(), Check::Ok, "{case}");
    }
}

#[test]
#[ignore = "needs a CUDA device with clusters: make test-gpu"]
fn a_cluster_is_measured_after_a_grid_and_after_a_cluster() {
    // They are in different contexts of one device.
    let mut laboratory = open();
    let cluster = planned(&laboratory, |case| case.primitive == "gpu.cluster.sync" && case.threads == Some(32));
    let limits = wide(&laboratory, "gpu.grid.counter", 1, 32);
    for case in [&cluster, &limits, &cluster, &limits] {
        let measurement = measure(&mut laboratory, case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{case}");
    }
}

/// Whether the link carries the operations of this case. An addition to host memory needs a link with atomic operations;
/// without them memcheck reports each addition. The case measures exactly that, so it is no error of the kernel.
fn is_carried(laboratory: &GpuLaboratory, case: &Case) -> bool {
    case.primitive != "hybrid.atomic.add" || laboratory.adds_natively_to_host_memory()
}

/// For `make sanitize-gpu`: on a grid with a part of a warp, and on one of several warps and blocks.
#[test]
#[ignore = "needs a CUDA device: make sanitize-gpu"]
fn every_kernel_runs_once() {
    let mut laboratory = open();
    let programs = cases_of_programs(&laboratory);
    let largest = |cases: &[Case], fits: fn(u32) -> bool| {
        let fits = |case: &&Case| is_small(case) && case.threads.is_some_and(fits);
        cases.iter().filter(fits).max_by_key(|case| case.actors()).cloned()
    };
    let in_part = |cases: &Vec<Case>| [largest(cases, |threads| threads < 32), largest(cases, |threads| threads >= 32)];
    let chosen: Vec<Case> = programs.iter().flat_map(in_part).flatten().collect();
    assert!(chosen.len() > programs.len(), "{} cases of {} programs", chosen.len(), programs.len());
    let (chosen, forbidden): (Vec<Case>, Vec<Case>) =
        chosen.into_iter().partition(|case| is_carried(&laboratory, case));
    for case in forbidden {
        println!("left out, as the link to the host carries no atomic operations: {case}");
    }
    run_once(&mut laboratory, &chosen);
}

/// For `make sanitize-gpu`: the programs without a small grid, on their smallest grid.
#[test]
#[ignore = "needs a CUDA device: make sanitize-gpu"]
fn every_wide_kernel_runs_once() {
    let mut laboratory = open();
    let wide = cases_of_programs(&laboratory).into_iter().filter(|cases| !cases.iter().any(is_small));
    let chosen: Vec<Case> = wide.filter_map(|cases| cases.into_iter().min_by_key(Case::actors)).collect();
    assert!(!chosen.is_empty());
    run_once(&mut laboratory, &chosen);
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_figure_is_explained() {
    let mut laboratory = open();
    let cases = laboratory.plan(Preset::Quick);
    laboratory.prepare(&cases, &mut |_, _| {});
    let defect = |case: Case, measurement: &Measurement| {
        let row = Row::measured(case, measurement);
        row.defect().map(|defect| format!("{}: {defect}", row.case))
    };
    let mut defects = Vec::new();
    for case in cases.into_iter().filter(|case| case.actors() <= 16_384) {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => engine().measure(experiment.as_mut(), 1).unwrap(),
            // These have a reason.
            Err(Refusal::Skipped(reason)) => {
                assert!(!reason.is_empty(), "{case}");
                println!("{case}: {reason}");
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        // Cases of one grid report its clock.
        let by_device = !["grid", "multi", "launch", "flag"].contains(&case.domain_and_family().1)
            && case.primitive.starts_with("gpu.");
        assert!(!by_device || measurement.details.iter().any(|detail| detail.name == "sm_clock_hz_low"), "{case}");
        defects.extend(defect(case, &measurement));
    }
    assert!(defects.is_empty(), "{defects:#?}");
}

/// The barriers that take more than a block, on grids of one block per multiprocessor.
fn wide(laboratory: &GpuLaboratory, id: &str, each: u32, threads: u32) -> Case {
    let blocks = each * laboratory.machine()[0].multiprocessors;
    planned(laboratory, |case| on_grid(case, id, blocks, threads) && case.group.is_none() && case.order.is_none())
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_grid_barrier_costs_about_a_microsecond() {
    let mut laboratory = open();
    let mut of = |id| {
        let case = wide(&laboratory, id, 1, 32);
        let measurement = measure(&mut laboratory, &case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
        println!("{case}: {} cycles", cycles(&measurement));
        cycles(&measurement)
    };
    let cooperative = of("gpu.grid.cooperative");
    let own = of("gpu.grid.counter").min(of("gpu.grid.lock_free"));
    assert!((800.0..6000.0).contains(&cooperative), "{cooperative}");
    assert!(own < 0.95 * cooperative, "the better own barrier is faster: {own}, {cooperative}");
}

/// The verification of Zhang, Wahib, Matsuoka, section 3.3, for the barriers they time from the host.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_hosts_clock_and_the_devices_agree_on_a_grid_barrier() {
    let mut laboratory = open();
    let rule = PrecisionRule { precision: 0.002, min_pairs: 20, max_pairs: 60, max_time: Duration::from_secs(5) };
    // Long samples, because the cost of a launch varies by some microseconds.
    let long = Settings { sample: Duration::from_millis(10), noisy_above: 0.05, rule };
    for id in ["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"] {
        let case = wide(&laboratory, id, 1, 32);
        let by_device = measure(&mut laboratory, &case).estimate.unwrap().ns.value();
        let mut experiment = laboratory.host_timed(&case).unwrap_or_else(|error| panic!("{case}: {error}"));
        let by_host = Engine::new(long.clone(), Cancel::new()).measure(experiment.as_mut(), 1).unwrap();
        let by_host = by_host.estimate.unwrap().ns.value();
        println!("{case}: {by_device} ns by the device, {by_host} ns by the host");
        assert!((by_host / by_device - 1.0).abs() < 0.02, "{case}: {by_host} and {by_device}");
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_barrier_that_misses_a_block_times_out_and_the_next_one_works() {
    let mut laboratory = open();
    for id in ["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"] {
        let case = wide(&laboratory, id, 1, 32);
        let started = Instant::now();
        let limit = Duration::from_millis(50);
        let mut experiment = laboratory.without_last_block(&case, limit).unwrap_or_else(|error| panic!("{error}"));
        let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
        drop(experiment);
        let Verdict::TimedOut(reason) = &measurement.verdict else { panic!("{case}: {}", measurement.verdict) };
        assert!(reason.contains("50ms"), "{reason}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let measurement = measure(&mut laboratory, &case);
        assert_eq!((&measurement.verdict, &measurement.check), (&Verdict::Resolved, &Check::Ok), "{measurement:?}");
        works(&mut laboratory);
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_grid_that_does_not_fit_is_skipped_with_the_numbers() {
    let mut laboratory = open();
    let machine = laboratory.machine().remove(0);
    let mut case = wide(&laboratory, "gpu.grid.counter", 1, 1024);
    let asked = machine.multiprocessors * (machine.max_threads_per_multiprocessor / 1024 + 1);
    case.blocks = Some(asked);
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&case).map(drop) else { panic!("{case} was set up") };
    assert!(
        reason.starts_with("resident maximum ") && reason.ends_with(&format!(" blocks, asked {asked}")),
        "{reason}"
    );
    case.devices = Some(99);
    let Err(Refusal::Skipped(reason)) = laboratory.experiment(&case).map(drop) else { panic!("{case} was set up") };
    assert!(reason.starts_with("asked 99 devices, there "), "{reason}");
}

#[test]
#[ignore = "needs CUDA devices: make test-gpu"]
fn a_barrier_of_all_devices_is_checked_on_every_number_of_devices() {
    let mut laboratory = open();
    let devices = u32::try_from(laboratory.machine().len()).unwrap();
    let chosen = |case: &Case| case.primitive.starts_with("gpu.multi.") && case.threads == Some(32);
    let cases: Vec<Case> = laboratory.plan(Preset::Standard).into_iter().filter(chosen).collect();
    assert!(cases.iter().any(|case| case.devices == Some(devices)));
    for case in cases {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => short_engine().measure(experiment.as_mut(), 1).unwrap(),
            Err(Refusal::Skipped(reason)) => {
                println!("{case}: {reason}");
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        assert_eq!(measurement.check, Check::Ok, "{case}: {}", measurement.verdict);
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
    }
    println!("{:#?}", laboratory.links());
}

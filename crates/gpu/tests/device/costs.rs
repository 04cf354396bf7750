//! Known costs, and how they compare.

use syncscope_core::{Case, Check, Dtype, Form, Group, Laboratory, Layout, Mode, Scope, Space, Verdict};
use syncscope_gpu::GpuLaboratory;

use super::{cycles, detail, engine, measure, ns, on_grid, open, planned};

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

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn divergent_halves_of_a_warp_take_longer() {
    let mut laboratory = open();
    let mut of = |group: &Group| {
        let wanted = |case: &Case| on_grid(case, "gpu.warp.syncwarp", 1, 32) && case.group.as_ref() == Some(group);
        let case = planned(&laboratory, wanted);
        measure(&mut laboratory, &case)
    };
    let (together, apart) = (of(&Group::named("converged")), of(&Group::named("divergent")));
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
fn a_second_barrier_of_a_block_costs_what_the_first_one_does() {
    let mut laboratory = open();
    let mut engine = engine();
    engine.tests_additivity = true;
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

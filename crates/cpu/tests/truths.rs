//! Things whose cost is known, measured like everything else. Run by `make truths` on a quiet machine:
//! `cargo test --release -p syncscope-cpu --test truths -- --ignored --nocapture --test-threads 1`

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the figures are for whoever runs this")]
#![allow(clippy::inline_always, reason = "the operation must stand in the timed loop itself")]

use std::time::Duration;

use syncscope_core::engine::Settings;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Dtype, Engine, Laboratory, Layout, Measurement, MemoryOrder, Placement, Verdict};
use syncscope_cpu::CpuLaboratory;
use syncscope_cpu::primitives::{Operation, Workload};

fn measure(laboratory: &mut CpuLaboratory, workload: Workload) -> Measurement {
    let mut experiment = laboratory.experiment_of(workload, &Placement::Close, 1).unwrap();
    engine().measure(experiment.as_mut(), 1).unwrap()
}

fn engine() -> Engine {
    let rule = PrecisionRule { precision: 0.002, min_pairs: 40, max_pairs: 400, max_time: Duration::from_millis(500) };
    Engine::new(Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule }, Cancel::new())
}

/// `K` multiplications, each of which needs the result of the one before.
struct Multiplications<const K: usize>;

impl<const K: usize> Operation for Multiplications<K> {
    type Local<'a> = u32;

    fn local(&self, _slot: usize, _thread: usize) -> u32 {
        3
    }

    #[inline(always)]
    fn execute(value: &mut u32) {
        for _ in 0..K {
            multiply(value);
        }
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    fn verify(&self, _slot: usize, _thread: usize, _operations: u64) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiply(value: &mut u32) {
    // SAFETY: multiplies a register of its own. Not `pure`: nobody looks at the product, and it must be computed.
    unsafe { std::arch::asm!("imul {0:e}, {0:e}", inout(reg) * value, options(nomem, nostack)) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn multiply(value: &mut u32) {
    // SAFETY: multiplies a register of its own. Not `pure`: nobody looks at the product, and it must be computed.
    unsafe { std::arch::asm!("mul {0:w}, {0:w}, {0:w}", inout(reg) * value, options(nomem, nostack)) };
}

fn cycles<const K: usize>(laboratory: &mut CpuLaboratory) -> f64 {
    let measurement = measure(laboratory, Workload::of(Multiplications::<K>));
    assert_eq!(measurement.verdict, Verdict::Resolved);
    let estimate = measurement.estimate.unwrap();
    println!(
        "{K} multiplications: {:.4} in {:?}, {:.4} in {:?}, noise {:?}",
        estimate.cycles.unwrap(),
        estimate.cycles_interval.unwrap(),
        estimate.ns,
        estimate.ns_interval.unwrap(),
        measurement.noise
    );
    estimate.cycles.unwrap().value()
}

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn k_multiplications_cost_k_times_as_much_as_one() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let one = cycles::<1>(&mut laboratory);
    let more = [
        (2.0, cycles::<2>(&mut laboratory)),
        (4.0, cycles::<4>(&mut laboratory)),
        (8.0, cycles::<8>(&mut laboratory)),
        (16.0, cycles::<16>(&mut laboratory)),
    ];
    for (k, cycles) in more {
        assert!((cycles / (k * one) - 1.0).abs() < 0.02, "{k} cost {cycles}, one {one}");
    }
    // uops.info, IMUL_R32_R32: 3 cycles on every Intel core since Nehalem and every AMD core since Zen.
    if cfg!(target_arch = "x86_64") {
        assert!((one / 3.0 - 1.0).abs() < 0.02, "{one}");
    }
}

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn an_atomic_addition_that_nobody_contends() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    for threads in [1, 2] {
        for dtype in [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64] {
            let case = Case {
                dtype: Some(dtype),
                layout: Some(Layout::Private { stride: 64 }),
                threads: Some(threads),
                placement: Some(Placement::Close),
                order: Some(MemoryOrder::Relaxed),
                ..Case::new("cpu.atomic.add")
            };
            let mut experiment = laboratory.experiment(&case).unwrap();
            let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
            let estimate = measurement.estimate.unwrap();
            println!("{case}: {:.3}, {:.3}, noise {:?}", estimate.ns, estimate.cycles.unwrap(), measurement.noise);
            // No processor locks a line in less than a cycle; contention would cost tens of nanoseconds.
            assert!((0.2..20.0).contains(&estimate.ns.value()));
        }
    }
}

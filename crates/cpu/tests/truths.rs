//! Operations whose cost is known, measured like all others. Run by `make truths` on a quiet machine:
//! `cargo test --release -p syncscope-cpu --test truths -- --ignored --nocapture --test-threads 1`

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]
#![allow(clippy::print_stdout, reason = "the person who runs it reads the figures")]
#![allow(clippy::inline_always, reason = "the operation must stand in the timed loop itself")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Dtype, Engine, Laboratory, Layout, Measurement, MemoryOrder, Placement, Verdict};
use syncscope_core::{Group, Settings};
use syncscope_cpu::CpuLaboratory;
use syncscope_cpu::primitives::{Executed, Operation, Workload};

fn measure(laboratory: &mut CpuLaboratory, workload: Workload) -> Measurement {
    let mut experiment = laboratory.experiment_of(workload, &Placement::Close, 1).unwrap();
    engine().measure(experiment.as_mut(), 1).unwrap()
}

fn engine() -> Engine {
    engine_with(40..=400)
}

fn engine_with(pairs: std::ops::RangeInclusive<u64>) -> Engine {
    let (min_pairs, max_pairs) = pairs.into_inner();
    let rule = PrecisionRule { precision: 0.002, min_pairs, max_pairs, max_time: Duration::from_millis(500) };
    Engine::new(Settings { sample: Duration::from_micros(100), ..Settings::with_rule(rule) }, Cancel::new())
}

/// `K` additions of registers, each of which needs the result of the one before.
struct Additions<const K: usize>;

impl<const K: usize> Operation for Additions<K> {
    type Local<'a> = u64;

    fn local(&self, _slot: usize, _thread: usize) -> u64 {
        3
    }

    #[inline(always)]
    fn execute(value: &mut u64) {
        for _ in 0..K {
            add(value);
        }
    }

    fn prepare(&self, _slot: usize, _thread: usize) {}

    fn verify(&self, _slot: usize, _thread: usize, _executed: Executed) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add(value: &mut u64) {
    // SAFETY: adds a register of its own. Not `pure`: nothing reads the sum, and it must be computed.
    unsafe { std::arch::asm!("add {0}, {0}", inout(reg) * value, options(nomem, nostack)) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn add(value: &mut u64) {
    // SAFETY: adds a register of its own. Not `pure`: nothing reads the sum, and it must be computed.
    unsafe { std::arch::asm!("add {0}, {0}, {0}", inout(reg) * value, options(nomem, nostack)) };
}

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn an_addition_costs_a_cycle() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    // uops.info, ADD_R64_R64: one cycle on every x86-64 core. Cycles come from the chain of additions or from the
    // counter. This checks that the measured loop agrees with either.
    for (k, workload) in [(1.0, Workload::of(Additions::<1>)), (4.0, Workload::of(Additions::<4>))] {
        let measurement = measure(&mut laboratory, workload);
        let cycles = measurement.estimate.unwrap().cycles.unwrap().value();
        println!("{k} additions: {cycles:.4} cycles, noise {:?}", measurement.noise);
        assert!((cycles / k - 1.0).abs() < 0.02, "{k} additions cost {cycles}");
    }
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

    fn verify(&self, _slot: usize, _thread: usize, _executed: Executed) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiply(value: &mut u32) {
    // SAFETY: multiplies a register of its own. Not `pure`: nothing reads the product, and it must be computed.
    unsafe { std::arch::asm!("imul {0:e}, {0:e}", inout(reg) * value, options(nomem, nostack)) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn multiply(value: &mut u32) {
    // SAFETY: multiplies a register of its own. Not `pure`: nothing reads the product, and it must be computed.
    unsafe { std::arch::asm!("mul {0:w}, {0:w}, {0:w}", inout(reg) * value, options(nomem, nostack)) };
}

fn cycles<const K: usize>(laboratory: &mut CpuLaboratory) -> f64 {
    let measurement = measure(laboratory, Workload::of(Multiplications::<K>));
    assert_eq!(measurement.verdict, Verdict::Resolved);
    let estimate = measurement.estimate.unwrap();
    println!(
        "{K} multiplications: {:.4} cycles in {:?}, {:.4} ns in {:?}, noise {:?}",
        estimate.cycles.unwrap().value(),
        estimate.cycles_within.unwrap(),
        estimate.ns.value(),
        estimate.ns_within.unwrap(),
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
fn an_uncontended_atomic_addition() {
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
            let (ns, cycles) = (estimate.ns.value(), estimate.cycles.unwrap().value());
            println!("{case}: {ns:.3} ns, {cycles:.3} cycles, noise {:?}", measurement.noise);
            // No processor locks a line in less than a cycle; contention would cost tens of nanoseconds.
            assert!((0.2..20.0).contains(&estimate.ns.value()));
        }
    }
}

/// What an uncontended `lock add` costs on a processor, in cycles, by the family and model of CPUID.
fn expected_lock_add(family: u32, model: u32, vendor: &str) -> Option<(&'static str, std::ops::RangeInclusive<f64>)> {
    match (vendor, family, model) {
        // uops.info, LOCK_ADD_M64_R64: 7 on Zen 4.
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => Some(("Zen 4", 6.0..=8.0)),
        // Not published; measured by this project on an EPYC of family 1Ah: 20.0.
        ("AuthenticAMD", 0x1a, _) => Some(("Zen 5", 18.0..=22.0)),
        // uops.info, LOCK_ADD_M64_R64: 18 to 20 on Alder Lake's Golden Cove.
        ("GenuineIntel", 6, 0x8f | 0xcf | 0x97 | 0x9a | 0xb7 | 0xba | 0xbf) => Some(("Golden Cove", 17.0..=21.0)),
        _ => None,
    }
}

/// Vendor, family and model of the processor, as Linux gives them.
fn processor() -> Option<(String, u32, u32)> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split(':').nth(1)?.trim().to_owned())
    };
    Some((field("vendor_id")?, field("cpu family")?.parse().ok()?, field("model")?.parse().ok()?))
}

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn an_uncontended_lock_add_costs_what_is_known_of_the_processor() {
    let known = processor().and_then(|(vendor, family, model)| expected_lock_add(family, model, &vendor));
    let Some((name, expected)) = known else {
        println!("skipped: nothing is known of {:?}", processor());
        return;
    };
    let mut laboratory = CpuLaboratory::open().unwrap();
    for dtype in [Dtype::I32, Dtype::U64] {
        let case = Case {
            dtype: Some(dtype),
            layout: Some(Layout::Shared),
            threads: Some(1),
            placement: Some(Placement::Close),
            order: Some(MemoryOrder::Relaxed),
            ..Case::new("cpu.atomic.add")
        };
        let mut experiment = laboratory.experiment(&case).unwrap();
        let measurement = engine().measure(experiment.as_mut(), 1).unwrap();
        let cycles = measurement.estimate.unwrap().cycles.unwrap().value();
        println!("{name}: {case}: {cycles:.2} cycles");
        assert!(expected.contains(&cycles), "{name}: {cycles} cycles, expected {expected:?}");
    }
}

/// The published method as a C program: a loop with the operation once and a loop with it twice, the slowest thread,
/// the median of many pairs. For the CPUs of its arguments, it prints a [`Figure`] for each of the [`ROWS`].
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 101, UNROLL = 16, MOST = 64 };
static int cpus[MOST];
static _Alignas(128) unsigned long counter;
static _Alignas(128) double costs[PAIRS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define TIMES(op) op op op op op op op op op op op op op op op op
#define BARRIER _Pragma("omp barrier")
#define CRITICAL _Pragma("omp critical") { counter++; }
#define SHOT(name, op) \
    static double name(int threads, long iterations) { \
        double longest = 0; \
        _Pragma("omp parallel num_threads(threads)") { \
            cpu_set_t set; CPU_ZERO(&set); CPU_SET(cpus[omp_get_thread_num()], &set); \
            sched_setaffinity(0, sizeof set, &set); \
            _Pragma("omp barrier") \
            double start = now(); \
            for (long i = 0; i < iterations; i++) { TIMES(op) } \
            double took = now() - start; \
            _Pragma("omp critical(longest)") { if (took > longest) longest = took; } \
        } \
        return longest; \
    }
SHOT(barrier_once, BARRIER)
SHOT(barrier_twice, BARRIER BARRIER)
SHOT(critical_once, CRITICAL)
SHOT(critical_twice, CRITICAL CRITICAL)

typedef double (*shot)(int, long);

static void measure(const char *what, int threads, shot once, shot twice) {
    long iterations = 1;
    while (once(threads, iterations) < 40000 && iterations < 1 << 20) iterations *= 2;
    for (int i = 0; i < PAIRS; i++) {
        double a, b;
        if (rand() & 64) { a = once(threads, iterations); b = twice(threads, iterations); }
        else { b = twice(threads, iterations); a = once(threads, iterations); }
        costs[i] = (b - a) / (iterations * UNROLL);
    }
    qsort(costs, PAIRS, sizeof *costs, by_value);
    printf("figure %s %d %f\n", what, threads, costs[PAIRS / 2]);
}

int main(int argc, char **argv) {
    int most = argc - 1;
    for (int i = 0; i < most && i < MOST; i++) cpus[i] = atoi(argv[i + 1]);
    for (int threads = 2; threads <= most && threads <= 4; threads += 2) {
        measure("barrier", threads, barrier_once, barrier_twice);
        measure("critical", threads, critical_once, critical_twice);
    }
    return 0;
}
"#;

/// The program, compiled; `None` where there is no C compiler that knows OpenMP.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let (source, program) = (folder.join("openmp.c"), folder.join("openmp"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-fopenmp", "-o"]).arg(&program).arg(&source);
    let output = compiler.output().ok()?;
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    // A compiler without OpenMP is no failure, but an error in the program is.
    assert!(output.status.success() || !complaint.contains("openmp.c:"), "{complaint}");
    output.status.success().then_some(program)
}

/// What is measured, and the primitive's id and the kind of number here.
const ROWS: [(&str, &str, Option<Dtype>); 2] =
    [("barrier", "cpu.barrier.openmp", None), ("critical", "cpu.lock.openmp_critical", Some(Dtype::U64))];

/// The CPUs a child of this test measures on.
const CHILDS_CPUS: &str = "SYNCSCOPE_TRUTHS_CPUS";

/// What one process measured: the operation, the number of threads, the nanoseconds.
type Figure = (String, usize, f64);

/// The figures of a process: its lines that read `figure barrier 2 284.12`.
fn figures(command: &mut Command) -> Vec<Figure> {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let figure = |line: &str| {
        let mut words = line.strip_prefix("figure ")?.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

/// The Rust side of [`a_c_program_finds_the_same_for_libgomp`], which runs it as a process of its own.
#[test]
#[ignore = "a part of a_c_program_finds_the_same_for_libgomp, which runs it; alone it does nothing"]
fn figures_of_libgomp_in_a_fresh_process() {
    let Ok(cpus) = std::env::var(CHILDS_CPUS) else { return };
    let cpus: Vec<u32> = cpus.split(',').map(|cpu| cpu.parse().unwrap()).collect();
    // As in the C program, before any thread is bound: the runtime counts its CPUs when it is loaded.
    syncscope_cpu::team::openmp::runtime("libgomp").unwrap();
    let mut laboratory = CpuLaboratory::open().unwrap();
    for threads in [2, 4].into_iter().filter(|threads| *threads <= cpus.len()) {
        for (what, primitive, dtype) in ROWS {
            let case = Case {
                dtype,
                layout: dtype.map(|_| Layout::Shared),
                threads: Some(threads as u32),
                placement: Some(Placement::List(cpus[..threads].to_vec())),
                group: Some(Group::named("libgomp")),
                ..Case::new(primitive)
            };
            let mut experiment = laboratory.experiment(&case).unwrap();
            let measurement = engine_with(100..=100).measure(experiment.as_mut(), 1).unwrap();
            println!("\nfigure {what} {threads} {}", measurement.estimate.unwrap().ns.value());
        }
    }
}

/// The geometric mean of the ratios of both sides, turn by turn, and its relative standard error. It is not a ratio of
/// medians: a process has one barrier and one lock, whose cost has two modes that depend on their address. The median
/// of some processes would be one of the two modes by chance.
fn ratio(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let logarithms: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let count = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let variance = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean.exp(), (variance / count).sqrt())
}

/// "270.10, 280.33, 301.00 ns": the quartiles.
fn spread(figures: &[f64]) -> String {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |quarter: usize| sorted[(sorted.len() - 1) * quarter / 4];
    format!("{:.2}, {:.2}, {:.2} ns", at(1), at(2), at(3))
}

/// Turns of both sides: modes that are a third apart average out to some 3 % of the ratio.
const TURNS: usize = 40;

/// The time after which no more turns begin.
const ENOUGH: Duration = Duration::from_secs(10);

#[test]
#[ignore = "needs a quiet machine; run by `make truths`"]
fn a_c_program_finds_the_same_for_libgomp() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else {
        println!("skipped: no C compiler with -fopenmp");
        return;
    };
    let cpus: Vec<String> = {
        let laboratory = CpuLaboratory::open().unwrap();
        laboratory.topology().allowed_cpus().iter().take(4).map(ToString::to_string).collect()
    };
    if cpus.len() < 2 || syncscope_cpu::team::openmp::runtime("libgomp").is_err() {
        println!("skipped: libgomp and two CPUs are needed");
        return;
    }
    // Both sides run in processes of their own, in turn: changes of the machine over time, and the addresses of a
    // process, affect both.
    let mut ours = Command::new(std::env::current_exe().unwrap());
    ours.args(["--ignored", "--exact", "--nocapture", "figures_of_libgomp_in_a_fresh_process"]);
    ours.env(CHILDS_CPUS, cpus.join(","));
    let mut theirs = Command::new(&program);
    theirs.args(&cpus);
    let mut found: BTreeMap<(String, usize), [Vec<f64>; 2]> = BTreeMap::new();
    let started = Instant::now();
    for turn in 0..TURNS {
        if started.elapsed() > ENOUGH {
            println!("{turn} turns in {:.0?}", started.elapsed());
            break;
        }
        for (side, command) in [&mut ours, &mut theirs].into_iter().enumerate() {
            for (what, threads, ns) in figures(command) {
                found.entry((what, threads)).or_default()[side].push(ns);
            }
        }
    }
    assert_eq!(found.len(), ROWS.len() * (cpus.len() / 2), "{found:?}");
    let mut differing = Vec::new();
    for ((what, threads), [ours, theirs]) in found {
        let turns = ours.len();
        assert!(turns == theirs.len() && turns >= 5, "{what}, {threads} threads: {ours:?} here, {theirs:?} in C");
        let (ratio, error) = ratio(&ours, &theirs);
        let line = format!(
            "{what}, {threads} threads: {} here, {} in C (quartiles of {turns} processes), ratio {ratio:.3} +- {error:.3}",
            spread(&ours),
            spread(&theirs)
        );
        println!("{line}");
        if ratio.ln().abs() > 1.1_f64.ln() {
            differing.push(line);
        }
    }
    assert!(differing.is_empty(), "more than 10 % apart:\n{}", differing.join("\n"));
}

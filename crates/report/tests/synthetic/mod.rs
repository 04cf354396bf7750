//! Synthetic runs of plausible numbers: a CPU with 16 threads and a GPU, with every verdict among the rows.

#![allow(dead_code, reason = "each test and the example use a part of this module")]

mod catalogue;
pub(crate) mod published;
pub(crate) mod wide;

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use syncscope_core::Group;
use syncscope_core::machine::{Cache, Clock, CpuMachine, Environment, GpuMachine, Machine};
use syncscope_core::run::Status;
use syncscope_core::stats::Interval;
use syncscope_core::sweep::Sweep;
use syncscope_core::{
    Actor, Case, Cycles, Dtype, Form, Hertz, Layout, Nanoseconds, Placement, Population, Row, Run, Scope, Space,
    Verdict,
};
use syncscope_report::{Damage, RunData};

pub(crate) use self::catalogue::catalogue;

const CPU_HZ: f64 = 3.68e9;
/// The total rate over the number of threads times the rate of the row's thread.
pub(crate) const TOTAL_RATE: f64 = 1.25;
const GPU_HZ: f64 = 1.98e9;
const CPU_THREADS: [u32; 6] = [1, 2, 4, 8, 12, 16];
const GPU_THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// A complete run of a machine with a GPU.
pub(crate) fn both() -> RunData {
    let mut rows = cpu_rows(1.0);
    rows.extend(gpu_rows(1.0));
    data("2026-11-21T07-00-00Z-standard", run("AMD EPYC 9274F 24-Core Processor", Some("NVIDIA H200")), rows)
}

/// An interrupted run of another machine, without a GPU, written by an older version.
pub(crate) fn cpu_only() -> RunData {
    let mut run = run("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", None);
    run.status = Status::Interrupted;
    run.planned = 400;
    run.warnings.push("the governor is powersave; set it to performance for steady clocks".into());
    data("2026-11-20T11-30-00Z-standard", run, cpu_rows(1.7))
}

/// A run without any figure.
pub(crate) fn unresolved() -> RunData {
    let mut data = both();
    data.rows.retain(|row| row.case.primitive.starts_with("cpu."));
    for (index, row) in data.rows.iter_mut().enumerate() {
        let verdict = match index % 3 {
            0 => Verdict::Failed("check failed: the counter is 3, not 4".into()),
            1 => Verdict::TimedOut("no end after 2 s".into()),
            _ => Verdict::Skipped("one CPU is allowed, two are needed".into()),
        };
        *row = Row::unmeasured(row.case.clone(), verdict);
    }
    data
}

/// A run with this number of rows.
pub(crate) fn large(count: u32) -> RunData {
    let mut data = both();
    let groups = (0..count).map(|index| {
        let case = Case {
            threads: Some(1 + index % 256),
            dtype: Some(Dtype::ALL[index as usize / 256 % 5]),
            group: Some(Group::of_word(&format!("class {}", index / 1280))),
            ..Case::new("cpu.handoff.cas_pingpong")
        };
        let ns = 40.0 + f64::from(index % 256);
        resolved(case, ns, 0.02, CPU_HZ)
    });
    data.rows = groups.collect();
    data
}

pub(crate) fn data(name: &str, run: Run, rows: Vec<Row>) -> RunData {
    RunData {
        name: name.to_owned(),
        run,
        rows,
        details: HashMap::new(),
        damage: Damage::default(),
        catalogue: catalogue(),
    }
}

pub(crate) fn run(cpu: &str, gpu: Option<&str>) -> Run {
    Run {
        command: ["syncscope", "run", "--preset", "standard"].map(str::to_owned).to_vec(),
        seed: 2026,
        status: Status::Done,
        started: "2026-11-21T07:00:00Z".into(),
        ended: Some("2026-11-21T07:03:20Z".into()),
        planned: 700,
        warnings: vec!["this is a virtual machine (KVM): other guests may disturb it; prefer an idle host".into()],
        machine: Machine { cpu: cpu_machine(cpu), gpus: gpu.map(gpu_machine).into_iter().collect(), links: Vec::new() },
        environment: Environment {
            os: "Linux 6.12".into(),
            allowed_cpus: "0-15".into(),
            governor: Some("performance".into()),
            load: Some(0.07),
            nvidia_driver: gpu.map(|_| "580.95.05".to_owned()),
            clocks: vec![Clock { name: "tsc".into(), frequency_hz: 2.596e9, resolution_ns: 0.385, read_cost_ns: 13.5 }],
            ..Environment::default()
        },
        ..Run::new("standard", UNIX_EPOCH)
    }
}

fn cpu_machine(model: &str) -> CpuMachine {
    let cache = |level, kind: &str, size_bytes, shared_by, count| Cache {
        level,
        kind: kind.into(),
        size_bytes,
        line_bytes: 64,
        shared_by,
        count,
    };
    CpuMachine {
        model: model.into(),
        architecture: "x86_64".into(),
        packages: 1,
        numa_nodes: 1,
        cores: 8,
        hardware_threads: 16,
        caches: vec![
            cache(1, "data", 32 << 10, 2, 8),
            cache(2, "unified", 1 << 20, 2, 8),
            cache(3, "unified", 32 << 20, 16, 1),
        ],
        memory_bytes: Some(64 << 30),
        hypervisor: Some("KVM".into()),
        signature: None,
        ..CpuMachine::default()
    }
}

fn gpu_machine(name: &str) -> GpuMachine {
    GpuMachine {
        name: name.into(),
        compute_capability: (9, 0),
        multiprocessors: 132,
        max_threads_per_block: 1024,
        memory_bytes: 141 << 30,
        l2_bytes: 50 << 20,
        ..GpuMachine::default()
    }
}

/// A resolved row whose interval for another run has about this relative half-width; the interval within the run has a
/// twentieth of it. The cost varies a little between cases. The total rate is not the number of threads over the cost.
pub(crate) fn resolved(case: Case, ns: f64, half_width: f64, hz: f64) -> Row {
    let variation = (case.id().number() % 1000) as f64 / 1000.0 - 0.5;
    let ns = ns * (1.0 + half_width * variation);
    let half_width = half_width * (1.0 + variation);
    let cycles_per_ns = hz / 1e9;
    let around = |value: f64, share: f64| Some(Interval { low: value * (1.0 - share), high: value * (1.0 + share) });
    let interval = |value: f64| around(value, half_width);
    let on_cpu = case.domain_and_family().0 == "cpu";
    let catalogue = catalogue();
    let (actors, number) = (case.actors(), case.id().number());
    let facts = catalogue.facts(&case.primitive);
    let row = Row::unmeasured(case, Verdict::Resolved).described(facts);
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: interval(ns),
        ns_within: around(ns, half_width / 20.0),
        ns_spread: Some(Interval { low: ns * 0.8, high: ns * 1.5 }),
        cycles: Some(Cycles(ns * cycles_per_ns)),
        cycles_interval: interval(ns * cycles_per_ns),
        fastest_ns: Some(Nanoseconds(ns * 0.93)),
        median_ns: Some(Nanoseconds(ns * 0.98)),
        slowest_ns: Some(Nanoseconds(ns * if row.actor == Some(Actor::Median) { 1.04 } else { 1.0 })),
        ops_per_s_total: Some(TOTAL_RATE * actors as f64 * 1e9 / ns),
        population: Some(if on_cpu && actors == 1 { Population::Alone } else { Population::All }),
        beside_share: on_cpu.then_some(0.63),
        noise: Some(half_width * 2.0),
        pairs: Some(40),
        excluded: Some(number % 3),
        iterations: Some(1000),
        unroll: Some(16),
        check: Some(true),
        evidence: Some("lock add 16/32".into()),
        clock: Some(Hertz(hz)),
        ..row
    }
}

/// Replaces the verdict of some rows, as on a real machine.
fn with_some_failures(index: usize, row: Row) -> Row {
    let ns = row.ns.map_or(1.0, Nanoseconds::value);
    let verdict = match index % 53 {
        23 => return overlapped(row),
        41 => return not_additive(row),
        17 => Verdict::Noisy("the 95 % interval is still ±38 % after 400 pairs".into()),
        29 => Verdict::Interfered("36 of 40 pairs excluded (involuntary context switch)".into()),
        _ => return row,
    };
    let wide = Some(Interval { low: ns * 0.62, high: ns * 1.38 });
    Row { ns_interval: wide, ns_within: wide, ops_per_s_total: None, verdict, ..row }
}

/// The row of a loop that is faster with the primitive.
fn overlapped(row: Row) -> Row {
    let ns = -0.2 * row.ns.map_or(1.0, Nanoseconds::value);
    let around = Some(Interval { low: 1.1 * ns, high: 0.9 * ns });
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: around,
        ns_within: around,
        ns_spread: around,
        cycles: None,
        cycles_interval: None,
        ops_per_s_total: None,
        verdict: Verdict::Overlapped(format!("the loop with the operation takes {:.3} ns less per operation", -ns)),
        ..row
    }
}

/// The row of a primitive whose second copy costs more than its first.
fn not_additive(row: Row) -> Row {
    let ns = row.ns.map_or(1.0, Nanoseconds::value);
    let reason = format!(
        "the first copy costs {ns:.3} ns and a second adds {:.3} ns, so the figure holds only in this context",
        1.6 * ns
    );
    Row { ops_per_s_total: None, verdict: Verdict::NonAdditive(reason), ..row }
}

fn below(case: Case, high: f64, hz: f64) -> Row {
    let row = resolved(case, high / 4.0, 0.1, hz);
    Row {
        ns_interval: Some(Interval { low: -high, high }),
        ns_within: Some(Interval { low: -high / 2.0, high: high / 2.0 }),
        ops_per_s_total: None,
        cycles_interval: Some(Interval { low: -high * hz / 1e9, high: high * hz / 1e9 }),
        verdict: Verdict::BelowResolution(format!("at most {high:.3} ns")),
        ..row
    }
}

pub(crate) fn cpu_rows(factor: f64) -> Vec<Row> {
    let mut rows = cpu_atomics(factor);
    for (name, base) in [("std", 900.0), ("sense", 55.0), ("dissemination", 70.0), ("tree", 80.0)] {
        let sweep = Sweep::of(&format!("cpu.barrier.{name}")).placements(&[Placement::Close, Placement::Spread]);
        rows.extend(sweep.threads(&CPU_THREADS[1..]).cases().into_iter().map(|case| {
            let threads = f64::from(case.threads.unwrap_or(1));
            resolved(case, factor * base * threads.powf(if name == "dissemination" { 0.5 } else { 1.1 }), 0.06, CPU_HZ)
        }));
    }
    for (name, base) in [("std_mutex", 6.0), ("parking_lot_mutex", 5.2), ("ticket", 5.6), ("mcs", 9.0)] {
        rows.extend(Sweep::of(&format!("cpu.lock.{name}")).threads(&CPU_THREADS).cases().into_iter().map(|case| {
            let threads = f64::from(case.threads.unwrap_or(1));
            resolved(case, factor * base * threads.powf(1.4), 0.12, CPU_HZ)
        }));
    }
    for name in ["acquire", "release", "acq_rel"] {
        let case = Case { threads: Some(1), ..Case::new(&format!("cpu.fence.{name}")) };
        rows.push(below(case, 0.045, CPU_HZ));
    }
    let fence = |name: &str| Case { threads: Some(1), ..Case::new(&format!("cpu.fence.{name}")) };
    rows.push(resolved(fence("seq_cst"), 15.8 * factor, 0.01, CPU_HZ));
    for (name, ns) in [("cas_pingpong", 45.0), ("store_pingpong", 38.0), ("futex", 5200.0), ("condvar", 9100.0)] {
        let case = Case { threads: Some(2), ..Case::new(&format!("cpu.handoff.{name}")) };
        rows.push(resolved(case, ns * factor, 0.04, CPU_HZ));
    }
    let numa = Case {
        threads: Some(2),
        group: Some(Group::of_word("other package")),
        ..Case::new("cpu.handoff.cas_pingpong")
    };
    rows.push(Row::unmeasured(numa, Verdict::Skipped("there is one package".into())));
    rows
}

fn cpu_atomics(factor: f64) -> Vec<Row> {
    let layouts = [Layout::Shared, Layout::Private { stride: 1 }, Layout::Private { stride: 16 }];
    let mut rows = Vec::new();
    for (name, base) in [("add", 2.03), ("cas_pass", 3.1), ("exchange", 2.4), ("read", 0.02)] {
        let cases = Sweep::of(&format!("cpu.atomic.{name}"))
            .dtypes(&[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64])
            .layouts(&layouts)
            .threads(&CPU_THREADS)
            .cases();
        rows.extend(cases.into_iter().enumerate().map(|(index, case)| {
            if name == "read" && case.layout != Some(Layout::Private { stride: 1 }) {
                return below(case, 0.05, CPU_HZ);
            }
            let threads = f64::from(case.threads.unwrap_or(1));
            let contention = match case.layout {
                Some(Layout::Shared) => threads.powf(1.7),
                Some(Layout::Private { stride: 1 }) => threads.powf(1.2),
                _ => 1.0,
            };
            let float = if matches!(case.dtype, Some(Dtype::F32 | Dtype::F64)) { 3.0 } else { 1.0 };
            let wide = if case.dtype.is_some_and(|dtype| dtype.size_bytes() == 8) { 1.12 } else { 1.0 };
            with_some_failures(index, resolved(case, factor * base * contention * float * wide, 0.05, CPU_HZ))
        }));
    }
    rows
}

/// Additions in other forms, at other costs than the default's.
fn gpu_forms(factor: f64) -> Vec<Row> {
    let sweep = Sweep::of("gpu.atomic.add")
        .dtypes(&[Dtype::I32])
        .layouts(&[Layout::Shared])
        .scopes(&[Scope::Device])
        .spaces(&[Space::Global])
        .blocks(&[1, 16, 132])
        .threads(&GPU_THREADS)
        .forms(&[Some(Form::Varying), Some(Form::NotAggregated)]);
    let cost = |case: &Case| {
        let form = if case.form == Some(Form::Varying) { 4.0 } else { 32.0 };
        factor * 3.1 * form * (case.actors() as f64 / 32.0).powf(0.8).max(1.0)
    };
    sweep
        .cases()
        .into_iter()
        .map(|case| (cost(&case), case))
        .map(|(ns, case)| resolved(case, ns, 0.02, GPU_HZ))
        .collect()
}

pub(crate) fn gpu_rows(factor: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, base) in
        [("syncthreads", 11.5), ("syncthreads_count", 19.0), ("named_barrier", 11.6), ("mbarrier", 31.0)]
    {
        let sweep = Sweep::of(&format!("gpu.block.{name}")).blocks(&[1, 132]).threads(&GPU_THREADS);
        rows.extend(sweep.cases().into_iter().map(|case| {
            let warps = f64::from(case.threads.unwrap_or(32)) / 32.0;
            resolved(case, factor * base * (1.0 + 0.08 * warps), 0.004, GPU_HZ)
        }));
    }
    for (name, base) in [("add", 3.1), ("max", 3.1), ("cas_pass", 32.0)] {
        let cases = Sweep::of(&format!("gpu.atomic.{name}"))
            .dtypes(&[Dtype::I32, Dtype::U64, Dtype::F32])
            .layouts(&[Layout::Shared, Layout::Private { stride: 1 }])
            .scopes(&[Scope::Device])
            .spaces(&[Space::Global, Space::Shared])
            .blocks(&[1, 16, 132])
            .threads(&GPU_THREADS)
            .except(|case| case.space == Some(Space::Shared) && case.blocks != Some(1))
            .cases();
        rows.extend(cases.into_iter().enumerate().map(|(index, case)| {
            let actors = case.actors() as f64 / 32.0;
            let contention = if case.layout == Some(Layout::Shared) { actors.powf(0.8) } else { actors.powf(0.3) };
            with_some_failures(index, resolved(case, factor * base * contention.max(1.0), 0.02, GPU_HZ))
        }));
    }
    rows.extend(gpu_forms(factor));
    for name in ["idx", "up", "down", "xor"] {
        let cases = Sweep::of(&format!("gpu.shuffle.{name}")).dtypes(&[Dtype::I32, Dtype::F64]).threads(&[32]).cases();
        rows.extend(cases.into_iter().map(|case| {
            let double = if case.dtype == Some(Dtype::F64) { 1.9 } else { 1.0 };
            let row = resolved(case, 11.6 * double * factor, 0.002, GPU_HZ);
            match (name, row.case.dtype) {
                ("up", Some(Dtype::F64)) => overlapped(row),
                ("down", Some(Dtype::F64)) => not_additive(row),
                _ => row,
            }
        }));
    }
    let warp = |name: &str| Case { threads: Some(32), ..Case::new(&format!("gpu.warp.{name}")) };
    rows.push(Row {
        evidence: Some("NOP for WARPSYNC".into()),
        ..Row::unmeasured(warp("syncwarp"), Verdict::Elided("expected WARPSYNC, found NOP".into()))
    });
    rows.push(resolved(warp("tile"), 14.2 * factor, 0.01, GPU_HZ));
    let multi = Case { devices: Some(2), ..Case::new("gpu.multi.counter") };
    rows.push(Row::unmeasured(multi, Verdict::Skipped("there is one device, two are needed".into())));
    let grid = |blocks| Case { blocks: Some(blocks), threads: Some(128), ..Case::new("gpu.grid.cooperative") };
    rows.extend([1, 16, 66, 132].map(|blocks| resolved(grid(blocks), 700.0 + 2.3 * f64::from(blocks), 0.02, GPU_HZ)));
    let launch = |name: &str| Case::new(&format!("gpu.launch.{name}"));
    rows.push(resolved(launch("stream"), 2430.0, 0.03, GPU_HZ));
    rows.push(resolved(launch("graph"), 1360.0, 0.03, GPU_HZ));
    rows.push(Row::unmeasured(launch("cooperative"), Verdict::Failed("the driver said: invalid argument".into())));
    rows
}

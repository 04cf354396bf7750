//! CPU and GPU threads together. The laboratory chooses the CPUs and adds them to the cases.

use super::prelude::*;
use super::{WITH_HOST, atomic};
use crate::hybrid::nearby_cpus::Distance;
use syncscope_core::words::words;

const FACTS: Facts = Facts { run_effect: |_| WITH_HOST, ..Facts::of(Role::HostDeviceHandoff).waiting(Waits::Spins) };

const HYBRID: Entry = Entry::of(Kernel::of("hybrid_flag.cu", ArgumentKind::HybridFlag), Proof::Trial, FACTS);

words! {
    /// Which sides add: the group of the case.
    pub(crate) enum Sides ("side") {
        Both = "both",
        Gpu = "gpu_alone",
        Cpu = "cpu_alone",
    }
}

/// Relaxed additions of system scope.
const fn adds(presets: &'static [Preset], grids: Grids) -> PlanRow {
    on(presets, grids).scopes(&[Scope::System]).orders(&[MemoryOrder::Relaxed])
}

const WITH_GPU: &[(&str, &[u32])] = &[(Sides::Both.as_str(), &[]), (Sides::Gpu.as_str(), &[])];
const CPU_ALONE: &[(&str, &[u32])] = &[(Sides::Cpu.as_str(), &[])];
const NARROW: &[Dtype] = &[Dtype::I32];
const BOTH: &[Dtype] = &[Dtype::I32, Dtype::U64];
const MODES: &[Mode] = &[Mode::Throughput, Mode::Latency];
const ONE_THREAD: Grids = Grids::Shapes(&[(Blocks::Of(1), 1)]);
const ONE_WARP: Grids = Grids::Shapes(&[(Blocks::Of(1), 32)]);

const ADDITIONS: &[PlanRow] = &[
    adds(QUICK, ONE_WARP).dtypes(NARROW).modes(&[Mode::Throughput]).groups(WITH_GPU),
    adds(BEYOND_QUICK, ONE_WARP).dtypes(BOTH).modes(MODES).groups(WITH_GPU),
    adds(BEYOND_QUICK, ONE_THREAD).dtypes(NARROW).modes(MODES).groups(WITH_GPU),
    adds(BEYOND_QUICK, ONE_WARP).dtypes(NARROW).modes(MODES).groups(WITH_GPU).forms(&[Form::NotAggregated]),
    // Over PCI Express each of these threads waits a microsecond for every other thread.
    adds(PAPER, Grids::Shapes(&[(Blocks::Of(1), 1024)])).dtypes(NARROW).modes(&[Mode::Throughput]).groups(WITH_GPU),
    adds(QUICK, Grids::Host).dtypes(NARROW).groups(CPU_ALONE),
    adds(BEYOND_QUICK, Grids::Host).dtypes(BOTH).groups(CPU_ALONE),
];

/// Round trips between two threads, with and without memory ordering.
const fn round_trips(presets: &'static [Preset]) -> PlanRow {
    on(presets, ONE_THREAD).scopes(&[Scope::System]).orders(&[MemoryOrder::AcqRel, MemoryOrder::Relaxed])
}

entries! {
    /// In theory: two trips over the link and, on each side, half an iteration of the polling loop. The GPU polls over the
    /// link: the CPU's cache answers each read, and a read in flight when the flag is set must return first.
    "hybrid.flag.round_trip" like HYBRID:
    "A CPU thread and a GPU thread answer each other through mapped host memory",
    operation: "one round trip: the GPU thread sets its flag, the CPU thread sees that flag and sets its own, and the GPU \
                thread sees the CPU's flag",
    source: "CUDA C++ Programming Guide, Mapped Memory; PTX ISA, st.release.sys and ld.acquire.sys",
    definitions: |case| vec![format!("ORDERED={}", u32::from(case.order != Some(MemoryOrder::Relaxed)))],
    method: Method::RoundTrip,
    cpu_threads: |case| CpuThreads::One(case.group_word().parse().ok()),
    expected: |_| ExpectedInstructions::of(&["ST.SYS", "STG.SYS"]),
    plan: &[
        round_trips(QUICK).groups(&[(Distance::Near.as_str(), &[])]),
        round_trips(BEYOND_QUICK).groups(&[(Distance::Near.as_str(), &[]), (Distance::Far.as_str(), &[])]),
    ];

    /// In theory: the cache line of the variable has one owner at a time. If the link carries atomic operations, the host's
    /// memory system executes those of the GPU too, and CPU and GPU take turns. If it does not, the GPU reads and writes over
    /// the link without excluding others, and additions of the CPU are lost.
    "hybrid.atomic.add" like HYBRID:
    "CPU threads, GPU threads or both at once add to one variable in mapped host memory",
    kernel: Kernel::of("atomic.cu", ArgumentKind::Variable),
    proof: Proof::Sum,
    operation: "one addition by each GPU thread, or by each CPU thread if the CPU works alone",
    source: "CUDA C++ Programming Guide, atomic functions of system scope, Host Native Atomics",
    facts: Facts { role: Role::Update, orders_memory: false, mode: Mode::Throughput, ..FACTS.waiting(Waits::NoWait) },
    definitions: |case| atomic::definitions(case, "atomicAdd_system"),
    method: Method::Addition,
    cpu_threads: |case| match case.group_word().parse().ok() {
        Some(Sides::Both | Sides::Cpu) => CpuThreads::OneAndSeveral,
        Some(Sides::Gpu) | None => CpuThreads::None,
    },
    expected: |case| atomic::expected(case, &["RED.ADD", "REDG.ADD"], &["ATOMG.ADD", "ATOM.ADD"], &[]),
    plan: ADDITIONS;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_measured_alone_too() {
        for preset in Preset::ALL {
            let planned = ENTRIES[1].planned(*preset, DeviceLimits { multiprocessors: 132, max_threads: 1024 });
            let count = |sides: Sides| planned.iter().filter(|case| case.in_group(sides.as_str())).count();
            assert!(count(Sides::Both) > 0 && count(Sides::Both) == count(Sides::Gpu) && count(Sides::Cpu) > 0);
        }
    }
}

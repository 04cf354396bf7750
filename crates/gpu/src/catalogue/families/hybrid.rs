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

fn additions(id: &str, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    let quick = preset == Preset::Quick;
    let types = [Dtype::I32, Dtype::U64];
    let types = if quick { &types[..1] } else { &types[..] };
    let sweep = || Sweep::of(id).scopes(&[Scope::System]).orders(&[MemoryOrder::Relaxed]);
    let named = |sides: &[Sides]| sides.iter().map(|sides| Group::named(sides.as_str())).collect::<Vec<_>>();
    let with_gpu = named(&[Sides::Both, Sides::Gpu]);
    let on = |blocks: u32, threads: u32, types: &[Dtype], mode: Mode| {
        sweep().dtypes(types).blocks(&[blocks]).threads(&[threads]).modes(&[mode]).groups(&with_gpu).cases()
    };
    let mut cases = on(1, 32, types, Mode::Throughput);
    if !quick {
        cases.extend(on(1, 1, &types[..1], Mode::Throughput));
        cases.extend(on(1, 1, &types[..1], Mode::Latency));
        cases.extend(on(1, 32, types, Mode::Latency));
        let one_by_one = sweep().dtypes(&types[..1]).blocks(&[1]).threads(&[32]);
        let modes = [Mode::Throughput, Mode::Latency];
        cases.extend(one_by_one.modes(&modes).groups(&with_gpu).forms(&[Some(Form::NotAggregated)]).cases());
    }
    if preset == Preset::Paper {
        // Over PCI Express each of these threads waits a microsecond for each other thread.
        cases.extend(on(1, limits.max_threads, &types[..1], Mode::Throughput));
    }
    cases.extend(sweep().dtypes(types).groups(&named(&[Sides::Cpu])).cases());
    cases
}

entries! {
    /// In theory: two trips over the link, and on each side half an iteration of the polling loop. The GPU polls over the link:
    /// the CPU's cache answers each read, and a read under way when the flag is set must return first.
    "hybrid.flag.round_trip" like HYBRID:
    "A CPU thread and a GPU thread answer each other through mapped memory of the host",
    operation: "one round trip: the GPU's thread sets its flag, the CPU's thread sees it and sets its own, the GPU's sees that",
    source: "CUDA C++ Programming Guide, Mapped Memory; PTX ISA, st.release.sys and ld.acquire.sys",
    definitions: |case| vec![format!("ORDERED={}", u32::from(case.order != Some(MemoryOrder::Relaxed)))],
    method: Method::RoundTrip,
    cpu_threads: |case| CpuThreads::One(case.group_word().parse().ok()),
    expected: |_| ExpectedInstructions::of(&["ST.SYS", "STG.SYS"]),
    cases: |id, preset, _| {
        let distances = if preset == Preset::Quick { &Distance::ALL[..1] } else { Distance::ALL };
        let groups: Vec<Group> = distances.iter().map(|distance| Group::named(distance.as_str())).collect();
        let orders = [MemoryOrder::AcqRel, MemoryOrder::Relaxed];
        let sweep = Sweep::of(id).threads(&[1]).blocks(&[1]).scopes(&[Scope::System]);
        sweep.orders(&orders).groups(&groups).cases()
    };

    /// In theory: the cache line of the variable has one owner at a time. If the link carries atomic operations, the host's
    /// memory system executes those of the GPU too, and CPU and GPU take turns. If it does not, the GPU reads and writes over
    /// the link without excluding others, and additions of the CPU are lost.
    "hybrid.atomic.add" like HYBRID:
    "CPU and GPU threads add to one variable in mapped memory of the host, together or one side alone",
    kernel: Kernel::of("atomic.cu", ArgumentKind::Variable),
    proof: Proof::Sum,
    operation: "one addition by each GPU thread; by each CPU thread where the CPU is alone",
    source: "CUDA C++ Programming Guide, atomic functions of system scope, Host Native Atomics",
    facts: Facts { role: Role::Update, orders_memory: false, mode: Mode::Throughput, ..FACTS.waiting(Waits::NoWait) },
    definitions: |case| atomic::definitions(case, "atomicAdd_system"),
    method: Method::Addition,
    cpu_threads: |case| match case.group_word().parse().ok() {
        Some(Sides::Both | Sides::Cpu) => CpuThreads::OneAndSeveral,
        Some(Sides::Gpu) | None => CpuThreads::None,
    },
    expected: |case| atomic::expected(case, &["RED.ADD", "REDG.ADD"], &["ATOMG.ADD", "ATOM.ADD"], &[]),
    cases: additions;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_measured_alone_too() {
        for preset in Preset::ALL {
            let planned =
                additions("hybrid.atomic.add", *preset, DeviceLimits { multiprocessors: 132, max_threads: 1024 });
            let count = |sides: Sides| planned.iter().filter(|case| case.in_group(sides.as_str())).count();
            assert!(count(Sides::Both) > 0 && count(Sides::Both) == count(Sides::Gpu) && count(Sides::Cpu) > 0);
        }
    }
}

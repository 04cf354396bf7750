//! Synthetic rows of the larger levels: clusters, grids, several devices, launches, pairs of CPUs, fairness, tails.

use std::collections::HashMap;

use syncscope_core::Group;
use syncscope_core::machine::{GpuMachine, MeasuredGroup, MeasuredTopology};
use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, CaseId, Detail, Dtype, Layout, Nanoseconds, Placement, Row, Scope, Verdict};
use syncscope_report::RunData;

use super::{CPU_HZ, CPU_THREADS, GPU_HZ, both, resolved};

const SMS: u32 = 132;
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// A run with every level: 16 CPUs, two pairs of which share a core against the reported topology, and four devices.
pub(crate) fn complete() -> RunData {
    let mut data = both();
    data.rows.retain(|row| !["handoff", "grid", "multi", "launch"].contains(&row.case.domain_and_family().1));
    for extra in [pairs(), sharing(), warps(), fences(), clusters(), grids(), devices(), launches(), sweeps()] {
        data.rows.extend(extra);
    }
    data.run.planned = data.rows.len() as u64;
    let gpu = data.run.machine.gpus.first().cloned().unwrap_or_default();
    data.run.machine.gpus = (0..4).map(|index| GpuMachine { index, ..gpu.clone() }).collect();
    data.run.measured_topology = Some(MeasuredTopology {
        groups: vec![
            MeasuredGroup { shares: "core".into(), cpus: "3,11".into(), handoff_ns: 6.0 },
            MeasuredGroup { shares: "core".into(), cpus: "5,13".into(), handoff_ns: 6.1 },
            MeasuredGroup { shares: "cache".into(), cpus: "0-15".into(), handoff_ns: 52.0 },
        ],
        contradictions: vec![
            "CPUs 3 and 11 answer each other in 6.0 ns, the others in 45 to 70 ns: they seem to be hardware threads of \
             one core, but the system reports one thread per core"
                .into(),
        ],
    });
    data.details = details(&data.rows);
    data
}

/// A run with as many rows as the largest preset.
pub(crate) fn paper() -> RunData {
    let mut data = complete();
    let strides = [1, 2, 4, 16, 32, 128].map(|stride| Layout::Private { stride });
    let layouts = [&[Layout::Shared], &strides[..]].concat();
    for name in ["add", "sub", "max", "exchange", "cas_pass", "cas_fail"] {
        let sweep = Sweep::of(&format!("gpu.atomic.{name}"))
            .dtypes(&[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64])
            .layouts(&layouts)
            .scopes(&[Scope::Block])
            .blocks(&[1, 2, 66, 132, 264, 528])
            .threads(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
        data.rows.extend(sweep.cases().into_iter().map(|case| {
            let ns = 3.0 * (case.actors() as f64 / 32.0).powf(0.7).max(1.0);
            resolved(case, ns, 0.02, GPU_HZ)
        }));
    }
    data
}

/// Every pair of 16 CPUs.
fn pairs() -> Vec<Row> {
    matrix(16)
}

/// The matrix of this number of CPUs. CPUs of one core differ by half the number of CPUs.
pub(crate) fn matrix(cpus: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for a in 0..cpus {
        for b in a + 1..cpus {
            let sibling = b - a == cpus / 2 && (a == 3 || a == 5);
            let near = a % (cpus / 2) / (cpus / 4) == b % (cpus / 2) / (cpus / 4);
            let (group, ns) = match (sibling, near) {
                (true, _) => ("same_l3", 6.0),
                (_, true) => ("same_l3", 48.0),
                _ => ("same_node", 64.0),
            };
            let case = Case {
                threads: Some(2),
                placement: Some(Placement::List(vec![a, b])),
                group: Some(Group::of_word(group)),
                ..Case::new("cpu.handoff.cas_pingpong")
            };
            rows.push(resolved(case, ns, 0.06, CPU_HZ));
        }
    }
    for (name, ns) in [("store_pingpong", 41.0), ("channel", 190.0), ("futex", 5200.0), ("condvar", 9100.0)] {
        let case =
            Case { threads: Some(2), placement: Some(Placement::Close), ..Case::new(&format!("cpu.handoff.{name}")) };
        rows.push(resolved(case, ns, 0.04, CPU_HZ));
    }
    rows
}

/// Private elements that no longer share a line from 64 bytes on.
fn sharing() -> Vec<Row> {
    let mut rows = Vec::new();
    for dtype in [Dtype::I32, Dtype::U64, Dtype::F64] {
        for stride in [1, 2, 4, 8, 16] {
            for threads in CPU_THREADS {
                let bytes = u64::from(stride) * dtype.size_bytes() as u64;
                let sharers = f64::from(threads).min(64.0 / bytes as f64).max(1.0);
                let case = Case {
                    dtype: Some(dtype),
                    layout: Some(Layout::Private { stride }),
                    threads: Some(threads),
                    placement: Some(Placement::Close),
                    ..Case::new("cpu.atomic.add")
                };
                rows.push(resolved(case, 5.0 * sharers.powf(0.9), 0.03, CPU_HZ));
            }
        }
    }
    rows
}

fn gpu(primitive: &str, blocks: u32, threads: u32) -> Case {
    Case { blocks: Some(blocks), threads: Some(threads), ..Case::new(primitive) }
}

fn warps() -> Vec<Row> {
    let group = |name: &str, group: &str| Case { group: Some(Group::of_word(group)), ..gpu(name, 1, 32) };
    vec![
        resolved(group("gpu.warp.syncwarp", "divergent"), 83.0, 0.01, GPU_HZ),
        resolved(gpu("gpu.vote.ballot", 1, 32), 8.6, 0.01, GPU_HZ),
        Row::unmeasured(
            group("gpu.warp.syncwarp", "converged"),
            Verdict::Elided("expected WARPSYNC, found NOP".into()),
        ),
    ]
}

fn fences() -> Vec<Row> {
    let fence = |name: &str, ns| resolved(gpu(&format!("gpu.fence.{name}"), 1, 32), ns, 0.02, GPU_HZ);
    vec![fence("block", 7.5), fence("device", 235.0), fence("system", 490.0)]
}

fn clusters() -> Vec<Row> {
    let mut rows = Vec::new();
    for name in ["sync", "arrive_wait"] {
        for size in [1, 2, 4, 8, 16] {
            for threads in THREADS {
                let case = Case {
                    group: Some(Group::numbered("cluster #", size)),
                    ..gpu(&format!("gpu.cluster.{name}"), SMS / size * size, threads)
                };
                rows.push(if size == 16 {
                    let reason = "clusters of 16 blocks: the device allows 8";
                    Row::unmeasured(case, Verdict::Skipped(reason.into()))
                } else {
                    resolved(case, 95.0 + 12.0 * f64::from(size) + f64::from(threads) / 20.0, 0.01, GPU_HZ)
                });
            }
        }
    }
    rows
}

fn grids() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, base, slope) in [("cooperative", 1000.0, 55.0), ("counter", 760.0, 70.0), ("lock_free", 690.0, 95.0)] {
        for each in [1, 2, 4, 8, 16, 32] {
            for threads in THREADS {
                let case = gpu(&format!("gpu.grid.{name}"), each * SMS, threads);
                rows.push(if each * threads > 2048 {
                    let reason = format!("resident maximum {} blocks, asked {}", 2048 / threads * SMS, each * SMS);
                    Row::unmeasured(case, Verdict::Skipped(reason))
                } else {
                    let warps = f64::from(each * threads) / 32.0;
                    let ns = base + slope * f64::from(each) + 4.0 * warps;
                    resolved(case, ns, 0.01, GPU_HZ)
                });
            }
        }
    }
    rows
}

fn devices() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, base) in [("counter", 2600.0), ("flags", 1900.0), ("host_barrier", 14_000.0)] {
        for devices in [1, 2, 4] {
            for each in [1, 2, 4, 8] {
                for threads in [32, 128, 512, 1024] {
                    let case =
                        Case { devices: Some(devices), ..gpu(&format!("gpu.multi.{name}"), each * SMS, threads) };
                    rows.push(if each * threads > 2048 {
                        Row::unmeasured(case, Verdict::Skipped("more blocks than can be resident".into()))
                    } else {
                        let across = if devices > 1 { base * f64::from(devices).powf(0.3) } else { 900.0 };
                        resolved(case, across + 60.0 * f64::from(each), 0.02, GPU_HZ)
                    });
                }
            }
        }
    }
    rows
}

fn launches() -> Vec<Row> {
    let launch = |name: &str, ns| {
        let case = Case { group: Some(Group::named("empty")), ..gpu(&format!("gpu.launch.{name}"), 1, 32) };
        resolved(case, ns, 0.03, GPU_HZ)
    };
    let flag = Case {
        group: Some(Group::named("near")),
        placement: Some(Placement::List(vec![2])),
        ..gpu("hybrid.flag.round_trip", 1, 1)
    };
    vec![
        launch("stream", 2430.0),
        launch("graph", 1360.0),
        launch("stream_sync", 7900.0),
        launch("event_sync", 8800.0),
        resolved(flag, 2350.0, 0.02, GPU_HZ),
    ]
}

/// Block barriers on full grids (Zhang et al., figures 6 and 7).
fn sweeps() -> Vec<Row> {
    let mut rows = Vec::new();
    for each in [1, 2, 4, 8] {
        for warps in [1, 2, 4, 6, 8, 12, 16, 24, 32] {
            if each * warps <= 64 && !(each == 1 && [1, 2, 4, 8, 16, 32].contains(&warps)) {
                let case = gpu("gpu.block.syncthreads", each * SMS, warps * 32);
                rows.push(resolved(case, 11.0 + 0.9 * f64::from(each * warps), 0.01, GPU_HZ));
            }
        }
    }
    rows
}

/// The fairness of the locks and the percentiles of the hand-offs.
fn details(rows: &[Row]) -> HashMap<CaseId, Vec<Detail>> {
    let of = |row: &Row| -> Vec<Detail> {
        let threads = row.case.threads.unwrap_or(1);
        let ns = row.ns.map_or(0.0, Nanoseconds::value);
        match row.case.domain_and_family() {
            ("cpu", "lock") if threads > 1 => {
                let unfair = if row.case.primitive.ends_with("std_mutex") { 0.6 } else { 0.02 };
                let each = |thread: u32| 1e7 / (1.0 + f64::from(thread) * unfair);
                let mut details = vec![Detail::of_case("jain_index", 1.0 - unfair * f64::from(threads) / 40.0)];
                details.extend((0..threads).map(|thread| Detail::of_actor("acquisitions_per_s", thread, each(thread))));
                details
            }
            ("cpu", "handoff") | ("hybrid", "flag") => [("p50", 0.98), ("p90", 1.1), ("p99", 1.9), ("max", 40.0)]
                .map(|(name, factor)| Detail::of_case(&format!("{name}_ns"), ns * factor))
                .to_vec(),
            _ => vec![],
        }
    };
    rows.iter().map(|row| (row.case.id(), of(row))).filter(|(_, details)| !details.is_empty()).collect()
}

//! Hard limits of the hardware: a cost below one of them belongs to threads that did not run together.

use syncscope_core::machine::GpuMachine;
use syncscope_core::{Case, Counted, Evidence, Layout, Limit, Space};

use crate::catalogue::Method;
use crate::catalogue::entry::Entry;

/// The schedulers of a multiprocessor, each of which issues one instruction of one warp per clock (Volta and later: CUDA C++
/// Programming Guide, "Compute Capabilities", the section on each architecture).
const SCHEDULERS: f64 = 4.0;

/// A unit that serves a fixed number of lanes per clock.
struct Unit {
    /// What the unit serves.
    lanes_of: &'static str,
    /// The instructions that use the unit.
    instructions: &'static [&'static str],
    /// The primitives that use the unit this way; empty means all.
    primitives: &'static [&'static str],
    per_clock: f64,
    /// The lowest and highest compute capability known to have that throughput.
    on: [(u32, u32); 2],
}

/// The units of a multiprocessor (CUDA C++ Best Practices Guide, "Throughput of Native Arithmetic Instructions"; before CUDA
/// 13, a table of the Programming Guide), as others quote them. The values for votes were measured on an H200.
const UNITS: [Unit; 5] = [
    unit("shuffles", &["SHFL"], 32.0, [(7, 5), (9, 0)]),
    unit("reductions", &["REDUX"], 16.0, [(8, 0), (9, 0)]),
    unit("votes", &["VOTE", "VOTEU"], 64.0, [(9, 0), (9, 0)]),
    // A ballot's mask goes into a register of each lane, the result of other votes into a predicate.
    Unit { primitives: &["gpu.vote.ballot"], ..unit("ballots", &["VOTE"], 32.0, [(9, 0), (9, 0)]) },
    // One wavefront of 128 bytes; accesses of lanes that share a bank need more.
    unit("shared memory", &["ATOMS", "LDS", "STS"], 32.0, [(7, 5), (12, 1)]),
];

const fn unit(
    lanes_of: &'static str,
    instructions: &'static [&'static str],
    per_clock: f64,
    on: [(u32, u32); 2],
) -> Unit {
    Unit { lanes_of, instructions, primitives: &[], per_clock, on }
}

/// The highest limit of a case on a device: the lowest possible cost of an operation, as a thread sees it.
pub(crate) fn least_cycles(entry: &Entry, case: &Case, evidence: &Evidence, device: &GpuMachine) -> Option<Limit> {
    // In a different context, the operation may hide.
    if entry.method != Method::Kernel || (entry.expected)(case).only_in_test {
        return None;
    }
    let (threads, blocks) = (case.threads?, case.blocks?);
    // The number of blocks every multiprocessor has; some may have one more.
    let together = (blocks / device.multiprocessors).clamp(1, resident(case, threads, device));
    let warps = f64::from(threads.div_ceil(32));
    let on_multiprocessor = f64::from(together) * warps;
    let on_device = f64::from(blocks.min(together * device.multiprocessors)) * warps;
    let limit = |cycles: f64, name: &str| Limit { least_cycles: cycles, name: name.to_owned() };

    let executed = evidence.receipt().filter(|receipt| receipt.counted() == Counted::Executed);
    let issued = executed.map(|receipt| {
        let per_scheduler = (on_multiprocessor / SCHEDULERS).max(1.0);
        limit(receipt.all() * per_scheduler, "4 instructions issued per clock per multiprocessor")
    });
    let units = executed.into_iter().flat_map(|receipt| UNITS.iter().map(move |unit| (receipt, unit)));
    let is_known = |unit: &Unit| {
        let is_used = unit.primitives.is_empty() || unit.primitives.contains(&&*case.primitive);
        is_used && (unit.on[0]..=unit.on[1]).contains(&device.compute_capability)
    };
    let served = units.filter(|(_, unit)| is_known(unit)).map(|(receipt, unit)| {
        let count: f64 = unit.instructions.iter().map(|instruction| receipt.of_name(instruction)).sum();
        let name = format!("{} lanes of {} per clock per multiprocessor", unit.per_clock, unit.lanes_of);
        limit(count * f64::from(together * threads) / unit.per_clock, &name)
    });
    // The compiler or the hardware may combine other operations of a warp.
    let on_an_address = if entry.each_changes_it {
        limit(on_device / warps * f64::from(threads), "one atomic operation per clock on an address")
    } else {
        limit(on_device, "one atomic operation of a warp per clock on an address")
    };
    let is_one = case.layout == Some(Layout::Shared) && case.space == Some(Space::Global);
    let limits = issued.into_iter().chain(served).chain(is_one.then_some(on_an_address));
    let is_possible = |limit: &Limit| limit.least_cycles > 0.0 && on_device > 1.0;
    limits.filter(is_possible).max_by(|a, b| a.least_cycles.total_cmp(&b.least_cycles))
}

/// How many blocks surely run on a multiprocessor at the same time, if the grid has that many. Kernels take at most 32
/// registers per thread, and those with variables in shared memory take much of it.
fn resident(case: &Case, threads: u32, device: &GpuMachine) -> u32 {
    let room = device.max_threads_per_multiprocessor / threads.max(1);
    if case.space == Some(Space::Shared) { 1 } else { room.min(device.max_blocks_per_multiprocessor).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::entry_of;
    use syncscope_core::{Dtype, Receipt, Scope};

    const HOPPER: (u32, u32) = (9, 0);

    fn evidence(instructions: &[&str], counted: Counted) -> Evidence {
        let test = instructions.iter().map(|name| (*name, *name == instructions[0]));
        let receipt = Receipt::of([Vec::new(), test.collect()], 1, counted);
        Evidence::Present { summary: String::new(), listing: String::new(), receipt }
    }

    fn case(primitive: &str, threads: u32, blocks: u32) -> Case {
        Case { threads: Some(threads), blocks: Some(blocks), ..Case::new(primitive) }
    }

    /// The limit in thousandths of a cycle, and its name.
    fn limit_on(capability: (u32, u32), case: &Case, evidence: &Evidence) -> Option<(i64, String)> {
        let device = GpuMachine {
            compute_capability: capability,
            multiprocessors: 132,
            max_threads_per_multiprocessor: 2048,
            max_blocks_per_multiprocessor: 32,
            ..GpuMachine::default()
        };
        let found = least_cycles(entry_of(case)?, case, evidence, &device)?;
        Some(((found.least_cycles * 1000.0).round() as i64, found.name))
    }

    fn limit(case: &Case, evidence: &Evidence) -> Option<(i64, String)> {
        limit_on(HOPPER, case, evidence)
    }

    #[test]
    fn a_multiprocessor_issues_four_instructions_per_clock() {
        let five = evidence(&["BAR", "IMAD", "ISETP", "VIADD", "UIADD3"], Counted::Executed);
        let name = "4 instructions issued per clock per multiprocessor".to_owned();
        let of = |threads, blocks| limit(&case("gpu.block.syncthreads", threads, blocks), &five);
        assert_eq!(of(1024, 1), Some((40_000, name.clone())));
        assert_eq!(of(1024, 131), Some((40_000, name.clone())), "one block on each");
        assert_eq!(of(1024, 264), Some((80_000, name.clone())));
        assert_eq!(of(1024, 8448), Some((80_000, name.clone())), "two at a time");
        assert_eq!(of(64, 1), Some((5_000, name)), "a scheduler issues one in a clock");
        assert_eq!(of(32, 1), None, "one warp runs together with itself");
        let on_paths = evidence(&["BAR", "IMAD"], Counted::Static);
        assert_eq!(limit(&case("gpu.block.syncthreads", 1024, 1), &on_paths), None, "how often is not known");
    }

    #[test]
    fn units_serve_so_many_lanes_per_clock() {
        let of = |primitive: &str, instruction: &str, threads| {
            limit(&case(primitive, threads, 132), &evidence(&[instruction], Counted::Executed)).unwrap()
        };
        assert_eq!(
            of("gpu.shuffle.idx", "SHFL", 1024),
            (32_000, "32 lanes of shuffles per clock per multiprocessor".to_owned())
        );
        assert_eq!(
            of("gpu.reduce.add", "REDUX", 1024),
            (64_000, "16 lanes of reductions per clock per multiprocessor".to_owned())
        );
        assert_eq!(
            of("gpu.vote.any", "VOTE", 1024),
            (16_000, "64 lanes of votes per clock per multiprocessor".to_owned())
        );
        assert_eq!(
            of("gpu.vote.ballot", "VOTE", 1024),
            (32_000, "32 lanes of ballots per clock per multiprocessor".to_owned())
        );
        let vote = evidence(&["VOTE"], Counted::Executed);
        let later = limit_on((12, 0), &case("gpu.vote.any", 1024, 1), &vote).unwrap();
        assert_eq!(later.0, 8_000, "the throughput is not known, and the issue slots are the limit");
    }

    #[test]
    fn shared_memory_serves_a_warp_per_clock() {
        let of = |instructions: &[&str], threads, blocks| {
            let case = Case {
                space: Some(Space::Shared),
                layout: Some(Layout::Shared),
                ..case("gpu.atomic.add", threads, blocks)
            };
            limit(&case, &evidence(instructions, Counted::Executed)).map(|(cycles, _)| cycles)
        };
        assert_eq!(
            [132, 264].map(|blocks| of(&["ATOMS"], 256, blocks)),
            [Some(8_000), Some(8_000)],
            "one block may run alone"
        );
        assert_eq!(of(&["ATOMS", "LDS"], 1024, 1), Some(64_000));
        assert_eq!(of(&["RED"], 1024, 1), Some(8_000), "the issue slots");
    }

    #[test]
    fn an_address_takes_one_operation_per_clock() {
        let nothing = Evidence::NotAvailable(String::new());
        let on_one = |primitive: &str, layout, blocks| {
            let layout = Some(layout);
            let (space, scope) = (Some(Space::Global), Some(Scope::Device));
            let case = Case { layout, space, scope, dtype: Some(Dtype::I32), ..case(primitive, 1024, blocks) };
            limit(&case, &nothing).map(|(cycles, _)| cycles / 1000)
        };
        assert_eq!(on_one("gpu.atomic.add", Layout::Shared, 132), Some(132 * 32), "added up in a warp");
        assert_eq!(on_one("gpu.atomic.cas_pass", Layout::Shared, 132), Some(132 * 1024));
        assert_eq!(on_one("gpu.atomic.cas_pass", Layout::Shared, 264), Some(264 * 1024));
        assert_eq!(on_one("gpu.atomic.add", Layout::Private { stride: 1 }, 132), None);
    }

    #[test]
    fn an_operation_may_hide_in_another_context() {
        let fence = evidence(&["MEMBAR", "ERRBAR", "CCTL"], Counted::Executed);
        let case = Case { scope: Some(Scope::Device), dtype: Some(Dtype::I32), ..case("gpu.fence.device", 1024, 132) };
        assert_eq!(limit(&case, &fence), None);
        assert_eq!(limit(&Case::new("gpu.no.primitive"), &fence), None);
    }
}

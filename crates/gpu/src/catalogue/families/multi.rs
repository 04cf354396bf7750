//! Barriers of the grids of several devices.

use super::grid::{FEW, NEAR_FLAGS, ON_EACH, ONE, RELAXED, UNROLL, roomy};
use super::prelude::*;

const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.01),
    has_designs: true,
    is_algorithm: true,
    ..Facts::of(Role::DeviceBarrier).waiting(Waits::Spins)
};

/// A barrier in which every block arrives at every device.
const DIRECT: &str = "direct";

/// Numbers of devices; the laboratory removes cases with more devices than there are.
const ALL: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8];
const SOME: &[u32] = &[1, 2, 4, 8];

/// The group of cases in which one call of the driver launches the grids of all devices, instead of one call per device.
pub(crate) const ONE_LAUNCH: &str = "driver_launch";

/// The barriers that have a relaxed form, and those launched by one call.
const DESIGNS: &[&str] = &["counter", "flags"];
const FLAGS: &[&str] = &["flags"];
const ONE_CALL: &[(&str, &[u32])] = &[(ONE_LAUNCH, &[])];
const NEAR: &[(&str, &[u32])] = &[(NEAR_FLAGS, &[])];
const ALL_ARRIVE: &[(&str, &[u32])] = &[(DIRECT, &[])];

/// The heat map of the grid barriers for each number of devices (Zhang, Wahib, Matsuoka, figures 9 to 11), complete in paper
/// plans; the smallest grids launched by one call, relaxed barriers, and the variants of the flags on one block per
/// multiprocessor.
const PLAN: &[PlanRow] = &[
    on(QUICK, Grids::Resident(ONE, FEW)).devices(SOME),
    on(QUICK, Grids::Resident(ONE, &[32])).devices(SOME).orders(RELAXED).only(FLAGS),
    on(STANDARD, Grids::Resident(ON_EACH, &[32])).devices(ALL),
    on(STANDARD, Grids::Resident(&[1, 2], &[1024])).devices(ALL),
    on(PAPER, Grids::Resident(ON_EACH, &DOUBLINGS)).devices(ALL),
    on(BEYOND_QUICK, Grids::Resident(ONE, &[32])).devices(ALL).groups(ONE_CALL).only(DESIGNS),
    on(STANDARD, Grids::Resident(ONE, &[32])).devices(ALL).orders(RELAXED).only(DESIGNS),
    on(PAPER, Grids::Resident(ONE, FEW)).devices(ALL).orders(RELAXED).only(DESIGNS),
    on(STANDARD, Grids::Resident(ONE, &[32])).devices(SOME).groups(NEAR).only(FLAGS),
    on(STANDARD, Grids::Resident(ONE, &[32])).devices(SOME).groups(ALL_ARRIVE).only(FLAGS).relaxed_too(FLAGS),
    on(PAPER, Grids::Resident(ONE, FEW)).devices(ALL).groups(NEAR).only(FLAGS),
    on(PAPER, Grids::Resident(ONE, FEW)).devices(ALL).groups(ALL_ARRIVE).only(FLAGS).relaxed_too(FLAGS),
];

const BARRIER: Entry = Entry {
    operation: "one barrier across all threads of the grids on all devices",
    plan: PLAN,
    method: Method::GridBarrier,
    unroll: |_| UNROLL,
    ..Entry::of(Kernel::of("multi.cu", ArgumentKind::GridBarrier), Proof::Trial, FACTS)
};

/// The group: this many bytes from each device to every other one.
const BYTES: &str = "# bytes";

fn exchange(case: &Case, is_released: bool) -> Vec<String> {
    let bytes = case.group_number(BYTES).unwrap_or(8).clamp(8, 128) / 8 * 8;
    let is_of_two = u32::from(case.devices == Some(2));
    vec![format!("RELEASED={}", u32::from(is_released)), format!("BYTES={bytes}"), format!("OF_TWO={is_of_two}")]
}

/// One warp of each device.
const EXCHANGE: Entry = Entry {
    operation: "one exchange, after which every device has the data that all the others wrote in that exchange",
    facts: Facts { role: Role::DeviceExchange, has_designs: false, ..FACTS },
    kernel: Kernel::of("exchange.cu", ArgumentKind::GridBarrier),
    definitions: |case| exchange(case, false),
    plan: &[on(BEYOND_QUICK, Grids::Shapes(&[(Blocks::Of(1), 32)]))
        .groups(&[(BYTES, &[8, 16, 32, 64, 128])])
        .devices(&[2, 4])],
    limit: |case, _| {
        let is_there = case.threads == Some(32) && case.blocks == Some(1) && matches!(case.devices, Some(2..=4));
        (!is_there).then_some("one warp on each of two to four devices takes part")
    },
    unroll: |_| 1,
    ..BARRIER
};

entries! {
    /// In theory: a grid barrier, then an addition over the link, reads over the link until all devices have arrived, and the
    /// release of the device's blocks.
    "gpu.multi.counter" like BARRIER:
    "Barrier across the grids of several devices, with one counter in the first device's memory; the “relaxed” \
     variant orders no memory accesses, so only arrivals are checked",
    source: "Zhang, Wahib, Matsuoka, figures 9 to 11, multi-grid synchronization; PTX ISA, red.release.sys",
    definitions: |case| in_order_of(case, vec![kind_of(case)]),
    orderings: |_| {
        &[
            "addition on the device acquires and releases",
            "addition for all devices releases",
            "poll of all devices acquires",
            "flag on the device releases",
            "poll on the device acquires",
        ]
    },
    expected: |_| ExpectedInstructions::of(&["REDG.ADD.SYS", "RED.ADD.SYS"]),
    adds_across_devices: |_| true;

    /// In theory: the first half of a grid barrier, one way over the link, and a read of the device's own memory. Only writes
    /// go over the link, and every block reads the flags itself. Variants: flags in both halves of each device's cache, with
    /// relaxed reads and one fence at the end; and `direct`, which gathers nothing: every block adds to a counter on every
    /// device, which takes one way instead of two, with as many additions over the link as there are blocks.
    "gpu.multi.flags" like BARRIER:
    "Barrier across the grids of several devices, with flags in every device's memory; one variant keeps flags in both halves of \
     each L2 cache and polls them with relaxed loads before one acquire fence, another has a counter on every device, at which the \
     blocks of all devices arrive; the “relaxed” variant orders no memory accesses, so only arrivals are checked",
    source: "Zhang, Wahib, Matsuoka, figures 9 to 11, multi-grid synchronization; PTX ISA, fence.acq_rel.sys and \
             ld.acquire.sys",
    definitions: |case| {
        let kind = match case.group_word() {
            NEAR_FLAGS => "NEAR_FLAGS",
            DIRECT => "DIRECT",
            _ => "FLAGS",
        };
        [in_order_of(case, vec![format!("KIND={kind}")]), roomy(case)].concat()
    },
    expected: |case| match case.group_word() {
        DIRECT => ExpectedInstructions::of(&["REDG.ADD.SYS", "RED.ADD.SYS"]),
        // A flag in each half of the cache.
        NEAR_FLAGS => ExpectedInstructions::of(&["STG.STRONG.SYS", "ST.STRONG.SYS"]).times(2),
        _ => ExpectedInstructions::of(&["STG.STRONG.SYS", "ST.STRONG.SYS"]),
    },
    orderings: |case| match case.group_word() {
        DIRECT => &["fence releases", "fence acquires"],
        NEAR_FLAGS => &["addition on the device releases", "fence acquires and releases", "fence acquires"],
        _ => &["addition on the device acquires and releases", "fence releases", "poll acquires"],
    },
    adds_across_devices: |case| case.in_group(DIRECT);

    /// In theory: one way over the link and a poll of the device's own memory, without a fence: a 16-byte store arrives as a
    /// whole.
    "gpu.multi.exchange" like EXCHANGE:
    "Each device writes a few bytes to every other device and waits for the others' data; each 16-byte store holds 8 bytes of \
     data and the turn number",
    source: "PTX ISA, st.relaxed.sys.b128; NCCL, protocol LL128",
    expected: |_| ExpectedInstructions::of(&["LDG.128.STRONG.SYS", "LD.128.STRONG.SYS"]).times(POLLS);

    /// In theory: the same exchange behind a system-wide fence.
    "gpu.multi.exchange_released" like EXCHANGE:
    "Each device writes a few bytes to every other device, then sets a flag there with a release store, and waits for the others' flags",
    source: "PTX ISA, st.release.sys and ld.acquire.sys",
    definitions: |case| exchange(case, true),
    expected: |_| ExpectedInstructions::of(&["LDG.64.STRONG.SYS", "LD.64.STRONG.SYS"]).times(POLLS);

    /// In theory: a launch, the wait for its end, and a barrier across one host thread per device; some ten microseconds for
    /// any grid.
    "gpu.multi.host_barrier" like BARRIER:
    "One host thread per device launches a grid, waits for it to end, and then waits for the other threads",
    kernel: Kernel::of("host_barrier.cu", ArgumentKind::HostBarrier),
    operation: "one launch on each device, run to completion, and one barrier across the host threads",
    source: "Zhang et al., IPDPS 2020, CPU-side barrier",
    method: Method::HostBarrier,
    unroll: |_| 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_devices_has_the_same_grids() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        for preset in Preset::ALL {
            let cases = ENTRIES[1].planned(*preset, limits);
            let of = |devices| cases.iter().filter(move |case| case.devices == Some(devices)).count();
            assert!(of(1) > 0 && of(1) == of(2) && of(2) == of(8), "{preset}");
        }
        assert_eq!(ENTRIES[4].planned(Preset::Paper, limits).len(), 8 * 26);
    }

    #[test]
    fn only_additions_of_all_blocks_need_a_link_that_carries_them() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let adds = |case: &Case| (ENTRIES[1].adds_across_devices)(case);
        let (adding, others): (Vec<Case>, Vec<Case>) =
            ENTRIES[1].planned(Preset::Paper, limits).into_iter().partition(adds);
        assert_eq!(adding.len(), 8 * 2 * 2, "eight numbers of devices, two sizes, two orders");
        assert!(others.iter().all(|case| !case.in_group(DIRECT)));
    }
}

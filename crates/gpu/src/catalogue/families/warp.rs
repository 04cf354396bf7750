//! Barriers of the threads of a warp.

use super::prelude::*;

const BARRIER: Entry = Entry::of(Kernel::of("warp.cu", ArgumentKind::Register), Proof::Trial, FACTS);

/// Warps share nothing.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::OfEachWarp(TILES),
    actor: ActorRule::Median,
    run_effect: |_| REGISTERS,
    ..Facts::of(Role::WarpBarrier).waiting(Waits::InHardware)
};

/// One half of the warp.
const PARTIAL: &str = "partial";

/// Two halves of the warp on two divergent paths.
const DIVERGENT: &str = "divergent";

/// Tiles of this many threads.
const TILES: &str = "tile #";

/// A coalesced group of this many neighbouring threads.
const NEIGHBOURS: &str = "coalesced #";

/// A coalesced group of this many threads, every fourth lane.
const EVERY_FOURTH: &str = "every_fourth #";

/// If the compiler or the code finds all threads of the mask converged, nothing is left to do. On Ampere and Ada the code tests
/// that for each barrier whose mask is not a constant; on later architectures one test covers many barriers.
const NOTHING: &[&str] = &["MATCH.ANY", "NOP"];

/// Why nothing is left of a barrier.
const CONVERGED: &str = "the threads of the mask are converged, so there is nothing to wait for";

/// A barrier in the form `Alone` keeps its comparison on every device since Ampere.
fn why_elided(case: &Case) -> fn((u32, u32)) -> Option<&'static str> {
    // On Turing the compiler compares nothing, whatever the mask.
    if case.form == Some(Form::Alone) {
        |capability| (capability < (8, 0)).then_some(CONVERGED)
    } else {
        // On Ampere and Ada, a mask that is not a constant is compared at each barrier, so something is left.
        |capability| (capability.0 != 8).then_some(CONVERGED)
    }
}

/// Where only NOPs are left, what an iteration does once must not hide them. One comparison there covers all barriers of tiles:
/// a multiprocessor compares the masks of 32 warps in some 2,048 cycles divided by the tile size, and issues a NOP of each warp
/// in 8 (H100). With 32 barriers of `tile 4` the comparison hid most of them, and with 64 warps the branch alone hid 6 % of a
/// NOP.
fn unroll(case: &Case) -> u32 {
    match case.group_number(TILES) {
        _ if case.form.is_some() || case.in_group(DIVERGENT) => UNROLL,
        Some(..=4) => 512,
        _ => 256,
    }
}

fn definitions(case: &Case, kind: &str, group: u32, paths: u32) -> Vec<String> {
    let alone = u32::from(case.form == Some(Form::Alone));
    vec![format!("KIND={kind}"), format!("GROUP={group}"), format!("PATHS={paths}"), format!("ALONE={alone}")]
}

fn is_part_of_a_warp(case: &Case, _: DeviceLimits) -> bool {
    case.threads < Some(32)
}

const EACH_SIZE: &[(&str, &[u32])] = &[(NEIGHBOURS, &up_to::<32>()), (EVERY_FOURTH, &up_to::<8>())];

const fn up_to<const MOST: usize>() -> [u32; MOST] {
    let (mut numbers, mut at) = ([0; MOST], 0);
    while at < MOST {
        numbers[at] = at as u32 + 1;
        at += 1;
    }
    numbers
}

entries! {
    /// In theory: nothing if the warp is converged. Otherwise each part reaches the barrier in turn and takes its own issue
    /// slots.
    "gpu.warp.syncwarp" like BARRIER:
    "Warp barrier across a converged warp, across half a warp, or across a warp whose halves are on divergent paths",
    operation: "one barrier across the participating threads",
    source: "CUDA C++ Programming Guide, __syncwarp; PTX ISA, bar.warp.sync",
    definitions: |case| {
        let (kind, paths) = match case.group_word() {
            DIVERGENT => ("DIVERGENT", 2),
            PARTIAL => ("PARTIAL", 1),
            _ => ("CONVERGED", 0),
        };
        definitions(case, kind, 32, paths)
    },
    expected: |case| match case.group_word() {
        // Two loops. The barrier is called or out of line, because the paths are never converged.
        DIVERGENT => ExpectedInstructions {
            out_of_line: Some("WARPSYNC"),
            ..ExpectedInstructions::of(&["WARPSYNC", "CALL"]).times(2)
        },
        _ => ExpectedInstructions::of(&["WARPSYNC"]).or_substitutes(NOTHING).elided_by_nature(|_| Some(CONVERGED)),
    },
    plan: &[
        on(EACH, Grids::Full).groups(&[("converged", &[])]),
        on(QUICK, Grids::Coarse).groups(&[(DIVERGENT, &[])]).except(is_part_of_a_warp),
        on(BEYOND_QUICK, Grids::Coarse).groups(&[(PARTIAL, &[]), (DIVERGENT, &[])]).except(is_part_of_a_warp),
    ],
    unroll: unroll;

    /// In theory: the masks of the lanes are compared. If the whole warp is converged, no tile has to wait, whatever its size.
    "gpu.warp.tile" like BARRIER: "One barrier for each tile of a warp, all at the same time",
    operation: "one barrier across the threads of each tile",
    source: "CUDA C++ Programming Guide, Cooperative Groups, thread_block_tile::sync; PTX ISA, bar.warp.sync",
    definitions: |case| definitions(case, "TILE", group_size(case), 0),
    expected: |case| {
        let is_constant = case.group_number(TILES) == Some(32);
        let why = if is_constant { |_| Some(CONVERGED) } else { why_elided(case) };
        ExpectedInstructions::of(&["WARPSYNC"]).or_substitutes(NOTHING).elided_by_nature(why)
    },
    plan: &[
        on(QUICK, Grids::Coarse).groups(&[(TILES, &[4])]).except(is_part_of_a_warp),
        on(BEYOND_QUICK, Grids::Coarse).groups(&[(TILES, &[1, 2, 4, 8, 16, 32])]).except(is_part_of_a_warp),
        on(BEYOND_QUICK, Grids::Few).groups(&[(TILES, &[4, 32])]).forms(&[Form::Alone]),
    ],
    unroll: unroll;

    /// In theory: the mask of the group is exactly the active threads, whatever its size, so no thread has to wait. (Zhang,
    /// Wahib, Matsuoka, *A Study of Synchronization Methods in Modern GPUs*, table 4, measured each size; their example
    /// is a group of every fourth thread.)
    "gpu.warp.coalesced" like BARRIER: "Warp barrier across the threads that took the same branch",
    operation: "one barrier across the threads that took the branch",
    source: "CUDA C++ Programming Guide, Cooperative Groups, coalesced_group::sync; Zhang, Wahib, Matsuoka, table 4",
    definitions: |case| {
        let kind = if case.in_group(EVERY_FOURTH) { "EVERY_FOURTH" } else { "COALESCED" };
        definitions(case, kind, group_size(case), 1)
    },
    expected: |case| ExpectedInstructions::of(&["WARPSYNC"]).or_substitutes(NOTHING).elided_by_nature(why_elided(case)),
    plan: &[
        on(QUICK, Grids::Blocks(&[1])).groups(&[(NEIGHBOURS, &[16])]),
        on(STANDARD, Grids::Blocks(&[1])).groups(EACH_SIZE),
        on(PAPER, Grids::Blocks(&[1, 2])).groups(EACH_SIZE),
        on(BEYOND_QUICK, Grids::Blocks(&[1])).groups(&[(NEIGHBOURS, &[4, 16])]).forms(&[Form::Alone]),
    ];
}

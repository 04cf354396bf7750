//! Barriers of the threads of a warp.

use syncscope_core::Group;
use syncscope_core::sweep::Sweep;
use syncscope_core::{Preset, Primitive};

use crate::catalogue::definitions::{group_size, kernel};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;

const KERNEL: Kernel = kernel!("warp.cu", Register);

/// Where the compiler sees, or the code finds out, that the threads named are there together, nothing is left to do. On
/// Ampere and Ada it finds that out each time where the mask is not a constant; later ones ask once for many barriers.
const NOTHING: &[&str] = &["MATCH.ANY", "NOP"];

/// In theory: nothing where the warp is together; where it is not, each part has to come to the barrier in its turn, and
/// the instructions of the parts take as many issue slots as there are parts.
static SYNCWARP: Entry = Entry {
    primitive: Primitive {
        id: "gpu.warp.syncwarp",
        summary: "Barrier of a warp: together, one half alone, or in two halves that come by different paths",
        operation: "one barrier passed by the threads that take part",
        source: "CUDA C++ Programming Guide, __syncwarp; PTX ISA, bar.warp.sync",
    },
    definitions: |case| {
        let (kind, paths) = match case.group {
            Some(Group::Divergent) => ("DIVERGENT", 2),
            Some(Group::Partial) => ("PARTIAL", 1),
            _ => ("CONVERGED", 0),
        };
        definitions(kind, 32, paths)
    },
    meant: |case| match case.group {
        // Two loops. What is called or stands out of line is the barrier; the paths never find themselves together.
        Some(Group::Divergent) => Meant::of(&["WARPSYNC", "CALL"]).times(2).or_out_of_line("WARPSYNC"),
        _ => Meant::of(&["WARPSYNC"]).instead(NOTHING),
    },
    cases: |id, preset, grid| {
        let converged = grid.full(id, preset).groups(&[Group::Converged]).cases();
        let others = [Group::Partial, Group::Divergent];
        let others = if preset == Preset::Quick { &others[1..] } else { &others };
        let others = grid.coarse(id, preset).groups(others).except(|case| case.threads < Some(32)).cases();
        [converged, others].concat()
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

/// In theory: the masks of the lanes are compared, and where the whole warp is together there is nothing to wait for,
/// whatever the size of the tiles.
static TILE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.warp.tile",
        summary: "Barrier of the tiles of a warp, all at the same time",
        operation: "one barrier passed by the threads of each tile",
        source: "CUDA C++ Programming Guide, Cooperative Groups, thread_block_tile::sync; PTX ISA, bar.warp.sync",
    },
    definitions: |case| definitions("TILE", group_size(case), 0),
    meant: |_| Meant::of(&["WARPSYNC"]).instead(NOTHING),
    cases: |id, preset, grid| {
        let sizes: &[u32] = if preset == Preset::Quick { &[4] } else { &[1, 2, 4, 8, 16, 32] };
        let groups: Vec<Group> = sizes.iter().copied().map(Group::Tile).collect();
        grid.coarse(id, preset).groups(&groups).except(|case| case.threads < Some(32)).cases()
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

/// In theory: the group's mask is exactly the threads that are there, whatever its size, so the hardware finds nothing
/// to wait for. (Zhang, Wahib, Zhang, Matsuoka, IPDPS 2020, measured each size.)
static COALESCED: Entry = Entry {
    primitive: Primitive {
        id: "gpu.warp.coalesced",
        summary: "Barrier of the threads of a warp that took a branch",
        operation: "one barrier passed by the threads that took the branch",
        source: "CUDA C++ Programming Guide, Cooperative Groups, coalesced_group::sync; Zhang et al., IPDPS 2020",
    },
    definitions: |case| definitions("COALESCED", group_size(case), 1),
    meant: |_| Meant::of(&["WARPSYNC"]).instead(NOTHING),
    cases: |id, preset, _| {
        let sizes: Vec<u32> = match preset {
            Preset::Quick => vec![16],
            Preset::Standard | Preset::Paper => (1..=32).collect(),
        };
        let groups: Vec<Group> = sizes.into_iter().map(Group::Coalesced).collect();
        let blocks: &[u32] = if preset == Preset::Paper { &[1, 2] } else { &[1] };
        Sweep::of(id).blocks(blocks).threads(&[32, 1024]).groups(&groups).cases()
    },
    ..Entry::of(KERNEL, Proof::Trial)
};

fn definitions(kind: &str, group: u32, paths: u32) -> Vec<String> {
    vec![format!("KIND={kind}"), format!("GROUP={group}"), format!("PATHS={paths}")]
}

pub(crate) static ENTRIES: [&Entry; 3] = [&SYNCWARP, &TILE, &COALESCED];

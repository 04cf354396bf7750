//! Kernel launches as barriers.

use syncscope_core::Group;
use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Preset, Primitive};

use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Launching, Method, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::Grid;

const KERNEL: Kernel = kernel!("launch.cu", LaunchChain);

/// How long a kernel lasts, by its group. `None` for a group that is no length of a kernel.
pub(crate) fn kernel_ns(group: Option<&Group>) -> Option<u32> {
    match group? {
        Group::EmptyKernel => Some(0),
        // Longer ones would make chains of seconds.
        Group::KernelUs(microseconds) => (1..=1000).contains(microseconds).then(|| microseconds * 1000),
        _ => None,
    }
}

/// In theory: kernels that do nothing follow each other as fast as the slower of two can: the host that launches them, and
/// the device's front end that starts them. While longer kernels run the host gets ahead, and what is left of a launch is
/// what the device needs between the end of one grid and the start of the next.
const LAUNCH: Entry = Entry {
    definitions: |case| vec![format!("KIND={}", if is_empty(case) { "EMPTY" } else { "SPINNING" })],
    // The end of a kernel of either kind; the clock is what the longer ones last by.
    meant: |case| Meant::of(if is_empty(case) { &["EXIT"] } else { &["CS2R", "S2UR", "CS2UR"] }),
    cases: |id, preset, grid| cases(id, preset, *grid),
    ..Entry::of(KERNEL, Proof::Trial)
};

fn is_empty(case: &Case) -> bool {
    case.group.as_ref().is_none_or(|group| *group == Group::EmptyKernel)
}

fn cases(id: &str, preset: Preset, grid: Grid) -> Vec<Case> {
    let all = grid.multiprocessors;
    let (lengths_us, shapes): (&[u32], &[(u32, u32)]) = match preset {
        Preset::Quick => (&[5], &[(1, 32)]),
        Preset::Standard => (&[5], &[(1, 32), (all, 32), (all, 1024)]),
        Preset::Paper => (&[2, 5, 20], &[(1, 32), (all, 32), (all, 1024), (2 * all, 1024)]),
    };
    let lengths = lengths_us.iter().copied().map(Group::KernelUs);
    let groups: Vec<Group> = std::iter::once(Group::EmptyKernel).chain(lengths).collect();
    let on = |&(blocks, threads): &(u32, u32)| {
        Sweep::of(id).blocks(&[blocks]).threads(&[threads.min(grid.max_threads)]).groups(&groups).cases()
    };
    let mut cases: Vec<Case> = Vec::new();
    for case in shapes.iter().flat_map(on) {
        // Small devices have some shapes twice.
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

static STREAM: Entry = Entry {
    primitive: Primitive {
        id: "gpu.launch.stream",
        summary: "Launch of one more kernel into a stream",
        operation: "one more kernel at the same work in all",
        source: "CUDA Driver API, cuLaunchKernel; Zhang et al., IPDPS 2020, implicit barriers",
    },
    method: Method::Launch(Launching::Stream),
    ..LAUNCH
};

static COOPERATIVE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.launch.cooperative",
        summary: "Launch of one more kernel whose blocks are guaranteed to run at the same time",
        operation: "one more kernel at the same work in all",
        source: "CUDA Driver API, cuLaunchCooperativeKernel; Zhang et al., IPDPS 2020, implicit barriers",
    },
    method: Method::Launch(Launching::Cooperative),
    ..LAUNCH
};

/// In theory: the host launches once for all kernels, so they follow each other as fast as the device can start them.
static GRAPH: Entry = Entry {
    primitive: Primitive {
        id: "gpu.launch.graph",
        summary: "One more kernel in a chain that is replayed as a graph",
        operation: "one more kernel at the same work in all",
        source: "CUDA Driver API, cuGraphLaunch",
    },
    method: Method::Launch(Launching::Graph),
    ..LAUNCH
};

/// In theory: the way to the device and back, and the call that waits; nothing overlaps.
static STREAM_SYNC: Entry = Entry {
    primitive: Primitive {
        id: "gpu.launch.stream_sync",
        summary: "Launch of one more kernel and a wait for its stream",
        operation: "one more kernel and one more wait at the same work in all",
        source: "CUDA Driver API, cuStreamSynchronize; Zhang et al., IPDPS 2020, barriers on the CPU's side",
    },
    method: Method::Launch(Launching::StreamSync),
    ..LAUNCH
};

static EVENT_SYNC: Entry = Entry {
    primitive: Primitive {
        id: "gpu.launch.event_sync",
        summary: "Launch of one more kernel, an event behind it and a wait for the event",
        operation: "one more kernel, event and wait at the same work in all",
        source: "CUDA Driver API, cuEventSynchronize",
    },
    method: Method::Launch(Launching::EventSync),
    ..LAUNCH
};

pub(crate) static ENTRIES: [&Entry; 5] = [&STREAM, &COOPERATIVE, &GRAPH, &STREAM_SYNC, &EVENT_SYNC];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_say_how_long_a_kernel_lasts() {
        let of = |word: &str| kernel_ns(Some(&Group::of_word(word)));
        assert_eq!(["empty", "5 us", "20 us"].map(of), [Some(0), Some(5000), Some(20_000)]);
        assert_eq!(["", "5", "0 us", "x us", "9999999 us", "tile 4"].map(of), [None; 6]);
        let planned = cases("gpu.launch.stream", Preset::Paper, Grid { multiprocessors: 132, max_threads: 1024 });
        assert!(planned.iter().all(|case| kernel_ns(case.group.as_ref()).is_some()));
    }

    #[test]
    fn a_device_of_one_multiprocessor_has_no_shape_twice() {
        let of = |multiprocessors, max_threads| {
            cases("gpu.launch.graph", Preset::Standard, Grid { multiprocessors, max_threads }).len()
        };
        assert_eq!([of(132, 1024), of(1, 1024), of(1, 32)], [3 * 2, 2 * 2, 2]);
    }
}

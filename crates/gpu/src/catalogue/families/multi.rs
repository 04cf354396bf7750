//! Barriers of the grids of several devices.

use syncscope_core::{Case, Group, Preset, Primitive};

use super::grid::{UNROLL, heat_map};
use crate::catalogue::definitions::kernel;
use crate::catalogue::entry::{Entry, Kernel, Method, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::Grid;

const KERNEL: Kernel = kernel!("multi.cu", GridBarrier);

/// Most devices that are planned for; the laboratory leaves out what is more than there are.
const MOST_DEVICES: u32 = 8;

/// Launched on all devices by one call of the driver instead of one call for each.
pub(crate) const ONE_LAUNCH: Group = Group::DriverLaunch;

/// For each number of devices a part of the heat map of one grid (Zhang et al., IPDPS 2020, figures 9 to 11), and the
/// smallest of its grids launched by one call.
fn heat_maps(id: &str, preset: Preset, grid: Grid) -> Vec<Case> {
    let devices: Vec<u32> = match preset {
        Preset::Quick => vec![1, 2, 4, 8],
        Preset::Standard | Preset::Paper => (1..=MOST_DEVICES).collect(),
    };
    let threads: &[u32] = if preset == Preset::Paper { &[32, 256, 1024] } else { &[32, 1024] };
    let mut shapes = heat_map(id, preset, grid);
    shapes.retain(|case| case.threads.is_some_and(|count| threads.contains(&count)));
    let on = |count: &u32| {
        let with = |case: &Case| Case { devices: Some(*count), ..case.clone() };
        shapes.iter().map(with).collect::<Vec<_>>()
    };
    devices.iter().flat_map(on).collect()
}

fn with_one_launch(id: &str, preset: Preset, grid: Grid) -> Vec<Case> {
    let mut cases = heat_maps(id, preset, grid);
    let smallest = |case: &&Case| case.threads == Some(32) && case.blocks == Some(grid.multiprocessors);
    let once: Vec<Case> = cases.iter().filter(smallest).cloned().collect();
    if preset != Preset::Quick {
        cases.extend(once.into_iter().map(|case| Case { group: Some(ONE_LAUNCH), ..case }));
    }
    cases
}

const BARRIER: Entry = Entry {
    cases: |id, preset, grid| with_one_launch(id, preset, *grid),
    method: Method::Meeting,
    unroll: UNROLL,
    ..Entry::of(KERNEL, Proof::Trial)
};

fn definitions(kind: &str) -> Vec<String> {
    vec![format!("KIND={kind}"), format!("SYNCSCOPE_UNROLL={UNROLL}")]
}

/// In theory: the barrier of a grid, then an addition over the link, reads there and back over the link until all have come,
/// and the word passed on to the device's blocks.
static COUNTER: Entry = Entry {
    primitive: Primitive {
        id: "gpu.multi.counter",
        summary: "Barrier of the grids of several devices with one counter in the first one's memory",
        operation: "one barrier passed by all threads of the grids of all devices",
        source: "Zhang et al., IPDPS 2020, figures 9 to 11, multi-grid synchronization; PTX ISA, red.release.sys",
    },
    definitions: |_| definitions("COUNTER"),
    meant: |_| Meant::of(&["REDG.ADD.SYS", "RED.ADD.SYS"]),
    adds_across_devices: true,
    ..BARRIER
};

/// In theory: the first half of a grid's barrier, one way over the link, and a read of the device's own memory: reading
/// is near, only writing is far, and every block hears it at first hand.
static FLAGS: Entry = Entry {
    primitive: Primitive {
        id: "gpu.multi.flags",
        summary: "Barrier of the grids of several devices, each with flags in the memory of all",
        operation: "one barrier passed by all threads of the grids of all devices",
        source: "Zhang et al., IPDPS 2020, figures 9 to 11, multi-grid synchronization; PTX ISA, fence.acq_rel.sys and \
                 ld.acquire.sys",
    },
    definitions: |_| definitions("FLAGS"),
    meant: |_| Meant::of(&["STG.STRONG.SYS", "ST.STRONG.SYS"]),
    ..BARRIER
};

/// In theory: a launch, the wait for its end, and a barrier of as many host threads: some ten microseconds, whatever the
/// grid.
static HOST_BARRIER: Entry = Entry {
    primitive: Primitive {
        id: "gpu.multi.host_barrier",
        summary: "A host thread for each device: it launches a grid, waits for its end, and then for the other threads",
        operation: "one launch on each device, its end, and one barrier of the host's threads",
        source: "Zhang et al., IPDPS 2020, CPU-side barrier",
    },
    cases: |id, preset, grid| heat_maps(id, preset, *grid),
    method: Method::Visits,
    unroll: 1,
    ..Entry::of(kernel!("host_barrier.cu", HostBarrier), Proof::Trial)
};

pub(crate) static ENTRIES: [&Entry; 3] = [&COUNTER, &FLAGS, &HOST_BARRIER];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_devices_has_the_same_grids() {
        let grid = Grid { multiprocessors: 132, max_threads: 1024 };
        for preset in Preset::ALL {
            let cases = with_one_launch("gpu.multi.flags", *preset, grid);
            let of = |devices| cases.iter().filter(move |case| case.devices == Some(devices)).count();
            assert!(of(1) > 0 && of(1) == of(2) && of(2) == of(8), "{preset}");
        }
        assert_eq!(heat_maps("gpu.multi.flags", Preset::Paper, grid).len(), 8 * 12);
    }
}

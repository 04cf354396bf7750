//! Memory fences.

use syncscope_core::{Case, Dtype, Layout, Preset, Primitive, Scope};

use crate::catalogue::definitions::{kernel, value_of};
use crate::catalogue::entry::{Entry, Kernel, Proof};
use crate::catalogue::instructions::Meant;
use crate::catalogue::limits::{Grid, STRIDES};
use crate::catalogue::sampling::{Busy, Pace};

const KERNEL: Kernel = kernel!("fence.cu", Variable);

/// In theory: a fence waits until the thread's earlier writes are where all threads within its reach see them. For a
/// block that is the multiprocessor itself; for the device it is the second-level cache, and what the first-level cache
/// holds becomes invalid; for the system it is as far as the last write goes.
const FENCE: Entry = Entry { busy: |_| Busy::Nothing, arrays: 2, ..Entry::of(KERNEL, Proof::Trial) };

static BLOCK: Entry = Entry {
    primitive: Primitive {
        id: "gpu.fence.block",
        summary: "Fence that orders a thread's memory accesses for the threads of its block",
        operation: "one fence between the updates of two elements, by each thread",
        source: "CUDA C++ Programming Guide, __threadfence_block; Burtchell and Burtscher, IISWC 2024",
    },
    definitions: |case| definitions(case, "__threadfence_block", 1),
    meant: |_| Meant::of(&["MEMBAR.CTA"]).only_in_test(),
    cases: |id, preset, grid| cases(id, preset, *grid, Scope::Block),
    pace: |_| Pace::PATIENT,
    ..FENCE
};

static DEVICE: Entry = Entry {
    primitive: Primitive {
        id: "gpu.fence.device",
        summary: "Fence that orders a thread's memory accesses for all threads of the device",
        operation: "one fence between the updates of two elements, by each thread",
        source: "CUDA C++ Programming Guide, __threadfence; Burtchell and Burtscher, IISWC 2024",
    },
    definitions: |case| definitions(case, "__threadfence", 0),
    meant: |_| Meant::of(&["MEMBAR.GPU"]).only_in_test(),
    cases: |id, preset, grid| cases(id, preset, *grid, Scope::Device),
    ..FENCE
};

static SYSTEM: Entry = Entry {
    primitive: Primitive {
        id: "gpu.fence.system",
        summary: "Fence that orders a thread's memory accesses for all devices and the CPU",
        operation: "one fence between the updates of two elements, by each thread",
        source: "CUDA C++ Programming Guide, __threadfence_system; Burtchell and Burtscher, IISWC 2024",
    },
    definitions: |case| definitions(case, "__threadfence_system", 0),
    meant: |_| Meant::of(&["MEMBAR.SYS"]).only_in_test(),
    cases: |id, preset, grid| cases(id, preset, *grid, Scope::System),
    ..FENCE
};

fn definitions(case: &Case, function: &str, block_only: u32) -> Vec<String> {
    vec![value_of(case), format!("FENCE={function}"), format!("REACHES_BLOCK_ONLY={block_only}")]
}

fn cases(id: &str, preset: Preset, grid: Grid, scope: Scope) -> Vec<Case> {
    let (types, strides): (&[Dtype], &[u32]) = match preset {
        Preset::Quick => (&[Dtype::I32], &[1]),
        Preset::Standard => (&[Dtype::I32, Dtype::F64], &[1, 32]),
        Preset::Paper => (&[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64], &STRIDES),
    };
    let layouts: Vec<Layout> = strides.iter().map(|stride| Layout::Private { stride: *stride }).collect();
    grid.coarse(id, preset).dtypes(types).layouts(&layouts).scopes(&[scope]).cases()
}

pub(crate) static ENTRIES: [&Entry; 3] = [&BLOCK, &DEVICE, &SYSTEM];

//! The GPU's primitives: what each is, what is measured of it, which kernel it is and how it is proven.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Preset, Primitive, Scope, Space};

use crate::compile::Program;
use crate::plan::Grid;

/// How `check` proves that a primitive did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The variables hold what all launches added up to.
    Sum,
    /// The variables hold what the last launch left.
    LastLaunch,
    /// The kernel `check` uses the primitive and sees whether it works.
    Trial,
}

/// The instruction that an operation is meant to become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meant {
    /// Patterns of the decoder, one for each name that the architectures have for it.
    pub(crate) instructions: &'static [&'static str],
    /// Whether it moves 32 bits at a time, so that wider values take several.
    pub(crate) moves_words: bool,
}

/// A primitive with all that belongs to it.
pub(crate) struct Entry {
    pub(crate) primitive: Primitive,
    /// Name and text of the file in `kernels/`.
    kernel: (&'static str, &'static str),
    pub(crate) proof: Proof,
    pub(crate) meant: Meant,
    cases: fn(&str, Preset, &Grid) -> Vec<Case>,
}

/// Embeds a file of `kernels/`.
macro_rules! kernel {
    ($file:literal) => {
        ($file, include_str!(concat!("../../../kernels/", $file)))
    };
}

/// In theory: the barrier unit counts warps. One warp pays the instruction's latency, each further warp its turn at the
/// unit; blocks on one multiprocessor share it, blocks on others do not notice each other.
static SYNCTHREADS: Entry = Entry {
    primitive: Primitive {
        id: "gpu.block.syncthreads",
        summary: "Barrier of all threads of a block",
        operation: "one barrier passed by all threads of the block",
        source: "CUDA C++ Programming Guide, Synchronization Functions; PTX ISA, bar.sync",
    },
    kernel: kernel!("block.cu"),
    proof: Proof::Trial,
    meant: Meant { instructions: &["BAR.SYNC"], moves_words: false },
    cases: |id, preset, grid| Sweep::of(id).blocks(&grid.blocks(preset)).threads(&grid.all_threads()).cases(),
};

/// In theory: atomics are executed by the second-level cache. Without a use of the result nobody waits, so the cost is
/// the time until there is room for the next one: the throughput of the cache slice that holds a shared variable,
/// for integers after the warp's lanes have been added up; for private elements, the number of 32-byte sectors a warp
/// touches.
static ATOMIC_ADD: Entry = Entry {
    primitive: Primitive {
        id: "gpu.atomic.add",
        summary: "Atomic addition to global memory whose result is not used, relaxed",
        operation: "one addition of its number by each thread",
        source: "CUDA C++ Programming Guide, atomicAdd; Burtchell and Burtscher, IISWC 2024",
    },
    kernel: kernel!("atomic.cu"),
    proof: Proof::Sum,
    meant: Meant { instructions: &["RED.ADD", "REDG.ADD"], moves_words: false },
    cases: |id, preset, grid| {
        let strides: &[u32] = if preset == Preset::Quick { &[1, 32] } else { &[1, 2, 4, 8, 16, 32] };
        let mut layouts = vec![Layout::Shared];
        layouts.extend(strides.iter().map(|stride| Layout::Private { stride: *stride }));
        Sweep::of(id)
            .blocks(&grid.blocks(preset))
            .threads(&grid.threads(preset))
            .dtypes(&[Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64])
            .layouts(&layouts)
            .scopes(&[Scope::Device])
            .spaces(&[Space::Global])
            .orders(&[MemoryOrder::Relaxed])
            .modes(&[Mode::Throughput])
            .cases()
    },
};

/// In theory: one trip through the exchange network shared with shared memory, some 23 cycles; 64 bits take two
/// instructions. Many warps fill the network: then its throughput counts, a warp's 32 lanes per cycle or less.
static SHUFFLE_IDX: Entry = Entry {
    primitive: Primitive {
        id: "gpu.shuffle.idx",
        summary: "Each lane of a warp reads a register of another, chosen by its number",
        operation: "one exchange that needs the result of the one before",
        source: "CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync",
    },
    kernel: kernel!("shuffle.cu"),
    proof: Proof::LastLaunch,
    meant: Meant { instructions: &["SHFL.IDX"], moves_words: true },
    cases: |id, preset, grid| {
        let quick = [Dtype::I32, Dtype::F64];
        let all = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];
        Sweep::of(id)
            .blocks(&grid.blocks(preset))
            .threads(&grid.all_threads())
            .dtypes(if preset == Preset::Quick { &quick } else { &all })
            .modes(&[Mode::Latency])
            .cases()
    },
};

/// Everything that can be measured.
static ENTRIES: [&Entry; 3] = [&SYNCTHREADS, &ATOMIC_ADD, &SHUFFLE_IDX];

static PRIMITIVES: [Primitive; ENTRIES.len()] = {
    let mut primitives = [ENTRIES[0].primitive; ENTRIES.len()];
    let mut index = 0;
    while index < ENTRIES.len() {
        primitives[index] = ENTRIES[index].primitive;
        index += 1;
    }
    primitives
};

/// The primitives, with or without a GPU.
#[must_use]
pub fn primitives() -> &'static [Primitive] {
    &PRIMITIVES
}

/// The cases of `preset`, in the catalogue's order.
#[must_use]
pub fn cases(preset: Preset, grid: &Grid) -> Vec<Case> {
    ENTRIES.iter().flat_map(|entry| (entry.cases)(entry.primitive.id, preset, grid)).collect()
}

/// The entry of a case's primitive.
pub(crate) fn entry_of(case: &Case) -> Option<&'static Entry> {
    ENTRIES.iter().copied().find(|entry| entry.primitive.id == case.primitive)
}

/// The program a case runs; `None` if its primitive does not exist.
#[must_use]
pub fn program_of(case: &Case) -> Option<Program> {
    let (file, text) = entry_of(case)?.kernel;
    let definitions = case.dtype.map(|dtype| format!("VALUE={}", c_type(dtype))).into_iter().collect();
    Some(Program { file, text, definitions })
}

/// The programs that measure the ruler, and that go wrong on purpose.
pub(crate) fn ruler_program() -> Program {
    let (file, text) = kernel!("ruler.cu");
    Program { file, text, definitions: Vec::new() }
}

/// What goes wrong on purpose, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A kernel spins until the host asks it to stop.
    Hang,
    /// A kernel traps, which makes its context unusable.
    Trap,
}

pub(crate) fn fault_program(fault: Fault) -> Program {
    let (file, text) = kernel!("fault.cu");
    Program { file, text, definitions: vec![format!("FAULT={}", fault as u32)] }
}

const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I32 => "int",
        Dtype::U32 => "unsigned int",
        Dtype::U64 => "unsigned long long",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const H200: Grid = Grid { multiprocessors: 132, max_threads: 1024 };

    #[test]
    fn every_entry_keeps_the_contract() {
        for primitive in primitives() {
            assert_eq!(primitive.defect(), None);
        }
        let ids: HashSet<_> = primitives().iter().map(|primitive| primitive.id).collect();
        assert_eq!(ids.len(), primitives().len());
    }

    #[test]
    fn no_case_is_planned_twice_and_each_has_a_kernel() {
        for preset in Preset::ALL {
            let cases = cases(*preset, &H200);
            let ids: HashSet<_> = cases.iter().map(Case::id).collect();
            assert_eq!(ids.len(), cases.len());
            assert!(cases.iter().all(|case| program_of(case).is_some()));
        }
        assert_eq!(program_of(&Case::new("gpu.block.none")), None);
    }

    #[test]
    fn every_primitive_is_in_every_preset() {
        for preset in Preset::ALL {
            let planned: HashSet<_> = cases(*preset, &H200).into_iter().map(|case| case.primitive).collect();
            assert_eq!(planned.len(), primitives().len());
        }
    }

    #[test]
    fn a_quick_plan_is_a_small_part_of_the_standard_one() {
        let (quick, standard) = (cases(Preset::Quick, &H200), cases(Preset::Standard, &H200));
        assert!(quick.len() <= 200, "{}", quick.len());
        assert!(quick.iter().all(|case| standard.contains(case)));
        assert_eq!(standard.len(), 55 + 55 * 4 * 7 + 55 * 4);
    }

    #[test]
    fn types_and_layouts_share_programs() {
        let programs: HashSet<_> = cases(Preset::Standard, &H200).iter().filter_map(program_of).collect();
        assert_eq!(programs.len(), 9);
    }
}

//! The GPU's primitives: what each is, what is measured of it, which kernel it is and how it is proven. One file holds one
//! family or two.

use std::sync::LazyLock;
use std::time::Duration;

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Preset, Primitive};

use crate::catalogue::limits::Grid;
use crate::cuda::compile::Program;
use crate::experiments::launch_chain::Launching;
use crate::launch::arguments::UNROLL;

mod families;
pub(crate) mod limits;
pub mod peer;

pub(crate) use families::hybrid::Sides;
pub(crate) use families::launch::kernel_ns;
use families::{atomic, block, fence, grid, hybrid, launch, lock, reduce, shuffle, vote, warp};
pub(crate) use families::{cluster, multi};

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

/// What an operation keeps busy: until that has as much to do as it can take, the loop is not in its steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Each multiprocessor, with its queues to the memory.
    Multiprocessors,
    /// Something that the device has once.
    Device,
    /// Nothing: each thread waits for what it has begun.
    Nothing,
}

/// How the samples of a case are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Length of a sample.
    pub(crate) sample: Duration,
    /// Whether the loop is timed without having run before.
    pub(crate) cold: bool,
    /// How much of the preset's time for a case is worth spending on it.
    pub(crate) share_of_time: f64,
    /// Places in memory that one launch visits.
    pub(crate) tour: u32,
    /// Launches that make one sample.
    pub(crate) launches: u32,
}

impl Pace {
    /// Steps of the clock are half a nanosecond and the threads' start differs by some ten nanoseconds, which a sample of
    /// this length does not notice.
    pub(crate) const USUAL: Self =
        Self { sample: Duration::from_micros(30), cold: false, share_of_time: 1.0, tour: 1, launches: 1 };

    /// For threads that wait for one variable at each place in memory: one sample visits several. A median over places of two
    /// kinds is the one or the other kind's, by chance; over the means of tours it is the same in every run. Not for what
    /// keeps queues busy: on an H200 private elements of 66 blocks and more seemed 4 to 13 % more expensive, likely because threads
    /// of different blocks come to different places and each loop is a quarter as long.
    pub(crate) const TOUR: Self = Self { tour: 4, ..Self::USUAL };

    /// For many warps in the queue of one multiprocessor: some are served before others, which evens out in time. (On an
    /// H200, 1,024 threads that compare and swap seem 7 to 9 % cheaper in 30 us than in 500.)
    const MANY_WARPS: Self = Self { sample: Duration::from_micros(120), share_of_time: 0.5, ..Self::USUAL };

    /// For blocks that contend for one variable: all begin at the same time only when the kernel begins. After a first run
    /// of the loop some come early and compete with that of the others, and the slowest has less company than it should:
    /// on an H200 as much as 25 % less. A cold start costs a microsecond at most, which a long sample does not notice.
    const CROWD: Self = Self { sample: Duration::from_micros(200), cold: true, ..Self::USUAL };

    /// For a cost that is a thousandth of its context: a longer sample tells more than many short ones, and if it does not
    /// tell, nothing does.
    const PATIENT: Self = Self { sample: Duration::from_micros(100), share_of_time: 0.05, ..Self::USUAL };
}

/// How the cases of an entry are set up and timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// By the clock of the multiprocessor, around a loop in one grid on one device.
    Kernel,
    /// By the host's clock, around a chain of launches.
    Launch(Launching),
    /// As a kernel, answered by a CPU thread.
    RoundTrip,
    /// As a kernel on memory of the host, beside CPU threads; by the host's clock where they are alone.
    Addition,
    /// The same, in clusters of blocks.
    Cluster,
    /// The same, on one device or several, with all blocks of their grids running at the same time and waiting for each
    /// other.
    Meeting,
    /// By the clock of the host: launches on several devices, with barriers of host threads between them.
    Visits,
}

/// What an operation is meant to become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meant {
    /// Patterns of the decoder, one for each name that the architectures have for the instruction.
    pub(crate) instructions: &'static [&'static str],
    /// What compilers are known to put in its place.
    pub(crate) substitutes: &'static [&'static str],
    /// The instruction in a path out of line, which is the one that is taken.
    pub(crate) out_of_line: Option<&'static str>,
    /// Instructions that one operation takes.
    pub(crate) times: usize,
    /// Whether the baseline has a context alone.
    pub(crate) only_in_test: bool,
}

impl Meant {
    const fn of(instructions: &'static [&'static str]) -> Self {
        Self { instructions, substitutes: &[], out_of_line: None, times: 1, only_in_test: false }
    }

    const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    const fn instead(self, substitutes: &'static [&'static str]) -> Self {
        Self { substitutes, ..self }
    }

    const fn or_out_of_line(self, instruction: &'static str) -> Self {
        Self { out_of_line: Some(instruction), ..self }
    }

    const fn only_in_test(self) -> Self {
        Self { only_in_test: true, ..self }
    }
}

/// Name and text of a file in `kernels/`.
type Kernel = (&'static str, &'static str);

/// A primitive with all that belongs to it.
pub(crate) struct Entry {
    pub(crate) primitive: Primitive,
    kernel: Kernel,
    /// The macros that make the kernel the one of a case.
    definitions: fn(&Case) -> Vec<String>,
    pub(crate) method: Method,
    pub(crate) proof: Proof,
    pub(crate) busy: fn(&Case) -> Busy,
    pub(crate) pace: fn(&Case) -> Pace,
    pub(crate) meant: fn(&Case) -> Meant,
    /// The lowest compute capability that has it.
    needs: (u32, u32),
    /// Arrays that hold an element for each thread.
    arrays: usize,
    /// Operations that stand once in the machine code of one iteration of the baseline.
    pub(crate) unroll: u32,
    cases: fn(&str, Preset, &Grid) -> Vec<Case>,
}

impl Entry {
    /// What most entries have, to be completed.
    const fn of(kernel: Kernel, proof: Proof) -> Self {
        Self {
            primitive: Primitive { id: "", summary: "", operation: "", source: "" },
            kernel,
            definitions: |_| Vec::new(),
            method: Method::Kernel,
            proof,
            busy: |_| Busy::Multiprocessors,
            pace: |_| Pace::USUAL,
            meant: |_| Meant::of(&[]),
            needs: (7, 5),
            arrays: 1,
            unroll: UNROLL,
            cases: |_, _, _| Vec::new(),
        }
    }
}

/// Embeds a file of `kernels/`.
macro_rules! kernel {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/", $file)))
    };
}
use kernel;

/// Distances of private elements: those of Burtchell and Burtscher.
pub(crate) const STRIDES: [u32; 6] = [1, 2, 4, 16, 32, 128];

/// Everything that can be measured.
static FAMILIES: [&[&Entry]; 15] = [
    &block::ENTRIES,
    &warp::ENTRIES,
    &shuffle::ENTRIES,
    &vote::VOTES,
    &vote::MATCHES,
    &reduce::ENTRIES,
    &atomic::ENTRIES,
    &fence::ENTRIES,
    &lock::ENTRIES,
    &cluster::ENTRIES,
    &grid::ENTRIES,
    &multi::ENTRIES,
    &launch::ENTRIES,
    &hybrid::FLAGS,
    &hybrid::ATOMICS,
];

static PRIMITIVES: LazyLock<Vec<Primitive>> = LazyLock::new(|| entries().map(|entry| entry.primitive).collect());

fn entries() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The primitives, with or without a GPU.
#[must_use]
pub fn primitives() -> &'static [Primitive] {
    &PRIMITIVES
}

/// The cases of `preset`, in the catalogue's order.
#[must_use]
pub fn cases(preset: Preset, grid: &Grid) -> Vec<Case> {
    entries().flat_map(|entry| (entry.cases)(entry.primitive.id, preset, grid)).collect()
}

/// The entry of a case's primitive.
pub(crate) fn entry_of(case: &Case) -> Option<&'static Entry> {
    entries().find(|entry| entry.primitive.id == case.primitive)
}

/// Why a primitive cannot be measured on a device of this compute capability, if so.
#[must_use]
pub fn unavailable(primitive: &str, capability: (u32, u32)) -> Option<String> {
    let (major, minor) = entries().find(|entry| entry.primitive.id == primitive)?.needs;
    (capability < (major, minor)).then(|| {
        let (has_major, has_minor) = capability;
        format!("needs compute capability {major}.{minor}, and the device has {has_major}.{has_minor}")
    })
}

/// How many arrays with an element for each thread a case works on.
pub(crate) fn arrays_of(case: &Case) -> usize {
    entry_of(case).map_or(1, |entry| entry.arrays)
}

/// The program a case runs; `None` if its primitive does not exist.
#[must_use]
pub fn program_of(case: &Case) -> Option<Program> {
    let entry = entry_of(case)?;
    let (file, text) = entry.kernel;
    Some(Program { file, text, definitions: (entry.definitions)(case) })
}

/// The macro that says the type of a case's values.
fn value_of(case: &Case) -> String {
    format!("VALUE={}", case.dtype.map_or("int", c_type))
}

/// The number in a group such as `tile 4`; 1 where there is none.
fn number_in_group(case: &Case) -> u32 {
    let number = |group: &str| group.rsplit(' ').next()?.parse().ok();
    case.group.as_deref().and_then(number).filter(|number| (1..=32).contains(number)).unwrap_or(1)
}

/// The program that measures the ruler.
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

/// A barrier of a grid to which the last block does not come: a fault, for tests.
pub(crate) fn absent_block_program(case: &Case) -> Option<Program> {
    let mut program = program_of(case)?;
    program.definitions.push("ABSENT=1".to_owned());
    Some(program)
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
            let timed_here = |case: &&Case| entry_of(case).unwrap().method != Method::Visits;
            let meant = |case: &Case| !(entry_of(case).unwrap().meant)(case).instructions.is_empty();
            assert!(cases.iter().filter(timed_here).all(meant));
        }
        assert_eq!(program_of(&Case::new("gpu.block.none")), None);
    }

    #[test]
    fn every_primitive_is_in_every_preset() {
        for multiprocessors in [1, 132] {
            let grid = Grid { multiprocessors, max_threads: 1024 };
            for preset in Preset::ALL {
                let planned: HashSet<_> = cases(*preset, &grid).into_iter().map(|case| case.primitive).collect();
                assert_eq!(planned.len(), primitives().len());
            }
        }
    }

    #[test]
    fn a_smaller_plan_is_a_small_part_of_a_larger_one() {
        let [quick, standard, paper] =
            [Preset::Quick, Preset::Standard, Preset::Paper].map(|preset| cases(preset, &H200));
        assert!(quick.len() <= 250, "{}", quick.len());
        assert!((1000..7000).contains(&standard.len()), "{}", standard.len());
        let (in_standard, in_paper): (HashSet<_>, HashSet<_>) = (standard.iter().collect(), paper.iter().collect());
        assert_eq!(quick.iter().find(|case| !in_standard.contains(case)), None);
        assert_eq!(standard.iter().find(|case| !in_paper.contains(case)), None);
    }

    #[test]
    fn cases_share_programs() {
        let programs: HashSet<_> = cases(Preset::Paper, &H200).iter().filter_map(program_of).collect();
        assert!(programs.len() < 320, "{}", programs.len());
    }

    #[test]
    fn what_a_device_lacks_is_said() {
        let reason = unavailable("gpu.reduce.add", (7, 5)).unwrap();
        assert_eq!(reason, "needs compute capability 8.0, and the device has 7.5");
        assert_eq!(unavailable("gpu.reduce.add", (8, 0)), None);
        assert_eq!(unavailable("gpu.block.syncthreads", (7, 5)), None);
        assert_eq!(unavailable("gpu.block.none", (7, 5)), None);
    }

    #[test]
    fn groups_have_a_number() {
        let of = |group: &str| number_in_group(&Case { group: Some(group.into()), ..Case::new("gpu.warp.tile") });
        assert_eq!([of("tile 4"), of("coalesced 31"), of("converged"), of("tile 0"), of("tile 99")], [4, 31, 1, 1, 1]);
    }
}

//! An entry of the catalogue: one primitive and everything that depends on it, such as how its samples are taken and which machine
//! instructions its evidence must show.

use std::time::Duration;

use syncscope_core::{Case, Dtype, Facts, OwnOperation, Preset, Primitive, Waits};

use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::plan::{self, PlanRow};
use crate::catalogue::recipe::Recipe;
use crate::cuda::compile::Program;
use crate::cuda::driver::Way;
use crate::hybrid::nearby_cpus::Distance;
use crate::launch::arguments::{ArgumentKind, UNROLL};
use crate::launch::headers::text_of;

/// How `check` proves that a primitive did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The variables hold the sum of all launches.
    Sum,
    /// The variables hold what the last launch left.
    LastLaunch,
    /// The kernel `check` uses the primitive and sees whether it works.
    Trial,
}

/// How kernels are launched and waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One after the other into one stream.
    Stream,
    /// The same, with the call that guarantees that all blocks run at the same time.
    Cooperative,
    /// As a graph that was captured before.
    Graph,
    /// Into a stream, with a wait for the stream after each launch.
    StreamSync,
    /// Into a stream, with an event after each launch and a wait for the event.
    EventSync,
    /// Into a stream, with a wait of the host after each launch in a way of its own.
    Waiting(HostWait),
    /// Into a stream, each launch allowed to start before the one before has ended.
    Programmatic,
    /// The same as a graph that was captured before.
    ProgrammaticGraph,
    /// Into two streams in turn, each launch after a value that the other stream writes to memory.
    WaitValue,
    /// Into two streams in turn, each launch after an event of the other stream.
    EventWait,
    /// Not at all: a barrier of the grid is between the parts of one kernel.
    Within,
    /// As the body of a conditional node of a graph, which runs as long as its kernel says so.
    Conditional,
    /// As a graph that its kernel launches again.
    DeviceGraph,
}

/// How the host waits for a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostWait {
    /// In the driver, as the context says.
    Stream(Waits),
    /// In the driver, for an event that lets the thread sleep.
    BlockingEvent,
    /// It asks again and again whether the stream is done.
    AskingStream,
    /// It asks again and again whether an event is reached.
    AskingEvent,
    /// It reads a word of its memory, which the stream writes.
    Word,
    /// It reads a word that a function writes, which the driver calls in a thread of its own.
    Function,
}

impl Launching {
    pub(crate) const fn waits_each_time(self) -> bool {
        matches!(self, Self::StreamSync | Self::EventSync | Self::Waiting(_))
    }

    /// Whether a chain is a graph that is replayed as a whole.
    pub(crate) const fn is_graph(self) -> bool {
        matches!(self, Self::Graph | Self::ProgrammaticGraph) || self.is_loop()
    }

    /// Whether a chain is one kernel that runs again and again, without the host.
    pub(crate) const fn is_loop(self) -> bool {
        matches!(self, Self::Conditional | Self::DeviceGraph)
    }

    /// How each kernel is launched.
    pub(crate) const fn way(self) -> Way {
        match self {
            Self::Cooperative | Self::Within => Way::Cooperative,
            Self::Programmatic | Self::ProgrammaticGraph => Way::Programmatic,
            _ => Way::Plain,
        }
    }

    /// Whether kernels, or parts, may take time from each other's work, so that plain launches stand for the work alone.
    pub(crate) const fn changes_work(self) -> bool {
        matches!(self, Self::Programmatic | Self::ProgrammaticGraph | Self::Within)
    }

    /// Whether the launches of a chain go to two streams in turn.
    pub(crate) const fn alternates(self) -> bool {
        matches!(self, Self::WaitValue | Self::EventWait)
    }
}

/// How the cases of an entry are run and timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// A loop in one grid on one device, timed by the clock of the multiprocessor.
    Kernel,
    /// The same, in clusters of blocks.
    Cluster,
    /// The same, on one device or several, with blocks that all run at the same time and wait for each other.
    GridBarrier,
    /// The same, with a CPU thread that answers.
    RoundTrip,
    /// The same, on host memory that CPU threads use too; timed by the host where the CPU threads are alone.
    Addition,
    /// A chain of launches, timed by the host.
    Launch(Launching),
    /// A chain of reductions of a vector, timed by the host.
    Reduction(Recipe),
    /// Launches on several devices with barriers of host threads between them, timed by the host.
    HostBarrier,
    /// Not at all, for this reason: its machine code alone is looked at.
    Compiled(&'static str),
}

/// A file in `kernels/`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(super) file: &'static str,
    /// The text of what is no file there.
    pub(super) text: Option<&'static str>,
    /// Which arguments its kernels take.
    pub(crate) arguments: ArgumentKind,
}

impl Kernel {
    /// A file of `kernels/`, and the kind of arguments that its kernels take.
    pub(super) const fn of(file: &'static str, arguments: ArgumentKind) -> Self {
        Self { file, text: None, arguments }
    }

    /// The file with these definitions.
    pub(super) fn program(self, definitions: Vec<String>) -> Program {
        // A test compiles every program, so each file is there.
        let text = self.text.or_else(|| text_of(self.file)).unwrap_or_default();
        Program { file: self.file, text, definitions }
    }
}

/// How many CPU threads take part in a case. The laboratory chooses the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuThreads {
    /// None. (A thread that launches kernels does not count.)
    None,
    /// One thread at this distance from the device; `None` if the case names no distance.
    One(Option<Distance>),
    /// One thread near the device in one case, several in another.
    OneAndSeveral,
}

/// A primitive and everything that depends on it. A family has an entry for what its primitives have in common, and an entry of a
/// primitive says what differs.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) operation: &'static str,
    pub(super) source: &'static str,
    pub(crate) facts: Facts,
    pub(crate) kernel: Kernel,
    /// The macros that select the variant of a case in the kernel.
    pub(super) definitions: fn(&Case) -> Vec<String>,
    pub(crate) method: Method,
    pub(crate) proof: Proof,
    pub(crate) sampling: fn(&Case) -> SamplingPolicy,
    pub(crate) expected: fn(&Case) -> ExpectedInstructions,
    /// How many CPU threads take part in a case.
    pub(crate) cpu_threads: fn(&Case) -> CpuThreads,
    /// The orderings of a barrier that its kernel can leave out one at a time, in the order in which the kernel numbers them.
    pub(super) orderings: fn(&Case) -> &'static [&'static str],
    /// Whether devices add to the memory of another device.
    pub(crate) adds_across_devices: fn(&Case) -> bool,
    /// Whether an atomic operation of each lane changes what the next one finds, so that none can be combined.
    pub(crate) each_changes_it: bool,
    /// Whether two more copies of the primitive can be in the loop of its kernels.
    pub(super) has_third_loop: bool,
    /// The lowest compute capability that has the primitive.
    pub(super) needs: (u32, u32),
    /// The lowest one behind it that lacks it.
    pub(super) ends_before: (u32, u32),
    /// Arrays that hold an element for each thread.
    pub(crate) arrays: usize,
    /// Operations that occur once in the machine code of one iteration of the baseline.
    pub(crate) unroll: fn(&Case) -> u32,
    /// What presets measure of it.
    pub(super) plan: &'static [PlanRow],
    /// The types of a plan that it has; all where it names none.
    pub(super) types: &'static [Dtype],
    /// Why a case cannot exist, whatever the plan.
    pub(super) limit: fn(&Case, DeviceLimits) -> Option<&'static str>,
    /// The operation of a user that it is; `None` in the catalogue.
    pub(crate) own: Option<&'static OwnEntry>,
}

/// What a user wrote, as it is measured on a device.
#[derive(Debug)]
pub(crate) struct OwnEntry {
    pub(crate) source: OwnOperation,
    /// Whether clusters were asked for.
    pub(super) is_in_clusters: bool,
    /// Multiprocessors of the device: how many blocks share one decides how many registers they have.
    pub(super) multiprocessors: u32,
}

impl Entry {
    /// What a preset measures of it on a device.
    pub(super) fn planned(&self, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
        plan::cases(self.plan, self.id, self.types, preset, limits)
    }

    pub(super) const fn primitive(&self) -> Primitive {
        let Self { id, summary, operation, source, facts, .. } = *self;
        Primitive { id, summary, operation, source, facts }
    }

    /// An entry with the values that most entries have.
    pub(super) const fn of(kernel: Kernel, proof: Proof, facts: Facts) -> Self {
        Self {
            id: "",
            summary: "",
            operation: "",
            source: "",
            facts,
            kernel,
            definitions: |_| Vec::new(),
            method: Method::Kernel,
            proof,
            sampling: |_| SamplingPolicy::USUAL,
            expected: |_| ExpectedInstructions::of(&[]),
            cpu_threads: |_| CpuThreads::None,
            orderings: |_| &[],
            adds_across_devices: |_| false,
            each_changes_it: false,
            has_third_loop: true,
            needs: (7, 5),
            ends_before: (u32::MAX, 0),
            arrays: 1,
            unroll: |_| UNROLL,
            plan: &[],
            types: &[],
            limit: |_, _| None,
            own: None,
        }
    }
}

/// Which instructions an operation must be compiled to.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedInstructions {
    /// Patterns of the decoder, one for each name that architectures have for the instruction.
    pub instructions: &'static [&'static str],
    /// What compilers are known to use instead.
    pub substitutes: &'static [&'static str],
    /// The instruction to look for in paths out of line, where that path is the one executed.
    pub out_of_line: Option<&'static str>,
    /// How many instructions one operation takes.
    pub times: usize,
    /// Whether the baseline has only the context and not the operation.
    pub only_in_test: bool,
    /// Why nothing but a NOP is left of the operation on a device of this compute capability; `None` where something is.
    pub elided_by_nature: fn((u32, u32)) -> Option<&'static str>,
    /// Whether a kernel without a timed region accesses memory: it counts its launches there, or its work does.
    pub uses_memory: bool,
    /// What a compiler adds when it aggregates the operations of a warp. The evidence names it where it is found. Such a compiler
    /// may make two paths with the operation in each: one for whole warps and one for parts of them.
    pub aggregation: &'static [&'static str],
}

impl ExpectedInstructions {
    /// One of these instructions, once for each operation of baseline and test.
    pub const fn of(instructions: &'static [&'static str]) -> Self {
        Self {
            instructions,
            substitutes: &[],
            out_of_line: None,
            times: 1,
            only_in_test: false,
            elided_by_nature: |_| None,
            uses_memory: false,
            aggregation: &[],
        }
    }

    /// The same, if one operation takes several instructions.
    pub const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// The same, if a compiler may use others instead.
    pub const fn or_substitutes(self, substitutes: &'static [&'static str]) -> Self {
        Self { substitutes, ..self }
    }

    pub(super) const fn only_in_test(self) -> Self {
        Self { only_in_test: true, ..self }
    }

    pub(super) const fn elided_by_nature(self, why: fn((u32, u32)) -> Option<&'static str>) -> Self {
        Self { elided_by_nature: why, ..self }
    }

    /// How many there are in loops of so many operations: in the baseline and in the test.
    pub(crate) const fn counts(&self, unroll: u32) -> [usize; 2] {
        let operations = self.times * unroll as usize;
        if self.only_in_test { [0, operations] } else { [operations, 2 * operations] }
    }

    /// The first pattern, as the name in a summary.
    pub(crate) fn name(&self) -> &'static str {
        self.instructions.first().copied().unwrap_or("instruction")
    }
}

/// How the samples of a case are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingPolicy {
    /// Length of a window, at the least.
    pub(crate) sample: Duration,
    /// Which part of the preset's time for a case this case gets.
    pub(crate) share_of_time: f64,
    /// Memory offsets that one launch uses.
    pub(crate) offsets_per_sample: u32,
}

impl SamplingPolicy {
    /// Reading the clock after each run of the loop takes a hundred cycles or so, in which a warp leaves its place in the queues
    /// to others: little of an eighth of this length. (H200: shuffles of 1,024 threads, which take 32 cycles, seem to take 30.9
    /// in runs of 1,000 cycles and 33.1 in runs of 2,000.)
    pub(crate) const USUAL: Self =
        Self { sample: Duration::from_micros(40), share_of_time: 1.0, offsets_per_sample: 1 };

    /// Several memory offsets for each sample, for operations whose latency depends on the address. Where there are two
    /// kinds of addresses, a median over single offsets is the figure of one kind or the other, by chance; the median over
    /// means of several offsets is the same in every run.
    pub(crate) const SEVERAL_OFFSETS: Self = Self { offsets_per_sample: 4, ..Self::USUAL };

    /// Longer windows where a multiprocessor has several blocks: the first is served first, and how much the others get
    /// settles slowly.
    pub(super) const MANY_THREADS: Self =
        Self { sample: Duration::from_micros(200), share_of_time: 0.5, ..Self::USUAL };

    /// Few long samples, for a cost that is a thousandth of its context: long samples resolve more than many short ones.
    pub(super) const LONG_SAMPLES: Self =
        Self { sample: Duration::from_micros(100), share_of_time: 0.05, ..Self::USUAL };
}

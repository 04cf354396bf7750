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
    /// The variables hold the sum over all launches.
    Sum,
    /// The variables hold what the last launch wrote.
    LastLaunch,
    /// The kernel `check` uses the primitive and tests whether it works.
    Trial,
}

/// How kernels are launched and waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One after the other into one stream.
    Stream,
    /// Like `Stream`, with the call that guarantees that all blocks run at the same time.
    Cooperative,
    /// As a graph captured beforehand.
    Graph,
    /// Into a stream; the host waits for the stream after each launch.
    StreamSync,
    /// Into a stream; the host records an event after each launch and waits for it.
    EventSync,
    /// Into a stream; the host waits after each launch, as the [`HostWait`] says.
    Waiting(HostWait),
    /// Into a stream; each launch may start before the previous one has ended.
    Programmatic,
    /// Like `Programmatic`, as a graph captured beforehand.
    ProgrammaticGraph,
    /// Into two streams in turn, each launch after a value that the other stream writes to memory.
    WaitValue,
    /// Into two streams in turn, each launch after an event of the other stream.
    EventWait,
    /// Not at all: a grid barrier separates the parts of one kernel.
    Within,
    /// As the body of a conditional node of a graph, repeated for as long as the kernel asks.
    Conditional,
    /// As a graph that its own kernel launches again.
    DeviceGraph,
}

/// How the host waits for a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostWait {
    /// In the driver, as the context is configured to wait.
    Stream(Waits),
    /// In the driver, for an event that puts the thread to sleep.
    BlockingEvent,
    /// Polls whether the stream is done.
    AskingStream,
    /// Polls whether an event has completed.
    AskingEvent,
    /// Polls a word of host memory that the stream writes.
    Word,
    /// Polls a word that a host function writes; the driver calls the function on its own thread.
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

    /// Whether a chain is one kernel that is relaunched without the host.
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

    /// Whether kernels, or their parts, may shorten each other's work; plain launches then show the work alone.
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
    /// Like `Kernel`, in clusters of blocks.
    Cluster,
    /// Like `Kernel`, on one or several devices, with blocks that all run at the same time and wait for each other.
    GridBarrier,
    /// Like `GridBarrier`, with a CPU thread that answers.
    RoundTrip,
    /// Like `Kernel`, on host memory that CPU threads also use; the host times the CPU threads when they are alone.
    Addition,
    /// A chain of launches, timed by the host.
    Launch(Launching),
    /// A chain of reductions of a vector, timed by the host.
    Reduction(Recipe),
    /// Launches on several devices with barriers of host threads between them, timed by the host.
    HostBarrier,
    /// Not run, for this reason: only its machine code is inspected.
    Compiled(&'static str),
}

/// A file in `kernels/`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(super) file: &'static str,
    /// The text, if it is not a file in `kernels/`.
    pub(super) text: Option<&'static str>,
    /// Which arguments its kernels take.
    pub(crate) arguments: ArgumentKind,
}

impl Kernel {
    /// A file in `kernels/`, and the kind of arguments its kernels take.
    pub(super) const fn of(file: &'static str, arguments: ArgumentKind) -> Self {
        Self { file, text: None, arguments }
    }

    /// The program made of this file and these definitions.
    pub(super) fn program(self, definitions: Vec<String>) -> Program {
        // A test compiles every program, so each file is there.
        let text = self.text.or_else(|| text_of(self.file)).unwrap_or_default();
        Program { file: self.file, text, definitions }
    }
}

/// How many CPU threads take part in a case. The laboratory chooses the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuThreads {
    /// None; a thread that launches kernels does not count.
    None,
    /// One thread at this distance from the device; `None` if the case names no distance.
    One(Option<Distance>),
    /// One thread near the device in one case, several in another.
    OneAndSeveral,
}

/// A primitive and everything that depends on it. A family has a base entry for what its primitives share; the entry of a
/// primitive states only what differs.
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
    /// Whether devices add to another device's memory.
    pub(crate) adds_across_devices: fn(&Case) -> bool,
    /// Whether each lane's atomic operation changes what the next one finds, so that none can be combined.
    pub(crate) each_changes_it: bool,
    /// Whether its kernels can have two more copies of the primitive in the loop.
    pub(super) has_third_loop: bool,
    /// The lowest compute capability that has the primitive.
    pub(super) needs: (u32, u32),
    /// The lowest later compute capability that lacks the primitive.
    pub(super) ends_before: (u32, u32),
    /// How many arrays hold an element for each thread.
    pub(crate) arrays: usize,
    /// How many operations the machine code of one baseline iteration contains.
    pub(crate) unroll: fn(&Case) -> u32,
    /// What each preset measures.
    pub(super) plan: &'static [PlanRow],
    /// The types of a plan that the primitive supports; empty means all.
    pub(super) types: &'static [Dtype],
    /// Why a case cannot exist, whatever the plan says.
    pub(super) limit: fn(&Case, DeviceLimits) -> Option<&'static str>,
    /// The user's operation behind this entry; `None` in the catalogue.
    pub(crate) own: Option<&'static OwnEntry>,
}

/// A user's operation, as it is measured on a device.
#[derive(Debug)]
pub(crate) struct OwnEntry {
    pub(crate) source: OwnOperation,
    /// Whether clusters were asked for.
    pub(super) is_in_clusters: bool,
    /// Multiprocessors of the device: how many blocks share one limits their registers.
    pub(super) multiprocessors: u32,
}

impl Entry {
    /// The cases that a preset measures on a device.
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
    /// Patterns of the decoder, one for each name that an architecture gives the instruction.
    pub instructions: &'static [&'static str],
    /// Instructions that compilers are known to use instead.
    pub substitutes: &'static [&'static str],
    /// The instruction to look for in an out-of-line path, if that path is the one executed.
    pub out_of_line: Option<&'static str>,
    /// How many instructions one operation takes.
    pub times: usize,
    /// Whether the baseline contains only the context and not the operation.
    pub only_in_test: bool,
    /// Why the operation leaves nothing but a NOP on a device of this compute capability; `None` if something is left.
    pub elided_by_nature: fn((u32, u32)) -> Option<&'static str>,
    /// Whether a kernel without a timed region accesses memory, to count its launches or as part of its work.
    pub uses_memory: bool,
    /// Instructions that a compiler adds when it aggregates the operations of a warp; the evidence names them where it finds
    /// them. Such a compiler may make two paths, each with the operation: one for whole warps and one for parts of warps.
    pub aggregation: &'static [&'static str],
}

impl ExpectedInstructions {
    /// Expects one of these instructions, once for each operation of baseline and test.
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

    /// Expects this many instructions for each operation.
    pub const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Accepts these instructions in place of the expected ones.
    pub const fn or_substitutes(self, substitutes: &'static [&'static str]) -> Self {
        Self { substitutes, ..self }
    }

    pub(super) const fn only_in_test(self) -> Self {
        Self { only_in_test: true, ..self }
    }

    pub(super) const fn elided_by_nature(self, why: fn((u32, u32)) -> Option<&'static str>) -> Self {
        Self { elided_by_nature: why, ..self }
    }

    /// How many of the instructions the baseline and the test contain in loops of `unroll` operations.
    pub(crate) const fn counts(&self, unroll: u32) -> [usize; 2] {
        let operations = self.times * unroll as usize;
        if self.only_in_test { [0, operations] } else { [operations, 2 * operations] }
    }

    /// The first pattern, which names the instruction in a summary.
    pub(crate) fn name(&self) -> &'static str {
        self.instructions.first().copied().unwrap_or("instruction")
    }
}

/// How the samples of a case are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingPolicy {
    /// Minimum length of a window.
    pub(crate) sample: Duration,
    /// The share of the preset's time per case that this case gets.
    pub(crate) share_of_time: f64,
    /// How many memory offsets one launch uses.
    pub(crate) offsets_per_sample: u32,
}

impl SamplingPolicy {
    /// Reading the clock after each run of the loop takes about a hundred cycles, in which a warp loses its place in the queues
    /// to other warps: little compared with an eighth of this length. (H200: shuffles of 1,024 threads, which take 32 cycles,
    /// seem to take 30.9 in runs of 1,000 cycles and 33.1 in runs of 2,000.)
    pub(crate) const USUAL: Self =
        Self { sample: Duration::from_micros(40), share_of_time: 1.0, offsets_per_sample: 1 };

    /// Several memory offsets per sample, for operations whose latency depends on the address. With two kinds of addresses, a
    /// median over single offsets is the figure of one kind or the other, by chance; a median over means of several offsets is
    /// the same in every run.
    pub(crate) const SEVERAL_OFFSETS: Self = Self { offsets_per_sample: 4, ..Self::USUAL };

    /// Longer windows for multiprocessors with several blocks: the first block is served first, and the share that the others
    /// get settles slowly.
    pub(super) const MANY_THREADS: Self =
        Self { sample: Duration::from_micros(200), share_of_time: 0.5, ..Self::USUAL };

    /// Few long samples, for a cost that is a thousandth of its context: long samples resolve more than many short ones.
    pub(super) const LONG_SAMPLES: Self =
        Self { sample: Duration::from_micros(100), share_of_time: 0.05, ..Self::USUAL };
}

//! An entry of the catalogue: one primitive and everything that depends on it.

use syncscope_core::{Case, Facts, Preset, Primitive, Role};

use super::families::reduction::Recipe;
use super::instructions::ExpectedInstructions;
use super::limits::DeviceLimits;
use super::sampling::{SamplingPolicy, Saturates};
use crate::cuda::compile::Program;
use crate::hybrid::nearby_cpus::Distance;
use crate::launch::arguments::{ArgumentKind, UNROLL};

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
    /// Into a stream, each launch allowed to start before the one before has ended.
    Programmatic,
    /// Into two streams in turn, each launch after a value that the other stream writes to memory.
    WaitValue,
    /// Into two streams in turn, each launch after an event of the other stream.
    EventWait,
    /// As the body of a conditional node of a graph, which runs as long as its kernel says so.
    Conditional,
    /// As a graph that its kernel launches again.
    DeviceGraph,
}

impl Launching {
    pub(crate) const fn waits_each_time(self) -> bool {
        matches!(self, Self::StreamSync | Self::EventSync)
    }

    /// Whether a chain is a graph that is replayed as a whole.
    pub(crate) const fn is_graph(self) -> bool {
        matches!(self, Self::Graph) || self.is_loop()
    }

    /// Whether a chain is one kernel that runs again and again, without the host.
    pub(crate) const fn is_loop(self) -> bool {
        matches!(self, Self::Conditional | Self::DeviceGraph)
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
}

/// A file in `kernels/`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    /// Which arguments its kernels take.
    pub(crate) arguments: ArgumentKind,
}

impl Kernel {
    /// The file with these definitions.
    pub(super) fn program(self, definitions: Vec<String>) -> Program {
        Program { file: self.file, text: self.text, definitions }
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

/// A primitive and everything that depends on it.
pub(crate) struct Entry {
    pub(crate) primitive: Primitive,
    pub(crate) kernel: Kernel,
    /// The macros that select the variant of a case in the kernel.
    pub(super) definitions: fn(&Case) -> Vec<String>,
    pub(crate) method: Method,
    pub(crate) proof: Proof,
    pub(crate) saturates: fn(&Case) -> Saturates,
    pub(crate) sampling: fn(&Case) -> SamplingPolicy,
    pub(crate) expected: fn(&Case) -> ExpectedInstructions,
    /// How many CPU threads take part in a case.
    pub(crate) cpu_threads: fn(&Case) -> CpuThreads,
    /// Whether devices add to the memory of another device.
    pub(crate) adds_across_devices: fn(&Case) -> bool,
    /// Whether two more copies of the primitive can stand in the loop of its kernels.
    pub(super) has_third_loop: bool,
    /// The lowest compute capability that has the primitive.
    pub(super) needs: (u32, u32),
    /// Arrays that hold an element for each thread.
    pub(super) arrays: usize,
    /// Operations that occur once in the machine code of one iteration of the baseline.
    pub(crate) unroll: u32,
    pub(super) cases: fn(&str, Preset, &DeviceLimits) -> Vec<Case>,
}

impl Entry {
    /// An entry with the values that most entries have.
    pub(super) const fn of(kernel: Kernel, proof: Proof) -> Self {
        Self {
            primitive: Primitive { id: "", summary: "", operation: "", source: "", facts: Facts::of(Role::Access) },
            kernel,
            definitions: |_| Vec::new(),
            method: Method::Kernel,
            proof,
            saturates: |_| Saturates::Multiprocessors,
            sampling: |_| SamplingPolicy::USUAL,
            expected: |_| ExpectedInstructions::of(&[]),
            cpu_threads: |_| CpuThreads::None,
            adds_across_devices: |_| false,
            has_third_loop: true,
            needs: (7, 5),
            arrays: 1,
            unroll: UNROLL,
            cases: |_, _, _| Vec::new(),
        }
    }
}

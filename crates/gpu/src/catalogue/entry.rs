//! An entry of the catalogue: a primitive with all that belongs to it.

use syncscope_core::{Case, Preset, Primitive};

use super::instructions::Meant;
use super::limits::Grid;
use super::sampling::{Busy, Pace};
use crate::cuda::compile::Program;
use crate::hybrid::neighbourhood::Distance;
use crate::launch::arguments::{ArgumentKind, UNROLL};

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

/// How kernels are launched and waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One after the other into one stream.
    Stream,
    /// The same by the call that guarantees that all blocks run at the same time.
    Cooperative,
    /// As a graph that was captured before.
    Graph,
    /// With a wait for the stream after each.
    StreamSync,
    /// With an event after each, and a wait for it.
    EventSync,
}

impl Launching {
    pub(crate) const fn waits_each_time(self) -> bool {
        matches!(self, Self::StreamSync | Self::EventSync)
    }
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

/// A file in `kernels/`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    /// What its kernels take.
    pub(crate) arguments: ArgumentKind,
}

impl Kernel {
    /// The program that the file becomes with these definitions.
    pub(super) fn program(self, definitions: Vec<String>) -> Program {
        Program { file: self.file, text: self.text, definitions }
    }
}

/// CPU threads that take part in a case. The laboratory chooses the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuThreads {
    /// None, or those that the host needs to launch.
    None,
    /// One thread at this distance from the device; none is planned for another distance.
    One(Option<Distance>),
    /// One thread, and several, near the device: two cases.
    OneAndSeveral,
}

/// A primitive with all that belongs to it.
pub(crate) struct Entry {
    pub(crate) primitive: Primitive,
    pub(crate) kernel: Kernel,
    /// The macros that make the kernel the one of a case.
    pub(super) definitions: fn(&Case) -> Vec<String>,
    pub(crate) method: Method,
    pub(crate) proof: Proof,
    pub(crate) busy: fn(&Case) -> Busy,
    pub(crate) pace: fn(&Case) -> Pace,
    pub(crate) meant: fn(&Case) -> Meant,
    /// Which CPU threads take part in a case.
    pub(crate) cpu_threads: fn(&Case) -> CpuThreads,
    /// Whether a device adds to the memory of another one.
    pub(crate) adds_across_devices: bool,
    /// The lowest compute capability that has it.
    pub(super) needs: (u32, u32),
    /// Arrays that hold an element for each thread.
    pub(super) arrays: usize,
    /// Operations that stand once in the machine code of one iteration of the baseline.
    pub(crate) unroll: u32,
    pub(super) cases: fn(&str, Preset, &Grid) -> Vec<Case>,
}

impl Entry {
    /// What most entries have, to be completed.
    pub(super) const fn of(kernel: Kernel, proof: Proof) -> Self {
        Self {
            primitive: Primitive { id: "", summary: "", operation: "", source: "" },
            kernel,
            definitions: |_| Vec::new(),
            method: Method::Kernel,
            proof,
            busy: |_| Busy::Multiprocessors,
            pace: |_| Pace::USUAL,
            meant: |_| Meant::of(&[]),
            cpu_threads: |_| CpuThreads::None,
            adds_across_devices: false,
            needs: (7, 5),
            arrays: 1,
            unroll: UNROLL,
            cases: |_, _, _| Vec::new(),
        }
    }
}

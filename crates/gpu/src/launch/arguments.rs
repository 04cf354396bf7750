//! The structures that host and kernels share, as in `kernels/arguments.cuh`, field by field.
//!
//! Each kind of kernel has its own structure. [`LAYOUTS`] describes all of them; the kernels assert at compile time that theirs
//! are the same (see [`super::headers`]).

use std::mem::{offset_of, size_of};

pub(crate) use crate::cuda::driver::DevicePointer;
use crate::cuda::driver::{Function, KernelArguments, Stream};
use crate::cuda::error::Called;
use crate::launch::offsets::Executed;

/// Operations in the machine code of one iteration of the baseline: `UNROLL` in `harness.cuh`.
pub const UNROLL: u32 = 32;

/// Threads of a warp on every CUDA device.
pub(crate) const WARP_THREADS: u32 = 32;

/// Maximum number of threads per block that the kernels are compiled for (`__launch_bounds__`).
pub(crate) const MAX_BLOCK_THREADS: u32 = 1024;

/// Size of a structure, and offsets of its own fields, in bytes.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    pub(crate) fields: &'static [(&'static str, usize)],
}

/// Defines structures as C++ lays them out, and [`LAYOUTS`]. `Name: Base` begins with the fields of `Base`, as in C++.
macro_rules! shared_structures {
    ($(
        $(#[$attribute:meta])*
        $name:ident $(: $base:ident)? {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty,)+
        }
    )+) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
            pub(crate) struct $name {
                $(
                    /// What every timed loop needs.
                    pub(crate) common: $base,
                )?
                $($(#[$field_attribute])* pub(crate) $field: $type,)+
            }

            // SAFETY: `repr(C)`, only numbers and device addresses; the kernels assert the same layout.
            unsafe impl KernelArguments for $name {}
        )+

        /// The layout of every structure.
        pub(crate) const LAYOUTS: &[Layout] = &[$(
            Layout {
                name: stringify!($name),
                bytes: size_of::<$name>(),
                fields: &[$((stringify!($field), offset_of!($name, $field))),+],
            },
        )+];
    };
}

shared_structures! {
    /// Elapsed cycles of one warp's threads, by the clock of its multiprocessor.
    Warp {
        slowest: u64,
        fastest: u64,
        /// The smallest number of loop runs that a thread made within the window.
        chunks: u32,
        /// How long after the beginning of the window the last thread started.
        late: u32,
    }

    /// The gate at which the blocks of a grid wait until all of them run. Zero before the first launch.
    Gate {
        /// When the gate last opened, by the global timer.
        opened: u64,
        /// Blocks that arrived since then.
        arrived: u32,
        reserved: u32,
    }

    /// The length of one time span by two clocks.
    Rate {
        /// 0 if the global timer did not step within the bound of the search.
        nanoseconds: u64,
        cycles: u64,
    }

    /// What a check found.
    Finding {
        mismatches: u32,
        /// One of the threads with a mismatch.
        thread: u32,
        /// An integer or the bits of a double, like `found`.
        expected: u64,
        found: u64,
    }

    /// The arguments that every timed loop needs. The bench fills in the addresses.
    LoopArguments {
        /// The variables that the operation works on, cleared before the first launch of a case.
        memory: DevicePointer,
        /// One [`Warp`] for each warp of the grid at each memory offset.
        warps: DevicePointer,
        /// One [`Rate`] for the grid.
        rate: DevicePointer,
        /// The [`Finding`] of the kernel `check`, cleared before each check.
        finding: DevicePointer,
        /// A word of host memory; once set, it ends a spin that lasts too long.
        abort: DevicePointer,
        /// The [`Gate`].
        gate: DevicePointer,
        /// Bytes from one memory offset to the next.
        offset_distance: u64,
        /// How many memory offsets one launch uses, one after the other; 0 means 1.
        offsets: u32,
        iterations: u32,
        /// For launches without a window. 0: the loop runs once before it is timed; 1: it does not.
        skip_warm_up: u32,
        /// Length in cycles of the window in which all threads repeat the loop; 0: no window.
        window: u32,
        /// Cycles between the gate and the window.
        run_in: u32,
        /// Cycles after the window in which the threads continue.
        run_out: u32,
        /// Rate of the multiprocessors' clock.
        cycles_per_1024_ns: u32,
    }

    /// Operations with a value for each thread, usually on variables in memory.
    VariableArguments: LoopArguments {
        /// For `check`: operations per thread since the memory was cleared.
        total_operations: u64,
        /// 0, as wide as the widest variable. The kernels' compiler does not know the values of opaque fields, so it cannot
        /// compute at compile time what depends on them.
        opaque_zero: u64,
        /// 1; opaque like `opaque_zero`.
        opaque_one: u32,
        /// Elements between the variables of neighbouring threads; 0: one variable for all threads.
        stride: u32,
        /// A thread's value is `value_scale` * (its number in the grid) + `value_bias`.
        value_scale: u32,
        value_bias: u32,
    }

    /// Operations on registers, and barriers of a warp, a block or a cluster.
    RegisterArguments: LoopArguments {
        /// For `check`: operations per thread in the last launch.
        last_operations: u64,
        /// 1; see [`VariableArguments`].
        opaque_one: u32,
    }

    /// Barriers of a grid and of the grids of several devices.
    GridBarrierArguments: LoopArguments {
        /// Barriers that each thread passed at each memory offset of this launch, since the memory was cleared.
        barriers_passed: u64,
        /// How often earlier launches used memory offsets; makes every checked value new.
        generation: u32,
        /// Number of this launch's first memory offset.
        slot: u32,
        /// Difference between the numbers of consecutive memory offsets.
        slot_distance: u32,
    }

    /// A flag that a CPU thread and a GPU thread pass to each other.
    HybridFlagArguments: LoopArguments {
        /// For `check`: 1: round trips carry a question and its answer; 0: each round trip is timed.
        asks_questions: u32,
    }

    /// One launch between two barriers of the host.
    HostBarrierArguments {
        /// How often this kernel was launched before.
        phase: u32,
    }

    /// One launch of a chain of launches.
    LaunchChainArguments {
        /// For `check`: two arrays with the last phase of each block.
        phases: DevicePointer,
        /// For `check`: a [`Finding`], cleared before each check.
        finding: DevicePointer,
        /// In a loop of a graph: how many kernels have ended (for `check`: how many blocks); the state of a barrier.
        turn: DevicePointer,
        /// In a conditional node: the condition's handle.
        condition: u64,
        /// Two arrays that kernels sweep, with `words` words for each block.
        arrays: DevicePointer,
        /// Parts of a kernel's work.
        parts: u32,
        /// How long a part lasts.
        cycles: u32,
        /// Number of the launch, counted from 1; 0 in a loop of a graph.
        phase: u32,
        /// In a loop: how many kernels or parts run.
        turns: u32,
        /// Words of each block in an array.
        words: u32,
        /// Sweeps over an array in each part.
        sweeps: u32,
    }
}

/// The kind of a program's kernels, which decides the structure they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Variable,
    Register,
    GridBarrier,
    HybridFlag,
    HostBarrier,
    LaunchChain,
    /// Kernels without a timed loop; see `experiments/reduction/queue.rs`.
    Reduction,
}

impl ArgumentKind {
    /// Size of the structure in bytes.
    pub(crate) const fn bytes(self) -> Option<usize> {
        match self {
            Self::Variable => Some(size_of::<VariableArguments>()),
            Self::Register => Some(size_of::<RegisterArguments>()),
            Self::GridBarrier => Some(size_of::<GridBarrierArguments>()),
            Self::HybridFlag => Some(size_of::<HybridFlagArguments>()),
            Self::HostBarrier => Some(size_of::<HostBarrierArguments>()),
            Self::LaunchChain => Some(size_of::<LaunchChainArguments>()),
            Self::Reduction => None,
        }
    }
}

/// The arguments of a kernel that the bench launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchArguments {
    Variable(VariableArguments),
    Register(RegisterArguments),
    HybridFlag(HybridFlagArguments),
}

impl BenchArguments {
    /// The arguments that every timed loop needs.
    pub(crate) const fn common(&self) -> &LoopArguments {
        match self {
            Self::Variable(arguments) => &arguments.common,
            Self::Register(arguments) => &arguments.common,
            Self::HybridFlag(arguments) => &arguments.common,
        }
    }

    /// The same arguments, to be completed.
    pub(crate) const fn common_mut(&mut self) -> &mut LoopArguments {
        match self {
            Self::Variable(arguments) => &mut arguments.common,
            Self::Register(arguments) => &mut arguments.common,
            Self::HybridFlag(arguments) => &mut arguments.common,
        }
    }

    /// Makes every thread use the value 1.
    pub(crate) const fn use_ones(&mut self) {
        if let Self::Variable(arguments) = self {
            (arguments.value_scale, arguments.value_bias) = (0, 1);
        }
    }

    /// Adds what the kernel `check` must know of earlier launches.
    pub(crate) const fn after(mut self, executed: Executed) -> Self {
        match &mut self {
            Self::Variable(arguments) => arguments.total_operations = executed.total,
            Self::Register(arguments) => arguments.last_operations = executed.last,
            Self::HybridFlag(_) => {}
        }
        self
    }

    /// Queues a kernel with these arguments.
    pub(crate) fn launch(&self, stream: &Stream, function: Function, blocks: u32, threads: u32) -> Called {
        match self {
            Self::Variable(arguments) => stream.launch(function, blocks, threads, arguments),
            Self::Register(arguments) => stream.launch(function, blocks, threads, arguments),
            Self::HybridFlag(arguments) => stream.launch(function, blocks, threads, arguments),
        }
    }
}

impl LoopArguments {
    /// How many memory offsets a launch uses.
    pub(crate) const fn used_offsets(&self) -> usize {
        if self.offsets == 0 { 1 } else { self.offsets as usize }
    }
}

//! Errors in machine code and in the files that contain it, and why an edit is refused.

/// Why a CUBIN or a kernel cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SassError {
    /// The ELF structures are broken or cut off.
    #[error("the CUBIN is not an intact 64-bit ELF file: {0}")]
    Elf(#[from] object::Error),
    /// An ELF file, but not for CUDA.
    #[error("the ELF file is for machine {machine}, not for CUDA (190)")]
    NotCuda {
        /// `e_machine`.
        machine: u16,
    },
    /// Code with an encoding that this decoder does not know.
    #[error("the CUBIN is for sm_{number}; machine code is decoded from sm_75 on")]
    Arch {
        /// `10 * major + minor` of the compute capability.
        number: u32,
    },
    /// The name of a kernel is not UTF-8.
    #[error("the name of a kernel in the CUBIN is not UTF-8")]
    KernelName,
    /// The attributes of a kernel end within one.
    #[error("the attributes of kernel {kernel} in the CUBIN are cut off")]
    Attributes {
        /// The kernel.
        kernel: String,
    },
    /// A requested kernel does not exist.
    #[error("the CUBIN has no kernel {kernel}")]
    NoKernel {
        /// The kernel.
        kernel: String,
    },
    /// Code that ends within an instruction.
    #[error("the code of kernel {kernel} is {length} bytes long, which is not a multiple of 16")]
    OddLength {
        /// The kernel.
        kernel: String,
        /// Length of its code in bytes.
        length: usize,
    },
    /// No loop between two clock reads.
    #[error("kernel {kernel} has no loop between two reads of a clock ({reads} reads found)")]
    NoTimedLoop {
        /// The kernel.
        kernel: String,
        /// How many clock reads it has.
        reads: usize,
    },
    /// Several loops, each between clock reads of its own.
    #[error("kernel {kernel} times several loops, at {first:#06x} and at {second:#06x}; which one is meant is unclear")]
    SeveralTimedLoops {
        /// The kernel.
        kernel: String,
        /// Offset of the first start.
        first: u64,
        /// Offset of another start.
        second: u64,
    },
}

/// An edit that is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no instruction at this offset.
    #[error("kernel {kernel} has no instruction at {offset:#06x}")]
    NoInstruction {
        /// The kernel.
        kernel: String,
        /// The offset asked for.
        offset: u64,
    },
    /// Barriers are numbered 0 to 5, stall counts 0 to 15.
    #[error("{what} {value} does not exist: {allowed}")]
    OutOfRange {
        /// `barrier` or `stall count`.
        what: &'static str,
        /// The value asked for.
        value: u8,
        /// The values that exist.
        allowed: &'static str,
    },
    /// The two places are not in one basic block.
    #[error("{instruction} at {from:#06x} cannot move to {to:#06x}: they are in different basic blocks")]
    AnotherBlock {
        /// The instruction.
        instruction: String,
        /// Where it is.
        from: u64,
        /// Where it should be.
        to: u64,
    },
    /// An instruction that would get another address has a displacement, or something else refers to its address.
    #[error("{instruction} at {offset:#06x} cannot get another address: {why}")]
    Pinned {
        /// The instruction.
        instruction: String,
        /// Its offset.
        offset: u64,
        /// What refers to the address.
        why: &'static str,
    },
    /// Two instructions would change places that depend on each other.
    #[error("{second} must stay behind {first}: {why}")]
    Order {
        /// The first instruction, with its offset as compiled.
        first: String,
        /// The second one.
        second: String,
        /// The dependency.
        why: String,
    },
    /// A barrier would no longer be waited for.
    #[error("{second} needs what {first} leaves ({why}), and nothing would wait for barrier {barrier} between them")]
    NotAwaited {
        /// The instruction that sets the barrier.
        first: String,
        /// The instruction that depends on it.
        second: String,
        /// The dependency.
        why: String,
        /// The barrier.
        barrier: u8,
    },
    /// A fixed latency would no longer be kept.
    #[error(
        "{second} needs what {first} leaves ({why}) after {needed} cycles, and the stall counts between them are {left}"
    )]
    TooSoon {
        /// The first instruction.
        first: String,
        /// The second one.
        second: String,
        /// The dependency.
        why: String,
        /// Offset of the first instruction in the compiled code.
        compiled_at: u64,
        /// Cycles in the code as it was compiled, at most 16.
        needed: u32,
        /// Cycles after the edit.
        left: u32,
    },
    /// A barrier would be outstanding at the end of a basic block where it was not.
    #[error("barrier {barrier} of {first} would not be waited for before the end of its basic block")]
    LeftOutstanding {
        /// The instruction that sets the barrier.
        first: String,
        /// The barrier.
        barrier: u8,
    },
    /// A wait for a barrier that nothing sets.
    #[error(
        "a wait for barrier {barrier} at {offset:#06x} would wait for nothing: no instruction before it sets the barrier"
    )]
    NothingToAwait {
        /// The barrier.
        barrier: u8,
        /// Where the wait was asked for.
        offset: u64,
    },
    /// A barrier counts from the second cycle on.
    #[error(
        "{first} sets barrier {barrier} in its second cycle; raise its stall count to 2 before the next instruction waits"
    )]
    SetTooLate {
        /// The instruction that sets the barrier.
        first: String,
        /// The barrier.
        barrier: u8,
    },
}

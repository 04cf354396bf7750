//! Errors in machine code and in the files that contain it, and the reasons for refusing an edit.

/// Why a CUBIN or a kernel cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SassError {
    /// The ELF structures are broken or cut off.
    #[error("the CUBIN is not an intact 64-bit ELF file: {0}")]
    Elf(#[from] object::Error),
    /// The ELF file is not for CUDA.
    #[error("the ELF file is for machine {0}, not for CUDA (190)")]
    NotCuda(u16),
    /// The code has an encoding that this decoder does not know.
    #[error("the CUBIN is for sm_{0}; machine code is decoded from sm_75 on")]
    Arch(u32),
    /// The name of a kernel is not UTF-8.
    #[error("the name of a kernel in the CUBIN is not UTF-8")]
    KernelName,
    /// The attributes of a kernel are cut off in the middle of one.
    #[error("the attributes of kernel {0} in the CUBIN are cut off")]
    Attributes(String),
    /// The requested kernel does not exist.
    #[error("the CUBIN has no kernel {0}")]
    NoKernel(String),
    /// The code ends in the middle of an instruction.
    #[error("the code of kernel {0} is {1} bytes long, which is not a multiple of 16")]
    OddLength(String, usize),
    /// No loop lies between two clock reads; the number of clock reads in the kernel.
    #[error("kernel {0} has no loop between two reads of a clock ({1} reads found)")]
    NoTimedLoop(String, usize),
    /// Several loops lie between clock reads of their own; the offsets at which two of them start.
    #[error("kernel {0} times several loops, at {1:#06x} and at {2:#06x}; it is unclear which one is meant")]
    SeveralTimedLoops(String, u64, u64),
}

/// Why an edit is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is nothing to edit, or a dependency would be broken.
    #[error("{0}")]
    Refused(String),
    /// A fixed latency would be cut short.
    #[error(
        "{second} needs what {first} leaves ({why}) after {needed} cycles, and the stall counts between them are {left}"
    )]
    TooSoon {
        /// The first instruction, with its offset as compiled.
        first: String,
        /// The second instruction, with its offset as compiled.
        second: String,
        /// Why the second instruction depends on the first.
        why: String,
        /// Offset of the first instruction in the compiled code.
        compiled_at: u64,
        /// Cycles between the two in the compiled code, at most 16.
        needed: u32,
        /// Cycles between the two after the edit.
        left: u32,
    },
}

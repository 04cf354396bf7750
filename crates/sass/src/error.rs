//! Errors in machine code and in the files that contain it.

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

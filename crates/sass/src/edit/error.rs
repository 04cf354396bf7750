//! Why an edit is refused.

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

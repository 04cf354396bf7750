//! Registers and sets of them.

use std::fmt;

/// A file of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bank {
    /// `R0` to `R254`, one for each thread.
    General,
    /// `UR0` and up, one for a warp.
    Uniform,
    /// `P0` to `P6`, one for each thread.
    Predicate,
    /// `UP0` to `UP6`, one for a warp.
    UniformPredicate,
}

/// One register of 32 bits, or one predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// The file.
    pub bank: Bank,
    /// Its number there.
    pub number: u8,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.bank {
            Bank::General => "R",
            Bank::Uniform => "UR",
            Bank::Predicate => "P",
            Bank::UniformPredicate => "UP",
        };
        write!(f, "{name}{}", self.number)
    }
}

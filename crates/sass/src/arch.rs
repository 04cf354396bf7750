//! Architectures and the generations that share an encoding.

use std::fmt;

/// The architecture that machine code was compiled for, such as `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(u32);

impl Arch {
    /// The architecture of compute capability `major.minor`, given as `10 * major + minor`. `None` before Turing (7.5),
    /// where the encoding differs or CUDA 13 no longer supports the architecture.
    pub const fn new(number: u32) -> Option<Self> {
        if number >= 75 { Some(Self(number)) } else { None }
    }

    /// `10 * major + minor` of the compute capability.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The generation whose encoding this architecture uses. An architecture newer than this table counts as the newest
    /// generation.
    pub(crate) const fn generation(self) -> Generation {
        match self.0 {
            0..80 => Generation::Turing,
            80..90 => Generation::Ampere,
            90..100 => Generation::Hopper,
            100..120 => Generation::Blackwell,
            _ => Generation::BlackwellRtx,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

/// Architectures that share an encoding, oldest first, under the names in the CUDA documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Generation {
    /// 7.5.
    Turing,
    /// 8.0 to 8.9; Ada (8.9) executes Ampere's instructions.
    Ampere,
    /// 9.0.
    Hopper,
    /// 10.0 to 11.0: Blackwell for data centers.
    Blackwell,
    /// 12.0 and later: Blackwell for workstations and games.
    BlackwellRtx,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_follow_the_compute_capability() {
        let generation = |number| Arch::new(number).map(Arch::generation);
        assert_eq!(generation(70), None);
        assert_eq!(generation(75), Some(Generation::Turing));
        assert_eq!(generation(89), Some(Generation::Ampere));
        assert_eq!(generation(90), Some(Generation::Hopper));
        assert_eq!(generation(103), Some(Generation::Blackwell));
        assert_eq!(generation(121), Some(Generation::BlackwellRtx));
    }
}

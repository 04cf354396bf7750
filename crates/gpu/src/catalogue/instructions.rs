//! Which machine instructions the evidence of a case must show.

/// What an operation is meant to become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meant {
    /// Patterns of the decoder, one for each name that the architectures have for the instruction.
    pub(crate) instructions: &'static [&'static str],
    /// What compilers are known to put in its place.
    pub(crate) substitutes: &'static [&'static str],
    /// The instruction in a path out of line, which is the one that is taken.
    pub(crate) out_of_line: Option<&'static str>,
    /// Instructions that one operation takes.
    pub(crate) times: usize,
    /// Whether the baseline has a context alone.
    pub(crate) only_in_test: bool,
}

impl Meant {
    pub(super) const fn of(instructions: &'static [&'static str]) -> Self {
        Self { instructions, substitutes: &[], out_of_line: None, times: 1, only_in_test: false }
    }

    pub(super) const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    pub(super) const fn instead(self, substitutes: &'static [&'static str]) -> Self {
        Self { substitutes, ..self }
    }

    pub(super) const fn or_out_of_line(self, instruction: &'static str) -> Self {
        Self { out_of_line: Some(instruction), ..self }
    }

    pub(super) const fn only_in_test(self) -> Self {
        Self { only_in_test: true, ..self }
    }
}

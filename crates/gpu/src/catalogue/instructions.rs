//! Which machine instructions the evidence of a case must show.

/// Which instructions an operation must be compiled to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedInstructions {
    /// Patterns of the decoder, one for each name that architectures have for the instruction.
    pub(crate) instructions: &'static [&'static str],
    /// What compilers are known to use instead.
    pub(crate) substitutes: &'static [&'static str],
    /// The instruction to look for in paths out of line, where that path is the one executed.
    pub(crate) out_of_line: Option<&'static str>,
    /// How many instructions one operation takes.
    pub(crate) times: usize,
    /// Whether the baseline has only the context and not the operation.
    pub(crate) only_in_test: bool,
    /// Why nothing but a NOP is left of the operation on a device of this compute capability; `None` where something is.
    pub(crate) elided_by_nature: fn((u32, u32)) -> Option<&'static str>,
    /// Whether a compiler may make two paths with the operation in each: one for whole warps and one for parts of them.
    pub(crate) may_be_on_two_paths: bool,
    /// Whether a kernel without a timed region accesses memory, because it counts its launches there.
    pub(crate) counts_in_memory: bool,
    /// What a compiler adds when it aggregates the operations of a warp. The evidence names it where it is found.
    pub(crate) aggregation: &'static [&'static str],
}

impl ExpectedInstructions {
    pub(super) const fn of(instructions: &'static [&'static str]) -> Self {
        Self {
            instructions,
            substitutes: &[],
            out_of_line: None,
            times: 1,
            only_in_test: false,
            elided_by_nature: |_| None,
            may_be_on_two_paths: false,
            counts_in_memory: false,
            aggregation: &[],
        }
    }

    pub(crate) const fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    pub(super) const fn or_substitutes(self, substitutes: &'static [&'static str]) -> Self {
        Self { substitutes, ..self }
    }

    pub(super) const fn or_out_of_line(self, instruction: &'static str) -> Self {
        Self { out_of_line: Some(instruction), ..self }
    }

    pub(super) const fn or_aggregated(self, aggregation: &'static [&'static str]) -> Self {
        Self { aggregation, may_be_on_two_paths: true, ..self }
    }

    pub(super) const fn counting_in_memory(self) -> Self {
        Self { counts_in_memory: true, ..self }
    }

    pub(super) const fn only_in_test(self) -> Self {
        Self { only_in_test: true, ..self }
    }

    pub(super) const fn elided_by_nature(self, why: fn((u32, u32)) -> Option<&'static str>) -> Self {
        Self { elided_by_nature: why, ..self }
    }
}

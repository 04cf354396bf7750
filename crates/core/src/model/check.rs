//! The check: proof, from the state after the samples, that the primitive did its work.

/// Whether the primitive did its work, as far as that can be seen after the samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Check {
    /// It did.
    Ok,
    /// It did not; expected and found.
    Failed(String),
    /// There is nothing to be seen.
    #[default]
    NotApplicable,
}

//! Errors of the device as reasons why there is no experiment.

use syncscope_core::Refusal;

/// A failure with the text of an error.
#[allow(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
pub(crate) fn failed(error: impl ToString) -> Refusal {
    Refusal::Failed(error.to_string())
}

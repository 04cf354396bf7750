//! Ctrl-C and SIGTERM.

use syncscope_core::Cancel;

use crate::terminal;

/// The flag that Ctrl-C and SIGTERM set.
pub(crate) fn cancel_on_signal() -> Cancel {
    let cancel = Cancel::new();
    let flag = cancel.clone();
    if let Err(error) = ctrlc::set_handler(move || flag.cancel()) {
        terminal::warning(&format!("Ctrl-C will end the run without a report: {error}"));
    }
    cancel
}

//! What the terminal can show.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

use crate::failure::Failure;

/// Whether results may be coloured: stdout is a terminal and nobody asked for no colour (<https://no-color.org>).
pub(crate) fn colour() -> bool {
    stdout().is_terminal() && colour_wanted()
}

fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Columns of the terminal that shows the results; 100 where nobody looks.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size_of(stdout()).map_or(100, |(width, _)| usize::from(width.0).clamp(40, 160))
}

/// Writes a result to stdout. A reader who has seen enough (`| head`) is no error.
pub(crate) fn show(text: &dyn Display) -> Result<(), Failure> {
    match writeln!(stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::CouldNot(format!("stdout: {error}"))),
        _ => Ok(()),
    }
}

fn labelled(label: &str, colour_code: u8, text: &dyn Display) {
    if stderr().is_terminal() && colour_wanted() {
        eprintln!("\u{1b}[1;{colour_code}m{label}\u{1b}[0m: {text}");
    } else {
        eprintln!("{label}: {text}");
    }
}

/// Why the command could not do what it was asked for.
pub(crate) fn error(text: &dyn Display) {
    labelled("error", 31, text);
}

/// What may have disturbed the figures.
pub(crate) fn warning(text: &dyn Display) {
    labelled("warning", 33, text);
}

/// What the command is about to do, or has done.
pub(crate) fn note(text: &dyn Display) {
    labelled("note", 36, text);
}

//! The terminal: results on stdout, messages on stderr, and Ctrl-C.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use syncscope_core::Cancel;
use syncscope_host::limits;
use syncscope_report::plain_lines;

use crate::failure::{Failure, Outcome};

/// The name of this process, if it is one of many: errors begin with it, and nothing else is shown.
static SILENT: OnceLock<String> = OnceLock::new();

/// Shows only errors from now on, each with this name.
pub(crate) fn silence(name: &str) {
    // The first name stays.
    let _ = SILENT.set(name.to_owned());
}

/// Whether only errors are shown.
pub(crate) fn is_silent() -> bool {
    SILENT.get().is_some()
}

/// Whether results are coloured.
pub(crate) fn colour() -> bool {
    is_coloured(stdout().is_terminal())
}

/// Colours as clap colours the help: `NO_COLOR` (<https://no-color.org>) decides, then `CLICOLOR_FORCE` and `CLICOLOR`
/// (<https://bixense.com/clicolors>), then the terminal.
fn is_coloured(on_terminal: bool) -> bool {
    let is_set = |name: &str, off: &str| std::env::var_os(name).is_some_and(|value| value != off);
    let is_off = std::env::var_os("CLICOLOR").is_some_and(|value| value == "0");
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    !is_set("NO_COLOR", "") && (is_set("CLICOLOR_FORCE", "0") || on_terminal && !is_off && !is_dumb)
}

/// The width of the terminal in columns; 100 if stdout is not a terminal.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size_of(stdout()).map_or(100, |(width, _)| usize::from(width.0).clamp(40, 160))
}

/// Writes a result to stdout, without control characters for the terminal: it may quote foreign files.
pub(crate) fn show(text: &dyn Display) -> Result<Outcome, Failure> {
    show_as_is(&plain_lines(&text.to_string()))
}

/// Writes a result that may have colours and tabs, and in which text from files is plain already.
pub(crate) fn show_as_is(text: &dyn Display) -> Result<Outcome, Failure> {
    if is_silent() {
        return Ok(Outcome::Done);
    }
    if STDOUT_IS_LEFT.load(Ordering::Relaxed) {
        write_line(&text.to_string());
        return Ok(Outcome::Done);
    }
    written(writeln!(stdout().lock(), "{text}").and_then(|()| stdout().flush())).map(|()| Outcome::Done)
}

/// Whether stdout belongs to a file that the user named `-`: results then go to stderr.
static STDOUT_IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Shows nothing on stdout from now on.
pub(crate) fn leave_stdout() {
    STDOUT_IS_LEFT.store(true, Ordering::Relaxed);
}

/// The result of writing to stdout. A closed pipe (`| head`) is not an error.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::CouldNot(format!("stdout: {error}"))),
        _ => Ok(()),
    }
}

/// A path as one word of a command that can be pasted into a shell. Control characters and bytes that are not text take the form
/// `$'\\033'` of POSIX.1-2024.
pub(crate) fn word(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    // The word must not look like an option.
    let begin = if bytes.starts_with(b"-") { "./" } else { "" };
    let is_usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:=@%,".contains(byte);
    match path.to_str() {
        Some(text) if !text.is_empty() && bytes.iter().all(is_usual) => format!("{begin}{text}"),
        Some(text) if plain_lines(text) == text && !text.contains('\n') => {
            format!("'{begin}{}'", text.replace('\'', r"'\''"))
        }
        _ => {
            let escaped = |byte: &u8| match byte {
                b'\\' | b'\'' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\{byte:03o}"),
            };
            format!("$'{begin}{}'", bytes.iter().map(escaped).collect::<String>())
        }
    }
}

/// The command that resumes a run.
pub(crate) fn resume_command(directory: &Path) -> String {
    format!("syncscope run --resume {}", word(directory))
}

fn labelled(label: &str, colour_code: u8, text: &dyn Display) {
    let text = plain_lines(&text.to_string());
    if stderr().is_terminal() && is_coloured(true) {
        // The process that measures may have drawn its progress here.
        write_line(&format!("\r\u{1b}[K\u{1b}[1;{colour_code}m{label}\u{1b}[0m: {text}"));
    } else {
        write_line(&format!("{label}: {text}"));
    }
}

/// Shows all reasons but the last as errors; the last one is the failure of the command.
pub(crate) fn could_not(mut reasons: Vec<String>) -> Failure {
    let last = reasons.pop().unwrap_or_default();
    for reason in reasons {
        error(&reason);
    }
    Failure::CouldNot(last)
}

/// Writes a line to stderr, which may quote a foreign file.
pub(crate) fn line(text: &str) {
    write_line(&plain_lines(text));
}

/// Where messages go if stderr could not be restored after foreign code.
static ERRORS: OnceLock<File> = OnceLock::new();

/// Writes messages to this file from now on.
pub(crate) fn speak_to(errors: File) {
    // The first file stays.
    let _ = ERRORS.set(errors);
}

/// Writes a line to stderr. A run continues even if nobody reads stderr any more.
fn write_line(text: &str) {
    let _ = match ERRORS.get() {
        Some(mut errors) => errors.write_all(format!("{text}\n").as_bytes()),
        None => writeln!(stderr().lock(), "{text}"),
    };
}

/// Shows why the command failed.
pub(crate) fn error(text: &dyn Display) {
    let name = SILENT.get().map(|name| format!("{name}: ")).unwrap_or_default();
    labelled("error", 31, &format!("{name}{text}"));
}

/// Shows what may have disturbed the measurements.
pub(crate) fn warning(text: &dyn Display) {
    if !is_silent() {
        labelled("warning", 33, text);
    }
}

/// Shows warnings.
pub(crate) fn warnings<T: Display>(texts: impl IntoIterator<Item = T>) {
    for text in texts {
        warning(&text);
    }
}

/// Shows what the command has done or what to do next.
pub(crate) fn note(text: &dyn Display) {
    if !is_silent() {
        labelled("note", 36, text);
    }
}

/// Whether this process was asked to end twice.
static IS_URGENT: AtomicBool = AtomicBool::new(false);

/// A signal that comes sooner after the first counts as part of it: `timeout` sends its signal twice.
const BETWEEN_PRESSES: Duration = Duration::from_millis(250);

/// The cancellation of this process's work.
pub(crate) fn cancel() -> Cancel {
    static CANCEL: OnceLock<Cancel> = OnceLock::new();
    CANCEL.get_or_init(Cancel::new).clone()
}

/// The cancellation, which Ctrl-C, SIGTERM and a hang-up set from now on.
pub(crate) fn cancel_on_signal() -> Cancel {
    let (flag, mut first) = (cancel(), None);
    let pressed = move || {
        flag.cancel();
        let is_later = first.get_or_insert_with(Instant::now).elapsed() > BETWEEN_PRESSES;
        IS_URGENT.fetch_or(is_later, Ordering::Relaxed);
    };
    if let Err(error) = limits::unless_hang_ups_are_ignored(|| ctrlc::set_handler(pressed)) {
        warning(&format!("Ctrl-C will end the run without a report: {error}"));
    }
    cancel()
}

/// Whether Ctrl-C or SIGTERM came twice: everything has to end at once.
pub(crate) fn is_urgent() -> bool {
    IS_URGENT.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let names: [&[u8]; 12] = [
            b"a/b.c",
            b"a b;c",
            b"it's",
            b"$HOME `id` \"x\" \\",
            b"",
            b"-o",
            b"a\nb",
            b"\x1b[2J0",
            b"\xff\xfe0",
            "é µ".as_bytes(),
            "\u{202e}x'\\".as_bytes(),
            b"~ *?[a]{b,c}!#&|<>()",
        ];
        for name in names {
            let quoted = word(Path::new(OsStr::from_bytes(name)));
            assert_eq!(plain_lines(&quoted), quoted, "it can be shown");
            let shell =
                std::process::Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output().unwrap();
            let expected = if name == b"-o" { b"./-o" } else { name };
            assert_eq!(shell.stdout, expected, "{quoted}");
        }
    }
}

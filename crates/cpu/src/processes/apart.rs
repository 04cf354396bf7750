//! A fresh process that makes some passes of a run: this program, started again, with a laboratory of its own.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use syncscope_core::Case;
use syncscope_core::session::observer::Observer;
use syncscope_core::session::{Apart, Share};
use syncscope_host::end::{Before, End};
use syncscope_host::{child_process, limits, shared_memory};

use super::send;
use crate::laboratory::CpuLaboratory;
use syncscope_machine::conditions::Conditions;

/// The argument that makes this program a fresh process. No command has it.
const ARGUMENT: &str = "--fresh-process";

/// The time between two lines that say which case is measured. Each line wakes the process that reads it, in the middle of a
/// sample.
const SAID_EVERY: Duration = Duration::from_secs(1);

/// The request to a fresh process. Its figures are pooled with those of the process that asks, so both have the same conditions.
#[derive(Debug, Serialize, Deserialize)]
struct ShareRequest<'a> {
    share: Cow<'a, Share>,
    conditions: Conditions,
    /// Whether idle CPUs are kept awake.
    keeps_awake: bool,
}

/// A line that a fresh process writes.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// The case that it has come to.
    Measuring(Case),
    Found(Apart),
    /// Why it measures nothing.
    Refused(String),
}

/// Lets a fresh process measure `share` on these CPUs and waits for its end; now and then, `goes_on` gets the case that the
/// process has come to and says whether to wait on. The fresh process has this one's standard input, by which whoever watches
/// this process sees what the fresh one does, and ends with this process.
pub(crate) fn measure(
    share: &Share,
    cpus: Vec<u32>,
    keeps_awake: bool,
    goes_on: &mut dyn FnMut(&Case) -> bool,
) -> Result<Vec<Apart>, String> {
    let asked = ShareRequest { share: Cow::Borrowed(share), conditions: Conditions::here(cpus), keeps_awake };
    let could_not = |error| format!("a fresh process could not measure: {error}{}", limits::remedy(&error));
    let (found, ended) = ask(&asked, goes_on).map_err(could_not)?;
    if ended == End::Code(0) { Ok(found) } else { Err(format!("a fresh process {ended} before it had measured")) }
}

fn ask(asked: &ShareRequest<'_>, goes_on: &mut dyn FnMut(&Case) -> bool) -> io::Result<(Vec<Apart>, End)> {
    let mut request = shared_memory::memory_file()?;
    serde_json::to_writer(&mut request, asked)?;
    request.rewind()?;
    let mut command = syncscope_host::this_program()?;
    command
        .args([ARGUMENT, &std::process::id().to_string(), &request.as_raw_fd().to_string()])
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(if asked.share.has_own() { Stdio::inherit() } else { Stdio::null() });
    child_process::inherit(&mut command, &[request.as_fd()]);
    let before = Before::now();
    let mut child = command.spawn()?;
    let found = child.stdout.take().map_or(Ok(Vec::new()), |output| read(output, goes_on));
    if found.is_err() {
        // Nobody reads what else the process finds. It is no error if the process has ended by itself.
        let _ = child.kill();
    }
    let ended = before.wait(&mut child)?;
    Ok((found?, ended))
}

/// Reads what a process finds, until it ends or need not go on.
fn read(output: impl io::Read, goes_on: &mut dyn FnMut(&Case) -> bool) -> io::Result<Vec<Apart>> {
    let mut found = Vec::new();
    for line in BufReader::new(output).lines() {
        match serde_json::from_str(&line?)? {
            Said::Measuring(case) if goes_on(&case) => {}
            Said::Measuring(_) => return Err(io::ErrorKind::Interrupted.into()),
            Said::Found(apart) => found.push(apart),
            Said::Refused(reason) => return Err(io::Error::other(reason)),
        }
    }
    Ok(found)
}

/// Measures a share if this process was started for that, and tells `observer` what it does. `None` in any other process.
pub fn measure_if_asked<O: Observer>(observer: impl FnOnce() -> O) -> Option<ExitCode> {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let [argument, parent, request] = words.as_slice() else { return None };
    (argument == ARGUMENT).then(|| {
        let served = serve(parent, request, &mut observer());
        let is_done = served.is_ok();
        // A parent that does not read has ended.
        let _ = served.or_else(|error| send(&mut io::stdout(), &Said::Refused(error.to_string())));
        if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

fn serve(parent: &str, request: &str, observer: &mut dyn Observer) -> io::Result<()> {
    let number = |word: &str| word.parse::<u32>().map_err(io::Error::other);
    child_process::end_with_parent(number(parent)?)?;
    let mut text = String::new();
    File::from(child_process::inherited(number(request)?.cast_signed())?).read_to_string(&mut text)?;
    let ShareRequest { share, conditions, keeps_awake } = serde_json::from_str(&text)?;
    let mut laboratory = CpuLaboratory::open().map_err(io::Error::other)?;
    let here = Conditions::here(laboratory.topology().allowed_cpus());
    conditions.difference(&here).map_or(Ok(()), |difference| Err(io::Error::other(difference)))?;
    laboratory.keep_awake_too(keeps_awake)?;
    let mut output = Output { observer, lines: io::stdout().lock(), said: Instant::now() };
    let found = share.measure(&mut laboratory, &mut output);
    here.change().map_or(Ok(()), |change| Err(io::Error::other(format!("it had {change} when it ended"))))?;
    for apart in found {
        send(&mut output.lines, &Said::Found(apart))?;
    }
    Ok(())
}

/// What a fresh process writes while it measures and at its end.
struct Output<'a> {
    observer: &'a mut dyn Observer,
    lines: io::StdoutLock<'static>,
    said: Instant,
}

impl Observer for Output<'_> {
    fn measuring(&mut self, case: &Case) {
        self.observer.measuring(case);
        if self.said.elapsed() >= SAID_EVERY {
            self.said = Instant::now();
            // A parent that does not read ends this process.
            let _ = send(&mut self.lines, &Said::Measuring(case.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn who_says_something_else_cannot_write_on() {
        let (output, mut process) = UnixStream::pair().unwrap();
        process.write_all(b"a library says hello\n").unwrap();
        assert!(read(output, &mut |_| true).is_err());
        assert_eq!(process.write(b"more").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_process_that_refuses_is_quoted() {
        let (output, mut process) = UnixStream::pair().unwrap();
        send(&mut process, &Said::Refused("it may use CPUs 0 instead of 0-1".to_owned())).unwrap();
        assert_eq!(read(output, &mut |_| true).unwrap_err().to_string(), "it may use CPUs 0 instead of 0-1");
    }

    /// The process writes on: nobody waits for it.
    #[test]
    fn nobody_reads_on_after_an_interruption() {
        let (output, mut process) = UnixStream::pair().unwrap();
        for id in ["cpu.fence", "cpu.handoff"] {
            send(&mut process, &Said::Measuring(Case::new(id))).unwrap();
        }
        let mut seen = 0;
        let read = read(output, &mut |_| {
            seen += 1;
            false
        });
        assert_eq!((read.unwrap_err().kind(), seen), (io::ErrorKind::Interrupted, 1));
    }
}

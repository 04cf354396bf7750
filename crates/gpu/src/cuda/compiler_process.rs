//! Runs NVRTC in separate processes: a source that crashes the compiler, or on which it never ends, loses only that source.
//!
//! The program starts itself again as a child; [`serve_if_asked`] is one of the first lines of `main`. The child loads the same
//! library, compiles what it reads from standard input, and answers on standard output, both in JSON. A compiler in the same
//! process could not be stopped, and its crash would end the run. Programs that do not call [`serve_if_asked`], such as tests,
//! compile in their own process.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use syncscope_core::Cancel;
use syncscope_host::child_process;
use syncscope_host::guard::temporary_folder;
use tempfile::TempDir;

use crate::cuda::error::{CompileFailure, NvrtcError};
use crate::cuda::hash::hash;
use crate::cuda::nvrtc::{Code, Nvrtc, Source};

/// The argument that makes this program the child; no command uses it.
const ARGUMENT: &str = "--compiler-process";

/// Limit for one program. A program takes 30 ms to some seconds; on a busy machine it may take a hundred times as long.
const LIMIT: Duration = Duration::from_secs(90);

/// The environment variable that sets another limit in seconds; see docs/GUIDE.md.
const LIMIT_SECONDS: &str = "SYNCSCOPE_COMPILE_LIMIT";

/// How often a wait for an answer checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// Raised when nothing more shall be compiled.
static CANCEL: OnceLock<Cancel> = OnceLock::new();

/// Ends compilers once `cancel` is raised.
pub fn compile_until(cancel: Cancel) {
    CANCEL.get_or_init(|| cancel);
}

fn is_cancelled() -> bool {
    CANCEL.get().is_some_and(Cancel::is_cancelled)
}

/// Whether this program calls [`serve_if_asked`], so that it can be started again as a compiler.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Compiles for the parent if this process is the child, until the parent closes the pipe. `None` in any other process.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|word| word != ARGUMENT) {
        // Relaxed: only threads that start later read it.
        SERVES.store(true, Ordering::Relaxed);
        return None;
    }
    end_with_parent();
    let served =
        arguments.next().map(|library| serve(Path::new(&library), io::stdin().lock(), &mut io::stdout().lock()));
    Some(if served.is_some_and(|served| served.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Ends the child when its parent is gone: a parent that is killed cannot end a hanging compiler.
fn end_with_parent() {
    let parent = std::os::unix::process::parent_id();
    thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            thread::sleep(Duration::from_secs(1));
        }
        #[allow(clippy::exit, reason = "the main thread is inside the compiler")]
        std::process::exit(1);
    });
}

/// A source to compile: kind of output, architecture, file, text, headers and options.
type Compilation = (Code, String, String, String, Vec<(String, String)>, Vec<String>);

/// The outcome of a compilation.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Compiled(Vec<u8>),
    /// The compiler's error messages.
    Log(String),
    /// Any other failure.
    Failed(String),
}

fn serve(library: &Path, input: impl Read, output: &mut impl Write) -> io::Result<()> {
    let nvrtc = Nvrtc::load(library);
    for request in serde_json::Deserializer::from_reader(input).into_iter() {
        let answer = match &nvrtc {
            Ok(nvrtc) => compile(nvrtc, &request?),
            Err(reason) => Answer::Failed(reason.clone()),
        };
        send(output, &answer)?;
    }
    Ok(())
}

fn compile(nvrtc: &Nvrtc, (code, arch, file, text, headers, options): &Compilation) -> Answer {
    let mut headers: Vec<(&str, &str)> = headers.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let kept = text.split_once(HEAD_ENDS).filter(|_| options.iter().any(|option| option == KEEPS_HEAD[0]));
    // The compiler distinguishes kept headers by name, not by text.
    let kept = kept.map(|(head, rest)| (format!("syncscope-{:032x}.cuh", hash(head.bytes())), head, rest));
    headers.extend(kept.as_ref().map(|(name, head, _)| (name.as_str(), *head)));
    let behind = kept.as_ref().map(|(name, _, rest)| format!("#include \"{name}\"\n#pragma nv_hdrstop\n{rest}"));
    let text = behind.as_ref().unwrap_or(text);
    match nvrtc.compile_to(*code, Source { file, text, headers: &headers }, arch, options) {
        Ok(compiled) => Answer::Compiled(compiled),
        Err(NvrtcError::Compile(failure)) => Answer::Log(failure.log),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    output.write_all(&serde_json::to_vec(message)?)?;
    output.flush()
}

/// Ends the head of a text, which programs may share.
pub(crate) const HEAD_ENDS: &str = "// What is above is compiled once.\n";

/// Options for keeping a header in the process. The suppressed warning says that no header is created behind the head's end.
const KEEPS_HEAD: [&str; 3] = ["--pch", "--pch-messages=false", "--diag-suppress=20283"];

/// Idle compiler processes of one library. They end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct CompilerProcesses {
    idle: Mutex<Vec<CompilerProcess>>,
}

impl CompilerProcesses {
    /// Compiles a text in a separate process if this program serves as one, otherwise in this process. `shares_head` says that
    /// other texts with the same head and options come before or after; the head is then kept as a precompiled header. With
    /// `<cuda/atomic>` in the head, the first program takes 1.1 s instead of 0.8, and each further one 0.15 (NVRTC 13.0).
    pub(super) fn compile(
        &self,
        nvrtc: &Nvrtc,
        source: Source<'_>,
        (arch, options): (&str, &[String]),
        code: Code,
        shares_head: bool,
    ) -> Result<Vec<u8>, NvrtcError> {
        if !SERVES.load(Ordering::Relaxed) {
            return nvrtc.compile_to(code, source, arch, options);
        }
        if is_cancelled() {
            return Err(failed("interrupted".to_owned()));
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut process = idle.map_or_else(|| CompilerProcess::start(nvrtc), Ok)?;
        let keeps_head = shares_head && nvrtc.keeps_heads() && source.text.contains(HEAD_ENDS);
        let all = [options, &if keeps_head { process.keeps_heads() } else { Vec::new() }].concat();
        // If the process fails to answer, it is dropped here, which ends it.
        let answer = process.answer(source, arch, &all, code)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        match answer {
            Answer::Compiled(compiled) => Ok(compiled),
            Answer::Log(log) => {
                let (nvrtc, file) = (nvrtc.version(), source.file.to_owned());
                let failure = CompileFailure { nvrtc, file, arch: arch.to_owned(), options: options.to_vec(), log };
                Err(NvrtcError::Compile(Box::new(failure)))
            }
            Answer::Failed(reason) => Err(failed(reason)),
        }
    }
}

fn failed(text: String) -> NvrtcError {
    NvrtcError::Call { call: "NVRTC", text }
}

/// This program, started again as a compiler.
#[derive(Debug)]
struct CompilerProcess {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// The folder for kept heads.
    folder: Option<TempDir>,
}

impl CompilerProcess {
    fn start(nvrtc: &Nvrtc) -> Result<Self, NvrtcError> {
        let could_not = |error: io::Error| failed(format!("could not start this program again as a compiler: {error}"));
        let mut child = syncscope_host::this_program()
            .map_err(could_not)?
            .arg(ARGUMENT)
            .arg(nvrtc.found())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(could_not)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = mpsc::channel();
        // Dropping it ends the child too.
        let process = Self { child, input, answers, folder: None };
        // The thread ends with the pipe, which closes when the child ends.
        let reads = thread::Builder::new().spawn(move || {
            let Some(output) = output else { return };
            let answers = serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter();
            let _ = answers.map_while(Result::ok).try_for_each(|answer| sender.send(answer));
        });
        reads.map(|_| process).map_err(could_not)
    }

    /// The options that keep a head; none if there is no temporary folder.
    fn keeps_heads(&mut self) -> Vec<String> {
        self.folder = self.folder.take().or_else(|| temporary_folder().ok());
        let folder = self.folder.iter().map(|folder| format!("--pch-dir={}", folder.path().display()));
        folder.flat_map(|folder| KEEPS_HEAD.map(str::to_owned).into_iter().chain([folder])).collect()
    }

    fn answer(&mut self, source: Source<'_>, arch: &str, options: &[String], code: Code) -> Result<Answer, NvrtcError> {
        let request = (code, arch, source.file, source.text, source.headers, options);
        let sent = self.input.as_mut().map(|input| send(input, &request));
        let limit = std::env::var(LIMIT_SECONDS).ok().and_then(|seconds| seconds.parse().ok());
        let limit = limit.map_or(LIMIT, Duration::from_secs);
        let answer = match sent {
            Some(Ok(())) => self.wait(limit),
            _ => Err(RecvTimeoutError::Disconnected),
        };
        answer.map_err(|error| {
            let file = source.file;
            match error {
                RecvTimeoutError::Timeout if is_cancelled() => failed("interrupted".to_owned()),
                RecvTimeoutError::Timeout => failed(format!("{file} was not compiled within {} s", limit.as_secs())),
                RecvTimeoutError::Disconnected => failed(format!("the compiler {} on {file}", self.fate())),
            }
        })
    }

    fn wait(&self, limit: Duration) -> Result<Answer, RecvTimeoutError> {
        let started = Instant::now();
        loop {
            match self.answers.recv_timeout(LOOK.min(limit.saturating_sub(started.elapsed()))) {
                Err(RecvTimeoutError::Timeout) if started.elapsed() < limit && !is_cancelled() => {}
                answered => return answered,
            }
        }
    }

    /// How the child ended, or that it still runs and wrote something other than an answer.
    fn fate(&mut self) -> String {
        match child_process::wait_within(&mut self.child, Duration::from_secs(5)) {
            Ok(Some(status)) => format!("ended ({status})"),
            Ok(None) => "wrote something that is not an answer".to_owned(),
            Err(error) => format!("is lost ({error})"),
        }
    }
}

impl Drop for CompilerProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        // Both calls fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_compiles_what_it_is_sent_and_says_what_is_wrong() {
        let nvrtc = Nvrtc::find(&crate::cuda::discovery::Surroundings::of_process(), None).unwrap();
        let text = "#include \"h.cuh\"\nextern \"C\" __global__ void NAME(int *x) { *x = VALUE; }";
        let request = |text: &str| {
            let headers = [("h.cuh", "#define NAME kernel\n")];
            let mut pipe = Vec::new();
            send(&mut pipe, &(Code::Cubin, "sm_90", "a.cu", text, headers.as_slice(), ["-DVALUE=1"].as_slice()))
                .unwrap();
            pipe
        };
        let requests = [request(text), request("nonsense")].concat();
        let mut answers = Vec::new();
        serve(nvrtc.found(), requests.as_slice(), &mut answers).unwrap();
        let answers = serde_json::Deserializer::from_slice(&answers).into_iter::<Answer>();
        let answers: Vec<Answer> = answers.collect::<Result<_, _>>().unwrap();
        let [Answer::Compiled(cubin), Answer::Log(log)] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(cubin.starts_with(b"\x7fELF") && log.contains("a.cu(1)"));
    }

    /// A head that is kept changes no machine code, and is the one that was sent.
    #[test]
    fn a_head_is_kept_for_the_texts_that_begin_with_it() {
        let nvrtc = Nvrtc::find(&crate::cuda::discovery::Surroundings::of_process(), None).unwrap();
        let rest = "#line 1 \"a.cu\"\nextern \"C\" __global__ void add(int *x) { *x += VALUE; }";
        let heads = [1, 2, 1, 2].map(|value| format!("constexpr int VALUE = {value};\n{HEAD_ENDS}{rest}"));
        let [kept, whole] = [&KEEPS_HEAD[..], &[]].map(|options| {
            let mut pipe = Vec::new();
            let mut request = |text| send(&mut pipe, &(Code::Cubin, "sm_90", "a.cu", text, [("", ""); 0], options));
            for text in &heads {
                request(text).unwrap();
            }
            let mut answers = Vec::new();
            serve(nvrtc.found(), pipe.as_slice(), &mut answers).unwrap();
            String::from_utf8(answers).unwrap()
        });
        assert!(kept == whole && kept.matches("Compiled").count() == 4, "{kept:.300}");
    }
}

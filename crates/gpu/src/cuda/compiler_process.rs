//! NVRTC in processes of their own: a source on which the compiler crashes or never ends costs that source alone.
//!
//! The program starts itself again: [`serve_if_asked`] is one of the first lines of `main`. The child loads the same
//! library, compiles what it reads from its standard input, and answers over its standard output. A thread that waits for a
//! compiler in the same process could not end it, and a crash would end the run. Programs that do not call
//! [`serve_if_asked`], such as tests, compile in their own process.
//!
//! ```text
//! parent: architecture, file, text, number of options, options, headers      child: "cubin", CUBIN | "log", text | "call", text
//! ```

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::cuda::discovery::Candidate;
use crate::cuda::error::NvrtcError;
use crate::cuda::nvrtc::{Nvrtc, Source};

/// The argument that makes this program the child. No command has it.
const ARGUMENT: &str = "--compiler-process";

/// A program takes 30 ms to some seconds. On a machine that is busy with all else it may take a hundred times as long.
const LIMIT: Duration = Duration::from_secs(90);

/// The environment variable with another limit in seconds; see docs/GUIDE.md.
const LIMIT_SECONDS: &str = "SYNCSCOPE_COMPILE_LIMIT";

/// Most bytes of one text between the processes. A CUBIN has some hundred thousand.
const MOST_BYTES: u64 = 1 << 30;

/// Whether this program serves when it is started again.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Compiles for the parent if this process is the child, until the parent closes the pipe. `None` in any other process.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|word| word != ARGUMENT) {
        // Relaxed: it is read by threads that are started later.
        SERVES.store(true, Ordering::Relaxed);
        return None;
    }
    end_with_parent();
    let candidate = arguments.next().map(|name| Candidate::File(name.into()));
    let served = candidate.map(|candidate| serve(&candidate, &mut io::stdin().lock(), &mut io::stdout().lock()));
    Some(if served.is_some_and(|served| served.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A parent that is killed cannot end a compiler that hangs.
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

fn serve(candidate: &Candidate, input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let nvrtc = Nvrtc::load(candidate);
    while let Some(request) = read_texts(input)? {
        let answer = match &nvrtc {
            Ok(nvrtc) => compile(nvrtc, &request),
            Err(reason) => [b"call".to_vec(), reason.as_bytes().to_vec()],
        };
        write_texts(output, &answer)?;
    }
    Ok(())
}

fn compile(nvrtc: &Nvrtc, request: &[Vec<u8>]) -> [Vec<u8>; 2] {
    let texts: Result<Vec<&str>, _> = request.iter().map(|text| std::str::from_utf8(text)).collect();
    let Ok([arch, file, text, count, rest @ ..]) = texts.as_deref() else {
        return [b"call".to_vec(), b"the request cannot be read".to_vec()];
    };
    let (options, headers) = rest.split_at(count.parse().unwrap_or(0).min(rest.len()));
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    let headers: Vec<(&str, &str)> =
        headers.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
    match nvrtc.compile(Source { file, text, headers: &headers }, arch, &options) {
        Ok(cubin) => [b"cubin".to_vec(), cubin],
        Err(NvrtcError::Compile { log, .. }) => [b"log".to_vec(), log.into_bytes()],
        Err(error) => [b"call".to_vec(), error.to_string().into_bytes()],
    }
}

/// Texts, each after its length, after their number.
fn write_texts(output: &mut impl Write, texts: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let mut bytes = (texts.len() as u64).to_le_bytes().to_vec();
    for text in texts {
        bytes.extend((text.as_ref().len() as u64).to_le_bytes());
        bytes.extend(text.as_ref());
    }
    output.write_all(&bytes)?;
    output.flush()
}

/// `None` at the end of the pipe.
fn read_texts(input: &mut impl Read) -> io::Result<Option<Vec<Vec<u8>>>> {
    let mut number = || -> io::Result<Option<u64>> {
        let mut bytes = [0; 8];
        match input.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(u64::from_le_bytes(bytes)).filter(|number| *number <= MOST_BYTES)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    };
    let Some(count) = number()? else { return Ok(None) };
    let mut texts = Vec::new();
    for _ in 0..count {
        let mut length = [0; 8];
        input.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        let mut text = Vec::new();
        if length > MOST_BYTES || input.take(length).read_to_end(&mut text)? as u64 != length {
            return Err(io::ErrorKind::InvalidData.into());
        }
        texts.push(text);
    }
    Ok(Some(texts))
}

/// Compilers that wait for work. They end when this is dropped.
#[derive(Debug)]
pub(super) struct CompilerProcesses<'a> {
    nvrtc: &'a Nvrtc,
    idle: Mutex<Vec<CompilerProcess>>,
}

impl<'a> CompilerProcesses<'a> {
    pub(super) fn new(nvrtc: &'a Nvrtc) -> Self {
        Self { nvrtc, idle: Mutex::default() }
    }

    /// Compiles a text to a CUBIN: in a process of its own where this program serves, or else here.
    pub(super) fn compile(&self, source: Source<'_>, arch: &str, options: &[String]) -> Result<Vec<u8>, NvrtcError> {
        if !SERVES.load(Ordering::Relaxed) {
            return self.nvrtc.compile(source, arch, options);
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut process = idle.map_or_else(|| CompilerProcess::start(self.nvrtc), Ok)?;
        // A process that failed to answer is dropped, which ends it.
        let answer = process.answer(source, arch, options)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        let [word, content]: [Vec<u8>; 2] = answer.try_into().map_err(|_| failed("no answer"))?;
        match word.as_slice() {
            b"cubin" => Ok(content),
            b"log" => Err(NvrtcError::Compile {
                nvrtc: self.nvrtc.version(),
                file: source.file.to_owned(),
                arch: arch.to_owned(),
                options: options.to_vec(),
                log: String::from_utf8_lossy(&content).into_owned(),
            }),
            _ => Err(failed(String::from_utf8_lossy(&content))),
        }
    }
}

fn failed(text: impl Into<String>) -> NvrtcError {
    NvrtcError::Call { call: "NVRTC", text: text.into() }
}

/// This program, started again.
#[derive(Debug)]
struct CompilerProcess {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Vec<Vec<u8>>>,
}

impl CompilerProcess {
    fn start(nvrtc: &Nvrtc) -> Result<Self, NvrtcError> {
        let could_not = |error: io::Error| failed(format!("could not start this program again as a compiler: {error}"));
        let mut child = Command::new(std::env::current_exe().map_err(could_not)?)
            .arg(ARGUMENT)
            .arg(nvrtc.found().name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(could_not)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = mpsc::channel();
        // It ends with the pipe, which the end of the child closes.
        thread::spawn(move || {
            let Some(mut output) = output else { return };
            while let Ok(Some(answer)) = read_texts(&mut output) {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, answers })
    }

    fn answer(&mut self, source: Source<'_>, arch: &str, options: &[String]) -> Result<Vec<Vec<u8>>, NvrtcError> {
        let count = options.len().to_string();
        let mut request: Vec<&str> = vec![arch, source.file, source.text, &count];
        request.extend(options.iter().map(String::as_str));
        request.extend(source.headers.iter().flat_map(|(name, text)| [*name, *text]));
        let sent = self.input.as_mut().map(|input| write_texts(input, &request));
        let limit = std::env::var(LIMIT_SECONDS).ok().and_then(|seconds| seconds.parse().ok());
        let limit = limit.map_or(LIMIT, Duration::from_secs);
        let answer = match sent {
            Some(Ok(())) => self.answers.recv_timeout(limit),
            _ => Err(RecvTimeoutError::Disconnected),
        };
        answer.map_err(|error| {
            let file = source.file;
            match error {
                RecvTimeoutError::Timeout => failed(format!("{file} was not compiled within {} s", limit.as_secs())),
                RecvTimeoutError::Disconnected => failed(format!("the compiler {} on {file}", self.fate())),
            }
        })
    }

    /// How the child ended, which has closed its pipe.
    fn fate(&mut self) -> String {
        match self.child.wait().map(|status| (status.signal(), status.code())) {
            Ok((Some(signal), _)) => format!("crashed with signal {signal}"),
            Ok((None, Some(code))) => format!("ended with exit code {code}"),
            _ => "ended".to_owned(),
        }
    }
}

impl Drop for CompilerProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        // Both fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_the_pipe() {
        let texts: [&[u8]; 3] = [b"sm_90", b"", b"\x7fELF\0\xff"];
        let mut pipe = Vec::new();
        write_texts(&mut pipe, &texts).unwrap();
        write_texts(&mut pipe, &[b"next"]).unwrap();
        let mut reader = pipe.as_slice();
        assert_eq!(read_texts(&mut reader).unwrap().unwrap(), texts);
        assert_eq!(read_texts(&mut reader).unwrap().unwrap(), [b"next"]);
        assert_eq!(read_texts(&mut reader).unwrap(), None, "the end of the pipe");
    }

    #[test]
    fn half_an_answer_is_none() {
        let mut pipe = Vec::new();
        write_texts(&mut pipe, &[b"cubin".as_slice(), b"bytes"]).unwrap();
        for end in 8..pipe.len() {
            assert!(read_texts(&mut &pipe[..end]).is_err(), "cut off at {end}");
        }
        let endless = u64::MAX.to_le_bytes();
        assert!(
            read_texts(&mut [1_u64.to_le_bytes(), endless].concat().as_slice()).is_err(),
            "a length that cannot be"
        );
    }

    #[test]
    fn the_child_compiles_what_it_is_sent_and_says_what_is_wrong() {
        let nvrtc = Nvrtc::find(&crate::cuda::discovery::Surroundings::of_process(), None).unwrap();
        let text = "#include \"h.cuh\"\nextern \"C\" __global__ void NAME(int *x) { *x = VALUE; }";
        let request = |text: &str| {
            let texts = ["sm_90", "a.cu", text, "1", "-DVALUE=1", "h.cuh", "#define NAME kernel\n"];
            let mut pipe = Vec::new();
            write_texts(&mut pipe, &texts).unwrap();
            pipe
        };
        let requests = [request(text), request("nonsense")].concat();
        let mut answers = Vec::new();
        serve(nvrtc.found(), &mut requests.as_slice(), &mut answers).unwrap();
        let mut answers = answers.as_slice();
        let first = read_texts(&mut answers).unwrap().unwrap();
        assert_eq!((first[0].as_slice(), &first[1][..4]), (b"cubin".as_slice(), b"\x7fELF".as_slice()));
        let second = read_texts(&mut answers).unwrap().unwrap();
        assert_eq!(second[0], b"log");
        assert!(String::from_utf8_lossy(&second[1]).contains("a.cu(1)"));
    }
}

//! A process that never had a second thread, for the cases of [`Form::OneThreadProcess`].
//!
//! glibc leaves out the lock prefix of a mutex while a process has had one thread alone. This process has had several, and
//! that does not come back. So the command starts itself again: [`serve_if_asked`] is the first line of `main`, and the
//! child makes the workload of the case, runs its shots on the same CPU, and answers over its standard output. The loops
//! are those of any other case, because child and parent are one program.
//!
//! ```text
//! parent: "new" | "baseline 400 0;test 400 0"       child: "ready" | one line of readings for each shot | "error: ..."
//! ```

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use syncscope_core::{Case, Dtype, Form, Layout, Placement, Refusal, Shot, Side, Ticks};
use syncscope_host::{processes, scheduling};

use crate::primitives::{self, Workload};
use crate::team::{Body, Executor, Record, TeamError};
use crate::timing::clock::Clock;
use crate::timing::cycles;
use crate::timing::smt_interference::contention_ratio;

/// The argument that makes this program the child. No command has it.
const ARGUMENT: &str = "--one-thread-process";

/// Set for the child: the number of its parent. A program that does not serve would otherwise start itself again and again.
const IS_CHILD: &str = "SYNCSCOPE_ONE_THREAD_PROCESS";

/// What the child answers when it is ready.
const READY: &str = "ready";

/// How an answer begins that says what is wrong.
const ERROR: &str = "error: ";

/// How long the child may take until it is ready: it calibrates the clock.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves shots if this process is the child, until the parent closes the pipe. `None` in any other process. Has to be
/// called before anything starts a thread.
#[must_use]
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    (arguments.next()? == ARGUMENT).then(|| {
        // A parent that is killed in the middle of a loop that never ends leaves no process behind.
        let parent = std::env::var(IS_CHILD).ok().and_then(|number| number.parse().ok());
        if parent.is_some_and(|parent| !processes::end_with_parent(parent)) {
            return ExitCode::FAILURE;
        }
        let words: Vec<String> = arguments.collect();
        let mut output = io::stdout().lock();
        let served = serve(&words, &mut io::stdin().lock(), &mut output);
        let reported = served.or_else(|reason| writeln!(output, "{ERROR}{reason}").map_err(|_| reason));
        if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

/// The child: `words` are the primitive, the type and the CPU.
fn serve(words: &[String], input: &mut impl BufRead, output: &mut impl Write) -> Result<(), String> {
    let [primitive, dtype, cpu] = words else { return Err("three arguments are expected".to_owned()) };
    let dtype: Dtype = dtype.parse().map_err(|_| format!("there is no type {dtype}"))?;
    let case = Case { dtype: Some(dtype), ..case_of(primitive) };
    if let Ok(cpu) = cpu.parse() {
        scheduling::bind_to_one(cpu).map_err(|error| format!("could not bind to CPU {cpu}: {error}"))?;
    }
    let clock = Clock::calibrate();
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(format!("the process has {threads} threads at its start; unset LD_PRELOAD"));
    }
    let make = || primitives::workload_of(&case).map_err(|refusal| refusal.to_string());
    let mut workload = make()?;
    let mut send = |text: &str| writeln!(output, "{text}").and_then(|()| output.flush()).map_err(|e| e.to_string());
    send(READY)?;
    for line in input.lines() {
        match line.map_err(|error| error.to_string())?.as_str() {
            "new" => {
                workload = make()?;
                send(READY)?;
            }
            shots => {
                let shots: Option<Vec<Shot>> = shots.split(';').map(shot_from).collect();
                let shots = shots.ok_or("a shot cannot be read")?;
                let records: Vec<Record> = shots.iter().map(|shot| record(&workload, shot, &clock)).collect();
                let text = records.iter().fold(String::new(), |text, record| text + &line_of(record) + "\n");
                send(text.trim_end())?;
            }
        }
    }
    Ok(())
}

/// The case of a primitive that a child measures, without its type.
fn case_of(primitive: &str) -> Case {
    Case {
        layout: Some(Layout::Shared),
        threads: Some(1),
        placement: Some(Placement::Close),
        form: Some(Form::OneThreadProcess),
        ..Case::new(primitive)
    }
}

/// Runs one shot as a thread of a team does.
fn record(workload: &Workload, shot: &Shot, clock: &Clock) -> Record {
    let body = workload.body.as_ref();
    body.prepare(shot, 0);
    let ratio_before = contention_ratio(clock);
    let (cpu, before) = (scheduling::current_cpu(), scheduling::involuntary_switches());
    let started = clock.start();
    body.run(shot, 0);
    let stopped = clock.stop();
    Record {
        started: Ticks(started),
        stopped: Ticks(stopped),
        switched: scheduling::involuntary_switches() != before,
        migrated: scheduling::current_cpu() != cpu,
        contention_ratio: [ratio_before, contention_ratio(clock)],
        defect: body.verify(shot, 0).err(),
        counted_per_tick: None,
        chained_per_tick: cycles::per_tick(clock),
    }
}

/// A shot as text: `test 400 0`.
fn text_of(shot: &Shot) -> String {
    let side = match shot.side {
        Side::Baseline => "baseline",
        Side::Test => "test",
        Side::Double => "double",
    };
    format!("{side} {} {}", shot.iterations, shot.pair)
}

fn shot_from(text: &str) -> Option<Shot> {
    let mut words = text.split(' ');
    let side = match words.next()? {
        "baseline" => Side::Baseline,
        "test" => Side::Test,
        "double" => Side::Double,
        _ => return None,
    };
    Some(Shot { side, iterations: words.next()?.parse().ok()?, pair: words.next()?.parse().ok()? })
}

/// A record as a line: seven words, then the defect if there is one.
fn line_of(record: &Record) -> String {
    let Record { started, stopped, switched, migrated, .. } = record;
    let mut line = format!("{} {} {switched} {migrated}", started.0, stopped.0);
    for value in [record.chained_per_tick, record.contention_ratio[0], record.contention_ratio[1]] {
        // An f64 as text is read back as the same number.
        let _ = write!(line, " {}", value.map_or_else(|| "-".to_owned(), |value| value.to_string()));
    }
    record.defect.iter().fold(line, |line, defect| format!("{line} {}", defect.replace('\n', " ")))
}

fn record_from(line: &str) -> Option<Record> {
    let mut words = line.splitn(8, ' ');
    let mut next = || words.next();
    let (started, stopped) = (Ticks(next()?.parse().ok()?), Ticks(next()?.parse().ok()?));
    let (switched, migrated) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let mut number = || match next()? {
        "-" => Some(None),
        value => value.parse().ok().map(Some),
    };
    let (chained_per_tick, before, after): (Option<f64>, _, _) = (number()?, number()?, number()?);
    Some(Record {
        started,
        stopped,
        switched,
        migrated,
        counted_per_tick: None,
        chained_per_tick,
        contention_ratio: [before, after],
        defect: next().map(str::to_owned),
    })
}

/// The child processes of a laboratory: one for each case. Between two shots they sleep, as the threads of a team do.
#[derive(Default)]
pub(crate) struct OneThreadProcesses(Vec<(Case, OneThreadProcess)>);

impl OneThreadProcesses {
    /// A process for the case, on new memory.
    pub(crate) fn process_for(&mut self, case: &Case, cpu: Option<u32>) -> Result<&mut dyn Executor, Refusal> {
        let failed = |error: TeamError| Refusal::Failed(error.to_string());
        self.0.retain(|(of, process)| of != case || (process.is_fit() && process.cpus() == [cpu]));
        if let Some(index) = self.0.iter().position(|(of, _)| of == case) {
            let known = self.0.swap_remove(index);
            self.0.push(known);
        } else {
            let process = OneThreadProcess::start(case, cpu).map_err(failed)?;
            self.0.push((case.clone(), process));
        }
        let (_, process) = self.0.last_mut().ok_or_else(|| Refusal::Failed("no process".to_owned()))?;
        process.renew().map_err(failed)?;
        Ok(process)
    }
}

/// This program, started again, in a process group of its own: an interrupt from the terminal is for the parent alone.
struct OneThreadProcess {
    cpu: [Option<u32>; 1],
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    failed: bool,
}

impl OneThreadProcess {
    fn start(case: &Case, cpu: Option<u32>) -> Result<Self, TeamError> {
        let failed = |error: io::Error| {
            TeamError::Process(format!("could not start this program again as a process of one thread: {error}"))
        };
        if std::env::var_os(IS_CHILD).is_some() {
            return Err(ended("does not serve"));
        }
        let dtype = case.dtype.map_or_else(String::new, |dtype| dtype.to_string());
        let cpu_word = cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args([ARGUMENT, &case.primitive, &dtype, &cpu_word])
            .env(IS_CHILD, std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = mpsc::channel();
        // It ends with the pipe, which the end of the child closes.
        thread::spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let mut process = Self { cpu: [cpu], child, input, answers, failed: false };
        process.fail_on_error(Self::expect_ready)?;
        Ok(process)
    }

    /// Lets the child make its workload again, on new memory.
    fn renew(&mut self) -> Result<(), TeamError> {
        self.fail_on_error(|process| {
            process.send("new")?;
            process.expect_ready()
        })
    }

    fn fail_on_error<T>(&mut self, job: impl FnOnce(&mut Self) -> Result<T, TeamError>) -> Result<T, TeamError> {
        let outcome = job(self);
        self.failed |= outcome.is_err();
        outcome
    }

    fn send(&mut self, line: &str) -> Result<(), TeamError> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        sent.and_then(Result::ok).ok_or_else(|| ended("closed its input"))
    }

    fn answer(&mut self, limit: Duration) -> Result<String, TeamError> {
        let line = self.answers.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => TeamError::TimedOut(limit),
            RecvTimeoutError::Disconnected => ended("ended"),
        })?;
        line.strip_prefix(ERROR).map_or(Ok(line.clone()), |reason| Err(TeamError::Process(reason.to_owned())))
    }

    fn expect_ready(&mut self) -> Result<(), TeamError> {
        let line = self.answer(STARTUP_TIMEOUT)?;
        if line == READY { Ok(()) } else { Err(ended("gave another answer")) }
    }
}

/// The child is not what it should be.
fn ended(what: &str) -> TeamError {
    TeamError::Process(format!(
        "the process of one thread {what}: the program must call `syncscope_cpu::one_thread::serve_if_asked` first in \
         `main`, as the command syncscope does, and its file must not change during the run"
    ))
}

impl Executor for OneThreadProcess {
    fn cpus(&self) -> &[Option<u32>] {
        &self.cpu
    }

    fn runtime(&self) -> Option<&'static str> {
        None
    }

    fn is_fit(&self) -> bool {
        !self.failed
    }

    /// Runs the job of the case: the child has made the same `body` for itself. These cases have no other job.
    fn run(&mut self, _body: &Arc<dyn Body>, shots: &[Shot], limit: Duration) -> Result<Vec<Vec<Record>>, TeamError> {
        if self.failed {
            return Err(TeamError::Poisoned);
        }
        self.fail_on_error(|process| {
            process.send(&shots.iter().map(text_of).collect::<Vec<_>>().join(";"))?;
            let one = |_| record_from(&process.answer(limit)?).ok_or_else(|| ended("gave another answer"));
            Ok(vec![(0..shots.len()).map(one).collect::<Result<_, _>>()?])
        })
    }
}

impl Drop for OneThreadProcess {
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
    fn shots_and_records_survive_the_pipe() {
        for side in [Side::Baseline, Side::Test, Side::Double] {
            let shot = Shot { side, iterations: 12, pair: 3 };
            assert_eq!(shot_from(&text_of(&shot)), Some(shot));
        }
        assert_eq!(shot_from("never 1 2"), None);
        let record = Record {
            started: Ticks(17),
            stopped: Ticks(4_000),
            switched: true,
            migrated: false,
            counted_per_tick: None,
            chained_per_tick: Some(1.25),
            contention_ratio: [None, Some(0.1)],
            defect: None,
        };
        let defective = Record { defect: Some("expected 3, found 2".to_owned()), ..record.clone() };
        for record in [record, defective] {
            assert_eq!(record_from(&line_of(&record)), Some(record));
        }
        assert_eq!(record_from("17 4000 true"), None);
    }

    /// What a child answers to some lines, on a thread of this process.
    fn answers(words: [&str; 3], lines: &str) -> (Result<(), String>, String) {
        let mut output = Vec::new();
        let words = words.map(str::to_owned);
        let served = serve(&words, &mut lines.as_bytes(), &mut output);
        (served, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_process_of_several_threads_measures_nothing() {
        let (served, output) = thread::spawn(|| answers(["cpu.lock.pthread_mutex", "u64", "any"], "")).join().unwrap();
        assert!(served.is_err_and(|reason| reason.contains("threads at its start")), "{output}");
        assert!(output.is_empty());
        assert!(answers(["cpu.lock.pthread_mutex", "u16", "any"], "").0.is_err());
    }

    #[test]
    fn a_program_that_does_not_serve_is_named_as_the_reason() {
        // The program of the tests does not know the argument.
        let case = Case { dtype: Some(Dtype::U64), ..case_of("cpu.lock.pthread_mutex") };
        let Err(error) = OneThreadProcess::start(&case, None) else { panic!("the tests do not serve") };
        assert!(error.to_string().contains("serve_if_asked"), "{error}");
    }
}

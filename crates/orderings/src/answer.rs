//! Parses what the model and the stress test print about a variant.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The user's files by the number that a compiler gave them: headers have a name, the source itself has none.
pub type Files = BTreeMap<i32, Option<String>>;

/// How far the model explored this number of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The number of threads.
    pub threads: u32,
    /// The place of the threads, if known: `of one GPU`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How often each thread uses the operation.
    pub times: u32,
    /// The number of deviations up to which all executions were explored; `None` if not even those without deviations were.
    pub deviations: Option<u32>,
    /// Whether there are no other executions.
    pub is_complete: bool,
    /// The number of executions that were tried.
    pub executions: u64,
}

/// A step of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelStep {
    /// The thread, from 0.
    pub thread: u32,
    /// The line of the user's code; `None` for what surrounds it.
    pub line: Option<u32>,
    /// The header of the user that the line is of; `None` for the source itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `reads` or `writes`.
    pub does: String,
    /// The value.
    pub value: u64,
    /// Whether the value is not the newest one, or comes before another one.
    pub is_old: bool,
}

/// An access, or the place where a thread waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The thread, from 0.
    pub thread: u32,
    /// The line of the user's code; `None` for what surrounds it.
    pub line: Option<u32>,
    /// The header of the user that the line is of; `None` for the source itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// An execution that breaks what an operation promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refutation {
    /// `race`, `stuck`, `early`, `lost`, `torn`, `check` or `crash`.
    pub kind: String,
    /// The number of threads.
    pub threads: u32,
    /// How often each thread uses the operation; 0 if unknown.
    #[serde(default)]
    pub times: u32,
    /// The number of deviations.
    pub deviations: u32,
    /// The two places of a race, or the place where a thread is.
    pub places: Vec<Place>,
    /// All steps up to the violation.
    pub steps: Vec<ModelStep>,
}

/// The model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// An execution breaks what the operation promises.
    Refuted(Box<Refutation>),
    /// No execution did, as far as the model explored.
    NotRefuted(Vec<Bound>),
    /// The model cannot run the operation, for this reason.
    Cannot(String),
}

/// The result of the test by threads of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The threads used the operation this often, and no failure was seen.
    NotSeen(u64),
    /// The first failure.
    Failed(Failed),
    /// Threads waited for ever; the text says how often they had used the operation before.
    Hangs(String),
    /// The test cannot run, for this reason.
    Cannot(String),
}

/// A failure that a test saw. Files hold its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Failed {
    /// By threads of this process.
    Seen {
        /// What was wrong.
        broken: Broken,
        /// What the operation orders: `what the lock protects`.
        subject: String,
        /// How often the threads had used the operation before.
        uses: u64,
    },
    /// By a run of its own, in its words.
    Told(String),
}

/// What a failed test found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// So many changes are missing.
    Lost(u64),
    /// The user's `check` returned 0.
    Check,
    /// A value that is not the one that is due.
    Early {
        /// The value that a thread saw.
        seen: u64,
        /// The value that it must see.
        due: u64,
    },
    /// Two values that no state has together.
    Torn([u64; 2]),
}

impl Failed {
    /// Whether values that an earlier sample left may explain the failure.
    pub const fn may_be_of_kept_values(&self) -> bool {
        matches!(self, Self::Seen { broken: Broken::Check | Broken::Early { .. }, .. })
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (broken, subject, uses) = match self {
            Self::Seen { broken, subject, uses } => (broken, subject, uses),
            Self::Told(words) => return f.write_str(words),
        };
        match broken {
            Broken::Lost(1) => write!(f, "a change of {subject} is lost"),
            Broken::Lost(count) => write!(f, "{count} changes of {subject} are lost"),
            Broken::Check => f.write_str("check() returned 0"),
            Broken::Early { seen, due } => write!(f, "{subject}: {seen} where {due} is due"),
            Broken::Torn([one, other]) => write!(f, "{subject}: {one} and {other} seen together"),
        }?;
        write!(f, ", after {uses} uses")
    }
}

impl From<String> for Failed {
    fn from(words: String) -> Self {
        Self::Told(words)
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> Self {
        failed.to_string()
    }
}

impl Model {
    /// Parses the lines of the model's program; `files` are the user's, by number, with the names of headers.
    pub fn parse(lines: &str, files: &Files) -> Self {
        let mut refuted = None;
        let (mut steps, mut bounds, mut times) = (Vec::new(), Vec::new(), 0);
        for line in lines.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            let words: Vec<&str> = rest.split(' ').collect();
            match kind {
                "cannot" => return Self::Cannot(rest.to_owned()),
                "broken" => refuted = broken(&words, files),
                "times" => times = rest.parse().unwrap_or_default(),
                "step" => steps.extend(step(&words, files)),
                "held" => bounds.extend(bound(&words)),
                _ => {}
            }
        }
        match (refuted, bounds.is_empty()) {
            (Some(refuted), _) => Self::Refuted(Box::new(Refutation { times, steps, ..refuted })),
            (None, false) => Self::NotRefuted(bounds),
            (None, true) => Self::Cannot("it ended without a word".to_owned()),
        }
    }

    /// The answer in a few words; `subject` is what the operation orders: `what the lock protects`.
    pub fn in_words(&self, subject: &str) -> String {
        match self {
            Self::Refuted(refuted) => refuted.in_words(subject),
            Self::NotRefuted(bounds) => bounds.iter().map(Bound::in_words).collect::<Vec<_>>().join(", "),
            Self::Cannot(reason) => format!("not modelled: {reason}"),
        }
    }
}

impl Bound {
    fn in_words(&self) -> String {
        let Self { threads, times, deviations, is_complete, .. } = self;
        let team = team(*threads, self.place.as_deref(), *times);
        match (is_complete, deviations) {
            (true, _) => format!("all executions of {team}"),
            (false, Some(deviations)) => format!("{team} (up to {deviations} deviation{})", plural(*deviations)),
            (false, None) => format!("{team} (too large)"),
        }
    }
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A team in words: `2 threads of one warp with 2 uses each`.
fn team(threads: u32, place: Option<&str>, times: u32) -> String {
    let place = place.map_or_else(String::new, |place| format!(" {place}"));
    let uses = if times == 0 { String::new() } else { format!(" with {times} use{} each", plural(times)) };
    format!("{threads} threads{place}{uses}")
}

impl Refutation {
    /// The threads of the execution in words, with the uses per thread.
    pub(crate) fn team(&self) -> String {
        team(self.threads, None, self.times)
    }

    fn in_words(&self, subject: &str) -> String {
        let at = |place: &Place| line_in_words(place.line, place.file.as_deref()).unwrap_or_else(|| subject.to_owned());
        let thread = self.places.last().map_or(0, |place| place.thread);
        match (&*self.kind, &self.places[..]) {
            ("race", [one, other]) if at(one) == at(other) => {
                format!("threads {} and {} at {}: nothing orders them", one.thread, other.thread, at(other))
            }
            ("race", [one, other]) => {
                format!(
                    "thread {} at {} and thread {} at {}: nothing orders them",
                    one.thread,
                    at(one),
                    other.thread,
                    at(other)
                )
            }
            ("stuck", [place]) if place.line.is_some() => format!("thread {thread} waits for ever at {}", at(place)),
            ("stuck", _) => format!("thread {thread} waits for ever"),
            ("early", _) => format!("thread {thread} sees {subject} too early"),
            ("lost", _) => format!("a change of {subject} is lost"),
            ("crash", _) => format!("thread {thread} crashes"),
            ("check", _) => "check() returns 0".to_owned(),
            _ => format!("thread {thread} sees half of a change of {subject}"),
        }
    }

    /// The execution, with a line for each step.
    pub fn story(&self, subject: &str) -> Vec<String> {
        let step = |step: &ModelStep| {
            let line = line_in_words(step.line, step.file.as_deref());
            let line = line.map_or_else(String::new, |line| format!(" {line}:"));
            let old = if !step.is_old {
                ""
            } else if step.does == "reads" {
                ", not the newest value"
            } else {
                ", before a newer one"
            };
            format!("thread {}:{line} {} {}{old}", step.thread, step.does, step.value)
        };
        self.steps.iter().map(step).chain([self.in_words(subject)]).collect()
    }
}

/// `line 7`, or `line 7 of lib.h`.
fn line_in_words(line: Option<u32>, file: Option<&str>) -> Option<String> {
    let of = file.map_or_else(String::new, |file| format!(" of {file}"));
    line.map(|line| format!("line {line}{of}"))
}

/// The line of the user's code and the header, from `FILE LINE`.
fn line(file: &str, line: &str, files: &Files) -> (Option<u32>, Option<String>) {
    let known = file.parse().ok().and_then(|file| files.get(&file));
    let line = line.parse().ok().filter(|line| known.is_some() && *line > 0);
    (line, known.cloned().flatten())
}

fn place(words: &[&str], files: &Files) -> Option<Place> {
    let [thread, file, number] = words else { return None };
    let (line, file) = line(file, number, files);
    Some(Place { thread: thread.parse().ok()?, line, file })
}

fn broken(words: &[&str], files: &Files) -> Option<Refutation> {
    let [kind, threads, deviations, places @ ..] = words else { return None };
    let places = places.chunks(3).filter_map(|words| place(words, files)).collect();
    let (threads, deviations) = (threads.parse().ok()?, deviations.parse().ok()?);
    Some(Refutation { kind: (*kind).to_owned(), threads, times: 0, deviations, places, steps: Vec::new() })
}

fn step(words: &[&str], files: &Files) -> Option<ModelStep> {
    let [thread, file, number, does, value, is_old] = words else { return None };
    let (thread, value, is_old) = (thread.parse().ok()?, value.parse().ok()?, *is_old == "1");
    let (line, file) = line(file, number, files);
    Some(ModelStep { thread, line, file, does: (*does).to_owned(), value, is_old })
}

fn bound(words: &[&str]) -> Option<Bound> {
    let [threads, times, deviations, is_complete, executions] = words else { return None };
    Some(Bound {
        threads: threads.parse().ok()?,
        place: None,
        times: times.parse().ok()?,
        deviations: deviations.parse().ok(),
        is_complete: *is_complete == "1",
        executions: executions.parse().ok()?,
    })
}

impl Test {
    /// Whether a failure was seen.
    pub const fn has_failed(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Hangs(_))
    }

    /// The failure that was seen, in words.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Failed(failed) => Some(failed.to_string()),
            Self::Hangs(how) => Some(how.clone()),
            Self::NotSeen(_) | Self::Cannot(_) => None,
        }
    }

    /// Parses the line of the test's program.
    pub fn parse(text: &str, subject: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        match words[..] {
            ["passed", ..] => Self::NotSeen(number(1)),
            ["hangs", ..] => Self::Hangs(format!("hangs after {} uses", number(1))),
            ["failed", kind, ..] => {
                let broken = match kind {
                    "lost" => Broken::Lost(number(2).wrapping_sub(number(3))),
                    "check" => Broken::Check,
                    "early" => Broken::Early { seen: number(3), due: number(2) },
                    _ => Broken::Torn([number(2), number(3)]),
                };
                Self::Failed(Failed::Seen { broken, subject: subject.to_owned(), uses: number(4) })
            }
            _ => Self::Cannot("it ended without a word".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_speaks_in_lines_of_the_user() {
        let lines = "times 2\nbroken race 2 1 0 1 86 1 1 80\nstep 0 2 7 reads 0 0\nstep 1 2 9 reads 4 1\nstep 1 3 9 writes 4 1\n";
        let Model::Refuted(refuted) = Model::parse(lines, &Files::from([(2, None)])) else { unreachable!("{lines}") };
        assert_eq!((refuted.threads, refuted.times, refuted.deviations), (2, 2, 1));
        assert_eq!(
            refuted.story("the data"),
            [
                "thread 0: line 7: reads 0",
                "thread 1: line 9: reads 4, not the newest value",
                "thread 1: writes 4, before a newer one",
                "threads 0 and 1 at the data: nothing orders them"
            ]
        );
        let stuck = Model::parse("broken stuck 3 2 -1 0 0 2 2 14\n", &Files::from([(2, Some("lib.h".to_owned()))]));
        assert_eq!(stuck.in_words("x"), "thread 2 waits for ever at line 14 of lib.h");
        let held = Model::parse("held 2 2 5 0 99\nheld 3 1 2 1 7\n", &Files::new());
        assert_eq!(
            held.in_words("x"),
            "2 threads with 2 uses each (up to 5 deviations), all executions of 3 threads with 1 use each"
        );
        assert_eq!(
            Model::parse("held 3 1 -1 0 7\n", &Files::new()).in_words("x"),
            "3 threads with 1 use each (too large)"
        );
        assert_eq!(Model::parse("cannot it sleeps\n", &Files::new()), Model::Cannot("it sleeps".to_owned()));
        for strange in ["", "broken", "broken race", "held 1", "step", "\u{0}"] {
            assert!(matches!(Model::parse(strange, &Files::new()), Model::Cannot(_)), "{strange}");
        }
    }

    #[test]
    fn the_test_says_what_was_seen_first() {
        assert_eq!(Test::parse("passed 4000\n", "x"), Test::NotSeen(4000));
        let said = |line: &str| Test::parse(line, "the data").failure().unwrap();
        assert_eq!(said("failed lost 2000 1998 1234\n"), "2 changes of the data are lost, after 1234 uses");
        assert_eq!(said("failed lost 2000 1999 1234\n"), "a change of the data is lost, after 1234 uses");
        assert_eq!(Test::parse("hangs 7", "x"), Test::Hangs("hangs after 7 uses".to_owned()));
        assert!(matches!(Test::parse("", "x"), Test::Cannot(_)));
    }

    /// Whether `setup` may help is known from what failed, not from the sentence; files hold the sentence.
    #[test]
    fn a_failure_knows_what_it_is_whatever_its_words() {
        let of = |line: &str, subject: &str| match Test::parse(line, subject) {
            Test::Failed(failed) => failed,
            other => unreachable!("{other:?}"),
        };
        for (line, is_of_kept_values) in
            [("check 0 0 9", true), ("early 2 1 9", true), ("lost 20 19 9", false), ("torn 1 2 9", false)]
        {
            let failed = of(&format!("failed {line}\n"), "what check() is due to see");
            assert_eq!(failed.may_be_of_kept_values(), is_of_kept_values, "{failed}");
            let read = Failed::from(String::from(failed.clone()));
            assert_eq!(read, Failed::Told(failed.to_string()));
            assert!(!read.may_be_of_kept_values());
        }
    }
}

//! What a parent and its workers say to each other, as lines of text.

use std::fmt::Write as _;
use std::str::FromStr;

use syncscope_core::{Case, Dtype, Form, Layout, Placement, Shot, Side, Ticks};

use crate::team::Record;

/// What a worker answers when it is ready.
pub(super) const READY: &str = "ready";

/// What it answers when a wait for another worker timed out.
pub(super) const LATE: &str = "late";

/// How an answer begins that says what is wrong.
pub(super) const ERROR: &str = "error: ";

/// What a parent asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// The state of a case, on new memory.
    New(Case),
    /// Shots of its loops.
    Run(Vec<Shot>),
    /// Windows of them.
    Windows(Vec<Shot>),
    /// Shots of its proof.
    Prove(Vec<Shot>),
}

impl Request {
    /// The line that asks for it.
    pub(super) fn line(&self) -> String {
        let of_shots = |shots: &[Shot]| shots.iter().map(text_of).collect::<Vec<_>>().join(";");
        match self {
            Self::New(case) => {
                let dtype = case.dtype.map_or("-", Dtype::as_str);
                format!("new {} {dtype} {}", case.primitive, case.form.map_or("-", Form::as_str))
            }
            Self::Run(shots) => format!("run {}", of_shots(shots)),
            Self::Windows(shots) => format!("windows {}", of_shots(shots)),
            Self::Prove(shots) => format!("prove {}", of_shots(shots)),
        }
    }

    /// What a line asks of one of `workers` workers. The cases of processes differ in no other parameter.
    pub(super) fn of_line(line: &str, workers: u32) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        let shots = || rest.split(';').map(shot_from).collect::<Option<Vec<Shot>>>();
        match word {
            "new" => {
                let mut words = rest.split(' ');
                let case = Case::new(words.next()?);
                let dtype = optional::<Dtype>(words.next()?).ok()?;
                let form = optional::<Form>(words.next()?).ok()?;
                let (threads, placement) = (Some(workers), Some(Placement::Close));
                Some(Self::New(Case { dtype, form, layout: dtype.map(|_| Layout::Shared), threads, placement, ..case }))
            }
            "run" => shots().map(Self::Run),
            "windows" => shots().map(Self::Windows),
            "prove" => shots().map(Self::Prove),
            _ => None,
        }
    }
}

/// A value, or none for `-`.
fn optional<T: FromStr>(word: &str) -> Result<Option<T>, T::Err> {
    if word == "-" { Ok(None) } else { word.parse().map(Some) }
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

/// A record as a line: nine words, then the defect if there is one.
pub(super) fn line_of(record: &Record) -> String {
    let Record { started, stopped, switched, migrated, .. } = record;
    let mut line = format!("{} {} {switched} {migrated}", started.0, stopped.0);
    let [before, after] = record.contention_ratio;
    for value in [record.counted, record.counted_per_tick, record.chained_per_tick, before, after] {
        // An f64 as text is read back as the same number.
        let _ = write!(line, " {}", value.map_or_else(|| "-".to_owned(), |value| value.to_string()));
    }
    record.defect.iter().fold(line, |line, defect| format!("{line} {}", defect.replace('\n', " ")))
}

/// The record that a line holds.
pub(super) fn record_from(line: &str) -> Option<Record> {
    let mut words = line.splitn(10, ' ');
    let mut next = || words.next();
    let (started, stopped) = (Ticks(next()?.parse().ok()?), Ticks(next()?.parse().ok()?));
    let (switched, migrated) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let mut number = || optional::<f64>(next()?).ok();
    let (counted, counted_per_tick, chained_per_tick) = (number()?, number()?, number()?);
    let contention_ratio = [number()?, number()?];
    let defect = next().map(str::to_owned);
    Some(Record {
        started,
        stopped,
        counted,
        switched,
        migrated,
        counted_per_tick,
        chained_per_tick,
        contention_ratio,
        defect,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_pipe() {
        let shots: Vec<Shot> =
            [Side::Baseline, Side::Test, Side::Double].map(|side| Shot { side, iterations: 12, pair: 3 }).to_vec();
        let (threads, placement) = (Some(2), Some(Placement::Close));
        let lock = Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            form: Some(Form::OneThreadProcess),
            ..Case::new("cpu.lock.pthread_mutex")
        };
        let cases = [lock, Case::new("cpu.process.pipe")];
        let new = cases.map(|case| Request::New(Case { threads, placement: placement.clone(), ..case }));
        let of_shots = [Request::Run, Request::Windows, Request::Prove].map(|request| request(shots.clone()));
        for request in new.into_iter().chain(of_shots) {
            assert_eq!(Request::of_line(&request.line(), 2), Some(request));
        }
        for line in ["", "new", "new a u16 -", "run never 1 2", "run test 1", "leave now"] {
            assert_eq!(Request::of_line(line, 2), None, "{line}");
        }
    }

    #[test]
    fn records_survive_the_pipe() {
        let record = Record {
            started: Ticks(17),
            stopped: Ticks(4_000),
            counted: Some(31.75),
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
}

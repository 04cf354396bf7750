//! What a team asks its worker processes, and what they answer: lines of JSON.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use syncscope_core::{Case, Shot};

use crate::team::Record;

/// What a team asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    /// To make a case ready.
    New(Case),
    /// To run the shots.
    Run(Vec<Shot>),
    /// To run them in windows that all share.
    Windows(Vec<Shot>),
    /// To prove that the primitive works.
    Prove(Vec<Shot>),
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It can be asked to run shots.
    Ready,
    /// What it saw of each shot.
    Records(Vec<Record>),
    /// Another worker did not come.
    Late,
    /// Why it could not do it.
    Error(String),
}

/// Writes a line.
pub(super) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Dtype, Form, Layout, Placement, Side, Ticks};

    fn survives<T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug>(message: &T) {
        let mut line = Vec::new();
        send(&mut line, message).unwrap();
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        assert_eq!(&serde_json::from_slice::<T>(&line).unwrap(), message);
    }

    #[test]
    fn requests_survive_the_pipe() {
        let shots: Vec<Shot> =
            [Side::Baseline, Side::Test, Side::Double].map(|side| Shot { side, iterations: 12, pair: 3 }).to_vec();
        survives(&Request::New(Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            form: Some(Form::OneThreadProcess),
            threads: Some(2),
            placement: Some(Placement::Close),
            ..Case::new("cpu.lock.pthread_mutex")
        }));
        for request in [Request::Run, Request::Windows, Request::Prove] {
            survives(&request(shots.clone()));
        }
    }

    #[test]
    fn answers_survive_the_pipe() {
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
        let defective = Record { defect: Some("expected 3,\nfound 2".to_owned()), ..record.clone() };
        for answer in [Answer::Ready, Answer::Records(vec![record, defective]), Answer::Late] {
            survives(&answer);
        }
    }
}

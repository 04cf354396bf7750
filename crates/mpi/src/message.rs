//! The message with which rank 0 tells all processes what to do next: a fixed number of words.

use serde::{Deserialize, Serialize};
use syncscope_core::Shot;

use crate::catalogue::Call;
use crate::world::Team;

/// The most shots in one message.
pub(crate) const MOST_SHOTS: usize = 64;

/// Words of a message.
pub(crate) const WORDS: usize = 512;

/// What all processes do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Make a slot ready for a team.
    Prepare { slot: i32, team: Team },
    /// The members of a slot run timed loops.
    Run { slot: i32, call: Call, loops: Vec<Loop> },
    /// The members of a slot prove that their barrier is one.
    Prove { slot: i32 },
    /// The run is over: all processes report the CPU time that they spent on it.
    End,
}

/// One timed loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loop {
    pub(crate) copies: i32,
    pub(crate) iterations: i64,
}

impl Loop {
    /// The loop of a shot: the context is the primitive itself.
    pub(crate) fn of(shot: &Shot) -> Self {
        let iterations = i64::try_from(shot.iterations).unwrap_or(i64::MAX);
        Self { copies: 1 + shot.side.copies() as i32, iterations }
    }

    /// How often the operation is executed.
    pub(crate) const fn executions(self) -> i64 {
        self.copies as i64 * self.iterations
    }
}

impl Message {
    /// The message as JSON.
    ///
    /// # Errors
    /// If it is longer than a message may be.
    pub(crate) fn to_words(&self) -> Result<[i64; WORDS], String> {
        let mut text = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        if text.len() > WORDS * size_of::<i64>() {
            return Err("a message is too long".to_owned());
        }
        text.resize(WORDS * size_of::<i64>(), b' ');
        let (bytes, _) = text.as_chunks();
        Ok(std::array::from_fn(|word| i64::from_le_bytes(bytes[word])))
    }

    /// The message in these words; `None` if they are not a message of this version.
    pub(crate) fn from_words(words: &[i64; WORDS]) -> Option<Self> {
        serde_json::from_slice(words.map(i64::to_le_bytes).as_flattened()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Side;

    #[test]
    fn messages_survive_the_way_into_words_and_back() {
        let one = |copies| Loop { copies, iterations: i64::MAX };
        let messages = [
            Message::End,
            Message::Prepare { slot: 3, team: Team { nodes: 2, processes: 512 } },
            Message::Prove { slot: 63 },
            Message::Run { slot: 1, call: Call::FetchOp, loops: (0..MOST_SHOTS).map(|_| one(2)).collect() },
            Message::Run { slot: 0, call: Call::Barrier, loops: Vec::new() },
        ];
        for message in messages {
            assert_eq!(Message::from_words(&message.to_words().unwrap()), Some(message));
        }
        let mut words = Message::End.to_words().unwrap();
        words[0] ^= 1;
        assert_eq!((Message::from_words(&words), Message::from_words(&[0; WORDS])), (None, None));
        let loops = vec![one(2); 2 * MOST_SHOTS];
        assert!(Message::Run { slot: 0, call: Call::Barrier, loops }.to_words().is_err());
    }

    #[test]
    fn the_test_loop_has_one_operation_more_than_the_baseline() {
        let executions = |side| Loop::of(&Shot { side, iterations: 10, pair: 0 }).executions();
        assert_eq!([Side::Baseline, Side::Test, Side::Double].map(executions), [10, 20, 30]);
    }
}

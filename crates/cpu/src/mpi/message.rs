//! What rank 0 sends to all processes: a fixed number of words.

use syncscope_core::Shot;

use super::catalogue::Call;
use super::world::Team;

/// The most shots of one message.
pub(super) const MOST_SHOTS: usize = 64;

/// Words of a message.
pub(super) const WORDS: usize = 4 + 2 * MOST_SHOTS;

/// What all processes do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// Make a slot ready for a team.
    Prepare { slot: i32, team: Team },
    /// The members of a slot run timed loops.
    Run { slot: i32, call: Call, loops: Vec<Loop> },
    /// The members of a slot prove that a barrier is one.
    Prove { slot: i32 },
    /// The run is over.
    End,
}

/// One timed loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) copies: i32,
    pub(super) iterations: i64,
}

impl Loop {
    /// The loop of a shot: the context is the primitive itself.
    pub(super) fn of(shot: &Shot) -> Self {
        let iterations = i64::try_from(shot.iterations).unwrap_or(i64::MAX);
        Self { copies: 1 + shot.side.copies() as i32, iterations }
    }

    /// How often the operation is executed.
    pub(super) const fn executions(self) -> i64 {
        self.copies as i64 * self.iterations
    }
}

const CALLS: [Call; 4] = [Call::Barrier, Call::Allreduce, Call::PingPong, Call::FetchOp];

impl Message {
    pub(super) fn to_words(&self) -> [i64; WORDS] {
        let mut words = [0; WORDS];
        match self {
            Self::End => {}
            Self::Prepare { slot, team } => {
                words[..4].copy_from_slice(&[1, i64::from(*slot), i64::from(team.nodes), i64::from(team.processes)]);
            }
            Self::Run { slot, call, loops } => {
                words[..4].copy_from_slice(&[
                    2,
                    i64::from(*slot),
                    *call as i64,
                    i64::try_from(loops.len()).unwrap_or(0),
                ]);
                for (pair, one) in words[4..].chunks_exact_mut(2).zip(loops) {
                    pair.copy_from_slice(&[i64::from(one.copies), one.iterations]);
                }
            }
            Self::Prove { slot } => words[..2].copy_from_slice(&[3, i64::from(*slot)]),
        }
        words
    }

    /// `None` for words that are no message of this version.
    pub(super) fn from_words(words: &[i64; WORDS]) -> Option<Self> {
        let slot = i32::try_from(words[1]).ok()?;
        Some(match words[0] {
            0 => Self::End,
            1 => {
                let team = Team { nodes: u32::try_from(words[2]).ok()?, processes: u32::try_from(words[3]).ok()? };
                Self::Prepare { slot, team }
            }
            2 => {
                let call = *CALLS.get(usize::try_from(words[2]).ok()?)?;
                let count = usize::try_from(words[3]).ok().filter(|count| *count <= MOST_SHOTS)?;
                let loops = words[4..].chunks_exact(2).take(count);
                let loops = loops.map(|pair| Some(Loop { copies: i32::try_from(pair[0]).ok()?, iterations: pair[1] }));
                Self::Run { slot, call, loops: loops.collect::<Option<_>>()? }
            }
            3 => Self::Prove { slot },
            _ => return None,
        })
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
            assert_eq!(Message::from_words(&message.to_words()), Some(message));
        }
        let mut words = [0; WORDS];
        for (place, wrong) in [(0, 9), (1, i64::MAX)] {
            words[place] = wrong;
            assert_eq!(Message::from_words(&words), None);
        }
        let mut too_many = Message::Run { slot: 0, call: Call::Barrier, loops: Vec::new() }.to_words();
        too_many[3] = 65;
        assert_eq!(Message::from_words(&too_many), None);
    }

    #[test]
    fn the_test_loop_has_one_operation_more_than_the_baseline() {
        let executions = |side| Loop::of(&Shot { side, iterations: 10, pair: 0 }).executions();
        assert_eq!([Side::Baseline, Side::Test, Side::Double].map(executions), [10, 20, 30]);
    }
}

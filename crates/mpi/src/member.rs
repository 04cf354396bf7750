//! One process's part in a batch of timed loops, and its check of them.

use syncscope_host::scheduling::{self, CpuSet};

use crate::catalogue::Call;
use crate::library::{Counts, ShimLibrary};
use crate::message::Loop;
use syncscope_cpu::timing::clock::Clock;

/// One timed loop on one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Elapsed ticks of the clock of the team's first process.
    pub(crate) elapsed: i64,
    /// Whether the operating system took the CPU away during the loop.
    pub(crate) switched: bool,
    /// What the process counted.
    found: i64,
    /// What the process would have counted with a correct primitive.
    expected: i64,
}

/// Words of a record.
pub(crate) const RECORD_WORDS: usize = 4;

impl Record {
    fn to_words(self) -> [i64; RECORD_WORDS] {
        [self.elapsed, i64::from(self.switched), self.found, self.expected]
    }

    pub(crate) const fn from_words(words: &[i64; RECORD_WORDS]) -> Self {
        let [elapsed, switched, found, expected] = *words;
        Self { elapsed, switched: switched != 0, found, expected }
    }

    /// What is wrong, if anything.
    pub(crate) fn defect(self, place: usize) -> Option<String> {
        let Self { found, expected, .. } = self;
        (found != expected).then(|| format!("process {place} counted {found} instead of {expected}"))
    }
}

/// This process as a member of a team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) slot: i32,
    /// The process's place among the members.
    pub(crate) place: u32,
    pub(crate) size: u32,
    /// Ticks of the first member's clock per tick of this process's clock.
    pub(crate) tick: f64,
}

impl Member {
    /// Runs a batch and returns the words of its records. All members do the same. A process that was moved to other
    /// CPUs since the last batch first returns to its own; if it is moved during the batch, its loops count as
    /// interrupted.
    pub(crate) fn run(
        self,
        shim: &ShimLibrary,
        clock: &Clock,
        cpus: Option<&CpuSet>,
        call: Call,
        loops: &[Loop],
    ) -> Result<Vec<i64>, String> {
        cpus.map_or(Ok(()), CpuSet::restore).map_err(|error| format!("process {}: {error}", self.place))?;
        let loops = loops.iter().map(|one| self.run_loop(shim, clock, call, *one));
        let records = loops.collect::<Result<Vec<_>, _>>()?;
        let was_moved = cpus.is_some_and(|cpus| !cpus.is_of_this_thread());
        let words = |record: Record| Record { switched: record.switched || was_moved, ..record }.to_words();
        Ok(records.into_iter().flat_map(words).collect())
    }

    fn run_loop(self, shim: &ShimLibrary, clock: &Clock, call: Call, one: Loop) -> Result<Record, String> {
        let earlier = self.counter(shim, call)?;
        let mut counts = Counts { value: self.first_value(call), ..Counts::default() };
        let interruptions = scheduling::involuntary_switches();
        shim.meet(self.slot)?;
        let begin = clock.start();
        let code = shim.run(self.slot, call, one, &mut counts);
        let end = clock.stop();
        let switched = scheduling::involuntary_switches() != interruptions;
        shim.meet(self.slot)?;
        shim.judged(code)?;
        let grown = self.counter(shim, call)? - earlier;
        let elapsed = (end.saturating_sub(begin) as f64 * self.tick).round() as i64;
        let expected = self.expected(call, one.executions());
        Ok(Record { elapsed, switched, found: self.found(call, counts, grown), expected })
    }

    /// The counter to which the others add; 0 on a process that does not have it.
    fn counter(self, shim: &ShimLibrary, call: Call) -> Result<i64, String> {
        if call == Call::FetchOp && self.place == 0 { shim.counter(self.slot) } else { Ok(0) }
    }

    /// The process's first value. Each process has another one, so that a sum adds up different values.
    fn first_value(self, call: Call) -> i64 {
        match call {
            Call::Allreduce => i64::from(self.place),
            Call::Barrier | Call::PingPong | Call::FetchOp => 0,
        }
    }

    /// What the process counts if `executions` executions of the primitive did their work.
    fn expected(self, call: Call, executions: i64) -> i64 {
        let size = i64::from(self.size);
        match call {
            Call::Barrier => executions,
            // The sum over the executions k = 1, 2... of the sum over all places of `place + k`.
            Call::Allreduce => size * (executions * (executions + 1) / 2) + executions * (size * (size - 1) / 2),
            Call::PingPong => 2 * executions,
            Call::FetchOp => executions * if self.place == 0 { size - 1 } else { 1 },
        }
    }

    /// What the process counted; its counter grew by `grown`.
    const fn found(self, call: Call, counts: Counts, grown: i64) -> i64 {
        match call {
            Call::Barrier | Call::PingPong => counts.value,
            Call::Allreduce => counts.sum,
            Call::FetchOp if self.place == 0 => grown,
            Call::FetchOp => counts.sum - counts.disorder,
        }
    }
}

/// The defect that a process saw at the counter after a phase of a barrier: not all had arrived, or one was a phase
/// ahead.
pub(crate) fn phase_defect(seen: &[i64], size: u32) -> Option<String> {
    let size = i64::from(size);
    (1..).zip(seen).find_map(|(phase, seen)| {
        // The processes that have left this phase may have arrived at the next one.
        let is_right = (size * phase..=size * (phase + 1)).contains(seen);
        (!is_right).then(|| format!("a process left phase {phase} of {size} processes after {seen} arrivals"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn member(place: u32, size: u32) -> Member {
        Member { slot: 0, place, size, tick: 1.0 }
    }

    #[test]
    fn sums_are_expected_as_the_processes_make_them() {
        // Three executions of three processes: (0+1+2)+3, (0+1+2)+6, (0+1+2)+9.
        assert_eq!(member(1, 3).expected(Call::Allreduce, 3), 6 + 9 + 12);
        assert_eq!(member(0, 2).expected(Call::PingPong, 5), 10);
        assert_eq!((member(0, 4).expected(Call::FetchOp, 5), member(3, 4).expected(Call::FetchOp, 5)), (15, 5));
    }

    #[test]
    fn a_lost_or_reordered_addition_is_a_defect() {
        let record = |counts| {
            let (found, expected) = (member(1, 3).found(Call::FetchOp, counts, 0), 5);
            Record { elapsed: 1, switched: false, found, expected }
        };
        assert_eq!(record(Counts { sum: 5, ..Counts::default() }).defect(1), None);
        let reordered = record(Counts { sum: 5, disorder: 1, ..Counts::default() });
        assert_eq!(reordered.defect(1).as_deref(), Some("process 1 counted 4 instead of 5"));
        let at_target =
            Record { found: member(0, 3).found(Call::FetchOp, Counts::default(), 9), ..record(Counts::default()) };
        assert_eq!(at_target.found, 9);
    }

    #[test]
    fn a_barrier_that_lets_processes_through_early_is_found() {
        assert_eq!(phase_defect(&[4, 9, 12], 4), None, "one process is in the next phase");
        assert!(phase_defect(&[4, 7], 4).unwrap().contains("phase 2"), "7 of 8 had arrived");
        assert!(phase_defect(&[9], 4).is_some(), "two phases ahead");
    }

    #[test]
    fn records_survive_the_way_into_words_and_back() {
        let record = Record { elapsed: 123, switched: true, found: -4, expected: 5 };
        assert_eq!(Record::from_words(&record.to_words()), record);
    }
}

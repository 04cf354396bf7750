//! What a run was measured with and what happened meanwhile, as stored in `run.json`.

use std::collections::BTreeMap;
use std::fmt;

use crate::Detail;
use crate::records::records;
use crate::words::words;

words! {
    /// The causes that disturb a run.
    #[derive(Default)]
    pub enum Disturber ("disturbance") {
        /// The hypervisor took time.
        #[default]
        Stolen = "stolen",
        /// Other programs used the CPUs.
        Others = "others",
        /// The quota of a control group kept the run from the CPUs.
        Throttled = "throttled",
        /// Another hardware thread of the core was active around samples of one thread.
        SmtInterference = "smt_interference",
    }
}

records! {
    /// A disturbance of a run and its extent: the least and the largest, where several processes or runs were disturbed.
    pub struct Disturbed {
        /// What disturbed it.
        pub by: Disturber,
        /// The share of the CPU time or of the pairs.
        pub share: [f64; 2],
        /// Seconds of CPU time.
        pub seconds?: Option<[f64; 2]>,
    }

    /// The build of syncscope that began a run.
    pub struct Tool {
        /// The git commit it was built from; `None` for a build without git, such as one of a source archive.
        pub commit?: Option<String>,
        /// Whether tracked files differed from that commit.
        pub modified?: Option<bool>,
        /// A hash of the program's file. It identifies the program, it does not authenticate it.
        pub binary?: Option<String>,
    }

    /// A process that measured a part of a run: it began or resumed the run.
    pub struct SessionRecord {
        /// When measuring began, RFC 3339, UTC.
        pub started: String,
        /// When measuring ended.
        pub ended: String,
        /// The time between, by a clock that is never set.
        pub seconds: f64,
        /// Load average over the last minute, before this process added to it.
        pub load_start?: Option<f64>,
        /// Load average over the last minute at the end, which includes this process.
        pub load_end?: Option<f64>,
        /// Time that the hypervisor took; `None` where the system does not report it.
        pub stolen?: Option<StolenTime>,
        /// Seconds of CPU time for which quotas of its control groups kept the process from the CPUs; `None` where no group counts them.
        pub throttled_seconds?: Option<f64>,
        /// The share of the allowed CPUs' time that other programs had; `None` where the system does not report it.
        pub others_share?: Option<f64>,
        /// The most memory that the process had at a time; `None` where the system does not report it.
        pub peak_memory_bytes?: Option<u64>,
        /// The first and the last pass of each fresh process that it let measure cases of the CPUs, in `block` of `samples.csv`. The
        /// other passes are its own.
        pub processes?: Vec<[u32; 2]>,
    }

    /// Time in which a virtual CPU was ready to run and the hypervisor ran something else (steal time).
    pub struct StolenTime {
        /// The sum over the allowed CPUs.
        pub seconds: f64,
        /// `seconds` as a fraction of the time of the allowed CPUs.
        pub share: f64,
        /// Seconds by CPU; those that lost nothing are left out.
        pub seconds_by_cpu: BTreeMap<u32, f64>,
    }
}

impl SessionRecord {
    /// The largest share of this many CPUs' time that other programs may have without a reason to distrust the figures: 2 %,
    /// or half a CPU where that is less. What a machine does while nobody works on it took 0.02 to 0.1 of a CPU, with 2, 16
    /// and 64 CPUs.
    pub fn largest_share_of_others(cpus: usize) -> f64 {
        (0.5 / cpus as f64).min(0.02)
    }

    /// The disturbances of the session on a machine with this many CPUs.
    pub fn disturbed(&self, cpus: usize) -> impl Iterator<Item = Disturbed> {
        let most = Self::largest_share_of_others(cpus);
        let others = self.others_share.filter(|share| *share > most);
        let others = others.map(|share| Disturbed::of(Disturber::Others, share));
        let throttled = self.throttled_share(cpus).filter(|share| *share > StolenTime::LARGEST_SHARE).map(|share| {
            let seconds = self.throttled_seconds.map(|seconds| [seconds; 2]);
            Disturbed { seconds, ..Disturbed::of(Disturber::Throttled, share) }
        });
        let stolen = self.stolen.as_ref().filter(|stolen| stolen.share > StolenTime::LARGEST_SHARE).map(|stolen| {
            let seconds = Some([stolen.seconds; 2]);
            Disturbed { seconds, ..Disturbed::of(Disturber::Stolen, stolen.share) }
        });
        stolen.into_iter().chain(throttled).chain(others)
    }

    /// The share of so many CPUs' time for which quotas kept the process from them; `None` where no group counts it. A group may have
    /// other processes, on other CPUs.
    pub fn throttled_share(&self, cpus: usize) -> Option<f64> {
        let share = self.throttled_seconds? / (self.seconds * cpus as f64);
        share.is_finite().then_some(share.min(1.0))
    }
}

impl Disturbed {
    /// A disturbance of one process or run.
    pub fn of(by: Disturber, share: f64) -> Self {
        Self { by, share: [share; 2], seconds: None }
    }

    /// Merges disturbances: each disturber once, with the least and the largest figures.
    pub fn merged(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let wider = |[low, high]: [f64; 2], [least, most]: [f64; 2]| [low.min(least), high.max(most)];
        let mut merged: Vec<Self> = Vec::new();
        for one in all {
            match merged.iter_mut().find(|known| known.by == one.by) {
                Some(known) => {
                    known.share = wider(known.share, one.share);
                    known.seconds = known.seconds.zip(one.seconds).map(|(known, more)| wider(known, more));
                }
                None => merged.push(one),
            }
        }
        merged
    }
}

/// The warning about a disturbance.
impl fmt::Display for Disturbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |ends: [f64; 2], digits: usize| match ends.map(|end| format!("{end:.digits$}")) {
            [low, high] if low == high => low,
            [low, high] => format!("{low} to {high}"),
        };
        let percent = self.share.map(|share| 100.0 * share);
        match self.by {
            Disturber::Stolen => write!(
                f,
                "the hypervisor took {} % of the run's CPU time (steal time {} s): other guests were active; measure on \
                 the host or on a dedicated instance, or at another time",
                ends(percent, 1),
                ends(self.seconds.unwrap_or_default(), 1)
            ),
            Disturber::Throttled => write!(
                f,
                "a CPU quota kept this process's control group from the CPUs for {} % of the run's CPU time ({} s): raise \
                 cpu.max of the group, or of one above it",
                ends(percent, 1),
                ends(self.seconds.unwrap_or_default(), 1)
            ),
            Disturber::Others => write!(
                f,
                "other programs used {} % of the CPU time during the run: measure again when they have ended",
                ends(percent, 1)
            ),
            Disturber::SmtInterference => write!(
                f,
                "another hardware thread of the core was active during {} % of the single-thread pairs; such pairs are \
                 excluded where others remain, but multi-thread figures include them and may be lower on a dedicated \
                 machine ({} in details.csv has the shares)",
                ends(percent, 0),
                Detail::SMT_INTERFERENCE
            ),
        }
    }
}

impl StolenTime {
    /// A larger share is a reason to distrust the figures.
    pub const LARGEST_SHARE: f64 = 0.01;

    /// The stolen time over `elapsed_seconds`, given the seconds stolen from each of the allowed CPUs.
    pub fn of(stolen_seconds: &BTreeMap<u32, f64>, elapsed_seconds: f64) -> Self {
        let seconds: f64 = stolen_seconds.values().sum();
        let available = elapsed_seconds * stolen_seconds.len() as f64;
        let share = if available > 0.0 { seconds / available } else { 0.0 };
        let lost_some = stolen_seconds.iter().filter(|(_, seconds)| **seconds > 0.0);
        Self { seconds, share, seconds_by_cpu: lost_some.map(|(cpu, seconds)| (*cpu, *seconds)).collect() }
    }
}

/// `commit 0123456789ab, modified, binary 0123456789abcdef`.
impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.as_deref().map(|commit| format!("commit {}", commit.get(..12).unwrap_or(commit)));
        let modified = self.modified.filter(|modified| *modified).map(|_| "modified".to_owned());
        let binary = self.binary.as_ref().map(|binary| format!("binary {binary}"));
        let words: Vec<String> = [commit, modified, binary].into_iter().flatten().collect();
        if words.is_empty() { f.write_str("unknown") } else { f.write_str(&words.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_allowed_cpus() {
        let stolen = StolenTime::of(&BTreeMap::from([(0, 0.3), (1, 0.0), (2, 0.1), (3, 0.0)]), 10.0);
        assert!((stolen.seconds - 0.4).abs() < 1e-12 && (stolen.share - 0.01).abs() < 1e-12, "{stolen:?}");
        assert_eq!(stolen.seconds_by_cpu, BTreeMap::from([(0, 0.3), (2, 0.1)]));
        assert!(StolenTime::of(&BTreeMap::from([(0, 1.0)]), 0.0).share.abs() < 1e-12, "no time, no share");
    }

    #[test]
    fn more_than_a_hundredth_is_a_warning() {
        let disturbed = |share| {
            let stolen = Some(StolenTime { share, seconds: 3.0, ..StolenTime::default() });
            SessionRecord { stolen, ..SessionRecord::default() }.disturbed(4).next()
        };
        assert_eq!(disturbed(0.01), None);
        let text = disturbed(0.0234).unwrap().to_string();
        assert!(text.contains("2.3 %") && text.contains("3.0 s"), "{text}");
    }

    #[test]
    fn a_quota_is_named_by_the_time_that_it_took() {
        let of = |throttled_seconds, seconds| SessionRecord { seconds, throttled_seconds, ..SessionRecord::default() };
        let disturbed = |record: &SessionRecord| record.disturbed(2).next().map(|found| found.to_string());
        assert_eq!(disturbed(&of(None, 10.0)), None, "not counted");
        assert_eq!(disturbed(&of(Some(0.2), 10.0)), None, "one hundredth of the time of 2 CPUs");
        assert_eq!(of(Some(1.0), 0.0).throttled_share(2), None, "no time, no share");
        assert_eq!(of(Some(90.0), 10.0).throttled_share(2), Some(1.0), "a group has processes on other CPUs, too");
        let text = disturbed(&of(Some(5.0), 10.0)).unwrap();
        assert!(text.contains("25.0 %") && text.contains("(5.0 s)") && text.contains("cpu.max"), "{text}");
    }

    #[test]
    fn other_programs_are_named_by_what_they_used() {
        let disturbed =
            |share| SessionRecord { others_share: Some(share), ..SessionRecord::default() }.disturbed(4).next();
        assert!(disturbed(0.02).is_none() && SessionRecord::default().disturbed(4).next().is_none());
        assert!(disturbed(0.314).unwrap().to_string().contains("31.4 %"));
    }

    #[test]
    fn what_disturbs_several_runs_is_said_once_with_the_least_and_the_largest() {
        let stolen =
            |share, seconds| Disturbed { seconds: Some([seconds; 2]), ..Disturbed::of(Disturber::Stolen, share) };
        let others = |share| Disturbed::of(Disturber::Others, share);
        let all = [stolen(0.84, 7.0), others(0.05), stolen(0.095, 7.0), others(0.05), stolen(0.81, 12.0)];
        let texts: Vec<String> = Disturbed::merged(all).iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("took 9.5 to 84.0 % of") && texts[0].contains("time 7.0 to 12.0 s)"), "{texts:?}");
        assert!(texts[1].contains("used 5.0 % of") && texts.len() == 2, "{texts:?}");
        assert!(Disturbed::of(Disturber::SmtInterference, 0.4).to_string().contains(" 40 % "));
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        assert_eq!(serde_json::to_string(&Tool::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Tool>("{}").unwrap(), Tool::default());
        let record = SessionRecord {
            stolen: Some(StolenTime::of(&BTreeMap::from([(7, 1.5)]), 100.0)),
            ..SessionRecord::default()
        };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains(r#""seconds_by_cpu":{"7":1.5}"#) && !text.contains("load"), "{text}");
        assert_eq!(serde_json::from_str::<SessionRecord>(&text).unwrap(), record);
    }
}

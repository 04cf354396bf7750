//! Decides what the supervisor does when a worker has ended: a pure function of how and where it ended.

use syncscope_core::Verdict;
use syncscope_core::session::GivenUp;
use syncscope_host::end::{End, Outside, WITHOUT_A_WORD};

use super::board::{Instructions, Step};
use crate::failure;

/// Exit code of a worker whose laboratory is lost: another process has to measure the rest.
const LABORATORY_LOST: i32 = failure::LABORATORY_LOST as i32;

/// A worker that did its work, or said why it could not, ends with its exit code plus this number.
pub(super) const SAID: i32 = 200;
const MOST_SAID: i32 = SAID + 10;

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) end: End,
    /// The exit code that the worker announced before it ended.
    pub(super) announced: Option<i32>,
}

impl Left {
    /// The exit code of a worker that ended by itself while it did `step`. Measured code may end it with any code but announces
    /// none. Steps that run no code need no announcement, which a worker that may write no file cannot make.
    pub(super) fn said(self, step: &Step) -> Option<i32> {
        let runs_code = matches!(step, Step::Measuring { .. } | Step::Experiment(_) | Step::Other);
        match self.end {
            End::Code(code @ SAID..MOST_SAID) if self.announced == Some(code) || !runs_code => Some(code - SAID),
            _ => None,
        }
    }
}

/// Exit code of a Rust program that panicked.
const PANICKED: i32 = 101;

/// The most workers after the first one.
pub(super) const MOST_RESTARTS: usize = 10;

/// What the supervisor does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// The worker did its work, or said why it could not.
    Done(i32),
    /// Another worker takes over; the text is for the user.
    Restart(String),
    /// No worker can do the work, for this reason.
    Impossible(String),
}

/// What is known after the workers so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The instructions for all further workers.
    pub(super) instructions: Instructions,
    /// The last words of measured code in the last worker.
    pub(super) last_words: Option<String>,
    restarts: usize,
    /// The step of the last worker that ended without a fault of its own.
    excused_at: Option<Step>,
}

impl History {
    /// Decides what to do after a worker that ended in this way while it did `step`.
    pub(super) fn decide(&mut self, step: &Step, left: Left) -> Decision {
        if let Some(code) = left.said(step) {
            return Decision::Done(code);
        }
        let end = left.end;
        let last_words = self.last_words.take().map(|words| format!(" (its last words: {words})")).unwrap_or_default();
        let what_of = |process: &str| {
            let what = match end {
                End::Code(LABORATORY_LOST) => "its threads, or its device, did not come back".to_owned(),
                End::Code(PANICKED) => format!("{process} panicked"),
                End::Code(SAID..MOST_SAID) => format!("{process} {WITHOUT_A_WORD}"),
                End::Hung(limit) => format!("it did not end within {}", humantime::format_duration(limit)),
                end => format!("{process} {end}"),
            };
            what + &last_words
        };
        let [what, at_start] = ["the process that measured it", "the process"].map(what_of);
        if matches!(end, End::Outside(Outside::CpuTimeLimit(_))) {
            // Another worker would end there too.
            return Decision::Impossible(format!("{}: {at_start}; raise it", doing(step)));
        }
        if self.excuses(step, end) {
            return match end {
                End::Outside(_) => self.restart(format!("{}: {at_start}; another process goes on", doing(step))),
                _ => self.restart("another process measures the rest".to_owned()),
            };
        }
        let message = match step {
            Step::Measuring { id, name } => {
                let verdict = match end {
                    End::Hung(_) | End::Outside(Outside::Stopped(_)) => Verdict::TimedOut(what.clone()),
                    _ => Verdict::Failed(what.clone()),
                };
                let is_own_fault = !end.is_excused();
                self.instructions.give_up.insert(id.clone(), GivenUp { verdict, is_own_fault });
                let again = if matches!(end, End::Outside(_)) { ", for the second time" } else { "" };
                format!("{name}: {what}{again}; another process measures the rest")
            }
            Step::OpeningGpu | Step::Preparing if self.instructions.without_gpu.is_none() => {
                let doing = if *step == Step::Preparing { "compiling kernels" } else { "opening the GPUs" };
                let reason = format!("{doing}: {at_start}");
                self.instructions.without_gpu = Some(reason.clone());
                format!("{reason}; continuing without the GPUs")
            }
            Step::Experiment(name) => {
                self.instructions.without_experiments.insert(name.clone(), what.clone());
                format!("`syncscope paper {name}`: {what}; another process measures the rest")
            }
            Step::OpeningCpu => {
                let remedy = "if hwloc cannot read this system, HWLOC_COMPONENTS=-linux does without /sys";
                return Decision::Impossible(format!("{}: {at_start}; {remedy}", doing(step)));
            }
            _ => return Decision::Impossible(format!("{}: {at_start}", doing(step))),
        };
        self.restart(message)
    }

    fn restart(&mut self, message: String) -> Decision {
        self.restarts += 1;
        if self.restarts > MOST_RESTARTS {
            return Decision::Impossible(format!("{message}, but {MOST_RESTARTS} processes have been ended already"));
        }
        self.instructions.is_again = true;
        self.instructions.is_last = self.restarts == MOST_RESTARTS;
        Decision::Restart(message)
    }

    /// Whether a step is not to blame for the worker's end, so that the next worker repeats it. A lost laboratory was broken by
    /// an earlier case, which has its verdict; a cause from outside may have met anything. A second such end at the same place
    /// is not chance.
    fn excuses(&mut self, step: &Step, end: End) -> bool {
        let can_be_repeated = *step != Step::Other;
        let is_excused = match end {
            End::Code(LABORATORY_LOST) => matches!(step, Step::Measuring { .. }),
            End::Outside(_) => can_be_repeated,
            _ => false,
        };
        is_excused && self.excused_at.replace(step.clone()).as_ref() != Some(step)
    }
}

/// The step of a worker, in words.
pub(super) fn doing(step: &Step) -> &str {
    match step {
        Step::Starting => "starting",
        Step::OpeningCpu => "inspecting the CPUs",
        Step::OpeningGpu => "opening the GPUs",
        Step::Preparing => "preparing",
        Step::Measuring { name, .. } | Step::Experiment(name) => name,
        Step::Other => "measuring",
        Step::Ending => "writing the results",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use syncscope_core::CaseId;

    use super::*;

    fn measuring(id: &str) -> Step {
        Step::Measuring { id: CaseId(id.into()), name: format!("case {id}") }
    }

    /// A worker that ended without an announcement.
    fn of(end: End) -> Left {
        Left { end, announced: None }
    }

    const LIMIT: Duration = Duration::from_secs(120);
    const SEGMENTATION_FAULT: End = End::Signal(11);

    #[test]
    fn a_worker_that_ends_by_itself_has_the_last_word() {
        for code in [0, 1, 2, 3] {
            let announced = Left { end: End::Code(SAID + code), announced: Some(SAID + code) };
            assert_eq!(History::default().decide(&measuring("a"), announced), Decision::Done(code));
            // A worker that may write no file can announce nothing.
            let silent = Left { announced: None, ..announced };
            assert_eq!(History::default().decide(&Step::Starting, silent), Decision::Done(code));
            // A library, or measured code, may end the process with any code.
            let others = [silent, Left { announced: Some(SAID + code + 1), ..announced }, of(End::Code(code))];
            for left in others {
                let decision = History::default().decide(&measuring("a"), left);
                let word = if left.end == End::Code(code) { "exit code" } else { "closes file descriptors" };
                assert!(matches!(decision, Decision::Restart(text) if text.contains(word)), "{left:?}");
            }
        }
    }

    #[test]
    fn the_case_that_ends_a_worker_gets_the_verdict() {
        let mut history = History::default();
        let ends = [(SEGMENTATION_FAULT, "SIGSEGV"), (End::Code(101), "panicked"), (End::Hung(LIMIT), "within 2m")];
        for (end, word) in ends {
            let decision = history.decide(&measuring(word), of(end));
            assert!(matches!(decision, Decision::Restart(text) if text.contains(word) && text.contains("the rest")));
        }
        let verdicts = ends.map(|(_, word)| history.instructions.give_up[&CaseId(word.into())].verdict.name());
        assert_eq!(verdicts, ["Failed", "Failed", "TimedOut"]);
    }

    #[test]
    fn a_lost_laboratory_is_the_fault_of_a_case_only_the_second_time() {
        let mut history = History::default();
        let lost = End::Code(LABORATORY_LOST);
        for case in ["a", "b"] {
            assert!(matches!(history.decide(&measuring(case), of(lost)), Decision::Restart(_)));
            let again = Instructions { is_again: true, ..Instructions::default() };
            assert_eq!(history.instructions, again, "an earlier case has broken it");
        }
        history.decide(&measuring("b"), of(lost));
        assert_eq!(history.instructions.give_up.into_keys().collect::<Vec<_>>(), [CaseId("b".into())]);
    }

    #[test]
    fn what_comes_from_outside_is_repeated_and_no_verdict_for_ever() {
        let killed = End::Outside(Outside::Signal(9));
        for step in [Step::Starting, Step::OpeningGpu, Step::Preparing, measuring("a"), Step::Ending] {
            let mut history = History::default();
            let decision = history.decide(&step, of(killed));
            assert!(
                matches!(&decision, Decision::Restart(text) if text.contains("from outside (SIGKILL)")),
                "{decision:?}"
            );
            let again = Instructions { is_again: true, ..Instructions::default() };
            assert_eq!(history.instructions, again, "{step:?}");
        }
        let mut history = History::default();
        for case in ["a", "b", "a", "a"] {
            assert!(matches!(history.decide(&measuring(case), of(killed)), Decision::Restart(_)));
        }
        let given_up = &history.instructions.give_up;
        assert!(given_up.len() == 1 && !given_up[&CaseId("a".into())].is_own_fault, "{given_up:?}");
        // Code that crashes where memory is limited ends no run early.
        let at_limit = End::Outside(Outside::MemoryLimit(11, 1 << 30));
        let message = [0, 1].map(|_| history.decide(&measuring("c"), of(at_limit)));
        assert!(
            matches!(&message[1], Decision::Restart(text) if text.contains("ulimit -v") && text.contains("second time"))
        );
        assert!(history.instructions.give_up[&CaseId("c".into())].is_own_fault);
        // Nothing is known of what was shown or written, so the step cannot be repeated.
        assert!(matches!(History::default().decide(&Step::Other, of(killed)), Decision::Impossible(_)));
        let limit = End::Outside(Outside::CpuTimeLimit(Duration::from_secs(1)));
        let decision = History::default().decide(&measuring("a"), of(limit));
        assert!(
            matches!(decision, Decision::Impossible(text) if text.contains("ulimit -t") && text.contains("raise it"))
        );
    }

    #[test]
    fn gpus_that_cannot_be_opened_are_left_out_once() {
        for step in [Step::OpeningGpu, Step::Preparing] {
            let mut history = History::default();
            assert!(matches!(history.decide(&step, of(End::Hung(LIMIT))), Decision::Restart(_)));
            assert!(history.instructions.without_gpu.is_some());
            assert!(matches!(history.decide(&step, of(End::Hung(LIMIT))), Decision::Impossible(_)));
        }
    }

    #[test]
    fn an_experiment_that_ends_a_worker_is_left_out() {
        let mut history = History::default();
        let decision = history.decide(&Step::Experiment("timeline".into()), of(SEGMENTATION_FAULT));
        assert!(matches!(decision, Decision::Restart(text) if text.contains("timeline") && text.contains("SIGSEGV")));
        assert!(history.instructions.without_experiments.contains_key("timeline"));
    }

    #[test]
    fn nothing_is_tried_for_ever() {
        for step in [Step::Starting, Step::OpeningCpu, Step::Ending, Step::Other] {
            let decision = History::default().decide(&step, of(SEGMENTATION_FAULT));
            assert!(matches!(&decision, Decision::Impossible(text) if text.contains("SIGSEGV")), "{decision:?}");
        }
        let mut history = History::default();
        for number in 1..=MOST_RESTARTS {
            assert!(!history.instructions.is_last);
            assert!(matches!(
                history.decide(&measuring(&number.to_string()), of(SEGMENTATION_FAULT)),
                Decision::Restart(_)
            ));
        }
        assert!(history.instructions.is_last);
        assert!(matches!(history.decide(&measuring("z"), of(SEGMENTATION_FAULT)), Decision::Impossible(_)));
    }
}

//! Which primitive to take for a stated need, by the rows of one run.
//!
//! - `contest`: candidates, and which of them is certainly the cheapest
//! - `cautions`: what to know before taking the winner: fairness, and waiters that need CPUs for themselves
//! - `counters`, `locks`, `barriers`, `handoffs`, `kernels`, `reductions`: a file for each need
//!
//! Nothing is advised that the rows do not make certain. Rows of one instrument are compared by their intervals within the
//! run: the state of the machine concerns them alike. The winner's interval must touch none of the others', of which there
//! are at most about ten: for two rows that is a test at half a percent, and so a test at five percent among ten. Rows of
//! two instruments are compared by the intervals for another run.

mod barriers;
mod cautions;
mod contest;
mod counters;
mod handoffs;
mod kernels;
mod locks;
mod reductions;
#[cfg(test)]
mod tests;

use syncscope_core::stats::Interval;
use syncscope_core::{Domain, Primitive};

use crate::{RunData, figure};

/// What a program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Count events of several threads.
    CountEvents,
    /// Protect data that one thread at a time may use.
    Protect,
    /// Divide the work of several threads into phases.
    Phases,
    /// Hand over work from one thread to another.
    HandOver,
    /// Reduce many values to one.
    Reduce,
    /// End a phase of all threads of a GPU.
    EndGpuPhase,
}

impl Need {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::CountEvents, Self::Protect, Self::Phases, Self::HandOver, Self::Reduce, Self::EndGpuPhase];

    /// Its word on the command line and in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CountEvents => "count-events",
            Self::Protect => "protect",
            Self::Phases => "phases",
            Self::HandOver => "hand-over",
            Self::Reduce => "reduce",
            Self::EndGpuPhase => "end-gpu-phase",
        }
    }
}

/// The options of `run` that select the primitives from which the answer to a need is chosen.
const fn candidates(need: Need, on: Domain) -> &'static str {
    match (need, on) {
        (Need::CountEvents, Domain::Gpu) => "--only 'gpu.atomic.add'",
        (Need::CountEvents, _) => "--only 'cpu.atomic.add'",
        (Need::Protect, Domain::Gpu) => "--only 'gpu.lock.*'",
        (Need::Protect, _) => "--only 'cpu.lock.*'",
        (Need::Phases, Domain::Gpu) => "--only 'gpu.block.*' --only 'gpu.grid.*'",
        (Need::Phases, _) => "--only 'cpu.barrier.*'",
        (Need::HandOver, _) => "--only 'cpu.handoff.*'",
        (Need::Reduce, Domain::Gpu) => "--only 'gpu.reduction.*'",
        (Need::Reduce, _) => "--only 'cpu.reduction.*'",
        (Need::EndGpuPhase, _) => "--only 'gpu.grid.*' --only 'gpu.launch.*'",
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Question {
    /// Threads of the team on the CPU, of a block on the GPU; `None`: as many as the run has rows for, on the CPU at most
    /// one for each hardware thread.
    pub threads: Option<u32>,
    /// The side; `None`: every side that the run measured.
    pub on: Option<Domain>,
}

/// The answer to a need in one situation.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The need.
    pub need: Need,
    /// The side of the machine.
    pub on: Domain,
    /// Sizes and what else distinguishes it from other situations: `16 threads`.
    pub situation: String,
    /// The answer.
    pub decision: Decision,
}

/// What the rows say.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// One candidate is certainly the cheapest.
    Take(Box<Choice>),
    /// The rows do not decide.
    Undecided(String),
    /// The run lacks the rows.
    Missing(String),
}

/// A figure with its interval, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostFigure {
    /// The cost.
    pub ns: f64,
    /// The 95 % interval to quote, which holds for another run.
    pub interval: Interval,
    /// Whether its row is noisy.
    pub is_rough: bool,
}

impl CostFigure {
    /// `1.20 µs`, `~1.20 µs` where its row is noisy.
    pub(crate) fn figure(self) -> String {
        let doubt = if self.is_rough { figure::ROUGHLY } else { "" };
        format!("{doubt}{}", figure::time(self.ns))
    }
}

/// The one to take.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// In words: `std_mutex`, `padded counters`.
    pub name: String,
    /// Id of the primitive or of the variant of a reduction.
    pub id: String,
    /// What one operation is, that the cost is of.
    pub operation: String,
    /// Where it comes from; empty for an id that the catalogue does not have.
    pub source: String,
    /// The case, in one line.
    pub case: String,
    /// Its cost.
    pub cost: CostFigure,
    /// The second, which is certainly more expensive.
    pub next: RunnerUp,
    /// What makes it unfit for some programs.
    pub warnings: Vec<String>,
    /// What else the rows say.
    pub notes: Vec<String>,
}

/// The second.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerUp {
    /// In words.
    pub name: String,
    /// Id of the primitive or variant.
    pub id: String,
    /// Its cost.
    pub cost: CostFigure,
    /// Its cost over that of the winner.
    pub ratio: f64,
    /// The interval of the ratio, of at least 95 %; `None`: no bound on that side.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
}

/// A run, what it is asked, and the catalogue that knows operations and sources.
#[derive(Clone, Copy)]
struct Inquiry<'a> {
    data: &'a RunData,
    catalogue: &'a [Primitive],
    question: Question,
}

impl Inquiry<'_> {
    /// Whether the answer is to be about this side.
    fn wants(&self, side: Domain) -> bool {
        self.question.on.is_none_or(|on| on == side)
    }

    fn primitive(&self, id: &str) -> Option<&Primitive> {
        self.catalogue.iter().find(|primitive| primitive.id == id)
    }
}

/// The answers to a need, one for each side and situation that the run has rows for. With a size or a side for which it has
/// none, one answer says what is missing.
#[must_use]
pub fn advise(data: &RunData, catalogue: &[Primitive], need: Need, question: Question) -> Vec<Advice> {
    let inquiry = Inquiry { data, catalogue, question };
    let answers = match need {
        Need::CountEvents => counters::count_events(inquiry),
        Need::Protect => locks::protect(inquiry),
        Need::Phases => barriers::phases(inquiry),
        Need::HandOver => handoffs::hand_over(inquiry),
        Need::Reduce => reductions::reduce(inquiry),
        Need::EndGpuPhase => kernels::end_gpu_phase(inquiry),
    };
    if !answers.is_empty() {
        return answers;
    }
    let on = question.on.unwrap_or(if need == Need::EndGpuPhase { Domain::Gpu } else { Domain::Cpu });
    let has_gpu = !data.run.machine.gpus.is_empty();
    let reason = match need {
        _ if on == Domain::Gpu && !has_gpu => "the run found no GPU on its machine".to_owned(),
        Need::HandOver if on == Domain::Gpu => "the catalogue has no hand-over between threads of a GPU".to_owned(),
        Need::EndGpuPhase if question.on == Some(Domain::Cpu) => "a CPU has no grid and launches no kernels".to_owned(),
        _ => format!(
            "the run has no rows of two candidates on the {}; `syncscope run {}` measures them",
            side_name(on),
            candidates(need, on)
        ),
    };
    vec![Advice { need, on, situation: String::new(), decision: Decision::Missing(reason) }]
}

/// The ids that only advice names.
pub(crate) fn named_primitives() -> impl Iterator<Item = &'static str> {
    let lists = [locks::GPU_LOCKS, barriers::BLOCK_BARRIERS, handoffs::SLEEPING];
    let kernels = kernels::KERNELS.into_iter().map(|(id, _)| id);
    let additions = counters::ADDITIONS.into_iter().map(|(_, id)| id);
    lists.into_iter().flatten().copied().chain(kernels).chain(additions)
}

/// `CPU`, `GPU`.
#[must_use]
pub(crate) const fn side_name(side: Domain) -> &'static str {
    match side {
        Domain::Cpu => "CPU",
        Domain::Gpu => "GPU",
        Domain::Hybrid => "CPU and GPU",
        Domain::Mpi => "processes",
    }
}

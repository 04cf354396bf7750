//! The arguments of `advise`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser;

use syncscope_core::Domain;
use syncscope_report::Need;

use super::{DocumentFormat, one_of};

#[derive(Debug, Args)]
pub(crate) struct AdviseArguments {
    /// Directory of the run [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// What the program needs [default: one line for each need]
    #[arg(long, value_parser = needs())]
    pub(crate) need: Option<Need>,
    /// Threads of the team on the CPU, or of a block on the GPU [default: the largest team in the run that fits the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Restrict to the CPU or the GPU [default: both, as far as measured]
    #[arg(long, value_parser = sides())]
    pub(crate) on: Option<Domain>,
    /// How long a thread waits, such as 5us; with `--need wait`
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DocumentFormat::Table)]
    pub(crate) format: DocumentFormat,
}

fn needs() -> impl TypedValueParser<Value = Need> {
    one_of(Need::ALL.map(|need| (need, need.as_str(), about(need))))
}

const fn about(need: Need) -> &'static str {
    match need {
        Need::CountEvents => "Count events: one atomic counter, or one for each thread, summed when read",
        Need::Protect => "Protect data that one thread at a time may use: which lock",
        Need::Phases => "Divide work into phases: which barrier",
        Need::HandOver => "Hand over from one thread to another: spin or sleep",
        Need::Wait => "Wait for another thread: spin, and with which hint, or sleep",
        Need::Reduce => "Reduce many values to one; DIR must have rows of `gpu.reduction.*` or `cpu.reduction.*`",
        Need::EndGpuPhase => {
            "End a phase of all GPU threads: a grid barrier, or the next kernel in a graph or a stream"
        }
    }
}

fn sides() -> impl TypedValueParser<Value = Domain> {
    let of = |side: Domain, about| (side, side.as_str(), about);
    one_of([of(Domain::Cpu, "Threads of the operating system"), of(Domain::Gpu, "Threads of a CUDA device")])
}

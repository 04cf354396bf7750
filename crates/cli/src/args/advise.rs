//! The arguments of `advise`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use syncscope_core::Domain;
use syncscope_report::Need;

#[derive(Debug, Args)]
pub(crate) struct AdviseArguments {
    /// Directory of the run
    #[arg(value_name = "DIR")]
    pub(crate) run: PathBuf,
    /// What the program needs [default: one line for each need and side]
    #[arg(long, value_enum)]
    pub(crate) need: Option<NeedWord>,
    /// Threads of the team on the CPU, or of a block on the GPU [default: the largest team in the run that fits the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Side of the machine [default: every side that the run measured]
    #[arg(long, value_enum)]
    pub(crate) on: Option<SideWord>,
    /// Output format
    #[arg(long, value_enum, default_value_t = AdviseFormat::Table)]
    pub(crate) format: AdviseFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NeedWord {
    /// Count events: one atomic counter, or one for each thread, summed when read
    CountEvents,
    /// Protect data that one thread at a time may use: which lock
    Protect,
    /// Divide work into phases: which barrier
    Phases,
    /// Hand over from one thread to another: spin or sleep
    HandOver,
    /// Reduce many values to one; DIR must have rows of `gpu.reduction.*` or `cpu.reduction.*`
    Reduce,
    /// End a phase of all GPU threads: a grid barrier, or the next kernel in a graph or a stream
    EndGpuPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideWord {
    /// Threads of the operating system
    Cpu,
    /// Threads of a CUDA device
    Gpu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdviseFormat {
    /// Human-readable table
    Table,
    /// Machine-readable JSON
    Json,
    /// Markdown
    Markdown,
}

impl From<NeedWord> for Need {
    fn from(word: NeedWord) -> Self {
        match word {
            NeedWord::CountEvents => Self::CountEvents,
            NeedWord::Protect => Self::Protect,
            NeedWord::Phases => Self::Phases,
            NeedWord::HandOver => Self::HandOver,
            NeedWord::Reduce => Self::Reduce,
            NeedWord::EndGpuPhase => Self::EndGpuPhase,
        }
    }
}

impl From<SideWord> for Domain {
    fn from(word: SideWord) -> Self {
        match word {
            SideWord::Cpu => Self::Cpu,
            SideWord::Gpu => Self::Gpu,
        }
    }
}

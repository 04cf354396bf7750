//! A run of all processes that a launcher started: the first one measures, the others take part.

use syncscope_core::Cancel;
use syncscope_cpu::mpi::{Family, MpiLaboratory, MpiProcess, Started};

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::launcher::Process;
use crate::signals::cancel_on_signal;
use crate::terminal;

/// The processes of a common run, for the one that measures.
pub(super) struct Together {
    pub(super) laboratory: MpiLaboratory,
    /// What Ctrl-C and SIGTERM set.
    pub(super) cancel: Cancel,
}

/// Joins the other processes. `None` for a process that only took part, and is done.
pub(super) fn join(arguments: &RunArguments, process: Process) -> Result<Option<Together>, Failure> {
    let refused = [
        (arguments.repeat.is_some(), "--repeat starts processes of its own; start the launcher several times"),
        (arguments.device.is_some(), "--device: primitives between processes (mpi.*) use no GPU; leave it out"),
        (arguments.cpus.is_some(), "--cpus: the launcher places its processes; use its options, such as --bind-to"),
    ];
    if let Some((_, reason)) = refused.iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::Usage((*reason).to_owned()));
    }
    let family = match process.launcher() {
        "Open MPI" => Family::OpenMpi,
        "MPICH" => Family::Mpich,
        _ => Family::Any,
    };
    let cancel = cancel_on_signal();
    let lost = |reason: &str| terminal::error(&format!("{reason}; `syncscope run --resume` measures what is left"));
    let joined = MpiProcess::start(family, process.size(), cancel.clone(), lost).map_err(Failure::CouldNot)?;
    match Started::of(joined) {
        Started::First(laboratory) => Ok(Some(Together { laboratory: *laboratory, cancel })),
        Started::Other(process) => process.follow().map(|()| None).map_err(Failure::CouldNot),
    }
}

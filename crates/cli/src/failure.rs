//! The outcomes and errors of commands, with their exit codes.

use std::fmt::Display;
use std::path::Path;

use syncscope_core::run::directory::RunDirectoryError;
use syncscope_core::session::SessionError;

/// The exit code of [`Outcome::LaboratoryLost`]; only the supervisor sees it.
pub(crate) const LABORATORY_LOST: u8 = 75;

/// The outcome of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The work is complete.
    Done,
    /// The work is complete, but some cases failed or timed out.
    SomeCasesFailed,
    /// The work is complete, and some cases are certainly slower than before.
    SomeCasesSlower,
    /// The work is complete, but the machine was in another state, which may be why cases are slower.
    AnotherState,
    /// The work is complete, and some nodes certainly differ from the others.
    SomeNodesDiffer,
    /// A signal ended the work early.
    Interrupted,
    /// This process can measure nothing any more; another one follows.
    LaboratoryLost,
    /// Another process did the work and ended with this exit code.
    OfWorker(u8),
}

impl Outcome {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Interrupted => 1,
            Self::AnotherState => 4,
            Self::LaboratoryLost => LABORATORY_LOST,
            Self::OfWorker(code) => code,
            Self::SomeCasesFailed | Self::SomeCasesSlower | Self::SomeNodesDiffer => 3,
        }
    }
}

/// Why a command could not do its work: one line that names the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The machine, the operating system or a file prevents it.
    #[error("{0}")]
    CouldNot(String),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// A failure of a file.
    pub(crate) fn in_file<E: Display>(path: &Path) -> impl Fn(E) -> Self {
        move |error| Self::CouldNot(format!("{}: {error}", path.display()))
    }

    /// Refuses with the first of these reasons that holds.
    pub(crate) fn refuse<const N: usize>(reasons: [(bool, &str); N]) -> Result<(), Self> {
        let holds = reasons.into_iter().find(|(holds, _)| *holds);
        holds.map_or(Ok(()), |(_, reason)| Err(Self::Usage(reason.to_owned())))
    }

    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::CouldNot(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}

impl From<RunDirectoryError> for Failure {
    fn from(error: RunDirectoryError) -> Self {
        match error {
            RunDirectoryError::NotEmpty(_) | RunDirectoryError::NoRun(_) => Self::Usage(error.to_string()),
            _ => Self::CouldNot(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Directory(error) => error.into(),
            SessionError::AnotherMachine { .. } | SessionError::AnotherPlan { .. } | SessionError::Complete(_) => {
                Self::Usage(error.to_string())
            }
        }
    }
}

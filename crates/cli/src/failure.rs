//! How a command ends, and the exit code that says so.

use std::process::ExitCode;

use syncscope_core::run::directory::RunDirectoryError;
use syncscope_core::session::SessionError;

/// A command that did what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it.
    Done,
    /// It did, but some cases failed or timed out.
    SomeCasesFailed,
    /// Someone stopped it halfway.
    Interrupted,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Interrupted => 1,
            Self::SomeCasesFailed => 3,
        })
    }
}

/// A command that could not do what it was asked for; one line that names the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The machine, the system or a file is in the way.
    #[error("{0}")]
    CouldNot(String),
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::CouldNot(_) => 1,
            Self::Usage(_) => 2,
        })
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
            SessionError::AnotherMachine { .. } => Self::Usage(error.to_string()),
        }
    }
}

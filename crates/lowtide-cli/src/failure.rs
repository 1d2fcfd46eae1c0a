use lowtide::multipass::PassError;
use lowtide::target::TargetError;
use lowtide_io::ReadError;
use thiserror::Error;

/// Why a command ends with a non-zero exit code.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("kernel {kernel:?}: {error}")]
    Target { kernel: String, error: TargetError },
    #[error("the schedule of {algorithm} for kernel {kernel:?}, region {region} is illegal: {violation}")]
    Illegal { algorithm: &'static str, kernel: String, region: String, violation: String },
    #[error("kernel {kernel:?}, region {region}: {error}")]
    Passes { kernel: String, region: String, error: PassError },
    #[error("{0}")]
    Message(String),
    /// The input is as it should be, but has nothing of what was asked for.
    #[error("{0}")]
    Nothing(String),
    #[error("{file}: cannot be written: {error}")]
    Write { file: String, error: std::io::Error },
    /// The result itself says what is wrong.
    #[error("")]
    Reported,
}

impl Failure {
    /// What is still to be said.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Failure::Reported => None,
            other => Some(other.to_string()),
        }
    }
}

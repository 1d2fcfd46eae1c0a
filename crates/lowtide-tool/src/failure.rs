use lowtide::multipass::PassError;
use lowtide::target::TargetError;
use lowtide_io::ReadError;
use thiserror::Error;

/// The reason why a command ends with a non-zero exit code.
#[derive(Debug, Error)]
pub enum Failure {
    /// The input cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A kernel does not fit the target.
    #[error("kernel {kernel:?}: {error}")]
    Target {
        /// Name of the kernel.
        kernel: String,
        /// The mismatch.
        error: TargetError,
    },
    /// The checker refuses a schedule that an algorithm has made.
    #[error("the schedule of {algorithm} for kernel {kernel:?}, region {region} is illegal: {violation}")]
    Illegal {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Name of the kernel.
        kernel: String,
        /// Name of the region.
        region: String,
        /// The first violation that the checker reports.
        violation: String,
    },
    /// A region cannot be partitioned into passes.
    #[error("kernel {kernel:?}, region {region}: {error}")]
    Passes {
        /// Name of the kernel.
        kernel: String,
        /// Name of the region.
        region: String,
        /// The obstacle.
        error: PassError,
    },
    /// Any other error, as a sentence.
    #[error("{0}")]
    Message(String),
    /// The input is valid, but contains nothing that the command could work on.
    #[error("{0}")]
    Nothing(String),
    /// A file cannot be written.
    #[error("{file}: cannot be written: {error}")]
    Write {
        /// Path of the file.
        file: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The printed result already says what is wrong.
    #[error("")]
    Reported,
}

impl Failure {
    /// Return a function that names the kernel in an error about its target.
    pub fn target(kernel: &str) -> impl FnOnce(TargetError) -> Failure {
        move |error| Failure::Target { kernel: kernel.to_string(), error }
    }

    /// Return the text to print after `error:`, or none if the result has already said it.
    pub fn message(&self) -> Option<String> {
        match self {
            Failure::Reported => None,
            other => Some(other.to_string()),
        }
    }
}

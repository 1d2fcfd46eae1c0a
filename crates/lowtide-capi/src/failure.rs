//! Failures of exported functions. A panic becomes a failure here and does not cross into C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lowtide::target::TargetError;

use crate::lowtide_status;

/// Why a function failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) status: lowtide_status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Failure { status: lowtide_status::LOWTIDE_BAD_ARGUMENT, message: message.into() }
    }

    pub(crate) fn region(message: impl Into<String>) -> Self {
        Failure { status: lowtide_status::LOWTIDE_BAD_REGION, message: message.into() }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Failure { status: lowtide_status::LOWTIDE_INTERNAL, message: message.into() }
    }

    /// Report a NULL pointer where an object is required.
    pub(crate) fn null(what: &str) -> Self {
        Failure::argument(format!("{what} is NULL"))
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Failure { status: lowtide_status::LOWTIDE_BAD_TARGET, message: error.to_string() }
    }
}

/// Run the body of an exported function. A panic must not cross into C, so it becomes a failure.
///
/// An object that a panic leaves half changed is dropped or, like a region, refused from then on.
pub(crate) fn guarded<T>(action: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|payload| {
        Err(Failure::internal(format!("internal error, please report it: {}", words(&*payload))))
    })
}

/// Return the message of a panic.
fn words(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without words",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_failure() {
        let number = 7;
        let panics: [fn(i32); 3] = [
            |_| panic!("plain words"),
            |number| panic!("number {number}"),
            |number| std::panic::panic_any(number),
        ];
        let messages = panics.map(|action| {
            let failure = guarded(|| {
                action(number);
                Ok(())
            });
            let failure = failure.unwrap_err();
            assert_eq!(failure.status, lowtide_status::LOWTIDE_INTERNAL);
            failure.message
        });
        for (message, end) in messages.iter().zip(["plain words", "number 7", "a panic without words"]) {
            assert!(message.ends_with(end), "{message}");
        }
    }

    #[test]
    fn results_pass_through() {
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        assert_eq!(guarded(|| Err::<(), _>(Failure::null("x"))), Err(Failure::argument("x is NULL")));
    }
}

//! A call that searches: other threads of Python run meanwhile, Ctrl-C ends it at once, and no panic leaves
//! it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::Duration;

use lowtide::budget::Stop;
use lowtide_tool::Failure;
use pyo3::prelude::*;

use crate::failure::{InternalError, exception};

/// The time between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(20);

/// The result of a call, and the exception of a signal handler that has ended it early.
pub(crate) struct Ended<T> {
    pub(crate) result: T,
    pub(crate) signal: Option<PyErr>,
}

/// Run `work` without the interpreter. If `watched`, a signal ends its searches.
///
/// Python runs signal handlers in its main thread only, and only while that thread has the interpreter. A
/// watched call therefore works in a thread of its own, and the main thread looks for signals.
pub(crate) fn call<T: Send>(
    py: Python<'_>,
    watched: bool,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<Ended<T>> {
    let work = move || guarded(work);
    let (result, signal) = match watched && is_main_thread(py)? {
        false => (py.detach(work), None),
        true => py.detach(|| watch(work)),
    };
    match (result, signal) {
        (Ok(result), signal) => Ok(Ended { result, signal }),
        (Err(_), Some(signal)) => Err(signal),
        (Err(Broken::Failure(failure)), None) => Err(exception(&failure)),
        (Err(Broken::Panic(text)), None) => Err(InternalError::new_err(text)),
    }
}

/// The failure of a call.
enum Broken {
    Failure(Failure),
    Panic(String),
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Broken> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(Broken::Failure),
        Err(panic) => Err(Broken::Panic(format!("internal error: {}", text_of(&*panic)))),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Run `work` in another thread, and look for signals in this one.
fn watch<T: Send>(work: impl FnOnce() -> Result<T, Broken> + Send) -> (Result<T, Broken>, Option<PyErr>) {
    let stop = Stop::new();
    let (sender, receiver) = channel();
    let mut signal = None;
    let result = scope(|scope| {
        let (work, inner) = (work, stop.clone());
        let run = move || {
            // Nobody waits for the result only if this function has panicked.
            let _ = sender.send(inner.run(work));
        };
        if let Err(error) = Builder::new().name("lowtide".to_string()).spawn_scoped(scope, run) {
            return Err(Broken::Failure(Failure::Message(format!("no thread can be started: {error}"))));
        }
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                    signal = look_for_signals().err();
                    if signal.is_some() {
                        stop.stop();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Broken::Panic("internal error: a search ended without a result".to_string()));
                }
            }
        }
    });
    (result, signal)
}

// A path instead of the closure has no lifetime that fits.
#[allow(clippy::redundant_closure_for_method_calls)]
fn look_for_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

//! Calls the solvers' C interfaces. The one module with unsafe code.
#![allow(unsafe_code)]

pub(crate) mod highs;

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libloading::Library;

/// The interval at which the stop flag is read.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// The state of one run. `stop_search` takes it.
type Environment = *mut c_void;
type NewEnvironment = unsafe extern "C" fn() -> Environment;
type WithEnvironment = unsafe extern "C" fn(Environment);
/// Environment, model, parameters, and the place for the answer: each with its length.
type Solve = unsafe extern "C" fn(
    Environment,
    *const c_void,
    c_int,
    *const c_void,
    c_int,
    *mut *mut c_void,
    *mut c_int,
);

unsafe extern "C" {
    fn free(memory: *mut c_void);
}

/// The loaded library. It is never unloaded: its threads and destructors do not support that.
pub(crate) struct CpSat {
    _library: ManuallyDrop<Library>,
    new_environment: NewEnvironment,
    destroy_environment: WithEnvironment,
    stop_search: WithEnvironment,
    solve: Solve,
}

/// A handle by which another thread can stop a run.
#[derive(Clone, Copy)]
struct Running(Environment);
// SAFETY: only `stop_search` is called through it, which sets an atomic flag of the environment. `solve`
// below joins the thread that holds the handle before the environment is destroyed.
unsafe impl Send for Running {}

impl CpSat {
    pub(crate) fn load(path: &Path) -> Result<CpSat, libloading::Error> {
        // SAFETY: loading runs the initialisers of OR-Tools and of the libraries beside it, which have no
        // preconditions. The user who installed or named the file vouches that it is OR-Tools.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the four types are those of `ortools/sat/c_api/cp_solver_c.h`, version 9.15.
        let new_environment = *unsafe { library.get::<NewEnvironment>(b"SolveCpNewEnv") }?;
        // SAFETY: as above.
        let destroy_environment = *unsafe { library.get::<WithEnvironment>(b"SolveCpDestroyEnv") }?;
        // SAFETY: as above.
        let stop_search = *unsafe { library.get::<WithEnvironment>(b"SolveCpStopSearch") }?;
        // SAFETY: as above.
        let solve = *unsafe { library.get::<Solve>(b"SolveCpInterruptible") }?;
        let _library = ManuallyDrop::new(library);
        Ok(CpSat { _library, new_environment, destroy_environment, stop_search, solve })
    }

    /// Solve an encoded model with encoded parameters, both of less than 2 GiB, and return the encoded
    /// answer. The run ends early, with the best result so far, soon after `stop` becomes true.
    pub(crate) fn solve(&self, model: &[u8], parameters: &[u8], stop: Option<&AtomicBool>) -> Vec<u8> {
        let length = |bytes: &[u8]| c_int::try_from(bytes.len()).expect("models are smaller than 2 GiB");
        let (model_length, parameters_length) = (length(model), length(parameters));
        // SAFETY: the function has no preconditions.
        let environment = unsafe { (self.new_environment)() };
        let mut answer = null_mut();
        let mut answer_length = 0;
        let running = Running(environment);
        thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            if let Some(stop) = stop {
                scope.spawn(move || {
                    let running = running;
                    while is_done.recv_timeout(STOP_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                        if stop.load(Ordering::Relaxed) {
                            // SAFETY: the environment lives until this scope has joined all its threads.
                            unsafe { (self.stop_search)(running.0) };
                        }
                    }
                });
            }
            // SAFETY: the environment is fresh, pointers and lengths belong together, and the library keeps
            // none of the pointers.
            unsafe {
                (self.solve)(
                    environment,
                    model.as_ptr().cast(),
                    model_length,
                    parameters.as_ptr().cast(),
                    parameters_length,
                    &mut answer,
                    &mut answer_length,
                );
            }
            drop(done);
        });
        // SAFETY: it came from `new_environment`, and nobody uses it any more.
        unsafe { (self.destroy_environment)(environment) };
        if answer.is_null() {
            return Vec::new();
        }
        let answer_length = usize::try_from(answer_length).unwrap_or(0);
        // SAFETY: the library has written `answer_length` bytes there and has left them to the caller.
        let bytes = unsafe { std::slice::from_raw_parts(answer.cast::<u8>(), answer_length) }.to_vec();
        // SAFETY: the library got the memory from `malloc`, and leaves it to the caller to free it.
        unsafe { free(answer) };
        bytes
    }
}

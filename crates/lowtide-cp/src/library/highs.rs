//! The C interface of HiGHS: linear and integer programs.

use std::ffi::{CStr, c_char, c_double, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Duration;

use libloading::Library;

use crate::pack::program::Program;

type Create = unsafe extern "C" fn() -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type SetWhole = unsafe extern "C" fn(*mut c_void, *const c_char, c_int) -> c_int;
type SetReal = unsafe extern "C" fn(*mut c_void, *const c_char, c_double) -> c_int;
type SetText = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int;
/// Columns, rows and entries; row-wise or column-wise; the direction; an offset. Then costs and ranges of
/// columns, and ranges of rows. Then starts of rows, columns and values of entries. Last, which columns are
/// integers.
type PassMip = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_double,
    *const c_double,
    *const c_double,
    *const c_double,
    *const c_double,
    *const c_double,
    *const c_int,
    *const c_int,
    *const c_double,
    *const c_int,
) -> c_int;
type Run = unsafe extern "C" fn(*mut c_void) -> c_int;
type Status = unsafe extern "C" fn(*const c_void) -> c_int;
type Solution =
    unsafe extern "C" fn(*const c_void, *mut c_double, *mut c_double, *mut c_double, *mut c_double) -> c_int;
type Info = unsafe extern "C" fn(*const c_void, *const c_char, *mut c_double) -> c_int;

// Values of the interface.
const ROW_WISE: c_int = 2;
const MINIMISE: c_int = 1;
const ERROR: c_int = -1;
const OPTIMAL: c_int = 7;
const INFEASIBLE: c_int = 8;

/// The loaded library. It is never unloaded, as its threads may outlive it.
pub(crate) struct Highs {
    _library: ManuallyDrop<Library>,
    create: Create,
    destroy: Destroy,
    set_flag: SetWhole,
    set_number: SetWhole,
    set_real: SetReal,
    set_text: SetText,
    pass: PassMip,
    run: Run,
    status: Status,
    solution: Solution,
    info: Info,
}

/// The result of a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Solved {
    /// The best solution and its value.
    Optimal(Vec<f64>, f64),
    Infeasible,
    /// The time ran out. No solution has a lower value than this.
    Unknown(f64),
    /// The solver rejects the program: a defect on either side.
    Refused,
}

impl Highs {
    pub(crate) fn load(path: &Path) -> Result<Highs, libloading::Error> {
        // SAFETY: loading runs the initialisers of HiGHS, which have no preconditions. The user who installed
        // or named the file vouches that it is HiGHS.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the types are those of `highs_c_api.h`, version 1.12, with numbers of 32 bits as in all
        // builds of OR-Tools.
        let create = *unsafe { library.get::<Create>(b"Highs_create") }?;
        // SAFETY: as above.
        let destroy = *unsafe { library.get::<Destroy>(b"Highs_destroy") }?;
        // SAFETY: as above.
        let set_flag = *unsafe { library.get::<SetWhole>(b"Highs_setBoolOptionValue") }?;
        // SAFETY: as above.
        let set_number = *unsafe { library.get::<SetWhole>(b"Highs_setIntOptionValue") }?;
        // SAFETY: as above.
        let set_real = *unsafe { library.get::<SetReal>(b"Highs_setDoubleOptionValue") }?;
        // SAFETY: as above.
        let set_text = *unsafe { library.get::<SetText>(b"Highs_setStringOptionValue") }?;
        // SAFETY: as above.
        let pass = *unsafe { library.get::<PassMip>(b"Highs_passMip") }?;
        // SAFETY: as above.
        let run = *unsafe { library.get::<Run>(b"Highs_run") }?;
        // SAFETY: as above.
        let status = *unsafe { library.get::<Status>(b"Highs_getModelStatus") }?;
        // SAFETY: as above.
        let solution = *unsafe { library.get::<Solution>(b"Highs_getSolution") }?;
        // SAFETY: as above.
        let info = *unsafe { library.get::<Info>(b"Highs_getDoubleInfoValue") }?;
        let _library = ManuallyDrop::new(library);
        Ok(Highs {
            _library,
            create,
            destroy,
            set_flag,
            set_number,
            set_real,
            set_text,
            pass,
            run,
            status,
            solution,
            info,
        })
    }

    /// Solve a program on one thread. `is_relaxed` drops integrality: a linear program.
    pub(crate) fn solve(&self, program: &Program, is_relaxed: bool, time: Duration) -> Solved {
        let columns = program.lower.len();
        let rows = program.row_lower.len();
        let whole: Vec<c_int> =
            program.whole.iter().map(|whole| c_int::from(*whole && !is_relaxed)).collect();
        let size = |count: usize| c_int::try_from(count).expect("programs are small");
        let (column_count, row_count, entries) = (size(columns), size(rows), size(program.index.len()));
        // SAFETY: no preconditions.
        let highs = unsafe { (self.create)() };
        let set = |name: &CStr, value: c_int| {
            // SAFETY: `highs` is alive, and the name is a C string.
            unsafe { (self.set_flag)(highs, name.as_ptr(), value) }
        };
        set(c"output_flag", 0);
        // SAFETY: as above.
        unsafe { (self.set_number)(highs, c"threads".as_ptr(), 1) };
        // SAFETY: as above, for both strings.
        unsafe { (self.set_text)(highs, c"parallel".as_ptr(), c"off".as_ptr()) };
        // SAFETY: as above.
        unsafe { (self.set_real)(highs, c"time_limit".as_ptr(), time.as_secs_f64()) };
        // SAFETY: every array has as many elements as its count says (`Program` keeps them so), and HiGHS
        // copies all of them.
        let passed = unsafe {
            (self.pass)(
                highs,
                column_count,
                row_count,
                entries,
                ROW_WISE,
                MINIMISE,
                0.0,
                program.cost.as_ptr(),
                program.lower.as_ptr(),
                program.upper.as_ptr(),
                program.row_lower.as_ptr(),
                program.row_upper.as_ptr(),
                program.start.as_ptr(),
                program.index.as_ptr(),
                program.value.as_ptr(),
                whole.as_ptr(),
            )
        };
        let ran = match passed {
            ERROR => ERROR,
            // SAFETY: a program has been passed.
            _ => unsafe { (self.run)(highs) },
        };
        let number = |name: &CStr| {
            let mut value = f64::NAN;
            // SAFETY: the name is a C string, and there is room for one number.
            unsafe { (self.info)(highs, name.as_ptr(), &mut value) };
            value
        };
        // SAFETY: `highs` is alive.
        let status = unsafe { (self.status)(highs) };
        let solved = match status {
            _ if ran == ERROR => Solved::Refused,
            OPTIMAL => {
                let mut values = vec![0.0; columns];
                let mut duals = vec![0.0; columns];
                let mut row_values = vec![0.0; rows];
                let mut row_duals = vec![0.0; rows];
                // SAFETY: there is room for a number for each column and each row.
                unsafe {
                    (self.solution)(
                        highs,
                        values.as_mut_ptr(),
                        duals.as_mut_ptr(),
                        row_values.as_mut_ptr(),
                        row_duals.as_mut_ptr(),
                    )
                };
                Solved::Optimal(values, number(c"objective_function_value"))
            }
            INFEASIBLE => Solved::Infeasible,
            _ => Solved::Unknown(number(c"mip_dual_bound")),
        };
        // SAFETY: it came from `create`, and nobody uses it any more.
        unsafe { (self.destroy)(highs) };
        solved
    }
}

//! The search for the library of the solver.

use std::env;
use std::path::{Path, PathBuf};

use crate::SolverError;

/// The environment variable that names the library, or its folder.
pub(crate) const VARIABLE: &str = "LOWTIDE_ORTOOLS";

/// The folder into which `scripts/install-ortools` puts the library.
const FOLDER: &str = ".ortools";

/// The file name of the library. The other libraries of the package lie beside it, or at their places in the
/// package.
const LIBRARY: &str = "libortools.so.9";

/// The folder of the library within the package.
const IN_PACKAGE: &str = "ortools/.libs";

/// Return the library that the environment variable names. Without the variable, search the current folder,
/// then the folders above the program. For a program built here, these include the repository.
pub(crate) fn library() -> Result<PathBuf, SolverError> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return at(Path::new(&named)).ok_or_else(|| SolverError::Named { path: named.into() });
    }
    let program = env::current_exe().unwrap_or_default();
    let folders = env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_path_buf));
    folders.map(|folder| folder.join(FOLDER)).find_map(|folder| at(&folder)).ok_or(SolverError::NotInstalled)
}

/// Return `path` itself, or the library in this folder.
fn at(path: &Path) -> Option<PathBuf> {
    let places = [path.to_path_buf(), path.join(LIBRARY), path.join(IN_PACKAGE).join(LIBRARY)];
    places.into_iter().find(|place| place.is_file())
}

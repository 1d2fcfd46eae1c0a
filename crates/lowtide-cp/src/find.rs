//! Where the library may be.

use std::env;
use std::path::{Path, PathBuf};

use crate::SolverError;

/// Names the library, or a folder that holds it.
pub(crate) const VARIABLE: &str = "LOWTIDE_ORTOOLS";

/// Where `scripts/install-ortools` puts the library.
const FOLDER: &str = ".ortools";

/// The other libraries of the package lie beside it, or at their places in the package.
const LIBRARY: &str = "libortools.so.9";

/// Where the package has it.
const IN_PACKAGE: &str = "ortools/.libs";

/// What the environment says; else the installed one in the current folder, or in one above the program, which
/// for a program built here is the repository.
pub(crate) fn library() -> Result<PathBuf, SolverError> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return at(Path::new(&named)).ok_or_else(|| SolverError::Named { path: named.into() });
    }
    let program = env::current_exe().unwrap_or_default();
    let folders = env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_path_buf));
    folders.map(|folder| folder.join(FOLDER)).find_map(|folder| at(&folder)).ok_or(SolverError::NotInstalled)
}

/// The library itself, or the one in a folder.
fn at(path: &Path) -> Option<PathBuf> {
    let places = [path.to_path_buf(), path.join(LIBRARY), path.join(IN_PACKAGE).join(LIBRARY)];
    places.into_iter().find(|place| place.is_file())
}

//! Reports of internal errors, with a region file that reproduces them.

use std::io::Error;
use std::path::{Path, PathBuf};

use lowtide::pipeline::InternalError;
use lowtide::region::Kernel;

use crate::output::LineWriter;
use crate::region_file::format_line;

/// Describe an internal error to the user. The regions of the kernel are first written to a file in the
/// folder for temporary files.
pub fn describe_internal_error(kernel: &Kernel, error: &InternalError) -> String {
    let file = write_regions(kernel, error, &std::env::temp_dir());
    match file {
        Ok(file) => format!("{error}. Please report it with the file {}", file.display()),
        Err(reason) => format!("{error}. Please report it (the region could not be written: {reason})"),
    }
}

/// Write the region of an internal error, or all regions of the kernel if the error names none.
fn write_regions(kernel: &Kernel, error: &InternalError, folder: &Path) -> Result<PathBuf, Error> {
    // One process may report several errors, and several processes share the folder.
    let (file, path) =
        tempfile::Builder::new().prefix("lowtide-bug-").suffix(".jsonl").tempfile_in(folder)?.keep()?;
    drop(file);
    let mut writer = LineWriter::create(&path)?;
    let is_named = |name: &str| name == error.region;
    let has_name = kernel.regions.iter().any(|region| is_named(region.name()));
    for region in kernel.regions.iter().filter(|region| !has_name || is_named(region.name())) {
        writer.line(&format_line(kernel, region))?;
    }
    writer.finish()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use lowtide::algorithm::Algorithm;
    use lowtide::generate::{Shape, region};

    use super::*;
    use crate::KernelReader;

    #[test]
    fn the_region_can_be_read_again() {
        let regions = vec![region(Shape::Tree, 20, 1), region(Shape::UnrolledLoop, 30, 2)];
        let name = regions[1].name().to_string();
        let kernel = Kernel::new("k", regions);
        let error = InternalError::new(Algorithm::LIST, &name, "illegal schedule".to_string());
        let folder = tempfile::tempdir().expect("a folder");
        let file = write_regions(&kernel, &error, folder.path()).expect("a file");
        let read: Vec<Kernel> = KernelReader::open(&file).expect("readable").map(Result::unwrap).collect();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].regions, kernel.regions[1..]);

        let text = describe_internal_error(&kernel, &error);
        let path = text.rsplit(' ').next().expect("a path");
        assert!(text.starts_with("internal error: algorithm list, region"), "{text}");
        assert!(Path::new(path).is_file(), "{text}");
        std::fs::remove_file(path).expect("it is there");
        let missing = write_regions(&kernel, &error, Path::new("/nowhere/at/all"));
        assert!(missing.is_err());
    }
}

//! Output files that are written atomically on success.
//!
//! The text first goes into a temporary file without a name, so that a program that is ended leaves nothing
//! behind. On success, the text is copied to a named temporary file in the folder of the output, and a rename
//! puts that file into place.

use std::fs::{File, Permissions};
use std::io::{BufWriter, Error, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A writer of lines to a file, or to the standard output for `-`. A name that ends in `.gz` is compressed.
/// [`LineWriter::finish`] writes the output atomically; before it, nothing is visible. A file that exists
/// keeps its permissions. A symbolic link stays, and its target is written.
pub struct LineWriter {
    place: Place,
    sink: Sink,
}

/// A file of any content that is written atomically on success, to the places that [`LineWriter`] knows.
#[cfg(feature = "parquet")]
pub(crate) struct AtomicFile {
    place: Place,
    file: File,
}

#[cfg(feature = "parquet")]
impl AtomicFile {
    /// Start a file. Its folder must exist.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let place = Place::of(path)?;
        Ok(AtomicFile { file: place.temporary()?, place })
    }

    /// Return the temporary file, whose content [`AtomicFile::finish`] puts into place.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Move the file into place. A closed standard output (`| head`) is no error.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.place.put(self.file)
    }
}

/// The destination of the complete text.
enum Place {
    Stdout,
    /// A regular file, which is made or replaced, and its permissions if it exists.
    File(PathBuf, Option<Permissions>),
    /// A device or a pipe, which must not be replaced by a file.
    Special(PathBuf),
}

enum Sink {
    Plain(BufWriter<File>),
    Gzip(Box<BufWriter<GzEncoder<File>>>),
}

impl LineWriter {
    /// Start a file. Its folder must exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let place = Place::of(path)?;
        let file = place.temporary()?;
        let sink = match path.extension().is_some_and(|extension| extension == "gz") {
            true => Sink::Gzip(Box::new(BufWriter::new(GzEncoder::new(file, Compression::new(9))))),
            false => Sink::Plain(BufWriter::new(file)),
        };
        Ok(LineWriter { place, sink })
    }

    /// Add a line.
    pub fn line(&mut self, text: &str) -> Result<(), Error> {
        let sink: &mut dyn Write = match &mut self.sink {
            Sink::Plain(sink) => sink,
            Sink::Gzip(sink) => sink,
        };
        sink.write_all(text.as_bytes())?;
        sink.write_all(b"\n")
    }

    /// Complete the file and move it into place. A closed standard output (`| head`) is no error.
    pub fn finish(self) -> Result<(), Error> {
        let mut file = match self.sink {
            Sink::Plain(sink) => sink.into_inner().map_err(std::io::IntoInnerError::into_error)?,
            Sink::Gzip(sink) => sink.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?,
        };
        file.flush()?;
        self.place.put(file)
    }
}

impl Place {
    /// Return a file without a name for the text.
    fn temporary(&self) -> Result<File, Error> {
        match self {
            Place::Stdout | Place::Special(_) => tempfile::tempfile(),
            // The error carries the name of the temporary file, which would only confuse.
            Place::File(path, _) => tempfile::tempfile_in(folder_of(path)).map_err(without_path),
        }
    }

    /// Copy a complete file to its place.
    fn put(self, mut file: File) -> Result<(), Error> {
        file.rewind()?;
        match self {
            Place::Stdout => {
                let mut stdout = std::io::stdout().lock();
                match std::io::copy(&mut file, &mut stdout).and_then(|_| stdout.flush()) {
                    Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
                    _ => Ok(()),
                }
            }
            Place::Special(path) => {
                let mut special = File::options().write(true).open(path)?;
                std::io::copy(&mut file, &mut special)?;
                Ok(())
            }
            Place::File(path, permissions) => {
                let mut builder = tempfile::Builder::new();
                #[cfg(unix)]
                {
                    // Temporary files are private. A new file that the user names gets the usual permissions.
                    use std::os::unix::fs::PermissionsExt;
                    builder.permissions(Permissions::from_mode(0o666));
                }
                let mut named = builder.tempfile_in(folder_of(&path)).map_err(without_path)?;
                std::io::copy(&mut file, named.as_file_mut())?;
                if let Some(permissions) = permissions {
                    named.as_file().set_permissions(permissions)?;
                }
                named.persist(&path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }

    fn of(path: &Path) -> Result<Place, Error> {
        if path == Path::new("-") {
            return Ok(Place::Stdout);
        }
        match path.metadata() {
            // Report it before the work instead of after it.
            Ok(data) if data.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(data) if data.is_file() => Ok(Place::File(behind_links(path)?, Some(data.permissions()))),
            Ok(_) => Ok(Place::Special(path.to_path_buf())),
            Err(_) => Ok(Place::File(behind_links(path)?, None)),
        }
    }
}

/// The most symbolic links to follow: the limit of Linux.
const MOST_LINKS: usize = 40;

/// Return the file behind symbolic links, whether it exists or not.
fn behind_links(path: &Path) -> Result<PathBuf, Error> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if !path.symlink_metadata().is_ok_and(|data| data.is_symlink()) {
            return Ok(path);
        }
        // A relative link starts in its own folder.
        path = folder_of(&path).join(std::fs::read_link(&path)?);
    }
    Err(Error::other("too many symbolic links"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn without_path(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "the folder does not exist"),
        ErrorKind::PermissionDenied => {
            Error::new(ErrorKind::PermissionDenied, "no permission to write in the folder")
        }
        _ => error,
    }
}

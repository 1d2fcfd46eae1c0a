//! Output files that are written atomically on success.

use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

/// A writer of lines to a file, or to the standard output for `-`. A name that ends in `.gz` is compressed.
/// [`LineWriter::finish`] writes the output atomically; before it, nothing is visible.
pub struct LineWriter {
    place: Place,
    sink: Sink,
}

/// The destination of the complete text.
enum Place {
    Stdout,
    /// A regular file, which is replaced.
    File(PathBuf),
    /// A device or a pipe, which must not be replaced by a file.
    Special(PathBuf),
}

enum Sink {
    Plain(BufWriter<NamedTempFile>),
    Gzip(Box<BufWriter<GzEncoder<NamedTempFile>>>),
}

impl LineWriter {
    /// Start a file. Its folder must exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let place = Place::of(path)?;
        let file = match &place {
            Place::Stdout | Place::Special(_) => NamedTempFile::new()?,
            Place::File(path) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                // The error carries the name of the temporary file, which would only confuse.
                NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(without_path)?
            }
        };
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
        match self.place {
            Place::Stdout => {
                let mut stdout = std::io::stdout().lock();
                match std::io::copy(&mut file.reopen()?, &mut stdout).and_then(|_| stdout.flush()) {
                    Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
                    _ => Ok(()),
                }
            }
            Place::Special(path) => {
                let mut special = File::options().write(true).open(path)?;
                std::io::copy(&mut file.reopen()?, &mut special)?;
                Ok(())
            }
            Place::File(path) => {
                #[cfg(unix)]
                {
                    // Temporary files are private. A file that the user names gets the usual permissions.
                    use std::os::unix::fs::PermissionsExt;
                    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
                }
                file.persist(&path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Place {
    fn of(path: &Path) -> Result<Place, Error> {
        if path == Path::new("-") {
            return Ok(Place::Stdout);
        }
        match path.metadata() {
            // Report it before the work instead of after it.
            Ok(data) if data.is_dir() => Err(ErrorKind::IsADirectory.into()),
            // Behind a symbolic link, the file is replaced and not the link.
            Ok(data) if data.is_file() => Ok(Place::File(path.canonicalize()?)),
            Ok(_) => Ok(Place::Special(path.to_path_buf())),
            Err(_) => Ok(Place::File(path.to_path_buf())),
        }
    }
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

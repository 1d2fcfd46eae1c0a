//! Output files that appear whole or not at all.

use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

/// Lines to a file, or to the standard output for `-`. A name that ends in `.gz` is compressed. Nothing can
/// be seen of it before [`LineWriter::finish`].
pub struct LineWriter {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    Plain(BufWriter<NamedTempFile>),
    Gzip(Box<BufWriter<GzEncoder<NamedTempFile>>>),
}

impl LineWriter {
    /// Starts a file. Its folder must exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = match path.parent() {
            Some(folder) if path != Path::new("-") => {
                NamedTempFile::new_in(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?
            }
            _ => NamedTempFile::new()?,
        };
        let sink = match path.extension().is_some_and(|extension| extension == "gz") {
            true => Sink::Gzip(Box::new(BufWriter::new(GzEncoder::new(file, Compression::new(9))))),
            false => Sink::Plain(BufWriter::new(file)),
        };
        Ok(LineWriter { path: path.to_path_buf(), sink })
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) -> Result<(), Error> {
        let sink: &mut dyn Write = match &mut self.sink {
            Sink::Plain(sink) => sink,
            Sink::Gzip(sink) => sink,
        };
        sink.write_all(text.as_bytes())?;
        sink.write_all(b"\n")
    }

    /// Completes the file and puts it in its place.
    pub fn finish(self) -> Result<(), Error> {
        let mut file = match self.sink {
            Sink::Plain(sink) => sink.into_inner().map_err(std::io::IntoInnerError::into_error)?,
            Sink::Gzip(sink) => sink.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?,
        };
        if self.path == Path::new("-") {
            std::io::copy(&mut file.reopen()?, &mut std::io::stdout().lock())?;
            return Ok(());
        }
        file.flush()?;
        #[cfg(unix)]
        {
            // Temporary files are private; what is asked for by name gets the usual permissions.
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

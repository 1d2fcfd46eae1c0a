//! Lines of a text file, plain or gzip. Each line has a size limit, so memory does not grow with the file.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::ReadError;

/// The longest line that is read, in bytes: far above any real region, and small enough for memory.
pub const MAX_LINE: usize = 64 << 20;

/// A reader of lines.
pub(crate) struct Lines {
    input: Box<dyn BufRead + Send>,
    gzip: bool,
    file: String,
    line: u64,
    max_line: usize,
    /// The current line, if it lies in several pieces.
    buffer: Vec<u8>,
    /// The bytes of the current line, with its end, that the input still holds.
    held: usize,
}

/// Where the current line lies.
enum Place {
    /// In the input, with this length.
    Input(usize),
    Buffer,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Lines, ReadError> {
        let (file, input) = Lines::open_file(path)?;
        Lines::from_reader(Box::new(input), file)
    }

    /// Open a file. Return its name for messages, too.
    pub(crate) fn open_file(path: &Path) -> Result<(String, File), ReadError> {
        let file = path.display().to_string();
        let fail = |error: std::io::Error| ReadError {
            file: file.clone(),
            line: None,
            message: format!("cannot be read: {error}"),
        };
        let input = File::open(path).map_err(fail)?;
        if input.metadata().map_err(fail)?.is_dir() {
            return Err(ReadError { file, line: None, message: "is a directory".to_string() });
        }
        Ok((file, input))
    }

    /// Read from any source; `file` is the name for messages.
    pub(crate) fn from_reader(input: Box<dyn Read + Send>, file: String) -> Result<Lines, ReadError> {
        let mut input = BufReader::with_capacity(1 << 18, input);
        let start = loop {
            match input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let gzip = match start {
            Ok(start) => start.starts_with(&[0x1f, 0x8b]),
            Err(error) => {
                return Err(ReadError { file, line: None, message: format!("cannot be read: {error}") });
            }
        };
        let input: Box<dyn BufRead + Send> = match gzip {
            true => Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(input))),
            false => Box::new(input),
        };
        Ok(Lines { input, gzip, file, line: 0, max_line: MAX_LINE, buffer: Vec::new(), held: 0 })
    }

    /// Return whether the next bytes are these. Must be called before the first line.
    pub(crate) fn starts_with(&mut self, bytes: &[u8]) -> bool {
        !self.gzip && self.input.fill_buf().is_ok_and(|start| start.starts_with(bytes))
    }

    /// Return the rest of the input.
    pub(crate) fn into_rest(self) -> Box<dyn BufRead + Send> {
        self.input
    }

    /// Return the next line that is not blank, without its end. `None` after the last one.
    pub(crate) fn next_line(&mut self) -> Result<Option<&str>, ReadError> {
        let place = loop {
            self.line += 1;
            let Some(place) = self.fill()? else {
                return Ok(None);
            };
            if !bytes(&mut *self.input, &self.buffer, &place).trim_ascii().is_empty() {
                break place;
            }
        };
        let (file, line) = (&self.file, self.line);
        let bytes = bytes(&mut *self.input, &self.buffer, &place);
        std::str::from_utf8(bytes).map(Some).map_err(|error| ReadError {
            file: file.clone(),
            line: Some(line),
            message: format!("invalid UTF-8 at byte {} of the line", error.valid_up_to() + 1),
        })
    }

    /// Read up to the end of the line. Return `None` at the end of the file.
    fn fill(&mut self) -> Result<Option<Place>, ReadError> {
        self.input.consume(std::mem::take(&mut self.held));
        self.buffer.clear();
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = match (self.gzip, error.kind()) {
                        (true, ErrorKind::UnexpectedEof) => {
                            "the gzip data ends too early: the file is truncated".to_string()
                        }
                        (true, ErrorKind::InvalidInput | ErrorKind::InvalidData) => {
                            format!("damaged gzip data: {error}")
                        }
                        _ => format!("cannot be read: {error}"),
                    };
                    return Err(self.error(message));
                }
            };
            if available.is_empty() {
                return Ok((!self.buffer.is_empty()).then_some(Place::Buffer));
            }
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            if self.buffer.len() + part.len() > self.max_line {
                let limit = self.max_line >> 20;
                return Err(self.error(format!("the line is longer than {limit} MiB and was not read")));
            }
            // Nearly all lines lie in the input as a whole, and are parsed there.
            if let Some(end) = end
                && self.buffer.is_empty()
            {
                self.held = end + 1;
                return Ok(Some(Place::Input(end)));
            }
            self.buffer.extend_from_slice(part);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(Place::Buffer));
            }
        }
    }

    /// Make an error at the current line.
    pub(crate) fn error(&self, message: String) -> ReadError {
        ReadError { file: self.file.clone(), line: Some(self.line), message }
    }

    /// Make an error about the whole file.
    pub(crate) fn file_error(&self, message: &str) -> ReadError {
        ReadError { file: self.file.clone(), line: None, message: message.to_string() }
    }

    pub(crate) fn line_number(&self) -> u64 {
        self.line
    }
}

/// Return the bytes of a line.
fn bytes<'a>(input: &'a mut dyn BufRead, buffer: &'a [u8], place: &Place) -> &'a [u8] {
    match *place {
        // The input holds these bytes, so that this reads nothing and cannot fail.
        Place::Input(length) => input.fill_buf().map_or(&[], |bytes| &bytes[..length.min(bytes.len())]),
        Place::Buffer => buffer,
    }
}

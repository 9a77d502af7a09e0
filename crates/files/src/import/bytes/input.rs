//! Input: a file that is inspected and then read, even if it can be read only once.
//!
//! ```text
//! pipe ──> look: header, first rows ──> look: role of the columns ──> open: everything, from the start
//!              └──────── what was read is kept ──────┴────────────────────^
//! ```
//!
//! So standard input and pipes are recognised by their first bytes as files are. A look takes as many
//! bytes as it wants, some hundred KiB, and waits for them.

use crate::import::bytes::source::{Source, display_name, is_standard_input, open_error};
use evergraph_graph::error::{Error, Result};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file, or a stream that can be read once.
#[derive(Clone, Debug)]
pub struct Input {
    path: PathBuf,
    /// `None` for a file.
    stream: Option<Arc<Mutex<Stream>>>,
}

/// What is known of a stream.
#[derive(Debug)]
enum Stream {
    /// Not inspected yet.
    Unopened,
    /// The source, and all that was looked at.
    Looked(Box<Source>, Vec<u8>),
    /// Being read.
    Taken,
}

impl Input {
    /// The file at `path`, or a stream, if it is standard input or a pipe. Opens nothing.
    ///
    /// # Errors
    /// `not_found` or `io` if there is nothing to be read.
    pub fn new(path: &Path) -> Result<Self> {
        let is_stream = is_standard_input(path)
            || !fs::metadata(path).map_err(|error| open_error(path, error))?.is_file();
        let stream = is_stream.then(|| Arc::new(Mutex::new(Stream::Unopened)));
        Ok(Self { path: path.to_owned(), stream })
    }

    /// Where it is; `-` is standard input.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name in errors and reports.
    #[must_use]
    pub fn name(&self) -> String {
        display_name(&self.path)
    }

    /// Its size; `None` for a stream.
    ///
    /// # Errors
    /// `not_found` or `io` if it isn't there any more.
    pub fn bytes(&self) -> Result<Option<u64>> {
        if self.is_stream() {
            return Ok(None);
        }
        let metadata = fs::metadata(&self.path).map_err(|error| open_error(&self.path, error))?;
        Ok(Some(metadata.len()))
    }

    /// Whether it can be read once only.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Whether its name tells nothing: standard input, and pipes without an ending, as a shell makes them.
    #[must_use]
    pub fn is_nameless(&self) -> bool {
        self.is_stream() && self.path.extension().is_none()
    }

    /// The bytes from the start, to find out what they are: [`Input::open`] gives them again.
    ///
    /// # Errors
    /// As [`Source::open`]; `invalid` for a stream that was opened.
    pub fn look(&self) -> Result<Source> {
        let Some(stream) = &self.stream else { return Source::open(&self.path) };
        let mut state = lock(stream);
        if matches!(*state, Stream::Unopened) {
            *state = Stream::Looked(Box::new(Source::open(&self.path)?), Vec::new());
        }
        Ok(Source::from_unpacked(self.name(), Look { stream: Arc::clone(stream), at: 0 }))
    }

    /// The bytes from the start, to be read. A stream is opened once.
    ///
    /// # Errors
    /// As [`Source::open`]; `invalid` for a stream that was opened before.
    pub fn open(&self) -> Result<Source> {
        let Some(stream) = &self.stream else { return Source::open(&self.path) };
        match std::mem::replace(&mut *lock(stream), Stream::Taken) {
            Stream::Unopened => Source::open(&self.path),
            Stream::Looked(mut source, looked_at) => {
                source.unread(&looked_at);
                Ok(*source)
            }
            Stream::Taken => Err(read_already(&self.name())),
        }
    }
}

/// Reads a stream from its start, and keeps what it reads.
struct Look {
    stream: Arc<Mutex<Stream>>,
    at: usize,
}

impl Read for Look {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = lock(&self.stream);
        let Stream::Looked(source, looked_at) = &mut *state else {
            return Err(io::Error::other(read_already("the stream")));
        };
        if self.at == looked_at.len() {
            let count = source.read(buffer)?;
            looked_at.extend_from_slice(&buffer[..count]);
            self.at += count;
            return Ok(count);
        }
        let count = (&looked_at[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

fn read_already(name: &str) -> Error {
    Error::invalid(format!("{name}: can be read once only, and is read already"))
}

fn lock(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    // A reader that panicked leaves nothing half done: bytes are kept before they are handed out.
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::{Cursor, Write};

    /// A stream with `bytes`.
    fn stream(bytes: Vec<u8>) -> Input {
        let source = Source::from_reader("pipe", Cursor::new(bytes)).unwrap();
        let stream = Arc::new(Mutex::new(Stream::Looked(Box::new(source), Vec::new())));
        Input { path: "pipe".into(), stream: Some(stream) }
    }

    fn all(mut source: Source) -> Vec<u8> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_stream_is_looked_at_as_often_as_one_likes_and_read_from_its_start() {
        let text: Vec<u8> = (0..200_000).flat_map(|number: u32| number.to_le_bytes()).collect();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&text).unwrap();
        for bytes in [text.clone(), packed.finish().unwrap()] {
            let input = stream(bytes);
            let mut first = [0; 10];
            input.look().unwrap().read_exact(&mut first).unwrap();
            assert_eq!(first, text[..10]);
            assert_eq!(input.look().unwrap().peek(300_000).unwrap(), &text[..300_000]);
            assert!(all(input.open().unwrap()) == text);
            let again = input.open().err().unwrap().to_string();
            assert_eq!(again, "pipe: can be read once only, and is read already");
        }
        let whole = stream(text.clone());
        assert!(all(whole.look().unwrap()) == text && all(whole.open().unwrap()) == text);
    }

    #[test]
    fn a_damaged_stream_is_told_once_by_its_name() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&b"0123456789\n".repeat(1000)).unwrap();
        let mut packed = packed.finish().unwrap();
        packed.truncate(packed.len() - 5);
        let error = stream(packed).look().unwrap().peek(1 << 20).unwrap_err().to_string();
        assert!(error.starts_with("pipe: the gzip data ends too early, after "), "{error}");
    }
}

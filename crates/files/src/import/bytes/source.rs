//! Source: the bytes of one input file or of standard input, decompressed if they are gzip or zstd data.
//!
//! ```text
//! file or `-` ── counted ── buffer ── packing by its magic bytes ── peeked ── Read
//!                   │                 every member or frame                     │
//!                   └ progress, and where packed data broke                     └ offset in the text
//! ```
//!
//! The bytes decide, not the name. Every error names the file and what to do about it. Data packed by
//! another program (xz, bzip2, zip) is recognised and refused with the command that unpacks it, for as
//! text it would be a riddle at line 1.

use evergraph_graph::error::{Error, ErrorKind, Result};
use flate2::bufread::MultiGzDecoder;
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zstd::stream::read::Decoder;

/// Bytes that are asked of the operating system at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// Magic bytes that tell packed data apart: the longest has six.
const MAGIC_BYTES: usize = 6;

/// The bytes of one input.
///
/// As [`Read`] it gives the unpacked bytes; its errors are [`io::Error`]s around our own, which
/// [`Source::error`] takes out again.
pub struct Source {
    name: String,
    reader: Box<dyn Read + Send>,
    packed: Arc<AtomicU64>,
    packing: Packing,
    unpacked: u64,
    /// What was looked at and not read yet.
    peeked: VecDeque<u8>,
}

/// How the bytes of a file are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Source {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// `not_found` or `io` if it can't be opened; `invalid` if it is a folder or is packed in a way
    /// that isn't read.
    pub fn open(path: &Path) -> Result<Self> {
        let name = display_name(path);
        if is_standard_input(path) {
            return Self::from_reader(name, io::stdin());
        }
        let file = File::open(path).map_err(|error| open_error(path, error))?;
        let metadata = file.metadata().map_err(|error| open_error(path, error))?;
        if metadata.is_dir() {
            return Err(Error::invalid(format!("{name}: is a folder, but a file is expected here")));
        }
        Self::from_reader(name, file)
    }

    /// Reads `reader`, which errors call `name`.
    ///
    /// # Errors
    /// As [`Source::open`], for its first bytes are read here.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Result<Self> {
        let name = name.into();
        let packed = Arc::new(AtomicU64::new(0));
        let mut reader = Counted { reader, count: Arc::clone(&packed) };
        let mut magic = Vec::with_capacity(MAGIC_BYTES);
        (&mut reader)
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut magic)
            .map_err(|error| read_error(&name, error))?;
        if let Some((packer, command)) = foreign_packer(&magic) {
            return Err(Error::invalid(format!(
                "{name}: is {packer} data, which is not supported; unpack it in a pipe: \
                 {command} {name} | evergraph import DB -"
            )));
        }
        let packing = Packing::of(&magic);
        if packing == Packing::None
            && magic.len() < 2
            && let Some(ending) = packed_ending(&name)
        {
            let bytes = if magic.is_empty() { "no bytes" } else { "only 1 byte" };
            return Err(Error::invalid(format!(
                "{name}: is named .{ending} and has {bytes}: the file is cut off, fetch it again"
            )));
        }
        if packing == Packing::None
            && let Some(ending) = packed_ending(&name)
            && !looks_like_text(&magic)
        {
            return Err(Error::invalid(format!(
                "{name}: is named .{ending} and begins with bytes that are neither packed data nor text: the file is \
                 damaged, fetch it again"
            )));
        }
        let bytes = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(magic).chain(reader));
        let reader: Box<dyn Read + Send> = match packing {
            Packing::None => Box::new(bytes),
            Packing::Gzip => Box::new(buffered(MultiGzDecoder::new(bytes))),
            Packing::Zstd => {
                let decoder = Decoder::with_buffer(bytes).map_err(|error| read_error(&name, error))?;
                Box::new(buffered(decoder))
            }
        };
        Ok(Self { name, reader, packed, packing, unpacked: 0, peeked: VecDeque::new() })
    }

    /// Reads the bytes of `reader`, which errors call `name`, as they are.
    #[must_use]
    pub fn from_unpacked(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.into(),
            reader: Box::new(reader),
            packed: Arc::default(),
            packing: Packing::None,
            unpacked: 0,
            peeked: VecDeque::new(),
        }
    }

    /// Gives `bytes`, which were read from it, again.
    pub fn unread(&mut self, bytes: &[u8]) {
        bytes.iter().rev().for_each(|byte| self.peeked.push_front(*byte));
    }

    /// The first `bytes` bytes, fewer at the end of the file; they are read again afterwards.
    ///
    /// # Errors
    /// As reading.
    pub fn peek(&mut self, bytes: usize) -> Result<&[u8]> {
        while self.peeked.len() < bytes {
            let mut more = vec![0; bytes - self.peeked.len()];
            let count = self.read_behind_peeked(&mut more).map_err(Self::error)?;
            if count == 0 {
                break;
            }
            self.peeked.extend(&more[..count]);
        }
        let peeked = self.peeked.make_contiguous();
        Ok(&peeked[..peeked.len().min(bytes)])
    }

    /// The name of the input in errors and reports.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the bytes taken from the file so far (packed ones, if it is packed).
    #[must_use]
    pub fn bytes_read(&self) -> BytesRead {
        BytesRead(Arc::clone(&self.packed))
    }

    /// Our own error inside one that this source's [`Read`] returned.
    #[must_use]
    pub fn error(error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(other) => Error::new(ErrorKind::Io, "read failed").because(other),
        }
    }

    fn read_behind_peeked(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Ok(count) => {
                    self.unpacked += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io::Error::other(self.read_failed(error))),
            }
        }
    }

    fn read_failed(&self, error: io::Error) -> Error {
        // Of another source behind this one: it names the file already.
        let error = match error.downcast::<Error>() {
            Ok(ours) => return ours,
            Err(other) => other,
        };
        // What the operating system says has a number; what an unpacker says has none.
        if self.packing == Packing::None || error.raw_os_error().is_some() {
            return read_error(&self.name, error);
        }
        let cut_off = error.kind() == io::ErrorKind::UnexpectedEof;
        let what = if cut_off { "ends too early" } else { "is damaged" };
        Error::invalid(format!(
            "{}: the {} data {what}, after {} packed bytes and {} unpacked ones; fetch the file again",
            self.name,
            self.packing.name(),
            self.packed.load(Ordering::Relaxed),
            self.unpacked
        ))
        .because(error)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("packing", &self.packing)
            .finish_non_exhaustive()
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.peeked.is_empty() { self.read_behind_peeked(buffer) } else { self.peeked.read(buffer) }
    }
}

impl Packing {
    /// What packed files are named.
    const ENDINGS: [(&str, Packing); 3] =
        [("gz", Packing::Gzip), ("zst", Packing::Zstd), ("zstd", Packing::Zstd)];

    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A frame to be skipped: pzstd and seekable files begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "text",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The ending that says that the file called `name` is packed.
fn packed_ending(name: &str) -> Option<&'static str> {
    let mut endings = Packing::ENDINGS.iter().map(|(ending, _)| *ending);
    endings.find(|ending| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')))
}

/// Whether a text may begin with `start`, which may end in the middle of a character.
fn looks_like_text(start: &[u8]) -> bool {
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
    let no_control = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r');
    std::str::from_utf8(start).map_or_else(is_cut, |_| true) && start.iter().all(no_control)
}

/// `file_name` without the ending that a packer gave it.
#[must_use]
pub fn unpacked_name(file_name: &str) -> &str {
    let stems =
        Packing::ENDINGS.iter().filter_map(|(ending, _)| file_name.strip_suffix(ending)?.strip_suffix('.'));
    stems.min_by_key(|stem| stem.len()).unwrap_or(file_name)
}

/// A count of bytes that a [`Source`] keeps, readable from another thread.
#[derive(Clone, Debug, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// Counts `bytes` that were taken without a source.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes taken from the file so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        // Relaxed: a figure for people.
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether `path` stands for standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of `path` in errors and reports.
#[must_use]
pub fn display_name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Why `path` could not be opened, and what to do.
#[must_use]
pub fn open_error(path: &Path, error: io::Error) -> Error {
    let name = display_name(path);
    match error.kind() {
        io::ErrorKind::NotFound => Error::new(
            ErrorKind::NotFound,
            format!("{name}: there is no such file or folder; check the path"),
        ),
        io::ErrorKind::PermissionDenied => Error::new(
            ErrorKind::Io,
            format!("{name}: this user may not read it; change its permissions or run as its owner"),
        )
        .because(error),
        _ => read_error(&name, error),
    }
}

fn read_error(name: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{name}: cannot be read: {error}")).because(error)
}

fn buffered(unpacker: impl Read + Send) -> impl Read + Send {
    // One decompressed read feeds many small ones of a parser.
    BufReader::with_capacity(BUFFER_BYTES, unpacker)
}

fn foreign_packer(magic: &[u8]) -> Option<(&'static str, &'static str)> {
    const PACKERS: [(&[u8], &str, &str); 3] = [
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xz -dc"),
        (b"BZh", "bzip2", "bzip2 -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
    ];
    PACKERS
        .iter()
        .find(|(bytes, _, _)| magic.starts_with(bytes))
        .map(|(_, packer, command)| (*packer, *command))
}

/// Counts the bytes that pass.
struct Counted<R> {
    reader: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut source = Source::from_reader(name, Cursor::new(bytes))?;
        let mut text = Vec::new();
        source.read_to_end(&mut text).map_err(Source::error)?;
        Ok(text)
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 1).unwrap()
    }

    #[test]
    fn plain_and_packed_data_read_alike_and_every_member_is_read() {
        for pack in [gzip, zstd] {
            let members = [pack(b"one\n"), pack(b"two\n")].concat();
            assert_eq!(read_all("a", members).unwrap(), b"one\ntwo\n");
        }
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1], zstd(b"one\n").as_slice()].concat();
        assert_eq!(read_all("a.zst", skipped).unwrap(), b"one\n");
        assert_eq!(read_all("a.txt", b"one\ntwo\n".to_vec()).unwrap(), b"one\ntwo\n");
        assert_eq!(read_all("a.txt", Vec::new()).unwrap(), b"");
        assert_eq!(read_all("a.txt", b"1".to_vec()).unwrap(), b"1");
    }

    #[test]
    fn what_was_peeked_at_is_read_again() {
        let text = b"0123456789".repeat(100_000);
        let mut source = Source::from_reader("a.gz", Cursor::new(gzip(&text))).unwrap();
        assert_eq!(source.peek(4).unwrap(), b"0123");
        assert_eq!(source.peek(500_000).unwrap().len(), 500_000);
        assert_eq!(source.peek(3).unwrap(), b"012");
        let mut read = Vec::new();
        source.read_to_end(&mut read).unwrap();
        assert!(read == text);
        assert_eq!(source.peek(1).unwrap(), b"");
    }

    #[test]
    fn a_name_loses_the_ending_of_its_packer_only() {
        for (name, unpacked) in
            [("a.csv.gz", "a.csv"), ("a.e.zst", "a.e"), ("a.zstd", "a"), ("agz", "agz"), ("a.csv", "a.csv")]
        {
            assert_eq!(unpacked_name(name), unpacked);
        }
    }

    #[test]
    fn truncated_gzip_names_the_file_and_both_offsets() {
        let mut packed = gzip(&b"0123456789\n".repeat(10_000));
        packed.truncate(packed.len() - 5);
        let error = read_all("a.gz", packed.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(
            error.to_string(),
            format!(
                "a.gz: the gzip data ends too early, after {} packed bytes and 110000 unpacked ones; \
                 fetch the file again",
                packed.len()
            )
        );
        assert_eq!(
            read_all("a.gz", vec![0x1f]).unwrap_err().to_string(),
            "a.gz: is named .gz and has only 1 byte: the file is cut off, fetch it again"
        );
        assert_eq!(
            read_all("a.gz", Vec::new()).unwrap_err().to_string(),
            "a.gz: is named .gz and has no bytes: the file is cut off, fetch it again"
        );
    }

    #[test]
    fn packed_data_with_wrong_first_bytes_is_not_taken_for_text() {
        for (name, mut packed) in [("a.gz", gzip(b"one\n")), ("a.zst", zstd(b"one\n"))] {
            packed[0] ^= 1;
            let error = read_all(name, packed.clone()).unwrap_err().to_string();
            assert!(
                error.ends_with("neither packed data nor text: the file is damaged, fetch it again"),
                "{error}"
            );
            assert_eq!(read_all("a.txt", packed.clone()).unwrap(), packed);
        }
        // A byte order mark, and a character that the sixth byte cuts.
        for text in ["\u{feff}1 2\n", "12345é", "1\t2\r\n3"] {
            assert_eq!(read_all("a.gz", text.into()).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn truncated_and_damaged_zstd_is_told_as_gzip_is() {
        let text: Vec<u8> =
            (0..20_000_u32).flat_map(|number| format!("{}\n", number * 7919).into_bytes()).collect();
        let packed = zstd::encode_all(text.as_slice(), 1).unwrap();
        let short = read_all("a.zst", packed[..packed.len() / 2].to_vec()).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Invalid);
        assert!(short.to_string().starts_with("a.zst: the zstd data ends too early, after "), "{short}");
        let mut broken = packed.clone();
        broken[20..40].fill(0xff);
        let error = read_all("a.zst", broken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().starts_with("a.zst: the zstd data is damaged, after "), "{error}");
    }

    #[test]
    fn damaged_gzip_is_told_from_a_short_one() {
        let mut packed = gzip(&b"0123456789\n".repeat(10_000));
        let end = packed.len();
        packed[end - 6] ^= 0xff; // in the checksum
        let error = read_all("a.gz", packed).unwrap_err();
        assert!(error.to_string().starts_with("a.gz: the gzip data is damaged, after "), "{error}");
    }

    #[test]
    fn data_of_other_packers_is_refused_with_the_command_that_unpacks_it() {
        let error = read_all("a.xz", b"\xfd7zXZ\0\0".to_vec()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.xz: is xz data, which is not supported; unpack it in a pipe: xz -dc a.xz | evergraph import DB -"
        );
    }

    #[test]
    fn a_missing_file_and_a_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("people.csv");
        let error = Source::open(&missing).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            format!("{}: there is no such file or folder; check the path", missing.display())
        );
        let error = Source::open(folder.path()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(
            error.to_string(),
            format!("{}: is a folder, but a file is expected here", folder.path().display())
        );
    }
}

//! Source: the bytes of an XML file as UTF-8, with the position in the file, and with limits.
//!
//! ```text
//! EF BB BF      UTF-8, and without a mark as well        00 00 FE FF, FF FE 00 00   UTF-32: refused
//! FE FF, FF FE  UTF-16, big or little end first          3C 00, 00 3C without mark  UTF-16: refused
//! ```
//!
//! The XML reader takes from here exactly what it has understood, so the place of what was taken last
//! is the place of the tag or text that comes next. A tag or a text must end before the limit: the
//! reader collects it whole, and an endless one would fill the memory.

use std::io::{self, BufRead, Chain, Cursor, Read};

use crate::element::Position;
use crate::error::ReadError;

/// Bytes of an input that are looked at to know its encoding.
const MARK_BYTES: usize = 4;
/// Bytes of UTF-8 that are made of UTF-16 at once, about.
const BLOCK_BYTES: usize = 16 << 10;

/// XML as UTF-8.
#[derive(Debug)]
pub struct XmlSource<R> {
    bytes: Chain<Cursor<Vec<u8>>, R>,
    encoding: Encoding,
    /// What was made of UTF-16 and not taken yet; unused otherwise.
    decoded: Vec<u8>,
    taken: usize,
    position: Position,
    /// Bytes that were taken since the last [`Self::begin_unit`].
    unit_bytes: usize,
    unit_bytes_max: usize,
}

/// How the input's characters are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// UTF-8, which is passed on as it is.
    Utf8,
    /// UTF-16; says whether the high byte of a unit comes first.
    Utf16 {
        /// Whether the high byte of a unit comes first.
        big_endian: bool,
    },
}

impl<R: BufRead> XmlSource<R> {
    /// Looks at the first bytes of `bytes` for the encoding. A tag or text may have `unit_bytes_max`
    /// bytes.
    ///
    /// # Errors
    /// If the bytes can't be had or are in an encoding that is not read.
    pub fn new(mut bytes: R, unit_bytes_max: usize) -> Result<Self, ReadError> {
        let mut start = Vec::new();
        bytes
            .by_ref()
            .take(MARK_BYTES as u64)
            .read_to_end(&mut start)
            .map_err(|source| ReadError::Io { position: Position::START, source })?;
        let (encoding, mark) = match start.as_slice() {
            [0xff, 0xfe, 0, 0] | [0, 0, 0xfe, 0xff] => return Err(unsupported("UTF-32")),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { big_endian: true }, 2),
            [0xff, 0xfe, ..] => (Encoding::Utf16 { big_endian: false }, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [b'<', 0, ..] | [0, b'<', ..] => return Err(unsupported("UTF-16 without a byte order mark")),
            _ => (Encoding::Utf8, 0),
        };
        start.drain(..mark);
        Ok(Self {
            bytes: Cursor::new(start).chain(bytes),
            encoding,
            decoded: Vec::new(),
            taken: 0,
            position: Position::START,
            unit_bytes: 0,
            unit_bytes_max,
        })
    }

    /// How the input's characters are made.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Where what was not taken yet begins.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the tag or text is longer than it may be, which is why reading failed.
    pub fn unit_is_too_long(&self) -> bool {
        self.unit_bytes > self.unit_bytes_max
    }

    /// How long a tag or a text may be, in bytes.
    pub fn unit_bytes_max(&self) -> usize {
        self.unit_bytes_max
    }

    /// A tag or a text begins: its bytes are counted from here.
    pub fn begin_unit(&mut self) {
        self.unit_bytes = 0;
    }

    /// Makes UTF-8 of what comes next, if all was taken.
    fn decode(&mut self, big_endian: bool) -> io::Result<()> {
        if self.taken < self.decoded.len() {
            return Ok(());
        }
        self.decoded.clear();
        self.taken = 0;
        let Self { bytes, decoded, .. } = self;
        let mut unit = || -> io::Result<Option<u16>> {
            let mut pair = [0; 2];
            if bytes.fill_buf()?.is_empty() {
                return Ok(None);
            }
            bytes.read_exact(&mut pair)?;
            Ok(Some(if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }))
        };
        while decoded.len() < BLOCK_BYTES {
            let Some(first) = unit()? else { break };
            // A second half is read only behind a first, so none is left over for the next block.
            let second = if (0xd800..0xdc00).contains(&first) { unit()? } else { None };
            for character in char::decode_utf16([first].into_iter().chain(second)) {
                let character = character.map_err(|error| {
                    let half = error.unpaired_surrogate();
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("{half:#06x} is half of a UTF-16 pair"),
                    )
                })?;
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Ok(())
    }
}

fn unsupported(encoding: &str) -> ReadError {
    ReadError::Unsupported { position: Position::START, what: format!("a file in {encoding}") }
}

impl<R: BufRead> BufRead for XmlSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unit_is_too_long() {
            return Err(io::Error::other("a tag or a text is too long"));
        }
        let block = match self.encoding {
            Encoding::Utf8 => self.bytes.fill_buf()?,
            Encoding::Utf16 { big_endian } => {
                self.decode(big_endian)?;
                &self.decoded[self.taken..]
            }
        };
        // One byte past the limit, which then is seen.
        Ok(&block[..block.len().min(self.unit_bytes_max + 1 - self.unit_bytes)])
    }

    fn consume(&mut self, count: usize) {
        self.unit_bytes += count;
        match self.encoding {
            Encoding::Utf8 => {
                // What was filled is still there: asking for it again costs nothing and can't fail.
                if let Ok(block) = self.bytes.fill_buf() {
                    self.position = self.position.after(&block[..count]);
                }
                self.bytes.consume(count);
            }
            Encoding::Utf16 { .. } => {
                let end = self.taken + count;
                self.position = self.position.after(&self.decoded[self.taken..end]);
                self.taken = end;
            }
        }
    }
}

impl<R: BufRead> Read for XmlSource<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let block = self.fill_buf()?;
        let count = block.len().min(bytes.len());
        bytes[..count].copy_from_slice(&block[..count]);
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    fn read(bytes: &[u8], block: usize) -> io::Result<(String, Position)> {
        let mut source =
            XmlSource::new(BufReader::with_capacity(block, bytes), 1 << 20).map_err(io::Error::other)?;
        let mut text = String::new();
        source.read_to_string(&mut text)?;
        Ok((text, source.position()))
    }

    #[test]
    fn utf_8_and_utf_16_by_their_marks_are_the_same_text() {
        let text = "<a>\n\u{e9}\u{1f600}</a>";
        let end = Position::START.after(text.as_bytes());
        let marked = format!("\u{feff}{text}");
        for bytes in [text.as_bytes(), marked.as_bytes(), &utf16(text, true), &utf16(text, false)] {
            for block in [1, 3, 100] {
                assert_eq!(read(bytes, block).unwrap(), (text.to_owned(), end));
            }
        }
        let long = "\u{1f600}x".repeat(20_000);
        assert_eq!(read(&utf16(&long, true), 7).unwrap().0, long);
    }

    #[test]
    fn other_encodings_are_refused_by_name() {
        let units = utf16("<a/>", false);
        for (bytes, name) in [
            (&units[2..], "UTF-16 without"),
            (&[0, b'<', 0, b'a'], "UTF-16 without"),
            (&[0xff, 0xfe, 0, 0], "UTF-32"),
            (&[0, 0, 0xfe, 0xff], "UTF-32"),
        ] {
            let error = XmlSource::new(bytes, 100).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn broken_utf_16_is_an_error() {
        for units in [
            [0xfe, 0xff, 0xd8, 0x00, 0x00, 0x41].as_slice(),
            &[0xfe, 0xff, 0xdc, 0],
            &[0xfe, 0xff, 0xd8, 0],
            &[0xfe, 0xff, 0],
        ] {
            assert!(read(units, 10).is_err(), "{units:?}");
        }
        assert_eq!(read(&[0xfe, 0xff], 10).unwrap().0, "");
        assert_eq!(read(&[], 10).unwrap().0, "");
    }

    #[test]
    fn a_unit_is_not_endless() {
        let mut source = XmlSource::new(BufReader::new(io::repeat(b'x')), 100_000).unwrap();
        let mut text = Vec::new();
        assert!(source.read_until(b'<', &mut text).is_err());
        assert!(source.unit_is_too_long() && text.len() < 200_000);
        source.begin_unit();
        assert!(!source.unit_is_too_long());
    }
}

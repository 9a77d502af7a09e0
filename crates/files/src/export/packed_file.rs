//! Packed file: writes one file with gzip, zstd or no compression, and counts its bytes.

use crate::export::options::Packing;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};

/// Zstd's own default: fast, and half of what gzip leaves.
const ZSTD_LEVEL: i32 = 3;

/// Gives bytes, packed, to `W`.
pub struct PackedFile<W: Write>(Form<W>);

enum Form<W: Write> {
    Plain(BufWriter<Counted<W>>),
    Gzip(GzEncoder<BufWriter<Counted<W>>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Counted<W>>>),
}

struct Counted<W> {
    bytes: W,
    count: u64,
}

impl<W: Write> PackedFile<W> {
    /// Packs what comes as `packing` says.
    ///
    /// # Errors
    /// `io` if zstd can't begin.
    pub fn new(bytes: W, packing: Packing) -> io::Result<Self> {
        let counted = BufWriter::with_capacity(1 << 16, Counted { bytes, count: 0 });
        Ok(Self(match packing {
            Packing::None => Form::Plain(counted),
            Packing::Gzip => Form::Gzip(GzEncoder::new(counted, Compression::default())),
            Packing::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(counted, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Form::Zstd(encoder)
            }
        }))
    }

    /// Ends the stream, flushes it, and gives `W` back with how many bytes it was given.
    ///
    /// # Errors
    /// If bytes can't be written.
    pub fn finish(self) -> io::Result<(W, u64)> {
        let buffered = match self.0 {
            Form::Plain(buffered) => buffered,
            Form::Gzip(encoder) => encoder.finish()?,
            Form::Zstd(encoder) => encoder.finish()?,
        };
        let mut counted = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
        counted.bytes.flush()?;
        Ok((counted.bytes, counted.count))
    }
}

impl<W: Write> Write for PackedFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Plain(bytes_out) => bytes_out.write(bytes),
            Form::Gzip(encoder) => encoder.write(bytes),
            Form::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::Plain(bytes_out) => bytes_out.flush(),
            Form::Gzip(encoder) => encoder.flush(),
            Form::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.bytes.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.bytes.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bytes::source::Source;
    use std::io::{Cursor, Read};

    #[test]
    fn what_is_packed_is_unpacked_by_an_import() {
        let text = "1 2\n".repeat(10_000);
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let mut file = PackedFile::new(Vec::new(), packing).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let (bytes, count) = file.finish().unwrap();
            assert_eq!(count, bytes.len() as u64);
            assert_eq!(bytes.len() < text.len(), packing != Packing::None, "{packing:?}");
            let mut back = String::new();
            Source::from_reader("a", Cursor::new(bytes)).unwrap().read_to_string(&mut back).unwrap();
            assert!(back == text, "{packing:?}");
        }
    }
}

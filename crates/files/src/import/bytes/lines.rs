//! Lines: cuts a source into blocks of whole lines.

use crate::import::bytes::source::{BytesRead, Source};
use evergraph_graph::error::{Error, Result};
use std::io::Read;

/// Bytes of a block, about.
pub const BLOCK_BYTES: usize = 1 << 20;

/// Longer lines are refused: the file isn't what it was taken for.
const LINE_BYTES_MAX: usize = 1 << 24;

/// Cuts a source into blocks of whole lines.
pub struct Lines {
    source: Source,
    block_bytes: usize,
    /// The beginning of a line whose end isn't read yet.
    rest: Vec<u8>,
    started: bool,
}

impl Lines {
    /// Cuts `source` into blocks of about `block_bytes`.
    #[must_use]
    pub fn new(source: Source, block_bytes: usize) -> Self {
        Self { source, block_bytes, rest: Vec::new(), started: false }
    }

    /// Counts the bytes taken from the source.
    #[must_use]
    pub fn bytes_read(&self) -> BytesRead {
        self.source.bytes_read()
    }

    /// The next whole lines; `None` at the end. The last line may lack its line break. A byte order
    /// mark at the beginning is left out.
    ///
    /// # Errors
    /// As reading the source; and `invalid` for a line of more than 16 MiB.
    pub fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        let mut block = std::mem::take(&mut self.rest);
        loop {
            let before = block.len();
            (&mut self.source)
                .take(self.block_bytes as u64)
                .read_to_end(&mut block)
                .map_err(Source::error)?;
            let at_end = block.len() < before + self.block_bytes;
            if !self.started && (block.len() >= 3 || at_end) {
                self.started = true;
                if block.starts_with(b"\xef\xbb\xbf") {
                    block.drain(..3);
                }
            }
            if at_end {
                return Ok((!block.is_empty()).then_some(block));
            }
            // Only what is new can hold the last line break: the rest never does.
            if let Some(line_break) = memchr::memrchr(b'\n', &block) {
                self.rest = block.split_off(line_break + 1);
                return Ok(Some(block));
            }
            if block.len() > LINE_BYTES_MAX {
                return Err(Error::invalid(format!(
                    "{}: a line of more than {} MiB: this is no text file of rows",
                    self.source.name(),
                    LINE_BYTES_MAX >> 20
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn blocks(text: &[u8], block_bytes: usize) -> Result<Vec<Vec<u8>>> {
        let source = Source::from_reader("a.txt", Cursor::new(text.to_vec()))?;
        let mut lines = Lines::new(source, block_bytes);
        let mut blocks = Vec::new();
        while let Some(block) = lines.next_block()? {
            blocks.push(block);
        }
        Ok(blocks)
    }

    proptest! {
        #[test]
        fn blocks_together_are_the_file_and_end_at_line_ends(text in "[ab\n]{0,60}", block_bytes in 1usize..20) {
            let blocks = blocks(text.as_bytes(), block_bytes).unwrap();
            prop_assert_eq!(blocks.concat(), text.as_bytes());
            for block in blocks.iter().rev().skip(1) {
                prop_assert_eq!(block.last(), Some(&b'\n'));
            }
            prop_assert!(blocks.iter().all(|block| !block.is_empty()));
        }
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        for block_bytes in [1, 2, 100] {
            assert_eq!(blocks(b"\xef\xbb\xbf1 2\n", block_bytes).unwrap().concat(), b"1 2\n");
        }
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let error = blocks(&vec![b'x'; LINE_BYTES_MAX + (2 << 20)], BLOCK_BYTES).unwrap_err();
        assert_eq!(error.to_string(), "a.txt: a line of more than 16 MiB: this is no text file of rows");
    }
}

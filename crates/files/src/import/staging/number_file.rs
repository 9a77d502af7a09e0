//! Number file: arrays of numbers in a temporary file of an import, written once and read piece by piece.

use crate::import::staging::spill::Staging;
use evergraph_graph::error::Result;
use evergraph_storage::checkpoint::arrays::{Number, put_array};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that are written or read at once: their numbers are in memory beside them.
const PIECE_BYTES: usize = 16 << 10;

/// Arrays of numbers, in a file without a name.
#[derive(Debug)]
pub struct NumberFile {
    staging: Arc<Staging>,
    file: File,
    end: u64,
}

impl NumberFile {
    /// An empty one, where `staging` has its own.
    ///
    /// # Errors
    /// As [`Staging::create_file`].
    pub fn new(staging: &Arc<Staging>) -> Result<Self> {
        Ok(Self { file: staging.create_file()?, staging: Arc::clone(staging), end: 0 })
    }

    /// Bytes in the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Writes `numbers` to the end, and says where they begin: bytes from the beginning of the file.
    ///
    /// # Errors
    /// `limit` on a full disk; `io`.
    pub fn append<T: Number>(&mut self, numbers: &[T]) -> Result<u64> {
        let begin = self.end;
        let mut bytes = Vec::with_capacity(PIECE_BYTES.min(numbers.len() * T::BYTES));
        for piece in numbers.chunks(PIECE_BYTES / T::BYTES) {
            bytes.clear();
            put_array(&mut bytes, piece);
            let written = self.file.write_all_at(&bytes, self.end);
            written.map_err(|error| self.staging.failed("write", error))?;
            self.end += bytes.len() as u64;
        }
        Ok(begin)
    }

    /// Appends the `count` numbers from byte `offset` on to `numbers`.
    ///
    /// # Errors
    /// `io`.
    pub fn read_into<T: Number>(&self, mut offset: u64, count: usize, numbers: &mut Vec<T>) -> Result<()> {
        numbers.reserve(count);
        let mut bytes = Vec::new();
        let mut left = count;
        while left > 0 {
            let piece = left.min(PIECE_BYTES / T::BYTES);
            bytes.resize(piece * T::BYTES, 0);
            let read = self.file.read_exact_at(&mut bytes, offset);
            read.map_err(|error| self.staging.failed("read", error))?;
            numbers.extend_from_slice(&T::get(&bytes));
            offset += bytes.len() as u64;
            left -= piece;
        }
        Ok(())
    }

    /// Reads the `count` numbers from byte `offset` on one after the other.
    #[must_use]
    pub fn cursor<T: Number>(&self, offset: u64, count: u64) -> Cursor<'_, T> {
        Cursor { file: self, offset, left: count, piece: Vec::new(), at: 0 }
    }
}

/// Reads numbers in order. Memory: a piece of 16 KiB.
#[derive(Debug)]
pub struct Cursor<'a, T> {
    file: &'a NumberFile,
    offset: u64,
    /// Numbers that are not in `piece` yet.
    left: u64,
    piece: Vec<T>,
    /// The next one in `piece`.
    at: usize,
}

impl<T: Number> Cursor<'_, T> {
    /// The next number; `None` behind the last one.
    ///
    /// # Errors
    /// `io`.
    #[inline]
    pub fn read_next(&mut self) -> Result<Option<T>> {
        if self.at == self.piece.len() && !self.fill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.piece[self.at - 1]))
    }

    fn fill(&mut self) -> Result<bool> {
        let count = self.left.min((PIECE_BYTES / T::BYTES) as u64);
        self.piece.clear();
        self.at = 0;
        self.file.read_into(self.offset, count as usize, &mut self.piece)?;
        self.offset += count * T::BYTES as u64;
        self.left -= count;
        Ok(count > 0)
    }
}

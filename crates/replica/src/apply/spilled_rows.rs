//! `SpilledRows`: inserted rows of one transaction in a temporary file.
//!
//! ```text
//! file    [ block ]*                    without a name: it goes with its transaction
//! block   [ row ]*                      some 256 KiB; where it lies stays in memory
//! row     rule:varint  key:value  has a second one:u8  second key:value?  cells
//! cell    is there:u8  value?
//! ```

use crate::translate::row_change::{CellChange, RowKey};
use crate::translate::rules::RuleNumber;
use evergraph_files::import::staging::temporary_file::{FilePurpose, FileSpan, TemporaryFile};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use std::path::Path;

/// Bytes of rows that are written at once.
const BLOCK_BYTES: usize = 256 << 10;

const PURPOSE: FilePurpose = FilePurpose {
    owner: "the replica",
    remedy: "or give one transaction more memory (--transaction-memory), so that its rows stay there",
};

/// Visits a row: its rule, its key, and its cells.
pub(super) type RowVisitor<'v> = dyn FnMut(RuleNumber, &RowKey, &[CellChange]) -> Result<()> + 'v;

/// Rows that were inserted, in their order.
#[derive(Debug)]
pub(super) struct SpilledRows {
    /// How many cells a row of each rule has.
    widths: Vec<usize>,
    file: TemporaryFile,
    blocks: Vec<FileSpan>,
    /// Rows that are not in the file yet.
    form: Vec<u8>,
}

impl SpilledRows {
    /// None yet; they will go to a file in `folder`.
    pub(super) fn new(folder: &Path, widths: Vec<usize>) -> Self {
        let file = TemporaryFile::new(folder.to_owned(), PURPOSE);
        Self { widths, file, blocks: Vec::new(), form: Vec::new() }
    }

    /// Adds a row, which has all of its cells.
    ///
    /// # Errors
    /// `limit` on a full disk, `io`; both name the folder.
    pub(super) fn push(&mut self, rule: RuleNumber, key: &RowKey, cells: &[CellChange]) -> Result<()> {
        put_varint(&mut self.form, rule as u64);
        key.first.encode(&mut self.form);
        put_optional(&mut self.form, key.second.as_ref());
        cells.iter().for_each(|cell| put_optional(&mut self.form, cell.value()));
        if self.form.len() >= BLOCK_BYTES {
            self.blocks.push(self.file.append(&self.form)?);
            self.form.clear();
        }
        Ok(())
    }

    /// Visits all rows: rule, key and cells of each.
    ///
    /// # Errors
    /// Those of `visit`; `io`, and `corrupt` if the file holds something else by now.
    pub(super) fn visit(&self, visit: &mut RowVisitor<'_>) -> Result<()> {
        let (mut form, mut cells) = (Vec::new(), Vec::new());
        for span in &self.blocks {
            self.file.read(*span, &mut form)?;
            let mut reader = Reader::new(&form);
            while !reader.is_empty() {
                let row = self.decode(&mut reader, &mut cells);
                let (rule, key) = row.map_err(|error| self.file.changed(*span, &error.to_string()))?;
                visit(rule, &key, &cells)?;
            }
        }
        let mut reader = Reader::new(&self.form);
        while !reader.is_empty() {
            let (rule, key) = self.decode(&mut reader, &mut cells).expect("it was written here");
            visit(rule, &key, &cells)?;
        }
        Ok(())
    }

    fn decode(&self, reader: &mut Reader<'_>, cells: &mut Vec<CellChange>) -> Decoded<(RuleNumber, RowKey)> {
        let rule = reader.at_most(self.widths.len().saturating_sub(1) as u64)? as usize;
        let key = RowKey { first: Value::decode(reader)?, second: take_optional(reader)? };
        cells.clear();
        for _ in 0..self.widths[rule] {
            cells.push(CellChange::of(take_optional(reader)?));
        }
        Ok((rule, key))
    }
}

fn put_optional(out: &mut Vec<u8>, value: Option<&Value>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        value.encode(out);
    }
}

fn take_optional(reader: &mut Reader<'_>) -> Decoded<Option<Value>> {
    match reader.u8()? {
        0 => Ok(None),
        _ => Value::decode(reader).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (RuleNumber, RowKey, Vec<CellChange>);

    fn row(number: i64) -> Row {
        let key = RowKey {
            first: Value::from(number),
            second: (number % 3 == 0).then(|| Value::from(format!("end {number}"))),
        };
        match number % 2 {
            0 => (0, key, Vec::new()),
            _ => {
                (1, key, vec![CellChange::Value("x".repeat(number as usize % 500).into()), CellChange::Null])
            }
        }
    }

    fn visited(rows: &SpilledRows) -> Result<Vec<Row>> {
        let mut all = Vec::new();
        rows.visit(&mut |rule, key, cells| {
            all.push((rule, key.clone(), cells.to_vec()));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn rows_come_back_in_their_order_from_the_file_and_from_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut spilled = SpilledRows::new(folder.path(), vec![0, 2]);
        let rows: Vec<Row> = (0..5000).map(row).collect();
        for (rule, key, cells) in &rows {
            spilled.push(*rule, key, cells).unwrap();
        }
        assert!(
            spilled.blocks.len() >= 2 && !spilled.form.is_empty(),
            "some are in the file, some in memory"
        );
        for _ in 0..2 {
            assert_eq!(visited(&spilled).unwrap(), rows);
        }
    }

    #[test]
    fn a_file_that_changed_is_an_error_that_names_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut spilled = SpilledRows::new(folder.path(), vec![0, 2]);
        for number in 0..5000 {
            let (rule, key, cells) = row(number);
            spilled.push(rule, &key, &cells).unwrap();
        }
        spilled.file.write(b"?", 3).unwrap();
        let error = visited(&spilled).unwrap_err();
        assert!(error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
    }
}

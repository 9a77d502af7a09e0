//! CSV rows: records turned into columns of values, ids and names, as the header says.
//!
//! Columns are read one after the other, not rows: each is of one type. A record with a bad field is
//! left out of all of them.

use crate::import::cell::{CellColumn, Cells, shortened};
use crate::import::csv_records::{RecordBatch, RecordFields};
use crate::import::faults::{Fault, FaultRules, Faults};
use crate::import::header::{Header, Meaning};
use crate::import::integer::parse_i64;
use crate::import::options::IdType;
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use std::collections::{BTreeMap, HashMap};

/// How the records of one file become rows.
#[derive(Debug)]
pub struct RowFormat {
    /// What the columns hold.
    pub header: Header,
    /// The types of the id columns, from left to right: one for vertices, two for edges.
    pub id_types: Vec<IdType>,
    /// The label or type of rows that name none.
    pub default_name: String,
    /// The text that stands for no value, besides an empty one.
    pub null: Option<Vec<u8>>,
}

/// The rows of one batch of records.
#[derive(Debug)]
pub struct CsvRows {
    /// The line where each row begins in its file.
    pub lines: Vec<u64>,
    /// The properties, the id's not among them.
    pub columns: Vec<(String, CellColumn)>,
    /// The id columns, from left to right.
    pub ids: Vec<IdCells>,
    /// The label or type of each row; `None` if the file has no column for it.
    pub names: Option<Names>,
    /// Records that were left out.
    pub faults: Faults,
    /// The texts of all records, for errors.
    texts: RecordFields,
    /// The record of each row; `None` if none was left out.
    kept: Option<Vec<u32>>,
}

/// Labels or types of rows: few names, an index into them for each row.
#[derive(Debug, Default)]
pub struct Names {
    /// The names that occur.
    pub names: Vec<String>,
    /// Index into `names`, a row.
    pub codes: Vec<u32>,
}

/// Ids of one type, one a row.
#[derive(Debug)]
pub enum IdCells {
    /// Whole numbers, by their bits.
    Integers(Vec<u64>),
    /// Texts, one behind the other, and where each ends.
    Strings {
        /// All texts.
        text: Vec<u8>,
        /// Where each ends.
        ends: Vec<usize>,
    },
}

impl RowFormat {
    /// Reads a batch of records.
    #[must_use]
    pub fn parse(&self, batch: RecordBatch, rules: FaultRules) -> CsvRows {
        let records = batch.len();
        let fields = batch.fields;
        let mut bad: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        let mut note = |record: usize, column: usize, why: String| {
            bad.entry(record).or_insert((column, why));
        };
        let mut properties: Vec<(String, Cells)> = Vec::new();
        let mut ids: Vec<IdCells> = Vec::new();
        let mut names: Option<Names> = None;
        for (column, field) in self.header.fields.iter().enumerate() {
            match &field.meaning {
                Meaning::Ignore => {}
                Meaning::Property { key, cell_type } => {
                    let mut cells = Cells::new(*cell_type);
                    for record in 0..records {
                        if let Err(why) = cells.push(self.without_null(fields.field(record, column))) {
                            note(record, column, why);
                        }
                    }
                    properties.push((key.clone(), cells));
                }
                Meaning::Id { .. } | Meaning::StartId(_) | Meaning::EndId(_) => {
                    let mut cells = IdCells::new(self.id_types[ids.len()]);
                    for record in 0..records {
                        if let Err(why) = cells.push(self.without_null(fields.field(record, column))) {
                            note(record, column, why);
                        }
                    }
                    ids.push(cells);
                }
                Meaning::Label | Meaning::Type => {
                    let mut column_names = NameReader::default();
                    for record in 0..records {
                        let text = self.without_null(fields.field(record, column));
                        if let Err(why) = column_names.push(text, &self.default_name) {
                            note(record, column, why);
                        }
                    }
                    names = Some(column_names.names);
                }
            }
        }
        let mut rows = CsvRows {
            lines: batch.lines,
            columns: Vec::new(),
            ids,
            names,
            faults: Faults::new(rules),
            texts: fields,
            kept: None,
        };
        for (record, (column, why)) in &bad {
            let name = &self.header.fields[*column].text;
            let text = || rows.texts.text(*record);
            rows.faults.push(rows.lines[*record], || Fault::of_column(*column, name, why.clone(), &text()));
        }
        if !bad.is_empty() {
            let keep: Vec<bool> = (0..records).map(|record| !bad.contains_key(&record)).collect();
            let mut kept = keep.iter();
            rows.lines.retain(|_| *kept.next().expect("one entry a record"));
            properties.iter_mut().for_each(|(_, cells)| cells.retain(&keep));
            rows.ids.iter_mut().for_each(|cells| cells.retain(&keep));
            if let Some(names) = &mut rows.names {
                let mut kept = keep.iter();
                names.codes.retain(|_| *kept.next().expect("one entry a record"));
            }
            let kept = (0..records as u32).zip(&keep).filter(|(_, keep)| **keep);
            rows.kept = Some(kept.map(|(record, _)| record).collect());
        }
        rows.faults.join(batch.faults);
        rows.columns = properties.into_iter().map(|(key, cells)| (key, cells.finish())).collect();
        rows
    }

    fn without_null<'a>(&self, field: &'a [u8]) -> &'a [u8] {
        if self.null.as_deref() == Some(field) { b"" } else { field }
    }
}

impl CsvRows {
    /// The text of `row` for errors, as [`RecordFields::text`] gives it.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn text(&self, row: usize) -> Vec<u8> {
        self.texts.text(self.kept.as_ref().map_or(row, |kept| kept[row] as usize))
    }
}

impl IdCells {
    fn new(id_type: IdType) -> Self {
        match id_type {
            IdType::Integer => Self::Integers(Vec::new()),
            IdType::String => Self::Strings { text: Vec::new(), ends: Vec::new() },
        }
    }

    /// Reads the next id. After an error there is one all the same, of no meaning.
    fn push(&mut self, field: &[u8]) -> Result<(), String> {
        if let Self::Integers(ids) = self {
            let id = parse_i64(field.trim_ascii());
            ids.push(id.unwrap_or(0).cast_unsigned());
            return id.map(drop).map_err(|_| format!("{} is no long, as ids are here", shortened(field)));
        }
        if let Self::Strings { text, ends } = self {
            text.extend_from_slice(field);
            ends.push(text.len());
        }
        if field.is_empty() {
            return Err("the id is missing".to_owned());
        }
        if std::str::from_utf8(field).is_err() {
            return Err(format!("{} is not UTF-8; convert the file with iconv", shortened(field)));
        }
        Ok(())
    }

    fn retain(&mut self, keep: &[bool]) {
        match self {
            Self::Integers(ids) => {
                let mut kept = keep.iter();
                ids.retain(|_| *kept.next().expect("one entry an id"));
            }
            Self::Strings { text, ends } => {
                let (mut kept_text, mut kept_ends) = (Vec::with_capacity(text.len()), Vec::new());
                for (row, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
                    kept_text.extend_from_slice(string_at(text, ends, row));
                    kept_ends.push(kept_text.len());
                }
                (*text, *ends) = (kept_text, kept_ends);
            }
        }
    }

    /// How many ids.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(ids) => ids.len(),
            Self::Strings { ends, .. } => ends.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of `row` as errors show it.
    #[must_use]
    pub fn show(&self, row: usize) -> String {
        match self {
            Self::Integers(ids) => ids[row].cast_signed().to_string(),
            Self::Strings { text, ends } => shortened(string_at(text, ends, row)).to_string(),
        }
    }

    /// The ids as a property.
    #[must_use]
    pub fn to_column(&self) -> CellColumn {
        let mut column = PackedColumnBuilder::default();
        let value_type = match self {
            Self::Integers(ids) => {
                ids.iter().for_each(|id| column.push_i64(id.cast_signed()));
                ValueType::I64
            }
            Self::Strings { text, ends } => {
                for row in 0..ends.len() {
                    let id = std::str::from_utf8(string_at(text, ends, row));
                    column.push_text(id.expect("ids are checked when they are read"));
                }
                ValueType::String
            }
        };
        CellColumn { value_type, column: column.finish() }
    }
}

/// The text of `row` among texts that lie one behind the other.
#[must_use]
pub fn string_at<'a>(text: &'a [u8], ends: &[usize], row: usize) -> &'a [u8] {
    let start = if row == 0 { 0 } else { ends[row - 1] };
    &text[start..ends[row]]
}

#[derive(Default)]
struct NameReader {
    names: Names,
    codes: HashMap<String, u32>,
}

impl NameReader {
    fn push(&mut self, field: &[u8], default: &str) -> Result<(), String> {
        let name = Self::read(field, default);
        let code = match &name {
            // Most rows are named as the one before.
            Ok(name) if self.last().is_some_and(|last| last == *name) => {
                *self.names.codes.last().expect("there is a last one")
            }
            Ok(name) => {
                let next = self.names.names.len() as u32;
                *self.codes.entry((*name).to_owned()).or_insert_with(|| {
                    self.names.names.push((*name).to_owned());
                    next
                })
            }
            Err(_) => 0,
        };
        self.names.codes.push(code);
        name.map(drop)
    }

    fn last(&self) -> Option<&str> {
        let code = self.names.codes.last()?;
        self.names.names.get(*code as usize).map(String::as_str)
    }

    fn read<'a>(field: &'a [u8], default: &'a str) -> Result<&'a str, String> {
        let text = std::str::from_utf8(field)
            .map_err(|_| format!("{} is not UTF-8; convert the file with iconv", shortened(field)))?
            .trim();
        if text.contains(';') {
            return Err(format!("{} are several labels; a vertex has one", shortened(field)));
        }
        Ok(if text.is_empty() { default } else { text })
    }
}

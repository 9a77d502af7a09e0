//! CSV rows: converts records to columns of values, ids and names, as the header says.
//!
//! Columns are read one after the other, not rows: each is of one type. A record with a bad field is
//! left out of all of them.

use crate::import::assembly::batch::Names;
use crate::import::assembly::id_column::IdColumn;
use crate::import::bad_row::Fault;
use crate::import::csv::header::{ColumnRole, Header};
use crate::import::csv::quoted_name;
use crate::import::csv::records::{RecordBatch, RecordFields};
use crate::import::faults::{FaultRules, Faults};
use crate::import::field::cell::{CellColumn, CellType, Cells, shortened};
use crate::import::field::integer::parse_i64;
use crate::import::field::literal::read_map;
use crate::import::id_type::IdType;
use evergraph_graph::value::collection::Map;
use evergraph_graph::value::{Value, ValueType};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The property that has all labels of a vertex, if it has several.
pub const LABELS_KEY: &str = "labels";

/// How the records of one file become rows.
#[derive(Debug)]
pub struct RowFormat {
    /// What the columns hold.
    pub header: Header,
    /// The types of the id columns, from left to right: one for vertices, two for edges.
    pub id_types: Vec<IdType>,
    /// The label or type of rows that name none.
    pub default_name: String,
    /// What stands between several labels of a vertex.
    pub array_delimiter: u8,
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
    pub ids: Vec<IdColumn>,
    /// The label or type of each row; `None` if the file has no column for it.
    pub names: Option<Names>,
    /// Rows with several labels: the first one is among `names`, and property [`LABELS_KEY`] has all.
    pub several_labels: u64,
    /// Records that were left out.
    pub faults: Faults,
    /// The texts of the rows, for errors.
    pub texts: RowTexts,
}

/// The texts of rows.
#[derive(Debug)]
pub struct RowTexts {
    /// Those of all records.
    fields: RecordFields,
    /// The record of each row; `None` if none was left out.
    kept: Option<Vec<u32>>,
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
        let mut ids: Vec<IdColumn> = Vec::new();
        let mut names: Option<Names> = None;
        let mut several_labels = 0;
        for (column, field) in self.header.fields.iter().enumerate() {
            match &field.meaning {
                ColumnRole::Ignore => {}
                ColumnRole::Attributes(attributes) => {
                    let mut columns: Vec<Cells> =
                        attributes.iter().map(|(_, cell_type)| Cells::new(*cell_type)).collect();
                    for record in 0..records {
                        let text = self.without_null(fields.field(record, column));
                        if let Err(why) = push_attributes(&mut columns, attributes, text) {
                            note(record, column, why);
                        }
                    }
                    properties.extend(attributes.iter().map(|(key, _)| key.clone()).zip(columns));
                }
                ColumnRole::Property { key, cell_type } => {
                    let mut cells = Cells::new(*cell_type);
                    for record in 0..records {
                        if let Err(why) = cells.push(self.without_null(fields.field(record, column))) {
                            note(record, column, why);
                        }
                    }
                    properties.push((key.clone(), cells));
                }
                ColumnRole::Id { .. } | ColumnRole::StartId(_) | ColumnRole::EndId(_) => {
                    let id_type = self.id_types[ids.len()];
                    let mut cells = IdColumn::new(id_type.kind());
                    for record in 0..records {
                        let text = self.without_null(fields.field(record, column));
                        if let Err(why) = push_id(&mut cells, id_type, text) {
                            note(record, column, why);
                        }
                    }
                    ids.push(cells);
                }
                ColumnRole::Label => {
                    let mut column_names = NameReader::default();
                    let mut all_labels = Cells::new(self.labels_type());
                    for record in 0..records {
                        let text = self.without_null(fields.field(record, column));
                        let several = self.first_of_several(text);
                        several_labels += u64::from(several.is_some());
                        let first = several.unwrap_or(text);
                        let named = column_names.push(first, &self.default_name);
                        let kept = match several {
                            Some(_) => all_labels.push(&self.trimmed(text)),
                            None => all_labels.push(b""),
                        };
                        if let Err(why) = named.and(kept) {
                            note(record, column, why);
                        }
                    }
                    names = Some(column_names.names);
                    if several_labels > 0 {
                        properties.push((LABELS_KEY.to_owned(), all_labels));
                    }
                }
                ColumnRole::Type => {
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
            several_labels,
            faults: Faults::new(rules),
            texts: RowTexts { fields, kept: None },
        };
        for (record, (column, why)) in &bad {
            let name = &self.header.fields[*column].text;
            let text = || rows.texts.fields.text(*record);
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
            rows.texts.kept = Some(kept.map(|(record, _)| record).collect());
        }
        rows.faults.join(batch.faults);
        rows.columns = properties.into_iter().map(|(key, cells)| (key, cells.finish())).collect();
        rows
    }

    /// The type of property [`LABELS_KEY`].
    #[must_use]
    pub fn labels_type(&self) -> CellType {
        CellType::Array(ValueType::String, self.array_delimiter)
    }

    /// The first of several labels in `field`; `None` if there is one, or nothing that could keep the others.
    fn first_of_several<'a>(&self, field: &'a [u8]) -> Option<&'a [u8]> {
        let delimiter = field.iter().position(|byte| *byte == self.array_delimiter)?;
        let is_quoted = field.trim_ascii_start().starts_with(b"\"");
        let is_taken = || self.header.fields.iter().any(|field| field.meaning.key() == Some(LABELS_KEY));
        let first = field[..delimiter].trim_ascii();
        (!is_quoted && !first.is_empty() && !is_taken()).then_some(first)
    }

    /// `field` without blanks around the labels in it.
    fn trimmed(&self, field: &[u8]) -> Vec<u8> {
        let labels = field.split(|byte| *byte == self.array_delimiter).map(<[u8]>::trim_ascii);
        labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(&self.array_delimiter)
    }

    fn without_null<'a>(&self, field: &'a [u8]) -> &'a [u8] {
        if self.null.as_deref() == Some(field) { b"" } else { field }
    }
}

impl RowTexts {
    /// Bytes that they take.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let kept = self.kept.as_ref().map_or(0, |kept| kept.capacity() * size_of::<u32>());
        self.fields.heap_bytes() + kept as u64
    }

    /// The text of `row` for errors, as [`RecordFields::text`] gives it.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn text(&self, row: usize) -> Vec<u8> {
        self.fields.text(self.kept.as_ref().map_or(row, |kept| kept[row] as usize))
    }
}

/// Reads the map `field`, each of whose values goes to the column of its key. After an error, every column has a row
/// all the same.
fn push_attributes(
    columns: &mut [Cells],
    attributes: &[(String, CellType)],
    field: &[u8],
) -> Result<(), String> {
    let read = || {
        let text = std::str::from_utf8(field)
            .map_err(|_| format!("{} is not UTF-8; convert the file with iconv", shortened(field)))?;
        match if text.trim().is_empty() { Ok(Value::Map(Map::default())) } else { read_map(text) } {
            Ok(Value::Map(map)) => Ok(map),
            Ok(_) => Err(format!("{} is not a valid map", shortened(field))),
            Err(why) => Err(format!("{} is not a valid map: {why}", shortened(field))),
        }
    };
    let map = read();
    let mut result = map.as_ref().map(drop).map_err(Clone::clone);
    for (cells, (key, _)) in columns.iter_mut().zip(attributes) {
        let value = map.as_ref().ok().and_then(|map| map.get(&Value::from(key.as_str())));
        let text = value.map(ToString::to_string).unwrap_or_default();
        let pushed = cells.push(text.as_bytes()).map_err(|why| format!("{key}: {why}"));
        result = result.and(pushed);
    }
    let is_known = |key: &Value| attributes.iter().any(|(known, _)| *key == Value::from(known.as_str()));
    let unknown = map.iter().flat_map(Map::as_slice).map(|(key, _)| key).find(|key| !is_known(key));
    result.and(match unknown {
        Some(key) => Err(format!(
            "attribute {key} is none of {}, which the first rows have: give all, as in :ATTRIBUTES{{{key}:string}}, by \
             `columns` of a mapping",
            attributes.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ")
        )),
        None => Ok(()),
    })
}

/// Reads the next id. After an error there is one all the same, of no meaning.
fn push_id(ids: &mut IdColumn, id_type: IdType, field: &[u8]) -> Result<(), String> {
    match ids {
        IdColumn::Integers(ids) => {
            let id = parse_i64(field.trim_ascii()).ok().filter(|id| id_type.holds(*id));
            ids.push(id.unwrap_or(0).cast_unsigned());
            return id
                .map(drop)
                .ok_or_else(|| format!("{} is not a valid {id_type}, as ids are here", shortened(field)));
        }
        IdColumn::Strings(ids) => ids.push(field),
        IdColumn::Values(_) => {
            let id = id_type.read(field);
            ids.push_value(id.as_ref().unwrap_or(&Value::Bool(false)));
            return id.map(drop);
        }
    }
    if field.is_empty() {
        return Err("the id is missing".to_owned());
    }
    if std::str::from_utf8(field).is_err() {
        return Err(format!("{} is not UTF-8; convert the file with iconv", shortened(field)));
    }
    Ok(())
}

#[derive(Default)]
struct NameReader {
    names: Names,
    codes: HashMap<String, u32>,
    /// The field that was read last without an error.
    last: Vec<u8>,
    /// Its name's; `None` before the first.
    last_code: Option<u32>,
}

impl NameReader {
    fn push(&mut self, field: &[u8], default: &str) -> Result<(), String> {
        // Most rows are named as the one before.
        if self.last == field
            && let Some(code) = self.last_code
        {
            self.names.codes.push(code);
            return Ok(());
        }
        let name = Self::read(field, default);
        let code = name.as_ref().map_or(0, |name| {
            let next = self.names.names.len() as u32;
            let code = *self.codes.entry(name.as_ref().to_owned()).or_insert_with(|| {
                self.names.names.push(name.as_ref().to_owned());
                next
            });
            self.last.clear();
            self.last.extend_from_slice(field);
            self.last_code = Some(code);
            code
        });
        self.names.codes.push(code);
        name.map(drop)
    }

    fn read<'a>(field: &'a [u8], default: &'a str) -> Result<Cow<'a, str>, String> {
        let text = std::str::from_utf8(field)
            .map_err(|_| format!("{} is not UTF-8; convert the file with iconv", shortened(field)))?
            .trim();
        if let Some(name) = quoted_name::read(text) {
            return Ok(Cow::Owned(name));
        }
        if text.contains(';') {
            return Err(format!(
                "{} are several names; a vertex has one label (property {LABELS_KEY} keeps all, if it is free), and an \
                 edge one type",
                shortened(field)
            ));
        }
        Ok(Cow::Borrowed(if text.is_empty() { default } else { text }))
    }
}

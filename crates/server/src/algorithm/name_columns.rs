//! Name columns: what people call the vertices of an answer, beside their rows.
//!
//! ```text
//! row     {"vertex":0,"score":0.25,"label":"Person","key":"1"}       key: a whole number, a text, or null
//! Arrow   label, key: large_string     key_number: int64, where the key is a whole number, and `key` is null then
//! ```
//!
//! All of them are read with the answer, since rows are sent when its snapshot is gone.

use arrow_array::builder::{Int64Builder, LargeStringBuilder};
use arrow_array::{Array as _, ArrayRef, Int64Array, LargeStringArray};
use arrow_schema::{DataType, Field};
use evergraph::GraphView;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_report::vertex_names::VertexNames;
use serde_json::Value;
use std::sync::Arc;

/// Vertices that are read at once.
const BATCH: usize = 1 << 12;
/// What a refusal of memory names.
const PURPOSE: &str = "names beside the rows of the answer";
/// Bytes of a row beside its texts: two offsets and a number.
const ROW_BYTES: usize = 3 * size_of::<u64>();

/// What the vertices of an answer are called, in the order of its rows.
#[derive(Clone, Debug)]
pub struct NameColumns {
    labels: Arc<LargeStringArray>,
    keys: Arc<LargeStringArray>,
    key_numbers: Arc<Int64Array>,
}

impl NameColumns {
    /// What `names` call `vertices`, and the memory that it takes.
    ///
    /// # Errors
    /// `limit`; errors of reading; `cancelled`.
    pub fn read(
        view: &impl GraphView,
        names: &VertexNames,
        vertices: &[VertexId],
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<(Self, Vec<Reservation>)> {
        let (mut labels, mut keys) = (LargeStringBuilder::new(), LargeStringBuilder::new());
        let (mut key_numbers, mut memory) = (Int64Builder::new(), Vec::new());
        for batch in vertices.chunks(BATCH) {
            cancel.check()?;
            let begun = labels.values_slice().len() + keys.values_slice().len();
            for name in names.names(view, batch)? {
                let number = name.key.whole();
                labels.append_value(&name.label);
                keys.append_option(if number.is_some() { None } else { name.key.text() });
                key_numbers.append_option(number);
            }
            let bytes = labels.values_slice().len() + keys.values_slice().len() - begun;
            // Builders double, so that they hold twice what was written.
            memory.push(budget.reserve(PURPOSE, 2 * (bytes + batch.len() * ROW_BYTES) as u64)?);
        }
        let columns = Self {
            labels: Arc::new(labels.finish()),
            keys: Arc::new(keys.finish()),
            key_numbers: Arc::new(key_numbers.finish()),
        };
        Ok((columns, memory))
    }

    /// The columns of an Arrow stream.
    #[must_use]
    pub fn arrays(&self) -> [(Field, ArrayRef); 3] {
        [
            (Field::new("label", DataType::LargeUtf8, false), Arc::clone(&self.labels) as ArrayRef),
            (Field::new("key", DataType::LargeUtf8, true), Arc::clone(&self.keys) as ArrayRef),
            (Field::new("key_number", DataType::Int64, true), Arc::clone(&self.key_numbers) as ArrayRef),
        ]
    }

    /// Label and key of a row, as a line has them.
    #[must_use]
    pub fn row(&self, row: usize) -> [(&'static str, Value); 2] {
        let key = match (self.key_numbers.is_valid(row), self.keys.is_valid(row)) {
            (true, _) => self.key_numbers.value(row).into(),
            (false, true) => self.keys.value(row).into(),
            (false, false) => Value::Null,
        };
        [("label", self.labels.value(row).into()), ("key", key)]
    }
}

//! Column: what an answer has for each of its rows, beside the vertex.

/// A column of an answer, as the table describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnDescription {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
}

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// Numbers of vertices.
    Vertex,
    /// Small numbers, such as levels.
    U32,
    /// Counts, and numbers of groups.
    U64,
    /// Real numbers.
    F64,
}

/// The values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnValues {
    /// Of [`ColumnKind::U32`].
    U32(Vec<u32>),
    /// Of [`ColumnKind::U64`].
    U64(Vec<u64>),
    /// Of [`ColumnKind::F64`].
    F64(Vec<f64>),
}

/// A column of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// One for each row.
    pub values: ColumnValues,
    /// A bit for each row, from the lowest bit of the first word on: whether it has a value. `None` if all have.
    pub known: Option<Vec<u64>>,
}

impl ColumnDescription {
    /// A column called `name`.
    #[must_use]
    pub const fn new(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind }
    }
}

/// The vertex of the row: every answer has it.
pub(crate) const VERTEX: ColumnDescription = ColumnDescription::new("vertex", ColumnKind::Vertex);

/// How important a vertex is.
pub(crate) const SCORE: ColumnDescription = ColumnDescription::new("score", ColumnKind::F64);

/// The number of a community.
pub(crate) const COMMUNITY: ColumnDescription = ColumnDescription::new("community", ColumnKind::U64);

/// The number of a component.
pub(crate) const COMPONENT: ColumnDescription = ColumnDescription::new("component", ColumnKind::U64);

/// The place of a vertex in a cycle.
pub(crate) const POSITION: ColumnDescription = ColumnDescription::new("position", ColumnKind::U32);

impl Column {
    /// A column of numbers.
    #[must_use]
    pub fn new(values: ColumnValues) -> Self {
        Self { values, known: None }
    }

    /// What its values are.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        match self.values {
            ColumnValues::U32(_) => ColumnKind::U32,
            ColumnValues::U64(_) => ColumnKind::U64,
            ColumnValues::F64(_) => ColumnKind::F64,
        }
    }

    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            ColumnValues::U32(values) => values.len(),
            ColumnValues::U64(values) => values.len(),
            ColumnValues::F64(values) => values.len(),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `row` has a value.
    #[must_use]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.as_ref().is_none_or(|words| words[row / 64] >> (row % 64) & 1 == 1)
    }
}

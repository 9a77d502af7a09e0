//! Batch: parsed rows of one file, as an assembly takes them.
//!
//! ```text
//! row   line   id   name     columns, shared          or by name    Person      Dog
//!  0      2    17   Person   name  Ada    legs  -                   name  Ada   legs  4
//!  1      3     4   Dog            -            4
//! ```

use crate::import::assembly::id_column::IdColumn;
use crate::import::field::cell::CellColumn;

/// Some rows of one file, in their order. `Ids` is an [`IdColumn`] for vertices and [`Ends`] for edges.
#[derive(Debug)]
pub struct Batch<Ids> {
    /// The line where each row begins in its file.
    pub lines: Vec<u64>,
    /// The ids of the vertices, or those of the vertices that the edges join.
    pub ids: Ids,
    /// The label or type of each row.
    pub names: Names,
    /// The properties, but not the id.
    pub columns: Columns,
}

/// The ids of the vertices that edges join.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Where each edge begins.
    pub sources: IdColumn,
    /// Where each edge ends.
    pub targets: IdColumn,
}

/// The entries of both ends of a batch's edges in their spaces; vacant where an id isn't known.
#[derive(Debug)]
pub struct EndEntries {
    /// Of sources.
    pub sources: Vec<u32>,
    /// Of targets.
    pub targets: Vec<u32>,
}

/// Labels or types of rows: few names, an index into them for each row.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names that occur.
    pub names: Vec<String>,
    /// Index into `names`, a row; empty if all rows have the first name.
    pub codes: Vec<u32>,
}

/// The properties of a batch.
#[derive(Debug)]
pub enum Columns {
    /// Of declared types, with an entry for each row of the batch.
    Shared(Vec<(String, CellColumn)>),
    /// For each name its own, with an entry for each row of that name. Types are learned: two of them
    /// make the property one of any values.
    ByName(Vec<Vec<(String, CellColumn)>>),
}

/// Why a row of a batch has no place in the graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedRow {
    /// Index of the row in its batch.
    pub row: usize,
    /// Which part of it is wrong.
    pub part: IdPart,
    /// What is wrong.
    pub why: String,
}

/// Which id of a row a fault is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdPart {
    /// That of the vertex itself.
    Vertex,
    /// That of the vertex where the edge begins.
    Source,
    /// That of the vertex where the edge ends.
    Target,
    /// None: it is about the row.
    Row,
}

impl Batch<Ends> {
    /// Bytes that it takes, about.
    #[must_use]
    pub fn edge_bytes(&self) -> u64 {
        let Ends { sources, targets } = &self.ids;
        let rows = self.lines.capacity() * size_of::<u64>() + self.names.codes.capacity() * size_of::<u32>();
        rows as u64 + sources.heap_bytes() + targets.heap_bytes() + self.columns.heap_bytes()
    }
}

impl Names {
    /// The same name for every row.
    #[must_use]
    pub fn one(name: &str) -> Self {
        Self { names: vec![name.to_owned()], codes: Vec::new() }
    }

    /// Index of the name of `row`.
    #[must_use]
    pub fn code(&self, row: usize) -> usize {
        self.codes.get(row).map_or(0, |code| *code as usize)
    }
}

/// Rows of a batch that go to one table.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Which ones.
    pub rows: Vec<u32>,
    /// Which ones among those of their name; empty if columns are shared.
    places: Vec<u32>,
}

impl Group {
    /// Drops the rows for which `keep` is false.
    pub fn retain(&mut self, keep: &[bool]) {
        for rows in [&mut self.rows, &mut self.places] {
            let mut kept = keep.iter();
            rows.retain(|_| *kept.next().expect("one entry a row"));
        }
    }
}

/// Gives rows to groups, one after the other.
pub(super) struct Grouping {
    /// How many rows each name has had; empty if columns are shared.
    rows_by_name: Vec<u32>,
}

impl Grouping {
    pub fn new(columns: &Columns) -> Self {
        let names = match columns {
            Columns::Shared(_) => 0,
            Columns::ByName(names) => names.len(),
        };
        Self { rows_by_name: vec![0; names] }
    }

    /// Where `row`, of name `code`, is in its columns. It was not stepped over yet.
    pub fn place(&self, row: usize, code: usize) -> usize {
        self.rows_by_name.get(code).map_or(row, |count| *count as usize)
    }

    /// Steps over a row of name `code`, which becomes one of `group` if it is wanted.
    pub fn step(&mut self, row: usize, code: usize, group: Option<&mut Group>) {
        let place = self.rows_by_name.get_mut(code).map(|count| {
            *count += 1;
            *count - 1
        });
        if let Some(group) = group {
            group.rows.push(row as u32);
            group.places.extend(place);
        }
    }
}

impl Columns {
    fn heap_bytes(&self) -> u64 {
        let of = |columns: &[(String, CellColumn)]| -> usize {
            columns.iter().filter_map(|(_, cells)| Some(cells.column.as_ref()?.heap_bytes())).sum()
        };
        match self {
            Self::Shared(columns) => of(columns) as u64,
            Self::ByName(names) => names.iter().map(|columns| of(columns)).sum::<usize>() as u64,
        }
    }

    /// The columns of `group`, whose rows are of name `code`, of `rows` rows in all. All rows are
    /// moved, not copied: they are asked for once.
    pub(super) fn take(&mut self, code: usize, group: &Group, rows: usize) -> Vec<(String, CellColumn)> {
        let (columns, wanted, all) = match self {
            Self::Shared(columns) => (columns, &group.rows, rows),
            Self::ByName(names) => {
                let columns = &mut names[code];
                let length =
                    |(_, cells): &(String, CellColumn)| cells.column.as_ref().map(|column| column.len());
                let all = columns.iter().find_map(length).unwrap_or(group.places.len());
                (columns, &group.places, all)
            }
        };
        if wanted.len() == all {
            return std::mem::take(columns);
        }
        let select = |cells: &CellColumn| CellColumn {
            value_type: cells.value_type,
            column: cells.column.as_ref().and_then(|all| all.select(wanted.iter().map(|row| *row as usize))),
        };
        columns.iter().map(|(key, cells)| (key.clone(), select(cells))).collect()
    }
}

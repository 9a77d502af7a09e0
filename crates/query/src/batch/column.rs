//! Columns: the items of a batch's rows, or those of one label.

use crate::value::extent::Extent;
use crate::value::item::Item;
use evergraph_graph::column::{Column as Stored, ColumnData};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// The items of a column.
#[derive(Clone, Debug)]
pub enum Data {
    /// Vertices.
    Vertices(Vec<VertexId>),
    /// Edges.
    Edges(Vec<EdgeId>),
    /// Whole numbers, all of one type of at most 64 bits.
    Integers(ValueType, Vec<i64>),
    /// Floating-point numbers, all of one type.
    Floats(ValueType, Vec<f64>),
    /// Items of any kind.
    Items(Vec<Item>),
    /// Items of any kind, where some rows have none: a label that not every row was given.
    Optional(Vec<Option<Item>>),
}

/// Where in its data each row of a column is.
type RowPositions = Arc<[u32]>;

/// Items by row. Copies share the items; a choice of rows shares them too, by a list of places.
#[derive(Clone, Debug)]
pub struct Column {
    data: Arc<SharedData>,
    /// The place in `data` of each row; without it row `n` is at place `n`.
    index: Option<Arc<[u32]>>,
}

/// Data that columns share.
#[derive(Debug)]
struct SharedData {
    data: Data,
    /// Once somebody asked.
    extent: OnceLock<Extent>,
}

impl From<Data> for SharedData {
    fn from(data: Data) -> Self {
        Self { data, extent: OnceLock::new() }
    }
}

impl Deref for SharedData {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl Column {
    /// A column of `data`, a row each.
    #[must_use]
    pub fn new(data: Data) -> Self {
        Self { data: Arc::new(data.into()), index: None }
    }

    /// What the column keeps in memory, and how deep its items are nested; its list of places not included. Of data that
    /// it shares with other choices of rows it counts its part. Cost: the first time that the data is asked, a look at
    /// each item.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let all = *self.data.extent.get_or_init(|| self.data.data.extent());
        let (rows, data_rows) = (self.len(), self.data.len());
        if rows >= data_rows {
            return all;
        }
        let part = all.heap_bytes as u128 * rows as u128 / data_rows as u128;
        Extent { heap_bytes: usize::try_from(part).unwrap_or(usize::MAX), ..all }
    }

    /// Whether both keep the same data.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }

    /// A column of items; of vertices or edges as those if all are.
    #[must_use]
    pub fn of_items(items: Vec<Item>) -> Self {
        let vertices = items.iter().map(Item::as_vertex).collect::<Option<Vec<_>>>();
        match vertices {
            Some(vertices) if !items.is_empty() => Self::new(Data::Vertices(vertices)),
            _ => Self::new(Data::Items(items)),
        }
    }

    /// The same item in each of `rows` rows.
    #[must_use]
    pub fn repeated(item: Item, rows: usize) -> Self {
        Self { data: Arc::new(Data::Items(vec![item]).into()), index: Some(vec![0; rows].into()) }
    }

    /// The rows of `stored` that have a value, and which they are.
    #[must_use]
    pub fn of_stored(stored: Stored) -> (Vec<u32>, Self) {
        fn some<T>(rows: Vec<Option<T>>) -> (Vec<u32>, Vec<T>) {
            (0..).zip(rows).filter_map(|(row, value)| Some((row, value?))).unzip()
        }
        let value_type = stored.value_type;
        match stored.data {
            ColumnData::Integers(rows) => {
                let (rows, values) = some(rows);
                (rows, Self::new(Data::Integers(value_type, values)))
            }
            ColumnData::Floats(rows) => {
                let (rows, values) = some(rows);
                (rows, Self::new(Data::Floats(value_type, values)))
            }
            ColumnData::Values(rows) => {
                let (rows, values) = some(rows);
                (rows, Self::new(Data::Items(values.into_iter().map(Item::Value).collect())))
            }
        }
    }

    /// Rows of the column.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.index {
            Some(index) => index.len(),
            None => self.data.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item of `row`; `None` where the label was not set.
    ///
    /// # Panics
    /// If there is no such row: the caller's error.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Item> {
        let at = self.index.as_ref().map_or(row, |index| index[row] as usize);
        self.data.get(at)
    }

    /// The items, row by row; null where the label was not set.
    #[inline]
    pub fn items(&self) -> impl Iterator<Item = Item> {
        (0..self.len()).map(|row| self.get(row).unwrap_or(Item::Null))
    }

    /// The vertices, if all rows are at one.
    #[must_use]
    pub fn vertices(&self) -> Option<Vec<VertexId>> {
        match (&**self.data, &self.index) {
            (Data::Vertices(vertices), None) => Some(vertices.clone()),
            (Data::Vertices(vertices), Some(index)) => {
                Some(index.iter().map(|at| vertices[*at as usize]).collect())
            }
            (Data::Edges(_) | Data::Integers(..) | Data::Floats(..), _) if !self.is_empty() => None,
            _ => self.items().map(|item| item.as_vertex()).collect(),
        }
    }

    /// The edges, if all rows are at one.
    #[must_use]
    pub fn edges(&self) -> Option<Vec<EdgeId>> {
        match (&**self.data, &self.index) {
            (Data::Edges(edges), None) => Some(edges.clone()),
            (Data::Edges(edges), Some(index)) => Some(index.iter().map(|at| edges[*at as usize]).collect()),
            (Data::Vertices(_) | Data::Integers(..) | Data::Floats(..), _) if !self.is_empty() => None,
            _ => self.items().map(|item| item.as_edge()).collect(),
        }
    }

    /// The data of the column, and the position of each row in it.
    #[must_use]
    pub fn parts(&self) -> (&Data, Option<&Arc<[u32]>>) {
        (&self.data, self.index.as_ref())
    }

    /// The rows `rows` of the column, in that order, some perhaps several times.
    #[must_use]
    pub fn gather(&self, rows: &Arc<[u32]>) -> Self {
        RowSelection::new(rows).column(self)
    }

    /// The same rows; with data of their own, if half of what they keep is of other rows.
    #[must_use]
    pub fn trimmed(self) -> Self {
        let Some(index) = self.index.as_ref().filter(|index| 2 * index.len() <= self.data.len()) else {
            return self;
        };
        let data = match &**self.data {
            Data::Vertices(all) => Data::Vertices(index.iter().map(|at| all[*at as usize]).collect()),
            Data::Edges(all) => Data::Edges(index.iter().map(|at| all[*at as usize]).collect()),
            Data::Integers(value_type, all) => {
                Data::Integers(*value_type, index.iter().map(|at| all[*at as usize]).collect())
            }
            Data::Floats(value_type, all) => {
                Data::Floats(*value_type, index.iter().map(|at| all[*at as usize]).collect())
            }
            Data::Items(all) => Data::Items(index.iter().map(|at| all[*at as usize].clone()).collect()),
            Data::Optional(all) => Data::Optional(index.iter().map(|at| all[*at as usize].clone()).collect()),
        };
        Self::new(data)
    }

    /// All rows of `columns`, one column after the other.
    #[must_use]
    pub fn concat(columns: &[&Self]) -> Self {
        if let [column] = columns {
            return (*column).clone();
        }
        let alike = vertices_of(columns).map(Data::Vertices).or_else(|| edges_of(columns).map(Data::Edges));
        if let Some(data) = alike {
            return Self::new(data);
        }
        let rows = || columns.iter().flat_map(|column| (0..column.len()).map(|row| column.get(row)));
        match rows().collect::<Option<Vec<Item>>>() {
            Some(items) => Self::new(Data::Items(items)),
            None => Self::new(Data::Optional(rows().collect())),
        }
    }

    /// A column of `rows` rows without items.
    #[must_use]
    pub fn nothing(rows: usize) -> Self {
        Self { data: Arc::new(Data::Optional(vec![None]).into()), index: Some(vec![0; rows].into()) }
    }
}

/// The vertices of all columns, if they hold nothing else.
fn vertices_of(columns: &[&Column]) -> Option<Vec<VertexId>> {
    let all = !columns.is_empty() && columns.iter().all(|column| matches!(&**column.data, Data::Vertices(_)));
    Some(columns.iter().map(|column| column.vertices()).collect::<Option<Vec<_>>>()?.concat()).filter(|_| all)
}

/// The edges of all columns, if they hold nothing else.
fn edges_of(columns: &[&Column]) -> Option<Vec<EdgeId>> {
    let all = !columns.is_empty() && columns.iter().all(|column| matches!(&**column.data, Data::Edges(_)));
    Some(columns.iter().map(|column| column.edges()).collect::<Option<Vec<_>>>()?.concat()).filter(|_| all)
}

impl Data {
    fn extent(&self) -> Extent {
        // Rows that follow each other often share one thing, say a list that was gathered: it is in memory once.
        fn all<'a>(items: impl Iterator<Item = &'a Item>) -> Extent {
            let (mut extent, mut last) = (Extent::default(), &Item::Null);
            for item in items {
                if !item.shares(last) {
                    extent = extent.beside(item.extent());
                }
                last = item;
            }
            extent
        }
        let row_bytes = match self {
            Self::Vertices(_) => size_of::<VertexId>(),
            Self::Edges(_) => size_of::<EdgeId>(),
            Self::Integers(..) | Self::Floats(..) => size_of::<i64>(),
            Self::Items(_) | Self::Optional(_) => size_of::<Item>(),
        };
        let inside = match self {
            Self::Items(items) => all(items.iter()),
            Self::Optional(items) => all(items.iter().flatten()),
            _ => Extent::default(),
        };
        inside.plus(self.len() * row_bytes)
    }

    fn len(&self) -> usize {
        match self {
            Self::Vertices(rows) => rows.len(),
            Self::Edges(rows) => rows.len(),
            Self::Integers(_, rows) => rows.len(),
            Self::Floats(_, rows) => rows.len(),
            Self::Items(rows) => rows.len(),
            Self::Optional(rows) => rows.len(),
        }
    }

    fn get(&self, at: usize) -> Option<Item> {
        Some(match self {
            Self::Vertices(rows) => Item::Vertex(rows[at]),
            Self::Edges(rows) => Item::Edge(rows[at]),
            Self::Integers(value_type, rows) => Item::Value(match value_type {
                ValueType::I8 => Value::I8(rows[at] as i8),
                ValueType::I16 => Value::I16(rows[at] as i16),
                ValueType::I32 => Value::I32(rows[at] as i32),
                _ => Value::I64(rows[at]),
            }),
            Self::Floats(ValueType::F32, rows) => Item::Value(Value::F32(rows[at] as f32)),
            Self::Floats(_, rows) => Item::Value(Value::F64(rows[at])),
            Self::Items(rows) => rows[at].clone(),
            Self::Optional(rows) => return rows[at].clone(),
        })
    }
}

/// A choice of rows, made for several columns: those that share their list of places get one new list.
pub struct RowSelection<'a> {
    rows: &'a Arc<[u32]>,
    /// The lists of places that were met, and what became of each.
    made: Vec<(RowPositions, RowPositions)>,
}

impl<'a> RowSelection<'a> {
    /// The rows `rows`, in that order.
    #[must_use]
    pub fn new(rows: &'a Arc<[u32]>) -> Self {
        Self { rows, made: Vec::new() }
    }

    /// These rows of `column`.
    pub fn column(&mut self, column: &Column) -> Column {
        let index = match &column.index {
            None => Arc::clone(self.rows),
            Some(index) => match self.made.iter().find(|(of, _)| Arc::ptr_eq(of, index)) {
                Some((_, made)) => Arc::clone(made),
                None => {
                    let made: Arc<[u32]> = self.rows.iter().map(|row| index[*row as usize]).collect();
                    self.made.push((Arc::clone(index), Arc::clone(&made)));
                    made
                }
            },
        };
        Column { data: Arc::clone(&column.data), index: Some(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(column: &Column) -> Vec<Option<Item>> {
        (0..column.len()).map(|row| column.get(row)).collect()
    }

    #[test]
    fn a_choice_of_a_choice_is_one_list_of_places() {
        let column = Column::new(Data::Integers(ValueType::I32, vec![10, 20, 30]));
        let twice = column.gather(&[2, 0, 2].into()).gather(&[1, 2].into());
        assert_eq!(items(&twice), [Some(Item::from(10_i32)), Some(Item::from(30_i32))]);
        assert_eq!(twice.parts().1.map(|index| index.to_vec()), Some(vec![0, 2]));
    }

    #[test]
    fn columns_that_share_places_still_do_after_a_choice() {
        let rows: Arc<[u32]> = [1, 0].into();
        let [left, right] =
            [[1, 2], [3, 4]].map(|of| Column::of_items(of.map(Item::from).to_vec()).gather(&rows));
        let chosen = [0, 1, 1].into();
        let mut gathering = RowSelection::new(&chosen);
        let [left, right] = [left, right].map(|column| gathering.column(&column));
        assert!(Arc::ptr_eq(left.parts().1.unwrap(), right.parts().1.unwrap()));
        assert_eq!(items(&right), [4, 3, 3].map(|number| Some(Item::from(number))));
    }

    #[test]
    fn columns_of_different_kinds_become_one() {
        let vertices = Column::new(Data::Vertices(vec![VertexId(1), VertexId(2)])).gather(&[1].into());
        let numbers = Column::new(Data::Floats(ValueType::F32, vec![0.5]));
        let both = Column::concat(&[&vertices, &numbers]);
        assert_eq!(items(&both), [Some(Item::Vertex(VertexId(2))), Some(Item::from(0.5_f32))]);
        let same = Column::concat(&[&vertices, &vertices]);
        assert_eq!(same.vertices(), Some(vec![VertexId(2); 2]));
        let missing = Column::concat(&[&Column::nothing(1), &numbers]);
        assert_eq!(items(&missing), [None, Some(Item::from(0.5_f32))]);
    }
}

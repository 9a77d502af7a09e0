//! Answer: what an algorithm found, as columns beside one of vertices, with figures and a sentence.

use crate::column::{Column, ColumnValues};
use crate::groups;
use crate::vertex_rows::{each, members};
use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use std::fmt;

/// What an algorithm found.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The vertex of each row.
    pub vertices: Vec<VertexId>,
    /// The columns of the table's entry without that of vertices, in its order.
    pub columns: Vec<Column>,
    /// About the whole answer: the names of the table's entry, in its order.
    pub figures: Vec<(&'static str, Figure)>,
    /// The most important of it in a sentence.
    pub summary: String,
}

/// A figure about an answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// There is none: the length of a path that isn't there.
    Nothing,
    /// Yes or no.
    Boolean(bool),
    /// A count.
    Whole(u64),
    /// A real number.
    Real(f64),
}

impl Answer {
    /// Rows as they are listed.
    pub(crate) fn listed(vertices: Vec<VertexId>, columns: Vec<Column>) -> Self {
        Self { vertices, columns, figures: Vec::new(), summary: String::new() }
    }

    /// A row for each of `vertices`, with what `column` makes of them.
    pub(crate) fn of(vertices: &VertexSet, column: impl FnOnce(&[VertexId]) -> Column) -> Self {
        let members = members(vertices);
        let column = column(&members);
        Self::listed(members, vec![column])
    }

    /// A score for each of `vertices`, from an array by vertex id.
    pub(crate) fn scores(vertices: &VertexSet, scores: &[f64]) -> Self {
        Self::of(vertices, |members| {
            Column::new(ColumnValues::F64(each(members, |vertex| scores[vertex as usize])))
        })
    }

    /// The number of the group of each of `vertices`, which `group` names by a vertex.
    pub(crate) fn groups(vertices: &VertexSet, group: impl Fn(u32) -> u32 + Sync) -> Self {
        let bound = vertices.bound();
        Self::of(vertices, |members| Column::new(ColumnValues::U64(groups::numbers(members, bound, group))))
    }

    /// The same with what it comes to, in a sentence.
    pub(crate) fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// The same with a figure.
    pub(crate) fn figure(mut self, name: &'static str, figure: impl Into<Figure>) -> Self {
        self.figures.push((name, figure.into()));
        self
    }
}

impl From<bool> for Figure {
    fn from(figure: bool) -> Self {
        Self::Boolean(figure)
    }
}

impl From<u32> for Figure {
    fn from(figure: u32) -> Self {
        Self::Whole(figure.into())
    }
}

impl From<u64> for Figure {
    fn from(figure: u64) -> Self {
        Self::Whole(figure)
    }
}

impl From<usize> for Figure {
    fn from(figure: usize) -> Self {
        Self::Whole(figure as u64)
    }
}

impl From<f64> for Figure {
    fn from(figure: f64) -> Self {
        Self::Real(figure)
    }
}

impl<T: Into<Figure>> From<Option<T>> for Figure {
    fn from(figure: Option<T>) -> Self {
        figure.map_or(Self::Nothing, Into::into)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Boolean(figure) => figure.fmt(f),
            Self::Whole(figure) => figure.fmt(f),
            Self::Real(figure) => figure.fmt(f),
        }
    }
}

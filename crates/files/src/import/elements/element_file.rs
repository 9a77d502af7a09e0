//! Element file: an unopened file of vertices and edges, and its format.

use crate::import::bytes::input::Input;
use crate::import::mapping::rule::FileRule;

/// A file of vertices and edges.
#[derive(Debug)]
pub struct ElementFile {
    /// Where it is.
    pub input: Input,
    /// What it is.
    pub format: ElementFormat,
    /// How it is read.
    pub rule: FileRule,
}

/// A format that has vertices and edges in one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementFormat {
    /// GraphSON, one vertex after the other with its edges.
    GraphSon,
    /// GraphML.
    GraphMl,
    /// GEXF.
    Gexf,
    /// GML.
    Gml,
    /// Pajek.
    Pajek,
    /// Nodes and links in JSON.
    NodeLink,
}

impl ElementFormat {
    /// The space of the ids in its files, by the format's name.
    pub(super) fn space(self) -> &'static str {
        match self {
            Self::GraphSon => "GraphSON",
            Self::GraphMl => "GraphML",
            Self::Gexf => "GEXF",
            Self::Gml => "GML",
            Self::Pajek => "Pajek",
            Self::NodeLink => "nodes and links",
        }
    }

    /// Whether numbers have no stated type: of one key that has fractions, all are doubles then.
    pub(super) fn has_untyped_numbers(self) -> bool {
        matches!(self, Self::Gml | Self::NodeLink)
    }
}

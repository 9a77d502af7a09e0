//! Options: the keys of labels and edge types in a GraphML file, and the length limit of its texts.

use crate::graphml::keys::Scope;

/// How a file is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphmlOptions {
    /// Id or name of the key that holds a vertex's label.
    pub label_key: String,
    /// Id or name of the key that holds an edge's type.
    pub edge_type_key: String,
    /// The label of vertices that have no such data.
    pub default_label: String,
    /// The type of edges that have no such data.
    pub default_edge_type: String,
    /// How long a tag or a text may be, in bytes.
    pub text_bytes_max: usize,
}

impl Default for GraphmlOptions {
    /// TinkerPop's names: `labelV`, `labelE`, `vertex`, `edge`; 16 MiB.
    fn default() -> Self {
        Self {
            label_key: "labelV".to_owned(),
            edge_type_key: "labelE".to_owned(),
            default_label: "vertex".to_owned(),
            default_edge_type: "edge".to_owned(),
            text_bytes_max: 16 << 20,
        }
    }
}

impl GraphmlOptions {
    /// The key of what elements of `scope` are called.
    pub(crate) fn name_key(&self, scope: Scope) -> &str {
        match scope {
            Scope::Vertex => &self.label_key,
            Scope::Edge => &self.edge_type_key,
        }
    }
}

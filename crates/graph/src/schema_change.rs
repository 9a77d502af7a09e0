//! Schema changes: what a commit may change of the catalogue, with the numbers of all names.
//!
//! They travel as mutations do, in memory and in the log, and a catalogue is stored as the changes that make it.

use crate::id::{KeyId, LabelId, TypeId};
use crate::index::{IndexDefinition, IndexId};
use crate::owner::Owner;
use crate::value::ValueType;
use std::sync::Arc;

/// One change of the catalogue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaChange {
    /// A label.
    AddLabel {
        /// Its number.
        id: LabelId,
        /// Its name.
        name: Arc<str>,
    },
    /// An edge type.
    AddEdgeType {
        /// Its number.
        id: TypeId,
        /// Its name.
        name: Arc<str>,
        /// Whether at most one edge goes from a vertex to another.
        simple: bool,
    },
    /// A property key.
    AddKey {
        /// Its number.
        id: KeyId,
        /// Its name.
        name: Arc<str>,
    },
    /// The key that holds the meta-properties of another key. It has no name.
    AddMetaKey {
        /// Its number.
        id: KeyId,
        /// The key whose values have properties.
        of: KeyId,
    },
    /// The type of a property.
    DefineProperty {
        /// Whose property.
        owner: Owner,
        /// Which one.
        key: KeyId,
        /// What its values are.
        value_type: ValueType,
    },
    /// An index, ready.
    AddIndex(IndexDefinition),
    /// An index isn't there any more.
    DropIndex(IndexId),
    /// The out-edges of a type are read newest first by this property. Never taken back.
    OrderNewestFirst {
        /// The edge type.
        edge_type: TypeId,
        /// The property whose greatest value is the newest.
        key: KeyId,
    },
    /// An edge type joins vertices of these labels: learned from its first such edge, never taken
    /// back, so that a projection knows which edges can leave its labels.
    Join {
        /// The edge type.
        edge_type: TypeId,
        /// The label where an edge starts.
        source: LabelId,
        /// The label where it ends.
        target: LabelId,
    },
}

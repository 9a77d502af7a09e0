//! New elements: their labels and keys, default labels, and why their ids cannot be chosen.

/// The label of a vertex that was given none, as TinkerPop has it.
pub const DEFAULT_LABEL: &str = "vertex";

/// The type of an edge that a merge was given none for, as TinkerPop has it.
pub const DEFAULT_EDGE_LABEL: &str = "edge";

/// What is said to who chooses the id of a vertex.
pub const NO_OWN_IDS: &str = "Vertex does not support user supplied identifiers: Evergraph chooses T.id itself; \
    names of your own belong in a property with a unique index";

/// What is said to who chooses the id of an edge.
pub const NO_OWN_EDGE_IDS: &str =
    "Edge does not support user supplied identifiers: Evergraph chooses T.id itself";

/// `key`, if a property may be called so.
///
/// # Errors
/// If it may not: it is empty or in the namespace that TinkerPop hides.
pub fn checked_key(key: &str) -> Result<&str, String> {
    match key {
        "" => Err("Property key can not be empty".to_owned()),
        hidden if hidden.starts_with('~') => Err(format!("Property key can not be a hidden key: {hidden}")),
        key => Ok(key),
    }
}

/// `label`, if an element may be labelled so.
///
/// # Errors
/// As [`checked_key`].
pub fn checked_label(label: &str) -> Result<&str, String> {
    match label {
        "" => Err("Label can not be empty".to_owned()),
        hidden if hidden.starts_with('~') => Err(format!("Label can not be a hidden key: {hidden}")),
        label => Ok(label),
    }
}

//! Role: whether a file of an import holds vertices or edges, as the user or its header says.

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Lines of source, target and further columns.
    EdgeList,
    /// Lines of an id and further columns: the vertices of edge lists (Graphalytics' `.v`).
    VertexList,
    /// CSV with an `ID` column.
    Nodes,
    /// CSV with `START_ID` and `END_ID` columns.
    Relationships,
    /// Edges, as CSV or as a list: what the file's name and first line show.
    Edges,
    /// GraphSON: vertices with their edges.
    GraphSon,
    /// GraphML: vertices and edges.
    GraphMl,
}

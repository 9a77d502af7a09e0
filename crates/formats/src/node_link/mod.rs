//! Node-link: graphs in JSON as lists of nodes and links, in the forms that common programs write.
//!
//! | program | form |
//! |---|---|
//! | NetworkX (`node_link_data`) | `{"directed": false, "nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}`, or `edges` |
//! | D3, Vega | `nodes` without ids, and `links` that count them from 0; or ids or names |
//! | sigma.js, graphology | `{"nodes": [{"key": "a", "attributes": {...}}], "edges": [...]}` |
//! | vis.js, yFiles | `edges` with `from` and `to`; `nodeList` and `edgeList` |
//! | Cytoscape | `{"elements": {"nodes": [{"data": {...}}], "edges": [...]}}`, or one list of both |
//! | JSON Graph Format | `{"graph": {"nodes": {"a": {"label": ..., "metadata": {...}}}, "edges": [...]}}` |
//!
//! ```text
//! item        the text of one node or link to keys and values
//! references  what a link's ends mean: ids, places, names
//! reader      a file to elements
//! shape       whether a file is one
//! ```

pub mod item;
pub mod reader;
pub mod references;
pub mod shape;

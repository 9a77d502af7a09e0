//! GraphML: graphs in XML, as TinkerPop, Gephi, yEd and networkx write them, and as they read them.
//!
//! ```text
//! source     bytes to UTF-8, with places in the file       writer   elements to XML
//! tokens     XML to tags and text                          escape   text to XML, and what can't stand there
//! keys       declared properties: name, type, default      types    values as text
//! reader     tags and text to elements
//! ```
//!
//! Source: GraphML 1.0 (Brandes et al., "GraphML Progress Report", GD 2001; the schema of
//! graphml.graphdrawing.org); TinkerPop 3.8, "IO Reference", GraphML.

pub mod escape;
pub mod keys;
pub mod reader;
pub mod source;
pub mod tokens;
pub mod types;
pub mod writer;

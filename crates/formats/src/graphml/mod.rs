//! GraphML: graphs in XML, as TinkerPop, Gephi, yEd and networkx write and read them.
//!
//! ```text
//! keys       declared properties: name, type, default      types    values as text
//! data       what stands inside of one element             options  keys of labels, limits
//! reader     tags and text to elements                     writer   elements to XML
//! ```
//!
//! Tags and text come from [`crate::xml`].
//!
//! Source: GraphML 1.0 (Brandes et al., "GraphML Progress Report", GD 2001; the schema of
//! graphml.graphdrawing.org); TinkerPop 3.8, "IO Reference", GraphML.

pub(crate) mod data;
pub mod keys;
pub mod options;
pub mod reader;
pub mod types;
pub mod writer;

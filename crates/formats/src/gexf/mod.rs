//! GEXF: graphs in XML as Gephi writes them, in the versions 1.0 to 1.3.
//!
//! ```text
//! attributes  declared properties: title, type, default; values as text
//! reader      tags to elements
//! ```
//!
//! Source: "GEXF 1.3 Primer" and its schema (gexf.net).

pub mod attributes;
pub mod reader;

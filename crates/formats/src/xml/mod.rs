//! XML: the tags and the text of a file, for GraphML and GEXF.
//!
//! ```text
//! source     bytes to UTF-8, with places in the file
//! tokens     XML to tags and text
//! escape     text to XML, and what can't stand there
//! ```

pub mod escape;
pub mod source;
pub mod tokens;

//! GraphSON 3: values with their types in JSON, and graphs with one vertex a line.
//!
//! ```text
//! typed           {"@type": NAME, "@value": ...}: how any typed thing stands in JSON
//! value_read      NAME and JSON to a value           value_write    a value to JSON
//! line_read       a line to a vertex and its edges   line_write     and back
//! sides           do the lists of both ends agree
//! documents       a file to lines                    stream         a file to vertices
//! ```
//!
//! A server speaks the same values, and besides them `g:Vertex`, `g:Edge`, `g:Path`, `g:Bytecode` and
//! the like. Those belong in files of their own next to these: they call
//! [`typed::read_typed`] with the names that they know and hand the others to
//! [`value_read::read_typed_value`].
//!
//! GraphSON 2 differs in its lines by plain JSON arrays and objects where 3 has `g:List` and `g:Map`,
//! GraphSON 1 by having no types at all. Both are read: JSON without types has a meaning here as well
//! (see [`value_read`]). GraphSON 1 with embedded Java types (`@class`), and the formats of TinkerPop 2
//! and Faunus that also went by the name, are refused by name.
//!
//! Source: Apache TinkerPop 3.8, "IO Reference", GraphSON; `GraphSONReader` and `StarGraphGraphSON*`.

pub mod documents;
pub mod line_read;
pub mod line_write;
pub mod sides;
pub mod stream;
pub mod typed;
pub mod value_read;
pub mod value_write;

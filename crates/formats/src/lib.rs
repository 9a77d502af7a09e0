//! Formats: files that hold graphs, read and written element by element. It knows files and elements,
//! not databases.
//!
//! | format | read by | written by |
//! |---|---|---|
//! | GraphSON 3 (2 and 1 as well), a vertex a line or wrapped | [`graphson::stream`], [`graphson::line_read`] | [`graphson::line_write`] |
//! | values in GraphSON 3 | [`graphson::value_read`] | [`graphson::value_write`] |
//! | GraphML | [`graphml::reader`] | [`graphml::writer`] |
//! | GEXF 1.0 to 1.3 | [`gexf::reader`] | |
//! | GML | [`gml::reader`] | |
//! | Pajek (`.net`) | [`pajek::reader`] | |
//! | nodes and links in JSON: NetworkX, D3, Cytoscape and others | [`node_link::reader`] | |
//! | DIMACS shortest paths (`.gr`) | [`dimacs`], line by line | [`dimacs`] |
//! | Matrix Market, coordinates (`.mtx`) | [`matrix_market`], line by line | [`matrix_market`] |
//!
//! Readers of one file of elements are [`element_source::ElementSource`]s; GraphSON, whose lines are parsed on
//! many threads, is none.
//!
//! What a graph loses on its way through a file and back:
//!
//! | | GraphSON 3 | GraphML | DIMACS | Matrix Market |
//! |---|---|---|---|---|
//! | labels, edge types | kept, several labels too | the first label | lost | lost |
//! | ids of vertices | kept with their type | kept if all have one type | numbered from 1 | numbered from 1 |
//! | ids of edges | kept | kept if all have one type | lost | lost |
//! | properties of edges | all types | all types (1) | one whole number | one number, or none |
//! | properties of vertices | all types | all types (1), one value a key | lost | lost |
//! | ids of properties, meta-properties | kept | lost, counted | lost | lost |
//! | control characters in text | kept | kept (3); in ids an error | | |
//! | order of a vertex's edges | within an edge type | kept | kept | kept |
//! | parallel edges, self-loops | kept | kept | kept | kept (2) |
//! | vertices without edges | kept | kept | kept | kept |
//!
//! (1) GraphML knows six types; others are strings to whoever doesn't know our `evergraph.type`.
//! (2) As entries of one place, which other readers may add up.
//! (3) In GraphSON, which others take for the text itself.
//!
//! To read another format of vertices and edges, follow a format that is there, say `gexf`:
//! 1. Here: a folder with a reader that implements [`element_source::ElementSource`], its tests, a row in the first
//!    table above, and its row in `ARCHITECTURE.md`'s code map.
//! 2. `crates/files/src/import`: a variant of `ElementFormat` with its name (`elements/element_file.rs`), its reader in
//!    the match of `elements/element_stream.rs`; a variant of `FileFormat` in `ALL`, `name` and `keys`
//!    (`mapping/rule.rs`); from the one to the other, and what to say of a file that isn't one (`plan.rs`).
//! 3. How it is recognised, in `recognise`: its endings and first bytes (`elements.rs`), standard input (`stream.rs`),
//!    the list of endings (`KNOWN_ENDINGS` in `file.rs`), and the table in `mod.rs`.
//! 4. The help of `evergraph import` (`crates/cli/src/command/import/arguments.rs`), and `docs/guide/import.md`: the
//!    endings, the values of `format`, and what becomes of its contents. Python takes the name from `FileFormat`.
//! 5. `fuzz/src/targets`: a target with seeds and its line in `mod.rs`; an ending and a seed in `import.rs`; its row in
//!    `docs/testing.md`.
//! 6. `tests/tests/broken_input`: rows in `graph_files.rs` or a file of its own, a sound file in `samples.rs`, its
//!    name in `cut.rs` if it says where it ends. Two refusals quote all endings (`csv.rs`) and all formats
//!    (`mapping.rs`).
//! 7. A line in `CHANGELOG.md`.
//!
//! Readers trust nothing: what they are given is elements or an error that says where, never a panic,
//! and the memory that they take is bounded by limits of their options.

mod byte_stream;
pub mod dimacs;
pub mod element;
pub mod element_source;
pub mod error;
pub mod gexf;
pub mod gml;
pub mod graphml;
pub mod graphson;
pub mod json;
pub mod matrix_market;
pub mod node_link;
pub mod pajek;
#[cfg(test)]
mod strategy;
mod words;
pub mod xml;

//! Recognise: finds out how a file is read, from its name and its first rows.
//!
//! | what shows | what it is |
//! |---|---|
//! | `.v`; `.e .edges .el .txt` | lists of vertices; of edges (Graphalytics, SNAP) |
//! | `.gr`; `.mtx` | DIMACS; Matrix Market |
//! | `.graphson`, or `.json` that begins as a vertex; `.graphml`, or `.xml` with its tag | GraphSON; GraphML |
//! | `.json`, `.cyjs` with a list of nodes or links | nodes and links: NetworkX, D3, Cytoscape and others |
//! | `.gexf`, or `.xml` with its tag; `.gml`; `.net`, `.paj` with `*Vertices` | GEXF; GML; Pajek |
//! | `person_knows_person_0_0.csv` with `Person.id\|Person.id` | LDBC SNB ([`systems::ldbc`]) |
//! | a header with `:ID`, or `:START_ID` and `:END_ID` | CSV in Neo4j's conventions ([`systems::neo4j`]) |
//! | a header with `~id`, or `~from` and `~to` | Neptune's CSV for Gremlin ([`systems::neptune`]) |
//! | a first line that begins with two whole numbers | a list of edges, if no file of vertices is beside it |
//! | a header of plain names, or none | CSV, its columns guessed from the first rows ([`plain_header`]) |
//! | texts of which every line has as many fields | the same, between tabs, commas or blanks ([`table`]) |
//! | standard input and pipes without an ending | any of these, by the first bytes ([`stream`]) |
//!
//! ```text
//! file ──> csv ─┬─> first_row, sample ──> columns ──> plain ─┐        ends: where edges begin and end
//!   │           └─> neo4j, neptune, ldbc ────────────────────┼─> settle
//!   └─> list, elements, table ───────────────────────────────┘        labels: whose vertices these are
//! ```
//!
//! What is found is a [`FileRule`](crate::import::mapping::rule::FileRule), as a mapping file would say.

pub mod columns;
pub mod cross_file;
pub mod csv;
pub mod elements;
pub mod end_names;
pub mod ends;
pub mod file;
pub mod first_row;
pub mod known_types;
pub mod labels;
pub mod list;
pub mod plain_header;
pub mod recognition;
pub mod sample;
pub mod stream;
pub mod systems;
pub mod table;

//! Gremlin: queries as text or bytecode, on a snapshot, in a transaction, or on the database.
//!
//! ```text
//! snapshot.gremlin(text)   one moment, read                     ┐
//! tx.gremlin(text)         with its writes so far, and writes   ├ Query ── bind, limits ──> values, one, first, items, run
//! db.gremlin(text)         a snapshot, or a transaction         ┘                       ├─> iter (snapshot, transaction)
//!                                                                                       └─> plan, explain, profile
//! ```
//!
//! `docs/gremlin.md` in the repository says which steps there are. Values go into a text as variables, never by being
//! pasted into it:
//!
//! ```
//! use evergraph::{Database, ReadByName, VertexId};
//!
//! let db = Database::in_memory()?;
//! db.create_unique_index("person", "name")?;
//! db.gremlin("g.addV('person').property('name', 'ann').property('age', 41)").run()?;
//! db.transact(|tx| {
//!     tx.gremlin("g.addV('person').property('name', 'bob').property('age', 17)").run()?;
//!     tx.gremlin("g.V().has('name', 'ann').addE('knows').to(__.V().has('name', other))").bind("other", "bob").run()
//! })?;
//!
//! let snapshot = db.snapshot();
//! let adults = "g.V().has('person', 'age', gt(limit)).values('name')";
//! let names: Vec<String> = snapshot.gremlin(adults).bind("limit", 30).values()?;
//! assert_eq!(names, ["ann"]);
//! let edges: i64 = db.gremlin("g.E().count()").one()?;
//! assert_eq!(edges, 1);
//!
//! // A vertex is its id; a snapshot or a transaction says more of it.
//! let known: VertexId = snapshot.gremlin("g.V().has('name', 'ann').out('knows')").one()?;
//! assert_eq!(snapshot.key_of(known)?, Some(("name".into(), "bob".into())));
//! assert_eq!(snapshot.get(known, "age")?, Some(17.into()));
//! # Ok::<(), evergraph::Error>(())
//! ```
//!
//! Results come a batch at a time, as they are asked for:
//!
//! ```
//! use evergraph::{Database, ReadByName};
//!
//! let db = Database::in_memory()?;
//! db.transact(|tx| (0..5).try_for_each(|at| tx.add_vertex("Point", &[("at", at.into())]).map(drop)))?;
//! let snapshot = db.snapshot();
//! for item in snapshot.gremlin("g.V().values('at')").iter()?.take(2) {
//!     println!("{}", item?.kind());
//! }
//! # Ok::<(), evergraph::Error>(())
//! ```
//!
//! An error of a text names line and column and shows the place; its source is the
//! [`TextError`](evergraph_query::error::TextError):
//!
//! ```
//! let db = evergraph::Database::in_memory()?;
//! let error = db.gremlin("g.V().otu('knows')").run().unwrap_err();
//! let said = "line 1, column 7: no step is called `otu`; did you mean `out`?
//!   g.V().otu('knows')
//!         ^^^";
//! assert_eq!(error.to_string(), said);
//! # Ok::<(), evergraph::Error>(())
//! ```
//!
//! Drivers write bytecode, in GraphSON or in
//! [GraphBinary](evergraph_protocol::graph_binary::bytecode_read). It is the same query as its text, and its errors name the
//! instruction:
//!
//! ```
//! use evergraph::protocol::graphson::bytecode_read::parse;
//! use evergraph::query::gremlin::parser::ParseLimits;
//!
//! let db = evergraph::Database::in_memory()?;
//! let json = br#"{"@type": "g:Bytecode", "@value": {"step": [["inject", "a", "b"], ["count"]]}}"#;
//! let bytecode = parse(json, &ParseLimits::default())?;
//! assert_eq!(bytecode.query().to_string(), "g.inject(\"a\", \"b\").count()");
//! assert_eq!(db.ask(&bytecode).one::<i64>()?, 2);
//!
//! let json = br#"{"@type": "g:Bytecode", "@value": {"step": [["V"], ["limit", "a"]]}}"#;
//! let error = db.ask(&parse(json, &ParseLimits::default())?).run().unwrap_err();
//! let said = "step 2 (`limit`), argument 1: `limit` takes (integer) or (Scope, integer), and this is a string";
//! assert_eq!(error.to_string(), said);
//! # Ok::<(), evergraph::Error>(())
//! ```
//!
//! - [`query`]: the text or the bytecode with its variables and limits, and what may be asked of it
//! - [`explain`]: what it would do, and what each of its steps did
//! - [`graph`]: what it runs on; [`host`]: what it needs of a database
//! - [`task`]: its plan, with the limits within which it runs
//! - [`note`]: what is said of names that the graph doesn't have
//! - [`results`]: results one by one, or some at a time
//! - [`elements`]: labels and properties of the elements in results
//! - [`argument`]: what a variable may be
//! - [`answer`]: what a result may become

mod algorithms;
pub mod answer;
pub mod argument;
mod database;
pub mod elements;
pub mod explain;
pub mod graph;
pub mod host;
#[cfg(feature = "files")]
mod io;
pub mod note;
pub mod query;
pub mod results;
pub mod task;

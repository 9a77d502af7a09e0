//! Gremlin: text becomes checked calls.
//!
//! ```text
//! "g.V().out()" ──lexer──> lexemes ──parser──> calls ──check──> the same calls, words resolved
//!                                    literal              signature, bindings
//! ```
//!
//! - [`read`]: all of it at once
//! - [`language`]: which language a text is in that is no Gremlin
//! - [`lexer`], [`parser`], [`literal`]: text to calls; they know no step
//! - [`bytecode`]: what drivers send instead of text, to the same calls
//! - [`call`], [`token`]: what calls and their arguments are; [`print`](mod@print) writes them as text again
//! - [`signature`]: what each method may be given, one table
//! - [`name`]: what a name is the name of, where a step takes it
//! - [`normalise`]: a query without its values, for logs
//! - [`mention`]: which names of the graph the calls read and write
//! - [`check`], [`bindings`]: calls against the table, names of tokens and variables resolved
//!
//! Source: gremlin-lang, the grammar of TinkerPop 3.8.1. Differs: variables may stand wherever a literal
//! may, and identifiers are those of Unicode.

pub mod bindings;
pub mod bytecode;
pub mod call;
pub mod check;
pub mod compile;
pub mod language;
pub mod lexer;
pub mod literal;
pub mod mention;
pub mod name;
pub mod normalise;
pub mod parser;
pub mod print;
pub mod read;
pub mod signature;
pub mod token;

//! Salvage: the verified data of a damaged database in a new one, and an exact list of what is missing.
//!
//! ```text
//! manifest ─> groups, names, places           damaged: the log alone, if it goes back to the first commit
//! log ─────> changes through X                in order, as long as no commit is missing
//! bodies ──> vertices, then each edge type    blocks that verify; columns one by one
//!            both sides compared, what one lacks taken from the other, loose ends left out
//! new database: the same ids, names and indexes, checked by whoever opens it
//! ```
//!
//! Nothing is guessed: a value comes from bytes whose checksum holds, or it is listed as missing; a vertex of
//! which only some new values are known is missing whole. The damaged database is only read.
//!
//! A segment is *known through* max(base, X), or lost. If the log reaches all bases, that is X for every
//! segment, and the result is the state at X, less what is listed. If it doesn't, segments are known
//! through different commits; of the two sides of an edge the later one is believed, and the report says
//! that the result is no state of one moment. The same is so where an engine stores records beside bodies and
//! some don't verify: their segment is known through the commit before them, but for what newer records and
//! the log speak of.
//!
//! The engine reads its files and puts the graph together; here is what is the same for all of them.
//!
//! - [`loss`]: the list of what is missing
//! - [`source`]: the manifest and the log, as far as they can be read
//! - [`known_names`]: names and groups, from the manifest on through the log
//! - [`new_database`]: a database that is a whole one at its very end
//! - [`salvaged`]: what came of it
//! - [`run`]: the way in

pub mod known_names;
pub mod loss;
pub mod new_database;
pub mod run;
pub mod salvaged;
pub mod source;

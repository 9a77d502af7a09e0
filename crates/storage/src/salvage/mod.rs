//! Salvage: whatever verifies of a damaged database in a new one, and a list of exactly what doesn't.
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
//! that the result is no state of one moment.
//!
//! - [`loss`]: the list of what is missing
//! - [`blocks`]: a bodies' file of which some blocks verify
//! - [`partial`]: bodies of which some bytes verify
//! - [`bodies`]: what the manifest names, read as far as it verifies
//! - [`changes`]: what the log did to each vertex and edge
//! - [`vertices`], [`sides`], [`edges`]: putting the graph together
//! - [`edge_losses`]: what of the edges is damaged or missing
//! - [`new_database`]: writing it down
//! - [`run`]: all of it in order

pub mod blocks;
pub mod bodies;
pub mod changes;
pub mod edge_losses;
pub mod edges;
pub mod loss;
pub mod new_database;
pub mod partial;
pub mod run;
pub mod sides;
pub mod vertices;

//! Salvage of graphs whose bodies are damaged: the verified data of bodies and log in a new database, and an exact
//! list of what is missing.
//!
//! - [`finding`]: bodies of which some parts verify, as an engine finds them
//! - [`changes`]: what the log did to each vertex and edge
//! - [`vertices`], [`sides`], [`edges`]: putting the graph together
//! - [`edge_losses`]: what of the edges is damaged or missing
//! - [`run`]: all of it in order

pub mod changes;
pub mod edge_losses;
pub mod edges;
pub mod finding;
pub mod run;
pub mod sides;
pub mod vertices;

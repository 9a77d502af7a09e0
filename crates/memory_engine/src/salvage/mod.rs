//! Salvage of the memory engine's files: the verified data of bodies and log in a new database, and an exact
//! list of what is missing.
//!
//! - [`blocks`]: a bodies' file of which some blocks verify
//! - [`partial`]: bodies of which some bytes verify
//! - [`bodies`]: what the manifest names, read as far as it verifies
//! - [`changes`]: what the log did to each vertex and edge
//! - [`vertices`], [`sides`], [`edges`]: putting the graph together
//! - [`edge_losses`]: what of the edges is damaged or missing
//! - [`new_bodies`]: writing it down
//! - [`run`]: all of it in order

pub mod blocks;
pub mod bodies;
pub mod changes;
pub mod edge_losses;
pub mod edges;
pub mod new_bodies;
pub mod partial;
pub mod run;
pub mod sides;
pub mod vertices;

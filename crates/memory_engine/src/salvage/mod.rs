//! Salvage of the memory engine's files: what `evergraph_bodies::salvage` needs to know of them.
//!
//! - [`blocks`]: a bodies' file of which some blocks verify
//! - [`partial`]: bodies of which some bytes verify
//! - [`bodies`]: what the manifest names, read as far as it verifies
//! - [`new_bodies`]: writing it down
//! - [`run`]: all of it in order

pub mod blocks;
pub mod bodies;
pub mod new_bodies;
pub mod partial;
pub mod run;

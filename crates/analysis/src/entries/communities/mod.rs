//! Communities and density: who is close-knit, and how closely.

pub mod cdlp;
pub mod kcore;
pub mod lcc;
pub mod leiden;
pub mod louvain;
pub mod triangles;

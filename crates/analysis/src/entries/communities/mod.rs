//! Communities and density: who is close-knit, and how closely.

pub(crate) mod cdlp;
pub(crate) mod kcore;
pub(crate) mod lcc;
pub(crate) mod leiden;
pub(crate) mod louvain;
pub(crate) mod triangles;

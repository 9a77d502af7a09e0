//! Who matters: ranks and centralities.

pub(crate) mod betweenness;
pub(crate) mod closeness;
pub(crate) mod eigenvector;
pub(crate) mod pagerank;
pub(crate) mod personalized_pagerank;

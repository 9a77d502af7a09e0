//! Who matters: ranks and centralities.

pub mod betweenness;
pub mod closeness;
pub mod eigenvector;
pub mod pagerank;
pub mod personalized_pagerank;

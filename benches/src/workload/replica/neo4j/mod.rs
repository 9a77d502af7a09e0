//! Neo4j, embedded in a JVM of its own, beside parts of the replica; left out where there is none.
//!
//! ```text
//! worker    the JVM and its requests: edges without properties, kernels, statements in Cypher, a thread that writes
//! network   LDBC's network with labels, types and properties: IS-3, BI-2 and BI-3 in Cypher
//! ```

pub mod network;
pub mod worker;

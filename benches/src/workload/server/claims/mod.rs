//! Claims: what a paper measured of servers, measured of ours beside others: two parts, `snb` and `mixes`.
//!
//! ```text
//! snb              IS1 to IS4, IC1 to IC4              mixes             reads and writes, both isolation levels
//! snb_in_cypher    the same reads in Cypher            micro             the mixes' queries, in Gremlin and Cypher
//! refusal          errors that are refusals            entrants          who is asked, at which level
//! ```
//!
//! Every server loads the same `workload/property_graph`, of LDBC's files or a micro-benchmark's.

pub mod entrants;
pub mod micro;
pub mod mixes;
pub mod refusal;
pub mod snb;
pub mod snb_in_cypher;

//! Claims: what a paper measured of servers, measured of ours beside others: two parts, `snb` and `mixes`.
//!
//! ```text
//! snb              IS1 to IS4, IC1 to IC4              mixes             reads and writes, both isolation levels
//! snb_in_cypher    the same reads in Cypher            micro             the mixes' queries, in Gremlin and Cypher
//! ldbc_files       LDBC's files as a property graph    refusal           errors that are refusals
//! property_graph   a graph as every server loads it    entrants          who is asked, at which level
//! ```

pub mod entrants;
pub mod ldbc_files;
pub mod micro;
pub mod mixes;
pub mod property_graph;
pub mod refusal;
pub mod snb;
pub mod snb_in_cypher;

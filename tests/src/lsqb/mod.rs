//! LSQB: the nine counting queries of the Labelled Subgraph Query Benchmark, on any view of an LDBC
//! social network.
//!
//! ```text
//! q1  Country <- City <- Person <- member - Forum - container -> Post <- reply - Comment -> Tag -> TagClass
//! q2  a KNOWS b; a comment of a replies to a post of b
//! q3  a, b, c know each other and live in cities of one country
//! q4  a message with a tag, its creator, a liker and a reply
//! q5  a message with tag s, a reply with tag t, s <> t
//! q6  a KNOWS b KNOWS c, a <> c, c is interested in a tag
//! q7  as q4; liker and reply may be missing
//! q8  as q5, and the reply doesn't carry s
//! q9  as q6, and a doesn't know c
//! ```
//!
//! Each gives how many matches there are: KNOWS is read both ways, a message is a post or a comment, and
//! one vertex may take two places unless said otherwise. No match is enumerated where a product counts
//! it: along a path, counts are carried from one end to the other; around a vertex, degrees multiply;
//! only triangles are found one by one, by intersecting sorted lists.
//!
//! Source: Mhedhbi et al., "LSQB: A Large-Scale Subgraph Query Benchmark" (GRADES-NDA 2021).

pub mod names;
pub mod queries;
pub mod walks;

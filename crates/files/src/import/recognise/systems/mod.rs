//! Systems: files as other systems write them, known by their headers or names.

pub mod ldbc;
pub mod neo4j;
pub mod neptune;

//! Network in Neo4j: LDBC's vertices and edges with labels, types and properties; IS-3, BI-2 and BI-3 in Cypher.
//!
//! ```text
//! (:Person {id, ...})-[:KNOWS {creationDate}]-(:Person)     (:Message:Post)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name})
//! ```
//!
//! It is loaded from LDBC's graph, which is the same network as the relations: each answer is compared with SQL's of these. Dates
//! are whole numbers, of milliseconds. Indexed are ids of persons and messages, names of places and classes of tags.

use crate::plan::{Work, expect, wrong};
use crate::workload::interactive::ldbc_files;
use crate::workload::property_graph::{PropertyGraph, Uniqueness};
use crate::workload::replica::Bench;
use crate::workload::replica::neo4j::worker::{NEO4J, Neo4j};
use crate::workload::replica::network::post_writer::POSTS;
use crate::workload::replica::question::{Question, Rows};
use evergraph::Value;
use evergraph_graph::error::{Error, Result};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Labels that are found by name.
const NAMED: [&str; 2] = ["Place", "TagClass"];

const IS_3: &str = "MATCH (:Person {id: $person})-[knows:KNOWS]-(friend:Person)
    RETURN friend.id AS id, friend.firstName, friend.lastName ORDER BY knows.creationDate DESC, id";

/// One pass over the messages of a tag, for both periods.
const BI_2: &str = "MATCH (:TagClass {name: $class})<-[:HAS_TYPE]-(tag:Tag)
    OPTIONAL MATCH (tag)<-[:HAS_TAG]-(message:Message) WHERE $start <= message.creationDate < $end
    RETURN tag.id AS id, count(CASE WHEN message.creationDate < $middle THEN 1 END) AS first,
        count(CASE WHEN message.creationDate >= $middle THEN 1 END) AS second ORDER BY id";

const BI_3: &str =
    "MATCH (:Place {name: $country})<-[:IS_PART_OF]-(:Place)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MODERATOR]-(forum:Forum)
    OPTIONAL MATCH (forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(message:Message)
        WHERE EXISTS { (message)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $class}) }
    RETURN forum.id AS id, count(message) AS messages ORDER BY id";

const CHANGE: &str =
    "UNWIND $ids AS id MATCH (post:Message {id: id}) SET post.length = post.length + 1 RETURN count(post)";

/// The network in a JVM of its own.
pub struct Neo4jNetwork {
    neo4j: Neo4j,
    /// Parameters of [`CHANGE`], one after the other.
    changes: Vec<serde_json::Value>,
    /// Time between two of them.
    interval: Duration,
}

impl Neo4jNetwork {
    /// Loads the network of LDBC's folder `graph`; `None` without a JVM. While it is asked, lengths of so many `posts` change each
    /// `interval`.
    ///
    /// # Errors
    /// Those of the files, and what Neo4j says.
    pub fn start(
        work: &mut Work<'_>,
        bench: &Bench,
        graph: &Path,
        posts: usize,
        interval: Duration,
    ) -> Result<Option<Self>> {
        let Some(built) = Neo4j::built(work, bench, "network") else { return Ok(None) };
        let mut graph = ldbc_files::read(graph)?;
        let named = NAMED.map(|label| (label.to_owned(), "name", Uniqueness::Shared));
        graph.indexed.vertices.extend(named);
        let mut neo4j = Neo4j::start(built, &bench.folder.join("neo4j-network"), 0, &[])?;
        graph.load_into_neo4j(|text, parameters| {
            let (mut rows, _) = neo4j.rows(text, &[parameters])?;
            Ok(rows.pop().unwrap_or_default())
        })?;
        let (vertices, edges) = graph.counts();
        work.note(format!(
            "network: {NEO4J} has LDBC's {vertices} vertices and {edges} edges with all their properties and is asked in Cypher, its plans kept by the text; lengths of {posts} posts change in a transaction, a transaction each {interval:?}; times are those in its JVM; {}",
            neo4j.settings
        ));
        Ok(Some(Self { neo4j, changes: changes(&graph, posts), interval }))
    }

    /// As [`Neo4j::note_repeated`].
    pub fn note_repeated(&self, work: &mut Work<'_>) {
        self.neo4j.note_repeated(work, "network");
    }

    /// Asks with all parameters, again and again, while posts change: seconds of one answer. Every answer is compared.
    ///
    /// # Errors
    /// `corrupt` for another answer; what Neo4j says.
    pub fn time(&mut self, question: &Question, time: Duration, expected: &[Rows]) -> Result<f64> {
        let text = text(question.name)?;
        let set = |parameters: &Vec<(&'static str, Value)>| -> serde_json::Value {
            parameters.iter().map(|(name, value)| ((*name).to_owned(), parameter(value))).collect()
        };
        let sets: Vec<_> = question.parameters.iter().map(set).collect();
        self.neo4j.beside_changes(CHANGE, &self.changes, self.interval, |neo4j| {
            let (mut asked, mut seconds, began) = (0, 0.0, Instant::now());
            while asked == 0 || began.elapsed() < time {
                let (answers, of_all) = neo4j.rows(text, &sets)?;
                expect(NEO4J, question.title, answers.len(), expected.len())?;
                for ((answer, expected), set) in answers.iter().zip(expected).zip(&sets) {
                    let found: Rows = answer.iter().map(cells).collect();
                    if found != *expected {
                        return Err(wrong(NEO4J, &format!("{} of {set}", question.title), found, expected));
                    }
                }
                asked += sets.len();
                seconds += of_all;
            }
            Ok(seconds / asked.max(1) as f64)
        })
    }
}

fn text(name: &str) -> Result<&'static str> {
    match name {
        "is_3" => Ok(IS_3),
        "bi_2" => Ok(BI_2),
        "bi_3" => Ok(BI_3),
        other => Err(Error::invalid(format!("no Cypher for {other}"))),
    }
}

/// A value as the network has it: a moment in milliseconds.
fn parameter(value: &Value) -> serde_json::Value {
    match value {
        Value::DateTime(moment) => json!(moment.epoch_milliseconds()),
        Value::I64(number) => json!(number),
        other => json!(other.to_string()),
    }
}

/// The cells of a row, as SQL writes them.
fn cells(row: &serde_json::Value) -> Vec<String> {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    row.as_array().into_iter().flatten().map(cell).collect()
}

/// The first posts by id, so many a set.
fn changes(graph: &PropertyGraph, count: usize) -> Vec<serde_json::Value> {
    let posts = graph.vertices.iter().filter(|table| table.label == "Post").flat_map(|table| &table.columns);
    let ids = posts.filter(|column| column.key == "id").flat_map(|column| &column.values);
    let mut ids: Vec<i64> = ids.flatten().filter_map(Value::as_i64).collect();
    ids.sort_unstable();
    ids.truncate(POSTS);
    ids.chunks(count).map(|ids| json!({ "ids": ids })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::datetime::DateTime;

    #[test]
    fn parameters_and_rows_are_those_of_sql() {
        let moment = DateTime::from_epoch_milliseconds(1_262_304_000_000).unwrap();
        assert_eq!(parameter(&Value::from(moment)), json!(1_262_304_000_000_i64));
        assert_eq!(
            [Value::from(7_i64), Value::from("Album")].map(|value| parameter(&value)),
            [json!(7), json!("Album")]
        );
        assert_eq!(cells(&json!([7, "José", null])), ["7", "José", ""]);
    }
}

//! Observed: the whole graph, as one node answers.

use crate::caller::{number, text};
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_graph::error::Result;
use evergraph_protocol::result::result_value::ResultValue;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a query may take when nothing fails.
const QUERY_TIME: Duration = Duration::from_secs(30);

/// An edge: where it begins, its key, where it ends.
pub type Edge = (i64, i64, i64);

/// Everything, in order: what is there twice is so here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    pub marks: Vec<i64>,
    /// Numbers and balances.
    pub accounts: Vec<(i64, i64)>,
    /// Keys and texts.
    pub lists: BTreeMap<i64, String>,
    /// How many there are.
    pub lists_count: usize,
    /// Values, and the marks of those who have them.
    pub claims: Vec<(i64, i64)>,
    pub people: Vec<i64>,
    /// Edges by the lists of where they begin, and by those of where they end.
    pub outgoing: Vec<Edge>,
    pub incoming: Vec<Edge>,
    /// Keys in the same lists, whatever is at the other end.
    pub outgoing_keys: Vec<i64>,
    pub incoming_keys: Vec<i64>,
}

impl Observed {
    /// All that a node answers. Each query reads a snapshot of its own.
    ///
    /// # Errors
    /// Those of the queries.
    pub fn of(client: &Client) -> Result<Self> {
        let all = |query: &str| -> Result<Vec<ResultValue>> {
            client.query(&Query::text(query).timeout(QUERY_TIME))?.collect()
        };
        let numbers = |query: &str| all(query).map(|results| sorted(results.iter().map(number)));
        let rows = |query: &str| all(query).map(|results| results.iter().map(row).collect::<Vec<_>>());
        let pairs = |query: &str| {
            rows(query).map(|rows| sorted(rows.iter().map(|row| (number(&row[0]), number(&row[1])))))
        };
        let edges = |query: &str| {
            let edge = |row: &Vec<ResultValue>| (number(&row[0]), number(&row[1]), number(&row[2]));
            rows(query).map(|rows| sorted(rows.iter().map(edge)))
        };
        let lists = rows("g.V().hasLabel('List').project('k', 't').by('key').by('text')")?;
        Ok(Self {
            marks: numbers("g.V().hasLabel('Mark').values('key')")?,
            accounts: pairs("g.V().hasLabel('Account').project('n', 'b').by('number').by('balance')")?,
            lists_count: lists.len(),
            lists: lists.iter().map(|row| (number(&row[0]), text(&row[1]))).collect(),
            claims: pairs("g.V().hasLabel('Claim').project('v', 'b').by('value').by('by')")?,
            people: numbers("g.V().hasLabel('Person').values('number')")?,
            outgoing: edges(
                "g.V().hasLabel('Person').as('a').outE('KNOWS').as('e').inV().as('b').select('a', 'e', 'b').by('number').by('key').by('number')",
            )?,
            incoming: edges(
                "g.V().hasLabel('Person').as('b').inE('KNOWS').as('e').outV().as('a').select('a', 'e', 'b').by('number').by('key').by('number')",
            )?,
            outgoing_keys: numbers("g.V().hasLabel('Person').outE('KNOWS').values('key')")?,
            incoming_keys: numbers("g.V().hasLabel('Person').inE('KNOWS').values('key')")?,
        })
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

/// The values of a map, in its order.
fn row(result: &ResultValue) -> Vec<ResultValue> {
    match result {
        ResultValue::Map(entries) => entries.iter().map(|(_, value)| value.clone()).collect(),
        other => panic!("{other:?} is no map"),
    }
}

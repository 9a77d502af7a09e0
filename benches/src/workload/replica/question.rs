//! `Question`: the same question in Gremlin and in SQL, asked again and again.

use crate::plan::wrong;
use crate::workload::queries::{ROWS, limits};
use crate::workload::replica::OURS;
use crate::workload::replica::source_server::run;
use evergraph::{Database, Item, ReadByName as _, Value};
use evergraph_graph::error::Result;
use evergraph_replica::source::postgres::connection::Connection;
use std::time::{Duration, Instant};

/// Rows of texts.
pub type Rows = Vec<Vec<String>>;

/// A question with what it is asked for.
pub struct Question {
    /// Its name for programs.
    pub name: &'static str,
    /// What it asks.
    pub title: &'static str,
    /// In Gremlin, with variables.
    pub gremlin: &'static str,
    /// In SQL, with the variables' names in braces.
    pub sql: &'static str,
    /// Values of the variables, a list a time that it is asked.
    pub parameters: Vec<Vec<(&'static str, Value)>>,
}

impl Question {
    /// Asks with all parameters, again and again: seconds of one answer. With `expected`, every answer is compared.
    ///
    /// # Errors
    /// `corrupt` for another answer; those of `ask`.
    pub fn time(
        &self,
        time: Duration,
        mut ask: impl FnMut(&[(&'static str, Value)]) -> Result<Rows>,
        expected: Option<&[Rows]>,
    ) -> Result<f64> {
        let (mut asked, began) = (0, Instant::now());
        while asked == 0 || began.elapsed() < time {
            for (number, parameters) in self.parameters.iter().enumerate() {
                let found = ask(parameters)?;
                // The text of an error takes longer than some reads: it is written when there is one.
                if let Some(expected) = expected.map(|expected| &expected[number])
                    && found != *expected
                {
                    let what = format!("{} of {parameters:?}", self.title);
                    return Err(wrong(OURS, &what, found, expected));
                }
            }
            asked += self.parameters.len();
        }
        Ok(began.elapsed().as_secs_f64() / asked.max(1) as f64)
    }

    /// The rows of our answer, on a new snapshot.
    ///
    /// # Errors
    /// Those of the query.
    pub fn by_gremlin(&self, database: &Database, parameters: &[(&'static str, Value)]) -> Result<Rows> {
        let snapshot = database.snapshot();
        let query = snapshot.gremlin(self.gremlin).limits(limits(ROWS));
        let bound = parameters.iter().fold(query, |query, (name, value)| query.bind(name, value.clone()));
        let cells = |item: Item| match item {
            Item::Map(map) => map.entries().iter().map(|(_, value)| cell(value)).collect(),
            other => vec![cell(&other)],
        };
        Ok(bound.items()?.into_iter().map(cells).collect())
    }

    /// The rows of SQL's answer.
    ///
    /// # Errors
    /// What the server says.
    pub fn by_sql(&self, connection: &mut Connection, parameters: &[(&'static str, Value)]) -> Result<Rows> {
        let sql = parameters.iter().fold(self.sql.to_owned(), |sql, (name, value)| {
            let literal = match value {
                Value::DateTime(_) => format!("timestamptz '{value}'"),
                Value::I64(number) => number.to_string(),
                other => format!("'{}'", other.to_string().replace('\'', "''")),
            };
            sql.replace(&format!("{{{name}}}"), &literal)
        });
        let rows = run(connection, &sql)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
    }
}

fn cell(item: &Item) -> String {
    match item {
        Item::Value(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

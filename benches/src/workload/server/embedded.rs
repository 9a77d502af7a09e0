//! Embedded: the same questions in this process, one thread, text to answer.

use crate::workload::server::contender::Contender;
use crate::workload::server::generator::Outcome;
use crate::workload::server::people::People;
use crate::workload::server::question::Asked;
use evergraph::{Database, Item};
use evergraph_graph::error::Result;
use std::time::{Duration, Instant};

/// Asks `database` again and again for `time`; ids are those of `named`, a server of a copy.
///
/// # Errors
/// Those of queries.
pub fn run(
    database: &Database,
    named: &Contender,
    people: &People,
    asked: &[Asked],
    time: Duration,
) -> Result<Outcome> {
    let variables: Vec<_> = asked.iter().map(|asked| named.variables(people, asked)).collect();
    let text = asked[0].question.gremlin();
    let ask = |variables: &[(&'static str, evergraph::Value)]| -> Result<Vec<Item>> {
        let bind = variables.iter();
        bind.fold(database.gremlin(text), |query, (name, value)| query.bind(name, value.clone())).items()
    };
    let (mut times, began) = (Vec::new(), Instant::now());
    let mut last = began;
    while times.is_empty() || began.elapsed() < time {
        for variables in &variables {
            ask(variables)?;
            let now = Instant::now();
            times.push(now - last);
            last = now;
            if now - began >= time {
                break;
            }
        }
    }
    let total = last - began;
    Ok(Outcome::of(&mut times, total))
}

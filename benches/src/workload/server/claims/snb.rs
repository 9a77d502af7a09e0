//! SNB: LDBC's short reads IS1 to IS4 and complex reads IC1 to IC4, asked of every server: latency, throughput, memory.
//!
//! Every answer of every server is compared, row by row and in order, with that of plain loops over the same files
//! (`interactive/by_hand`) before anything is timed. Dates are whole numbers on every server.
//!
//! Source: G-Tran (PVLDB 15, 2022), table 3. Differs: 1 and 8 clients, where the paper has one.

use crate::plan::{Work, wrong};
use crate::race::Race;
use crate::results::Heading;
use crate::workload::interactive::by_hand::{self, Dates, Row};
use crate::workload::interactive::ldbc_files;
use crate::workload::interactive::network::Network;
use crate::workload::interactive::parameters::{Parameters, Sets};
use crate::workload::interactive::texts::{self, Read};
use crate::workload::server::claims::entrants::{Entrant, Prepared, Purpose, Running};
use crate::workload::server::claims::snb_in_cypher;
use crate::workload::server::contender::{Contender, Dialect, cypher_request};
use crate::workload::server::exchange::Exchange;
use crate::workload::server::generator::Unit;
use crate::workload::server::{Bench, Races, connections};
use evergraph::Value;
use evergraph_graph::error::{Error, Result};
use evergraph_measure::figure::Unit as Measure;
use evergraph_protocol::result::result_value::ResultValue;
use tungstenite::Bytes;

/// Measures each read by each number of clients.
///
/// # Errors
/// `corrupt` for an answer that is not that of the loops, with the query and its parameters; `io` if a server does not
/// start.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let Some(folder) = work.plan.interactive.clone() else {
        let text = "left out: snb, since --interactive names no folder of LDBC's interactive workload";
        eprintln!("{text}");
        work.note(text);
        return Ok(());
    };
    let graph = folder.join("graph");
    let network = Network::read(&graph)?;
    let sets = Sets::new(&folder.join("substitution_parameters"), &network, work.plan.seed)?;
    let reads: Vec<Read> =
        texts::reads(&sets).into_iter().filter(|read| snb_in_cypher::text(read.name).is_some()).collect();
    let graph = ldbc_files::read(&graph)?;
    let prepared = Prepared::new(bench, "snb", &graph)?;
    let entrants = Entrant::all(work, bench, Purpose::Reads);
    let running = entrants.iter().map(|entrant| entrant.start(bench, &prepared));
    let running = running.collect::<Result<Vec<Running>>>()?;
    for read in &reads {
        for server in &running {
            compare(&server.contender, &network, read)?;
        }
    }
    for read in &reads {
        one(work, bench, &running, read)?;
    }
    let mut memory = Race::new(running.iter().map(|server| server.contender.name));
    memory.note(&running.iter().map(|server| server.process.memory_peak_bytes() as f64).collect::<Vec<_>>());
    let heading = Heading::new(
        "server.memory.snb",
        "peak memory of the process after all reads of SNB",
        Measure::Bytes,
    );
    work.add_race(&heading, &memory);
    let (vertices, edges) = graph.counts();
    work.note(format!(
        "SNB: {vertices} vertices, {edges} edges of LDBC's generator, dates as whole numbers; no LDBC benchmark result; \
         every answer of every server is that of plain loops, row by row and in order"
    ));
    Ok(())
}

/// Compares all answers of a server to a read with those of the loops.
fn compare(server: &Contender, network: &Network, read: &Read) -> Result<()> {
    let mut exchange = Exchange::connect(server.address, server.carrier())?;
    for parameters in &read.parameters {
        let expected = by_hand::answer(network, read.name, parameters, Dates::Milliseconds);
        let found = exchange.ask(&request(server, read, parameters)?);
        let found = found.and_then(|(code, frames)| server.read(code, &frames));
        let found: Vec<Row> = found
            .map_err(|error| Error::invalid(format!("{} of {parameters:?}: {error}", read.title)))?
            .iter()
            .map(row)
            .collect();
        if found != expected {
            let what = format!("{} of {parameters:?}, {} rows", read.title, found.len());
            let at = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            let at = at.unwrap_or(found.len().min(expected.len()));
            let what = format!("{what} and not {}, row {at}", expected.len());
            return Err(wrong(server.name, &what, found.get(at), expected.get(at)));
        }
    }
    Ok(())
}

fn one(work: &mut Work<'_>, bench: &Bench<'_>, running: &[Running], read: &Read) -> Result<()> {
    let plan = bench.plan;
    let units = running.iter().map(|server| {
        let unit = |parameters: &Parameters| Ok(vec![request(&server.contender, read, parameters)?]);
        read.parameters.iter().map(unit).collect::<Result<Vec<Unit>>>()
    });
    let units = units.collect::<Result<Vec<_>>>()?;
    if !plan.first_warm_up.is_zero() {
        for (server, units) in running.iter().zip(&units) {
            let most = plan.claims.connections.iter().max().copied().unwrap_or(1);
            server.contender.load(units, most, plan.warm_up, plan.first_warm_up)?;
        }
    }
    let names: Vec<&'static str> = running.iter().map(|server| server.contender.name).collect();
    for count in &plan.claims.connections {
        let races = Races::run(&names, plan.rounds, |place| {
            running[place].contender.load(&units[place], *count, plan.warm_up, plan.run_time)
        })?;
        let title = format!("{}, {}", read.title, connections(*count));
        races.add(work, &format!("snb.{}.clients_{count}", read.name), &title);
    }
    Ok(())
}

/// A read with its parameters, dates as whole numbers.
fn request(server: &Contender, read: &Read, parameters: &Parameters) -> Result<Bytes> {
    let number = |value: &Value| match value {
        Value::DateTime(moment) => moment.epoch_milliseconds().into(),
        value => value.clone(),
    };
    let parameters: Vec<(&str, Value)> =
        parameters.iter().map(|(name, value)| (*name, number(value))).collect();
    match server.dialect {
        Dialect::Cypher => {
            let text = snb_in_cypher::text(read.name).unwrap_or_default();
            Ok(cypher_request(server.address, text, &parameters))
        }
        _ => server.text_request(read.text, &parameters),
    }
}

/// A result as a row of texts: maps give their values, lists stand in brackets, what is not there gives nothing.
fn row(result: &ResultValue) -> Row {
    fn put(result: &ResultValue, row: &mut Row) {
        match result {
            ResultValue::Null => {}
            ResultValue::Value(value) => row.push(value.to_string()),
            ResultValue::Map(entries) => entries.iter().for_each(|(_, value)| put(value, row)),
            ResultValue::List(items) | ResultValue::Set(items) => {
                row.push("[".to_owned());
                items.iter().for_each(|item| put(item, row));
                row.push("]".to_owned());
            }
            other => row.push(format!("{other:?}")),
        }
    }
    let mut texts = Row::new();
    put(result, &mut texts);
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_row_of_its_values_with_lists_in_brackets_and_without_what_is_missing() {
        let text = |text: &str| ResultValue::Value(text.into());
        let result = ResultValue::Map(vec![
            (text("id"), ResultValue::Value(7_i64.into())),
            (text("content"), ResultValue::Null),
            (text("emails"), ResultValue::List(vec![text("a"), text("b")])),
            (text("at"), ResultValue::List(vec![ResultValue::Map(vec![(text("name"), text("c"))])])),
        ]);
        assert_eq!(row(&result), ["7", "[", "a", "b", "]", "[", "c", "]"]);
        assert_eq!(row(&text("one")), ["one"]);
    }
}

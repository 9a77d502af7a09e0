//! Reads: look-ups, walks of two steps and large answers, by so many connections.

use crate::plan::{Work, wrong};
use crate::server_plan::ServerPart;
use crate::workload::server::ceiling::{CEILING, Ceiling};
use crate::workload::server::contender::{Contender, Dialect};
use crate::workload::server::exchange::Exchange;
use crate::workload::server::generator::Unit;
use crate::workload::server::peers::Peers;
use crate::workload::server::question::{Asked, Question};
use crate::workload::server::{BY_HTTP, Bench, EMBEDDED, Races, connections, embedded};
use evergraph::Database;
use evergraph_graph::error::Result;
use tungstenite::Bytes;

/// Connections that ask a server without an index, which reads all people for each answer.
const SCANNED_CONNECTIONS_MAX: usize = 8;
/// Connections that ask for large answers.
const ROWS_CONNECTIONS: [usize; 2] = [1, 8];

struct Figure {
    part: ServerPart,
    question: Question,
    name: &'static str,
    title: &'static str,
}

const FIGURES: [Figure; 4] = [
    Figure {
        part: ServerPart::LookUps,
        question: Question::ById,
        name: "look_up.id",
        title: "look-ups by id",
    },
    Figure {
        part: ServerPart::LookUps,
        question: Question::ByIndex,
        name: "look_up.index",
        title: "look-ups by index",
    },
    Figure {
        part: ServerPart::TwoHops,
        question: Question::TwoHops,
        name: "two_hops",
        title: "walks of two steps, counted",
    },
    Figure { part: ServerPart::Rows, question: Question::Rows, name: "rows", title: "answers" },
];

/// Measures those of the plan.
///
/// # Errors
/// `corrupt` if an answer is wrong.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>, peers: &Peers) -> Result<()> {
    if !FIGURES.iter().any(|figure| bench.plan.has(figure.part)) {
        return Ok(());
    }
    let server = bench.serve("reads", &[])?;
    let ours = bench.ours(&server)?;
    let mut http = Contender::new(BY_HTTP, server.address, Dialect::GremlinText);
    http.ids.clone_from(&ours.ids);
    let contenders: Vec<&Contender> = [&ours, &http].into_iter().chain(&peers.contenders).collect();
    let database = Database::open(bench.copy("embedded")?)?;
    for figure in FIGURES.iter().filter(|figure| bench.plan.has(figure.part)) {
        one(work, bench, figure, &contenders, &database)?;
    }
    database.close()
}

fn one(
    work: &mut Work<'_>,
    bench: &Bench<'_>,
    figure: &Figure,
    contenders: &[&Contender],
    database: &Database,
) -> Result<()> {
    let plan = bench.plan;
    let of = |of| Asked { question: figure.question, of, to: 0 };
    let (asked, counts): (Vec<Asked>, &[usize]) = match figure.question {
        Question::Rows => (vec![of(plan.rows)], &ROWS_CONNECTIONS),
        _ => ((0..bench.people.asked.len()).map(of).collect(), &plan.connections),
    };
    let chosen: Vec<&Contender> = contenders
        .iter()
        .copied()
        .filter(|contender| figure.question == Question::ByIndex || !contender.ids.is_empty())
        .collect();
    let mut units = Vec::new();
    for contender in &chosen {
        contender.compare(&bench.people, &asked)?;
        let of_contender = contender.units(&bench.people, &asked)?;
        if !plan.first_warm_up.is_zero() {
            contender.load(&of_contender, 8, plan.warm_up, plan.first_warm_up)?;
        }
        units.push(of_contender);
    }
    let ceiling = match figure.question {
        Question::Rows => None,
        _ => Some(Ceiling::start(answer(chosen[0], &units[0][0][0])?)?),
    };
    let ceiling = ceiling.as_ref().map(Ceiling::contender);
    for count in counts {
        let runners: Vec<(&Contender, &[Unit])> = chosen
            .iter()
            .zip(&units)
            .filter(|(contender, _)| *count <= SCANNED_CONNECTIONS_MAX || !contender.ids.is_empty())
            .map(|(contender, units)| (*contender, &units[..]))
            .collect();
        let of_ceiling = ceiling.as_ref().map(|_| CEILING);
        let embedded = (*count == 1).then_some(EMBEDDED);
        let names: Vec<&'static str> =
            runners.iter().map(|(contender, _)| contender.name).chain(of_ceiling).chain(embedded).collect();
        let races = Races::run(&names, plan.rounds, |place| match (runners.get(place), &ceiling) {
            (Some((contender, units)), _) => contender.load(units, *count, plan.warm_up, plan.run_time),
            (None, Some(ceiling)) if names[place] == CEILING => {
                ceiling.load(&units[0], *count, plan.warm_up, plan.run_time)
            }
            _ => embedded::run(database, chosen[0], &bench.people, &asked, plan.run_time),
        })?;
        let rows =
            if figure.question == Question::Rows { format!(" of {} rows", plan.rows) } else { String::new() };
        let title = format!("{}{rows}, {}", figure.title, connections(*count));
        races.add(work, &format!("{}.clients_{count}", figure.name), &title);
    }
    Ok(())
}

/// The frame that a server answers a request with.
fn answer(server: &Contender, request: &Bytes) -> Result<Bytes> {
    let (_, mut frames) = Exchange::connect(server.address, server.carrier())?.ask(request)?;
    match frames.len() {
        1 => Ok(frames.remove(0)),
        count => Err(wrong(server.name, "frames of a small answer", count, 1)),
    }
}

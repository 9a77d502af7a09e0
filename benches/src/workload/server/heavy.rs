//! Heavy: look-ups while another client asks for what takes seconds, beside the same look-ups alone.

use crate::goals::baseline;
use crate::plan::{Work, wrong};
use crate::workload::server::contender::Contender;
use crate::workload::server::exchange::Exchange;
use crate::workload::server::question::{Asked, Question};
use crate::workload::server::{Bench, OURS, Races};
use evergraph_graph::error::Result;
use std::net::{Shutdown, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections that look up.
const CONNECTIONS: usize = 8;

/// After this a heavy query runs, or has ended.
const BEGIN_TIME: Duration = Duration::from_millis(100);

/// Heavy queries: name, title, text.
const HEAVY: [(&str, &str, &str); 3] = [
    ("rows", "that has millions of rows", "g.V().out('KNOWS').out('KNOWS').out('KNOWS').values('name')"),
    (
        "count",
        "that counts before its first result",
        "g.V().out('KNOWS').out('KNOWS').out('KNOWS').values('name').dedup().count()",
    ),
    (
        "order",
        "that sorts before its first result",
        "g.V().out('KNOWS').out('KNOWS').order().by('name').limit(10).values('name')",
    ),
];

/// Measures look-ups beside each of them.
///
/// # Errors
/// `corrupt` if an answer is wrong.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let plan = bench.plan;
    let server = bench.serve("heavy", &[])?;
    let ours = bench.ours(&server)?;
    let asked: Vec<Asked> =
        (0..bench.people.asked.len()).map(|of| Asked { question: Question::ById, of, to: 0 }).collect();
    let units = ours.units(&bench.people, &asked)?;
    for (name, title, text) in HEAVY {
        let races = Races::run(&[OURS, baseline::ALONE], plan.rounds, |place| {
            let _heavy = match place {
                0 => Some(Asking::begin(&ours, text)?),
                _ => None,
            };
            ours.load(&units, CONNECTIONS, plan.warm_up, plan.run_time)
        })?;
        let title = format!("look-ups by {CONNECTIONS} connections beside a query {title}");
        races.add(work, &format!("heavy.{name}"), &title);
    }
    work.note("a heavy query: one more client asks for it, reads all that comes, and asks again; its connection ends with the run");
    Ok(())
}

/// A client that asks the same again and again until it is dropped.
struct Asking {
    stream: TcpStream,
    thread: Option<JoinHandle<()>>,
}

impl Asking {
    fn begin(server: &Contender, text: &str) -> Result<Self> {
        let mut exchange = Exchange::connect(server.address, server.carrier())?;
        let stream = exchange.stream()?;
        let request = server.text_request(text, &[])?;
        // An error is the end of the connection, which ends the run.
        let ask = move || while exchange.send(&request).is_ok() && exchange.receive().is_ok() {};
        let thread = Some(thread::spawn(ask));
        thread::sleep(BEGIN_TIME);
        if thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return Err(wrong(server.name, text, "the end of the connection", "an answer"));
        }
        Ok(Self { stream, thread })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // The server cancels what a client asked that is gone.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        thread::sleep(BEGIN_TIME);
    }
}

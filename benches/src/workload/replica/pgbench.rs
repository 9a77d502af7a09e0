//! What the source loses to its reader: writers as pgbench has them, beside the replica, beside the plain reader, beside nobody.
//!
//! ```text
//! UPDATE account; SELECT its balance; UPDATE teller; UPDATE branch; INSERT INTO history         a statement a round trip
//! ```

use crate::goals::baseline::{PLAIN_READER, WITHOUT};
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::readers::{Reader, catch_up};
use crate::workload::replica::source_server::{BRANCHES, TELLERS, run};
use crate::workload::replica::{Bench, EPOCHS, OURS};
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use evergraph_replica::source::postgres::connection::Connection;

const PURPOSE: u64 = 470;

/// Measures transactions a second.
///
/// # Errors
/// Those of server and replica; `limit` if the replica does not follow.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let mut race = Race::new([OURS, PLAIN_READER, WITHOUT]);
    let mut clients = clients(bench, work.plan.seed, PURPOSE)?;
    for round in 0..bench.plan.rounds {
        let mut rates = [0.0; 3];
        for place in order(round, rates.len()) {
            run(&mut bench.connection, "CHECKPOINT")?;
            rates[place] = match place {
                0 => {
                    let replica = bench.follow(EPOCHS)?;
                    catch_up(&replica)?;
                    let rate = write(bench, &mut clients)?;
                    replica.stop()?;
                    rate
                }
                1 => {
                    let reader = Reader::plain(&bench.server)?;
                    bench.catch_up(&[&reader])?;
                    write(bench, &mut clients)?
                }
                _ => write(bench, &mut clients)?,
            };
        }
        race.note(&rates);
    }
    let count = bench.plan.clients;
    let title = format!("transactions of {count} writers at the source, as pgbench has them");
    work.add_race(
        &Heading::new("replica.source.transactions", title, Unit::PerSecond).with("clients", count),
        &race,
    );
    Ok(())
}

/// A writer with its connection.
pub struct Client {
    connection: Connection,
    random: Random,
}

/// The plan's writers, whose transactions follow from `seed` and `purpose`.
///
/// # Errors
/// If the server does not answer.
pub fn clients(bench: &Bench, seed: u64, purpose: u64) -> Result<Vec<Client>> {
    let client = |index| {
        let random = Random::new(seed, purpose, index as u64);
        Ok(Client { connection: bench.server.connect()?, random })
    };
    (0..bench.plan.clients).map(client).collect()
}

/// Transactions a second of `clients`, for the plan's time.
///
/// # Errors
/// What the server says.
pub fn write(bench: &Bench, clients: &mut [Client]) -> Result<f64> {
    let accounts = u64::from(bench.plan.accounts);
    let done = clients::run(clients, bench.plan.run_time, |client| {
        let random = &mut client.random;
        let (account, teller) = (random.below(accounts), 1 + random.below(u64::from(TELLERS)));
        let (branch, delta) = (1 + random.below(u64::from(BRANCHES)), random.below(10_001) as i64 - 5_000);
        let statements = [
            "BEGIN".to_owned(),
            format!("UPDATE account SET balance = balance + {delta} WHERE id = {account}"),
            format!("SELECT balance FROM account WHERE id = {account}"),
            format!("UPDATE teller SET balance = balance + {delta} WHERE id = {teller}"),
            format!("UPDATE branch SET balance = balance + {delta} WHERE id = {branch}"),
            format!(
                "INSERT INTO history (account, teller, branch, delta, moment) \
                 VALUES ({account}, {teller}, {branch}, {delta}, now()::timestamp)"
            ),
            "COMMIT".to_owned(),
        ];
        for statement in &statements {
            run(&mut client.connection, statement)?;
        }
        Ok(1)
    })?;
    Ok(done.rate())
}

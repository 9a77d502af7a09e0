//! Transactions: what an operation of the stream does to a database.
//!
//! ```text
//! write          find or add the ends, add the edge, commit; again from the start if somebody was first
//! read-write     are the ends blocked? -> roll back: Refused
//!                add the edge, check   -> roll back, and block both in a second transaction: Blocked
//!                                      -> commit: Done
//! ```

use super::stream::{Action, Check, Identity, Link, Operation, Properties, Window, cents_of_value};
use evergraph::Direction::{In, Out};
use evergraph::{Database, Direction, Result, Transaction, TransactionOptions, Value, VertexId};
use std::collections::BTreeSet;

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// It was done.
    Done,
    /// A delete found nobody.
    NotFound,
    /// An end is blocked; nothing was written.
    Refused,
    /// The check found something; instead of the edge being added, its ends were blocked.
    Blocked,
}

/// Makes the ids of the five kinds of vertices unique.
pub fn create_indexes(db: &Database) {
    for label in ["Person", "Company", "Account", "Loan", "Medium"] {
        db.create_unique_index(label, "id").unwrap();
    }
}

/// Runs `operation`, in one transaction, or two if it blocks somebody.
pub fn run(db: &Database, operation: &Operation) -> Result<Outcome> {
    match &operation.action {
        Action::Put(identity, properties) => db.transact(|tx| put(tx, *identity, properties))?,
        Action::Add(link) => db.transact(|tx| add(tx, link).map(drop))?,
        Action::Apply(loan, link) => db.transact(|tx| {
            put(tx, link.target, loan)?;
            add(tx, link).map(drop)
        })?,
        Action::Delete(identity) => {
            return db.transact(|tx| match tx.find(identity.label, "id", identity.id)? {
                Some(vertex) => tx.delete_vertex(vertex).map(|()| Outcome::Done),
                None => Ok(Outcome::NotFound),
            });
        }
        Action::Checked(link, check, window) => return add_checked(db, link, *check, *window),
    }
    Ok(Outcome::Done)
}

/// The vertex of this name, added if it isn't there.
fn seen(tx: &mut Transaction, identity: Identity) -> Result<VertexId> {
    match tx.find(identity.label, "id", identity.id)? {
        Some(vertex) => Ok(vertex),
        None => tx.add_vertex(identity.label, &[("id", Value::I64(identity.id))]),
    }
}

fn put(tx: &mut Transaction, identity: Identity, properties: &Properties) -> Result<()> {
    let vertex = seen(tx, identity)?;
    properties.iter().try_for_each(|(key, value)| tx.set(vertex, key, value.clone()))
}

/// Adds a link; its ends.
fn add(tx: &mut Transaction, link: &Link) -> Result<[VertexId; 2]> {
    let ends = [seen(tx, link.source)?, seen(tx, link.target)?];
    let properties: Vec<(&str, Value)> =
        link.properties.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    tx.add_edge(ends[0], link.edge_type, ends[1], &properties)?;
    Ok(ends)
}

fn add_checked(db: &Database, link: &Link, check: Check, window: Window) -> Result<Outcome> {
    let outcome = db.retrying(TransactionOptions::default(), |mut tx| {
        if is_blocked(&tx, link.source)? || is_blocked(&tx, link.target)? {
            return Ok(Outcome::Refused);
        }
        let ends = add(&mut tx, link)?;
        let finds = match check {
            Check::Cycle => closes_cycle(&tx, ends, window)?,
            Check::FastOut { cents_min, percent } => {
                let is_fast = |account| is_fast_out(&tx, account, cents_min, percent, window);
                is_fast(ends[0])? || is_fast(ends[1])?
            }
            Check::Chain { cents_max } => chain_cents(&tx, ends[0], window)? > cents_max,
        };
        if finds {
            tx.rollback();
            return Ok(Outcome::Blocked);
        }
        tx.commit().map(|_| Outcome::Done)
    })?;
    if outcome == Outcome::Blocked {
        db.transact(|tx| {
            let ends = [seen(tx, link.source)?, seen(tx, link.target)?];
            ends.into_iter().try_for_each(|vertex| tx.set(vertex, "isBlocked", true))
        })?;
    }
    Ok(outcome)
}

fn is_blocked(tx: &Transaction, identity: Identity) -> Result<bool> {
    let Some(vertex) = tx.find(identity.label, "id", identity.id)? else { return Ok(false) };
    Ok(tx.get(vertex, "isBlocked")?.is_some_and(|blocked| blocked.as_bool() == Some(true)))
}

/// The vertices at the other ends, and the edges' amounts, of edges made in `window`.
fn edges_within(
    tx: &Transaction,
    vertex: VertexId,
    direction: Direction,
    edge_type: &str,
    window: Window,
) -> Result<Vec<(VertexId, Option<i128>)>> {
    let mut found = Vec::new();
    for (edge, neighbor) in tx.edges(vertex, direction, &[edge_type])? {
        let Some(Value::DateTime(time)) = tx.get_edge(edge, "createTime")? else { panic!("{edge}: no time") };
        if window.has(time.epoch_milliseconds()) {
            let amount = tx.get_edge(edge, "amount")?;
            found.push((neighbor, amount.map(|amount| cents_of_value(&amount))));
        }
    }
    Ok(found)
}

fn closes_cycle(tx: &Transaction, [source, target]: [VertexId; 2], window: Window) -> Result<bool> {
    let back = edges_within(tx, source, In, "TRANSFER", window)?;
    let back: BTreeSet<VertexId> = back.into_iter().map(|(third, _)| third).collect();
    let on = edges_within(tx, target, Out, "TRANSFER", window)?;
    Ok(on.iter().any(|(third, _)| back.contains(third)))
}

fn is_fast_out(
    tx: &Transaction,
    account: VertexId,
    cents_min: i128,
    percent: i128,
    window: Window,
) -> Result<bool> {
    let sum = |direction| -> Result<i128> {
        let edges = edges_within(tx, account, direction, "TRANSFER", window)?;
        Ok(edges.iter().filter_map(|(_, cents)| *cents).filter(|cents| *cents > cents_min).sum())
    };
    let (got, sent) = (sum(In)?, sum(Out)?);
    Ok(sent > 0 && got * 100 > sent * percent)
}

/// The loans of all for whom `source` vouches, directly or through others.
fn chain_cents(tx: &Transaction, source: VertexId, window: Window) -> Result<i128> {
    let (mut vouched, mut next) = (BTreeSet::new(), vec![source]);
    let mut loans = BTreeSet::new();
    while let Some(person) = next.pop() {
        for (other, _) in edges_within(tx, person, Out, "GUARANTEE", window)? {
            if vouched.insert(other) {
                next.push(other);
                loans.extend(tx.edges(other, Out, &["APPLY"])?.into_iter().map(|(_, loan)| loan));
            }
        }
    }
    let mut cents = 0;
    for loan in loans {
        cents += cents_of_value(&tx.get(loan, "loanAmount")?.expect("who applies says how much"));
    }
    Ok(cents)
}

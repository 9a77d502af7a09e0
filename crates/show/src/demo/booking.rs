//! Booking: one transfer as one transaction, an edge and the balances of both its ends.
//!
//! Half of it would be seen: money that left one account and reached none.

use crate::demo::network::{AMOUNT, BALANCE, REFERENCE, TIME, TRANSFER};
use crate::demo::reference::Reference;
use evergraph::generate::market::Transfer;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::transaction::Transaction;
use evergraph_graph::value::{Value, ValueType};

/// Adds `transfer` to `transaction`. `accounts` are the vertices of all accounts, by row.
///
/// # Errors
/// `corrupt` if an account has no balance; what reading and writing may meet.
pub fn book(
    transaction: &mut impl Transaction,
    accounts: &[VertexId],
    transfer: &Transfer,
    reference: Reference,
) -> Result<()> {
    let ends = [transfer.source, transfer.target].map(|row| accounts[row as usize]);
    let balance = transaction.key(BALANCE)?;
    let mut balances = Column::new(ValueType::I64);
    transaction.vertex_properties(&ends, balance, &mut balances)?;
    for (row, change) in [-transfer.amount_cents, transfer.amount_cents].into_iter().enumerate() {
        let before = balances.get(row).and_then(|value| value.as_i64()).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, format!("account {} has no {BALANCE}", ends[row]))
        })?;
        transaction.set_vertex_property(ends[row], balance, Some(Value::I64(before + change)))?;
    }
    let properties = [
        (transaction.key(AMOUNT)?, Value::I64(transfer.amount_cents)),
        (transaction.key(TIME)?, Value::I64(transfer.time_ms)),
        (transaction.key(REFERENCE)?, Value::I64(reference.to_i64())),
    ];
    let edge_type = transaction.edge_type(TRANSFER)?;
    transaction.add_edge(ends[0], edge_type, ends[1], &properties)?;
    Ok(())
}

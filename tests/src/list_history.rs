//! List history: transactions that append to lists and read them, judged by the independent crate `adya`.
//!
//! Tests of other crates include the file by its path.
//!
//! Source: Kingsbury, Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB 2020).

use adya::{History, Opts, Valid, Workload, check};
use std::fmt::Write as _;

/// One operation and what it saw.
#[derive(Clone, Debug)]
pub enum Operation {
    /// An item, which nobody else appends, was appended to a list.
    Append(usize, i64),
    /// The items of a list were read.
    Read(usize, Vec<i64>),
}

/// A transaction that ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedTransaction<'a> {
    /// Who ran it, one after the other.
    pub process: usize,
    /// What it did.
    pub operations: &'a [Operation],
    /// Whether it committed.
    pub is_committed: bool,
}

/// The anomalies in a history which `model` forbids. Of each process its transactions are in the order in which it ran them.
///
/// # Panics
/// If nobody can say.
pub fn anomalies(history: &[EndedTransaction<'_>], model: &str) -> Vec<String> {
    let history = History::from_json(&jepsen(history)).expect("it is written as it is read");
    let report =
        check(&history, Workload::ListAppend, &Opts { models: vec![model.into()], ..Opts::default() });
    assert_ne!(report.valid, Valid::Unknown, "{:?}", report.anomaly_types);
    report.anomaly_types.iter().map(ToString::to_string).collect()
}

/// The history in Jepsen's form, a line an invocation and a line what came of it.
fn jepsen(history: &[EndedTransaction<'_>]) -> String {
    let mut lines = String::new();
    for EndedTransaction { process, operations, is_committed } in history {
        let shown = |completed: bool| -> String {
            let each = operations.iter().map(|operation| match operation {
                Operation::Append(key, item) => format!("[\"append\",{key},{item}]"),
                Operation::Read(key, saw) if completed => format!("[\"r\",{key},{saw:?}]"),
                Operation::Read(key, _) => format!("[\"r\",{key},null]"),
            });
            each.collect::<Vec<_>>().join(",")
        };
        let ended = if *is_committed { "ok" } else { "fail" };
        let mut line = |what: &str, value: String| {
            writeln!(lines, r#"{{"type":"{what}","process":{process},"value":[{value}]}}"#)
                .expect("a string has room");
        };
        line("invoke", shown(false));
        line(ended, shown(*is_committed));
    }
    lines
}

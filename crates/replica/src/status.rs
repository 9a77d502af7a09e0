//! Status: what a replica does at this moment, for people and for other processes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::follow::pause::Pause;
use crate::lsn::Lsn;

/// What a replica does at this moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReplicaStatus {
    /// What it does.
    #[serde(flatten)]
    pub state: ReplicaState,
    /// The source, as the database calls it.
    pub source: String,
    /// The slot at the source.
    pub slot: String,
    /// The publication at the source.
    pub publication: String,
    /// Up to here the database has what its source has.
    pub position: Lsn,
    /// When the newest transaction that is here committed, by the source's clock; `None` before the first.
    pub committed_at: Option<String>,
    /// The end of the source's log, when it said so last.
    pub source_position: Lsn,
    /// Up to here the source was told that all is safe here.
    pub confirmed: Lsn,
    /// Bytes of the source's log that are not here.
    pub lag_bytes: u64,
    /// Milliseconds for which something has not been here.
    pub lag_ms: u64,
    /// Rows that changed at the source and were applied, a second, over the last second.
    pub rows_per_second: f64,
    /// Rows that changed at the source and were applied, since the start.
    pub rows: u64,
    /// Transactions that were applied, since the start.
    pub transactions: u64,
    /// Rows and foreign keys that wait for the ends of their edges.
    pub waiting_rows: u64,
    /// Rows and values that are not in the graph, since the copy.
    pub losses: Vec<StatusLoss>,
    /// Streams that broke off, since the start.
    pub restarts: u64,
    /// Bytes of log that the source keeps for this replica, when it said so last.
    pub retained_bytes: Option<u64>,
    /// Whether that is more than the alarm allows.
    pub is_retained_alarm: bool,
    /// The newest error, whether or not it has gone since.
    pub last_error: Option<String>,
}

/// What a replica does.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ReplicaState {
    /// It copies tables.
    #[default]
    Copying,
    /// It applies changes as they come.
    Following,
    /// The source does not answer: it is asked again and again.
    Reconnecting,
    /// A person has to do something.
    Paused {
        /// What happened.
        cause: String,
        /// What to do: SQL, or a command of the program.
        remedy: String,
    },
    /// It was stopped.
    Stopped,
}

/// Rows or values that are not in the graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StatusLoss {
    /// The rule: the label, or the type of edges.
    pub rule: String,
    /// Why.
    pub cause: String,
    /// How many.
    pub count: u64,
}

impl ReplicaState {
    /// The names of all.
    pub const NAMES: [&'static str; 5] = ["copying", "following", "reconnecting", "paused", "stopped"];

    /// Its name in documents and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Copying => Self::NAMES[0],
            Self::Following => Self::NAMES[1],
            Self::Reconnecting => Self::NAMES[2],
            Self::Paused { .. } => Self::NAMES[3],
            Self::Stopped => Self::NAMES[4],
        }
    }

    /// Why following does not go on by itself, if so.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        match self {
            Self::Paused { cause, remedy } => Some(Pause::new(cause, remedy)),
            _ => None,
        }
    }
}

impl From<Pause> for ReplicaState {
    fn from(pause: Pause) -> Self {
        Self::Paused { cause: pause.cause, remedy: pause.remedy }
    }
}

impl fmt::Display for ReplicaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { cause, remedy } => write!(f, "paused: {cause}; {remedy}"),
            _ => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_document_and_comes_back_from_it() {
        let status = ReplicaStatus {
            state: Pause::new("the slot is gone", "resync").into(),
            source: "postgres://h/shop".into(),
            slot: "s".into(),
            publication: "p".into(),
            position: Lsn::new(0x1_0000_0028),
            committed_at: None,
            source_position: Lsn::new(0x1_0000_0030),
            confirmed: Lsn::ZERO,
            lag_bytes: 8,
            lag_ms: 3,
            rows_per_second: 0.5,
            rows: 7,
            transactions: 2,
            waiting_rows: 1,
            losses: vec![StatusLoss { rule: "Film".into(), cause: "condition".into(), count: 9 }],
            restarts: 0,
            retained_bytes: None,
            is_retained_alarm: false,
            last_error: Some("it broke".into()),
        };
        let text = serde_json::to_string(&status).unwrap();
        assert!(
            text.starts_with(r#"{"state":"paused","cause":"the slot is gone","remedy":"resync","#),
            "{text}"
        );
        assert!(text.contains(r#""position":"1/28""#), "{text}");
        assert_eq!(serde_json::from_str::<ReplicaStatus>(&text).unwrap(), status);
        assert_eq!(serde_json::to_string(&ReplicaState::Following).unwrap(), r#"{"state":"following"}"#);
    }
}

//! `SlotWait`: the transactions whose end a source waits for before it makes a slot, and how to end them.

use std::fmt;

/// Transactions that are named; more are counted.
const NAMED_MAX: usize = 5;

/// What a source waits for before it makes a slot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlotWait {
    /// Transactions that have been open for longer than the wait, those that are known to hold it up first.
    pub transactions: Vec<OlderTransaction>,
    /// Whether the source is a standby, which also waits until its primary's log says which transactions are open.
    pub is_standby: bool,
}

/// A transaction that was open before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OlderTransaction {
    /// Who has it.
    pub holder: TransactionHolder,
    /// Its user.
    pub user: String,
    /// Its database: a slot waits for those of the whole server.
    pub database: String,
    /// When it began, or was prepared, as UTC; `None` if the role may not see it.
    pub since: Option<String>,
}

/// Who has a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionHolder {
    /// A connection.
    Session {
        /// The server's process.
        process: i32,
        /// What the client calls itself; may be empty.
        application: String,
    },
    /// Nobody: it was prepared for a commit in two phases.
    Prepared {
        /// Its name.
        gid: String,
    },
}

impl fmt::Display for SlotWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source makes the replication slot when ")?;
        if self.transactions.is_empty() {
            return f.write_str(match self.is_standby {
                true => {
                    "its primary's log says which transactions are open there: SELECT pg_log_standby_snapshot() at the primary \
                     makes it do so"
                }
                false => "the transactions have ended that were open before: pg_stat_activity and pg_prepared_xacts list them",
            });
        }
        let named = &self.transactions[..self.transactions.len().min(NAMED_MAX)];
        f.write_str("what was open before has ended: ")?;
        for (at, transaction) in named.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            transaction.fmt(f)?;
        }
        match self.transactions.len() - named.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for OlderTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holder, user, database, since } = self;
        match holder {
            TransactionHolder::Session { process, .. } => {
                write!(f, "the transaction of process {process} (")?
            }
            TransactionHolder::Prepared { gid } => write!(f, "the prepared transaction {gid:?} (")?,
        }
        write!(f, "user {user}, database {database}")?;
        if let TransactionHolder::Session { application, .. } = holder
            && !application.is_empty()
        {
            write!(f, ", application {application:?}")?;
        }
        if let Some(since) = since {
            write!(f, ", since {since} UTC")?;
        }
        match holder {
            TransactionHolder::Session { process, .. } => {
                write!(f, "), which SELECT pg_terminate_backend({process}) ends")
            }
            TransactionHolder::Prepared { gid } => {
                let gid = gid.replace('\'', "''");
                write!(f, "), which ROLLBACK PREPARED '{gid}' or COMMIT PREPARED in that database ends")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_what_is_open_and_what_ends_it() {
        let since = Some("2026-11-27 04:00:00".to_owned());
        let session = OlderTransaction {
            holder: TransactionHolder::Session { process: 7, application: "psql".into() },
            user: "ann".into(),
            database: "shop".into(),
            since: None,
        };
        let prepared = OlderTransaction {
            holder: TransactionHolder::Prepared { gid: "it's".into() },
            since,
            ..session.clone()
        };
        let wait = SlotWait { transactions: vec![session.clone(), prepared], is_standby: false };
        assert_eq!(
            wait.to_string(),
            "the source makes the replication slot when what was open before has ended: the transaction of process 7 (user ann, \
             database shop, application \"psql\"), which SELECT pg_terminate_backend(7) ends; the prepared transaction \"it's\" \
             (user ann, database shop, since 2026-11-27 04:00:00 UTC), which ROLLBACK PREPARED 'it''s' or COMMIT PREPARED in that \
             database ends"
        );
        let many = SlotWait { transactions: vec![session; NAMED_MAX + 2], is_standby: false };
        assert!(many.to_string().ends_with("ends; and 2 more"), "{many}");
        let standby = SlotWait { is_standby: true, ..SlotWait::default() };
        assert!(standby.to_string().contains("pg_log_standby_snapshot()"), "{standby}");
    }
}

//! `Changes`: transactions of a writer, each a few statements that PostgreSQL fills from a range of numbers.
//!
//! ```text
//! BEGIN; UPDATE account ...; INSERT INTO follows ...; INSERT INTO transfer ...; UPDATE clock SET number = 17; COMMIT
//! ```
//!
//! The writer sends a few hundred bytes whatever the number of rows: it costs the machine little. The clock's row is one of
//! those that a transaction changes.

use crate::replica_plan::ReplicaPlan;

/// What the rows of a transaction are, but for the clock's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// The balance of an account, by its key.
    Updates,
    /// Edges: rows of `follows`.
    Edges,
    /// Vertices with two edges: rows of `transfer`.
    Vertices,
    /// Half of them updates, a quarter edges, a quarter vertices.
    Mixed,
}

impl ChangeKind {
    /// Its name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Edges => "edges",
            Self::Vertices => "vertices",
            Self::Mixed => "mixed",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Updates => "updates of a property by key",
            Self::Edges => "rows that are edges",
            Self::Vertices => "rows that are vertices with two edges",
            Self::Mixed => "updates, edges and vertices",
        }
    }
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeTransaction {
    /// Its statements, with their beginning and their commit.
    pub sql: String,
    /// The clock's number after it.
    pub number: u64,
    /// Rows that it changes.
    pub rows: u32,
}

/// Where the next changes begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changes {
    accounts: u64,
    /// Coprime to the accounts: a range of numbers is as many accounts, far from each other.
    step: u64,
    next_number: u64,
    next_update: u64,
    next_edge: u64,
    next_transfer: u64,
}

impl Changes {
    /// The first changes of the tables that `plan` fills.
    #[must_use]
    pub fn new(plan: &ReplicaPlan) -> Self {
        let accounts = u64::from(plan.accounts);
        let step = [7919, 7907].into_iter().find(|step| accounts % step != 0).unwrap_or(1);
        Self {
            accounts,
            step,
            next_number: 1,
            next_update: 0,
            next_edge: 0,
            next_transfer: u64::from(plan.transfers),
        }
    }

    /// A transaction of `rows` rows, the clock's among them; no more than there are accounts.
    pub fn next(&mut self, kind: ChangeKind, rows: u32) -> ChangeTransaction {
        let changed = rows.saturating_sub(1).min(u32::try_from(self.accounts).unwrap_or(u32::MAX));
        let mut sql = "BEGIN; ".to_owned();
        let (updates, edges, vertices) = match kind {
            ChangeKind::Updates => (changed, 0, 0),
            ChangeKind::Edges => (0, changed, 0),
            ChangeKind::Vertices => (0, 0, changed),
            ChangeKind::Mixed => {
                let (updates, rest) = (changed.div_ceil(2), changed / 2);
                (updates, rest.div_ceil(2), rest / 2)
            }
        };
        if updates > 0 {
            sql.push_str(&self.update(updates));
        }
        if edges > 0 {
            sql.push_str(&self.insert_edges(edges));
        }
        if vertices > 0 {
            sql.push_str(&self.insert_vertices(vertices));
        }
        self.ended(sql, changed + 1)
    }

    /// A transaction of `rows` rows, which are appended to `history`, and the clock's.
    pub fn large(&mut self, rows: u32) -> ChangeTransaction {
        let (accounts, step) = (self.accounts, self.step);
        let sql = format!(
            "BEGIN; INSERT INTO history (account, teller, branch, delta, moment)
             SELECT ((n * {step}) % {accounts})::int, 1, 1, (n % 1000)::int, '2026-01-01'
             FROM generate_series(1::bigint, {rows}) n; "
        );
        self.ended(sql, rows + 1)
    }

    fn ended(&mut self, mut sql: String, rows: u32) -> ChangeTransaction {
        let number = self.next_number;
        self.next_number += 1;
        sql.push_str(&format!("UPDATE clock SET number = {number} WHERE id = 1; COMMIT"));
        ChangeTransaction { sql, number, rows }
    }

    fn update(&mut self, count: u32) -> String {
        let (accounts, step) = (self.accounts, self.step);
        let (first, last) = range(&mut self.next_update, count);
        format!(
            "UPDATE account SET balance = balance + 1 WHERE id IN (
             SELECT ((n * {step}) % {accounts})::int FROM generate_series({first}::bigint, {last}) n); "
        )
    }

    fn insert_edges(&mut self, count: u32) -> String {
        let (accounts, step) = (self.accounts, self.step);
        let (first, last) = range(&mut self.next_edge, count);
        // The sum of both is odd, since there are evenly many accounts.
        format!(
            "INSERT INTO follows SELECT s, ((s + 1 + 2 * (n / {accounts})) % {accounts})::int, 2026 FROM (
             SELECT n, ((n * {step}) % {accounts})::int AS s FROM generate_series({first}::bigint, {last}) n) pairs; "
        )
    }

    fn insert_vertices(&mut self, count: u32) -> String {
        let (accounts, step) = (self.accounts, self.step);
        let (first, last) = range(&mut self.next_transfer, count);
        format!(
            "INSERT INTO transfer SELECT n, ((n * {step}) % {accounts})::int, (n % {accounts})::int, n % 10000
             FROM generate_series({first}::bigint, {last}) n; "
        )
    }
}

/// The next `count` numbers from `next` on: the first and the last.
fn range(next: &mut u64, count: u32) -> (u64, u64) {
    let first = *next;
    *next += u64::from(count);
    (first, *next - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_as_many_rows_as_it_says_and_none_twice() {
        let mut changes = Changes::new(&ReplicaPlan::smoke());
        let one = changes.next(ChangeKind::Mixed, 10);
        assert_eq!((one.rows, one.number), (10, 1));
        assert_eq!((changes.next_update, changes.next_edge, changes.next_transfer), (5, 2, 502));
        let clock = changes.next(ChangeKind::Edges, 1);
        assert_eq!(clock.sql, "BEGIN; UPDATE clock SET number = 2 WHERE id = 1; COMMIT");
        assert_eq!(changes.next(ChangeKind::Updates, u32::MAX).rows, 501, "all accounts, and the clock");
        let edges = changes.next(ChangeKind::Edges, 4);
        assert!(edges.sql.contains("generate_series(2::bigint, 4)"), "{}", edges.sql);
    }
}

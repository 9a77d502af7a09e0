//! Post writer: changes the lengths of posts at the source while reads and kernels are measured, 1,000 posts a second.
//!
//! Nothing that is measured reads a length. The posts are the first 5,000 by id, ten a transaction, over and over, as those of
//! Neo4j's writer are. A transaction names its posts: LDBC's ids have gaps, so a range of ids would find few of them.

use crate::goals::baseline::SQL;
use crate::plan::{Work, expect, wrong};
use crate::results::Median;
use crate::workload::replica::Bench;
use crate::workload::replica::pacer::Pacer;
use crate::workload::replica::source_server::run;
use crate::workload::writer_thread::beside_writer;
use evergraph_graph::error::Result;
use evergraph_replica::source::postgres::connection::Connection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Posts whose lengths change, over and over.
pub const POSTS: usize = 5_000;
/// Posts that a transaction changes.
pub const CHANGED_POSTS: usize = 10;
/// Time between the beginnings of two transactions.
pub const INTERVAL: Duration = Duration::from_millis(10);
/// The writer has been at work for so long when a measurement begins.
const HEAD_START: Duration = Duration::from_millis(100);

/// A connection that changes posts while something is measured.
pub struct PostWriter {
    connection: Connection,
    /// A statement a transaction, and how many posts it changes.
    changes: Vec<(String, usize)>,
    next: usize,
    /// Posts that were changed so far.
    posts: usize,
    /// Changed posts a second, one rate a measurement.
    rates: Vec<f64>,
}

impl PostWriter {
    /// Reads the ids of the posts in the source's `database`.
    ///
    /// # Errors
    /// Those of the server; `corrupt` if there is no post.
    pub fn new(bench: &Bench, database: &str) -> Result<Self> {
        let mut connection = bench.server.connect_to(database)?;
        let rows = run(&mut connection, &format!("SELECT id FROM post ORDER BY id LIMIT {POSTS}"))?;
        let ids: Vec<String> = rows.into_iter().flatten().flatten().collect();
        if ids.is_empty() {
            return Err(wrong(SQL, "posts to change", 0, "some"));
        }
        Ok(Self { connection, changes: changes(&ids), next: 0, posts: 0, rates: Vec::new() })
    }

    /// What `measure` gives while posts change.
    ///
    /// # Errors
    /// Those of the server and of `measure`; `corrupt` if a transaction does not change all of its posts, or there was none.
    pub fn beside<T>(&mut self, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        let (measured, (posts, seconds)) = beside_writer(HEAD_START, |is_over| self.write(is_over), measure)?;
        if posts == 0 {
            return Err(wrong(SQL, "posts that were changed meanwhile", 0, "some"));
        }
        self.posts += posts;
        self.rates.push(posts as f64 / seconds);
        Ok(measured)
    }

    /// Changes posts until `is_over`: how many, and in how many seconds.
    fn write(&mut self, is_over: &AtomicBool) -> Result<(usize, f64)> {
        let (mut posts, began) = (0, Instant::now());
        let mut pacer = Pacer::start(INTERVAL);
        while !is_over.load(Ordering::Relaxed) {
            let (change, expected) = &self.changes[self.next];
            expect(SQL, "posts that were changed", run(&mut self.connection, change)?.len(), *expected)?;
            posts += *expected;
            self.next = (self.next + 1) % self.changes.len();
            pacer.wait();
        }
        Ok((posts, began.elapsed().as_secs_f64()))
    }

    /// Notes how many posts were changed, and how fast, while `part` was measured.
    pub fn note(&self, work: &mut Work<'_>, part: &str) {
        if self.rates.is_empty() {
            return;
        }
        let rate = Median::of(&self.rates);
        work.note(format!(
            "{part}: {} posts were changed at the source, {CHANGED_POSTS} a transaction; posts a second, of {} measurements: median {:.0}, lowest {:.0}, highest {:.0}",
            self.posts,
            self.rates.len(),
            rate.median,
            rate.low,
            rate.high
        ));
    }
}

/// Statements that change the posts of these ids, and how many each changes.
fn changes(ids: &[String]) -> Vec<(String, usize)> {
    let change = |ids: &[String]| {
        let ids_of_change = ids.join(", ");
        let text = format!("UPDATE post SET length = length + 1 WHERE id IN ({ids_of_change}) RETURNING id");
        (text, ids.len())
    };
    ids.chunks(CHANGED_POSTS).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_post_is_in_one_transaction_by_its_id() {
        let ids: Vec<String> = (0..CHANGED_POSTS + 2).map(|number| (number * number).to_string()).collect();
        let changes = changes(&ids);
        let counts: Vec<usize> = changes.iter().map(|(_, posts)| *posts).collect();
        assert_eq!(counts, [CHANGED_POSTS, 2]);
        assert!(changes[0].0.contains("IN (0, 1, 4, ") && changes[1].0.contains("IN (100, 121)"));
    }
}

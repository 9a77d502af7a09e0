//! Backend: what answers the statements of a shell: a database in this process, or one of a server.

use crate::command::query::execution::QueryOptions;
use crate::command::query::output::Output;
use crate::command::shell::schema::SchemaText;
use evergraph::Isolation;
use evergraph_graph::catalogue::Catalogue;
use evergraph_terminal::failure::Failure;
use std::io::Write;
use std::sync::Arc;

/// Where results go.
pub type ShellOutput = Output<Box<dyn Write>>;

/// A database that a shell asks.
pub trait ShellDatabase {
    /// Answers a query, in a transaction of its own; whether it is known to have written.
    ///
    /// # Errors
    /// `invalid` for a text that is no query, with the place; what the query meets; what printing does.
    fn answer(&self, asking: &QueryOptions, text: &str, output: &mut ShellOutput) -> Result<bool, Failure>;

    /// Prints the plan of a query, or if `profile` runs it and prints what each step did.
    ///
    /// # Errors
    /// As [`ShellDatabase::answer`].
    fn explain(&self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure>;

    /// Begins a transaction.
    ///
    /// # Errors
    /// `io` if a server cannot be reached.
    fn begin(
        &self,
        asking: &QueryOptions,
        isolation: Isolation,
    ) -> Result<Box<dyn ShellTransaction>, Failure>;

    /// What the graph is made of.
    ///
    /// # Errors
    /// What reading meets.
    fn schema(&self) -> Result<SchemaText, Failure>;

    /// The names that may be completed.
    fn names(&self) -> Arc<Catalogue>;

    /// What a person reads first: what is in the database, or where it is.
    ///
    /// # Errors
    /// What reading meets.
    fn summary(&self) -> Result<String, Failure>;
}

/// A transaction that a shell has begun. Dropped, it is rolled back.
pub trait ShellTransaction {
    /// Answers a query within it; whether it is known to write.
    ///
    /// # Errors
    /// As [`ShellDatabase::answer`].
    fn answer(
        &mut self,
        asking: &QueryOptions,
        text: &str,
        output: &mut ShellOutput,
    ) -> Result<bool, Failure>;

    /// As [`ShellDatabase::explain`].
    ///
    /// # Errors
    /// As [`ShellDatabase::answer`].
    fn explain(&mut self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure>;

    /// After an error: whether a part of a write may have been made, so that it cannot go on.
    fn is_broken(&mut self) -> bool;

    /// Commits.
    ///
    /// # Errors
    /// `conflict`; `io`.
    fn commit(self: Box<Self>, asking: &QueryOptions) -> Result<(), Failure>;
}

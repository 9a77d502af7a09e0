//! Embedded: the statements of a shell on a database in this process.

use crate::command::query::execution::QueryOptions;
use crate::command::query::plan_text::PlanText;
use crate::command::shell::backend::{ShellDatabase, ShellOutput, ShellTransaction};
use crate::command::shell::schema::SchemaText;
use evergraph::{Database, Isolation, Transaction};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::view::GraphView;
use evergraph_report::schema::SchemaReport;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use std::sync::Arc;

impl ShellDatabase for Database {
    fn answer(&self, asking: &QueryOptions, text: &str, output: &mut ShellOutput) -> Result<bool, Failure> {
        asking.answer(self, text, output)
    }

    fn explain(&self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure> {
        asking.console.result(&PlanText::new(asking.explain(self, text, profile)?))
    }

    fn begin(&self, _: &QueryOptions, isolation: Isolation) -> Result<Box<dyn ShellTransaction>, Failure> {
        let transaction = self.begin_with(isolation);
        transaction.by_id_ref().check_begun()?;
        Ok(Box::new(EmbeddedTransaction { transaction, is_broken: false }))
    }

    fn schema(&self) -> Result<SchemaText, Failure> {
        Ok(SchemaText(SchemaReport::new(self)?))
    }

    fn names(&self) -> Arc<Catalogue> {
        self.snapshot().catalogue()
    }

    fn summary(&self) -> Result<String, Failure> {
        let (vertices, edges) = SchemaReport::new(self)?.counts();
        Ok(format!("{}, {}", counted(vertices, "vertex", "vertices"), counted(edges, "edge", "edges")))
    }
}

/// A transaction in this process.
struct EmbeddedTransaction {
    transaction: Transaction,
    is_broken: bool,
}

impl EmbeddedTransaction {
    /// What was `done` in it, which is broken if that failed and `writes`.
    fn or_broken<T>(&mut self, writes: bool, done: Result<T, Failure>) -> Result<T, Failure> {
        self.is_broken |= writes && done.is_err();
        done
    }
}

impl ShellTransaction for EmbeddedTransaction {
    fn answer(
        &mut self,
        asking: &QueryOptions,
        text: &str,
        output: &mut ShellOutput,
    ) -> Result<bool, Failure> {
        let writes = asking.of(self.transaction.gremlin(text)).plan()?.writes;
        let answered = asking.answer_within(&mut self.transaction, text, output);
        // Output that was not taken breaks it as well: what a person saw would not be what there is.
        self.or_broken(writes, answered).map(|()| writes)
    }

    fn explain(&mut self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure> {
        let writes = asking.of(self.transaction.gremlin(text)).plan()?.writes;
        let query = asking.of(self.transaction.gremlin(text));
        let explained = if profile { query.profile() } else { query.explain() };
        let explained = self.or_broken(writes && profile, explained.map_err(Failure::from))?;
        asking.console.result(&PlanText::new(explained))
    }

    fn is_broken(&mut self) -> bool {
        self.is_broken
    }

    fn commit(self: Box<Self>, _: &QueryOptions) -> Result<(), Failure> {
        self.transaction.commit()?;
        Ok(())
    }
}

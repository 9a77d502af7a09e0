//! Remote: the statements of a shell on a database of a server.

use crate::command::query::execution::QueryOptions;
use crate::command::query::remote::Remote;
use crate::command::shell::backend::{ShellDatabase, ShellOutput, ShellTransaction};
use crate::command::shell::schema::SchemaText;
use crate::schema_catalogue::catalogue;
use evergraph::Isolation;
use evergraph_client::client::Client;
use evergraph_client::transaction::Transaction;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the names of a server are completed before they are asked for again.
const NAMES_TIME: Duration = Duration::from_secs(10);
/// How long somebody who asks for the schema waits for the server.
const SCHEMA_WAIT: Duration = Duration::from_secs(60);
/// How long somebody who completes a name waits for the server.
const NAMES_WAIT: Duration = Duration::from_secs(2);

/// A database of a server, and the names of its graph as they were a moment ago.
pub struct RemoteDatabase {
    client: Client,
    names: Mutex<Option<(Instant, Arc<Catalogue>)>>,
}

impl RemoteDatabase {
    /// The database that `client` is connected to.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, names: Mutex::default() }
    }

    fn ask_names(&self) -> Result<Catalogue, Error> {
        catalogue(&self.client.admin().timeout(NAMES_WAIT).schema()?)
    }
}

impl ShellDatabase for RemoteDatabase {
    fn answer(&self, asking: &QueryOptions, text: &str, output: &mut ShellOutput) -> Result<bool, Failure> {
        // The server knows whether it wrote, and does not say so.
        asking.answer_remote(Remote::Server(&self.client), text, output).map(|()| false)
    }

    fn explain(&self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure> {
        asking.explain_remote(Remote::Server(&self.client), text, profile)
    }

    fn begin(
        &self,
        asking: &QueryOptions,
        isolation: Isolation,
    ) -> Result<Box<dyn ShellTransaction>, Failure> {
        Ok(Box::new(self.client.begin(isolation, &asking.cancel)?))
    }

    fn schema(&self) -> Result<SchemaText, Failure> {
        Ok(SchemaText(self.client.admin().timeout(SCHEMA_WAIT).schema()?))
    }

    fn names(&self) -> Arc<Catalogue> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = names.as_ref().filter(|(asked_at, _)| asked_at.elapsed() < NAMES_TIME) {
            return Arc::clone(known);
        }
        // Without an answer steps are completed, and the names that were known.
        let known = names.take().map_or_else(Arc::default, |(_, known)| known);
        let known = self.ask_names().map_or(known, Arc::new);
        *names = Some((Instant::now(), Arc::clone(&known)));
        known
    }

    fn summary(&self) -> Result<String, Failure> {
        Ok(self.client.url().to_string())
    }
}

impl ShellTransaction for Transaction {
    fn answer(
        &mut self,
        asking: &QueryOptions,
        text: &str,
        output: &mut ShellOutput,
    ) -> Result<bool, Failure> {
        asking.answer_remote(Remote::Transaction(self), text, output).map(|()| false)
    }

    fn explain(&mut self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure> {
        asking.explain_remote(Remote::Transaction(self), text, profile)
    }

    fn is_broken(&mut self) -> bool {
        // What stopped the query does not stop the question.
        self.set_cancel(&CancelFlag::default());
        self.check().is_err()
    }

    fn commit(mut self: Box<Self>, asking: &QueryOptions) -> Result<(), Failure> {
        self.set_cancel(&asking.cancel);
        Self::commit(*self)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::shell::complete::complete;
    use evergraph::Database;
    use evergraph_graph::view::GraphView as _;
    use evergraph_report::schema::SchemaReport;

    #[test]
    fn names_of_a_schema_are_completed_as_those_of_a_graph() {
        let database = Database::in_memory().unwrap();
        let write = "g.addV('Person').property('name', 'Ada').as('a').addV('Pet').property('name', 'x').property('nick', 'y')\
                     .addE('OWNS').from('a').property('since', 1)";
        database.gremlin(write).run().unwrap();
        // As it comes from a server.
        let sent = serde_json::to_string(&SchemaReport::new(&database).unwrap()).unwrap();
        let catalogue = catalogue(&serde_json::from_str(&sent).unwrap()).unwrap();
        let of_graph = database.snapshot().catalogue();
        for text in [
            "g.V().hasLabel('",
            "g.V().out('",
            "g.V().values('n",
            "g.V().has('Pet', '",
            "g.E().has('OWNS', '",
        ] {
            let found = complete(text, &catalogue);
            assert!(!found.candidates.is_empty(), "{text}");
            assert_eq!(found, complete(text, &of_graph), "{text}");
        }
    }
}

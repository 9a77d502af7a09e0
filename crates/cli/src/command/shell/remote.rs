//! Remote: the statements of a shell on a database of a server.

use crate::command::query::execution::QueryOptions;
use crate::command::query::remote::Remote;
use crate::command::shell::backend::{ShellDatabase, ShellOutput, ShellTransaction};
use crate::command::shell::schema::SchemaText;
use evergraph::Isolation;
use evergraph_client::client::Client;
use evergraph_client::transaction::Transaction;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use std::sync::Arc;

impl ShellDatabase for Client {
    fn answer(&self, asking: &QueryOptions, text: &str, output: &mut ShellOutput) -> Result<bool, Failure> {
        // The server knows whether it wrote, and does not say so.
        asking.answer_remote(Remote::Server(self), text, output).map(|()| false)
    }

    fn explain(&self, asking: &QueryOptions, text: &str, profile: bool) -> Result<(), Failure> {
        asking.explain_remote(Remote::Server(self), text, profile)
    }

    fn begin(
        &self,
        asking: &QueryOptions,
        isolation: Isolation,
    ) -> Result<Box<dyn ShellTransaction>, Failure> {
        Ok(Box::new(self.begin(isolation, &asking.cancel)?))
    }

    fn schema(&self) -> Result<SchemaText, Failure> {
        let text = "a server does not tell its schema yet: g.V().label().groupCount() counts vertices by label, \
                    g.E().label().groupCount() edges by type";
        Err(Error::invalid(text).into())
    }

    fn names(&self) -> Arc<Catalogue> {
        Arc::default()
    }

    fn summary(&self) -> Result<String, Failure> {
        Ok(self.url().to_string())
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

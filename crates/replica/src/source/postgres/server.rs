//! `PostgresSource`: a PostgreSQL server as a source.

use evergraph_graph::cancel::CancelFlag;

use crate::source::catalogue::Catalogue;
use crate::source::contract::{ChangeStream, CopyRequest, RowStream, Source, SourceIdentity, StreamRequest};
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::catalogue_reader;
use crate::source::postgres::change_stream::PostgresChanges;
use crate::source::postgres::connection::Connection;
use crate::source::postgres::page_counts;
use crate::source::postgres::row_stream::PostgresRows;
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::table_cuts::{CutRules, TableCuts};
use crate::wire::startup::Purpose;

/// A PostgreSQL server. Each call connects anew, so that a lost connection is the matter of one call alone.
#[derive(Clone, Debug)]
pub struct PostgresSource {
    settings: ConnectionSettings,
    cancel: CancelFlag,
}

impl PostgresSource {
    /// The server that `settings` name; setting `cancel` ends what waits for it.
    #[must_use]
    pub fn new(settings: ConnectionSettings, cancel: CancelFlag) -> Self {
        Self { settings, cancel }
    }

    /// A conversation of its own.
    pub(super) fn connect(&self, purpose: Purpose) -> SourceResult<Connection> {
        Connection::open(&self.settings, purpose, &self.cancel)
    }

    /// Where it is.
    #[must_use]
    pub fn settings(&self) -> &ConnectionSettings {
        &self.settings
    }
}

impl Source for PostgresSource {
    fn identity(&mut self) -> SourceResult<SourceIdentity> {
        let mut connection = Connection::open(&self.settings, Purpose::Replication, &self.cancel)?;
        let rows = connection.query("identify", "IDENTIFY_SYSTEM")?;
        let identity = rows.into_iter().next().and_then(|row| match <[_; 4]>::try_from(row) {
            Ok([Some(system), Some(timeline), Some(log_end), Some(database)]) => Some(SourceIdentity {
                system,
                timeline: timeline.parse().ok()?,
                database,
                log_end: log_end.parse().ok()?,
                server_version: connection.server_version(),
            }),
            _ => None,
        });
        identity.ok_or_else(|| {
            SourceError::Invalid(format!(
                "identify {}: the server's answer is no identity",
                connection.place()
            ))
        })
    }

    fn catalogue(&mut self) -> SourceResult<Catalogue> {
        catalogue_reader::read(&mut Connection::open(&self.settings, Purpose::Queries, &self.cancel)?)
    }

    fn cut(&mut self, tables: &[CopyRequest], rules: CutRules) -> SourceResult<TableCuts> {
        page_counts::cut(self.connect(Purpose::Queries)?, tables, rules)
    }

    fn copy(&mut self, request: &CopyRequest, cancel: &CancelFlag) -> SourceResult<Box<dyn RowStream>> {
        Ok(Box::new(PostgresRows::new(&self.settings, request, cancel)))
    }

    fn stream(&mut self, request: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>> {
        Ok(Box::new(PostgresChanges::begin(&self.settings, request, &self.cancel)?))
    }
}

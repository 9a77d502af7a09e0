//! Index building: a pin has indexes built by the nodes of a cluster, with records of their log.
//!
//! ```text
//! begin     in the tables already? ── no ──> create index         wait_for   the tables, until all nodes have reported
//! enforce   unique index, enforce            confirm   unique index, confirm
//! ```
//!
//! The node's newest tables say what became of a build, whoever wrote its records: several may wait for one, and finish it.

use crate::engine::cluster_pin::ClusterPin;
use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::subject::Subject;
use crate::node::replicated_state::RecordResult;
use crate::node::shared_tables::{BuildMoment, TablesMoment};
use crate::planted::{Bug, planted};
use crate::record::body::{RecordBody, UniqueStep};
use crate::tables::cluster_tables::TableAnswer;
use crate::tables::index_builds::{BuildStage, IndexRefusal};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::transaction::build_indexes::{BegunBuild, BuildIndexes, BuildProgress, SharedBuild};
use std::sync::Arc;
use std::time::Duration;

/// How often somebody who waits for a build hears how far it is.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Tries to create an index that others create and drop meanwhile.
const CREATIONS_MAX: usize = 8;

impl ClusterPin {
    fn newest(&self) -> Arc<TablesMoment> {
        self.node().tables().newest()
    }

    /// What the tables say to a record about an index.
    fn ask_about_index(&self, body: RecordBody) -> Result<std::result::Result<(), IndexRefusal>> {
        match self.waits().limited(|| self.node().ask(body))? {
            RecordResult::Table(TableAnswer::Index(answer)) => Ok(answer),
            RecordResult::Refused(refusal) => {
                Err(Error::conflict(format!("the index was not built, since {refusal}: ask again")))
            }
            other => {
                Err(Error::new(ErrorKind::Io, format!("a record about an index was taken for {other:?}")))
            }
        }
    }

    /// What whoever sets values of the index's owner checks, and whoever drops an index of it.
    fn touches(&self, index: IndexDefinition) -> Vec<KeyHash> {
        vec![Subject::Indexes(index.id.owner).hash(self.newest().salt())]
    }

    fn make_unique(&self, build: SharedBuild, step: UniqueStep, touches: Vec<KeyHash>) -> Result<BuildEnd> {
        let SharedBuild { definition, created } = build;
        let body = RecordBody::UniqueIndex { index: definition, created, step, touches };
        match self.ask_about_index(body)? {
            Ok(()) => Ok(BuildEnd::Here),
            Err(IndexRefusal::NotBuilt)
                if self.newest().catalogue().index(definition.id) == Some(definition) =>
            {
                Ok(BuildEnd::Elsewhere)
            }
            Err(refusal) => Err(ended(&refusal.to_string())),
        }
    }
}

/// Who finished a build, or a step of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BuildEnd {
    Here,
    Elsewhere,
}

#[cold]
fn ended(why: &str) -> Error {
    Error::conflict(format!("the index is not built any more, since {why}: create it again"))
}

fn is_of(known: &BuildMoment, build: SharedBuild) -> bool {
    (known.definition, known.created) == (build.definition, build.created)
}

/// How far `build` is; `None` if all nodes have filled it.
fn progress_of(moment: &TablesMoment, build: SharedBuild) -> Result<Option<BuildProgress>> {
    let definition = build.definition;
    match moment.build(definition.id) {
        Some(known) if !is_of(known, build) => Err(ended("it was dropped and created anew")),
        Some(BuildMoment { stage: BuildStage::Filling, nodes_done, nodes_count, .. }) => {
            Ok(Some(BuildProgress { nodes_done: *nodes_done, nodes_count: *nodes_count }))
        }
        Some(_) => Ok(None),
        None if moment.catalogue().index(definition.id) == Some(definition) => Ok(None),
        None => Err(ended("it was dropped")),
    }
}

impl BuildIndexes for ClusterPin {
    fn begin(&self, definition: IndexDefinition) -> Result<BegunBuild> {
        for _ in 0..CREATIONS_MAX {
            let newest = self.newest();
            // One that becomes unique is in the catalogue before it is.
            if let Some(known) = newest.build(definition.id) {
                let (definition, created) = (known.definition, known.created);
                return Ok(BegunBuild::Joined(SharedBuild { definition, created }));
            }
            if let Some(known) = newest.catalogue().index(definition.id) {
                return Ok(BegunBuild::Ready(known));
            }
            let touches = if planted(Bug::CreationUntouched) { Vec::new() } else { self.touches(definition) };
            match self.ask_about_index(RecordBody::CreateIndex { index: definition, touches })? {
                Ok(()) => {
                    // If it is gone from there by now, it is ready, or dropped: no record is about it any more.
                    let newest = self.newest();
                    let known = newest.build(definition.id).filter(|known| known.definition == definition);
                    let created = known.map_or(newest.seen().position.end(), |known| known.created);
                    return Ok(BegunBuild::New(SharedBuild { definition, created }));
                }
                // Somebody else was first: the tables say so now.
                Err(IndexRefusal::Exists | IndexRefusal::IsBuilt) => {}
                Err(refusal) => return Err(Error::invalid(refusal.to_string())),
            }
        }
        Err(Error::conflict("others create and drop the same index: try again later"))
    }

    fn wait_for(&self, build: SharedBuild) -> Result<Option<BuildProgress>> {
        let is_news = |moment: &TablesMoment| !matches!(progress_of(moment, build), Ok(Some(_)));
        let moment = self.waits().limited(|| self.node().wait_until(PROGRESS_EVERY, &is_news))?;
        progress_of(&moment, build)
    }

    fn enforce(&self, build: SharedBuild) -> Result<Option<Timestamp>> {
        match self.make_unique(build, UniqueStep::Enforce, self.touches(build.definition))? {
            // The node has applied the record.
            BuildEnd::Here => Ok(Some(self.newest().seen().position.end())),
            BuildEnd::Elsewhere => Ok(None),
        }
    }

    fn confirm(&self, build: SharedBuild) -> Result<()> {
        // Somebody may have found duplicates at an older moment, which are gone, and be about to drop the index: that has to conflict, or
        // it would drop one that is unique by now.
        let touches =
            if planted(Bug::ConfirmationUntouched) { Vec::new() } else { self.touches(build.definition) };
        self.make_unique(build, UniqueStep::Confirm, touches).map(drop)
    }

    fn goes_on(&self, build: SharedBuild) -> bool {
        let known = self.moment().and_then(|moment| moment.build(build.definition.id));
        known.is_some_and(|known| is_of(known, build))
    }
}

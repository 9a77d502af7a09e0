//! Upkeep: a check, a checkpoint, an index, each beside readers and writers.

use crate::jobs::registry::Work;
use evergraph::{IndexKind, IndexOptions, OwnerName};
use evergraph_graph::error::{Error, Result};
use evergraph_report::index::{IndexEntry, is_on};
use serde::Deserialize;
use serde_json::json;

/// Findings that a report names; it counts all.
const FINDINGS_MAX: usize = 100;

/// Verifies the graph of a snapshot. Damage is a finding of a job that is done.
#[must_use]
pub fn check() -> Work {
    Box::new(|control| {
        let found = control.database().check(&mut |part, done, total| {
            control.tell_on(part, done, (total > 0).then_some(total), "groups")
        })?;
        let findings = found.findings.iter().take(FINDINGS_MAX);
        let findings: Vec<_> =
            findings.map(|finding| json!({"place": finding.place, "problem": finding.problem})).collect();
        let report = json!({
            "healthy": found.is_healthy(),
            "findings": findings,
            "findingsCount": found.findings_count,
            "vertices": found.vertices_count,
            "edges": found.edges_count,
            "indexEntries": found.index_entries_count,
            "staleIndexEntries": found.stale_entries_count,
        });
        Ok(report.into())
    })
}

/// Writes a checkpoint.
#[must_use]
pub fn checkpoint() -> Work {
    Box::new(|control| {
        let made = control.database().checkpoint_with(&mut |now| {
            control.tell_on("write", now.groups_done, Some(now.groups_count), "groups")
        })?;
        let report = json!({
            "coveredThrough": made.covered_through.0,
            "bodiesWritten": made.bodies_written,
            "bytesWritten": made.bytes_written,
            "logBytesFreed": made.log_bytes_freed,
            "leftOver": made.left_over.map(|error| error.to_string()),
        });
        Ok(report.into())
    })
}

/// What is asked of an index: the members of one in the list of indexes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexRequest {
    /// `vertices`, by default, or `edges`.
    of: Option<String>,
    /// The label, or the edge type.
    owner: String,
    key: String,
    /// `hash`, by default, `ordered` or `newest`.
    index_kind: Option<String>,
    #[serde(default)]
    unique: bool,
}

impl IndexRequest {
    /// What builds it.
    ///
    /// # Errors
    /// `invalid` for a word that is none of these.
    pub fn work(self) -> Result<Work> {
        let of_edges = match self.of.as_deref() {
            None | Some("vertices") => false,
            Some("edges") => true,
            Some(other) => {
                return Err(Error::invalid(format!("`of` is one of `vertices` and `edges`, not {other:?}")));
            }
        };
        let kind = self.index_kind.map_or(Ok(IndexKind::Hash), |kind| kind.parse());
        let kind = kind.map_err(|why: String| Error::invalid(format!("`indexKind`: {why}")))?;
        let options = match of_edges {
            true => IndexOptions::on_edges(&self.owner, &self.key),
            false => IndexOptions::on_label(&self.owner, &self.key),
        };
        let options = if self.unique { options.unique() } else { options };
        let options = options.of_kind(kind);
        let (owner, key) = (self.owner, self.key);
        let build = create_index(options);
        Ok(Box::new(move |control| {
            let mut built = build(control)?;
            let owner = if of_edges { OwnerName::EdgeType(&owner) } else { OwnerName::Label(&owner) };
            let indexes = control.database().indexes();
            let index = indexes.iter().find(|index| is_on(index, owner, &key) && index.kind == kind);
            built.report["index"] = json!(index.map(IndexEntry::new));
            Ok(built)
        }))
    }
}

/// Builds an index.
#[must_use]
pub fn create_index(options: IndexOptions) -> Work {
    Box::new(move |control| {
        let tell = |now: evergraph_storage::indexing::IndexProgress| {
            let (done, total) = (u64::from(now.groups_done), u64::from(now.groups_count));
            control.tell("build", done, Some(total), "groups");
        };
        let created = control.database().create_index_with(&options, &tell, control.cancel())?;
        Ok(json!({"created": created}).into())
    })
}

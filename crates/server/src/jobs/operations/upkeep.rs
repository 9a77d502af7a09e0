//! Upkeep: a check, a checkpoint, an index, each beside readers and writers.

use crate::jobs::registry::Work;
use evergraph::IndexOptions;
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
        let made = control.database().open_store().checkpoint(&mut |now| {
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

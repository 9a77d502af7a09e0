//! File check: verifies what is stored, and lists findings; none means healthy.
//!
//! ```text
//! check_files   every checksum of the manifest and the log; the engine's files, by the engine
//! check_graph   one moment of an open store: lists, sides, ends, indexes (its own file)
//! ```
//!
//! A check changes nothing and goes on after a finding, as far as what is left can be read.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::{CheckProgress, Report, tell};
use crate::durable_engine::DurableEngine;
use crate::io::directory::Directory;
use crate::log::recovery::recover;
use crate::transaction::payload;

/// Checks the files of a database. The caller holds its lock, so that nothing writes to it.
///
/// Cost: reads every file once; memory for 8 MiB, or the longest body or commit.
///
/// # Errors
/// `cancelled`; what keeps a check from being made at all: no manifest, another engine, a newer
/// format, and what the system says. Damage is a finding.
pub fn check_files<E: DurableEngine>(
    directory: &dyn Directory,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    let mut report = Report::default();
    let manifest = match Manifest::read(directory, E::opens) {
        Ok(manifest) => manifest,
        Err(error) => {
            report.take_in(error)?;
            return Ok(report);
        }
    };
    E::check_files(directory, &manifest, &mut report, progress)?;
    check_log(directory, &manifest, &mut report, progress)?;
    Ok(report)
}

fn check_log(
    directory: &dyn Directory,
    manifest: &Manifest,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let read = recover(directory, manifest.wanted_log(), |ts, bytes| {
        tell(progress, "commits in the log", ts, ts.max(manifest.need.0))?;
        report.bytes_count += bytes.len() as u64;
        report.commits_count += 1;
        match payload::decode(Timestamp(ts), bytes) {
            Ok(_) => Ok(()),
            Err(error) => {
                report.find("log", error.to_string());
                Ok::<(), Error>(())
            }
        }
    });
    match read {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            report.find("log", error.to_string());
            Ok(())
        }
        Err(error) => Err(error),
    }
}

//! Check: is what is stored sound? Findings in a list; none means healthy.
//!
//! ```text
//! check_files   every checksum of manifest, bodies' files and log; every body decoded
//! check_graph   one moment of an open store: lists, sides, ends, indexes (its own file)
//! ```
//!
//! A check changes nothing and goes on after a finding, as far as what is left can be read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use evergraph_graph::bytes::Reader;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::{BLOCK_BYTES, BodyFile};
use crate::checkpoint::body_form::StableForm;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::{Manifest, SegmentId};
use crate::io::directory::Directory;
use crate::log::recovery::recover;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::Stored;
use crate::segment::vertex_body::VertexBody;
use crate::transaction::payload;

/// Findings that are kept with their text; more are counted.
const FINDINGS_MAX: usize = 100;
/// Bytes of a bodies' file that are verified at once.
const STRETCH_BYTES: u64 = 128 * BLOCK_BYTES;

/// Told what is checked, how far it is, and how far there is to go, in the unit of that part; may
/// ask to stop.
pub type CheckProgress<'a> = dyn FnMut(&str, u64, u64) -> ControlFlow<()> + 'a;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, segment, vertex or edge.
    pub place: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, the first hundred; empty if all is well.
    pub findings: Vec<Finding>,
    /// How many findings there were.
    pub findings_count: u64,
    /// Bytes whose checksums were compared.
    pub bytes_count: u64,
    /// Bodies that were decoded.
    pub bodies_count: u64,
    /// Commits of the log that were decoded.
    pub commits_count: u64,
    /// Vertices that were looked at.
    pub vertices_count: u64,
    /// Edges that were looked at, each once.
    pub edges_count: u64,
    /// Values that were looked up in indexes.
    pub indexed_values_count: u64,
    /// Entries of indexes.
    pub index_entries_count: u64,
    /// Entries among them that nobody has and nobody is about to remove, or that commits made while it was
    /// checked: harmless.
    pub stale_entries_count: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.findings_count == 0
    }

    /// Notes that something is wrong.
    pub fn find(&mut self, place: impl Into<String>, problem: impl Into<String>) {
        self.findings_count += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place: place.into(), problem: problem.into() });
        }
    }

    /// Puts the findings and counts of `other` behind these.
    pub fn add(&mut self, other: Report) {
        let room = FINDINGS_MAX - self.findings.len();
        self.findings.extend(other.findings.into_iter().take(room));
        self.findings_count += other.findings_count;
        self.bytes_count += other.bytes_count;
        self.bodies_count += other.bodies_count;
        self.commits_count += other.commits_count;
        self.vertices_count += other.vertices_count;
        self.edges_count += other.edges_count;
        self.indexed_values_count += other.indexed_values_count;
        self.index_entries_count += other.index_entries_count;
        self.stale_entries_count += other.stale_entries_count;
    }
}

/// Checks the files of a database that nobody writes to: hold its lock.
///
/// Cost: reads every file once; memory for 8 MiB, or the longest body or commit.
///
/// # Errors
/// `cancelled`; what keeps a check from being made at all: no manifest, another engine, a newer
/// format, and what the system says. Damage is a finding.
pub fn check_files(
    directory: &dyn Directory,
    engine: &str,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    let mut report = Report::default();
    let manifest = match Manifest::read(directory, engine) {
        Ok(manifest) => manifest,
        Err(error) => {
            report.take_in(error)?;
            return Ok(report);
        }
    };
    let mut by_file: BTreeMap<u64, Vec<(SegmentId, Stored)>> = BTreeMap::new();
    for (id, stored) in &manifest.segments {
        by_file.entry(stored.file).or_default().push((*id, *stored));
    }
    // A file that nothing names is a left-over, removed when the database is opened.
    let count = by_file.len() as u64;
    for (at, (number, segments)) in by_file.into_iter().enumerate() {
        tell(progress, "bodies' files", at as u64, count)?;
        check_bodies(directory, number, &segments, &mut report, progress)?;
    }
    check_log(directory, &manifest, &mut report, progress)?;
    Ok(report)
}

impl Report {
    /// Damage becomes a finding; anything else ends the check.
    fn take_in(&mut self, error: CheckpointError) -> Result<()> {
        match Error::from(error) {
            error if error.kind() == ErrorKind::Corrupt => {
                self.find("files", error.to_string());
                Ok(())
            }
            error => Err(error),
        }
    }
}

/// Asks whether to go on.
pub(crate) fn tell(progress: &mut CheckProgress<'_>, what: &str, done: u64, total: u64) -> Result<()> {
    match progress(what, done, total) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CheckpointError::Cancelled.into()),
    }
}

fn check_bodies(
    directory: &dyn Directory,
    number: u64,
    segments: &[(SegmentId, Stored)],
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let file = match BodyFile::open(directory, number) {
        Ok(file) => file,
        Err(error) => return report.take_in(error),
    };
    let end = file.bodies_end();
    for start in (0..end).step_by(STRETCH_BYTES as usize) {
        tell(progress, "checksums of bodies, in bytes", start, end)?;
        let stretch = start..end.min(start + STRETCH_BYTES);
        report.bytes_count += stretch.end - stretch.start;
        if let Err(error) = file.read(stretch) {
            report.take_in(error)?;
        }
    }
    for (at, (id, stored)) in segments.iter().enumerate() {
        tell(progress, "bodies", at as u64, segments.len() as u64)?;
        let range = stored.offset..stored.offset + stored.length;
        let window = match file.read(range.clone()) {
            Ok(window) => window,
            Err(error @ CheckpointError::Corrupt { .. }) => {
                report.find(id.to_string(), format!("can't be read: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut reader = Reader::new(window.bytes(range));
        let decoded = match id.subject {
            None => VertexBody::take(&mut reader).map(drop),
            Some(_) => EdgeBody::take(&mut reader).map(drop),
        };
        report.bodies_count += 1;
        if let Err(error) = decoded {
            let problem = format!("{id}: {}", error.expected);
            report.take_in(file.corrupt(stored.offset + error.offset as u64, problem))?;
        }
    }
    Ok(())
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

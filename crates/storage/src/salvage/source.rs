//! Source: manifest and log of a database that may be damaged; it is never changed.
//!
//! Without a manifest the log alone has names and vertices, if it goes back to the first commit.

use std::path::PathBuf;

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::note::OWNER_NOTE;
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::error::{CheckpointError, CheckpointResult};
use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::{CheckProgress, tell};
use crate::io::directory::Directory;
use crate::log::damaged_log::{DamagedLog, LogFault, read_damaged};
use crate::log::file;
use crate::salvage::known_names::KnownNames;
use crate::salvage::loss::{Loss, LossKind};

/// Takes a commit of the log: its timestamp and payload. Why it isn't taken, if it isn't.
pub type CommitVisitor<'a> = dyn FnMut(Timestamp, &[u8]) -> std::result::Result<(), String> + 'a;

/// A database that may be damaged.
pub struct SalvageSource<'a> {
    /// Where it lies.
    pub directory: &'a dyn Directory,
    /// Its manifest, or that of an empty database if it can't be read.
    pub manifest: Manifest,
    /// What is damaged or missing so far.
    pub losses: Vec<Loss>,
    is_named: bool,
}

impl<'a> SalvageSource<'a> {
    /// Reads the manifest in `directory`, if `opens` knows its engine; `empty` stands for one that can't be
    /// read. `is_engine_file` tells names of an engine's files.
    ///
    /// # Errors
    /// `not_found` if there is no database; `invalid` for another engine or a newer format; what the system says.
    pub fn read(
        directory: &'a dyn Directory,
        opens: fn(&str) -> bool,
        is_engine_file: fn(&str) -> bool,
        empty: Manifest,
    ) -> Result<Self> {
        let mut source = Self { directory, manifest: empty, losses: Vec::new(), is_named: false };
        match Manifest::read(directory, opens) {
            Ok(manifest) => {
                source.manifest = manifest;
                source.is_named = true;
            }
            Err(CheckpointError::Corrupt { file, offset, problem }) => {
                source.note_manifest(file, offset, &problem);
            }
            Err(error @ CheckpointError::NotADatabase { .. }) => {
                let names = directory.list()?;
                let is_ours = |name: &String| is_engine_file(name) || file::file_number(name).is_some();
                if !names.iter().any(is_ours) {
                    return Err(error.into());
                }
                let text = "the manifest is missing; names and vertices were taken from the log";
                source.losses.push(Loss::new(LossKind::Nothing, text));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(source)
    }

    /// Goes on with `empty` in place of a manifest whose engine's section can't be read, for `error`.
    ///
    /// # Errors
    /// `error`, unless it says that bytes are damaged.
    pub fn forget_manifest(&mut self, empty: Manifest, error: CheckpointError) -> CheckpointResult<()> {
        let CheckpointError::Corrupt { file, offset, problem } = error else { return Err(error) };
        self.note_manifest(file, offset, &problem);
        self.manifest = empty;
        self.is_named = false;
        Ok(())
    }

    fn note_manifest(&mut self, file: PathBuf, offset: u64, problem: &str) {
        let text = format!("{problem}; names and vertices were taken from the log");
        let loss = Loss::new(LossKind::Nothing, text);
        self.losses.push(Loss { file: Some(file), offset: Some(offset), ..loss });
    }

    /// Reads the log as far as no commit is missing; what is damaged goes to the losses.
    ///
    /// # Errors
    /// `corrupt` if nothing can be named, since there is no manifest and the log doesn't go back to the first
    /// commit; `invalid` if there is no manifest and the log is that of one partition of a graph; `cancelled`, and what the
    /// system says.
    pub fn read_log(
        &mut self,
        take: &mut CommitVisitor<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<DamagedLog> {
        let need = self.manifest.need.0;
        let (mut stopped, mut last, mut has_gaps) = (Ok(()), 0, false);
        let log = read_damaged(self.directory, self.manifest.wanted_log(), &mut |ts, payload| {
            has_gaps |= ts > last + 1;
            last = ts;
            if stopped.is_ok() {
                stopped = tell(progress, "commits in the log", ts, ts.max(need));
            }
            if stopped.is_err() {
                return Err("it was cancelled".to_owned());
            }
            take(Timestamp(ts), payload)
        });
        stopped?;
        let log = log?;
        if !self.is_named && !log.reaches_back {
            return Err(nameless(self.directory));
        }
        if !self.is_named && has_gaps {
            return Err(nameless_partition(self.directory));
        }
        self.losses.extend(log.faults.iter().map(loss_of));
        Ok(log)
    }

    /// Lists what `known` tells of and nobody saves: notes, and bulk loads that only the manifest knew, of which the
    /// log has commits without content.
    pub fn list_unsaved(&mut self, known: &KnownNames) {
        if !known.notes.is_empty() {
            let source = known.notes.get(OWNER_NOTE).map(|source| String::from_utf8_lossy(source));
            let text = match source {
                Some(source) => format!(
                    "notes are not saved: the new database does not follow {source}, and has to be copied from it anew"
                ),
                None => "notes are not saved".to_owned(),
            };
            let count = Some(known.notes.len() as u64);
            self.losses.push(Loss { count, ..Loss::new(LossKind::Notes, text) });
        }
        let empty = &known.empty;
        if !self.is_named {
            let text = "a bulk load, which only the manifest recorded";
            let loads = empty.iter();
            self.losses.extend(
                loads.map(|at| Loss { commits: Some((*at, Some(*at))), ..Loss::new(LossKind::Load, text) }),
            );
        }
    }
}

fn nameless(directory: &dyn Directory) -> Error {
    let text = format!(
        "{}: the manifest can't be read, and the log doesn't go back to the first commit: the names of \
         labels, types and properties are lost, and bodies cannot be assigned to them; restore the manifest or a \
         backup",
        directory.location().display()
    );
    Error::new(ErrorKind::Corrupt, text)
}

/// Commits of a whole graph are numbered one after the other; those of a partition are a few of the graph's.
fn nameless_partition(directory: &dyn Directory) -> Error {
    Error::invalid(format!(
        "{}: the manifest can't be read, and the log has gaps between its commits: it is that of one partition of a \
         graph. That is not salvaged: which groups are its own, and not those of other partitions, is not known, and \
         of edges between them there is one half; another copy of the partition has the same, restore that",
        directory.location().display()
    ))
}

fn loss_of(fault: &LogFault) -> Loss {
    let LogFault { file, offset, length, problem, missing } = fault;
    let kind = if missing.is_some() { LossKind::Commits } else { LossKind::Nothing };
    let text = match missing {
        Some(_) => problem.clone(),
        None => format!("{problem}; no commit was there"),
    };
    Loss {
        file: Some(file.clone()),
        offset: Some(*offset),
        length: *length,
        commits: missing.map(|(first, last)| (Timestamp(first), last.map(Timestamp))),
        count: missing.and_then(|(first, last)| (last == Some(first)).then_some(1)),
        ..Loss::new(kind, text)
    }
}

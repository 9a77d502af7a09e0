//! Detach: a database that follows becomes an ordinary one, and its source forgets it; or another replica takes its place.

use evergraph::Database;
use evergraph_graph::error::{Error, Result};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::follow::begin::{FoundReplica, find};
use crate::follow::connect::write_note;
use crate::follow::following_note::{FOLLOWING_NOTE, FollowingNote, PublicationOrigin};
use crate::source::error::SourceResult;
use crate::source::replica_source::ReplicaSource;

/// What a detached database leaves at its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Detached {
    /// What the database followed.
    pub source: String,
    /// What was dropped at the source.
    pub dropped: Vec<String>,
    /// What is left there.
    pub left: Vec<LeftAtSource>,
}

/// Something that is left at a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftAtSource {
    /// What, such as `the replication slot "evergraph_shop"`. A slot keeps the source's log until it is dropped.
    pub what: String,
    /// Why it was not dropped.
    pub cause: String,
    /// The SQL that drops it.
    pub remedy: String,
}

/// Makes `database`, which no replica may have, an ordinary database that anybody writes to, and drops its slot and its
/// publication at `source`; without a source, or if that does not answer, they are left.
///
/// A publication goes only if the replica made it, and no other slot of the source's database decodes.
///
/// # Errors
/// `invalid` if it follows nothing; `busy` if a replica has it; those of a commit.
pub fn detach(database: &Database, source: Option<&mut dyn ReplicaSource>) -> Result<Detached> {
    let (system, note) = match find(database)? {
        FoundReplica::Following(origin, note) => (Some(origin.system), Some(note)),
        FoundReplica::Begun(note) => (None, Some(note)),
        FoundReplica::Nothing => (None, None),
    };
    let Some(name) = database.source() else {
        return Err(Error::invalid("the database follows nothing"));
    };
    let ownership = database.own(&name)?;
    let mut detached = Detached { source: name, ..Detached::default() };
    if let Some(note) = note {
        let mut source = source;
        let unreachable = match source.as_deref_mut() {
            None => Some("the source was not asked".to_owned()),
            Some(source) => match (source.identity(), &system) {
                (Err(error), _) => Some(error.to_string()),
                (Ok(identity), Some(system)) if identity.system != *system => {
                    Some(format!("{} is another system", source.place()))
                }
                _ => None,
            },
        };
        let source = source.filter(|_| unreachable.is_none());
        let cause = unreachable.unwrap_or_default();
        let slot = LeftAtSource {
            what: format!("the replication slot {:?}", note.slot),
            cause: cause.clone(),
            remedy: format!("SELECT pg_drop_replication_slot({})", escape_literal(&note.slot)),
        };
        let publication = LeftAtSource {
            what: format!("the publication {:?}", note.publication),
            cause,
            remedy: format!("DROP PUBLICATION {}", escape_identifier(&note.publication)),
        };
        let is_ours = note.publication_origin == PublicationOrigin::Ours;
        match source {
            None => {
                detached.left.push(slot);
                detached.left.extend(is_ours.then_some(publication));
            }
            Some(source) => {
                detached.add(slot, gone_or(source.drop_slot(&note.slot)));
                if is_ours {
                    match source.slots_of_database() {
                        Ok(others) if !others.is_empty() => {
                            let cause = format!("other slots may need it: {}", others.join(", "));
                            detached.left.push(LeftAtSource { cause, ..publication });
                        }
                        Ok(_) => {
                            let dropped = gone_or(source.drop_publication(&note.publication));
                            detached.add(publication, dropped);
                        }
                        Err(error) => detached.add(publication, Err(error)),
                    }
                }
            }
        }
    }
    ownership.release()?;
    Ok(detached)
}

/// Lets the replica in `new` have the publication that the one in `old` made, if both follow by it: what takes the place of `old`
/// drops it when it is detached in its turn. Nobody may have either.
///
/// # Errors
/// `busy` if a replica has `new`; those of a commit and of a sync.
pub fn take_over_publication(new: &Database, old: &Database) -> Result<()> {
    let FoundReplica::Following(origin, note) = find(new)? else { return Ok(()) };
    let is_made_by_old = match find(old)? {
        FoundReplica::Following(of_old, note) => {
            note.publication_origin == PublicationOrigin::Ours
                && (of_old.system, of_old.database, of_old.publication)
                    == (origin.system, origin.database, origin.publication)
        }
        FoundReplica::Begun(_) | FoundReplica::Nothing => false,
    };
    if !is_made_by_old || note.publication_origin == PublicationOrigin::Ours {
        return Ok(());
    }
    let name = new.source().ok_or_else(|| Error::invalid("the new database has no source"))?;
    let mut ownership = new.own(&name)?;
    let note = FollowingNote { publication_origin: PublicationOrigin::Ours, ..*note };
    write_note(&mut ownership, FOLLOWING_NOTE, &note.encode())?;
    new.sync()?;
    Ok(())
}

impl Detached {
    fn add(&mut self, what: LeftAtSource, dropped: SourceResult<()>) {
        match dropped {
            Ok(()) => self.dropped.push(what.what),
            Err(error) => self.left.push(LeftAtSource { cause: error.to_string(), ..what }),
        }
    }
}

/// What is gone already was dropped.
fn gone_or(dropped: SourceResult<()>) -> SourceResult<()> {
    match dropped {
        Err(error) if error.sqlstate() == Some("42704") => Ok(()),
        dropped => dropped,
    }
}

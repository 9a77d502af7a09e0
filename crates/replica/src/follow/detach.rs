//! Detach: a database that follows becomes an ordinary one, and its source forgets it; or another replica takes its place.

use evergraph::Database;
use evergraph::ownership::Ownership;
use evergraph_graph::error::{Error, ErrorKind, Result};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::follow::begin::{FoundReplica, find};
use crate::follow::connect::write_note;
use crate::follow::following_note::{FOLLOWING_NOTE, FollowingNote, PublicationOrigin};
use crate::follow::source_objects::{PublicationOutcome, SlotOutcome, drop_publication, drop_slot};
use crate::position::{Origin, POSITION_NOTE, Position};
use crate::source::error::SourceResult;
use crate::source::replica_source::ReplicaSource;

/// What a slot is called for people, before its name.
const SLOT: &str = "the replication slot";

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
    /// The slots whose readers may need it; empty if it was not dropped for another reason.
    pub needed_by: Vec<String>,
}

/// Makes `database`, which no replica may have, an ordinary database that anybody writes to, and drops its slot and its
/// publication at `source`; without a source they are left.
///
/// A publication goes only if the replica made it, and no other slot of the source's database decodes.
///
/// # Errors
/// `invalid` if it follows nothing, or `source` is another database or another server than it follows; those of a source that
/// does not answer or refuses the log-in: nothing has happened then. `busy` if a replica has it; those of a commit.
pub fn detach(database: &Database, source: Option<&mut dyn ReplicaSource>) -> Result<Detached> {
    let (ownership, detached) = leave(database, source, IfOther::Refuse)?;
    ownership.release()?;
    Ok(detached)
}

/// As [`detach`] for a database that is about to be removed: it keeps its owner, so that this is done again after a crash in
/// between. If the source is another database of the same server, the slot is dropped and a publication is left; if it is another
/// server, both are.
///
/// # Errors
/// Those of [`check_replica`]; `busy` if a replica has it; those of a commit.
pub fn abandon(database: &Database, source: &mut dyn ReplicaSource) -> Result<Detached> {
    check_replica(database)?;
    leave(database, Some(source), IfOther::DropSlot).map(|(_, detached)| detached)
}

/// Refuses a `database` that holds more than what a replica copied, so that whoever removes it loses nothing that its source does
/// not have.
///
/// # Errors
/// `invalid` if no replica made the database, or it was detached, or another program follows something with it.
pub fn check_replica(database: &Database) -> Result<()> {
    let has_own_rows = match find(database)? {
        FoundReplica::Following(..) | FoundReplica::Begun(_) => false,
        // A copy that died early has an owner and nothing else.
        FoundReplica::Nothing => database.source().is_none() || database.statistics()?.vertices_count() > 0,
    };
    match has_own_rows {
        true => Err(Error::invalid("the database is not a replica: it was never one, or it was detached")),
        false => Ok(()),
    }
}

/// What to do where a source is another database than a replica's, or another server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfOther {
    Refuse,
    /// If it is of the same server, which slots belong to.
    DropSlot,
}

/// Which of the things that a replica made may be dropped by way of a source; why the others may not.
#[derive(PartialEq, Eq)]
enum Reach {
    All,
    Slot(String),
    /// Nothing, since it is another server, or may be.
    Elsewhere(String),
    Nothing(String),
}

impl Reach {
    /// Why some of it is left.
    fn cause(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Slot(cause) | Self::Elsewhere(cause) | Self::Nothing(cause) => cause,
        }
    }
}

/// Drops at `source` what the replica in `database` made there. The database keeps its owner.
fn leave(
    database: &Database,
    source: Option<&mut dyn ReplicaSource>,
    if_other: IfOther,
) -> Result<(Ownership, Detached)> {
    let (origin, note) = match find(database)? {
        FoundReplica::Following(origin, note) => (Some(origin), Some(note)),
        FoundReplica::Begun(note) => (None, Some(note)),
        FoundReplica::Nothing => (None, None),
    };
    let Some(name) = database.source() else {
        return Err(Error::invalid("the database follows nothing"));
    };
    let ownership = database.own(&name)?;
    let mut detached = Detached { source: name.clone(), ..Detached::default() };
    let Some(note) = note else { return Ok((ownership, detached)) };
    let mut source = source;
    let reach = match source.as_deref_mut() {
        None => Reach::Nothing("the source was not asked".to_owned()),
        Some(source) => {
            let found = match &origin {
                Some(origin) => reach_of_following(source, origin, timeline_of(database)?, &name),
                None => reach_of_begun(source, &note, &name),
            };
            match found {
                Ok(reach) => reach,
                // A password that was mistyped is no reason to leave a slot.
                Err(error) if if_other == IfOther::Refuse => {
                    let slot = &note.slot;
                    return Err(Error::from(error).context(format!(
                        "{name} cannot be detached, whose replication slot {slot:?} would keep its log (--forget-source leaves \
                         it, and prints the SQL that drops it)"
                    )));
                }
                Err(error) => Reach::Nothing(error.to_string()),
            }
        }
    };
    match (&reach, if_other) {
        (Reach::Slot(cause), IfOther::Refuse) => {
            return Err(Error::invalid(format!("{name} cannot be detached: {cause}")));
        }
        (Reach::Elsewhere(cause), IfOther::Refuse) => {
            let slot = &note.slot;
            return Err(Error::invalid(format!(
                "{name} cannot be detached, whose replication slot {slot:?} would keep its log: {cause}. Name its own URL; or \
                 leave the slot by --forget-source, which prints the SQL that drops it"
            )));
        }
        _ => {}
    }
    detached.drop_all(source, reach, &note);
    Ok((ownership, detached))
}

/// The source's timeline when the newest commit here was made; `None` before the first.
fn timeline_of(database: &Database) -> Result<Option<u32>> {
    let Some(bytes) = database.snapshot().note(POSITION_NOTE) else { return Ok(None) };
    let position = Position::decode(&bytes).map_err(|error| {
        Error::new(ErrorKind::Corrupt, format!("read the note {POSITION_NOTE:?} of the database: {error}"))
    })?;
    Ok(Some(position.timeline))
}

/// What may be dropped of a replica that follows `origin`, has something of the `timeline`, and calls its source `name`.
fn reach_of_following(
    source: &mut dyn ReplicaSource,
    origin: &Origin,
    timeline: Option<u32>,
    name: &str,
) -> SourceResult<Reach> {
    let (identity, place) = (source.identity()?, source.place());
    if identity.system != origin.system {
        return Ok(Reach::Elsewhere(format!("{place} is another system")));
    }
    // Such as the server from before a failover, which has the same system and databases.
    if let Some(timeline) = timeline.filter(|timeline| identity.timeline < *timeline) {
        let now = identity.timeline;
        return Ok(Reach::Elsewhere(format!(
            "{place} is on timeline {now}, and it followed timeline {timeline}"
        )));
    }
    if identity.database != origin.database {
        return Ok(Reach::Slot(other_database(&origin.database, &identity.database)));
    }
    if place != name && source.slot_state(&origin.slot)?.is_none() {
        return Ok(no_slot(&place, name));
    }
    Ok(Reach::All)
}

fn no_slot(place: &str, name: &str) -> Reach {
    Reach::Elsewhere(format!("there is no such slot at {place}, which may be another server than {name}"))
}

/// What may be dropped of a replica whose copy did not come to its end: its note does not say of which database, and its slot does.
fn reach_of_begun(source: &mut dyn ReplicaSource, note: &FollowingNote, name: &str) -> SourceResult<Reach> {
    let identity = source.identity()?;
    let of_slot = source.slot_state(&note.slot)?.and_then(|state| state.database);
    Ok(match of_slot {
        Some(database) if database != identity.database => {
            Reach::Slot(other_database(&database, &identity.database))
        }
        None if source.place() != name => no_slot(&source.place(), name),
        _ => Reach::All,
    })
}

fn other_database(wanted: &str, found: &str) -> String {
    format!(
        "it follows the database {wanted:?}, and the source is {found:?} of the same server: name {wanted:?} in the source's URL"
    )
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
    /// The slot, if it is left: it keeps the source's log.
    #[must_use]
    pub fn left_slot(&self) -> Option<&LeftAtSource> {
        self.left.iter().find(|left| left.what.starts_with(SLOT))
    }

    /// Drops what may be dropped of what `note` names, and lists the rest.
    fn drop_all(&mut self, source: Option<&mut dyn ReplicaSource>, reach: Reach, note: &FollowingNote) {
        let slot = LeftAtSource {
            what: format!("{SLOT} {:?}", note.slot),
            cause: String::new(),
            remedy: format!("SELECT pg_drop_replication_slot({})", escape_literal(&note.slot)),
            needed_by: Vec::new(),
        };
        let publication = LeftAtSource {
            what: format!("the publication {:?}", note.publication),
            cause: String::new(),
            remedy: format!("DROP PUBLICATION {}", escape_identifier(&note.publication)),
            needed_by: Vec::new(),
        };
        let is_ours = note.publication_origin == PublicationOrigin::Ours;
        let (Some(source), false) = (source, matches!(reach, Reach::Elsewhere(_) | Reach::Nothing(_))) else {
            // What is here by these names, as behind an upgrade, may be what a new copy follows by.
            let is_elsewhere = matches!(reach, Reach::Elsewhere(_));
            let remedy = |remedy: String| match is_elsewhere {
                true => format!("where it was, if that is still there, and not here: {remedy}"),
                false => remedy,
            };
            let cause = reach.cause();
            self.left.push(LeftAtSource { cause: cause.clone(), remedy: remedy(slot.remedy), ..slot });
            let publication = LeftAtSource { cause, remedy: remedy(publication.remedy), ..publication };
            self.left.extend(is_ours.then_some(publication));
            return;
        };
        match drop_slot(source, &note.slot) {
            Ok(SlotOutcome::NotThere) => {}
            Ok(SlotOutcome::Dropped) => self.add(slot, Ok(())),
            Err(error) => self.add(slot, Err(error)),
        }
        if !is_ours {
            return;
        }
        if reach != Reach::All {
            self.left.push(LeftAtSource { cause: reach.cause(), ..publication });
            return;
        }
        match drop_publication(source, &note.publication) {
            Ok(PublicationOutcome::Needed(needed_by)) => {
                let cause = format!("other slots may need it: {}", needed_by.join(", "));
                self.left.push(LeftAtSource { cause, needed_by, ..publication });
            }
            Ok(PublicationOutcome::Dropped) => self.add(publication, Ok(())),
            Err(error) => self.add(publication, Err(error)),
        }
    }

    fn add(&mut self, what: LeftAtSource, dropped: SourceResult<()>) {
        match dropped {
            Ok(()) => self.dropped.push(what.what),
            Err(error) => self.left.push(LeftAtSource { cause: error.to_string(), ..what }),
        }
    }
}

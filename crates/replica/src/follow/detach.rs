//! Detach: a database that follows becomes an ordinary one, and its source forgets it; or another replica takes its place.
//!
//! A slot that another database may follow by is not dropped: one that is confirmed beyond what is here, and that of a backup or a
//! converted copy, in whose folder no replica ran.

use evergraph::Database;
use evergraph::ownership::Ownership;
use evergraph_graph::error::{Error, ErrorKind, Result};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::follow::begin::{FoundReplica, find};
use crate::follow::connect::{shared_slot_remedy, write_note};
use crate::follow::following_note::{FOLLOWING_NOTE, FollowingNote, PublicationOrigin};
use crate::follow::source_objects::{PublicationOutcome, SlotOutcome, drop_publication, drop_slot};
use crate::lsn::Lsn;
use crate::position::{Origin, POSITION_NOTE, Position};
use crate::source::error::SourceResult;
use crate::source::replica_source::ReplicaSource;
use crate::source::slot_state::SlotState;
use crate::status_file;

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
/// `invalid` if it follows nothing, or `source` is another database or another server than it follows; with a source also if
/// the database [is a copy](is_copy), or its slot is confirmed beyond what is here: another one may follow by it. Those of a source
/// that does not answer or refuses the log-in. Nothing has happened then. `busy` if a replica has it; those of a commit.
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
/// Those of [`check_replica`] and [`check_slot`]; `busy` if a replica has it; those of a commit.
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

/// Refuses to give up the slot of `database` at `source` where another database may follow by it: what is here is a
/// [copy](is_copy), or the slot is confirmed beyond it.
///
/// # Errors
/// `invalid`, with what to do; `corrupt` if a note cannot be read; those of the source.
pub fn check_slot(database: &Database, source: &mut dyn ReplicaSource) -> Result<()> {
    let FoundReplica::Following(origin, _) = find(database)? else { return Ok(()) };
    let name = database.source().unwrap_or_default();
    match reach_of_following(source, &origin, &KnownHere::of(database)?, &name)? {
        Reach::Shared(cause) => Err(shared(&cause, &origin.slot)),
        _ => Ok(()),
    }
}

/// Whether `database` has what a replica noted in it behind the first copy, and no replica ran in its folder: a backup, or what was
/// converted of one. It goes on by the slot of the original, which may do so, too.
///
/// # Errors
/// `corrupt` if a note cannot be read; `invalid` if another program follows something with the database.
pub fn is_copy(database: &Database) -> Result<bool> {
    let is_replica = matches!(find(database)?, FoundReplica::Following(..));
    Ok(is_replica && database.path().is_some_and(|path| !status_file::is_there(path)))
}

/// What a copy of a replica says of the original.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaCopy {
    /// What that follows.
    pub source: String,
    /// Its slot.
    pub slot: String,
    /// Its publication.
    pub publication: String,
    /// Up to here the copy has what the source has.
    pub position: Lsn,
}

impl ReplicaCopy {
    /// What `database` says, if it [is a copy](is_copy) of a replica whose tables were copied.
    ///
    /// # Errors
    /// As [`is_copy`].
    pub fn of(database: &Database) -> Result<Option<Self>> {
        let KnownHere { position, is_copy } = KnownHere::of(database)?;
        let (true, Some(position), FoundReplica::Following(origin, _)) = (is_copy, position, find(database)?)
        else {
            return Ok(None);
        };
        let Origin { slot, publication, .. } = origin;
        let source = database.source().unwrap_or_default();
        Ok(Some(Self { source, slot, publication, position: position.end }))
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
    /// Nothing, since another database may follow by the slot.
    Shared(String),
    Nothing(String),
}

impl Reach {
    /// Why some of it is left.
    fn cause(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Slot(cause) | Self::Elsewhere(cause) | Self::Shared(cause) | Self::Nothing(cause) => cause,
        }
    }
}

/// What is here of a database that follows.
struct KnownHere {
    /// `None` before the first commit.
    position: Option<Position>,
    is_copy: bool,
}

impl KnownHere {
    fn of(database: &Database) -> Result<Self> {
        let position = database.snapshot().note(POSITION_NOTE).map(|bytes| Position::decode(&bytes));
        let position = position.transpose().map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("read the note {POSITION_NOTE:?} of the database: {error}"),
            )
        })?;
        Ok(Self { position, is_copy: is_copy(database)? })
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
    let is_copy = is_copy(database)?;
    // Its source is not even asked: what can be reached there is the original's.
    if let (true, IfOther::Refuse, Some(note), Some(_)) = (is_copy, if_other, &note, &source) {
        return Err(Error::invalid(format!(
            "this is a copy of a replica of {name}, and the replication slot {:?} is that of the original: --forget-source in place \
             of --source makes the copy an ordinary database, and leaves the source alone; to follow by that slot in place of the \
             original: `evergraph replica run`",
            note.slot
        )));
    }
    let ownership = database.own(&name)?;
    let mut detached = Detached { source: name.clone(), ..Detached::default() };
    let Some(note) = note else { return Ok((ownership, detached)) };
    let mut source = source;
    let reach = match source.as_deref_mut() {
        None if is_copy => Reach::Shared(
            "the source was not asked; this was a copy of a replica, and the original may follow by it"
                .to_owned(),
        ),
        None => Reach::Nothing("the source was not asked".to_owned()),
        Some(source) => {
            let found = match &origin {
                Some(origin) => reach_of_following(source, origin, &KnownHere::of(database)?, &name),
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
        (Reach::Shared(cause), _) if source.is_some() => return Err(shared(cause, &note.slot)),
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

/// Why the slot `slot` stays, and what to do.
fn shared(cause: &str, slot: &str) -> Error {
    Error::invalid(format!("{cause}, so that the slot is not dropped: {}", shared_slot_remedy(slot)))
}

/// What may be dropped of a replica that follows `origin`, has what `here` says, and calls its source `name`.
fn reach_of_following(
    source: &mut dyn ReplicaSource,
    origin: &Origin,
    here: &KnownHere,
    name: &str,
) -> SourceResult<Reach> {
    let (identity, place) = (source.identity()?, source.place());
    if identity.system != origin.system {
        return Ok(Reach::Elsewhere(format!("{place} is another system")));
    }
    // Such as the server from before a failover, which has the same system and databases.
    let timeline = here.position.map(|position| position.timeline);
    if let Some(timeline) = timeline.filter(|timeline| identity.timeline < *timeline) {
        let now = identity.timeline;
        return Ok(Reach::Elsewhere(format!(
            "{place} is on timeline {now}, and it followed timeline {timeline}"
        )));
    }
    let slot = source.slot_state(&origin.slot)?;
    if let Some(cause) = slot.as_ref().and_then(|state| sharing(state, &origin.slot, here)) {
        return Ok(Reach::Shared(cause));
    }
    if identity.database != origin.database {
        return Ok(Reach::Slot(other_database(&origin.database, &identity.database)));
    }
    if place != name && slot.is_none() {
        return Ok(no_slot(&place, name));
    }
    Ok(Reach::All)
}

/// Why another database may follow by the slot `slot`, which the source says `state` of.
fn sharing(state: &SlotState, slot: &str, here: &KnownHere) -> Option<String> {
    // A replica confirms what its note says.
    let confirmed = state
        .confirmed_lsn
        .filter(|confirmed| here.position.is_some_and(|position| *confirmed > position.end));
    match (confirmed, here.position) {
        (Some(confirmed), Some(position)) => Some(format!(
            "the replication slot {slot:?} was confirmed up to {confirmed}, beyond {}, which is here: another database, perhaps a \
             copy of this one, follows by it, or this one was restored from a backup",
            position.end
        )),
        _ if here.is_copy => Some(format!(
            "this is a copy of a replica, in whose folder none has run, and the replication slot {slot:?} is that of the original"
        )),
        _ => None,
    }
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
        let (Some(source), Reach::All | Reach::Slot(_)) = (source, &reach) else {
            let condition = match &reach {
                // What is here by these names, as behind an upgrade, may be what a new copy follows by.
                Reach::Elsewhere(_) => "where it was, if that is still there, and not here: ",
                Reach::Shared(_) => "if no other database follows by it: ",
                _ => "",
            };
            let remedy = |remedy: String| format!("{condition}{remedy}");
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

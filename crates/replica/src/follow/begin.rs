//! Begin: a database that follows nothing yet gets a publication, a slot and the tables; one that follows already is found.
//!
//! ```text
//! check ──> note "following": copying, slot ──> publication ──> slot ──> catalogue ──> copy ──> one load, with all notes
//!              a crash from here on leaves a slot, which the next start finds by the note, and drops
//! ```

use evergraph::Database;
use evergraph::ownership::Ownership;
use evergraph_files::import::mapping::table::{RowRule, TableRule};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::count::Count;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::note::OWNER_NOTE;
use evergraph_storage::io::random::{Random as _, SplitMix64};

use crate::copy::options::{CopyOptions, CopyProgress};
use crate::copy::run::{CopiedGraph, copy_tables, estimate_rows};
use crate::count_note::{COUNT_NOTE, CountNote};
use crate::follow::connect::{Followed, check_system, write_note};
use crate::follow::following_note::{
    FOLLOWING_NOTE, FollowingNote, FollowingStage, KnownChildren, PublicationOrigin,
};
use crate::follow::known_marks::KnownMarks;
use crate::follow::known_tables::known_part;
use crate::follow::mark_changes::{MarkChanges, mark_changes, planned_marks};
use crate::follow::marks_note::{MARKS_NOTE, encode, marks_of};
use crate::follow::options::{DEFAULT_PUBLICATION, ReplicaOptions};
use crate::follow::progress::SourceNames;
use crate::follow::source_objects::{PublicationOutcome, drop_publication, drop_slot};
use crate::follow::unfilled_columns::UnfilledColumns;
use crate::mapping::check::{Severity, check};
use crate::mapping::plan::Plan;
use crate::mapping::resolve::resolve;
use crate::mapping::sql_name::display_table;
use crate::position::{ORIGIN_NOTE, Origin, Position};
use crate::postgres_time::PostgresTime;
use crate::row_note::NOTES_OF_RULE_MAX;
use crate::source::catalogue::Catalogue;
use crate::source::contract::SourceIdentity;
use crate::source::error::SourceError;
use crate::source::replica_source::{ExportedSlot, ReplicaSource};
use crate::source::slot_state::slot_name;
use crate::source::slot_wait::SlotWait;

/// How often a copy begins anew because the source's tables changed while its slot was made.
const ATTEMPTS_MAX: u32 = 3;

/// What a database says of following.
#[derive(Clone, Debug)]
pub enum FoundReplica {
    /// Nothing: it may begin.
    Nothing,
    /// A copy did not come to its end.
    Begun(Box<FollowingNote>),
    /// It follows.
    Following(Origin, Box<FollowingNote>),
}

/// What `database` says of following.
///
/// # Errors
/// `corrupt` if a note cannot be read; `invalid` if another program follows something with it.
pub fn find(database: &Database) -> Result<FoundReplica> {
    let snapshot = database.snapshot();
    let read = |name: &str, error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Corrupt, format!("read the note {name:?} of the database: {error}"))
    };
    let following = match snapshot.note(FOLLOWING_NOTE) {
        None => None,
        Some(bytes) => Some(FollowingNote::decode(&bytes).map_err(|error| read(FOLLOWING_NOTE, &error))?),
    };
    let origin = match snapshot.note(ORIGIN_NOTE) {
        None => None,
        Some(bytes) => Some(Origin::decode(&bytes).map_err(|error| read(ORIGIN_NOTE, &error))?),
    };
    match (origin, following) {
        (Some(origin), Some(note)) if note.stage == FollowingStage::Copied => {
            Ok(FoundReplica::Following(origin, Box::new(note)))
        }
        (None, Some(note)) if note.stage == FollowingStage::Copying => {
            Ok(FoundReplica::Begun(Box::new(note)))
        }
        (None, None) if snapshot.notes().iter().all(|(name, _)| &**name == OWNER_NOTE) => {
            Ok(FoundReplica::Nothing)
        }
        _ => Err(Error::invalid(
            "the database follows something, and not as a replica: its notes are those of another program",
        )),
    }
}

/// Holds a database that follows already, and checks that the mapping is the one that it follows by.
///
/// # Errors
/// `invalid` for another mapping; `busy` if it is held.
pub fn resume(
    database: &Database,
    origin: Origin,
    note: FollowingNote,
    options: &ReplicaOptions,
) -> Result<(Ownership, Followed)> {
    check_options(&origin, options)?;
    let rules = options.mapping.rules()?;
    let source = database.source().ok_or_else(|| {
        Error::new(ErrorKind::Corrupt, "the database has a position in a source, and no owner")
    })?;
    let marks = KnownMarks::of_note(marks_of(&database.snapshot())?);
    let followed = Followed { origin, note, rules, unfilled: UnfilledColumns::default(), marks };
    Ok((database.own(&source)?, followed))
}

/// Whether a database of `origin` goes on as `options` say.
fn check_options(origin: &Origin, options: &ReplicaOptions) -> Result<()> {
    if options.mapping.hash() != origin.mapping {
        return Err(Error::invalid(format!(
            "{} is not the mapping that this database follows by, and another mapping is another graph: use the old text, or \
             copy the tables anew by `evergraph replica resync`",
            options.mapping.name
        )));
    }
    for (what, asked, known) in
        [("slot", &options.slot, &origin.slot), ("publication", &options.publication, &origin.publication)]
    {
        if let Some(asked) = asked.as_ref().filter(|asked| *asked != known) {
            return Err(Error::invalid(format!(
                "this database follows by the {what} {known:?}, not {asked:?}: leave the name out"
            )));
        }
    }
    Ok(())
}

/// Why `database`, which follows already, does not go on with `source` as `options` say: it follows by another mapping, slot or
/// publication, or another source.
///
/// # Errors
/// As [`find`]; those of the source.
pub fn difference(
    database: &Database,
    source: &mut dyn ReplicaSource,
    options: &ReplicaOptions,
) -> Result<Option<String>> {
    let FoundReplica::Following(origin, _) = find(database)? else { return Ok(None) };
    if check_options(&origin, options).is_err() {
        return Ok(Some("it follows by another mapping, slot or publication".to_owned()));
    }
    let other = check_system(&origin, &source.identity()?).err();
    Ok(other.map(|pause| pause.cause))
}

/// A replica that begins.
pub struct NewReplica<'a> {
    /// The database, without a graph.
    pub database: &'a Database,
    /// What it will follow.
    pub source: &'a mut dyn ReplicaSource,
    /// How.
    pub options: &'a ReplicaOptions,
    /// What a copy that died left.
    pub left: Option<FollowingNote>,
    /// Told how far the copy is.
    pub progress: &'a dyn Fn(&CopyProgress),
    /// Ends it.
    pub cancel: &'a CancelFlag,
}

impl NewReplica<'_> {
    /// Copies the source's tables into the database, and makes what keeps their changes from then on.
    ///
    /// # Errors
    /// `invalid` for what [`check`] finds, with the SQL that mends it, and for a database that has a graph; those of the source
    /// and of the copy; `cancelled`. Nothing is left then, here or at the source, as far as it answers.
    pub fn begin(mut self) -> Result<(Ownership, Followed)> {
        let rules = self.options.mapping.rules()?;
        let statistics = self.database.statistics()?;
        if statistics.vertices_count() > 0 {
            return Err(Error::invalid(format!(
                "the database has {} vertices: a replica needs a database of its own, name a new folder",
                statistics.vertices_count()
            )));
        }
        let is_same_source = self.database.source().is_none_or(|known| known == self.source.place());
        let mut ownership = self.own()?;
        // What a copy of another source left is not here.
        let left = self.left.take().filter(|_| is_same_source);
        let own_publication = left.map_or(Ok(None), |left| drop_left(self.source, &left))?;
        let mut note = None;
        match self.copy(&rules, &mut ownership, own_publication, &mut note) {
            Ok(followed) => Ok((ownership, followed)),
            Err(error) => {
                // Not by the source whose waits are over if this was cancelled.
                let mut source = self.source.another(&CancelFlag::default());
                let dropped = note.as_ref().map_or(Ok(None), |note| drop_left(&mut *source, note));
                // What is left is found by the notes, if there is something. What happened tells more than this.
                if dropped.is_ok() {
                    let _ = ownership.release();
                }
                match dropped {
                    Ok(Some(publication)) => Err(error.context(format!(
                        "the publication {publication:?}, which this copy made, stays for the readers of other slots"
                    ))),
                    Ok(None) => Err(error),
                    Err(_) => {
                        let slot = note.map_or_else(String::new, |note| note.slot);
                        Err(error.context(format!(
                            "the replication slot {slot:?} may be left at the source, where it keeps the log: begin again, which drops it"
                        )))
                    }
                }
            }
        }
    }

    /// Owns the database by the source's name.
    fn own(&self) -> Result<Ownership> {
        let place = self.source.place();
        match self.database.source() {
            // A copy of another source died here.
            Some(known) if known != place && self.left.is_some() => {
                self.database.own(&known)?.release()?;
                self.database.own(&place)
            }
            _ => self.database.own(&place),
        }
    }

    /// From the check to the load. `own_publication` is one that an earlier copy of this database made; `made` says what there
    /// is to drop if this fails.
    fn copy(
        &mut self,
        rules: &[TableRule],
        ownership: &mut Ownership,
        own_publication: Option<String>,
        made: &mut Option<FollowingNote>,
    ) -> Result<Followed> {
        let identity = self.source.identity()?;
        let publication = self.options.publication.clone().unwrap_or_else(|| DEFAULT_PUBLICATION.to_owned());
        let slot = match &self.options.slot {
            Some(slot) => slot.clone(),
            None => {
                let random = SplitMix64::from_system().map_err(|error| {
                    Error::new(ErrorKind::Io, format!("name a slot by chance: {error}")).because(error)
                })?;
                slot_name(&identity.database, { random }.next_u64())
            }
        };
        let names = (&*slot, &*publication);
        let note = self.prepare(rules, ownership, own_publication, names, made)?;
        let (exported, catalogue, plan) = self.make_slot(rules, &slot, &publication)?;
        let mut options = CopyOptions::new(self.options.memory_bytes, &self.options.temporary);
        options.rows_estimate = estimate_rows(&plan, &catalogue);
        let snapshot = exported.snapshot.as_deref();
        let mut copied = copy_tables(self.source, &plan, snapshot, &options, self.progress, self.cancel)?;
        let origin = Origin {
            system: identity.system.clone(),
            database: identity.database.clone(),
            slot,
            publication,
            mapping: self.options.mapping.hash(),
        };
        let note = FollowingNote {
            stage: FollowingStage::Copied,
            catalogue: known_part(&catalogue, &plan, &origin.publication),
            ..note
        };
        let marks = planned_marks(&catalogue, &plan, &origin.publication);
        copied.notes.insert(MARKS_NOTE.to_owned(), encode(&marks));
        let marks = KnownMarks::of_note(Some(marks));
        let unfilled = UnfilledColumns::default();
        let followed = Followed { origin, note, rules: rules.to_vec(), unfilled, marks };
        self.check_unchanged(&followed, &plan)?;
        let position = self.position(&identity, &exported)?;
        self.load(copied, ownership, &followed, &position, &plan)?;
        Ok(followed)
    }

    /// Checks the source for `slot` and `publication`, notes what this replica makes there, and makes the publication if there is
    /// none. The note.
    fn prepare(
        &mut self,
        rules: &[TableRule],
        ownership: &mut Ownership,
        own_publication: Option<String>,
        (slot, publication): (&str, &str),
        made: &mut Option<FollowingNote>,
    ) -> Result<FollowingNote> {
        for attempts_left in (0..ATTEMPTS_MAX).rev() {
            let catalogue = self.checked(rules, publication)?;
            if self.source.slot_state(slot)?.is_some() {
                return Err(Error::invalid(format!(
                    "there is a replication slot {slot:?}, which another replica may need: name another one, or drop it by \
                     SELECT pg_drop_replication_slot('{slot}')"
                )));
            }
            let is_there = catalogue.publication(publication).is_some();
            let note = FollowingNote {
                stage: FollowingStage::Copying,
                slot: slot.to_owned(),
                publication: publication.to_owned(),
                publication_origin: match is_there && own_publication.as_deref() != Some(publication) {
                    true => PublicationOrigin::Found,
                    false => PublicationOrigin::Ours,
                },
                children: KnownChildren::None,
                catalogue: Catalogue::default(),
            };
            write_note(ownership, FOLLOWING_NOTE, &note.encode())?;
            self.database.sync()?;
            *made = Some(note.clone());
            if is_there {
                return Ok(note);
            }
            // Before the slot: what is decoded is filtered by the publications of its moment.
            let plan = resolve(rules, &catalogue)?;
            let created = self.source.create_publication(publication, &tables_of(&plan));
            // Another replica that begins has made it meanwhile: it is not ours to drop.
            let state = created.as_ref().err().and_then(SourceError::sqlstate);
            if matches!(state, Some("42710" | "23505")) {
                *made = None;
                if attempts_left > 0 {
                    continue;
                }
            }
            return created.map(|()| note).map_err(Error::from);
        }
        unreachable!("the last attempt returns")
    }

    /// The catalogue, which the mapping fits.
    fn checked(&mut self, rules: &[TableRule], publication: &str) -> Result<Catalogue> {
        let catalogue = self.source.catalogue()?;
        let server = self.source.server_state()?;
        let findings = check(rules, &catalogue, &server, publication);
        let errors: Vec<String> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| match &finding.remedy {
                Some(remedy) => format!("{}: {remedy}", finding.cause),
                None => finding.cause.clone(),
            })
            .collect();
        if errors.is_empty() {
            return Ok(catalogue);
        }
        let place = self.source.place();
        Err(Error::invalid(format!("{place} cannot be followed yet: {}", errors.join("; "))))
    }

    /// Makes the slot, and returns what the catalogue was at its moment.
    fn make_slot(
        &mut self,
        rules: &[TableRule],
        slot: &str,
        publication: &str,
    ) -> Result<(ExportedSlot, Catalogue, Plan)> {
        let mut attempts = 0;
        loop {
            let before = self.source.catalogue()?;
            let waiting = |wait: &SlotWait| (self.progress)(&CopyProgress::waiting(wait.clone()));
            let exported = self.source.create_slot(slot, &waiting, self.cancel)?;
            let after = self.source.catalogue()?;
            // From here on the slot says that it is needed.
            if after.publication(publication).is_none() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "the publication {publication:?} was dropped while the copy began, as by a replica that made it and \
                         ended: start the copy again"
                    ),
                ));
            }
            let plan = resolve(rules, &after)?;
            // Then it was the same in between, when the snapshot was made.
            let marks = |catalogue: &Catalogue| planned_marks(catalogue, &plan, publication);
            if known_part(&before, &plan, publication) == known_part(&after, &plan, publication)
                && mark_changes(&marks(&before), &marks(&after), &after, &plan, publication)
                    == MarkChanges::default()
            {
                return Ok((exported, after, plan));
            }
            attempts += 1;
            drop(exported);
            self.source.drop_slot(slot)?;
            if attempts == ATTEMPTS_MAX {
                return Err(Error::new(
                    ErrorKind::Busy,
                    "the source's tables change again and again while the copy begins: start it when they rest",
                ));
            }
        }
    }

    /// Refuses a copy whose tables changed meanwhile: some changes take rows out of every snapshot.
    fn check_unchanged(&mut self, followed: &Followed, plan: &Plan) -> Result<()> {
        match followed.look(self.source, plan) {
            Ok(_) => Ok(()),
            Err(failure) => {
                let error = Error::from(failure);
                Err(error.context("the source's tables changed while they were copied; start the copy again"))
            }
        }
    }

    /// Where the snapshot is in the source's log.
    fn position(&mut self, identity: &SourceIdentity, exported: &ExportedSlot) -> Result<Position> {
        let now = self.source.identity()?;
        if (&now.system, now.timeline) != (&identity.system, identity.timeline) {
            return Err(Error::new(
                ErrorKind::Busy,
                "the source was promoted during the copy: start it again",
            ));
        }
        Ok(Position {
            timeline: now.timeline,
            end: exported.consistent_point,
            xid: 0,
            committed_at: PostgresTime::now(),
        })
    }

    fn load(
        &self,
        mut copied: CopiedGraph,
        ownership: &mut Ownership,
        followed: &Followed,
        position: &Position,
        plan: &Plan,
    ) -> Result<()> {
        copied.notes.insert(FOLLOWING_NOTE.to_owned(), followed.note.encode());
        copied.notes.insert(COUNT_NOTE.to_owned(), counts_of(&copied, plan)?.encode());
        copied.load(ownership, &followed.origin, position, self.progress, self.cancel)?;
        Ok(())
    }
}

/// What the copy left out, and the foreign keys that wait.
///
/// # Errors
/// `limit` if more of them wait than may.
fn counts_of(copied: &CopiedGraph, plan: &Plan) -> Result<CountNote> {
    let mut counts = CountNote { losses: copied.losses.clone(), ..CountNote::default() };
    for table in &plan.tables {
        for vertex in &table.vertices {
            let Some(count) = copied.missing_edges.get(&vertex.rule) else { continue };
            if *count > NOTES_OF_RULE_MAX as u64 && !plan.leaves_out_ends(vertex) {
                let text = format!(
                    "table {}: {} foreign keys of {} wait for rows that are not there, more than {}: look whether the rule's \
                     columns refer to what its mapping says, and mend the mapping or the rows",
                    display_table(&table.schema, &table.name),
                    Count(*count),
                    vertex.label,
                    Count(NOTES_OF_RULE_MAX as u64)
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
            counts.waiting.insert(vertex.rule, *count);
        }
    }
    Ok(counts)
}

/// Drops the slot and the publication that a copy which died made, as its note says. The publication, if it stays since the readers
/// of other slots may need it.
fn drop_left(source: &mut dyn ReplicaSource, left: &FollowingNote) -> Result<Option<String>> {
    drop_slot(source, &left.slot)?;
    if left.publication_origin == PublicationOrigin::Ours
        && let PublicationOutcome::Needed(_) = drop_publication(source, &left.publication)?
    {
        return Ok(Some(left.publication.clone()));
    }
    Ok(None)
}

/// The tables of a plan, by schema and name.
fn tables_of(plan: &Plan) -> Vec<(String, String)> {
    plan.tables.iter().map(|table| (table.schema.to_string(), table.name.to_string())).collect()
}

/// What is followed, by name.
#[must_use]
pub fn names(source: String, followed: &Followed) -> SourceNames {
    let of_rule = |rule: &TableRule| match &rule.row {
        RowRule::Vertex { label, .. } => label.clone(),
        RowRule::Edge { edge_type, .. } => edge_type.clone(),
    };
    SourceNames {
        source,
        slot: followed.origin.slot.clone(),
        publication: followed.origin.publication.clone(),
        rules: followed.rules.iter().map(of_rule).collect(),
    }
}

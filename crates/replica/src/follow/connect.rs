//! Connect: compares a source with what the database knows of it, and begins a stream at the database's position.
//!
//! ```text
//! system, database     the same, or pause
//! timeline             the same, or one that went on from behind our position
//! end of the log       not before our position
//! slot                 there, with its log, not confirmed beyond our position: another database follows by it then; and not
//!                      less than it was: it is that of an older state then, see slot_note
//! catalogue            see known_tables, mark_changes and column_order
//! ```

use std::sync::Arc;

use evergraph::ownership::Ownership;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::error::{Error, ErrorKind};
use postgres_protocol::escape::escape_literal;

use crate::follow::added_columns::{ADDED_NOTE, AddedColumns};
use crate::follow::column_order::{misplaced_pause, remade_pause};
use crate::follow::failure::FollowFailure;
use crate::follow::following_note::{FOLLOWING_NOTE, FollowingNote};
use crate::follow::known_marks::KnownMarks;
use crate::follow::known_tables::{compare, inherited_pause, known_with_partitions};
use crate::follow::mark_changes::{MarkChanges, mark_changes, planned_marks, rewrite_since};
use crate::follow::marks_note::{MARKS_NOTE, encode};
use crate::follow::new_columns::{TakesColumns, known_with_all_columns, known_with_columns, new_columns};
use crate::follow::pause::Pause;
use crate::follow::slot_note::SlotNote;
use crate::follow::unfilled_columns::UnfilledColumns;
use crate::lsn::Lsn;
use crate::mapping::check::{MissingRight, STANDBY_VERSION_MIN, missing_rights};
use crate::mapping::plan::{EndPlan, Plan, TablePlan};
use crate::mapping::resolve::resolve;
use crate::pgoutput::relation::{Oid, Relation};
use crate::position::{Origin, POSITION_NOTE, Position};
use crate::source::catalogue::Catalogue;
use crate::source::catalogue_marks::CatalogueMarks;
use crate::source::contract::{LogicalMessages, SourceIdentity, StreamRequest};
use crate::source::replica_source::{PartitionOrigin, ReplicaSource};
use crate::translate::pause::RESYNC;

/// What a database follows, as its notes say.
#[derive(Clone, Debug)]
pub struct Followed {
    /// What it follows.
    pub origin: Origin,
    /// What the source was known to have.
    pub note: FollowingNote,
    /// The rules of its mapping.
    pub rules: Vec<TableRule>,
    /// New columns that a look has found empty.
    pub unfilled: UnfilledColumns,
    /// The marks of the source's catalogue when somebody looked last.
    pub marks: KnownMarks,
}

/// What a look at a source's catalogue found.
#[derive(Clone, Debug)]
pub struct SourceLook {
    /// The catalogue.
    pub live: Catalogue,
    /// What is known from here on.
    pub known: Catalogue,
    /// What to tell of what the source does not answer at present, or does not let this role read: each look asks again.
    pub unanswered: Vec<String>,
}

/// A source that was compared, from which a stream may begin.
#[derive(Clone, Debug)]
pub struct ConnectedSource {
    /// Where the database is.
    pub position: Position,
    /// Who the source is now.
    pub identity: SourceIdentity,
    /// What rows become.
    pub plan: Arc<Plan>,
}

impl Followed {
    /// What rows become, by what the source was known to have.
    ///
    /// # Errors
    /// A pause, if the rules do not fit that.
    pub fn plan(&self) -> Result<Plan, Pause> {
        self.plan_by(&self.note.catalogue)
    }

    /// What rows of all columns that the source has in `live` become: its tables as they are read, by SQL.
    ///
    /// # Errors
    /// A pause, if the rules do not fit that.
    pub fn plan_of_all(&self, live: &Catalogue) -> Result<Plan, Pause> {
        self.plan_by(&known_with_all_columns(&self.note.catalogue, live))
    }

    fn plan_by(&self, catalogue: &Catalogue) -> Result<Plan, Pause> {
        resolve(&self.rules, catalogue).map_err(|problems| {
            Pause::resync(format!("the mapping does not fit the source any more: {problems}"))
        })
    }

    /// Compares `source` with what is known, and notes what is known from here on.
    ///
    /// # Errors
    /// The source's and the database's; a pause if the stream could not go on from the database's position.
    pub fn connect(
        &mut self,
        source: &mut dyn ReplicaSource,
        ownership: &mut Ownership,
    ) -> Result<ConnectedSource, FollowFailure> {
        // A source takes the beginning of a stream for what is safe here.
        ownership.database().sync()?;
        let position = read_position(ownership)?;
        let identity = source.identity()?;
        check_recovery(source, &identity, position)?;
        self.check_identity(&identity, position)?;
        check_timeline(source, &identity, position)?;
        if let Some(pause) = Pause::kept(&ownership.database().snapshot())? {
            return Err(pause.into());
        }
        let seen = SlotNote::of(&ownership.database().snapshot())?;
        self.check_slot(source, position, seen, identity.timeline)?;
        let plan = self.plan()?;
        let look = self.look(source, &plan)?;
        self.learn(ownership, look.known, &[])?;
        note_marks(&self.marks, ownership)?;
        Ok(ConnectedSource { position, identity, plan: Arc::new(self.plan()?) })
    }

    /// Compares the source's catalogue with what is known.
    ///
    /// # Errors
    /// The source's; a pause for a change of which the stream says nothing. It lasts if a new copy alone mends it: what was not
    /// sent meanwhile is missing, also when the source looks as before.
    pub fn look(&self, source: &mut dyn ReplicaSource, plan: &Plan) -> Result<SourceLook, FollowFailure> {
        self.compare(source, plan).map_err(|failure| match failure {
            FollowFailure::Pause(pause) if pause.remedy == RESYNC => Pause::missed(pause.cause).into(),
            failure => failure,
        })
    }

    fn compare(&self, source: &mut dyn ReplicaSource, plan: &Plan) -> Result<SourceLook, FollowFailure> {
        let look = self.marks.begin_look();
        let live = source.catalogue()?;
        let known = &self.note.catalogue;
        let comparison = compare(known, &live, plan, &self.origin.publication);
        if let Some(pause) = comparison.pauses.into_iter().next() {
            return Err(pause.into());
        }
        let before = self.marks.last();
        let marks = planned_marks(&live, plan, &self.origin.publication);
        let changes = self.compare_marks(&marks, &live, plan)?;
        self.check_order(&live, plan)?;
        let (mut new_partitions, mut unanswered) = (Vec::new(), Vec::new());
        for partition in comparison.new_partitions {
            match source.partition_origin(partition.id)? {
                Some(PartitionOrigin::Attached) => return Err(partition.attached().into()),
                // It stays new, and the next look asks again.
                Some(PartitionOrigin::Unknown) => unanswered.push(partition.unknown()),
                Some(PartitionOrigin::Created) | None => new_partitions.push(partition),
            }
        }
        for new in &comparison.new_columns {
            if self.takes_columns(plan, new.table) == TakesColumns::All {
                if let Some(pause) = known
                    .table_of(new.table)
                    .and_then(|table| changes.renamed_pause(table, &new.name, &new.columns))
                {
                    return Err(pause.into());
                }
                if let Some(pause) = new.computed_pause() {
                    return Err(pause.into());
                }
                let columns = self.unfilled.others(new);
                let rewrite = rewrite_since(before.as_ref(), &live, new.table);
                let filled = source.filled_columns(new.table, &columns, rewrite)?;
                if let Some(pause) = new.pause(&filled) {
                    return Err(pause.into());
                }
                self.unfilled.add(new);
            }
        }
        for planned in &plan.tables {
            let pause = live.table_of(planned.table).and_then(|now| inherited_pause(now, self.note.children));
            if let Some(pause) = pause {
                return Err(pause.into());
            }
        }
        let newer = comparison.known.as_ref().unwrap_or(known);
        let newer = known_with_partitions(newer, &live, &new_partitions);
        self.check_promises(plan, &newer)?;
        if missing_rights(plan, &live, "").next().is_some() {
            let role = source.server_state()?.role;
            unanswered.extend(missing_rights(plan, &live, &role).map(|right| {
                let MissingRight { cause, remedy } = right;
                format!(
                    "changes are followed, and `verify` and `resync` need a right first: {cause}: {remedy}"
                )
            }));
        }
        self.marks.see(look, marks);
        Ok(SourceLook { live, known: newer, unanswered })
    }

    /// Compares the marks of `live` with those of the last look.
    fn compare_marks(
        &self,
        marks: &CatalogueMarks,
        live: &Catalogue,
        plan: &Plan,
    ) -> Result<MarkChanges, FollowFailure> {
        let Some(before) = self.marks.last() else { return Ok(MarkChanges::default()) };
        let mut changes = mark_changes(&before, marks, live, plan, &self.origin.publication);
        if changes.pauses.is_empty() { Ok(changes) } else { Err(changes.pauses.swap_remove(0).into()) }
    }

    /// Whether the columns that are known of tables can be those of `live`.
    fn check_order(&self, live: &Catalogue, plan: &Plan) -> Result<(), Pause> {
        let before = self.marks.last().unwrap_or_default();
        for planned in &plan.tables {
            let known = self.note.catalogue.table_of(planned.table);
            let (Some(known), Some(now)) = (known, live.marks.tables.get(&planned.table)) else { continue };
            let remade = match before.tables.contains_key(&planned.table) {
                true => None,
                false => remade_pause(planned, known, now),
            };
            let is_numbered = || self.rules_of(planned).any(TableRule::numbers_columns);
            let misplaced = || misplaced_pause(known, now).filter(|_| is_numbered());
            if let Some(pause) = remade.or_else(misplaced) {
                return Err(pause);
            }
        }
        Ok(())
    }

    /// Whether by `newer` every end is promised that was promised by `plan`. If not, edges may have to wait for their ends, and
    /// the graph lacks what it would have kept of those that are there.
    fn check_promises(&self, plan: &Plan, newer: &Catalogue) -> Result<(), Pause> {
        if *newer == self.note.catalogue {
            return Ok(());
        }
        let after = self.plan_by(newer)?;
        match ends(plan).zip(ends(&after)).find(|(before, after)| before.is_promised && !after.is_promised) {
            None => Ok(()),
            Some((end, _)) => Err(Pause::resync(format!(
                "a foreign key to {} was dropped, or a new partition lacks it: its edges may have to wait for their ends now, \
                 for which the graph did not keep what they need",
                end.label
            ))),
        }
    }

    /// Adds the new columns of `relation` to what is known, in the descriptions of a transaction that ends at `end`.
    ///
    /// # Errors
    /// The source's and the database's; a pause for columns that rows from before may have values in.
    pub fn learn_columns(
        &mut self,
        source: &mut dyn ReplicaSource,
        ownership: &mut Ownership,
        relation: &Relation,
        end: Lsn,
    ) -> Result<(), FollowFailure> {
        let plan = self.plan()?;
        let before = self.marks.last();
        // A column may be new because an older one got another name, and its name went to a third.
        let live = self.look(source, &plan)?.live;
        let new = new_columns(&self.note.catalogue, relation);
        let rewrite = rewrite_since(before.as_ref(), &live, relation.id);
        let filled = source.filled_columns(relation.id, &new, rewrite)?;
        let takes = self.takes_columns(&plan, relation.id);
        let known = known_with_columns(&self.note.catalogue, &live, relation, &filled, takes)?;
        let position = read_position(ownership)?.end;
        let added = AddedColumns::behind(position, &ownership.database().snapshot())?;
        self.learn(ownership, known, &[(ADDED_NOTE, added.with(relation.id, new, end).encode())])
    }

    /// Whether a rule of the table makes properties of columns that it doesn't name.
    fn takes_columns(&self, plan: &Plan, table: Oid) -> TakesColumns {
        let Some(table) = plan.table(table) else { return TakesColumns::Named };
        match self.rules_of(table).any(|rule| rule.properties.is_none()) {
            true => TakesColumns::All,
            false => TakesColumns::Named,
        }
    }

    /// The rules by which rows of a table are vertices and edges.
    fn rules_of(&self, planned: &TablePlan) -> impl Iterator<Item = &TableRule> {
        let vertices = planned.vertices.iter().map(|vertex| vertex.rule);
        let rules = vertices.chain(planned.edges.iter().map(|edge| edge.rule));
        rules.filter_map(|rule| self.rules.get(rule))
    }

    /// Notes what is known from here on, and `others`, in one commit.
    fn learn(
        &mut self,
        ownership: &mut Ownership,
        known: Catalogue,
        others: &[(&str, Vec<u8>)],
    ) -> Result<(), FollowFailure> {
        if known == self.note.catalogue {
            return Ok(());
        }
        let note = FollowingNote { catalogue: known, ..self.note.clone() };
        let mut transaction = ownership.begin()?;
        transaction.set_note(FOLLOWING_NOTE, &note.encode())?;
        for (name, bytes) in others {
            transaction.set_note(name, bytes)?;
        }
        transaction.commit()?;
        self.note = note;
        Ok(())
    }

    /// The request for a stream that begins at `position`.
    #[must_use]
    pub fn stream_request(&self, position: Position) -> StreamRequest {
        StreamRequest {
            slot: self.origin.slot.clone(),
            publications: vec![self.origin.publication.clone()],
            start: position.end,
            logical_messages: LogicalMessages::Skipped,
        }
    }

    fn check_identity(&self, identity: &SourceIdentity, position: Position) -> Result<(), Pause> {
        check_system(&self.origin, identity)?;
        if identity.log_end < position.end {
            return Err(Pause::resync(format!(
                "the source's log ends at {}, before {}, which is here already: it was restored to an older state",
                identity.log_end, position.end
            )));
        }
        Ok(())
    }

    fn check_slot(
        &self,
        source: &mut dyn ReplicaSource,
        position: Position,
        seen: Option<SlotNote>,
        timeline: u32,
    ) -> Result<(), FollowFailure> {
        let slot = &self.origin.slot;
        let Some(state) = source.slot_state(slot)? else {
            let cause = format!("the replication slot {slot:?} is gone: changes since then are lost");
            return Err(Pause::resync(cause).into());
        };
        if let Some(problem) = state.problem(&self.origin.database) {
            return Err(
                Pause::resync(format!("the replication slot {slot:?} cannot be used: {problem}")).into()
            );
        }
        if let (Some(seen), Some(confirmed)) = (seen, state.confirmed_lsn)
            && seen.is_ahead_of(timeline, confirmed)
        {
            let cause = format!(
                "the replication slot {slot:?} is confirmed up to {confirmed}, and was up to {} before: the source was restored to \
                 an older state, or the URL leads to another server that has the same identity",
                seen.restart
            );
            return Err(
                Pause::new(cause, format!("mend the URL if it leads elsewhere; else {RESYNC}")).into()
            );
        }
        // We confirm what our note says once that is durable. The slot never goes beyond it by itself.
        if let Some(confirmed) = state.confirmed_lsn.filter(|confirmed| *confirmed > position.end) {
            let cause = format!(
                "the replication slot {slot:?} was confirmed up to {confirmed}, beyond {}, which is here: another database, perhaps \
                 a copy of this one, follows by this slot, or this one was restored from a backup",
                position.end
            );
            return Err(Pause::new(cause, shared_slot_remedy(slot)).into());
        }
        Ok(())
    }
}

/// What to do where `slot` may be that of another database as well: nothing drops it then, before a person has.
#[must_use]
pub fn shared_slot_remedy(slot: &str) -> String {
    format!(
        "if another database follows by it, let this one go by `evergraph replica detach --forget-source`, and follow in a new \
         folder, which gets a slot of its own; if none does, drop it by SELECT pg_drop_replication_slot({}), and {RESYNC}",
        escape_literal(slot)
    )
}

/// Whether `identity` is that of the database that `origin` names.
///
/// # Errors
/// A pause, if it is another one.
pub fn check_system(origin: &Origin, identity: &SourceIdentity) -> Result<(), Pause> {
    if identity.system != origin.system {
        return Err(Pause::resync(format!(
            "the source is another system: {}, and not {}, which this database follows",
            identity.system, origin.system
        )));
    }
    if identity.database != origin.database {
        return Err(Pause::new(
            format!("the source is the database {:?}, and not {:?}", identity.database, origin.database),
            format!("name {:?} in the source's URL", origin.database),
        ));
    }
    Ok(())
}

/// The ends of all edges, in one order.
fn ends(plan: &Plan) -> impl Iterator<Item = &EndPlan> {
    plan.tables.iter().flat_map(|table| {
        let of_keys = table.vertices.iter().flat_map(|vertex| vertex.edges.iter().map(|edge| &edge.end));
        of_keys.chain(table.edges.iter().flat_map(|edge| [&edge.start, &edge.end]))
    })
}

/// Whether the source is in recovery, and may be ready after it: a standby that is behind, or is being promoted.
fn check_recovery(
    source: &mut dyn ReplicaSource,
    identity: &SourceIdentity,
    position: Position,
) -> Result<(), FollowFailure> {
    let server = source.server_state()?;
    if server.is_standby && (server.version < STANDBY_VERSION_MIN || identity.log_end < position.end) {
        let place = source.place();
        return Err(FollowFailure::NotYet(format!("{place} is in recovery, at {}", identity.log_end)));
    }
    Ok(())
}

/// Whether the source's timeline is that of `position`, or went on from behind it.
fn check_timeline(
    source: &mut dyn ReplicaSource,
    identity: &SourceIdentity,
    position: Position,
) -> Result<(), FollowFailure> {
    if identity.timeline == position.timeline {
        return Ok(());
    }
    let end = source.timeline_end(position.timeline, identity.timeline)?;
    let cause = match end {
        Some(end) if end >= position.end => return Ok(()),
        Some(end) => format!(
            "the source went on to timeline {} at {end}, before {}, which is here: it lacks transactions that this database \
             has",
            identity.timeline, position.end
        ),
        None => format!(
            "the source is on timeline {}, which timeline {} of this database is no part of",
            identity.timeline, position.timeline
        ),
    };
    Err(Pause::resync(cause).into())
}

/// Where the database is.
///
/// # Errors
/// `corrupt` if the note says no position.
pub fn read_position(ownership: &Ownership) -> Result<Position, Error> {
    let snapshot = ownership.database().snapshot();
    let Some(note) = snapshot.note(POSITION_NOTE) else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "the database follows a source and does not say from where",
        ));
    };
    Position::decode(&note)
        .map_err(|error| Error::new(ErrorKind::Corrupt, format!("read the position: {error}")))
}

/// Brings the note of marks to those of the last look, if it has others.
///
/// # Errors
/// Those of a commit.
pub fn note_marks(known: &KnownMarks, ownership: &mut Ownership) -> Result<(), Error> {
    if let Some(marks) = known.unnoted() {
        write_note(ownership, MARKS_NOTE, &encode(&marks))?;
        known.noted(&marks);
    }
    Ok(())
}

/// Sets a note, in a commit of its own; returns when it will be readable.
///
/// # Errors
/// Those of a commit.
pub fn write_note(
    ownership: &mut Ownership,
    name: &str,
    bytes: &[u8],
) -> Result<evergraph_graph::timestamp::Timestamp, Error> {
    let mut transaction = ownership.begin()?;
    transaction.set_note(name, bytes)?;
    Ok(transaction.commit()?.timestamp)
}

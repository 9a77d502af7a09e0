//! Connect: compares a source with what the database knows of it, and begins a stream at the database's position.
//!
//! ```text
//! system, database     the same, or pause
//! timeline             the same, or one that went on from behind our position
//! end of the log       not before our position
//! slot                 there, with its log, not confirmed beyond our position: somebody else read from it then; and not
//!                      less than it was: it is that of an older state then, see slot_note
//! catalogue            see known_tables
//! ```

use std::sync::Arc;

use evergraph::ownership::Ownership;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::error::{Error, ErrorKind};

use crate::follow::failure::FollowFailure;
use crate::follow::following_note::{FOLLOWING_NOTE, FollowingNote};
use crate::follow::known_tables::{
    TakesColumns, compare, inherited_pause, known_with_columns, known_with_partitions, new_columns,
};
use crate::follow::pause::Pause;
use crate::follow::slot_note::SlotNote;
use crate::follow::unfilled_columns::UnfilledColumns;
use crate::mapping::check::STANDBY_VERSION_MIN;
use crate::mapping::plan::{EndPlan, Plan};
use crate::mapping::resolve::resolve;
use crate::pgoutput::relation::{Oid, Relation};
use crate::position::{Origin, POSITION_NOTE, Position};
use crate::source::catalogue::Catalogue;
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
        let seen = SlotNote::of(&ownership.database().snapshot())?;
        self.check_slot(source, position, seen, identity.timeline)?;
        let live = source.catalogue()?;
        let plan = self.plan()?;
        let known = self.compare(source, &live, &plan)?;
        self.learn(ownership, known)?;
        Ok(ConnectedSource { position, identity, plan: Arc::new(self.plan()?) })
    }

    /// Compares `live`, the catalogue now, with what is known, which it returns with what may be added to it.
    ///
    /// # Errors
    /// The source's; a pause for a change of which the stream says nothing.
    pub fn compare(
        &self,
        source: &mut dyn ReplicaSource,
        live: &Catalogue,
        plan: &Plan,
    ) -> Result<Catalogue, FollowFailure> {
        let known = &self.note.catalogue;
        let comparison = compare(known, live, plan, &self.origin.publication);
        if let Some(pause) = comparison.pauses.into_iter().next() {
            return Err(pause.into());
        }
        for partition in &comparison.new_partitions {
            if source.partition_origin(partition.id)? == Some(PartitionOrigin::Attached) {
                return Err(partition.attached().into());
            }
        }
        for new in &comparison.new_columns {
            if self.takes_columns(plan, new.table) == TakesColumns::All {
                let columns = self.unfilled.others(new);
                let filled = source.filled_columns(new.table, &columns)?;
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
        let newer = known_with_partitions(newer, live, &comparison.new_partitions);
        self.check_promises(plan, &newer)?;
        Ok(newer)
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

    /// Adds the new columns of `relation` to what is known.
    ///
    /// # Errors
    /// The source's and the database's; a pause for columns that rows from before may have values in.
    pub fn learn_columns(
        &mut self,
        source: &mut dyn ReplicaSource,
        ownership: &mut Ownership,
        relation: &Relation,
    ) -> Result<(), FollowFailure> {
        let live = source.catalogue()?;
        let plan = self.plan()?;
        let filled = source.filled_columns(relation.id, &new_columns(&self.note.catalogue, relation))?;
        let takes = self.takes_columns(&plan, relation.id);
        let known = known_with_columns(&self.note.catalogue, &live, relation, &filled, takes)?;
        self.learn(ownership, known)
    }

    /// Whether a rule of the table makes properties of columns that it doesn't name.
    fn takes_columns(&self, plan: &Plan, table: Oid) -> TakesColumns {
        let Some(table) = plan.table(table) else { return TakesColumns::Named };
        let rules = table.vertices.iter().map(|vertex| vertex.rule);
        let mut rules = rules.chain(table.edges.iter().map(|edge| edge.rule));
        match rules.any(|rule| self.rules.get(rule).is_some_and(|rule| rule.properties.is_none())) {
            true => TakesColumns::All,
            false => TakesColumns::Named,
        }
    }

    fn learn(&mut self, ownership: &mut Ownership, known: Catalogue) -> Result<(), FollowFailure> {
        if known == self.note.catalogue {
            return Ok(());
        }
        let note = FollowingNote { catalogue: known, ..self.note.clone() };
        write_note(ownership, FOLLOWING_NOTE, &note.encode())?;
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
        let origin = &self.origin;
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
                "the replication slot {slot:?} was confirmed up to {confirmed}, beyond {}, which is here: somebody else \
                 read from it, or this database was restored to an older state",
                position.end
            );
            return Err(Pause::resync(cause).into());
        }
        Ok(())
    }
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

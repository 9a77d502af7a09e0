//! `KnownTranslator`: a translator that also notices columns of which its plan knows nothing yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::follow::added_columns::AddedColumns;
use crate::follow::new_columns::new_columns;
use crate::mapping::plan::Plan;
use crate::mapping::scope::partitions_of;
use crate::mapping::sql_name::display_name;
use crate::pgoutput::message::Message;
use crate::pgoutput::relation::{Oid, Relation};
use crate::source::catalogue::Catalogue;
use crate::stream::row_translator::RowTranslator;
use crate::translate::pause::{Drift, Halt, Recovery};
use crate::translate::row_change::RowChanges;
use crate::translate::translator::Translator;

/// Translates by a plan, and by the catalogue that it was made of.
#[derive(Clone, Debug)]
pub struct KnownTranslator {
    translator: Translator,
    known: Arc<Catalogue>,
    /// Partitions of tables of the plan, with their roots. Their changes come as those of the roots.
    parts: Arc<BTreeMap<Oid, Oid>>,
}

/// What a description means for a plan.
#[derive(Clone, Debug)]
pub enum DescriptionDrift {
    /// The plan does not allow it.
    Drift(Drift),
    /// The table has new columns: another plan may know them.
    NewColumns(Box<Relation>),
}

impl KnownTranslator {
    /// A translator by `plan`, which was made of `known`. Transactions that are not here yet added the columns `added`.
    #[must_use]
    pub fn new(plan: Arc<Plan>, known: Arc<Catalogue>, added: &AddedColumns) -> Self {
        let roots = plan.tables.iter().filter_map(|planned| known.table_of(planned.table));
        let parts =
            roots.flat_map(|root| partitions_of(&known, root).map(|part| (part.id, root.id))).collect();
        let translator = Translator::new(plan).with_added_columns(added.names());
        Self { translator, parts: Arc::new(parts), known }
    }

    /// As [`Translator::undescribed`].
    #[must_use]
    pub fn undescribed(&self) -> Self {
        let (known, parts) = (Arc::clone(&self.known), Arc::clone(&self.parts));
        Self { translator: self.translator.undescribed(), known, parts }
    }

    /// Refuses changes of a partition that come as its own: nobody would take notice of them.
    fn check_root(&self, relations: &[Oid]) -> Result<(), Halt> {
        let found = relations.iter().find_map(|part| Some((part, self.parts.get(part)?)));
        let Some((part, root)) = found else { return Ok(()) };
        let name = self.known.table_of(*part).map(display_name).unwrap_or_default();
        let (planned, _) = self.translator.rules().of_table(*root).expect("roots are tables of the plan");
        let cause = format!(
            "changes of its partition {name} come under the partition's own name: the publication had \
             publish_via_partition_root = false then"
        );
        Err(Halt::new(planned, None, cause, "", Recovery::Resync))
    }

    /// The translator itself.
    #[must_use]
    pub fn translator(&self) -> &Translator {
        &self.translator
    }
}

impl RowTranslator for KnownTranslator {
    type Changes = RowChanges;
    type Drift = DescriptionDrift;
    type Halt = Halt;

    fn describe(&mut self, relation: &Relation) -> Result<(), DescriptionDrift> {
        // What is gone matters more than what is new: a renamed column is both.
        self.translator.describe(relation).map_err(DescriptionDrift::Drift)?;
        match new_columns(&self.known, relation).is_empty() {
            true => Ok(()),
            false => Err(DescriptionDrift::NewColumns(Box::new(relation.clone()))),
        }
    }

    fn translate(&self, message: &Message<'_>, out: &mut RowChanges) -> Result<(), Halt> {
        if !self.parts.is_empty() {
            match message {
                Message::Insert { relation, .. }
                | Message::Update { relation, .. }
                | Message::Delete { relation, .. } => self.check_root(&[*relation])?,
                Message::Truncate { relations, .. } => self.check_root(relations)?,
                _ => {}
            }
        }
        self.translator.translate(message, out)
    }

    fn room(messages: usize) -> RowChanges {
        RowChanges::with_capacity(messages)
    }

    fn heap_bytes(changes: &RowChanges) -> usize {
        changes.heap_bytes()
    }
}

//! `KnownTranslator`: a translator that also notices columns of which its plan knows nothing yet.

use std::sync::Arc;

use crate::follow::known_tables::new_columns;
use crate::mapping::plan::Plan;
use crate::pgoutput::message::Message;
use crate::pgoutput::relation::Relation;
use crate::source::catalogue::Catalogue;
use crate::stream::row_translator::RowTranslator;
use crate::translate::pause::{Drift, Halt};
use crate::translate::row_change::RowChanges;
use crate::translate::translator::Translator;

/// Translates by a plan, and by the catalogue that it was made of.
#[derive(Clone, Debug)]
pub struct KnownTranslator {
    translator: Translator,
    known: Arc<Catalogue>,
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
    /// A translator by `plan`, which was made of `known`.
    #[must_use]
    pub fn new(plan: Arc<Plan>, known: Arc<Catalogue>) -> Self {
        Self { translator: Translator::new(plan), known }
    }

    /// As [`Translator::undescribed`].
    #[must_use]
    pub fn undescribed(&self) -> Self {
        Self { translator: self.translator.undescribed(), known: Arc::clone(&self.known) }
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
        self.translator.translate(message, out)
    }

    fn room(messages: usize) -> RowChanges {
        RowChanges::with_capacity(messages)
    }

    fn heap_bytes(changes: &RowChanges) -> usize {
        changes.heap_bytes()
    }
}

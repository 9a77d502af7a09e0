//! Declared types: the property types that files declare. They must agree, with each other and with the
//! database.

use crate::import::existing_graph::{ExistingGraph, OwnerByName};
use crate::import::field::cell::CellType;
use crate::import::id_type::IdType;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use std::collections::HashMap;
use std::sync::Arc;

/// What files say about the properties of labels and edge types. They must agree.
pub struct DeclaredTypes {
    /// What the database has.
    known: Arc<ExistingGraph>,
    /// By label or type, and key: the type, and the file that says so.
    properties: HashMap<(String, String), (CellType, String)>,
}

impl DeclaredTypes {
    /// Nothing is said yet, beside what is `known`.
    #[must_use]
    pub fn new(known: Arc<ExistingGraph>) -> Self {
        Self { known, properties: HashMap::new() }
    }

    /// Compares with what is `known` from here on.
    pub fn renew_known(&mut self, known: Arc<ExistingGraph>) {
        self.known = known;
    }

    /// Notes that `file` says the property `key` of `owner` is of `cell_type`.
    ///
    /// # Errors
    /// `invalid`, with both types and where they are from, if another file or the database says otherwise.
    pub fn declare(
        &mut self,
        owner: OwnerByName<'_>,
        key: &str,
        cell_type: CellType,
        file: &str,
    ) -> Result<()> {
        self.check_known(owner, key, cell_type, file, |value_type| format!("{key}:{value_type}"))?;
        self.check_files(owner, key, cell_type, file)
    }

    /// The same of the ids of vertices of `owner`, which the property `key` keeps.
    ///
    /// # Errors
    /// As [`DeclaredTypes::declare`].
    pub fn declare_ids(
        &mut self,
        owner: OwnerByName<'_>,
        key: &str,
        id_type: IdType,
        file: &str,
    ) -> Result<()> {
        let cell_type = CellType::Scalar(id_type.value_type());
        let word = |value_type| format!("{key}:ID{{id-type:{value_type}}}");
        self.check_known(owner, key, cell_type, file, word)?;
        self.check_files(owner, key, cell_type, file)
    }

    /// Complains if the database has another type; `word` is that of a header with a type.
    fn check_known(
        &self,
        owner: OwnerByName<'_>,
        key: &str,
        cell_type: CellType,
        file: &str,
        word: impl Fn(ValueType) -> String,
    ) -> Result<()> {
        let Some(known) = self.known.property_type(owner, key) else { return Ok(()) };
        // Numbers of unstated type become doubles where they have to.
        let is_number = cell_type == CellType::Number && known == ValueType::F64;
        if known == cell_type.value_type() || is_number {
            return Ok(());
        }
        let remedy = match known {
            ValueType::Any | ValueType::List | ValueType::Set | ValueType::Map => String::new(),
            _ => format!(": say {} in the file's header, by --replace-header, or in a mapping", word(known)),
        };
        Err(Error::invalid(format!(
            "{file}: property {key} of {owner} is {cell_type} here and {known} in the database, which keeps \
             its type{remedy}"
        )))
    }

    fn check_files(
        &mut self,
        owner: OwnerByName<'_>,
        key: &str,
        cell_type: CellType,
        file: &str,
    ) -> Result<()> {
        let (known, known_file) = self
            .properties
            .entry((owner.to_string(), key.to_owned()))
            .or_insert_with(|| (cell_type, file.to_owned()));
        let agrees = known.value_type() == cell_type.value_type()
            && (*known == CellType::Number) == (cell_type == CellType::Number);
        if agrees {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{file}: property {key} of {owner} is {cell_type} here and {known} in {known_file}; \
             give both one type"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_disagree_about_a_type_are_both_named() {
        let mut declared = DeclaredTypes::new(Arc::default());
        let person = OwnerByName::Label("Person");
        declared.declare(person, "age", CellType::Scalar(ValueType::I32), "a.csv").unwrap();
        declared
            .declare(OwnerByName::Label("Dog"), "age", CellType::Scalar(ValueType::I64), "b.csv")
            .unwrap();
        let error = declared.declare(person, "age", CellType::Scalar(ValueType::I64), "b.csv").unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.csv: property age of label Person is long here and int in a.csv; give both one type"
        );
    }
}

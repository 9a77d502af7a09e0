//! Declared: what files say about the types of properties. They must agree.

use crate::import::cell::CellType;
use evergraph_graph::error::{Error, Result};
use std::collections::HashMap;

/// What files say about the properties of labels and edge types. They must agree.
#[derive(Debug, Default)]
pub struct Declared {
    /// By label or type, and key: the type, and the file that says so.
    properties: HashMap<(String, String), (CellType, String)>,
}

impl Declared {
    /// Notes that `file` says the property `key` of `owner` ("label Person") is of `cell_type`.
    ///
    /// # Errors
    /// `invalid`, with both files and types, if another file says otherwise.
    pub fn declare(&mut self, owner: &str, key: &str, cell_type: CellType, file: &str) -> Result<()> {
        let (known, known_file) = self
            .properties
            .entry((owner.to_owned(), key.to_owned()))
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
    use evergraph_graph::value::ValueType;

    #[test]
    fn files_that_disagree_about_a_type_are_both_named() {
        let mut declared = Declared::default();
        declared.declare("label Person", "age", CellType::Scalar(ValueType::I32), "a.csv").unwrap();
        declared.declare("label Dog", "age", CellType::Scalar(ValueType::I64), "b.csv").unwrap();
        let error =
            declared.declare("label Person", "age", CellType::Scalar(ValueType::I64), "b.csv").unwrap_err();
        assert_eq!(
            error.to_string(),
            "b.csv: property age of label Person is long here and int in a.csv; give both one type"
        );
    }
}

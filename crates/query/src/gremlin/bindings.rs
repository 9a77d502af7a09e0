//! Bindings: the variables of a query, with values or only declared.
//!
//! A query that is planned once and run often declares its variables: the check then accepts them
//! wherever a value may stand, and they stay in the calls by name.

use std::collections::BTreeMap;

use evergraph_graph::value::Value;

use crate::gremlin::call::ArgumentKind;

/// Variables by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bindings {
    /// `None` for those without a value.
    variables: BTreeMap<Box<str>, Option<ArgumentKind>>,
}

impl Bindings {
    /// No variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the variable `name` a value, in place of what it had before.
    pub fn bind(&mut self, name: impl Into<Box<str>>, value: impl Into<Value>) {
        self.bind_argument(name, ArgumentKind::from(value.into()));
    }

    /// Gives the variable `name` a value that only queries have: null, a token, a map with tokens as keys.
    pub fn bind_argument(&mut self, name: impl Into<Box<str>>, value: ArgumentKind) {
        self.variables.insert(name.into(), Some(value));
    }

    /// Announces the variable `name`, whose value comes when the query runs.
    pub fn declare(&mut self, name: impl Into<Box<str>>) {
        self.variables.insert(name.into(), None);
    }

    /// What is known of the variable `name`: its value, or that it was declared.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Binding<'_>> {
        self.variables.get(name).map(|value| value.as_ref().map_or(Binding::Declared, Binding::Value))
    }

    /// Bytes on the heap that names and values take, about.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let variable_bytes = size_of::<(Box<str>, Option<ArgumentKind>)>();
        let variables = self.variables.iter();
        let inside =
            variables.map(|(name, value)| name.len() + value.as_ref().map_or(0, ArgumentKind::heap_bytes));
        self.variables.len() * variable_bytes + inside.sum::<usize>()
    }

    /// The names of all variables, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(|name| &**name)
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding<'a> {
    /// Its value.
    Value(&'a ArgumentKind),
    /// That it will have one.
    Declared,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_variable_counts() {
        let mut bindings = Bindings::new();
        bindings.declare("b");
        bindings.bind("a", 1_i32);
        bindings.bind("a", "x");
        assert_eq!(bindings.get("a"), Some(Binding::Value(&ArgumentKind::from(Value::from("x")))));
        assert_eq!(bindings.get("b"), Some(Binding::Declared));
        assert_eq!(bindings.get("c"), None);
        assert_eq!(bindings.names().collect::<Vec<_>>(), ["a", "b"]);
    }
}

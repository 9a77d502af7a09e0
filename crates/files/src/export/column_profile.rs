//! Column profile: what a survey learns of one property, as much as headers and schemas need.

use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::{Value, ValueType};

/// Some value types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TypeSet(u32);

/// What the values of one property have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// How many values there are.
    pub count: u64,
    /// Their types.
    pub types: TypeSet,
    /// The types of the elements of lists.
    pub elements: TypeSet,
    /// Whether each text is one that text files hold as it is: not empty, and without the character NUL,
    /// which some readers take for an end.
    pub texts_are_plain: bool,
    /// Whether lists have elements and all of these are scalars that `;` may stand between.
    pub lists_are_plain: bool,
    /// Whether each datetime is one that [`utc_nanoseconds`] holds, those in lists among them.
    pub moments_are_utc: bool,
}

impl Default for Facts {
    /// What is known of no value.
    fn default() -> Self {
        Self {
            count: 0,
            types: TypeSet::default(),
            elements: TypeSet::default(),
            texts_are_plain: true,
            lists_are_plain: true,
            moments_are_utc: true,
        }
    }
}

impl TypeSet {
    /// Adds `value_type`.
    pub fn insert(&mut self, value_type: ValueType) {
        self.0 |= 1 << value_type as u8;
    }

    /// The types, by their codes.
    pub fn iter(self) -> impl Iterator<Item = ValueType> {
        ValueType::all().filter(move |value_type| self.0 & (1 << *value_type as u8) != 0)
    }

    /// The only type, if there is one.
    #[must_use]
    pub fn only(self) -> Option<ValueType> {
        if self.0.is_power_of_two() { self.iter().next() } else { None }
    }
}

impl Facts {
    /// Learns of another value.
    pub fn note(&mut self, value: &Value) {
        self.count += 1;
        self.types.insert(value.value_type());
        match value {
            Value::String(text) => self.texts_are_plain &= is_plain(text),
            Value::Char(letter) => self.texts_are_plain &= *letter != '\0',
            Value::List(list) => {
                let elements = list.as_slice();
                for element in elements {
                    self.elements.insert(element.value_type());
                    self.note_moment(element);
                }
                self.lists_are_plain &= !elements.is_empty() && elements.iter().all(is_plain_element);
            }
            other => self.note_moment(other),
        }
    }

    fn note_moment(&mut self, value: &Value) {
        if let Value::DateTime(moment) = value {
            self.moments_are_utc &= utc_nanoseconds(*moment).is_some();
        }
    }

    /// The type of a property that holds all of the values: their type, or `any`.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        self.types.only().unwrap_or(ValueType::Any)
    }
}

/// The moment as nanoseconds since 1970, if it is stated in UTC and they are within 64 bits.
#[must_use]
pub fn utc_nanoseconds(moment: DateTime) -> Option<i64> {
    if moment.offset_seconds() != 0 {
        return None;
    }
    let nanoseconds = i128::from(moment.seconds()) * 1_000_000_000 + i128::from(moment.nanoseconds());
    i64::try_from(nanoseconds).ok()
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

/// Whether `;` may stand beside it, and no bracket makes the list another one.
fn is_plain_element(value: &Value) -> bool {
    match value {
        Value::List(_) | Value::Set(_) | Value::Map(_) => false,
        Value::String(text) => is_plain(text) && !text.contains([';', '[']),
        Value::Char(letter) => !matches!(letter, '\0' | ';' | '['),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::collection::List;

    fn facts(values: Vec<Value>) -> Facts {
        let mut facts = Facts::default();
        values.iter().for_each(|value| facts.note(value));
        facts
    }

    fn list(values: Vec<Value>) -> Value {
        Value::List(List::new(values).unwrap())
    }

    #[test]
    fn values_of_two_types_have_none_in_common() {
        assert_eq!(facts(vec![1_i64.into(), 2_i64.into()]).value_type(), ValueType::I64);
        let mixed = facts(vec![1_i64.into(), "a".into()]);
        assert_eq!(mixed.value_type(), ValueType::Any);
        assert_eq!(mixed.types.iter().collect::<Vec<_>>(), [ValueType::I64, ValueType::String]);
        assert_eq!(Facts::default().types.only(), None);
    }

    #[test]
    fn texts_and_lists_that_text_files_would_change_are_noticed() {
        assert!(facts(vec!["a,\n\"b".into()]).texts_are_plain);
        assert!(!facts(vec!["".into()]).texts_are_plain);
        assert!(!facts(vec!["a\0".into()]).texts_are_plain);
        assert!(facts(vec![list(vec!["a".into(), "b]".into()])]).lists_are_plain);
        for elements in [vec![], vec!["".into()], vec!["a;b".into()], vec!["[a]".into()], vec![list(vec![])]]
        {
            assert!(!facts(vec![list(elements)]).lists_are_plain);
        }
    }
}

//! Condition: a `where` that is bound to a table's columns, and what it says of a row.
//!
//! Truth has three values, as in SQL: what compares with null is neither true nor false. `and` is false if one side is,
//! whatever the other; `or` is true if one side is.

use crate::mapping::filter::operand::{Form, OperandType, Scalar, UnreadableCell};
use crate::mapping::property::binary_form;
use crate::pgoutput::tuple::Cell;
use crate::value::column_type::ColumnType;
use evergraph_graph::filter::Comparison;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A condition on the columns of a table.
#[derive(Clone, Debug)]
pub struct Condition {
    pub(super) root: Node,
}

/// A part of a condition.
#[derive(Clone, Debug)]
pub(super) enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare {
        left: Term,
        comparison: Comparison,
        right: Term,
        form: Form,
    },
    In {
        operand: Term,
        list: Vec<Scalar<'static>>,
        form: Form,
    },
    IsNull(Term),
    /// A column of booleans.
    Column(Term),
    Constant(bool),
}

/// A column or a literal.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Column { index: usize, operand_type: OperandType },
    Literal(Scalar<'static>),
}

/// Why a condition can't be told of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum UndecidedRow {
    /// The update left this column alone, and PostgreSQL did not send its value (TOAST).
    Unchanged {
        /// The column's index.
        column: usize,
    },
    /// The value of this column has no counterpart here.
    Unreadable {
        /// The column's index.
        column: usize,
        /// Why.
        cause: UnreadableCell,
    },
}

/// A truth value of SQL; `None` is unknown.
type Truth = Result<Option<bool>, UndecidedRow>;

impl Condition {
    /// Whether the rule is for a row with these `cells`, which are in the order of the table's columns.
    ///
    /// Cost: one visit to each part of the condition, until one decides; texts are read as their types say.
    ///
    /// # Errors
    /// [`UndecidedRow`] if it depends on a value that isn't there or can't be read.
    ///
    /// # Panics
    /// If there are fewer cells than the condition's table has columns.
    pub fn selects(&self, cells: &[Cell<'_>]) -> Result<bool, UndecidedRow> {
        // Unknown is not true.
        Ok(self.root.truth(cells)? == Some(true))
    }

    /// The indexes of the columns that it depends on.
    #[must_use]
    pub fn columns(&self) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        self.root.clone().visit_columns(&mut |column| {
            columns.insert(*column);
        });
        columns
    }

    /// Shows `visit` the index of every column, which it may change.
    pub fn visit_columns(&mut self, visit: &mut impl FnMut(&mut usize)) {
        self.root.visit_columns(visit);
    }
}

impl Node {
    fn truth(&self, cells: &[Cell<'_>]) -> Truth {
        match self {
            Self::And(parts) => decide(parts, cells, false),
            Self::Or(parts) => decide(parts, cells, true),
            Self::Not(inner) => Ok(inner.truth(cells)?.map(|truth| !truth)),
            Self::Compare { left, comparison, right, form } => {
                let (left, right) = (left.value(cells, *form)?, right.value(cells, *form)?);
                let order = left.zip(right).map(|(left, right)| left.compare(&right));
                Ok(order.map(|order| holds(*comparison, order)))
            }
            Self::In { operand, list, form } => {
                let Some(value) = operand.value(cells, *form)? else { return Ok(None) };
                Ok(Some(list.iter().any(|element| value.compare(element).is_eq())))
            }
            Self::IsNull(Term::Literal(_)) => Ok(Some(false)),
            // A value that was not sent, since it is stored outside the row, is not null.
            Self::IsNull(Term::Column { index, .. }) => Ok(Some(matches!(cells[*index], Cell::Null))),
            Self::Column(column) => Ok(column.value(cells, Form::Bool)?.map(|value| match &*value {
                Scalar::Bool(truth) => *truth,
                other => unreachable!("binding gives conditions a boolean: {other:?}"),
            })),
            Self::Constant(truth) => Ok(Some(*truth)),
        }
    }

    fn visit_columns(&mut self, visit: &mut impl FnMut(&mut usize)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter_mut().for_each(|part| part.visit_columns(visit)),
            Self::Not(inner) => inner.visit_columns(visit),
            Self::Compare { left, right, .. } => {
                left.visit_column(visit);
                right.visit_column(visit);
            }
            Self::In { operand: term, .. } | Self::IsNull(term) | Self::Column(term) => {
                term.visit_column(visit)
            }
            Self::Constant(_) => {}
        }
    }
}

/// The truth of `parts` together, of which one that is `decisive` decides, even if another can't be told.
fn decide(parts: &[Node], cells: &[Cell<'_>], decisive: bool) -> Truth {
    let mut together = Ok(Some(!decisive));
    for part in parts {
        match part.truth(cells) {
            Ok(Some(truth)) if truth == decisive => return Ok(Some(decisive)),
            Ok(Some(_)) => {}
            Ok(None) => together = together.map(|_| None),
            Err(undecided) => together = together.and(Err(undecided)),
        }
    }
    together
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

impl Term {
    fn visit_column(&mut self, visit: &mut impl FnMut(&mut usize)) {
        if let Self::Column { index, .. } = self {
            visit(index);
        }
    }

    /// The value; `None` for null.
    fn value<'a>(
        &'a self,
        cells: &[Cell<'a>],
        form: Form,
    ) -> Result<Option<Cow<'a, Scalar<'a>>>, UndecidedRow> {
        let (index, operand_type) = match self {
            Self::Literal(literal) => return Ok(Some(Cow::Borrowed(literal))),
            Self::Column { index, operand_type } => (*index, operand_type),
        };
        match cells[index] {
            Cell::Null => Ok(None),
            Cell::Unchanged => Err(UndecidedRow::Unchanged { column: index }),
            Cell::Binary(_) => {
                let cause = UnreadableCell::Unfit(binary_form(&ColumnType::Text));
                Err(UndecidedRow::Unreadable { column: index, cause })
            }
            Cell::Text(text) => match operand_type.read_cell(text, form) {
                Ok(value) => Ok(Some(Cow::Owned(value))),
                Err(cause) => Err(UndecidedRow::Unreadable { column: index, cause }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::filter::bind::bind;
    use proptest::prelude::*;

    const COLUMNS: [(&str, OperandType); 16] = [
        ("a", OperandType::I32),
        ("b", OperandType::I64),
        ("n", OperandType::Numeric),
        ("r", OperandType::F32),
        ("f", OperandType::F64),
        ("t", OperandType::Text),
        ("p", OperandType::PaddedText),
        ("flag", OperandType::Bool),
        ("d", OperandType::Date),
        ("at", OperandType::TimestampTz),
        ("local", OperandType::Timestamp),
        ("span", OperandType::Interval),
        ("clock", OperandType::Time),
        ("u", OperandType::Uuid),
        ("x", OperandType::Bytes),
        ("s", OperandType::I16),
    ];

    /// The columns above, an enum and a type that isn't compared.
    fn columns() -> Vec<(&'static str, OperandType)> {
        let labels = ["small", "large"].map(Box::from);
        let mut columns = COLUMNS.to_vec();
        columns.push(("size", OperandType::Enum("size".into(), labels.into())));
        columns.push(("Json", OperandType::Other("jsonb".into())));
        columns
    }

    /// The truth of `text` for a row where only these columns are not null.
    fn truth(text: &str, values: &[(&str, &str)]) -> Option<bool> {
        let columns = columns();
        let condition =
            bind(text, &columns).unwrap_or_else(|error| panic!("{text}: {}", error.describe(text)));
        let mut cells = vec![Cell::Null; columns.len()];
        for (name, value) in values {
            let index = columns.iter().position(|(column, _)| column == name).unwrap();
            cells[index] = Cell::Text(value.as_bytes());
        }
        condition.root.truth(&cells).unwrap()
    }

    #[test]
    fn values_are_compared_as_postgresql_compares_their_types() {
        for (text, values, expected) in [
            ("a = 1", &[("a", "1")][..], Some(true)),
            ("a = 1.0", &[("a", "1")], Some(true)),
            ("1.5 > a", &[("a", "1")], Some(true)),
            ("a = '1'", &[("a", "1")], Some(true)),
            ("b > 9223372036854775807", &[("b", "9223372036854775807")], Some(false)),
            ("b < 9223372036854775808", &[("b", "9223372036854775807")], Some(true)),
            ("a = n", &[("a", "1"), ("n", "1.00")], Some(true)),
            ("n > 1e3", &[("n", "1000.001")], Some(true)),
            ("n = 'NaN' and n > 1 and n > 'Infinity'", &[("n", "NaN")], Some(true)),
            ("n < -1e100", &[("n", "-Infinity")], Some(true)),
            // A number without quotes is double precision, and 0.1 of a real isn't.
            ("r = 0.1", &[("r", "0.1")], Some(false)),
            ("r = '0.1'", &[("r", "0.1")], Some(true)),
            ("f = 0.1", &[("f", "0.1")], Some(true)),
            ("f = b", &[("f", "9007199254740992"), ("b", "9007199254740993")], Some(true)),
            ("f > 1", &[("f", "NaN")], Some(true)),
            ("t = 'a '", &[("t", "a")], Some(false)),
            ("p = 'a  '", &[("p", "a   ")], Some(true)),
            ("p = t", &[("p", "a   "), ("t", "a")], Some(true)),
            ("t in ('b', 'a')", &[("t", "a")], Some(true)),
            ("t not in ('b', 'a')", &[("t", "c")], Some(true)),
            ("flag and not flag = 'no'", &[("flag", "t")], Some(true)),
            ("flag = true and flag > false", &[("flag", "t")], Some(true)),
            ("d >= '2024-02-29' and d < '2024-3-1'", &[("d", "2024-02-29")], Some(true)),
            ("d = '-infinity' and d < '0044-03-15'", &[("d", "-infinity")], Some(true)),
            ("d < at", &[("d", "2024-02-29"), ("at", "2024-02-29 00:00:00.000001+00")], Some(true)),
            ("at = '2024-02-29 13:00:00+01'", &[("at", "2024-02-29 12:00:00+00")], Some(true)),
            ("at < 'infinity'", &[("at", "infinity")], Some(false)),
            ("local = '2024-02-29'", &[("local", "2024-02-29 00:00:00")], Some(true)),
            ("span = '30 days' and span < 'P1M1D'", &[("span", "P1M")], Some(true)),
            ("span = 'P1D'", &[("span", "PT24H")], Some(true)),
            ("clock < '9:30'", &[("clock", "09:29:59.5")], Some(true)),
            ("clock = '24:00:00'", &[("clock", "24:00:00")], Some(true)),
            (
                "u = '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'",
                &[("u", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")],
                Some(true),
            ),
            ("x > '\\x00'", &[("x", "\\x0001")], Some(true)),
            ("size > 'small'", &[("size", "large")], Some(true)),
            ("size in ('small', 'large')", &[("size", "small")], Some(true)),
            ("\"Json\" is not null", &[("Json", "{}")], Some(true)),
            ("s <> -1", &[("s", "-1")], Some(false)),
            ("true", &[], Some(true)),
        ] {
            assert_eq!(truth(text, values), expected, "{text}, {values:?}");
        }
    }

    #[test]
    fn null_is_neither_true_nor_false() {
        for (text, expected) in [
            ("a = 1", None),
            ("not a = 1", None),
            ("a in (1)", None),
            ("a not in (1)", None),
            ("a = b", None),
            ("flag", None),
            ("a is null", Some(true)),
            ("a is not null", Some(false)),
            ("a = 1 and true", None),
            ("a = 1 and false", Some(false)),
            ("a = 1 or true", Some(true)),
            ("a = 1 or false", None),
            ("not (a = 1 and b = 2)", None),
        ] {
            assert_eq!(truth(text, &[]), expected, "{text}");
        }
    }

    #[test]
    fn types_that_are_not_compared_are_refused_with_their_place() {
        let columns = columns();
        for (text, expected) in [
            ("flg = 1", "character 1, \"flg\": is no column of the table; did you mean flag?"),
            (
                "json is null",
                "character 1, \"json\": is no column of the table; names without quotes are in lower case: write \"Json\"",
            ),
            ("a = 'x'", "character 5, \"'x'\": "),
            ("a = true", "character 5, \"true\": is a boolean, and the column is integer"),
            ("t = 5", "character 5, \"5\": is a number, and the column is text: write it in quotes, '5'"),
            ("d = 5", "character 5, \"5\": is a number, and the column is date"),
            ("d = '5'", "character 5, \"'5'\": is no date as in '2024-02-29'"),
            ("d = 'today'", "character 5, \"'today'\": changes as time goes by"),
            (
                "local = '2024-02-29 12:00+01'",
                "character 9, \"'2024-02-29 12:00+01'\": has an offset from UTC",
            ),
            ("clock = '25:00'", "character 9, \"'25:00'\": is no time"),
            ("t < 'a'", "character 1, \"t < 'a'\": texts are ordered by a collation"),
            ("p >= t", "character 1, \"p >= t\": texts are ordered by a collation"),
            ("a = t", "character 1, \"a = t\": compares integer with text"),
            ("\"Json\" = '{}'", "character 10, \"'{}'\": is compared with a column: values of type jsonb"),
            ("\"Json\" = \"Json\"", "character 1, \"\\\"Json\\\" = \\\"Json\\\"\": values of type jsonb"),
            (
                "size = 'smal'",
                "character 8, \"'smal'\": is no label of the enum size, which has 'small', 'large'; did you mean",
            ),
            (
                "a",
                "character 1, \"a\": is integer, and a column by itself is a condition only if it is boolean",
            ),
            ("1 = 1", "character 1, \"1 = 1\": compares two literals"),
            ("a in (1, '2')", "character 10, \"'2'\": is in quotes and others of this list are not"),
            ("1 in (1)", "character 1, \"1\": is a literal"),
            ("1 is null", "character 1, \"1\": is a literal, which is never null"),
            ("flag = 'maybe'", "character 8, \"'maybe'\": is neither true nor false"),
            ("a = .", "character 5, \".\": is no number"),
        ] {
            let error = bind(text, &columns).expect_err(text).describe(text);
            assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
        }
    }

    #[test]
    fn a_value_that_was_not_sent_matters_only_if_it_decides() {
        let columns = [("a", OperandType::I32), ("t", OperandType::Text)];
        let selects = |text: &str, cells: &[Cell<'_>]| bind(text, &columns).unwrap().selects(cells);
        let unchanged = Err(UndecidedRow::Unchanged { column: 1 });
        assert_eq!(selects("a = 1 and t = 'x'", &[Cell::Text(b"2"), Cell::Unchanged]), Ok(false));
        assert_eq!(selects("a = 1 and t = 'x'", &[Cell::Text(b"1"), Cell::Unchanged]), unchanged);
        assert_eq!(selects("t = 'x' or a = 1", &[Cell::Text(b"1"), Cell::Unchanged]), Ok(true));
        assert_eq!(selects("t is not null", &[Cell::Null, Cell::Unchanged]), Ok(true));
        let size = OperandType::Enum("size".into(), [Box::from("small")].into());
        let new = bind("size = 'small'", &[("size", size)]).unwrap().selects(&[Cell::Text(b"huge")]);
        let cause = UnreadableCell::NewLabel("huge".to_owned());
        assert_eq!(new, Err(UndecidedRow::Unreadable { column: 0, cause }));
    }

    /// A condition as the test has it: columns are numbers of integers that may be null.
    #[derive(Clone, Debug)]
    enum Naive {
        Compare(usize, &'static str, i64),
        Columns(usize, &'static str, usize),
        In(usize, Vec<i64>, bool),
        IsNull(usize, bool),
        Constant(bool),
        Not(Box<Naive>),
        And(Box<Naive>, Box<Naive>),
        Or(Box<Naive>, Box<Naive>),
    }

    const NAMES: [&str; 3] = ["a", "b", "s"];

    impl Naive {
        /// The condition in SQL, with brackets where SQL's own order would be another; `level` is what is around it.
        fn sql(&self, level: u8) -> String {
            let (own, text) = match self {
                Self::Compare(column, sign, number) => (3, format!("{} {sign} {number}", NAMES[*column])),
                Self::Columns(one, sign, other) => (3, format!("{} {sign} {}", NAMES[*one], NAMES[*other])),
                Self::In(column, numbers, negated) => {
                    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                    let not = if *negated { "NOT " } else { "" };
                    (3, format!("{} {not}IN ({})", NAMES[*column], numbers.join(", ")))
                }
                Self::IsNull(column, negated) => {
                    (3, format!("{} IS {}NULL", NAMES[*column], if *negated { "NOT " } else { "" }))
                }
                Self::Constant(truth) => (3, truth.to_string()),
                Self::Not(inner) => (2, format!("NOT {}", inner.sql(2))),
                Self::And(left, right) => (1, format!("{} AND {}", left.sql(1), right.sql(1))),
                Self::Or(left, right) => (0, format!("{} OR {}", left.sql(0), right.sql(0))),
            };
            if own < level { format!("({text})") } else { text }
        }

        /// SQL's truth, by its tables: -1 is unknown.
        fn truth(&self, row: &[Option<i64>; 3]) -> i8 {
            let compare = |left: Option<i64>, sign: &str, right: Option<i64>| {
                let (Some(left), Some(right)) = (left, right) else { return -1 };
                i8::from(match sign {
                    "=" => left == right,
                    "<>" => left != right,
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    _ => left >= right,
                })
            };
            match self {
                Self::Compare(column, sign, number) => compare(row[*column], sign, Some(*number)),
                Self::Columns(one, sign, other) => compare(row[*one], sign, row[*other]),
                Self::In(column, numbers, negated) => match row[*column] {
                    None => -1,
                    Some(value) => i8::from(numbers.contains(&value) != *negated),
                },
                Self::IsNull(column, negated) => i8::from(row[*column].is_none() != *negated),
                Self::Constant(truth) => i8::from(*truth),
                Self::Not(inner) => match inner.truth(row) {
                    -1 => -1,
                    truth => 1 - truth,
                },
                // unknown and false is false: the least of false, unknown and true.
                Self::And(left, right) => match (left.truth(row), right.truth(row)) {
                    (0, _) | (_, 0) => 0,
                    (1, 1) => 1,
                    _ => -1,
                },
                Self::Or(left, right) => match (left.truth(row), right.truth(row)) {
                    (1, _) | (_, 1) => 1,
                    (0, 0) => 0,
                    _ => -1,
                },
            }
        }
    }

    fn a_condition() -> impl Strategy<Value = Naive> {
        let sign = || prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
        let leaf = prop_oneof![
            (0..3usize, sign(), -2..3i64)
                .prop_map(|(column, sign, number)| Naive::Compare(column, sign, number)),
            (0..3usize, sign(), 0..3usize).prop_map(|(one, sign, other)| Naive::Columns(one, sign, other)),
            (0..3usize, prop::collection::vec(-2..3i64, 1..4), any::<bool>())
                .prop_map(|(column, numbers, negated)| Naive::In(column, numbers, negated)),
            (0..3usize, any::<bool>()).prop_map(|(column, negated)| Naive::IsNull(column, negated)),
            any::<bool>().prop_map(Naive::Constant),
        ];
        leaf.prop_recursive(6, 40, 2, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                inner.prop_map(|inner| Naive::Not(Box::new(inner))),
                pair.clone().prop_map(|(left, right)| Naive::And(Box::new(left), Box::new(right))),
                pair.prop_map(|(left, right)| Naive::Or(Box::new(left), Box::new(right))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_condition_is_as_true_as_the_tables_of_three_valued_logic_say(
            condition in a_condition(),
            row in [prop::option::of(-2..3i64), prop::option::of(-2..3i64), prop::option::of(-2..3i64)],
        ) {
            let text = condition.sql(0);
            let values = row.map(|value| value.map(|value| value.to_string()));
            let values: Vec<(&str, &str)> =
                NAMES.into_iter().zip(&values).filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
            let expected = match condition.truth(&row) {
                -1 => None,
                truth => Some(truth == 1),
            };
            prop_assert_eq!(truth(&text, &values), expected, "{}", text);
        }
    }
}

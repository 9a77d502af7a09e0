//! Bind: from an expression and a table's columns to a condition, by PostgreSQL's rules for types.

use crate::mapping::filter::condition::{Condition, Node, Term};
use crate::mapping::filter::expression::{ConditionError, Expression, Operand, OperandKind};
use crate::mapping::filter::operand::{Form, OperandType, Scalar};
use crate::mapping::filter::parse::parse;
use crate::mapping::sql_name::sql_identifier;
use evergraph_graph::filter::Comparison;
use evergraph_graph::nearest::nearest;
use std::ops::Range;

/// Reads the condition `text` on a table with these `columns`, names and types in their order.
///
/// # Errors
/// The first place that is wrong: a form that isn't known, a column that isn't there, types that aren't compared.
pub fn bind(text: &str, columns: &[(&str, OperandType)]) -> Result<Condition, ConditionError> {
    let expression = parse(text)?;
    Ok(Condition { root: Binder { columns }.node(&expression)? })
}

struct Binder<'a> {
    columns: &'a [(&'a str, OperandType)],
}

/// An operand whose column is looked up.
enum Side<'a> {
    Column { index: usize, operand_type: &'a OperandType },
    Literal(&'a OperandKind),
}

impl<'a> Binder<'a> {
    fn node(&self, expression: &'a Expression) -> Result<Node, ConditionError> {
        let all = |parts: &'a [Expression]| {
            parts.iter().map(|part| self.node(part)).collect::<Result<Vec<Node>, _>>()
        };
        Ok(match expression {
            Expression::And(parts) => Node::And(all(parts)?),
            Expression::Or(parts) => Node::Or(all(parts)?),
            Expression::Not(inner) => Node::Not(Box::new(self.node(inner)?)),
            Expression::Compare { left, comparison, right } => self.compare(left, *comparison, right)?,
            Expression::In { operand, list, is_negated } => {
                let node = self.list(operand, list)?;
                if *is_negated { Node::Not(Box::new(node)) } else { node }
            }
            Expression::IsNull { operand, is_negated } => {
                let node = match self.side(operand)? {
                    Side::Column { index, operand_type } => Node::IsNull(column(index, operand_type)),
                    Side::Literal(_) => return Err(error(&operand.at, "is a literal, which is never null")),
                };
                if *is_negated { Node::Not(Box::new(node)) } else { node }
            }
            Expression::Truth(operand) => match self.side(operand)? {
                Side::Literal(OperandKind::Bool(truth)) => Node::Constant(*truth),
                Side::Column { index, operand_type: operand_type @ OperandType::Bool } => {
                    Node::Column(column(index, operand_type))
                }
                Side::Column { operand_type, .. } => {
                    let why = format!(
                        "is {operand_type}, and a column by itself is a condition only if it is boolean"
                    );
                    return Err(error(&operand.at, why));
                }
                Side::Literal(_) => return Err(error(&operand.at, "is no condition")),
            },
        })
    }

    fn compare(
        &self,
        left: &'a Operand,
        comparison: Comparison,
        right: &'a Operand,
    ) -> Result<Node, ConditionError> {
        let both = left.at.start..right.at.end;
        let (left_term, right_term, form, ordered) = match (self.side(left)?, self.side(right)?) {
            (Side::Literal(_), Side::Literal(_)) => {
                return Err(error(&both, "compares two literals, which has the same result for each row"));
            }
            (Side::Column { index, operand_type }, Side::Literal(literal)) => {
                let (form, literal) = read_literal(operand_type, literal, &right.at)?;
                (column(index, operand_type), Term::Literal(literal), form, operand_type)
            }
            (Side::Literal(literal), Side::Column { index, operand_type }) => {
                let (form, literal) = read_literal(operand_type, literal, &left.at)?;
                (Term::Literal(literal), column(index, operand_type), form, operand_type)
            }
            (
                Side::Column { index, operand_type },
                Side::Column { index: other_index, operand_type: other_type },
            ) => {
                let Some(form) = operand_type.common_form(other_type) else {
                    let why = match operand_type {
                        OperandType::Other(_) => unknown_rules(operand_type),
                        _ => format!(
                            "compares {operand_type} with {other_type}, which PostgreSQL does not, or by rules unknown here"
                        ),
                    };
                    return Err(error(&both, why));
                };
                (column(index, operand_type), column(other_index, other_type), form, operand_type)
            }
        };
        let needs_order = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if needs_order && !ordered.has_order() {
            let why = "texts are ordered by a collation of the source, whose rules are unknown here: compare them by =, <> \
                       or in";
            return Err(error(&both, why));
        }
        Ok(Node::Compare { left: left_term, comparison, right: right_term, form })
    }

    fn list(&self, operand: &'a Operand, list: &'a [Operand]) -> Result<Node, ConditionError> {
        let Side::Column { index, operand_type } = self.side(operand)? else {
            return Err(error(&operand.at, "is a literal: a column stands before `in`"));
        };
        // PostgreSQL finds one type for the whole list, so that a number gives its type to the texts beside it.
        let is_text = |element: &&Operand| matches!(element.kind, OperandKind::Text(_));
        if let (Some(text), true) = (list.iter().find(is_text), list.iter().any(|element| !is_text(&element)))
        {
            return Err(error(
                &text.at,
                "is in quotes and others of this list are not: write all of them in one way",
            ));
        }
        let mut form = None;
        let mut scalars = Vec::with_capacity(list.len());
        for element in list {
            let (its_form, scalar) = read_literal(operand_type, &element.kind, &element.at)?;
            form = Some(its_form);
            scalars.push(scalar);
        }
        let form = form.ok_or_else(|| error(&operand.at, "is compared with an empty list"))?;
        Ok(Node::In { operand: column(index, operand_type), list: scalars, form })
    }

    fn side(&self, operand: &'a Operand) -> Result<Side<'a>, ConditionError> {
        let OperandKind::Column { name, is_quoted } = &operand.kind else {
            return Ok(Side::Literal(&operand.kind));
        };
        if let Some(index) = self.columns.iter().position(|(column, _)| column == name) {
            return Ok(Side::Column { index, operand_type: &self.columns[index].1 });
        }
        let names = || self.columns.iter().map(|(column, _)| *column);
        let other_case = names().find(|column| column.eq_ignore_ascii_case(name));
        let hint = match (other_case, nearest(name, names())) {
            (Some(column), _) if !*is_quoted => {
                format!("; names without quotes are in lower case: write \"{column}\"")
            }
            (Some(column), _) | (None, Some(column)) => format!("; did you mean {}?", sql_identifier(column)),
            (None, None) => {
                format!("; there are {}", names().map(sql_identifier).collect::<Vec<_>>().join(", "))
            }
        };
        Err(error(&operand.at, format!("is no column of the table{hint}")))
    }
}

fn column(index: usize, operand_type: &OperandType) -> Term {
    Term::Column { index, operand_type: operand_type.clone() }
}

fn read_literal(
    operand_type: &OperandType,
    literal: &OperandKind,
    at: &Range<usize>,
) -> Result<(Form, Scalar<'static>), ConditionError> {
    let Some(form) = operand_type.common_form(operand_type) else {
        return Err(error(at, format!("is compared with a column: {}", unknown_rules(operand_type))));
    };
    match literal {
        OperandKind::Text(text) => {
            let scalar = operand_type.read_literal(text, form).map_err(|why| error(at, why))?;
            Ok((form, scalar))
        }
        OperandKind::Number(number) => operand_type.read_number(number).map_err(|why| error(at, why)),
        OperandKind::Bool(truth) if *operand_type == OperandType::Bool => Ok((form, Scalar::Bool(*truth))),
        OperandKind::Bool(_) => Err(error(at, format!("is a boolean, and the column is {operand_type}"))),
        OperandKind::Column { .. } => unreachable!("a column is no literal"),
    }
}

fn unknown_rules(operand_type: &OperandType) -> String {
    format!(
        "values of type {operand_type} are compared by rules unknown here: `is null` and `is not null` are known"
    )
}

fn error(at: &Range<usize>, why: impl Into<String>) -> ConditionError {
    ConditionError { at: at.clone(), why: why.into() }
}

//! Verifications: plans that are refused, each with TinkerPop's message.

use crate::plan::function::Function;
use crate::plan::operator::{By, Expand, Name, Operator, Plan, Scan, Test, Traversal};
use crate::value::item::{Item, Token};

/// Refuses a plan that writes.
pub(super) fn read_only(plan: &Plan) -> Result<(), String> {
    if plan.writes {
        return Err("The provided traversal has a mutating step and thus is not read only".to_owned());
    }
    Ok(())
}

/// Refuses a walk over edges of all types.
pub(super) fn edge_labels(plan: &Plan) -> Result<(), String> {
    refuse(plan, |operator| {
        let Operator::Expand(Expand { types: None, .. }) = operator else { return None };
        Some(
            "The provided traversal contains a vertex step without any specified edge label: name the labels of the \
             edges that it is to follow, as in out('knows')"
                .to_owned(),
        )
    })
}

/// Refuses properties whose key is one of `keys`.
pub(super) fn reserved_keys(plan: &Plan, keys: &[Name]) -> Result<(), String> {
    refuse(plan, |operator| {
        let (step, properties) = match operator {
            Operator::AddVertex { properties, .. } => ("addV()", properties),
            Operator::AddEdge { properties, .. } => ("addE()", properties),
            Operator::SetProperties(properties) => ("property()", properties),
            _ => return None,
        };
        let named = properties.iter().filter_map(|property| match &property.key {
            By::Item(item) => item.as_str(),
            _ => None,
        });
        let reserved = named.into_iter().find(|name| keys.iter().any(|key| **key == **name))?;
        Some(format!(
            "The provided traversal contains a {step} that is setting a property key to a reserved word: {reserved}"
        ))
    })
}

/// Refuses a plan that names ids.
pub(super) fn no_ids(plan: &Plan) -> Result<(), String> {
    let names_id = |test: &Test| matches!(test, Test::Id(_));
    refuse(plan, |operator| {
        let mut asks = match operator {
            Operator::Vertices(Scan { ids: Some(ids), .. })
            | Operator::Edges(Scan { ids: Some(ids), .. }) => {
                ids.iter().any(|id| !matches!(id, Item::Vertex(_) | Item::Edge(_)))
            }
            Operator::Filter(tests) => tests.iter().any(names_id),
            Operator::Map(function) => matches!(function, Function::Id),
            _ => false,
        };
        operator.modulators(&mut |by| asks |= *by == By::Token(Token::Id));
        asks.then(|| {
            "ElementIdStrategy: Evergraph assigns ids itself, and no property can be one: use the property by its key"
                .to_owned()
        })
    })
}

/// What `why` says of the first operator in `plan` that it has anything to say of.
fn refuse(plan: &Plan, mut why: impl FnMut(&mut Operator) -> Option<String>) -> Result<(), String> {
    let mut found = None;
    plan.root.clone().visit(&mut |traversal: &mut Traversal| {
        for operator in &mut traversal.operators {
            if found.is_none() {
                found = why(operator);
            }
        }
    });
    found.map_or(Ok(()), Err)
}

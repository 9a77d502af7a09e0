//! Remote: `V().out().out().count()` counts on every node that keeps vertices, and adds the counts.
//!
//! ```text
//! V()   out()   -> owners   at one vertex   out(), counted   sum     | sum
//! └─ reads here ┘ exchange  └──── reads here, at the next owner ─┘   | at the coordinator
//! ```
//!
//! A run of steps that do with a row what they would do with it alone, from `V()` on, goes where the vertices lie. Between two of
//! them rows are exchanged where the later one reads what the node of the row's element keeps, and the row may be elsewhere.
//! What a barrier makes of rows at each node is joined at the coordinator as parts of several threads are; where no barrier
//! follows that has parts, merged rows come back, if nothing behind reads their order.
//!
//! It runs when a query begins, and not with the other rules: only then it is known that the graph lies on several nodes.

use crate::plan::function::Function;
use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Operator, Plan, Test, Traversal};
use crate::rule::parallel::{forgets_order, has_past, joined, keeps_rows};
use crate::travel::program::is_encodable;
use evergraph_graph::id::Direction;

/// The plan with its beginning where the vertices lie; `None` if nothing of it goes there.
///
/// Cost: one pass over the operators of the root.
#[must_use]
pub(crate) fn apply(plan: &Plan) -> Option<Plan> {
    let is_simple = !plan.reads_paths
        && !plan.writes
        && plan.bulks
        && plan.sack.is_none()
        && plan.side_effects.is_empty();
    if !is_simple || stays(plan) {
        return None;
    }
    let operators = whole_runs(&plan.root.operators);
    let (body, behind) = split(&operators)?;
    let mut root = vec![Operator::Travel(Traversal { operators: body })];
    root.extend(behind);
    Some(Plan { root: Traversal { operators: root }, ..plan.clone() })
}

/// Whether the query says that it runs where it was asked: `with('travel', false)`.
fn stays(plan: &Plan) -> bool {
    let said = plan.options.iter().rev().find(|(key, _)| &**key == "travel");
    said.is_some_and(|(_, item)| item.as_bool() == Some(false))
}

/// The operators with parts for threads put back where they were taken out.
fn whole_runs(operators: &[Operator]) -> Vec<Operator> {
    let mut whole = Vec::with_capacity(operators.len());
    let mut rest = operators.iter().peekable();
    while let Some(operator) = rest.next() {
        let Operator::Parallel(part) = operator else {
            whole.push(operator.clone());
            continue;
        };
        whole.extend(part.operators.iter().cloned());
        let join = part.operators.last().and_then(joined);
        rest.next_if(|next| join.as_ref() == Some(*next));
    }
    whole
}

/// What rows are at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ElementKind {
    Vertex,
    Edge,
    Value,
}

/// What rows are at, and whether that is kept where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RowPlace {
    kind: ElementKind,
    is_here: bool,
}

/// What goes where the vertices lie, with its exchanges, and what is left.
fn split(operators: &[Operator]) -> Option<(Vec<Operator>, Vec<Operator>)> {
    let [scan @ Operator::Vertices(_), rest @ ..] = operators else { return None };
    if !is_encodable(scan) {
        return None;
    }
    let (mut body, mut place) = (vec![scan.clone()], RowPlace { kind: ElementKind::Vertex, is_here: true });
    for (at, operator) in rest.iter().enumerate() {
        let behind = &rest[at + 1..];
        if let (Operator::Reduce(_), Some(whole)) = (operator, joined(operator)) {
            body.push(operator.clone());
            return Some((body, [&[whole][..], behind].concat()));
        }
        let Some((reads, next)) = step(operator, place) else {
            return forgets(&rest[at..]).then(|| (body, rest[at..].to_vec())).filter(has_hops);
        };
        if reads && !place.is_here {
            body.push(Operator::Exchange);
        }
        body.push(operator.clone());
        place = next;
        // Of values each node knows its own ones alone.
        if keeps_rows(operator) && place.kind == ElementKind::Value {
            let left = &rest[at..];
            return forgets(behind).then(|| (body, left.to_vec())).filter(has_hops);
        }
    }
    None
}

/// Whether more goes than a scan.
fn has_hops((body, _): &(Vec<Operator>, Vec<Operator>)) -> bool {
    body.iter().any(|operator| matches!(operator, Operator::Expand(_)))
}

/// Whether what comes of `operators` is the same in whatever order rows come.
fn forgets(operators: &[Operator]) -> bool {
    let past = operators.iter().position(has_past).unwrap_or(usize::MAX);
    operators.iter().enumerate().rev().fold(false, |behind, (at, operator)| match operator {
        Operator::Group(group) if group.into.is_none() => group.forgets_order(),
        // The first of those that are the same goes on, with its past.
        once if past < at && *once == Operator::EACH_ONCE => false,
        other => forgets_order(other, behind),
    })
}

/// Whether `operator` reads what the node of the row's element keeps, and where rows are behind it; `None` if it stays with the
/// coordinator.
fn step(operator: &Operator, at: RowPlace) -> Option<(bool, RowPlace)> {
    use ElementKind::{Edge, Value, Vertex};
    if !is_encodable(operator) {
        return None;
    }
    let place = |kind, is_here| RowPlace { kind, is_here };
    Some(match operator {
        Operator::Expand(Expand { direction, to, .. }) if at.kind == Vertex => match to {
            ExpandTo::Neighbors => (true, place(Vertex, false)),
            // Properties of edges lie with their sources.
            ExpandTo::Edges(None) => (true, place(Edge, *direction == Direction::Out)),
            ExpandTo::Edges(Some(_)) => return None,
            ExpandTo::Count => (true, place(Value, true)),
        },
        Operator::EdgeEnds(end) if at.kind == Edge => match end {
            EdgeEnd::Source => (false, place(Vertex, at.is_here)),
            EdgeEnd::Target | EdgeEnd::Both => (false, place(Vertex, false)),
            EdgeEnd::Other(_) => return None,
        },
        Operator::Filter(tests) => {
            let reads = tests.iter().any(|test| reads_element(test, at.kind));
            (reads, if reads { place(at.kind, true) } else { at })
        }
        Operator::Properties { values: true, .. } if at.kind != Value => (true, place(Value, true)),
        Operator::Map(Function::Id | Function::Constant(_)) => (false, place(Value, true)),
        Operator::Map(Function::Label) if at.kind != Value => (at.kind == Vertex, place(Value, true)),
        // One node has all rows of an element then.
        set if keeps_rows(set) => (at.kind != Value, place(at.kind, true)),
        _ => return None,
    })
}

fn reads_element(test: &Test, kind: ElementKind) -> bool {
    match test {
        Test::Has(_) | Test::HasNot(_) | Test::Property(..) => kind != ElementKind::Value,
        Test::Label(_) => kind == ElementKind::Vertex,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::compile;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    /// What goes, and what stays, as text.
    fn split_of(text: &str) -> Option<(String, String)> {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        let plan = apply(&compile(&query).unwrap())?;
        let texts = |operators: &[Operator]| {
            operators.iter().map(|operator| operator.describe(&plan)).collect::<Vec<_>>().join("; ")
        };
        let [Operator::Travel(of), behind @ ..] = plan.root.operators.as_slice() else { panic!("{plan:?}") };
        Some((texts(&of.operators), texts(behind)))
    }

    const TO_OWNERS: &str = "rows go to the nodes of their elements";

    #[test]
    fn rows_are_exchanged_where_the_next_step_reads_elsewhere() {
        let merged = "rows at one vertex become one";
        let split = split_of("g.V().out().out('a').out().count()").unwrap();
        let hops = format!(
            "V(); out(); {TO_OWNERS}; {merged}; out(a); {TO_OWNERS}; {merged}; out(), counted by degrees; \
             sum of the counts"
        );
        assert_eq!(split, (hops, "sum of the counts".to_owned()));
        let (there, here) =
            split_of("g.V().hasLabel('p').outE('a').has('w', 1).inV().has('x').count()").unwrap();
        assert_eq!(there.matches(TO_OWNERS).count(), 1, "{there}");
        assert!(there.ends_with("count()") && here == "sum of the counts", "{there}: {here}");
        // Properties of edges lie with their sources.
        let (there, _) = split_of("g.V().inE('a').has('w', 1).outV().out().count()").unwrap();
        assert_eq!(there.matches(TO_OWNERS).count(), 1, "{there}");
    }

    #[test]
    fn rows_come_back_where_what_follows_forgets_their_order() {
        let (there, here) = split_of("g.V().out().out().groupCount().by('name')").unwrap();
        assert!(there.ends_with("out()") && here.starts_with("group by"), "{there}: {here}");
        let (there, here) = split_of("g.V().out().values('age').dedup().count()").unwrap();
        assert!(there.ends_with("dedup()") && here == "dedup(); count()", "{there}: {here}");
        let (there, here) = split_of("g.V().out().values('age').max()").unwrap();
        assert_eq!((there.matches(TO_OWNERS).count(), here.as_str()), (1, "max()"), "{there}");
    }

    #[test]
    fn a_set_of_rows_with_a_past_is_made_in_the_order_in_which_they_come() {
        let walk = "g.V().out().bothE()";
        for end in ["groupCount().by('name')", "dedup().count()"] {
            assert_eq!(split_of(&format!("{walk}.dedup().otherV().{end}")), None, "{end}");
        }
        // Without a set, or with one before the past, all rows go on.
        for text in [
            "g.V().out().bothE().has('w', 1).otherV().groupCount().by('name')",
            "g.V().out().dedup().bothE().has('w', 1).otherV().groupCount().by('name')",
        ] {
            assert!(split_of(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_needs_more_than_the_element_stays() {
        for text in [
            "g.V().out().out().limit(5)",
            "g.V().out().values('name')",
            "g.V().as('a').out().as('b').select('a', 'b').count()",
            "g.V().out().path().count()",
            "g.V().aggregate('x').out().count()",
            "g.V().out().order().by('name').limit(3)",
            "g.withSack(1).V().out().count()",
            "g.inject(1).V().out().count()",
            "g.with('travel', false).V().out().out().count()",
            "g.addV().out().count()",
            "g.V().out().values('w').sum()",
        ] {
            assert_eq!(split_of(text), None, "{text}");
        }
    }
}

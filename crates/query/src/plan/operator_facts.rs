//! Operator facts: properties of each operator of a plan and of everything inside it, found in one walk.
//!
//! Whoever makes steps asks at each traversal what those within it do. To walk into them each time would take a time that grows
//! with the product of depth and size.

use crate::plan::io::Io;
use crate::plan::operator::{Group, GroupValue, Operator, Reducer, Test, Traversal};
use crate::plan::predicate::Predicate;
use crate::stack::deeper;
use hashbrown::HashMap;

/// When a traversal gives what becomes of a row, and what that depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OutputTiming {
    /// At once; it depends on that row alone.
    Alone,
    /// Once all rows of its run have come; it depends on that row alone.
    AloneAtEnd,
    /// At once; it depends on the rows before, as what passes a `limit()` does.
    Remembers,
    /// Once all rows have come: it has a barrier.
    Waits,
}

impl OutputTiming {
    /// The pace of all of these together.
    pub fn of_all(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::Alone, |one, other| match (one.min(other), one.max(other)) {
            // What depends on rows that come at the end comes at the end.
            (Self::AloneAtEnd, Self::Remembers) => Self::Waits,
            (_, slower) => slower,
        })
    }
}

/// What becomes of the order of the rows that come to an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderEffect {
    /// What comes depends on it.
    Read,
    /// What comes is the same, and comes in the same order, in whatever order rows come.
    Forgotten,
    /// What comes is the same, in the order of the rows.
    Kept,
}

/// What is true of an operator or a traversal with all that is within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// When it gives what becomes of a row.
    pub pace: OutputTiming,
    /// What becomes of the order of rows.
    pub fate: OrderEffect,
    /// Whether it gathers in a side effect.
    pub gathers: bool,
    /// Whether it writes to the graph.
    pub writes: bool,
    /// Whether it finds or adds elements by a merge.
    pub merges: bool,
    /// Whether it deletes elements.
    pub drops: bool,
}

/// The facts of a plan, by where its operators are in memory.
pub struct Facts(HashMap<usize, Fact>);

impl Facts {
    /// Of all operators in `traversal`, however deep, as long as it stays where it is.
    ///
    /// Cost: one visit to each.
    #[must_use]
    pub fn of(traversal: &Traversal) -> Self {
        let mut facts = HashMap::new();
        walk(traversal, &mut |operator, fact| {
            facts.insert(operator.place(), fact);
        });
        Self(facts)
    }

    /// Of one of these operators.
    #[must_use]
    pub fn at(&self, operator: &Operator) -> Fact {
        *self.0.get(&operator.place()).expect("it is an operator of the plan that was walked over")
    }

    /// Of one of the traversals that they are in.
    #[must_use]
    pub fn together(&self, traversal: &Traversal) -> Fact {
        traversal.operators.iter().fold(Fact::NOTHING, |all, operator| all.then(self.at(operator)))
    }

    /// Whether one of `operators` merges, and another one writes: a row's merge may find what the other wrote for a row before.
    #[must_use]
    pub fn merges_between_writes(&self, operators: &[Operator]) -> bool {
        let facts = || operators.iter().map(|operator| self.at(operator));
        facts().any(|fact| fact.merges) && facts().filter(|fact| fact.writes).count() > 1
    }

    /// Whether one of `operators` writes, and one behind it needs no more once enough has come.
    #[must_use]
    pub fn stops_behind_a_write(&self, operators: &[Operator]) -> bool {
        let stops = |operator: &Operator| {
            matches!(operator, Operator::Range { limit, .. } if *limit < u64::MAX)
                || matches!(operator, Operator::TimeLimit(_))
        };
        operators.iter().skip_while(|operator| !self.at(operator).writes).any(stops)
    }
}

/// Whether a condition of `operator` itself asks for what is gathered aside.
fn asks_aside(operator: &Operator) -> bool {
    match operator {
        Operator::Filter(tests) => {
            tests.iter().filter_map(Test::predicate).any(Predicate::reads_side_effects)
        }
        Operator::WhereBy { predicate, .. } => predicate.reads_side_effects(),
        _ => false,
    }
}

/// Whether a condition in `traversal`, however deep, asks for what is gathered aside.
#[must_use]
pub fn asks_aside_anywhere(traversal: &Traversal) -> bool {
    let asks = |operator: &Operator| {
        asks_aside(operator) || operator.parts().iter().any(|(_, of)| deeper(|| asks_aside_anywhere(of)))
    };
    traversal.operators.iter().any(asks)
}

/// What is true of `traversal`; each operator in it is shown to `keep` with what is true of it.
fn walk(traversal: &Traversal, keep: &mut dyn FnMut(&Operator, Fact)) -> Fact {
    let mut of = |operator: &Operator| {
        let parts: Vec<(&str, Fact)> =
            operator.parts().into_iter().map(|(role, of)| (role, walk(of, keep))).collect();
        let fact = Fact::of(operator, &parts);
        keep(operator, fact);
        fact
    };
    deeper(|| traversal.operators.iter().fold(Fact::NOTHING, |all, operator| all.then(of(operator))))
}

impl Traversal {
    /// What is true of it, for who asks once.
    ///
    /// Cost: one visit to each operator.
    #[must_use]
    pub fn fact(&self) -> Fact {
        walk(self, &mut |_, _| {})
    }
}

impl Fact {
    /// Of no operator at all.
    const NOTHING: Self = Self {
        pace: OutputTiming::Alone,
        fate: OrderEffect::Kept,
        gathers: false,
        writes: false,
        merges: false,
        drops: false,
    };

    /// Of this and what follows it.
    fn then(self, next: Self) -> Self {
        Self {
            pace: OutputTiming::of_all([self.pace, next.pace].into_iter()),
            fate: if self.fate == OrderEffect::Kept { next.fate } else { self.fate },
            ..self.or(next)
        }
    }

    /// With all that is within the other.
    fn or(self, other: Self) -> Self {
        Self {
            gathers: self.gathers || other.gathers,
            writes: self.writes || other.writes,
            merges: self.merges || other.merges,
            drops: self.drops || other.drops,
            ..self
        }
    }

    /// Of `operator`, of whose parts `parts` are known.
    fn of(operator: &Operator, parts: &[(&str, Self)]) -> Self {
        let own = Self {
            pace: pace(operator, parts),
            gathers: gathers(operator),
            writes: writes(operator),
            merges: matches!(operator, Operator::Merge(_)),
            drops: matches!(operator, Operator::Drop),
            ..Self::NOTHING
        };
        let fact = parts.iter().fold(own, |all, (_, part)| all.or(*part));
        Self { fate: fate(operator, fact, parts), ..fact }
    }
}

impl Group {
    /// Whether what it makes of rows is the same in whatever order they come; `each` says what becomes of their order in the
    /// traversal that each group goes through.
    fn forgets_order_if(&self, each: impl FnOnce() -> OrderEffect) -> bool {
        match &self.value {
            GroupValue::Count => true,
            GroupValue::List(_) => false,
            GroupValue::Traversal(_) => each() == OrderEffect::Forgotten,
        }
    }

    /// Whether what it makes of rows is the same in whatever order they come.
    #[must_use]
    pub fn forgets_order(&self) -> bool {
        self.forgets_order_if(|| match &self.value {
            GroupValue::Traversal(of) => of.fact().fate,
            _ => OrderEffect::Kept,
        })
    }
}

impl Reducer {
    /// Whether what it makes of rows depends on their order.
    #[must_use]
    pub fn reads_order(&self) -> bool {
        matches!(self, Self::Fold | Self::Combine(..))
    }
}

fn gathers(operator: &Operator) -> bool {
    matches!(
        operator,
        Operator::Aggregate { .. }
            | Operator::Subgraph(_)
            | Operator::Tree { into: Some(_), .. }
            | Operator::Group(Group { into: Some(_), .. })
    )
}

fn writes(operator: &Operator) -> bool {
    matches!(
        operator,
        Operator::AddVertex { .. }
            | Operator::AddEdge { .. }
            | Operator::SetProperties(_)
            | Operator::Merge(_)
            | Operator::Drop
            | Operator::Io(Io { to_file: false, .. })
    )
}

fn fate(operator: &Operator, fact: Fact, parts: &[(&str, Fact)]) -> OrderEffect {
    let each =
        || parts.iter().find(|(role, _)| *role == "each").map_or(OrderEffect::Kept, |(_, fact)| fact.fate);
    match operator {
        Operator::Bulk => OrderEffect::Kept,
        Operator::Reduce(reducer) if !reducer.reads_order() => OrderEffect::Forgotten,
        Operator::Group(group) if group.forgets_order_if(each) => OrderEffect::Forgotten,
        // Threads keep no order: rules put them only where nobody reads one.
        Operator::Parallel(_) | Operator::Travel(_) => OrderEffect::Forgotten,
        _ => match fact.pace {
            OutputTiming::Alone | OutputTiming::AloneAtEnd if !fact.gathers && !fact.writes => {
                OrderEffect::Kept
            }
            _ => OrderEffect::Read,
        },
    }
}

fn pace(operator: &Operator, parts: &[(&str, Fact)]) -> OutputTiming {
    match operator {
        // Conditions and what is asked of a row are of that row alone.
        Operator::Union(_) | Operator::Choose(_) | Operator::Branch(_) => {
            let ways = parts.iter().filter(|(role, _)| !matches!(*role, "if" | "by"));
            OutputTiming::of_all(ways.map(|(_, way)| way.pace))
        }
        Operator::Repeat(_) => {
            match parts.iter().find(|(role, _)| role.is_empty()).map(|(_, body)| body.pace) {
                None | Some(OutputTiming::Alone | OutputTiming::AloneAtEnd) => OutputTiming::AloneAtEnd,
                Some(OutputTiming::Remembers | OutputTiming::Waits) => OutputTiming::Waits,
            }
        }
        Operator::Inject { .. }
        | Operator::Range { .. }
        | Operator::TimeLimit(_)
        | Operator::Subgraph(_)
        | Operator::Tree { into: Some(_), .. }
        | Operator::Group(Group { into: Some(_), .. }) => OutputTiming::Remembers,
        Operator::Bulk
        | Operator::Parallel(_)
        | Operator::Travel(_)
        | Operator::Tail(_)
        | Operator::Sample { .. }
        | Operator::Dedup { .. }
        | Operator::Reduce(_)
        | Operator::Order(_)
        | Operator::Top(..)
        | Operator::Group(_)
        | Operator::Tree { .. }
        | Operator::Aggregate { .. }
        | Operator::Cap(_)
        | Operator::Barrier { .. }
        | Operator::Analysis(_)
        | Operator::ShortestPaths(_)
        | Operator::Io(_) => OutputTiming::Waits,
        Operator::Vertices(_)
        | Operator::Edges(_)
        | Operator::Expand(_)
        | Operator::Exchange
        | Operator::EdgeEnds(_)
        | Operator::Properties { .. }
        | Operator::Unfold
        | Operator::Map(_)
        | Operator::Filter(_)
        | Operator::Where { .. }
        | Operator::WhereBy { .. }
        | Operator::Any(_)
        | Operator::SimplePath { .. }
        | Operator::As(_)
        | Operator::Coin(_)
        | Operator::Fail(_)
        | Operator::Coalesce(_)
        | Operator::Optional(_)
        | Operator::Child { .. }
        | Operator::Local(_)
        | Operator::SideEffect(_)
        | Operator::SetSack { .. }
        | Operator::Match(_)
        | Operator::Call(_)
        | Operator::AddVertex { .. }
        | Operator::AddEdge { .. }
        | Operator::SetProperties(_)
        | Operator::Merge(_)
        | Operator::Drop => OutputTiming::Alone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::compile;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    fn root(text: &str) -> Traversal {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        compile(&query).unwrap().root
    }

    #[test]
    fn steps_have_a_pace_together() {
        for (text, pace) in [
            ("g.V().out().values('n')", OutputTiming::Alone),
            ("g.V().local(out().count())", OutputTiming::Alone),
            ("g.V().choose(out(), in(), repeat(out()).times(2))", OutputTiming::AloneAtEnd),
            ("g.V().union(out().limit(1), in())", OutputTiming::Remembers),
            ("g.V().union(out().limit(1), repeat(in()).times(2))", OutputTiming::Waits),
            ("g.V().union(out().count(), in())", OutputTiming::Waits),
            ("g.V().repeat(out().limit(1)).times(2)", OutputTiming::Waits),
        ] {
            assert_eq!(root(text).fact().pace, pace, "{text}");
        }
    }

    #[test]
    fn a_merge_beside_another_write_goes_row_by_row() {
        let is_so = |text: &str| {
            let root = root(text);
            Facts::of(&root).merges_between_writes(&root.operators)
        };
        assert!(is_so("g.inject(1).mergeV([:]).property('a', 1)"));
        assert!(is_so("g.inject(1).addV().map(__.mergeV([:]))"));
        assert!(!is_so("g.inject(1).mergeV([:]).out()"));
        assert!(!is_so("g.inject(1).addV().property('a', 1).drop()"));
    }
}

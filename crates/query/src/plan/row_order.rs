//! Row order: which steps keep or read the order of rows, and how traversals run so that it is kept.
//!
//! ```text
//! order()      choose(a, b)        limit(3)
//!   promises      must keep it        reads it         count() in place of limit(3): nobody reads it
//! ```
//!
//! An order is kept only where an earlier step promises one and a later step, or the user, reads it: elsewhere rows of one
//! batch may take their branches one branch after the other, which is faster.
//!
//! TinkerPop runs the options of `union()`, `choose()` and `branch()` for one traverser after the other, unless one of
//! them has a barrier: then each runs to its end before the next. [`OutputTiming`] tells the two apart.

use crate::plan::operator::{Group, Operator, Traversal};
use crate::plan::operator_facts::{Facts, OrderEffect, OutputTiming};

/// What is known of the order of rows at a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowOrder {
    /// Whether an earlier step promises an order.
    pub promised: bool,
    /// Whether a later step reads it.
    pub read: bool,
}

impl RowOrder {
    /// Of the rows of a whole query, or of a traversal that runs for each row alone: they come in no order, and what becomes
    /// of them is read in order.
    pub const FIRST: Self = Self { promised: false, read: true };

    /// Whether a step must keep the order.
    #[must_use]
    pub fn is_kept(self) -> bool {
        self.promised && self.read
    }
}

/// The order of rows before each of `operators`, if that before the first is `first` and what follows the last reads an
/// order where `first` says so; `facts` are those of the plan.
///
/// Cost: a look at each.
#[must_use]
pub fn before_each(operators: &[Operator], first: RowOrder, facts: &Facts) -> Vec<RowOrder> {
    let mut read = Vec::with_capacity(operators.len());
    let mut read_behind = first.read;
    for operator in operators.iter().rev() {
        read.push(read_behind);
        read_behind = match facts.at(operator).fate {
            OrderEffect::Read => true,
            OrderEffect::Forgotten => false,
            OrderEffect::Kept => read_behind,
        };
    }
    let promised = promised_before_each(operators, first.promised);
    promised
        .into_iter()
        .zip(read.into_iter().rev())
        .map(|(promised, read)| RowOrder { promised, read })
        .collect()
}

/// Whether rows come in a promised order before each of `operators`, if `first` says so before the first.
#[must_use]
pub fn promised_before_each(operators: &[Operator], first: bool) -> Vec<bool> {
    let mut promised = first;
    let before = |operator| {
        let behind = is_promised_behind(operator, promised);
        std::mem::replace(&mut promised, behind)
    };
    operators.iter().map(before).collect()
}

/// Whether rows come out of `operator` in a promised order, if they come in so as `promised` says.
#[must_use]
pub fn is_promised_behind(operator: &Operator, promised: bool) -> bool {
    match operator {
        Operator::Order(_) | Operator::Top(..) | Operator::Unfold | Operator::Call(_) => true,
        Operator::Inject { items, .. } => promised || items.len() > 1,
        Operator::Vertices(scan) | Operator::Edges(scan) => {
            promised || scan.ids.as_ref().is_some_and(|ids| ids.len() > 1)
        }
        // One row, or parts that come as threads are through with them.
        Operator::Reduce(_) | Operator::Group(Group { into: None, .. }) => false,
        Operator::Parallel(_) | Operator::Travel(_) => false,
        _ => promised,
    }
}

impl Traversal {
    /// Whether what comes of rows with ascending origins comes by ascending origin, all in all and not only within a batch.
    #[must_use]
    pub fn keeps_origins(&self) -> bool {
        self.operators.iter().all(|operator| {
            matches!(
                operator,
                Operator::Vertices(_)
                    | Operator::Edges(_)
                    | Operator::Expand(_)
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
                    | Operator::Range { .. }
                    | Operator::TimeLimit(_)
                    | Operator::Dedup { .. }
                    | Operator::Coalesce(_)
            )
        })
    }
}

impl Operator {
    /// Whether it keeps the order of rows only if they come one by one, its pace being `pace`: its branches remember, and give
    /// what they have at once.
    #[must_use]
    pub fn keeps_order_one_by_one(&self, pace: OutputTiming) -> bool {
        match self {
            Self::Union(_) | Self::Choose(_) | Self::Branch(_) => pace == OutputTiming::Remembers,
            // Its rows part by what is known of them.
            Self::Match(_) => true,
            _ => false,
        }
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

    /// Whether the first `union()` of a text must keep the order of its rows.
    fn is_kept(text: &str) -> bool {
        let root = root(text);
        let union = root.operators.iter().position(|operator| matches!(operator, Operator::Union(_)));
        before_each(&root.operators, RowOrder::FIRST, &Facts::of(&root))[union.unwrap()].is_kept()
    }

    #[test]
    fn an_order_is_kept_where_one_is_promised_and_read() {
        for (text, kept) in [
            ("g.V().union(out(), in())", false),
            ("g.V().order().union(out(), in())", true),
            ("g.V().order().out().as('a').union(out(), in()).limit(3)", true),
            ("g.V().order().union(out(), in()).out().count()", false),
            ("g.V().order().union(out(), in()).values('n').fold()", true),
            ("g.V().order().union(out(), in()).limit(3).count()", true),
            ("g.V().order().union(out(), in()).groupCount().by('n')", false),
            ("g.V().order().union(out(), in()).group().by('n')", true),
            ("g.V().order().count().union(identity(), identity())", false),
            (
                "g.V().order().union(out(), in()).choose(out(), in(), both()).values('n').math('_ + 1').sum()",
                false,
            ),
            ("g.V().order().union(out(), in()).choose(out(), limit(1), both()).values('n').sum()", true),
            ("g.V().order().union(out(), in()).addE('x').to(V().limit(1)).count()", true),
            ("g.V().fold().unfold().union(out(), in())", true),
            ("g.inject(2, 1).union(identity(), identity())", true),
        ] {
            assert_eq!(is_kept(text), kept, "{text}");
        }
    }

    #[test]
    fn an_order_is_read_within_a_branch_whatever_follows() {
        let root = root("g.V().order().union(choose(out(), in(), both()).limit(1)).count()");
        let union = root.operators.iter().find_map(|operator| match operator {
            Operator::Union(all) => Some(&all[0].operators),
            _ => None,
        });
        let around = RowOrder { promised: true, read: false };
        assert!(before_each(union.unwrap(), around, &Facts::of(&root))[0].is_kept());
    }
}

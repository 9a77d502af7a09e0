//! `count` to `fold`, `order`, `group`, `aggregate`, `cap`: steps that reduce, sort or gather.

use crate::gremlin::call::Call;
use crate::gremlin::compile::argument::{combine, item, names, scoped};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, not_yet, one, wrong};
use crate::plan::function::Function;
use crate::plan::operator::{By, Group, GroupValue, Operator, Reducer};

pub(super) const METHODS: &[NamedMethod] = &[
    one("count", |_, call, _| Ok(reduced(call, Reducer::Count))),
    one("sum", |_, call, _| Ok(reduced(call, Reducer::Sum))),
    one("min", |_, call, _| Ok(reduced(call, Reducer::Min))),
    one("max", |_, call, _| Ok(reduced(call, Reducer::Max))),
    one("mean", |_, call, _| Ok(reduced(call, Reducer::Mean))),
    one("fold", |_, call, _| match call.arguments.as_slice() {
        [seed, how] => Ok(Operator::Reduce(Reducer::Combine(item(seed)?, combine(how)?))),
        _ => Ok(Operator::Reduce(Reducer::Fold)),
    }),
    one("order", |compiler, call, calls| {
        let by = compiler.sorted_bys(calls)?;
        let (local, _) = scoped(call);
        Ok(if local { Operator::Map(Function::LocalOrder(by)) } else { Operator::Order(by) })
    }),
    one("group", Compiler::group),
    one("groupCount", Compiler::group_count),
    one("aggregate", Compiler::aggregate),
    one("subgraph", |compiler, call, _| {
        let (_, rest) = scoped(call);
        let names = names(rest)?;
        let name = names.first().ok_or_else(|| wrong(call.span, "subgraph() needs a name"))?;
        Ok(Operator::Subgraph(compiler.side_effect(name)))
    }),
    one("cap", |compiler, call, _| {
        let names = names(&call.arguments)?;
        Ok(Operator::Cap(names.iter().map(|name| compiler.side_effect(name)).collect()))
    }),
];

/// All in one: traversers, or what is in each.
fn reduced(call: &Call, reducer: Reducer) -> Operator {
    let (local, _) = scoped(call);
    if local { Operator::Map(Function::Local(reducer)) } else { Operator::Reduce(reducer) }
}

impl Compiler {
    fn group(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let mut by = self.bys(calls)?.into_iter();
        let key = by.next().unwrap_or(By::Itself);
        let value = match by.next() {
            None => GroupValue::List(By::Itself),
            Some(By::Child(of)) => GroupValue::Traversal(of),
            Some(by) => GroupValue::List(by),
        };
        if by.next().is_some() {
            let text = "group() takes two by() modulators at most: a key and a value";
            return Err(wrong(call.span, text));
        }
        Ok(Operator::Group(Group { key, value, into: self.aside(call)? }))
    }

    fn group_count(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let mut by = self.bys(calls)?;
        if by.len() > 1 {
            return Err(wrong(call.span, "GroupCount step can only have one by modulator"));
        }
        let key = by.pop().unwrap_or(By::Itself);
        Ok(Operator::Group(Group { key, value: GroupValue::Count, into: self.aside(call)? }))
    }

    /// The side effect that a call names, if it names one.
    fn aside(&mut self, call: &Call) -> Compiled<Option<usize>> {
        let (_, rest) = scoped(call);
        Ok(names(rest)?.first().map(|name| self.side_effect(name)))
    }

    fn aggregate(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        let (local, rest) = scoped(call);
        if local {
            return Err(not_yet(call));
        }
        let mut by = self.bys(calls)?.into_iter();
        let (by, more) = (by.next().unwrap_or(By::Itself), by.next());
        if more.is_some() {
            return Err(wrong(call.span, "Aggregate step can only have one by modulator"));
        }
        let names = names(rest)?;
        let name = names.first().ok_or_else(|| wrong(call.span, "aggregate() needs a name"))?;
        Ok(Operator::Aggregate { into: self.side_effect(name), by })
    }
}

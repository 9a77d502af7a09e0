//! `count` to `fold`, `order`, `group`, `aggregate`, `cap`: all in one, and what is gathered aside.

use super::argument::{combine, item, names, scoped};
use super::{Calls, Compiled, Compiler, wrong};
use crate::gremlin::call::Call;
use crate::plan::function::Function;
use crate::plan::operator::{By, Group, GroupValue, Operator, Reducer};

impl Compiler {
    pub(super) fn gather(
        &mut self,
        call: &Call,
        calls: &mut Calls<'_>,
        operators: &mut Vec<Operator>,
    ) -> Compiled<bool> {
        let (local, rest) = scoped(call);
        let reduced = |reducer: Reducer| {
            if local { Operator::Map(Function::Local(reducer)) } else { Operator::Reduce(reducer) }
        };
        let operator = match &*call.name {
            "count" => reduced(Reducer::Count),
            "sum" => reduced(Reducer::Sum),
            "min" => reduced(Reducer::Min),
            "max" => reduced(Reducer::Max),
            "mean" => reduced(Reducer::Mean),
            "fold" => match call.arguments.as_slice() {
                [seed, how] => Operator::Reduce(Reducer::Combine(item(seed)?, combine(how)?)),
                _ => Operator::Reduce(Reducer::Fold),
            },
            "order" => {
                let by = self.sorted_bys(calls)?;
                if local { Operator::Map(Function::LocalOrder(by)) } else { Operator::Order(by) }
            }
            "group" => {
                let mut by = self.bys(calls)?.into_iter();
                let key = by.next().unwrap_or(By::Itself);
                let value = match by.next() {
                    None => GroupValue::List(By::Itself),
                    Some(By::Child(of)) => GroupValue::Traversal(of),
                    Some(by) => GroupValue::List(by),
                };
                if by.next().is_some() {
                    return Err(wrong(
                        call.span,
                        "group() takes two by() modulators at most: a key and a value",
                    ));
                }
                let into = names(rest)?.first().map(|name| self.side_effect(name));
                Operator::Group(Group { key, value, into })
            }
            "groupCount" => {
                let mut by = self.bys(calls)?;
                if by.len() > 1 {
                    return Err(wrong(call.span, "GroupCount step can only have one by modulator"));
                }
                let key = by.pop().unwrap_or(By::Itself);
                let into = names(rest)?.first().map(|name| self.side_effect(name));
                Operator::Group(Group { key, value: GroupValue::Count, into })
            }
            "aggregate" if !local => {
                let mut by = self.bys(calls)?.into_iter();
                let (by, more) = (by.next().unwrap_or(By::Itself), by.next());
                if more.is_some() {
                    return Err(wrong(call.span, "Aggregate step can only have one by modulator"));
                }
                let names = names(rest)?;
                let name = names.first().ok_or_else(|| wrong(call.span, "aggregate() needs a name"))?;
                Operator::Aggregate { into: self.side_effect(name), by }
            }
            "subgraph" => {
                let names = names(rest)?;
                let name = names.first().ok_or_else(|| wrong(call.span, "subgraph() needs a name"))?;
                Operator::Subgraph(self.side_effect(name))
            }
            "cap" => {
                let of = names(&call.arguments)?.iter().map(|name| self.side_effect(name)).collect();
                Operator::Cap(of)
            }
            _ => return Ok(false),
        };
        operators.push(operator);
        Ok(true)
    }
}

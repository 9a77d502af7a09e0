//! `call`, and its options from `with()`.

use crate::gremlin::call::Call;
use crate::gremlin::compile::argument::{item, name};
use crate::gremlin::compile::compiler::{Calls, Compiled, Compiler, NamedMethod, any, as_traversal, wrong};
use crate::plan::call::{self as plan, LIST, Shown};
use crate::plan::operator::{By, Name, Operator};
use crate::value::item::Item;
use crate::value::map::ItemMap;

pub(super) const METHODS: &[NamedMethod] = &[any("call", Compiler::call)];

impl Compiler {
    fn call(&mut self, call: &Call, calls: &mut Calls<'_>, operators: &mut Vec<Operator>) -> Compiled<()> {
        let (service, arguments) = match call.arguments.split_first() {
            Some((service, rest)) => (name(service)?, rest),
            None => (Name::from(LIST), [].as_slice()),
        };
        let (mut parameters, mut computed) = (ItemMap::new(), None);
        for argument in arguments {
            if let Some(calls) = as_traversal(argument) {
                computed = Some(By::Child(self.traversal(calls)?));
                continue;
            }
            match item(argument)? {
                Item::Map(map) => parameters = (*map).clone(),
                _ => return Err(wrong(argument.span, "the parameters of call() are a map")),
            }
        }
        let mut options = Vec::new();
        while let Some(with) = calls.next_if("with") {
            let [key, value @ ..] = with.arguments.as_slice() else {
                return Err(wrong(with.span, "with() needs a parameter's name"));
            };
            let value = match value.first() {
                None => By::Item(Item::from(true)),
                Some(value) => match as_traversal(value) {
                    Some(calls) => By::Child(self.traversal(calls)?),
                    None => By::Item(item(value)?),
                },
            };
            options.push((name(key)?, value));
        }
        let begins = operators.is_empty() && self.depth == 1;
        let call = plan::Call { service, parameters, computed, options, begins, shown: Shown::default() };
        operators.push(Operator::Call(Box::new(call)));
        Ok(())
    }
}

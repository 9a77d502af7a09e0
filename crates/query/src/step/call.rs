//! `call('name')`: calls a service of the application, or an algorithm, for a batch of rows at once.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::error::quoted;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::call::{self as plan, LIST, LIST_BUILT_IN, Shown};
use crate::plan::operator::Name;
use crate::service::{Kind, Limits, Request, Service, Services};
use crate::step::by::Projection;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::nearest::did_you_mean;
use std::sync::Arc;

/// From each row to the results of a service.
pub struct Call {
    service: Name,
    parameters: ItemMap,
    computed: Option<Projection>,
    options: Vec<(Name, Projection)>,
    begins: bool,
    shown: Shown,
}

impl Call {
    /// Calls as `plan` says; what `computed` and then `options` say of a row counts before the plan's parameters.
    #[must_use]
    pub fn new(plan: &plan::Call, computed: Option<Projection>, options: Vec<(Name, Projection)>) -> Self {
        let plan::Call { service, parameters, begins, shown, .. } = plan;
        let (service, parameters) = (Name::clone(service), parameters.clone());
        Self { service, parameters, computed, options, begins: *begins, shown: *shown }
    }

    /// The service, if it can be called here.
    fn service<'s>(&self, services: &'s Services) -> Result<&'s dyn Service> {
        let name = &self.service;
        let service = services.get(name).ok_or_else(|| unknown(name, services))?;
        let kind = if self.begins { Kind::Start } else { Kind::Streaming };
        if !service.kinds().contains(&kind) {
            return Err(Error::invalid(match kind {
                Kind::Start => format!("the service {name} can't begin a query: call it behind a step"),
                Kind::Streaming => format!("the service {name} only begins a query: g.call('{name}')"),
            }));
        }
        if self.shown == Shown::Part && services.is_built_in(name) {
            return Err(Error::invalid(format!(
                "{name} reads the whole graph, and a strategy of this query shows a part of it: name the part by \
                 the parameters labels and types instead"
            )));
        }
        Ok(service)
    }

    fn requests(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Request>> {
        let mut requests: Vec<Request> = batch
            .current
            .items()
            .map(|item| Request {
                input: (!self.begins).then_some(item),
                parameters: self.parameters.clone(),
            })
            .collect();
        if let Some(computed) = &mut self.computed {
            for (request, said) in requests.iter_mut().zip(computed.of(batch, cx)?) {
                match said {
                    None => {}
                    Some(Item::Map(map)) => {
                        map.entries().iter().for_each(|(key, value)| {
                            request.parameters.insert(key.clone(), value.clone());
                        });
                    }
                    Some(other) => {
                        let text = format!("the parameters of call() are a map, not {}", other.kind());
                        return Err(Error::invalid(text));
                    }
                }
            }
        }
        for (name, by) in &mut self.options {
            for (request, said) in requests.iter_mut().zip(by.of(batch, cx)?) {
                said.into_iter().for_each(|said| request.parameters.insert(Item::from(&**name), said));
            }
        }
        Ok(requests)
    }
}

impl Step for Call {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let requests = self.requests(&batch, cx)?;
        let mut found = Vec::new();
        if *self.service == *LIST || *self.service == *LIST_BUILT_IN {
            let services = &cx.services;
            let names: Vec<&str> = if *self.service == *LIST {
                services.names().collect()
            } else {
                services.built_in_names().collect()
            };
            for (row, request) in (0..).zip(&requests) {
                found.extend(list(services, &names, request).into_iter().map(|item| (row, item)));
            }
        } else {
            let services = cx.services.clone();
            let service = self.service(&services)?;
            let limits = Limits { cancel: cx.charge.cancel(), budget: &cx.charge };
            let called = service.call_within(cx.view(), &requests, &limits, &mut found);
            // If its time is over, the query says so in its own words.
            cx.charge.check()?;
            called.map_err(|error| error.context(format_args!("service {}", self.service)))?;
        }
        let (rows, items): (Vec<u32>, Vec<Item>) = found.into_iter().unzip();
        if !rows.is_sorted() || rows.last().is_some_and(|row| *row as usize >= requests.len()) {
            let text =
                format!("the service {} returned results for no request, or out of order", self.service);
            return Err(Error::invalid(text));
        }
        cx.charge.check()?;
        Ok(Some(batch.follow(&Rows::Some(rows.into()), Column::of_items(items))))
    }
}

/// These `names` of services, or what is known of them if that is asked for.
fn list(services: &Services, names: &[&str], request: &Request) -> Vec<Item> {
    let wanted = request.parameters.get_text("service").and_then(Item::as_str);
    let verbose = request.parameters.get_text("verbose").is_some_and(|said| said.as_bool() != Some(false));
    let names = names.iter().copied().filter(|name| wanted.is_none_or(|wanted| wanted == *name));
    let known = |name: &str| {
        let service = services.get(name)?;
        if !verbose {
            return Some(Item::from(name));
        }
        let kinds: Vec<Item> = service.kinds().iter().map(|kind| Item::from(kind.name())).collect();
        let parameters =
            service.parameters().iter().map(|(name, says)| (Item::from(*name), Item::from(*says)));
        let entries = [
            ("name", Item::from(name)),
            ("summary", Item::from(service.summary())),
            ("type", Item::List(kinds.into())),
            ("params", Item::Map(Arc::new(parameters.collect()))),
        ];
        Some(Item::Map(Arc::new(entries.into_iter().map(|(key, value)| (Item::from(key), value)).collect())))
    };
    names.filter_map(known).collect()
}

fn unknown(name: &str, services: &Services) -> Error {
    let hint = did_you_mean(name, services.names().chain(services.built_in_names()));
    let text = match services.names().next() {
        None if hint.is_empty() => "; no service is registered",
        None => "",
        Some(_) => "; g.call() lists them",
    };
    Error::invalid(format!("no service is called {}{hint}{text}", quoted(name)))
}

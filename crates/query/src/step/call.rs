//! `call('name')`: calls a service of the application for a batch of rows at once.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::error::{did_you_mean, quoted};
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::call::LIST;
use crate::plan::operator::Name;
use crate::service::{Kind, Request, Services};
use crate::step::by::Projection;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use evergraph_graph::error::{Error, Result};
use std::sync::Arc;

/// From each row to what a service finds.
pub struct Call {
    service: Name,
    parameters: ItemMap,
    computed: Option<Projection>,
    options: Vec<(Name, Projection)>,
    begins: bool,
}

impl Call {
    /// The service called `service`, told `parameters`, then what `computed` and `options` say of the row.
    #[must_use]
    pub fn new(
        service: Name,
        parameters: ItemMap,
        computed: Option<Projection>,
        options: Vec<(Name, Projection)>,
        begins: bool,
    ) -> Self {
        Self { service, parameters, computed, options, begins }
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
        if *self.service == *LIST {
            for (row, request) in (0..).zip(&requests) {
                found.extend(list(&cx.services, request).into_iter().map(|item| (row, item)));
            }
        } else {
            let services = cx.services.clone();
            let service = services.get(&self.service).ok_or_else(|| unknown(&self.service, &services))?;
            let kind = if self.begins { Kind::Start } else { Kind::Streaming };
            if !service.kinds().contains(&kind) {
                let name = &self.service;
                return Err(Error::invalid(match kind {
                    Kind::Start => format!("the service {name} can't begin a query: call it behind a step"),
                    Kind::Streaming => format!("the service {name} only begins a query: g.call('{name}')"),
                }));
            }
            let called = service.call(cx.view(), &requests, &mut found);
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

/// The names of all services, or what is known of them if that is asked for.
fn list(services: &Services, request: &Request) -> Vec<Item> {
    let wanted = request.parameters.get_text("service").and_then(Item::as_str);
    let verbose = request.parameters.get_text("verbose").is_some_and(|said| said.as_bool() != Some(false));
    let names = services.names().filter(|name| wanted.is_none_or(|wanted| wanted == *name));
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
    let hint = did_you_mean(name, services.names());
    let text = match services.names().next() {
        None => "; no service is registered".to_owned(),
        Some(_) => format!("{hint}; g.call() lists them"),
    };
    Error::invalid(format!("no service is called {}{text}", quoted(name)))
}

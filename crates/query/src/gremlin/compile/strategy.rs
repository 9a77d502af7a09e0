//! `withStrategies(new SubgraphStrategy(vertices: hasLabel('person')))`: strategies by name, with their options.

use crate::error::{Span, TextError, quoted};
use crate::gremlin::call::{self, Argument, ArgumentKind};
use crate::gremlin::compile::argument::{item, name, whole};
use crate::gremlin::compile::compiler::{Compiled, Compiler, as_traversal, wrong};
use crate::plan::operator::{Name, Plan, Traversal};
use crate::strategy::partition::Partition;
use crate::strategy::subgraph::Subgraph;
use crate::strategy::{self, Strategy};
use evergraph_graph::nearest::did_you_mean;
use std::cell::RefCell;

/// A strategy that a query asks for.
struct Asked {
    name: Box<str>,
    /// What it does; nothing if it only makes TinkerPop's engine faster.
    strategy: Option<Strategy>,
    span: Span,
}

/// The strategies that a query asks for.
#[derive(Default)]
pub(super) struct Strategies(Vec<Asked>);

impl Strategies {
    /// `withStrategies(...)`.
    pub(super) fn add(&mut self, arguments: &[Argument], compiler: &mut Compiler) -> Compiled<()> {
        for argument in arguments {
            let asked = named(argument)?;
            let options = Options { strategy: asked, span: argument.span, known: RefCell::default() };
            let strategy = compiler.strategy(&options)?;
            options.no_others()?;
            self.0.retain(|other| other.name != asked.name);
            self.0.push(Asked { name: asked.name.clone(), strategy, span: argument.span });
            if &*asked.name == "ConnectiveStrategy" {
                compiler.keeps_connectives = false;
            }
        }
        Ok(())
    }

    /// `withoutStrategies(...)`.
    pub(super) fn leave_out(&mut self, arguments: &[Argument], compiler: &mut Compiler) -> Compiled<()> {
        for argument in arguments {
            let asked = named(argument)?;
            self.0.retain(|other| other.name != asked.name);
            if &*asked.name == "ConnectiveStrategy" {
                compiler.keeps_connectives = true;
            }
        }
        Ok(())
    }

    /// Changes `plan` as the strategies say, in their order.
    ///
    /// # Errors
    /// `invalid` if one of them refuses the plan, or another strategy.
    pub(super) fn apply(mut self, plan: &mut Plan) -> Compiled<()> {
        let is_there = |name: &str| self.0.iter().find(|asked| *asked.name == *name);
        if let (Some(_), Some(computer)) =
            (is_there("VertexProgramRestrictionStrategy"), is_there("VertexProgramStrategy"))
        {
            return Err(wrong(
                computer.span,
                "The TraversalSource does not allow the use of a GraphComputer",
            ));
        }
        self.0.sort_by_key(|asked| asked.strategy.as_ref().map(Strategy::rank));
        for Asked { strategy, span, .. } in self.0 {
            if let Some(strategy) = strategy {
                strategy.apply(plan).map_err(|why| wrong(span, why))?;
            }
        }
        Ok(())
    }
}

impl Compiler {
    fn strategy(&mut self, options: &Options<'_>) -> Compiled<Option<Strategy>> {
        Ok(Some(match &*options.strategy.name {
            "ReadOnlyStrategy" => Strategy::ReadOnly,
            "EdgeLabelVerificationStrategy" => {
                if !options.throws()? {
                    return Ok(None);
                }
                Strategy::EdgeLabelVerification
            }
            "ReservedKeysVerificationStrategy" => {
                let (throws, keys) = (options.throws()?, options.texts("keys")?);
                if !throws {
                    return Ok(None);
                }
                let keys = keys.unwrap_or_else(|| vec![Name::from("id"), Name::from("label")]);
                Strategy::ReservedKeysVerification(keys)
            }
            "ElementIdStrategy" => {
                options.text("idPropertyKey")?;
                Strategy::ElementId
            }
            "SubgraphStrategy" => Strategy::Subgraph(Subgraph {
                vertices: self.condition_of(options, "vertices")?,
                edges: self.condition_of(options, "edges")?,
                properties: self.condition_of(options, "vertexProperties")?,
                both_ends: options.truth("checkAdjacentVertices")?.unwrap_or(true),
                added: true,
            }),
            "PartitionStrategy" => {
                if options.truth("includeMetaProperties")? == Some(true) {
                    return Err(options.wrong(
                        "includeMetaProperties",
                        "isn't supported: a partition is of vertices and edges",
                    ));
                }
                let key = options.text("partitionKey")?;
                Strategy::Partition(Partition {
                    write: options.text("writePartition")?,
                    read: options.texts("readPartitions")?.unwrap_or_default(),
                    key: key.ok_or_else(|| options.wrong("partitionKey", "has to be given"))?,
                })
            }
            "ProductiveByStrategy" => {
                Strategy::ProductiveBy(options.texts("productiveKeys")?.unwrap_or_default())
            }
            "SeedStrategy" => {
                let seed = options.get("seed").ok_or_else(|| options.wrong("seed", "has to be given"))?;
                Strategy::Seed(whole(seed).map_err(|_| options.kind("seed", "a whole number"))?)
            }
            "OptionsStrategy" => {
                // Those that mean nothing here are ignored, whatever they are.
                let option = |(key, value): &(Box<str>, Argument)| {
                    options.known.borrow_mut().push(key.clone());
                    Some((Name::from(&**key), item(value).ok()?))
                };
                Strategy::Options(options.strategy.settings.iter().filter_map(option).collect())
            }
            "VertexProgramStrategy" => {
                // How a graph computer works, which there isn't.
                for option in ["graphComputer", "workers", "persist", "result", "configuration"] {
                    options.get(option);
                }
                for option in ["vertices", "edges"] {
                    if options.get(option).is_some_and(|argument| argument.kind != ArgumentKind::Null) {
                        return Err(
                            options.wrong(option, "isn't supported: SubgraphStrategy says what a query sees")
                        );
                    }
                }
                return Ok(None);
            }
            other => {
                let nothing = strategy::WITHOUT_EFFECT.iter().find(|(name, _)| *name == other);
                for option in nothing.map_or(&[][..], |(_, options)| options) {
                    options.text(option)?;
                }
                return Ok(None);
            }
        }))
    }

    /// The traversal that an option is; without operators if it isn't there.
    fn condition_of(&mut self, options: &Options<'_>, key: &'static str) -> Compiled<Traversal> {
        let Some(argument) = options.get(key) else { return Ok(Traversal::default()) };
        let calls =
            as_traversal(argument).ok_or_else(|| options.kind(key, "a traversal, such as __.has('name')"))?;
        // The query itself begins behind the strategies.
        let begins = std::mem::replace(&mut self.beginning, false);
        let condition = self.traversal(calls)?;
        self.beginning = begins;
        if condition.operators.is_empty() {
            return Err(options.kind(key, "a traversal with a step"));
        }
        Ok(condition)
    }
}

/// The strategy that an argument names, which is one that is known.
fn named(argument: &Argument) -> Compiled<&call::Strategy> {
    let ArgumentKind::Strategy(strategy) = &argument.kind else {
        return Err(wrong(argument.span, "a strategy is needed here, such as ReadOnlyStrategy"));
    };
    let name = &*strategy.name;
    if !strategy::names().any(|known| known == name) {
        let guess = did_you_mean(name, strategy::names());
        return Err(wrong(argument.span, format!("no strategy is called {}{guess}", quoted(name))));
    }
    Ok(strategy)
}

/// The options of a strategy, of which some were asked for.
struct Options<'a> {
    strategy: &'a call::Strategy,
    span: Span,
    known: RefCell<Vec<Box<str>>>,
}

impl<'a> Options<'a> {
    /// The option called `key`, if it is there: the last one.
    fn get(&self, key: &str) -> Option<&'a Argument> {
        self.known.borrow_mut().push(key.into());
        let all = self.strategy.settings.iter().rev();
        all.into_iter().find(|(other, _)| **other == *key).map(|(_, argument)| argument)
    }

    fn text(&self, key: &str) -> Compiled<Option<Name>> {
        let text = |argument| name(argument).map_err(|_| self.kind(key, "a text"));
        self.get(key).map(text).transpose()
    }

    fn texts(&self, key: &str) -> Compiled<Option<Vec<Name>>> {
        let Some(argument) = self.get(key) else { return Ok(None) };
        let (ArgumentKind::List(all) | ArgumentKind::Set(all)) = &argument.kind else {
            return Err(self.kind(key, "a list or a set of texts"));
        };
        let text = |argument| name(argument).map_err(|_| self.kind(key, "a list or a set of texts"));
        all.iter().map(text).collect::<Compiled<_>>().map(Some)
    }

    fn truth(&self, key: &str) -> Compiled<Option<bool>> {
        let truth = |argument: &Argument| match &argument.kind {
            ArgumentKind::Scalar(value) => value.as_bool(),
            _ => None,
        };
        self.get(key)
            .map(|argument| truth(argument).ok_or_else(|| self.kind(key, "true or false")))
            .transpose()
    }

    /// Whether a verification is to refuse anything. There is no log for it to warn in.
    fn throws(&self) -> Compiled<bool> {
        self.truth("logWarning")?;
        Ok(self.truth("throwException")?.unwrap_or(false))
    }

    fn kind(&self, key: &str, wanted: &str) -> TextError {
        self.wrong(key, &format!("takes {wanted}"))
    }

    fn wrong(&self, key: &str, what: &str) -> TextError {
        let given = self.strategy.settings.iter().find(|(other, _)| **other == *key);
        let span = given.map_or(self.span, |(_, argument)| argument.span);
        wrong(span, format!("the option {} of {} {what}", quoted(key), self.strategy.name))
    }

    /// Checks that nothing was given that nobody asked for.
    fn no_others(&self) -> Compiled<()> {
        let known = self.known.borrow();
        // Drivers in Java say the class of a strategy among its options, too.
        let is_other = |(key, _): &&(Box<str>, Argument)| !known.contains(key) && **key != *"strategy";
        let Some((key, argument)) = self.strategy.settings.iter().find(is_other) else {
            return Ok(());
        };
        let (name, asked) = (&self.strategy.name, quoted(key));
        let there: Vec<String> = known.iter().map(|key| quoted(key)).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        let text = format!("{name} has no option {asked}; it has {there}");
        Err(wrong(argument.span, text))
    }
}

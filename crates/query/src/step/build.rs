//! Build: turns operators into steps.

use crate::execute::child::Child;
use crate::execute::pipeline::{Pipeline, Step};
use crate::execute::profile::ProfiledStep;
use crate::plan::algorithm::{Selection, ShortestPaths};
use crate::plan::call::Call;
use crate::plan::element_reads::{element_reads, element_reads_behind, repeat_reads};
use crate::plan::function;
use crate::plan::merge::{Merge, MergeMap, NewProperty};
use crate::plan::operator::{self as plan, By, Operator, Plan, Traversal};
use crate::plan::operator_facts::{Facts, asks_aside_anywhere};
use crate::plan::pattern::{Match, Pattern};
use crate::plan::row_order::{RowOrder, before_each};
use crate::plan::scalar::Scalar;
use crate::randomness::Chance;
use crate::stack::deeper;
use crate::step::algorithm::shortest_path;
use crate::step::by::Projection;
use crate::step::map::{ComputedName, Function, Map};
use crate::step::{
    algorithm, barrier, bound, branch, branches, bulk, call, chance, dedup, expand, filter, foreseen, group,
    merge, options, order, parallel, path_recorder, pattern, portion, repeat, sack, scalar, side_effect,
    source, subgraph, travel, tree, unbulk, unfold, write,
};
use crate::value::item::Token;
use evergraph_graph::error::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Makes the steps of a plan.
pub struct Builder<'a> {
    plan: &'a Plan,
    /// The names of the repeats around, the outermost first.
    repeats: Vec<Option<plan::Name>>,
    /// The line of each operator in the plan's explanation, by its place in memory, if steps are to be measured.
    lines: Option<HashMap<usize, usize>>,
    /// Whether a condition asks for what is gathered aside.
    asks_aside: bool,
    /// The order of rows before the operator whose step is being made.
    row_order: RowOrder,
    /// Whether it is in a traversal that runs for each row alone.
    is_child: bool,
    /// What is true of each operator.
    facts: Facts,
    /// Whether steps announce what they read.
    foresees: bool,
}

impl<'a> Builder<'a> {
    /// The steps of `plan`.
    #[must_use]
    pub fn new(plan: &'a Plan) -> Self {
        let asks_aside = !plan.side_effects.is_empty() && asks_aside_anywhere(&plan.root);
        let facts = Facts::of(&plan.root);
        Self {
            plan,
            repeats: Vec::new(),
            asks_aside,
            lines: None,
            row_order: RowOrder::FIRST,
            is_child: false,
            facts,
            foresees: false,
        }
    }

    /// The same, with steps that announce what they read, since reads may take messages.
    #[must_use]
    pub fn foreseeing(self) -> Self {
        Self { foresees: true, ..self }
    }

    /// The same, with steps that measure what they do, each in its line.
    #[must_use]
    pub(crate) fn measuring(self, lines: HashMap<usize, usize>) -> Self {
        Self { lines: Some(lines), ..self }
    }

    /// The pipeline of the whole plan.
    ///
    /// # Errors
    /// `invalid` for a plan that can't be run.
    pub fn root(&mut self) -> Result<Pipeline> {
        self.pipeline(&self.plan.root)
    }

    fn pipeline(&mut self, traversal: &Traversal) -> Result<Pipeline> {
        self.steps(&traversal.operators).map(Pipeline::new)
    }

    fn steps(&mut self, operators: &[Operator]) -> Result<Vec<Box<dyn Step>>> {
        deeper(|| self.steps_here(operators))
    }

    fn steps_here(&mut self, operators: &[Operator]) -> Result<Vec<Box<dyn Step>>> {
        let around = self.row_order;
        let mut steps: Vec<Box<dyn Step>> = Vec::with_capacity(operators.len());
        // What a merge finds shows what other steps wrote for the rows before: they go through one by one.
        // What comes behind a limit is not written: nor what would come of the rest of a batch.
        let mut lockstep = self.plan.writes
            && (self.facts.merges_between_writes(operators) || self.facts.stops_behind_a_write(operators));
        let row_orders = before_each(operators, around, &self.facts);
        for (at, (operator, row_order)) in operators.iter().zip(row_orders).enumerate() {
            self.row_order = row_order;
            let fact = self.facts.at(operator);
            if fact.drops && !matches!(operator, Operator::Drop) {
                // What it deletes for a row, those behind it see; which rows there are does not depend on that.
                steps.push(Box::new(branch::CollectAll::default()));
                steps.push(Box::new(branch::SingleRows::default()));
            }
            if lockstep && fact.writes {
                steps.push(Box::new(branch::SingleRows::default()));
                lockstep = false;
            }
            if row_order.is_kept() && operator.keeps_order_one_by_one(fact.pace) {
                steps.push(Box::new(branch::SingleRows::default()));
            }
            if matches!(operator, Operator::Local(_) | Operator::Child { .. }) && fact.gathers {
                steps.push(Box::new(branch::SingleRows::default()));
            }
            if self.asks_aside && matches!(operator, Operator::Aggregate { .. }) {
                steps.push(Box::new(branch::CollectAll::default()));
            }
            if operator.writes_for_each() {
                steps.push(Box::new(unbulk::Unbulk::default()));
            }
            let step = self.step(operator, &operators[at + 1..])?;
            let reads = if self.foresees { element_reads(&operators[at..]) } else { Vec::new() };
            steps.push(foreseen::ForeseeingStep::around(step, reads));
        }
        self.row_order = around;
        Ok(steps)
    }

    /// The branches that run these traversals.
    fn branches(&mut self, traversals: &[&Traversal]) -> Result<branches::Branches> {
        let around = self.row_order;
        let paces = || traversals.iter().map(|traversal| self.facts.together(traversal).pace);
        let mut order = branches::ResultOrder::of(around, paces());
        if self.is_child {
            order = order.for_each_row(paces());
        }
        if order == branches::ResultOrder::ByRow {
            self.row_order = RowOrder::FIRST;
        }
        let pipelines = traversals.iter().map(|traversal| self.pipeline(traversal)).collect::<Result<_>>()?;
        self.row_order = around;
        Ok(branches::Branches::new(pipelines, order))
    }

    fn child(&mut self, traversal: &Traversal) -> Result<Child> {
        let around = std::mem::replace(&mut self.row_order, RowOrder::FIRST);
        let was_child = std::mem::replace(&mut self.is_child, true);
        let mut steps = self.steps(&traversal.operators)?;
        (self.row_order, self.is_child) = (around, was_child);
        if let (Some(Operator::Inject { items, .. }), Some(first)) =
            (traversal.operators.first(), steps.first_mut())
        {
            *first = Box::new(source::Inject::behind(items.clone(), self.plan.reads_paths));
        }
        Ok(Child::new(Pipeline::new(steps)))
    }

    fn children(&mut self, traversals: &[Traversal]) -> Result<Vec<Child>> {
        traversals.iter().map(|traversal| self.child(traversal)).collect()
    }

    fn by(&mut self, by: &By) -> Result<Projection> {
        Ok(match by {
            By::Itself => Projection::Itself,
            By::Item(item) => Projection::Item(item.clone()),
            By::Key(key) => Projection::Key(Arc::clone(key)),
            By::Token(token) => Projection::Token(*token),
            By::Slot(slot) => Projection::Slot(*slot),
            By::Child(traversal) => Projection::Child(self.child(traversal)?),
            By::OrNull(by) => Projection::OrNull(Box::new(self.by(by)?)),
        })
    }

    /// What falls by chance in one step.
    fn chance(&self) -> Chance {
        self.plan.seed.map_or_else(Chance::default, Chance::seeded)
    }

    fn all_by(&mut self, all: &[By]) -> Result<Vec<Projection>> {
        all.iter().map(|by| self.by(by)).collect()
    }

    fn sorted_by(&mut self, all: &[(By, plan::Sorting)]) -> Result<Vec<(Projection, plan::Sorting)>> {
        all.iter().map(|(by, sorting)| Ok((self.by(by)?, *sorting))).collect()
    }

    fn step(&mut self, operator: &Operator, behind: &[Operator]) -> Result<Box<dyn Step>> {
        let (step, moves) = match operator {
            Operator::Vertices(scan) if self.foresees => {
                let reads = element_reads_behind(&scan.tests, behind);
                (Box::new(source::Vertices::new(scan.clone()).foreseeing(reads)) as Box<dyn Step>, true)
            }
            Operator::Repeat(repeat) if self.foresees => {
                let step = self.repeat(repeat)?.foreseeing(repeat_reads(repeat, behind));
                (Box::new(step) as Box<dyn Step>, false)
            }
            _ => self.bare_step(operator)?,
        };
        let step = self.traced(step, moves);
        let line = self.lines.as_ref().and_then(|lines| lines.get(&operator.place()));
        Ok(match line {
            Some(line) => Box::new(ProfiledStep::new(step, *line)),
            None => step,
        })
    }

    fn traced(&self, step: Box<dyn Step>, moves: bool) -> Box<dyn Step> {
        if moves && self.plan.reads_paths { Box::new(path_recorder::PathRecorder(step)) } else { step }
    }

    /// The step of an operator, and whether traversers are elsewhere after it: their paths are longer then.
    fn bare_step(&mut self, operator: &Operator) -> Result<(Box<dyn Step>, bool)> {
        Ok(match operator {
            Operator::Vertices(scan) => (Box::new(source::Vertices::new(scan.clone())), true),
            Operator::Edges(scan) => (Box::new(source::Edges::new(scan.clone())), true),
            Operator::Inject { items, first } => {
                (Box::new(source::Inject::new(items.clone(), *first, self.plan.reads_paths)), false)
            }
            Operator::Expand(expand) => {
                let mut some = |of: &Traversal| -> Result<Option<Child>> {
                    (!of.operators.is_empty()).then(|| self.child(of)).transpose()
                };
                let (edges, vertices) = (some(&expand.edges)?, some(&expand.vertices)?);
                (Box::new(expand::Expansion::new(expand.clone(), edges, vertices)), true)
            }
            Operator::Bulk => (Box::new(bulk::Bulk::default()), false),
            Operator::Parallel(of) => {
                let first = self.pipeline(of)?;
                let part = self.plan.part(of);
                let foresees = self.foresees;
                let make = move || Builder { foresees, ..Builder::new(&part) }.root();
                let mut parallel = parallel::Parallel::new(first, Box::new(make));
                if self.lines.is_some() {
                    // Steps that are measured are known by where their operators are in this plan.
                    let more = (1..rayon::current_num_threads()).map(|_| self.pipeline(of));
                    parallel.add(more.collect::<Result<_>>()?);
                }
                (Box::new(parallel), false)
            }
            Operator::Travel(of) => (Box::new(self.travel(of)?), false),
            Operator::Exchange => (Box::new(travel::Exchange), false),
            Operator::EdgeEnds(end) => (Box::new(expand::Ends::new(*end)), true),
            Operator::Properties { keys, values } => {
                (Box::new(unfold::Properties::new(keys.clone(), *values)), true)
            }
            Operator::Unfold => (Box::new(unfold::Unfold::default()), true),
            Operator::Map(function) => (Box::new(Map(self.function(function)?)), true),
            Operator::Filter(tests) => (Box::new(filter::Filter(tests.clone())), false),
            Operator::Where { of, gives } => (Box::new(filter::Where::new(self.child(of)?, *gives)), false),
            Operator::WhereBy { left, predicate, by } => {
                (Box::new(filter::WhereBy::new(*left, predicate, self.all_by(by)?)), false)
            }
            Operator::Any(all) => (Box::new(filter::Any(self.children(all)?)), false),
            Operator::SimplePath { simple, part, by } => {
                (Box::new(filter::SimplePath::new(*simple, part.clone(), self.all_by(by)?)), false)
            }
            Operator::As(slot) => {
                let name = self.plan.slots.get(*slot).cloned().unwrap_or_default();
                (Box::new(branch::As::new(*slot, name)), false)
            }
            Operator::Range { skip, limit } => (Box::new(bound::Range::new(*skip, *limit)), false),
            Operator::Tail(count) => (Box::new(bound::Tail::new(*count)), false),
            Operator::TimeLimit(milliseconds) => {
                (Box::new(bound::TimeLimit::new(Duration::from_millis(*milliseconds))), false)
            }
            Operator::Dedup { slots, by } => {
                (Box::new(dedup::Dedup::new(slots.clone(), self.all_by(by)?)), false)
            }
            Operator::Coin(probability) => (Box::new(chance::Coin::new(*probability, self.chance())), false),
            Operator::Sample { count, by } => {
                let by = by.as_ref().map(|by| self.by(by)).transpose()?;
                (Box::new(chance::Sample::new(*count, by, self.chance())), false)
            }
            Operator::Fail(message) => (Box::new(branch::Fail(message.clone())), false),
            Operator::Tree { into: None, by } => (Box::new(tree::ReduceTree::new(self.all_by(by)?)), true),
            Operator::Tree { into: Some(into), by } => {
                (Box::new(tree::TreeSideEffect::new(*into, self.all_by(by)?)), false)
            }
            Operator::Reduce(reducer) => (Box::new(barrier::Reduce::new(reducer.clone())), true),
            Operator::Top(by, keep) => {
                (Box::new(order::Order::new(self.sorted_by(by)?, self.chance()).keeping(*keep)), false)
            }
            Operator::Order(by) => (Box::new(order::Order::new(self.sorted_by(by)?, self.chance())), false),
            Operator::Group(group) => self.group(group)?,
            Operator::Aggregate { into, by } => {
                (Box::new(side_effect::Aggregate::new(*into, self.by(by)?)), false)
            }
            Operator::Cap(of) => {
                let name = |number: &usize| {
                    (*number, self.plan.side_effects.get(*number).cloned().unwrap_or_default())
                };
                (Box::new(side_effect::Cap::new(of.iter().map(name).collect())), true)
            }
            Operator::Union(all) => {
                let branches = self.branches(&all.iter().collect::<Vec<_>>())?;
                (self.bounded(branch::Union::new(branches)), false)
            }
            Operator::Coalesce(all) => {
                let step = branch::Coalesce::new(self.children(all)?, self.came_from());
                (Box::new(portion::PortionedStep::new(Box::new(step))), true)
            }
            Operator::Optional(of) => {
                let step = branch::Local::optional(self.child(of)?);
                (self.bounded(if self.row_order.is_kept() { step.in_order() } else { step }), false)
            }
            Operator::Local(of) => {
                let step = branch::Local::new(self.child(of)?);
                (self.bounded(if self.must_sort(of) { step.in_order() } else { step }), false)
            }
            Operator::Child { of, all } => {
                let wanted = match all {
                    false => branch::ChildResults::First,
                    true if self.must_sort(of) => branch::ChildResults::AllInOrder,
                    true => branch::ChildResults::All,
                };
                let step = branch::FlatMap::new(self.child(of)?, wanted, self.came_from());
                (self.bounded(step), true)
            }
            Operator::SideEffect(of) => (Box::new(branch::SideEffectStep(self.child(of)?)), false),
            Operator::Choose(choose) => {
                let step = self.choose(choose)?;
                (self.bounded(step), false)
            }
            Operator::Repeat(repeat) => (Box::new(self.repeat(repeat)?), false),
            Operator::Branch(branch) => {
                let step = self.branch(branch)?;
                (self.bounded(step), false)
            }
            Operator::Subgraph(into) => (Box::new(subgraph::SubgraphSideEffect::new(*into)), false),
            Operator::SetSack { how, by } => (Box::new(sack::SetSack::new(*how, self.by(by)?)), false),
            Operator::Barrier { normalises } => (Box::new(sack::Barrier::new(*normalises)), false),
            Operator::Match(matched) => (Box::new(self.matched(matched)?), true),
            Operator::Call(call) => (Box::new(self.call(call)?), true),
            Operator::Analysis(of) => {
                let selection = self.selection(&of.selection)?;
                let property = Arc::clone(&of.property);
                (
                    Box::new(algorithm::Analysis::new(of.program, selection, property, of.from_traversers)),
                    false,
                )
            }
            Operator::ShortestPaths(paths) => (Box::new(self.shortest_paths(paths)?), true),
            Operator::AddVertex { label, properties } => {
                (Box::new(write::AddVertex::new(self.by(label)?, self.properties(properties)?)), true)
            }
            Operator::AddEdge { edge_type, from, to, properties } => {
                let ends = [self.by(from)?, self.by(to)?];
                (Box::new(write::AddEdge::new(self.by(edge_type)?, ends, self.properties(properties)?)), true)
            }
            Operator::SetProperties(properties) => {
                (Box::new(write::SetProperties(self.properties(properties)?)), false)
            }
            Operator::Merge(merge) => (Box::new(self.merge(merge)?), true),
            Operator::Drop => (Box::new(write::Drop::default()), false),
            Operator::Io(_) => {
                return Err(Error::invalid(
                    "io() works on the database itself, not on a snapshot or in a transaction",
                ));
            }
        })
    }

    /// `step`, which hands on all that becomes of its input at once where the order of rows is kept: in portions then.
    fn bounded(&self, step: impl Step + 'static) -> Box<dyn Step> {
        match self.row_order.is_kept() {
            true => Box::new(portion::PortionedStep::new(Box::new(step))),
            false => Box::new(step),
        }
    }

    /// A part that runs where the vertices lie, and its steps for where it cannot.
    fn travel(&mut self, of: &Traversal) -> Result<travel::Travel> {
        let [scan @ Operator::Vertices(_), ..] = of.operators.as_slice() else {
            return Err(Error::invalid("what runs where the vertices lie begins with V()"));
        };
        let (here, source) = (self.pipeline(of)?, self.steps(std::slice::from_ref(scan))?);
        Ok(travel::Travel::new(of, Pipeline::new(source), here))
    }

    fn properties(&mut self, all: &[NewProperty]) -> Result<write::NewProperties> {
        let mut one = |property: &NewProperty| {
            let own = property.properties.iter().map(|(key, value)| Ok((self.by(key)?, self.by(value)?)));
            let properties = own.collect::<Result<_>>()?;
            let (key, value) = (self.by(&property.key)?, self.by(&property.value)?);
            Ok(write::NewProperty { key, value, cardinality: property.cardinality, properties })
        };
        Ok(write::NewProperties(all.iter().map(&mut one).collect::<Result<_>>()?))
    }

    fn merge(&mut self, of: &Merge) -> Result<merge::Merge> {
        let [source, target] = &of.ends;
        Ok(merge::Merge::new(
            of.kind,
            self.merge_map(&of.map)?,
            of.on_create.as_ref().map(|map| self.merge_map(map)).transpose()?,
            of.on_match.as_ref().map(|map| self.merge_map(map)).transpose()?,
            [
                source.as_ref().map(|map| self.merge_map(map)).transpose()?,
                target.as_ref().map(|map| self.merge_map(map)).transpose()?,
            ],
        ))
    }

    fn merge_map(&mut self, map: &MergeMap) -> Result<merge::MergeMap> {
        Ok(match map {
            MergeMap::Literal(description) => merge::MergeMap::Literal(description.clone()),
            MergeMap::Of(by) => merge::MergeMap::Of(self.by(by)?),
        })
    }

    /// Whether what comes of the child `of` must be sorted, so that it is in the order of the rows.
    fn must_sort(&self, of: &Traversal) -> bool {
        self.row_order.is_kept() && !of.keeps_origins()
    }

    /// The slot of where edges came from: no label is empty.
    fn came_from(&self) -> Option<usize> {
        self.plan.slots.iter().position(|name| name.is_empty())
    }

    fn group(&mut self, group: &plan::Group) -> Result<(Box<dyn Step>, bool)> {
        let value = match &group.value {
            plan::GroupValue::List(by) => group::GroupReduction::List(self.by(by)?),
            plan::GroupValue::Count => group::GroupReduction::Count,
            plan::GroupValue::Traversal(of) => group::GroupReduction::Traversal(self.child(of)?),
        };
        let groups = group::Groups::new(self.by(&group.key)?, value);
        Ok(match group.into {
            Some(into) => (Box::new(side_effect::GroupSideEffect::new(groups, into)), false),
            None => (Box::new(group::Group::new(groups)), true),
        })
    }

    fn choose(&mut self, choose: &plan::Choose) -> Result<branch::Choose> {
        let on = match &choose.on {
            plan::Chooser::Exists(of) => branch::Chooser::Exists(self.child(of)?),
            plan::Chooser::By(by) => branch::Chooser::By(self.by(by)?),
        };
        let mut traversals: Vec<&Traversal> = Vec::new();
        let mut branch = |of| {
            traversals.push(of);
            traversals.len() - 1
        };
        let options =
            choose.options.iter().map(|(predicates, of)| (predicates.clone(), branch(of))).collect();
        let none = choose.none.as_ref().map(&mut branch);
        let unproductive = choose.unproductive.as_ref().map(&mut branch);
        Ok(branch::Choose::new(on, options, none, unproductive, self.branches(&traversals)?))
    }

    fn repeat(&mut self, repeat: &plan::Repeat) -> Result<repeat::Repeat> {
        self.repeats.push(repeat.name.clone());
        let body = self.pipeline(&repeat.body)?;
        let mut ask =
            |asked: &Option<(plan::RepeatCondition, bool)>| -> Result<Option<(repeat::RowCondition, bool)>> {
                let Some((ask, before)) = asked else { return Ok(None) };
                let ask = match ask {
                    plan::RepeatCondition::Yes => repeat::RowCondition::Yes,
                    plan::RepeatCondition::Times(times) => repeat::RowCondition::Times(*times),
                    plan::RepeatCondition::Exists(of) => repeat::RowCondition::Exists(self.child(of)?),
                };
                Ok(Some((ask, *before)))
            };
        let (until, emit) = (ask(&repeat.until)?, ask(&repeat.emit)?);
        self.repeats.pop();
        Ok(repeat::Repeat::new(body, until, emit))
    }

    fn branch(&mut self, branch: &plan::Branch) -> Result<options::Branch> {
        let mut cases = Vec::with_capacity(branch.options.len());
        for (case, _) in &branch.options {
            cases.push(match case {
                plan::Case::Is(predicate) => options::Case::Is(predicate.clone()),
                plan::Case::Gives(of) => options::Case::Gives(self.child(of)?),
                plan::Case::Any => options::Case::Any,
                plan::Case::None => options::Case::None,
                plan::Case::Unproductive => options::Case::Unproductive,
            });
        }
        let branches = self.branches(&branch.options.iter().map(|(_, of)| of).collect::<Vec<_>>())?;
        Ok(options::Branch::new(self.by(&branch.on)?, cases, branches))
    }

    fn call(&mut self, of: &Call) -> Result<call::Call> {
        let computed = of.computed.as_ref().map(|by| self.by(by)).transpose()?;
        let options = of.options.iter().map(|(name, by)| Ok((Arc::clone(name), self.by(by)?)));
        let options = options.collect::<Result<_>>()?;
        Ok(call::Call::new(of, computed, options))
    }

    fn selection(&mut self, of: &Selection) -> Result<algorithm::Selection> {
        Ok(algorithm::Selection::new(self.pipeline(&of.vertices)?, self.child(&of.edges)?))
    }

    fn shortest_paths(&mut self, paths: &ShortestPaths) -> Result<shortest_path::ShortestPaths> {
        let target = &paths.target;
        let chosen = shortest_path::PathOptions {
            target: (!target.operators.is_empty()).then(|| self.child(target)).transpose()?,
            distance: paths.distance.as_ref().map(|by| self.by(by)).transpose()?,
            distance_max: paths.distance_max,
            includes_edges: paths.includes_edges,
        };
        Ok(shortest_path::ShortestPaths::new(self.selection(&paths.selection)?, chosen))
    }

    fn matched(&mut self, matched: &Match) -> Result<pattern::Match> {
        let solver = self.solver(&matched.patterns)?;
        let named = |slot: &usize| (*slot, self.plan.slots.get(*slot).cloned().unwrap_or_default());
        let answer = matched.answer.iter().map(named).collect();
        Ok(pattern::Match::new(matched.begin, matched.starts.clone(), answer, solver))
    }

    fn solver(&mut self, patterns: &[Pattern]) -> Result<pattern::Solver> {
        let mut made = Vec::with_capacity(patterns.len());
        for planned in patterns {
            made.push(match planned {
                Pattern::Path(path) => {
                    pattern::Pattern::path(path, self.child(&path.of)?, self.plan.reads_paths)
                }
                Pattern::Any(all) => {
                    let solvers = all.iter().map(|patterns| self.solver(patterns)).collect::<Result<_>>()?;
                    let mut needs = Vec::new();
                    planned.needs(&mut needs);
                    pattern::Pattern::any(solvers, needs)
                }
            });
        }
        Ok(pattern::Solver::new(made))
    }

    fn function(&mut self, function: &function::Function) -> Result<Function> {
        Ok(match function {
            function::Function::Constant(item) => Function::Constant(item.clone()),
            function::Function::Id => Function::Part(Projection::Token(Token::Id)),
            function::Function::Label => Function::Part(Projection::Token(Token::Label)),
            function::Function::Key => Function::Part(Projection::Token(Token::Key)),
            function::Function::Value => Function::Part(Projection::Token(Token::Value)),
            function::Function::Element => Function::Element,
            function::Function::Select { names, by } => Function::Select(names.clone(), self.all_by(by)?),
            function::Function::SelectNamed { key, pop, by } => {
                let by = by.as_ref().map(|by| self.by(by)).transpose()?;
                Function::SelectNamed(Box::new(ComputedName {
                    key: self.by(key)?,
                    pop: *pop,
                    by,
                    slots: self.plan.slots.clone(),
                    side_effects: self.plan.side_effects.clone(),
                }))
            }
            function::Function::Path { part, by } => Function::Path(part.clone(), self.all_by(by)?),
            function::Function::Project { names, by } => Function::Project(names.clone(), self.all_by(by)?),
            function::Function::Sack => Function::Sack,
            function::Function::Loops(None) => Function::Loops(0),
            function::Function::Loops(Some(name)) => {
                let out = self.repeats.iter().rev().position(|repeat| repeat.as_ref() == Some(name));
                Function::Loops(out.ok_or_else(|| {
                    Error::invalid(format!("loops('{name}') is in no repeat('{name}', ...)"))
                })?)
            }
            function::Function::Local(reducer) => Function::Reduce(reducer.clone()),
            function::Function::Column { keys } => Function::Column(*keys),
            function::Function::LocalRange { skip, limit } => Function::Range(*skip, *limit),
            function::Function::LocalTail(count) => Function::Tail(*count),
            function::Function::LocalOrder(by) => Function::Order(self.sorted_by(by)?),
            function::Function::LocalDedup => Function::Dedup,
            function::Function::Scalar(scalar) => Function::Scalar(self.scalar(scalar)?),
            function::Function::ElementMap { shape, by } => {
                let visible = &shape.visible;
                let visible = (!visible.operators.is_empty()).then(|| self.child(visible)).transpose()?;
                Function::ElementMap(shape.clone(), self.all_by(by)?, visible)
            }
        })
    }
}

impl Builder<'_> {
    fn scalar(&mut self, scalar: &Scalar) -> Result<scalar::Scalar> {
        Ok(match scalar {
            Scalar::Each(function) => scalar::Scalar::Each(function.clone()),
            Scalar::Concat(of) => scalar::Scalar::Concat(self.all_by(of)?),
            Scalar::List(function, given, by) => scalar::Scalar::List(*function, *given, self.by(by)?),
            Scalar::DateDifference(by) => scalar::Scalar::DateDifference(self.by(by)?),
            Scalar::Format(parts, by) => scalar::Scalar::Format(parts.clone(), self.all_by(by)?),
            Scalar::Math { formula, names, by } => {
                scalar::Scalar::Math(formula.clone(), names.clone(), self.all_by(by)?)
            }
            Scalar::Sample(count) => scalar::Scalar::Sample(*count, self.chance()),
        })
    }
}

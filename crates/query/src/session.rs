//! Session: runs a plan; its results come in batches, or all at once.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::execute::context::{Context, Graph};
use crate::execute::limits::{Charge, ResultMeter};
use crate::execute::pipeline::Pipeline;
use crate::execute::side_effects::SideEffect;
use crate::execute::step_measures::Measurements;
use crate::explain::Explanation;
use crate::metrics;
use crate::plan::operator::{Outcome, Plan};
use crate::rule::remote;
use crate::service::Services;
use crate::step::build::Builder;
use crate::value::item::Item;
use evergraph_algorithms::kernels::Kernels;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView;

/// The results of a query that runs: each is made when it is fetched.
pub struct Results<'a> {
    pipeline: Pipeline,
    context: Context<'a>,
    /// The steps, if they are explained or measured.
    explanation: Explanation,
    /// What the result is, until it was given.
    outcome: Outcome,
}

/// Begins to run `plan` on `graph`; `call()` may call `services`, and `kernels` run the algorithms of `pageRank()` and the
/// like. Nothing is read before the first result is fetched.
///
/// # Errors
/// `invalid` for a plan that can't be run; as [`GraphView::check_begun`].
pub fn run<'a>(
    plan: &Plan,
    graph: Graph<'a>,
    charge: Charge<'a>,
    services: &Services,
    kernels: &'a dyn Kernels,
) -> Result<Results<'a>> {
    let placed = placed(plan, &graph);
    let plan = placed.as_ref().unwrap_or(plan);
    match plan.outcome {
        Outcome::Results => begin(
            plan,
            Builder::new(plan),
            context(graph, charge, services, kernels)?,
            Explanation::default(),
        ),
        Outcome::Profile => measured(plan, graph, charge, services, kernels),
        Outcome::Explanation => {
            let context = context(graph, charge, services, kernels)?;
            let explanation = Explanation::of(plan, Some(&context.catalogue()));
            Ok(Results { pipeline: Pipeline::new(Vec::new()), context, explanation, outcome: plan.outcome })
        }
    }
}

/// The same, with steps that measure what they do: see [`Results::profile`].
///
/// Cost: two looks at the clock a batch and step.
///
/// # Errors
/// As [`run`].
pub fn run_measured<'a>(
    plan: &Plan,
    graph: Graph<'a>,
    charge: Charge<'a>,
    services: &Services,
    kernels: &'a dyn Kernels,
) -> Result<Results<'a>> {
    let placed = placed(plan, &graph);
    measured(placed.as_ref().unwrap_or(plan), graph, charge, services, kernels)
}

/// The plan on a graph that lies on several nodes: what can begins where the vertices lie. `None` for it as it is.
fn placed(plan: &Plan, graph: &Graph<'_>) -> Option<Plan> {
    graph.view().travels().and_then(|_| remote::apply(plan))
}

fn measured<'a>(
    plan: &Plan,
    graph: Graph<'a>,
    charge: Charge<'a>,
    services: &Services,
    kernels: &'a dyn Kernels,
) -> Result<Results<'a>> {
    let mut context = context(graph, charge, services, kernels)?;
    let (explanation, lines) = Explanation::with_places(plan, Some(&context.catalogue()));
    context.measurements = Measurements::of_lines(explanation.lines.len());
    begin(plan, Builder::new(plan).measuring(lines), context, explanation)
}

fn context<'a>(
    graph: Graph<'a>,
    charge: Charge<'a>,
    services: &Services,
    kernels: &'a dyn Kernels,
) -> Result<Context<'a>> {
    // A query that finds none of its names reads nothing, and its empty result would be wrong.
    graph.view().check_begun()?;
    let mut context = Context::new(graph, charge, kernels);
    context.services = services.clone();
    Ok(context)
}

fn begin<'a>(
    plan: &Plan,
    mut builder: Builder<'_>,
    mut context: Context<'a>,
    explanation: Explanation,
) -> Result<Results<'a>> {
    if context.heeds_ahead() {
        builder = builder.foreseeing();
    }
    let mut pipeline = builder.root()?;
    // The graph itself, so to speak: V() and the like begin at it.
    pipeline.push(Batch::new(Column::new(Data::Items(vec![Item::Null])), vec![0]));
    if let Some(timeout) = plan.timeout() {
        context.charge.shorten(timeout);
    }
    context.slots.clone_from(&plan.slots);
    (context.sack, context.bulks) = (plan.sack.clone(), plan.bulks);
    for given in &plan.given {
        *context.side_effects.get_mut(given.number) = SideEffect::Given(given.item.clone(), given.join);
    }
    Ok(Results { pipeline, context, explanation, outcome: plan.outcome })
}

impl<'a> Results<'a> {
    /// The next results; `None` when there are no more. A row stands for as many as its bulk says.
    ///
    /// # Errors
    /// Errors of the query; `limit`, `cancelled`.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let told = match std::mem::take(&mut self.outcome) {
            Outcome::Results => return self.pull(),
            Outcome::Explanation => Item::from(self.explanation.to_string()),
            Outcome::Profile => {
                while self.pull()?.is_some() {}
                metrics::of(&self.profile())
            }
        };
        Ok(Some(Batch::new(Column::of_items(vec![told]), vec![0])))
    }

    fn pull(&mut self) -> Result<Option<Batch>> {
        let context = &self.context;
        let _waits = context.is_remote().then(|| context.charge.limit_waits());
        let pulled = self.pipeline.pull(true, &mut self.context);
        self.context.charge.explained(pulled)
    }

    /// What each step did so far, if they are measured: see [`run_measured`].
    #[must_use]
    pub fn profile(&self) -> Explanation {
        self.explanation.clone().measured(&self.context.measurements)
    }

    /// The graph that it runs on.
    #[must_use]
    pub fn view(&self) -> &dyn GraphView {
        self.context.view()
    }

    /// The limits that it runs within.
    #[must_use]
    pub fn charge(&self) -> &Charge<'a> {
        &self.context.charge
    }

    /// Ends it, and returns the graph and its limits, with nothing counted.
    #[must_use]
    pub fn end(self) -> (Graph<'a>, Charge<'a>) {
        let Self { pipeline, context, .. } = self;
        drop(pipeline);
        let (graph, charge) = context.into_parts();
        (graph, charge.renewed())
    }

    /// All results, one item each.
    ///
    /// # Errors
    /// As [`Results::next_batch`].
    pub fn collect(&mut self) -> Result<Vec<Item>> {
        let (mut all, mut meter) = (Vec::new(), ResultMeter::new(self.context.charge.limits()));
        while let Some(batch) = self.next_batch()? {
            for (row, item) in batch.current.items().enumerate() {
                meter.count(&item, batch.bulk(row))?;
                let times = usize::try_from(batch.bulk(row)).unwrap_or(usize::MAX);
                self.context.charge.hold(times.saturating_mul(size_of::<Item>() + item.heap_bytes()))?;
                all.extend(std::iter::repeat_n(item, times));
            }
        }
        Ok(all)
    }
}

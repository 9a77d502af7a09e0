//! `Travel`: a part of a query that runs where the vertices lie; at the coordinator it sends and collects.
//!
//! ```text
//! V() scans all             program ──> every node begins by itself ──┐
//! V(ids), or by an index    look up ──> rows ──> their nodes ─────────┴──> results ──> what follows
//!                            │                                        ├──> a node is lost: once more, at other nodes
//!                            └ a range with too many: as a scan       └──> one cannot go on: the same steps here, by reading there
//! ```
//!
//! Nothing goes on before all results have come, so that another run, or another way of reading, can take the place of one that a
//! node has given up. There is a second run only after the loss of a node, since whatever else nodes fail by they may fail by again: and
//! no third one. What a run fails by that reading would fail by, too, is the query's error.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::pending_batches::PendingBatches;
use crate::execute::pipeline::{Pipeline, Step};
use crate::plan::operator::{Operator, Scan, Test, Traversal};
use crate::step::filter::passes;
use crate::step::look_up::Choice;
use crate::step::source::labels;
use crate::travel::outgoing::{Destination, Outgoing};
use crate::travel::{program, rows};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::travel::{
    EncodedRows, LostNode, PlaceMeasures, RowsOutput, RowsTarget, TravelProgram, TravelRun, TravelStart,
    Travels, is_of_node,
};
use std::time::Duration;

/// Rows that stay where they are, as all steps run here.
pub struct Exchange;

impl Step for Exchange {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        Ok(input.take())
    }
}

/// A part of a query from `V()` on.
pub struct Travel {
    scan: Scan,
    /// The stages, the first without the scan.
    stages: Vec<Traversal>,
    /// The scan alone.
    source: Pipeline,
    /// All of it, for where it does not travel.
    here: Pipeline,
    state: TravelState,
}

/// How the first rows are found.
enum FirstVertices {
    /// Each node scans its own.
    Scanned,
    /// By their ids, or what equals a value: the source looks them up.
    Named,
    /// These lie in the range of an index; the tests of the scan still decide.
    InRange(Vec<VertexId>),
}

enum TravelState {
    /// The query itself, once it has come.
    Waits(Option<Batch>),
    Results(PendingBatches),
    Here,
}

impl Travel {
    /// The part `of`, which begins with a scan; `source` runs that alone, and `here` all of it.
    #[must_use]
    pub fn new(of: &Traversal, source: Pipeline, here: Pipeline) -> Self {
        let scan = match of.operators.first() {
            Some(Operator::Vertices(scan)) => scan.clone(),
            _ => Scan::default(),
        };
        let of_stages = of.operators.split(|operator| *operator == Operator::Exchange);
        let mut stages: Vec<_> = of_stages.map(|of| Traversal { operators: of.to_vec() }).collect();
        if let [Operator::Vertices(_), ..] = stages[0].operators.as_slice() {
            stages[0].operators.remove(0);
        }
        Self { scan, stages, source, here, state: TravelState::Waits(None) }
    }

    fn run(&mut self, row: Batch, cx: &mut Context<'_>) -> Result<()> {
        if let Some(travels) = cx.view().travels()
            && let Some(found) = self.results(&*travels, &row, cx)?
        {
            self.state = TravelState::Results(found);
            return Ok(());
        }
        self.state = TravelState::Here;
        self.here.push(row);
        Ok(())
    }

    /// The results of a run; of a second one if a node is lost in the first, since others are chosen then. `None` if all steps have to run
    /// here.
    fn results(
        &mut self,
        travels: &dyn Travels,
        row: &Batch,
        cx: &mut Context<'_>,
    ) -> Result<Option<PendingBatches>> {
        // What the first run has failed by.
        let mut loss: Option<Error> = None;
        loop {
            let error = match self.begin(travels, cx) {
                Ok(None) => return Ok(None),
                Ok(Some((run, first))) => {
                    if let Some(loss) = &loss {
                        cx.measurements.add_note(format!("begun again, since {loss}"));
                    }
                    match self.collect(run, first, row, cx) {
                        Ok(found) => return Ok(Some(found)),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            if !is_of_node(error.kind()) {
                return Err(error);
            }
            cx.charge.check()?;
            if loss.is_some() || error.cause::<LostNode>().is_none() {
                let note = format!("all steps ran here, and not where the vertices lie: {error}");
                cx.measurements.add_note(note);
                return Ok(None);
            }
            loss = Some(error);
        }
    }

    /// How the first rows are found: as in a graph at hand, so that a range with too many of them is left to a scan.
    fn first_vertices(&self, cx: &mut Context<'_>) -> Result<FirstVertices> {
        if self.scan.ids.is_some() {
            return Ok(FirstVertices::Named);
        }
        let catalogue = cx.catalogue();
        let labels = labels(&self.scan.tests, |name| catalogue.label(name));
        Ok(match Choice::of(&self.scan.tests, labels.as_deref(), &catalogue) {
            None => FirstVertices::Scanned,
            Some(choice) if !choice.is_range() => FirstVertices::Named,
            Some(choice) => match choice.items(cx)? {
                Some(found) => FirstVertices::InRange(found),
                None => FirstVertices::Scanned,
            },
        })
    }

    /// Begins a run where the vertices lie, and says how the first are found; `None` if no fewer messages come of it than of reading
    /// from here: rows that are named and do not go on to other nodes take one to each of theirs either way.
    fn begin(
        &self,
        travels: &dyn Travels,
        cx: &mut Context<'_>,
    ) -> Result<Option<(Box<dyn TravelRun>, FirstVertices)>> {
        let first = self.first_vertices(cx)?;
        let (start, stages) = match first {
            FirstVertices::Scanned => (TravelStart::Everywhere, self.with_scan()),
            FirstVertices::Named if self.stages.len() == 1 => return Ok(None),
            FirstVertices::Named | FirstVertices::InRange(_) => (TravelStart::Rows, self.stages.clone()),
        };
        let bytes = program::encode(&stages).ok_or_else(|| {
            Error::new(ErrorKind::Busy, "a part of the query is too large to be sent to other nodes")
        })?;
        let (memory_bytes, time) = (cx.charge.limits().memory_bytes, left(cx));
        let program = TravelProgram { bytes, stages: stages.len() as u16, start, memory_bytes, time };
        Ok(Some((travels.begin(program)?, first)))
    }

    /// Sends the first rows, and collects all results.
    fn collect(
        &mut self,
        mut run: Box<dyn TravelRun>,
        first: FirstVertices,
        row: &Batch,
        cx: &mut Context<'_>,
    ) -> Result<PendingBatches> {
        match first {
            FirstVertices::Scanned => {}
            FirstVertices::Named => self.send_named(&mut *run, row, cx)?,
            FirstVertices::InRange(found) => self.send_found(&mut *run, row, &found, cx)?,
        }
        let mut found = PendingBatches::default();
        while let Some(bytes) = run.next()? {
            let batch = rows::decode(&bytes).map_err(|error| rows::unreadable(&error))?;
            found.push(batch, &mut cx.charge)?;
            cx.charge.check()?;
        }
        for of in run.measures() {
            cx.measurements.add_note(shown(&of));
        }
        Ok(found)
    }

    /// The stages with the scan at their beginning: by label, and everything else behind it. No node asks an index that it may
    /// have begun to keep after the snapshot.
    fn with_scan(&self) -> Vec<Traversal> {
        let mut stages = self.stages.clone();
        let (of_label, rest): (Vec<Test>, Vec<Test>) =
            self.scan.tests.iter().cloned().partition(|test| matches!(test, Test::Label(_)));
        let mut first = vec![Operator::Vertices(Scan { ids: None, tests: of_label })];
        if !rest.is_empty() {
            first.push(Operator::Filter(rest));
        }
        stages[0].operators.splice(0..0, first);
        stages
    }

    /// Looks the first rows up, and sends them to where they are.
    fn send_named(&mut self, run: &mut dyn TravelRun, row: &Batch, cx: &mut Context<'_>) -> Result<()> {
        let (routes, mut outgoing) = (run.routes(), Outgoing::new(Destination::Owners));
        let mut first = FirstRows(run);
        self.source.reset(1);
        self.source.push(row.clone());
        while let Some(batch) = self.source.pull(true, cx)? {
            outgoing.push(&batch, &mut cx.charge, (&routes, &mut first))?;
        }
        outgoing.flush(&mut cx.charge, (&routes, &mut first))?;
        run.end_rows()
    }

    /// Sends those of `found` that pass to where they are.
    fn send_found(
        &self,
        run: &mut dyn TravelRun,
        row: &Batch,
        found: &[VertexId],
        cx: &mut Context<'_>,
    ) -> Result<()> {
        let _holding = cx.charge.holding(size_of_val(found))?;
        let (routes, mut outgoing) = (run.routes(), Outgoing::new(Destination::Owners));
        let mut first = FirstRows(run);
        for some in found.chunks(cx.charge.batch_rows()) {
            cx.charge.check()?;
            let rows = Rows::Some(vec![0; some.len()].into());
            let batch = row.clone().follow(&rows, Column::new(Data::Vertices(some.to_vec())));
            let passing = passes(batch, &self.scan.tests, cx)?;
            outgoing.push(&passing, &mut cx.charge, (&routes, &mut first))?;
        }
        outgoing.flush(&mut cx.charge, (&routes, &mut first))?;
        run.end_rows()
    }
}

/// Sends rows to the first stage.
struct FirstRows<'r>(&'r mut dyn TravelRun);

impl RowsOutput for FirstRows<'_> {
    fn put(&mut self, to: RowsTarget, rows: EncodedRows) -> Result<()> {
        match to {
            RowsTarget::Place(place) => self.0.send(place, rows),
            RowsTarget::Asker => Ok(()),
        }
    }
}

/// How long the query may still take.
fn left(cx: &Context<'_>) -> Duration {
    let deadline = cx.charge.cancel().deadline();
    deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(std::time::Instant::now()))
}

fn shown(of: &PlaceMeasures) -> String {
    let stages = of.stages.iter().enumerate().map(|(number, stage)| {
        format!(
            "stage {number} {:.1?} of {} rows and {} edges, sent {} rows as {} bytes in {} messages",
            stage.time, stage.rows, stage.edges, stage.sent_rows, stage.sent_bytes, stage.sent_messages
        )
    });
    format!("node {}: {}", of.node, stages.collect::<Vec<_>>().join("; "))
}

impl Step for Travel {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(row) = input.take() {
            self.state = TravelState::Waits(Some(row));
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let TravelState::Waits(row) = &mut self.state {
            let Some(row) = row.take() else { return Ok(None) };
            self.run(row, cx)?;
        }
        match &mut self.state {
            TravelState::Results(found) => Ok(found.pop()),
            TravelState::Here => self.here.pull(true, cx),
            TravelState::Waits(_) => Ok(None),
        }
    }

    fn reset(&mut self, origins: u32) {
        self.state = TravelState::Waits(None);
        self.source.reset(origins);
        self.here.reset(origins);
    }
}

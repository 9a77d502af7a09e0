//! Outcome: what came of an algorithm, here or on a server, as a report and a file.

use crate::command::run::answer::{AnswerRows, Path as FoundPath};
use crate::command::run::answer_file;
use crate::command::run::arguments::RunRequest;
use crate::command::run::keys::Keys;
use crate::command::run::parameters::figures as chosen_figures;
use crate::command::run::report::{PathRow, PathVertex, RunReport, Seconds, TopRow, TopRows};
use crate::command::run::vertex_naming::VertexNaming;
use crate::context::Context;
use evergraph_analysis::answer::{Answer, Figure};
use evergraph_analysis::arguments::Arguments;
use evergraph_analysis::input::Frozen;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::result_file::ResultFile;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// What came of an algorithm.
pub struct RunOutcome {
    /// The folder or the URL.
    pub database: String,
    /// What came first, `opened` or `connected`, and how long it took.
    pub first_step: (&'static str, Duration),
    /// The commit that the snapshot shows.
    pub timestamp: u64,
    /// The part of the graph in scope, if it was frozen.
    pub frozen: Option<Frozen>,
    /// How long freezing took.
    pub freezing_time: Duration,
    /// How long the algorithm took.
    pub kernel_time: Duration,
    /// What it was told.
    pub arguments: Arguments,
    /// What it found.
    pub answer: Answer,
}

impl RunOutcome {
    /// Writes the whole answer to `file`, if there is one, and prints what is worth a look.
    ///
    /// # Errors
    /// Those of `naming` and of writing; `cancelled`.
    pub fn report(
        self,
        request: &RunRequest,
        keys: &Keys,
        naming: &dyn VertexNaming,
        file: Option<ResultFile>,
        meter: Meter,
        context: &Context,
    ) -> std::result::Result<(), Failure> {
        let RunRequest { algorithm, common, .. } = request;
        let (summary, outcome) = (self.answer.summary.clone(), figures(&self.arguments, &self.answer));
        let found = AnswerRows::new(algorithm, &self.arguments, self.answer, common.top);
        let top = top(&found, naming, common.top)?;
        let began = Instant::now();
        let output = file.as_ref().map(|file| file.name().to_owned());
        let to_standard_output = output.as_deref() == Some("-");
        if let Some(file) = file {
            answer_file::write(file, naming, found, keys, &meter, &context.cancel)?;
        }
        let write = began.elapsed();
        drop(meter);
        let (first_step, open) = self.first_step;
        let mut report = RunReport {
            algorithm: algorithm.command(),
            database: self.database,
            timestamp: self.timestamp,
            vertices: self.frozen.map(|frozen| frozen.vertices),
            edges: self.frozen.map(|frozen| frozen.edges),
            fresh_share: self.frozen.map(|frozen| frozen.fresh_share),
            summary,
            outcome,
            top,
            output,
            with_times: true,
            first_step,
            seconds: Seconds {
                open: open.as_secs_f64(),
                freeze: self.freezing_time.as_secs_f64(),
                kernel: self.kernel_time.as_secs_f64(),
                write: write.as_secs_f64(),
            },
        };
        if to_standard_output {
            // The table would end up among the rows.
            context.console.note(report.to_string().trim_end());
            return Ok(());
        }
        // The answer was asked for; how long each step took is a summary.
        report.with_times = !context.console.is_quiet();
        context.console.result(&report)
    }
}

/// What was chosen and what came of it, as figures.
fn figures(arguments: &Arguments, answer: &Answer) -> Value {
    let figures = answer.figures.iter().map(|(name, figure)| {
        let figure = match figure {
            Figure::Nothing => Value::Null,
            Figure::Boolean(figure) => json!(figure),
            Figure::Whole(figure) => json!(figure),
            Figure::Real(figure) => json!(figure),
        };
        ((*name).to_owned(), figure)
    });
    Value::Object(chosen_figures(arguments).chain(figures).collect::<Map<_, _>>())
}

/// What is worth a look, with names.
fn top(found: &AnswerRows, naming: &dyn VertexNaming, count: usize) -> Result<TopRows> {
    match found {
        AnswerRows::Values(values) => {
            let ids: Vec<VertexId> = values.top.iter().map(|(vertex, _)| *vertex).collect();
            let names = naming.names(&ids)?;
            // Groups are numbered in the order in which they are worth a look.
            let group = |place: u64| values.group_name.map(|_| place);
            let rows = values.top.iter().zip(names).zip(0..);
            let row = |(((vertex, value), name), place): ((&(VertexId, _), _), _)| TopRow {
                group: group(place),
                vertex: vertex.0,
                name,
                value: *value,
            };
            Ok(TopRows::Values {
                top_value: values.top_name,
                group_name: values.group_name,
                top: rows.map(row).collect(),
            })
        }
        AnswerRows::Paths(paths) => {
            let row = |path: FoundPath<'_>| {
                let names = naming.names(path.vertices)?.into_iter();
                let vertices = path.vertices.iter().zip(names);
                Ok(PathRow {
                    length: path.length(),
                    vertices: vertices.map(|(vertex, name)| PathVertex { vertex: vertex.0, name }).collect(),
                })
            };
            let rows = paths.iter().take(count).map(row).collect::<Result<_>>()?;
            Ok(TopRows::Paths { closed: paths.are_cycles(), paths: rows })
        }
    }
}

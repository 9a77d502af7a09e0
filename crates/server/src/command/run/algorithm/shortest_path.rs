//! `evergraph run DB shortest-path`: one path between two vertices, nothing frozen.

use crate::command::run::answer::{Answer, Found, Paths};
use crate::command::run::choices::{CommonArguments, DirectionArgument, SourceArguments, WeightArguments};
use crate::command::run::setting::{Run, Setting};
use crate::terminal::number::{counted, reals};
use clap::Args;
use evergraph_algorithms::shortest_path::{ShortestPathParameters, shortest_path};
use evergraph_graph::error::Result;
use serde_json::json;

/// What a shortest path is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  evergraph run bank.eg shortest-path --source 10034831 --target 10012143 --weight amount_cents

With --weight the rows of the file have a column `value`: the length up to there.")]
pub struct ShortestPathArguments {
    /// Where it begins.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Where it ends.
    #[command(flatten)]
    pub target: TargetArguments,
    /// Along which edges it goes.
    #[arg(long, value_enum, default_value_t)]
    pub direction: DirectionArgument,
    /// What its length is.
    #[command(flatten)]
    pub weight: WeightArguments,
    /// Longer paths are not looked for.
    #[arg(long, value_name = "LENGTH")]
    pub length_max: Option<f64>,
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Where a path ends.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct TargetArguments {
    /// End at the vertex with this unique key.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub target: Option<String>,
    /// End at the vertex with this number.
    #[arg(long, value_name = "N")]
    pub target_vertex: Option<u32>,
}

impl Run for ShortestPathArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let source = setting.source(&self.source)?;
        let target = setting.vertex("target", self.target.target.as_deref(), self.target.target_vertex)?;
        let parameters = ShortestPathParameters {
            direction: self.direction.direction(),
            weight: setting.weight(&self.weight)?,
            length_max: self.length_max.unwrap_or(f64::INFINITY),
        };
        let (view, scope) = (setting.snapshot, &setting.scope);
        let path = shortest_path(view, scope, source, target, &parameters, &setting.control)?;
        let (mut paths, mut summary) = (Paths::default(), "no path".to_owned());
        if let Some(path) = &path {
            summary = format!("a path over {}", counted(path.edges.len() as u64, "edge", "edges"));
            let weighted = parameters.weight.is_some();
            if weighted {
                summary += &format!(" of length {}", reals(&[path.length()]).concat());
            }
            paths.push(path.vertices.iter().copied(), if weighted { &path.lengths } else { &[] });
        }
        Ok(Answer {
            summary,
            figures: json!({
                "direction": self.direction.name(),
                "source_vertex": source.0,
                "target_vertex": target.0,
                "weight": self.weight.weight,
                "found": path.is_some(),
                "length": path.as_ref().map(|path| path.length()),
                "edges": path.as_ref().map(|path| path.edges.len()),
            }),
            found: Found::Paths(paths),
        })
    }
}

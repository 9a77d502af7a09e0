//! `evergraph run DB kcore`: core numbers, the highest first.

use crate::command::run::answer::{Amount, Answer, Found, Kind, Values};
use crate::command::run::choices::CommonArguments;
use crate::command::run::setting::{Run, Setting};
use clap::Args;
use evergraph_algorithms::kcore::kcore;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use serde_json::json;

/// What core numbers are told.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  evergraph run bank.eg kcore --where 'risk<0.5' --output cores.csv")]
pub struct KCoreArguments {
    /// What all algorithms are told.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Run for KCoreArguments {
    fn common(&self) -> &CommonArguments {
        &self.common
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Answer> {
        let topology = setting.freeze(Direction::Both, None)?;
        let found = kcore(&topology, &setting.control)?;
        let degeneracy = found.degeneracy();
        let value = move |vertex| Amount::Whole(u64::from(found.cores()[vertex as usize]));
        let (vertices, top) = (topology.vertices(), setting.top);
        Ok(Answer {
            summary: format!("the innermost core is the {degeneracy}-core"),
            figures: json!({ "degeneracy": degeneracy }),
            found: Found::Values(Values::highest(vertices, Kind::Whole, "core", top, value)),
        })
    }
}

//! The arguments of `evergraph run`: a database, an algorithm, and what each may be told.

use crate::command::run::algorithm::betweenness::BetweennessArguments;
use crate::command::run::algorithm::bfs::BfsArguments;
use crate::command::run::algorithm::cdlp::CdlpArguments;
use crate::command::run::algorithm::closeness::ClosenessArguments;
use crate::command::run::algorithm::cycles::CyclesArguments;
use crate::command::run::algorithm::eigenvector::EigenvectorArguments;
use crate::command::run::algorithm::k_hop::KHopArguments;
use crate::command::run::algorithm::kcore::KCoreArguments;
use crate::command::run::algorithm::lcc::LccArguments;
use crate::command::run::algorithm::louvain::LouvainArguments;
use crate::command::run::algorithm::pagerank::PageRankArguments;
use crate::command::run::algorithm::scc::SccArguments;
use crate::command::run::algorithm::shortest_path::ShortestPathArguments;
use crate::command::run::algorithm::sssp::SsspArguments;
use crate::command::run::algorithm::topological_order::TopologicalOrderArguments;
use crate::command::run::algorithm::triangles::TriangleArguments;
use crate::command::run::algorithm::wcc::WccArguments;
use crate::command::run::setting::Run;
use clap::{Args, Command, Subcommand};
use std::fmt::Write as _;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph run social.eg pagerank --output ranks.parquet
  evergraph run bank.eg bfs --source 10034831 --direction both --where 'risk<0.5'
  evergraph run bank.eg shortest-path --source 10034831 --target 10012143 --weight amount_cents
  evergraph run bank.eg wcc --type TRANSFER --json
`evergraph generate payments bank.eg` makes the graph of these examples.

The algorithm runs on a snapshot of what is in the database now. --output writes a row for each
vertex, `key,value`:
  key    the vertex' unique key; the number of the vertex where its label has none; --key chooses
         another property. With several labels in scope a column `label` comes first.
  value  what was found; the algorithm's own help says what that is
Paths and cycles have a row for each vertex, `path,position,key`.
`evergraph run DB ALGORITHM --help` says more about one algorithm.";

/// What `evergraph run` is told.
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP,
    help_template = help_template(),
    subcommand_value_name = "ALGORITHM",
    disable_help_subcommand = true
)]
pub struct RunArguments {
    /// The database.
    pub database: PathBuf,
    /// The algorithm.
    #[command(subcommand)]
    pub algorithm: Algorithm,
}

/// An algorithm and what may be chosen about it.
#[derive(Subcommand, Debug)]
pub enum Algorithm {
    /// How much of a random walk's time each vertex gets.
    Pagerank(PageRankArguments),
    /// How many shortest paths lead through each vertex.
    Betweenness(BetweennessArguments),
    /// How near each vertex is to all others.
    Closeness(ClosenessArguments),
    /// How important those are that point to each vertex.
    Eigenvector(EigenvectorArguments),
    /// How many edges each vertex is away from a source.
    Bfs(BfsArguments),
    /// The least sum of weights on a path from a source to each vertex.
    Sssp(SsspArguments),
    /// One shortest path between two vertices.
    ShortestPath(ShortestPathArguments),
    /// The vertices within a few edges.
    KHop(KHopArguments),
    /// Which vertices hang together, whatever the edges' direction.
    Wcc(WccArguments),
    /// Which vertices reach each other.
    Scc(SccArguments),
    /// Simple cycles up to a length.
    Cycles(CyclesArguments),
    /// Every vertex after those that it depends on.
    TopologicalOrder(TopologicalOrderArguments),
    /// Communities by label propagation.
    Cdlp(CdlpArguments),
    /// Communities by modularity.
    Louvain(LouvainArguments),
    /// The innermost core that each vertex is in.
    Kcore(KCoreArguments),
    /// How many triangles each vertex is in.
    Triangles(TriangleArguments),
    /// How well the neighbours of each vertex are connected.
    Lcc(LccArguments),
}

/// What algorithms answer, and which they are.
pub const ALGORITHM_GROUPS: [(&str, &[&str]); 4] = [
    ("Who matters", &["pagerank", "betweenness", "closeness", "eigenvector"]),
    ("Ways and neighbourhoods", &["bfs", "sssp", "shortest-path", "k-hop"]),
    ("Components and order", &["wcc", "scc", "cycles", "topological-order"]),
    ("Communities and density", &["cdlp", "louvain", "kcore", "triangles", "lcc"]),
];

impl Algorithm {
    /// Its name on the command line, and what runs it.
    #[must_use]
    pub fn chosen(&self) -> (&'static str, &dyn Run) {
        match self {
            Self::Pagerank(arguments) => ("pagerank", arguments),
            Self::Betweenness(arguments) => ("betweenness", arguments),
            Self::Closeness(arguments) => ("closeness", arguments),
            Self::Eigenvector(arguments) => ("eigenvector", arguments),
            Self::Bfs(arguments) => ("bfs", arguments),
            Self::Sssp(arguments) => ("sssp", arguments),
            Self::ShortestPath(arguments) => ("shortest-path", arguments),
            Self::KHop(arguments) => ("k-hop", arguments),
            Self::Wcc(arguments) => ("wcc", arguments),
            Self::Scc(arguments) => ("scc", arguments),
            Self::Cycles(arguments) => ("cycles", arguments),
            Self::TopologicalOrder(arguments) => ("topological-order", arguments),
            Self::Cdlp(arguments) => ("cdlp", arguments),
            Self::Louvain(arguments) => ("louvain", arguments),
            Self::Kcore(arguments) => ("kcore", arguments),
            Self::Triangles(arguments) => ("triangles", arguments),
            Self::Lcc(arguments) => ("lcc", arguments),
        }
    }
}

/// The names of all algorithms, in the order of the groups.
pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    ALGORITHM_GROUPS.iter().flat_map(|(_, names)| *names).copied()
}

/// Clap lists subcommands below one heading; so many are easier to choose from in groups.
fn help_template() -> String {
    let command = Algorithm::augment_subcommands(Command::new("run"));
    let about = |name: &str| command.find_subcommand(name).and_then(Command::get_about);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in ALGORITHM_GROUPS {
        write!(text, "\n{group}:\n").expect("a string takes everything");
        for name in names {
            let about = about(name).map(ToString::to_string).unwrap_or_default();
            writeln!(text, "  {name:<18} {about}").expect("a string takes everything");
        }
    }
    text + "\nArguments:\n{positionals}\n\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_algorithm_is_in_one_group_and_has_an_example() {
        let command = Algorithm::augment_subcommands(Command::new("run"));
        let all: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = ALGORITHM_GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(grouped.len(), all.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), all);
        for algorithm in command.get_subcommands() {
            let name = algorithm.get_name();
            let help = algorithm.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = help.lines().nth(1).unwrap_or_default();
            assert!(
                help.starts_with("Examples:\n") && example.contains(&format!(".eg {name}")),
                "{name}: {help}"
            );
        }
    }
}

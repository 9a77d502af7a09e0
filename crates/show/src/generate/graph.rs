//! Graph: a seeded graph of one kind, with what only files have room for.
//!
//! ```text
//! kind      files
//! rmat      rmat.v, rmat.e; with texts for ids, Vertex.csv and EDGE.csv
//! payments  Account.csv, TRANSFER.csv, and the planted rings in rings.json
//! ```

use crate::generate::graph_files::GraphFiles;
use evergraph::generate::payments::{Payments, PaymentsOptions, account_id};
use evergraph::generate::ring::Ring;
use evergraph::generate::rmat::{self, RmatOptions, VertexIds};
use evergraph_graph::error::Error;
use evergraph_graph::load::Load;
use evergraph_terminal::failure::Failure;
use serde::Serialize;

/// A kind of graph, and all that fixes one of that kind.
#[derive(Clone, Debug)]
pub enum GraphKind {
    /// A skewed graph (R-MAT), with such ids.
    Rmat(RmatOptions, VertexIds),
    /// Accounts and transfers over time, with planted rings of fraud.
    Payments(PaymentsOptions),
}

impl GraphKind {
    /// Generates the graph; the same one each time, whatever the machine and its threads.
    ///
    /// # Errors
    /// `invalid` for options out of range.
    pub fn generate(&self) -> Result<GeneratedGraph, Error> {
        Ok(match self {
            Self::Rmat(options, ids) => GeneratedGraph {
                load: rmat::generate_with(options, *ids)?,
                form: match ids {
                    VertexIds::Numbers => Form::Lists,
                    VertexIds::Texts => Form::Csv,
                },
            },
            Self::Payments(options) => {
                let Payments { load, rings, .. } = Payments::generate(options)?;
                GeneratedGraph { load, form: Form::CsvWithRings { rings } }
            }
        })
    }
}

/// A graph that was generated.
#[derive(Debug)]
pub struct GeneratedGraph {
    /// Its vertices and edges.
    pub load: Load,
    form: Form,
}

/// In which form it goes into files.
#[derive(Debug)]
enum Form {
    Lists,
    Csv,
    CsvWithRings { rings: Vec<Ring> },
}

impl GeneratedGraph {
    /// Writes the graph to `files`.
    ///
    /// # Errors
    /// `cancelled`; what writing meets.
    pub fn write(&self, files: &mut GraphFiles<'_>) -> Result<(), Failure> {
        match &self.form {
            Form::Lists => files.lists("rmat", &self.load),
            Form::Csv => files.csv(&self.load),
            Form::CsvWithRings { rings } => {
                files.csv(&self.load)?;
                files.text("rings.json", &rings_json(rings))
            }
        }
    }
}

/// The planted rings, by the ids of their accounts.
fn rings_json(rings: &[Ring]) -> String {
    #[derive(Serialize)]
    struct PlantedRings<'a> {
        accounts: &'a [i64],
        transfers: Vec<Hop>,
    }
    #[derive(Serialize)]
    struct Hop {
        source: i64,
        target: i64,
        amount_cents: i64,
        time_ms: i64,
    }
    let rings: Vec<PlantedRings<'_>> = rings
        .iter()
        .map(|ring| PlantedRings {
            accounts: &ring.accounts,
            transfers: ring
                .transfers
                .iter()
                .map(|transfer| Hop {
                    source: account_id(transfer.source),
                    target: account_id(transfer.target),
                    amount_cents: transfer.amount_cents,
                    time_ms: transfer.time_ms,
                })
                .collect(),
        })
        .collect();
    serde_json::to_string_pretty(&rings).expect("numbers always have a JSON form") + "\n"
}

//! Travel: parts of a query that run on the nodes where the vertices lie.
//!
//! ```text
//! rule/remote ──> Operator::Travel ── program ──> bytes ──> StageRunner at each node: a pipeline for each stage
//! step/travel ── rows of V(...) ───── rows ─────> bytes ──> take ──> outgoing ──> bytes for the next stage, by node
//!      └── results <── rows <── bytes ────────────────────────────────────┘
//! ```
//!
//! - [`item_form`]: items as bytes
//! - [`program`]: stages as bytes
//! - [`rows`]: rows as bytes
//! - [`outgoing`]: rows of a stage on their way to the next one, merged
//! - [`runner`]: a program at one node
//! - [`no_kernels`]: what programs have in place of algorithms
//!
//! Nothing here knows nodes or networks: see [`evergraph_graph::travel`].
//!
//! Source: G-Tran (VLDB 2022), sections 4.1 and 4.4: a query is processed where its data is, and its coordinator aggregates.

pub mod item_form;
pub mod no_kernels;
pub mod outgoing;
pub mod program;
pub mod rows;
pub mod runner;

//! Targets: one module a decoder, with the inputs to begin with and what it promises.

use crate::target::Target;

pub mod algorithm_call;
pub mod arrow_table;
pub mod basic_login;
pub mod body;
pub mod body_file;
pub mod bytecode;
pub mod bytecode_graphson;
pub mod cells;
pub mod certifier_state;
pub mod column;
pub mod column_page;
pub mod csr_file;
pub mod csv;
pub mod dimacs;
pub mod disk_manifest;
pub mod edge_list;
pub mod entry_body;
pub mod entry_page;
pub mod filter_page;
pub mod gexf;
pub mod gml;
pub mod graphml;
pub mod graphson;
pub mod gremlin;
pub mod import;
pub mod job_request;
pub mod limits;
pub mod list_page;
pub mod log;
pub mod log_message;
pub mod long_value_page;
pub mod manifest;
pub mod mapped_body;
pub mod mapped_manifest;
pub mod mapping;
pub mod matrix_market;
pub mod mutations;
pub mod node_checkpoint;
pub mod node_frame;
pub mod node_link;
pub mod pajek;
pub mod parquet;
pub mod pgoutput;
pub mod postgres_session;
pub mod postgres_url;
pub mod postgres_value;
pub mod protocol_http;
pub mod protocol_request;
pub mod protocol_response;
pub mod run_batch;
pub mod salvage;
pub mod sasl;
pub mod server_url;
pub mod stage_program;
pub mod stage_rows;
pub mod transactions;
pub mod users_file;
pub mod value_text;
pub mod vertex_page;

/// All of them, by name: text first, then what the storage writes.
pub const ALL: [(&str, Target); 59] = [
    ("value_text", value_text::TARGET),
    ("gremlin", gremlin::TARGET),
    ("bytecode", bytecode::TARGET),
    ("bytecode_graphson", bytecode_graphson::TARGET),
    ("protocol_request", protocol_request::TARGET),
    ("protocol_http", protocol_http::TARGET),
    ("protocol_response", protocol_response::TARGET),
    ("sasl", sasl::TARGET),
    ("basic_login", basic_login::TARGET),
    ("users_file", users_file::TARGET),
    ("algorithm_call", algorithm_call::TARGET),
    ("job_request", job_request::TARGET),
    ("server_url", server_url::TARGET),
    ("postgres_url", postgres_url::TARGET),
    ("postgres_session", postgres_session::TARGET),
    ("postgres_value", postgres_value::TARGET),
    ("pgoutput", pgoutput::TARGET),
    ("transactions", transactions::TARGET),
    ("arrow_table", arrow_table::TARGET),
    ("limits", limits::TARGET),
    ("cells", cells::TARGET),
    ("csv", csv::TARGET),
    ("edge_list", edge_list::TARGET),
    ("dimacs", dimacs::TARGET),
    ("matrix_market", matrix_market::TARGET),
    ("mapping", mapping::TARGET),
    ("graphson", graphson::TARGET),
    ("graphml", graphml::TARGET),
    ("gexf", gexf::TARGET),
    ("gml", gml::TARGET),
    ("pajek", pajek::TARGET),
    ("node_link", node_link::TARGET),
    ("parquet", parquet::TARGET),
    ("import", import::TARGET),
    ("column", column::TARGET),
    ("body", body::TARGET),
    ("body_file", body_file::TARGET),
    ("mutations", mutations::TARGET),
    ("log", log::TARGET),
    ("manifest", manifest::TARGET),
    ("disk_manifest", disk_manifest::TARGET),
    ("mapped_manifest", mapped_manifest::TARGET),
    ("salvage", salvage::TARGET),
    ("csr_file", csr_file::TARGET),
    ("vertex_page", vertex_page::TARGET),
    ("list_page", list_page::TARGET),
    ("column_page", column_page::TARGET),
    ("long_value_page", long_value_page::TARGET),
    ("entry_page", entry_page::TARGET),
    ("filter_page", filter_page::TARGET),
    ("run_batch", run_batch::TARGET),
    ("mapped_body", mapped_body::TARGET),
    ("entry_body", entry_body::TARGET),
    ("log_message", log_message::TARGET),
    ("certifier_state", certifier_state::TARGET),
    ("node_checkpoint", node_checkpoint::TARGET),
    ("node_frame", node_frame::TARGET),
    ("stage_program", stage_program::TARGET),
    ("stage_rows", stage_rows::TARGET),
];

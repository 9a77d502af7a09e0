//! `evergraph._native`: the functions behind the Python package, with names and tuples in place of classes.
//!
//! ```text
//! database, transaction, snapshot   the three classes; everything long runs by work, without the GIL
//! handle, taken                     one open database a path; closes with its last handle or snapshot; forks
//! open_settings                     how a database is opened          readers       who has it open
//! transaction_options               isolation and timeouts, as Python has them
//! names, value, error               names to numbers, values to values, errors to exceptions
//! read                              one item at a time        tables, csr   in bulk
//! bulk, arrow_in                    tables in                 import        files in
//! arrow_out, arrow_time             tables out                export        files out
//! algorithms                        all of them, by name
//! query, argument, item             Gremlin: results, variables in, results out
//! reserved                          memory of what Python holds, below the memory limit
//! service                           functions of Python that queries call
//! remote                            databases of servers: connect, queries, transactions
//! replica                           PostgreSQL databases as graphs: mappings, and databases that follow one
//! packed                            raw edges on persistent memory, beside databases
//! ```
//!
//! Nothing here is unsafe: Arrow's C interface is pyo3-arrow's business, NumPy's arrays are rust-numpy's, and what borrows
//! from its neighbour is self_cell's.

mod algorithms;
mod argument;
mod arrow_in;
mod arrow_out;
mod bulk;
mod csr;
mod database;
mod error;
mod export;
mod handle;
mod import;
mod item;
mod long_call;
mod names;
mod open_settings;
mod packed;
mod query;
mod read;
mod readers;
mod remote;
mod replica;
mod reserved;
mod service;
mod shared_snapshot;
mod snapshot;
mod statistics;
mod tables;
mod transaction;
mod transaction_options;
mod value;

use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

/// The native half of `evergraph`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<database::Database>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<query::Results>()?;
    module.add_class::<remote::database::RemoteDatabase>()?;
    module.add_class::<remote::transaction::RemoteTransaction>()?;
    module.add_class::<remote::results::RemoteResults>()?;
    module.add_class::<replica::following::Following>()?;
    module.add_class::<replica::mapping::RgMapping>()?;
    module.add_class::<packed::PackedGraph>()?;
    module.add_class::<packed::PackedView>()?;
    module.add_class::<service::Graph>()?;
    module.add_class::<reserved::ReservedMemory>()?;
    module.add_function(wrap_pyfunction!(algorithms::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(database::open, module)?)?;
    module.add_function(wrap_pyfunction!(readers::database_processes, module)?)?;
    module.add_function(wrap_pyfunction!(packed::packed_graph, module)?)?;
    module.add_function(wrap_pyfunction!(remote::database::connect, module)?)?;
    module.add_function(wrap_pyfunction!(replica::following::replica, module)?)?;
    module.add_function(wrap_pyfunction!(replica::mapping::check_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(replica::mapping::propose_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(database::check_files, module)?)?;
    module.add_function(wrap_pyfunction!(database::salvage, module)?)?;
    let forked = [("after_in_child", wrap_pyfunction!(handle::forked, module)?)].into_py_dict(module.py())?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&forked))?;
    Ok(())
}

//! Parquet: a file of bytes, through the whole import. A panic of the crate that reads the form is an
//! error of the file; what comes out is the same when bad rows are left out and there are none.

use crate::samples;
use crate::scratch::{import_both_ways, write};
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;
use evergraph::import::parquet::file::look_at_start;

/// A page that zstd packed says how large a window it wants: 128 MiB at most (`ZSTD_WINDOWLOG_LIMIT_DEFAULT`),
/// which the library allocates before it reads on. Two threads unpack at once.
const WINDOWS_BYTES: usize = 2 * (128 << 20);

/// The target.
pub const TARGET: Target =
    Target { seeds, promise, memory: Memory { fixed: WINDOWS_BYTES + (64 << 20), per_byte: 4096 } };

fn seeds() -> Vec<Vec<u8>> {
    samples::exported(ExportFormat::Parquet).into_iter().map(|(_, bytes)| bytes).collect()
}

fn promise(input: &[u8]) {
    let path = write("graph.parquet", input);
    if let Err(error) = look_at_start(&path, 16) {
        assert!(!error.to_string().is_empty());
    }
    import_both_ways(&path);
}

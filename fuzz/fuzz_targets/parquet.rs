//! Parquet: a file of bytes, through the whole import. A panic of the crate that reads the form is an
//! error of the file; what comes out is the same when bad rows are left out and there are none.
#![no_main]

use evergraph::export::options::ExportFormat;
use evergraph::import::parquet::file::look_at_start;
use evergraph_fuzz::samples;
use evergraph_fuzz::scratch::{import_both_ways, write};
use evergraph_fuzz::target::{Memory, Target};

// Pages say how long they are unpacked, and zstd asks for a window first.
evergraph_fuzz::fuzz!(Target { seeds, promise, memory: Memory { fixed: 64 << 20, per_byte: 4096 } });

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

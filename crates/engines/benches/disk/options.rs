//! Options of the disk benchmark.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// 2^scale vertices.
    pub scale: u32,
    /// Edges a vertex that are loaded.
    pub edge_factor: u32,
    /// Edges that are inserted after the load, in random order, in transactions of 1,000.
    pub inserted: u32,
    /// The disk engine's memory limit.
    pub limit_bytes: u64,
    /// Where the database is made.
    pub folder: PathBuf,
    /// Questions of each kind.
    pub questions: usize,
    /// Whether the memory engine answers the same questions.
    pub has_peer: bool,
}

impl Options {
    /// Those that the arguments of the program name; `--bench`, which cargo adds, is passed over.
    ///
    /// # Errors
    /// `invalid`, naming the argument.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            scale: 21,
            edge_factor: 24,
            inserted: 500_000,
            limit_bytes: 64 << 20,
            folder: std::env::temp_dir(),
            questions: 2_000,
            has_peer: true,
        };
        while let Some(name) = arguments.next() {
            let mut value = || {
                arguments.next().ok_or_else(|| {
                    Error::new(ErrorKind::Invalid, format!("{name} has no value: pass one behind it"))
                })
            };
            match name.as_str() {
                "--bench" => {}
                "--no-peer" => options.has_peer = false,
                "--folder" => options.folder = value()?.into(),
                "--scale" => options.scale = number(&name, &value()?)?,
                "--edge-factor" => options.edge_factor = number(&name, &value()?)?,
                "--inserted" => options.inserted = number(&name, &value()?)?,
                "--questions" => options.questions = number(&name, &value()?)? as usize,
                "--limit-mib" => options.limit_bytes = u64::from(number(&name, &value()?)?) << 20,
                _ => {
                    let known =
                        "--scale, --edge-factor, --inserted, --questions, --limit-mib, --folder, --no-peer";
                    return Err(Error::new(ErrorKind::Invalid, format!("unknown option {name}: {known}")));
                }
            }
        }
        Ok(options)
    }
}

fn number(name: &str, text: &str) -> Result<u32> {
    text.parse().map_err(|_| Error::new(ErrorKind::Invalid, format!("{name} takes a number, not {text}")))
}

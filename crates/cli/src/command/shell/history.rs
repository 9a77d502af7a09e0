//! History: where the inputs of a person are kept, for that person alone.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::env;
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// `$XDG_STATE_HOME/evergraph/shell_history`, or that in `~/.local/state`, in a folder that nobody else reads. `None` for
/// who has no home.
///
/// # Errors
/// `io` if the folder can't be made.
pub fn usual_file() -> Result<Option<PathBuf>> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local/state"));
    let Some(state) = absolute("XDG_STATE_HOME").or_else(home) else { return Ok(None) };
    let folder = state.join("evergraph");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| {
        Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display())).because(error)
    })?;
    Ok(Some(folder.join("shell_history")))
}

/// The last inputs.
#[derive(Debug, Serialize)]
pub struct HistoryReport<'a> {
    /// The last one last.
    pub inputs: Vec<&'a str>,
}

impl fmt::Display for HistoryReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.inputs.iter().flat_map(|input| input.lines());
        lines.try_for_each(|line| writeln!(f, "{}", visible(line)))
    }
}

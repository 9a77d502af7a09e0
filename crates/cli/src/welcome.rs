//! Welcome: what `evergraph` alone says: what it is, the first ten minutes, where to read on.

use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const TEXT: &str = "\
Evergraph is a transactional property graph database with analysis of live data:
algorithms run on its current contents. A database is a folder.

The first ten minutes:

  evergraph demo                                   watch it write, analyse, crash, recover
  evergraph generate payments bank.eg              make an example database
  evergraph stats bank.eg                          see what is in it
  evergraph run bank.eg pagerank --top 5           analyse it
  evergraph import social.eg people.csv knows.csv  import your own: CSV, Parquet, GraphML

Help:

  evergraph help                 all commands, exit codes, settings
  evergraph import -h            a command's options in short; --help explains them
  evergraph --print-config       all settings, and where each comes from
";

/// Shows it. Who asks nothing made no mistake: the exit code is 0, as cargo's, docker's and kubectl's is.
///
/// # Errors
/// If standard output doesn't take it.
pub fn show() -> Result<ExitCode, Failure> {
    Console::default().result(&Welcome)?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Welcome;

impl fmt::Display for Welcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_a_screen() {
        assert!(TEXT.lines().count() <= 24);
        assert!(TEXT.lines().all(|line| line.chars().count() <= 92), "{TEXT}");
    }
}

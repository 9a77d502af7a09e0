//! Arguments of `evergraph shell`.

use crate::command::query::execution::QueryOptionArguments;
use crate::command::shell::command::rows;
use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph shell social.eg
  evergraph shell social.eg -c ':schema' -c 'g.V().count()'
  evergraph shell social.eg -f queries.groovy --json
  echo 'g.V().count(); g.E().count()' | evergraph shell social.eg
  evergraph shell social.eg --timeout 30s --rows 1000
  evergraph shell wss://ann@graph.example/social

At a terminal:
  Enter runs a query; while a bracket or quote is open, it continues on the next
  line. Tab completes steps, labels, edge types and property keys. Ctrl-C stops
  a query, Ctrl-D exits, :help explains the rest. Inputs are saved in
  ~/.local/state/evergraph/shell_history ($XDG_STATE_HOME), except those that
  begin with a space.

Scripts:
  A statement is a query or a command with a colon. It ends at `;`, or at the
  end of a line that leaves nothing open, unless the next line begins with a
  dot. // begins a comment. The first error ends a script and sets the exit
  code; earlier commits stay. A transaction that is still open at the end is
  rolled back, which is an error.

Transactions:
  Each query that writes is a transaction of its own. :begin and :commit combine
  several; after a query fails while writing, only :rollback is possible. On a
  server, a transaction is also rolled back when the connection is lost, when
  Ctrl-C stops a query in it, and after a minute without a query.

Beside a writer:
  If another process has the database open, and it has the mapped engine, the
  shell reads what that process commits; a query that writes is refused.

A URL:
  As of evergraph query. Of a server, names are not completed and :schema and
  :profile are not available.";

/// Arguments of `evergraph shell`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ShellArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// Run these statements and end; may be repeated.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    pub command: Vec<String>,
    /// Run the statements in this file and end; `-` is standard input.
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Number of results of a query to show, or all [default: 100 at a terminal, else all].
    #[arg(long, value_name = "N", value_parser = rows)]
    pub rows: Option<u64>,
    /// Options for running queries.
    #[command(flatten)]
    pub asking: QueryOptionArguments,
    /// How it is opened to be read.
    #[command(flatten)]
    pub reading: ReadAccessArguments,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
    /// Continue a script after an error; the exit code is that of the first error.
    #[arg(long)]
    pub keep_going: bool,
    /// Keep the history in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "no_history")]
    pub history: Option<PathBuf>,
    /// Keep the history only until the shell ends.
    #[arg(long)]
    pub no_history: bool,
}

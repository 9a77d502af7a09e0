//! `evergraph health`: whether a server answers and serves, for people, and by the exit code for what watches it.

use crate::amount;
use crate::context::Context;
use crate::server_access::ServerAccessArguments;
use crate::target::Target;
use clap::Args;
use evergraph_client::health::Health;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph health ws://localhost
  evergraph health wss://graph.example --tls-root root.pem --timeout 2s
  evergraph health ws://localhost --quiet && echo ready

What it does:
  It asks the server for /healthz, which a process that answers has, and for
  /readyz, which says whether it serves. Nobody has to log in. A server without
  /readyz, of an older version, counts as ready.

Exit codes:
  0 it is ready, or ready but degraded, as with a full disk; 1 it answers and is
  not ready, for the reason that is printed; 7 nobody answers; 6 no answer
  within --timeout. Others: evergraph help.";

/// The exit code if the server answers and is not ready.
const NOT_READY: u8 = 1;

/// Arguments of `evergraph health`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct HealthArguments {
    /// The server, as ws://HOST or wss://HOST.
    #[arg(value_name = "URL")]
    pub server: Target,
    /// How to connect.
    #[command(flatten)]
    pub access: ServerAccessArguments,
    /// Time that the answers may take.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "5s")]
    pub timeout: Duration,
}

/// Asks, and prints the answer.
///
/// # Errors
/// `invalid` for what is no URL; `io` if nobody answers; `limit` after the timeout.
pub fn execute(arguments: &HealthArguments, context: &Context) -> Result<ExitCode, Failure> {
    let Target::Server(url) = &arguments.server else {
        let text =
            "health asks a server: name its URL, as ws://localhost; `evergraph check` verifies a database";
        return Err(Error::invalid(text).into());
    };
    let client = arguments.access.stranger(url, context)?;
    let health = client.health(arguments.timeout, &context.cancel)?;
    let (state, reason) = match health {
        Health::Ready => ("ready", None),
        Health::Degraded(reason) => ("degraded", Some(reason)),
        Health::Alive => ("alive", Some("this older server has no /readyz".to_owned())),
        Health::NotReady(reason) => ("not_ready", Some(reason)),
        _ => ("unknown", None),
    };
    let is_ready = matches!(state, "ready" | "degraded" | "alive");
    context.console.result(&HealthReport { url: client.url().to_string(), state, reason })?;
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::from(NOT_READY) })
}

/// How the server is.
#[derive(Debug, Serialize)]
struct HealthReport {
    url: String,
    state: &'static str,
    reason: Option<String>,
}

impl fmt::Display for HealthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.url, self.state.replace('_', " "))?;
        match &self.reason {
            Some(reason) if !reason.is_empty() => writeln!(f, ": {}", visible(reason)),
            _ => writeln!(f),
        }
    }
}

//! Limits of a server as options of the command line.

use crate::amount;
use clap::builder::{RangedU64ValueParser, TypedValueParser};
use clap::{Args, value_parser};
use evergraph_server::options::ServerOptions;
use std::time::Duration;

const LIMITS: &str = "Limits";

/// Limits of a server. Their defaults are those of [`ServerOptions`].
#[derive(Args, Debug)]
pub struct LimitArguments {
    /// Time limit of a query, until its client has read its last result, such as 500ms or 10s; a request may ask for
    /// less.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min", help_heading = LIMITS)]
    pub timeout: Duration,
    /// Memory that a query may take in addition to the graph.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB", help_heading = LIMITS)]
    pub query_memory: u64,
    /// Number of results of an answer; a query that has more fails. Equal results count each.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value = "100000000", help_heading = LIMITS)]
    pub result_rows: u64,
    /// Size of an answer, as it is sent; a query whose answer is longer fails.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "64GiB", help_heading = LIMITS)]
    pub result_bytes: u64,
    /// Number of connections; with users, clients of one address that have not logged in have at most a quarter of them.
    #[arg(long, value_name = "N", value_parser = count(), default_value = "4096", help_heading = LIMITS)]
    pub connections: usize,
    /// Number of connections of a user.
    #[arg(long, value_name = "N", value_parser = count(), default_value = "1024", help_heading = LIMITS)]
    pub user_connections: usize,
    /// Number of requests of a user that are not answered yet.
    #[arg(long, value_name = "N", value_parser = count(), default_value = "1024", help_heading = LIMITS)]
    pub user_requests: usize,
    /// Time that a client has for TLS and the head of a request, that of a WebSocket included.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "10s", help_heading = LIMITS)]
    pub handshake_timeout: Duration,
    /// Time without a message after which a client is disconnected that has not logged in.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "5min", help_heading = LIMITS)]
    pub login_timeout: Duration,
    /// Time without a message after which a client is disconnected that has no request running.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "60min", help_heading = LIMITS)]
    pub idle_timeout: Duration,
    /// Time without a request after which an open transaction is rolled back.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "1min", help_heading = LIMITS)]
    pub transaction_idle_timeout: Duration,
    /// Time after which an open transaction is rolled back in any case.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "10min", help_heading = LIMITS)]
    pub transaction_timeout: Duration,
    /// Time that requests have to finish when the server stops; those that are still running then are given up.
    #[arg(long, value_name = "TIME", value_parser = amount::time, default_value = "5s", help_heading = LIMITS)]
    pub stop_grace: Duration,
}

impl LimitArguments {
    /// Sets these limits.
    pub fn apply(&self, options: &mut ServerOptions) {
        options.query_timeout = self.timeout;
        options.query_memory_bytes = self.query_memory;
        options.result_rows_max = self.result_rows;
        options.result_bytes_max = self.result_bytes;
        options.connections_max = self.connections;
        options.user_connections_max = self.user_connections;
        options.user_requests_max = self.user_requests;
        options.handshake_time_max = self.handshake_timeout;
        options.login_idle_max = self.login_timeout;
        options.idle_max = self.idle_timeout;
        options.transaction_idle_max = self.transaction_idle_timeout;
        options.transaction_time_max = self.transaction_timeout;
        options.stop_grace = self.stop_grace;
    }
}

/// A number of things, at least one. A semaphore counts them, which takes no more than this.
fn count() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..=1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    #[test]
    fn the_defaults_are_those_of_the_server() {
        let program = LimitArguments::augment_args(Command::new("serve"));
        let matches = program.get_matches_from(["serve"]);
        let limits = LimitArguments::from_arg_matches(&matches).unwrap();
        let mut options = ServerOptions::default();
        limits.apply(&mut options);
        assert_eq!(format!("{options:?}"), format!("{:?}", ServerOptions::default()));
    }

    #[test]
    fn every_limit_is_set() {
        let program = LimitArguments::augment_args(Command::new("serve"));
        let options: Vec<String> =
            program.get_arguments().filter_map(|option| Some(format!("--{}", option.get_long()?))).collect();
        let words = options.iter().flat_map(|option| {
            let value = if ["--query-memory", "--result-bytes"].contains(&&**option) {
                "77KiB"
            } else if is_time(option) {
                "77s"
            } else {
                "77"
            };
            [option.as_str(), value]
        });
        let matches = program.get_matches_from(["serve"].into_iter().chain(words));
        let mut set = ServerOptions::default();
        LimitArguments::from_arg_matches(&matches).unwrap().apply(&mut set);
        let text = format!("{set:?}");
        assert_eq!(
            text.matches(": 77").count() + text.matches(&(77 * 1024).to_string()).count(),
            options.len(),
            "{text}"
        );
    }

    fn is_time(option: &str) -> bool {
        option.ends_with("timeout") || option.ends_with("grace")
    }
}

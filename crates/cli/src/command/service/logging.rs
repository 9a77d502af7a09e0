//! Logging: the logs of a server on standard error.

use crate::amount;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evergraph_graph::error::Result;
use evergraph_server::log::defects::report_panics;
use evergraph_server::log::format::LogFormat;
use evergraph_server::log::subscriber::{Log, LogOptions};
use std::io;
use std::time::Duration;
use tracing::level_filters::LevelFilter;

const LOGS: &str = "Logs";

/// What is logged, and how.
#[derive(Args, Debug)]
pub struct LogArguments {
    /// Form of the log on standard error: text, or json, an object a line.
    #[arg(long, value_name = "FORM", value_parser = format(), default_value = "text", hide_possible_values = true, help_heading = LOGS)]
    pub log_format: LogFormat,
    /// Least important level to log: error, warn, info, debug, trace, or off.
    #[arg(long, value_name = "LEVEL", value_parser = level(), default_value = "info", hide_possible_values = true, help_heading = LOGS)]
    pub log_level: LevelFilter,
    /// Log requests that take at least this time, without the values in their queries; or off.
    #[arg(long, value_name = "TIME", value_parser = slow_time, default_value = "1s", help_heading = LOGS)]
    pub slow_query_time: SlowQueryTime,
}

/// From which time on a request is slow; `None` if none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowQueryTime(pub Option<Duration>);

impl LogArguments {
    /// Logs to standard error from now on, panics included.
    ///
    /// # Errors
    /// As [`Log::start`].
    pub fn start(&self) -> Result<Log> {
        let options = LogOptions { format: self.log_format, level: self.log_level };
        let log = Log::start(options, Box::new(io::stderr()))?;
        report_panics();
        Ok(log)
    }
}

fn format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(["text", "json"])
        .map(|name| if name == "json" { LogFormat::Json } else { LogFormat::Text })
}

fn level() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["error", "warn", "info", "debug", "trace", "off"])
        .map(|name| name.parse::<LevelFilter>().expect("tracing has all of these levels"))
}

fn slow_time(text: &str) -> std::result::Result<SlowQueryTime, String> {
    match text {
        "off" => Ok(SlowQueryTime(None)),
        time => amount::time(time)
            .map(|time| SlowQueryTime(Some(time)))
            .map_err(|_| "expected a time: a number with us, ms, s or min; or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_query_takes_a_time_or_there_are_none() {
        assert_eq!(slow_time("50ms"), Ok(SlowQueryTime(Some(Duration::from_millis(50)))));
        assert_eq!(slow_time("off"), Ok(SlowQueryTime(None)));
        assert!(slow_time("5").unwrap_err().contains("or off"));
    }
}

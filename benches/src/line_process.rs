//! Line process: this program started anew, which is asked in lines of JSON on its standard input, and replies a line each.

use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Lines, StdinLock, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What goes wrong in a process that is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    kind: String,
    text: String,
}

/// A process, as the harness sees it. It ends when this is dropped.
pub struct LineProcess {
    name: String,
    process: Child,
    requests: Option<ChildStdin>,
    replies: Lines<BufReader<ChildStdout>>,
}

impl LineProcess {
    /// Starts this program with `arguments`; errors call it `name`.
    ///
    /// # Errors
    /// `io` if it doesn't start.
    pub fn start(
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self> {
        let name = name.into();
        let program = env::current_exe().map_err(|error| failed(&name, &error))?;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&name, &error))?;
        let requests = process.stdin.take();
        let replies = process.stdout.take().expect("it was asked for");
        Ok(Self { name, process, requests, replies: BufReader::new(replies).lines() })
    }

    /// Says a line; whether the process is there to hear it.
    ///
    /// # Errors
    /// `io` for what is no JSON.
    pub fn say(&mut self, request: &impl Serialize) -> Result<bool> {
        let line = serde_json::to_string(request).map_err(|error| failed(&self.name, &error))?;
        let requests = self.requests.as_mut().expect("requests end when it is dropped");
        Ok(writeln!(requests, "{line}").and_then(|()| requests.flush()).is_ok())
    }

    /// The reply to a request; none if the process ended first.
    ///
    /// # Errors
    /// That of the process.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<Option<T>> {
        if !self.say(request)? {
            return Ok(None);
        }
        let Some(line) = self.replies.next() else { return Ok(None) };
        let line = line.map_err(|error| failed(&self.name, &error))?;
        let reply: std::result::Result<Value, Failure> = parsed(&line)?;
        let reply = reply.map_err(|failure| Error::new(kind(&failure.kind), failure.text))?;
        serde_json::from_value(reply).map(Some).map_err(|error| failed(&self.name, &error))
    }

    /// How it ended. Waits for that.
    pub fn how_it_ended(&mut self) -> String {
        self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    /// Kills it, as a power cut of its machine would.
    ///
    /// # Errors
    /// `io`.
    pub fn kill(&mut self) -> Result<()> {
        let killed = self.process.kill().and_then(|()| self.process.wait());
        killed.map(drop).map_err(|error| failed(&self.name, &error))
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        // It ends by itself when there are no more requests.
        drop(self.requests.take());
        drop(self.process.wait());
    }
}

/// The other end: requests as they come.
pub struct Requests(Lines<StdinLock<'static>>);

impl Requests {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(std::io::stdin().lines())
    }

    /// Those of this process, of which the first is its assignment.
    ///
    /// # Errors
    /// `invalid` if nobody assigned anything.
    pub fn begin<A: DeserializeOwned>() -> Result<(A, Self)> {
        let Self(mut lines) = Self::of_process();
        let first = lines.next().and_then(std::result::Result::ok);
        let first = first.ok_or_else(|| Error::invalid("a helper is started by the harness alone"))?;
        Ok((parsed(&first)?, Self(lines)))
    }

    /// Replies to all requests by `reply`, until there are no more; `prepare` comes before the first.
    ///
    /// # Errors
    /// `io` if nobody listens.
    pub fn serve<S, Q: DeserializeOwned, R: Serialize>(
        self,
        prepare: impl Fn() -> Result<S>,
        mut reply: impl FnMut(&mut S, Q) -> Result<R>,
    ) -> Result<()> {
        let mut prepared = None;
        for line in self.0 {
            let line = line.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
            let reply = parsed(&line).and_then(|request| {
                let state = match prepared.take() {
                    Some(state) => state,
                    None => prepare()?,
                };
                reply(prepared.insert(state), request)
            });
            let reply = reply
                .map_err(|error| Failure { kind: error.kind().name().to_owned(), text: error.to_string() });
            let line = serde_json::to_string(&reply).map_err(|error| Error::invalid(error.to_string()))?;
            let mut replies = std::io::stdout();
            let done = writeln!(replies, "{line}").and_then(|()| replies.flush());
            done.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        }
        Ok(())
    }
}

/// That of a name. What the harness doesn't tell apart is `io`.
fn kind(name: &str) -> ErrorKind {
    let kinds = [ErrorKind::Limit, ErrorKind::Cancelled, ErrorKind::Corrupt, ErrorKind::Invalid];
    kinds.into_iter().find(|kind| kind.name() == name).unwrap_or(ErrorKind::Io)
}

fn parsed<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| Error::invalid(format!("{error} in {line}")))
}

fn failed(name: &str, error: &dyn Display) -> Error {
    Error::new(ErrorKind::Io, format!("a process for {name}: {error}"))
}

//! Process: the process that follows, as seen by the one that started it, up to its sudden end.

use crate::demo::replica::following::{FollowingFigures, FollowingMessage};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::lsn::Lsn;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

/// The process that follows. Dropped, it is killed.
#[derive(Debug)]
pub struct FollowingProcess {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Result<FollowingMessage>>,
}

impl FollowingProcess {
    /// Starts `command`.
    ///
    /// # Errors
    /// `io` if the system refuses to start it.
    pub fn start(command: &mut Command) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Io, format!("start the replica's process: {error}")).because(error)
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("its standard output is a pipe");
        let (sender, messages) = channel();
        // From here on the child is killed if something fails.
        let process = Self { child, input, messages };
        let read = move || {
            for line in BufReader::new(output).lines().map_while(io::Result::ok) {
                if sender.send(FollowingMessage::parse(&line)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("demo-replica".to_owned()).spawn(read).map_err(failed)?;
        Ok(process)
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said since this was asked last.
    ///
    /// # Errors
    /// `io` if it has ended by itself, having told why on standard error; what was wrong with what it said.
    pub fn take_messages(&mut self) -> Result<Vec<FollowingMessage>> {
        let mut taken = Vec::new();
        loop {
            match self.messages.try_recv() {
                Ok(message) => taken.push(message?),
                Err(TryRecvError::Empty) => return Ok(taken),
                Err(TryRecvError::Disconnected) if !taken.is_empty() => return Ok(taken),
                Err(TryRecvError::Disconnected) => {
                    return Err(Error::new(ErrorKind::Io, "the replica's process has ended by itself"));
                }
            }
        }
    }

    /// Tells it to end when the graph has what the source has up to `position`.
    ///
    /// # Errors
    /// `io` if it does not listen.
    pub fn end_at(&mut self, position: Lsn) -> Result<()> {
        let Some(mut input) = self.input.take() else { return Ok(()) };
        writeln!(input, "until {position}").and_then(|()| input.flush()).map_err(|error| {
            Error::new(ErrorKind::Io, format!("tell the replica where to end: {error}")).because(error)
        })
    }

    /// Kills it with SIGKILL, which it cannot see coming; what it had said.
    ///
    /// # Errors
    /// What was wrong with what it had said.
    pub fn kill(mut self) -> Result<Vec<FollowingFigures>> {
        self.end();
        let figures = self.messages.iter().map(|message| {
            message.map(|message| match message {
                FollowingMessage::Following(figures) | FollowingMessage::Ended(figures) => figures,
            })
        });
        figures.collect()
    }

    fn end(&mut self) {
        // It fails only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for FollowingProcess {
    fn drop(&mut self) {
        self.end();
    }
}

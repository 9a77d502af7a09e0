//! Writers: the writing process as seen by the one that started it, up to its sudden end.
//!
//! Concurrency: a thread reads what it says and adds it up; the lock on the tally is held for a few
//! microseconds a line. What the process had said before it was killed is still in the pipe, and is
//! read to the end.

use crate::demo::process_message::Message;
use crate::demo::tally::Tally;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The writing process. Dropped, it is killed.
#[derive(Debug)]
pub struct Writers {
    child: Child,
    tally: Arc<Mutex<Tally>>,
    reader: Option<JoinHandle<Result<()>>>,
}

impl Writers {
    /// Starts `command` and adds what it says to `tally`.
    ///
    /// # Errors
    /// `io` if the system refuses to start it.
    pub fn start(command: &mut Command, tally: Tally) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Io, format!("start the writing process: {error}")).because(error)
        };
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let said = child.stdout.take().expect("its standard output is a pipe");
        let tally = Arc::new(Mutex::new(tally));
        // From here on the child is killed if something fails.
        let mut writers = Self { child, tally: Arc::clone(&tally), reader: None };
        let reader = thread::Builder::new().name("demo-reader".to_owned());
        writers.reader = Some(reader.spawn(move || read(BufReader::new(said), &tally)).map_err(failed)?);
        Ok(writers)
    }

    /// The process' number.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        // A reader that panicked left whole messages behind.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on if the process lives and says what it should.
    ///
    /// # Errors
    /// `io` if it ended by itself, having told why on standard error; what was wrong with what it said.
    pub fn check(&mut self) -> Result<()> {
        if self.reader.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join()?;
        }
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(Error::new(ErrorKind::Io, format!("the writing process ended by itself: {status}")))
            }
            Err(error) => {
                Err(Error::new(ErrorKind::Io, format!("look after the writing process: {error}"))
                    .because(error))
            }
        }
    }

    /// Kills the process with SIGKILL, which it cannot see coming, and reads what it had said.
    ///
    /// # Errors
    /// What [`Writers::check`] says; it ends here in any case.
    pub fn kill(mut self) -> Result<Tally> {
        self.check()?;
        self.end();
        self.join()?;
        let tally = Arc::clone(&self.tally);
        drop(self);
        let tally = Arc::into_inner(tally).expect("the reader has ended");
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&mut self) {
        // It fails only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn join(&mut self) -> Result<()> {
        match self.reader.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(ended) => ended.expect("the reader doesn't panic"),
        }
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.end();
        // Whoever wants to hear of a failure kills it before.
        drop(self.join());
    }
}

/// Adds every whole line to `tally`.
fn read(mut said: impl BufRead, tally: &Mutex<Tally>) -> Result<()> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("read from the writing process: {error}")).because(error)
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        said.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(failed)?;
        let Some((b'\n', text)) = line.split_last() else {
            // The end, or the beginning of a line that was cut off: it was not said.
            return Ok(());
        };
        let message = Message::parse(&String::from_utf8_lossy(text))?;
        tally.lock().unwrap_or_else(PoisonError::into_inner).add(message)?;
    }
}

/// Longer than any message.
const LINE_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::network::{Network, NetworkSize};
    use std::time::{Duration, Instant};

    fn tally() -> Tally {
        let network = Network::generate(NetworkSize { transfers: 2000, seed: 1 }).unwrap();
        Tally::new(&network, &[0])
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_was_said_before_the_kill_counts_and_half_a_line_does_not() {
        let mut writers = Writers::start(
            &mut shell("echo ready; echo booked 0 7; printf 'booked 1'; exec sleep 60"),
            tally(),
        )
        .unwrap();
        let began = Instant::now();
        while writers.tally().acknowledged != [1] && began.elapsed() < Duration::from_secs(60) {
            writers.check().unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        let tally = writers.kill().unwrap();
        assert!(began.elapsed() < Duration::from_secs(60));
        assert_eq!((tally.acknowledged, tally.latencies_us), (vec![1], vec![7]));
    }

    #[test]
    fn a_process_that_ends_by_itself_or_talks_nonsense_is_an_error() {
        for (script, told) in
            [("exit 3", "ended by itself: exit status: 3"), ("echo hello; exec sleep 60", "\"hello\"")]
        {
            let mut writers = Writers::start(&mut shell(script), tally()).unwrap();
            let began = Instant::now();
            let error = loop {
                match writers.check() {
                    Err(error) => break error.to_string(),
                    Ok(()) => assert!(began.elapsed() < Duration::from_secs(60)),
                }
                thread::sleep(Duration::from_millis(5));
            };
            assert!(error.contains(told), "{error}");
        }
    }
}

//! Line writer: a thread that writes lines, so that whoever logs waits for no disk and no reader.
//!
//! A bounded number of lines may wait. If they come faster than they can be written, the newest are left out and
//! counted.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Lines that may wait.
const WAITING_MAX: usize = 8192;
/// How often it is looked whether the thread has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Where lines go.
pub type Output = Box<dyn Write + Send>;

/// A thread that writes lines.
pub struct LineWriter {
    messages: SyncSender<Message>,
    /// Lines that were left out. Relaxed: it is a count, which the next line takes.
    left_out: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Line(String),
    Output(Output),
    End,
}

impl LineWriter {
    /// Starts the thread `name`. `failed` is told of the first of several errors in a row.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(
        name: &str,
        output: Output,
        failed: impl FnMut(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, received) = sync_channel(WAITING_MAX);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || write_lines(output, &received, failed))?;
        Ok(Self { messages, left_out: AtomicU64::new(0), thread: Mutex::new(Some(thread)) })
    }

    /// Writes `line`, which ends with a line feed, or leaves it out. If lines were left out before, the line that `overrun`
    /// makes of their number goes first. It waits for nothing.
    pub fn write(&self, line: String, overrun: impl FnOnce(u64) -> String) {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            self.send(overrun(left_out), left_out);
        }
        self.send(line, 1);
    }

    fn send(&self, line: String, lines_count: u64) {
        if self.messages.try_send(Message::Line(line)).is_err() {
            self.left_out.fetch_add(lines_count, Ordering::Relaxed);
        }
    }

    /// Writes further lines to `output`.
    pub fn replace(&self, output: Output) {
        // A thread that is gone has nothing to write.
        let _ = self.messages.send(Message::Output(output));
    }

    /// Writes what waits, and ends; after `time_max` it waits no longer.
    pub fn close(&self, time_max: Duration) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let began = Instant::now();
        let mut is_told = false;
        while began.elapsed() < time_max && !thread.is_finished() {
            is_told = is_told || self.messages.try_send(Message::End).is_ok();
            thread::sleep(POLL_INTERVAL);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

fn write_lines(mut output: Output, received: &Receiver<Message>, mut failed: impl FnMut(&io::Error)) {
    let mut has_failed = false;
    while let Ok(message) = received.recv() {
        match message {
            Message::Line(line) => {
                let written = output.write_all(line.as_bytes());
                if let Err(error) = &written
                    && !has_failed
                {
                    failed(error);
                }
                has_failed = written.is_err();
            }
            Message::Output(next) => output = next,
            Message::End => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    /// Tells of each write, and then waits until it may go on.
    struct Slow(Sender<String>, Receiver<()>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            let _ = self.1.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_a_reader_and_lines_that_are_left_out_are_counted() {
        let ((writing, written), (go_on, going_on)) = (channel(), channel());
        let writer = LineWriter::start("test", Box::new(Slow(writing, going_on)), |_| ()).unwrap();
        let write = |text: &str| writer.write(text.to_owned(), |left_out| format!("{left_out} left out\n"));
        write("first\n");
        assert_eq!(written.recv().unwrap(), "first\n");
        (0..WAITING_MAX + 3).for_each(|_| write("more\n"));
        drop(go_on);
        (0..WAITING_MAX).for_each(|_| assert_eq!(written.recv().unwrap(), "more\n"));
        write("last\n");
        assert_eq!([written.recv().unwrap(), written.recv().unwrap()], ["3 left out\n", "last\n"]);
        writer.close(Duration::from_secs(30));
    }

    #[test]
    fn the_end_does_not_wait_for_a_reader_for_ever() {
        let ((writing, written), (go_on, going_on)) = (channel(), channel());
        let writer = LineWriter::start("test", Box::new(Slow(writing, going_on)), |_| ()).unwrap();
        writer.write("first\n".to_owned(), |_| String::new());
        written.recv().unwrap();
        writer.close(Duration::from_millis(20));
        drop(go_on);
    }

    #[test]
    fn errors_in_a_row_are_told_once() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let told = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&told);
        let failed = move |_: &io::Error| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let writer = LineWriter::start("test", Box::new(Full), failed).unwrap();
        (0..3).for_each(|_| writer.write("line\n".to_owned(), |_| String::new()));
        writer.close(Duration::from_secs(30));
        assert_eq!(told.load(Ordering::Relaxed), 1);
    }
}

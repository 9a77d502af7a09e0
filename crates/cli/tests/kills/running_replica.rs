//! Running replica: `evergraph replica run` as a process of its own, whose metrics say what it does.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it is asked what it does.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long it may take until it does what is expected of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A replica that runs. It is killed when this is dropped.
pub struct RunningReplica {
    child: Child,
    /// Where its metrics are.
    pub address: String,
    output: DrainedPipe,
    errors: DrainedPipe,
}

/// A pipe that a thread reads to its end: a process that writes to a full pipe would wait.
struct DrainedPipe(Option<JoinHandle<Vec<u8>>>);

impl DrainedPipe {
    /// Reads `pipe`, of which `read` is the beginning.
    fn new(mut pipe: impl Read + Send + 'static, mut read: Vec<u8>) -> Self {
        Self(Some(thread::spawn(move || {
            pipe.read_to_end(&mut read).unwrap();
            read
        })))
    }

    /// All that was written, once the process has ended.
    fn all(&mut self) -> Vec<u8> {
        self.0.take().expect("a pipe is asked once").join().unwrap()
    }
}

/// What `GET /metrics` says at `address`.
///
/// # Errors
/// If nobody answers there, or not to the end.
pub fn metrics_at(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(body.to_owned())
}

impl RunningReplica {
    /// Starts `command`, an `evergraph replica run`, and waits until it says where its metrics are: it opens its database after
    /// that.
    pub fn start(command: &mut Command) -> Self {
        command.args(["--metrics", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = DrainedPipe::new(child.stdout.take().unwrap(), Vec::new());
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("metrics at http://") && errors.read_line(&mut said).unwrap() > 0 {}
        let address = said.split("metrics at http://").nth(1).and_then(|rest| rest.split('/').next());
        let Some(address) = address.map(str::to_owned) else {
            panic!("the replica did not start: {}: {said}", child.wait().unwrap())
        };
        Self { child, address, output, errors: DrainedPipe::new(errors, said.into_bytes()) }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it follows at this moment.
    pub fn is_following(&self) -> bool {
        metrics_at(&self.address).is_ok_and(|metrics| metrics.contains(",state=\"following\"} 1.0\n"))
    }

    /// The rows that it has applied; none if it has ended.
    pub fn rows(&self) -> u64 {
        let Ok(metrics) = metrics_at(&self.address) else { return 0 };
        // Until it has opened its database, it tells its state alone.
        let line = metrics.lines().find(|line| line.starts_with("evergraph_replica_rows_total{"));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64)
    }

    /// Waits until it follows.
    pub fn wait_until_it_follows(&mut self) {
        self.wait_until("it follows", LOOK_EVERY, Self::is_following);
    }

    /// Waits until `is_so`, which is looked at so often; `what` for people.
    pub fn wait_until(&mut self, what: &str, every: Duration, mut is_so: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("until {what}: the replica ended by itself: {status}: {}", self.said());
            }
            if is_so(self) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{what} is not so");
            thread::sleep(every);
        }
    }

    /// Kills it, which had not ended by itself.
    pub fn kill(self) {
        assert_eq!(self.kill_or_end(), None, "the replica ended by itself");
    }

    /// Kills it; how it ended and what it said, if it had ended by itself.
    pub fn kill_or_end(mut self) -> Option<String> {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        status.code().map(|_| format!("{status}: {}", self.said()))
    }

    /// Waits until it ends.
    pub fn ended(mut self) -> Output {
        let status = self.child.wait().unwrap();
        Output { status, stdout: self.output.all(), stderr: self.errors.all() }
    }

    /// What it told of, once it has ended.
    fn said(&mut self) -> String {
        String::from_utf8_lossy(&self.errors.all()).into_owned()
    }
}

impl Drop for RunningReplica {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! `ServerPhase`: how far the server is on its way to its end.

/// How far the server is on its way to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ServerPhase {
    /// Requests are read.
    Serving,
    /// Those that were read are finished.
    Finishing,
    /// Connections are closed.
    Closing,
}

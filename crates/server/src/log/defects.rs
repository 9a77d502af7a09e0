//! Defects: panics as events of the log, with their place.
//!
//! A client whose request met one is told only that the log describes it. The event has the thread, the place in the
//! source and the message of the panic; with `RUST_BACKTRACE=1` the stack as well. The request's own event follows, from
//! the same thread. A message of a panic is made by our code, but may hold a value that the code did not expect.

use crate::log::target;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::thread;

/// Reports panics of this process as events from now on, in place of lines on standard error.
pub fn report_panics() {
    panic::set_hook(Box::new(report_panic));
}

/// Reports a panic as an event.
pub fn report_panic(info: &PanicHookInfo<'_>) {
    let current = thread::current();
    let place = info.location().map(ToString::to_string);
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let message =
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
    let stack = Backtrace::capture();
    let stack = (stack.status() == BacktraceStatus::Captured).then(|| stack.to_string());
    tracing::error!(
        target: target::DEFECT,
        place,
        thread = current.name().unwrap_or("?"),
        stack,
        "a defect, please report it: {message}"
    );
}

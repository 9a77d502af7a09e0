//! `Elsewhere`: what is dropped off the network threads, since files go with it.

use tokio::runtime::Handle;

/// A value whose end may wait for a disk.
pub struct Elsewhere<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Elsewhere<T> {
    /// Drops `value` on another thread.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value; it is dropped wherever it is then.
    #[must_use]
    pub fn take(mut self) -> Option<T> {
        self.0.take()
    }

    /// The value.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<T: Send + 'static> Drop for Elsewhere<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        if let Ok(runtime) = Handle::try_current() {
            // At the end of the server it is dropped here, where nobody waits any more.
            drop(runtime.spawn_blocking(move || drop(value)));
        }
    }
}

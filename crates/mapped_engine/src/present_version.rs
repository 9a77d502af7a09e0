//! Present version: what the newest version of a segment says, and its body, in the heap of the process that writes.
//!
//! Its own snapshots read here what they would find in `live` by way of directory, page, group and line. They look there for what
//! is older, and for hubs.
//!
//! Concurrency: replaced as a whole under the latch, when `live` refers to the version already, and before the era of the one
//! before ends: who began a snapshot finds a version that is kept for it, here as there.

use crate::body_store::stored_body::StoredBody;
use crate::version::SegmentVersion;
use evergraph_graph::error::Result;
use std::sync::{Arc, OnceLock};

/// A version, and its body once somebody read it.
#[derive(Debug)]
pub struct PresentVersion {
    version: SegmentVersion,
    body: OnceLock<Arc<StoredBody>>,
}

impl PresentVersion {
    /// A version whose body nobody read yet.
    pub(crate) fn new(version: SegmentVersion) -> Self {
        Self { version, body: OnceLock::new() }
    }

    /// The next one. A body that stays is known to it, too.
    pub(crate) fn followed_by(&self, version: SegmentVersion) -> Self {
        let stays = (version.base, version.body) == (self.version.base, self.version.body);
        let body = if stays { self.body.clone() } else { OnceLock::new() };
        Self { version, body }
    }

    /// What it says.
    #[must_use]
    pub fn version(&self) -> &SegmentVersion {
        &self.version
    }

    /// Its body, found by `find` the first time.
    ///
    /// # Errors
    /// The one of `find`.
    pub fn body(
        &self,
        find: impl FnOnce(&SegmentVersion) -> Result<Arc<StoredBody>>,
    ) -> Result<Arc<StoredBody>> {
        match self.body.get() {
            Some(body) => Ok(Arc::clone(body)),
            None => {
                let found = find(&self.version)?;
                Ok(Arc::clone(self.body.get_or_init(|| found)))
            }
        }
    }
}

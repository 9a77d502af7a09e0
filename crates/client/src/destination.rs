//! Destination: where connections lead, and how they are made.

use crate::options::ClientOptions;
use crate::url::ServerUrl;
use rustls::ClientConfig;
use std::sync::Arc;

/// Where connections lead, and how they are made.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) url: ServerUrl,
    pub(crate) options: ClientOptions,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

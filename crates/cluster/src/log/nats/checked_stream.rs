//! Checked stream: the stream of a log, made if it is not there, and whether it and its servers keep what they acknowledge.

use crate::log::channel::LogServers;
use crate::log::nats::api::{STREAM_NOT_FOUND, StreamCall, StreamInfo};
use crate::log::nats::connection::{CallFailure, Connection};
use crate::log::nats::nats_cluster::NatsCluster;
use crate::log::nats::options::NatsServer;
use crate::log::nats::stream_settings;
use std::time::Duration;

/// What the stream has, as its leader says. It is made if it is not there, and checked.
///
/// # Errors
/// Why it cannot be had, or cannot be a log.
pub(super) async fn checked_stream(
    cluster: &NatsCluster,
    connection: &Connection,
) -> Result<StreamInfo, String> {
    let (name, look) = (cluster.name(), cluster.begin_look());
    let info = match ask(cluster, connection).await {
        Err(CallFailure::Refused(error)) if error.err_code == STREAM_NOT_FOUND => {
            if cluster.is_known() {
                cluster.refuse_stream();
                return Err(format!("the stream {name} is gone, with the messages that it had"));
            }
            make(cluster, connection).await?
        }
        found => found.map_err(|failure| format!("ask for the stream {name}: {}", failure.reason()))?,
    };
    // Whoever makes the stream anew may have made it otherwise.
    stream_settings::check(&info).inspect_err(|_| cluster.refuse_stream())?;
    cluster.check_identity(look, &info)?;
    cluster.check_sync(info.cluster.as_ref()).await?;
    Ok(info)
}

async fn ask(cluster: &NatsCluster, connection: &Connection) -> Result<StreamInfo, CallFailure> {
    connection.call::<(), _>(StreamCall::Info.subject(cluster.name()), None).await
}

async fn make(cluster: &NatsCluster, connection: &Connection) -> Result<StreamInfo, String> {
    let name = cluster.name();
    let config = stream_settings::new_stream(name);
    let made: Result<StreamInfo, _> = connection.call(StreamCall::Create.subject(name), Some(&config)).await;
    made.map_err(|failure| format!("make the stream {name} with three replicas: {}", failure.reason()))?;
    // Who has replicas its leader says, once there is one.
    let found = ask(cluster, connection).await;
    found.map_err(|failure| format!("ask for the stream {name}: {}", failure.reason()))
}

impl LogServers for NatsCluster {
    type Endpoint = NatsServer;
    type Connection = Connection;

    fn endpoints(&self) -> &[NatsServer] {
        self.servers()
    }

    fn time_limit(&self) -> Duration {
        self.time_limit()
    }

    async fn connect(&self, endpoint: &NatsServer) -> Result<Connection, String> {
        let connection = Connection::open(self, endpoint).await?;
        checked_stream(self, &connection).await?;
        Ok(connection)
    }

    fn is_unusable(connection: &Connection) -> bool {
        connection.is_unusable()
    }
}

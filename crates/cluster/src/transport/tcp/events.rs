//! Events: what happened to connections, in order, until somebody takes them for a log.

use crate::record_id::NodeId;
use crate::transport::tcp::link_error::LinkError;
use crate::transport::tcp::statistics::LinkDirection;
use std::collections::VecDeque;
use std::fmt;

/// Events that are kept.
const EVENTS_MAX: usize = 256;

/// Something that happened to a connection. A failure that repeats is an event once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkEvent {
    /// The other node; `None` if it did not prove which one it is.
    pub node: Option<NodeId>,
    /// Who sends on the connection.
    pub direction: LinkDirection,
    /// Where the other side is.
    pub address: String,
    /// `Ok`: there is a connection.
    pub outcome: Result<(), LinkError>,
}

/// What happened since somebody asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkEvents {
    /// In order.
    pub events: Vec<LinkEvent>,
    /// How many happened before these and were forgotten.
    pub forgotten: u64,
}

/// The newest events that nobody has taken.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    events: VecDeque<LinkEvent>,
    forgotten: u64,
}

impl EventLog {
    pub(super) fn push(&mut self, event: LinkEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.forgotten += 1;
        }
        self.events.push_back(event);
    }

    pub(super) fn take(&mut self) -> LinkEvents {
        let events = std::mem::take(&mut self.events).into();
        LinkEvents { events, forgotten: std::mem::take(&mut self.forgotten) }
    }
}

impl fmt::Display for LinkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.direction {
            LinkDirection::Outgoing => "to",
            LinkDirection::Incoming => "from",
        };
        match self.node {
            Some(node) => write!(f, "{way} node {} at {}: ", node.0, self.address)?,
            None => write!(f, "{way} {}: ", self.address)?,
        }
        match &self.outcome {
            Ok(()) => f.write_str("connected"),
            Err(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_events_are_kept_and_say_what_happened() {
        let mut log = EventLog::default();
        let event = |number: usize| LinkEvent {
            node: Some(NodeId(3)),
            direction: LinkDirection::Outgoing,
            address: format!("db3:{number}"),
            outcome: if number.is_multiple_of(2) { Ok(()) } else { Err(LinkError::Closed) },
        };
        (0..EVENTS_MAX + 5).for_each(|number| log.push(event(number)));
        let taken = log.take();
        assert_eq!((taken.events.len(), taken.forgotten), (EVENTS_MAX, 5));
        assert_eq!(taken.events[0].to_string(), "to node 3 at db3:5: the other side closed the connection");
        assert_eq!(taken.events[1].to_string(), "to node 3 at db3:6: connected");
        assert_eq!(log.take(), LinkEvents::default());
        let stranger = LinkEvent { node: None, direction: LinkDirection::Incoming, ..event(7) };
        assert_eq!(stranger.to_string(), "from db3:7: the other side closed the connection");
    }
}

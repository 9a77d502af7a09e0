//! Hello: what both sides of a connection say first: which node of which cluster they are, and which one they mean.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic "EGNT"
//!      4     1  version, 2; up to here the same in all versions, and none is shorter as a whole
//!      5     1  answer: 0 from the dialler; from the listener 0 welcome, 1 other version, 2 other cluster,
//!               3 other receiver, 4 other certificate, 5 unknown node
//!      6    16  cluster
//!     22     2  sender
//!     24     2  receiver
//! ```
//!
//! Numbers are little-endian. The dialler speaks first. The listener answers whatever has the magic, and closes the
//! connection after any answer but a welcome; no frame is sent before that. All of it is within TLS, which checks that
//! nobody changed a byte.
//!
//! The version counts changes of all that nodes say to each other, contents of frames included. 2: a node that cannot go on with a
//! query says which start of it that is (`travel/message.rs`), and frames of a batch leave out what the one before has
//! (`transport/frame.rs`).

use crate::record_id::NodeId;
use crate::transport::tcp::node_name::ClusterId;
use evergraph_graph::bytes::{Decoded, Reader};
use std::fmt;

/// The version that this build speaks.
pub const PROTOCOL_VERSION: u8 = 2;

/// Bytes of a hello.
pub(super) const HELLO_BYTES: usize = 26;

const MAGIC: &[u8; 4] = b"EGNT";

/// What the listener says to the hello of a dialler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HelloAnswer {
    /// Frames may come.
    Welcome,
    /// It speaks another version.
    OtherVersion,
    /// It is of another cluster.
    OtherCluster,
    /// It is another node than the dialler wants.
    OtherReceiver,
    /// The certificate is not for the node that the dialler says it is.
    OtherCertificate,
    /// It does not know the node, or not any more.
    UnknownNode,
}

/// What a side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    /// From the dialler [`HelloAnswer::Welcome`], which says nothing.
    pub(super) answer: HelloAnswer,
    pub(super) cluster: ClusterId,
    pub(super) sender: NodeId,
    pub(super) receiver: NodeId,
}

/// What came as a hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Greeting {
    /// One of this version.
    Known(Hello),
    /// One of another version, which is not read.
    OtherVersion(u8),
}

impl HelloAnswer {
    const ALL: [Self; 6] = [
        Self::Welcome,
        Self::OtherVersion,
        Self::OtherCluster,
        Self::OtherReceiver,
        Self::OtherCertificate,
        Self::UnknownNode,
    ];
}

impl Hello {
    /// The bytes.
    pub(super) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut out = [0; HELLO_BYTES];
        out[..4].copy_from_slice(MAGIC);
        out[4] = PROTOCOL_VERSION;
        out[5] = self.answer as u8;
        out[6..22].copy_from_slice(&self.cluster.0);
        out[22..24].copy_from_slice(&self.sender.0.to_le_bytes());
        out[24..].copy_from_slice(&self.receiver.0.to_le_bytes());
        out
    }

    /// Reads what a side said.
    ///
    /// # Errors
    /// If it is no hello: the byte, and what was expected there.
    pub(super) fn decode(bytes: &[u8]) -> Decoded<Greeting> {
        let mut reader = Reader::new(bytes);
        let start = reader.clone();
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(start.error("the magic EGNT expected"));
        }
        match reader.u8()? {
            PROTOCOL_VERSION => {}
            other => return Ok(Greeting::OtherVersion(other)),
        }
        let place = reader.clone();
        let number = reader.u8()?;
        let Some(answer) = HelloAnswer::ALL.get(usize::from(number)).copied() else {
            let most = HelloAnswer::ALL.len() - 1;
            return Err(place.error(format!("an answer of 0 to {most} expected, found {number}")));
        };
        let hello = Self {
            answer,
            cluster: ClusterId(reader.array()?),
            sender: NodeId(reader.u16()?),
            receiver: NodeId(reader.u16()?),
        };
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(Greeting::Known(hello))
    }
}

impl fmt::Display for HelloAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Welcome => "it welcomes this node",
            Self::OtherVersion => "it speaks another version of the protocol",
            Self::OtherCluster => "it is of another cluster",
            Self::OtherReceiver => "it is another node",
            Self::OtherCertificate => "this node's certificate is for another node",
            Self::UnknownNode => "it does not know this node as a member",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn any_hello() -> impl Strategy<Value = Hello> {
        (0..HelloAnswer::ALL.len(), any::<[u8; 16]>(), any::<u16>(), any::<u16>()).prop_map(
            |(answer, cluster, sender, receiver)| Hello {
                answer: HelloAnswer::ALL[answer],
                cluster: ClusterId(cluster),
                sender: NodeId(sender),
                receiver: NodeId(receiver),
            },
        )
    }

    proptest! {
        #[test]
        fn a_hello_reads_back_and_no_cut_of_it_does(hello in any_hello()) {
            let bytes = hello.encode();
            prop_assert_eq!(Hello::decode(&bytes), Ok(Greeting::Known(hello)));
            for cut in 0..bytes.len() {
                prop_assert!(Hello::decode(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_a_hello_or_an_error(
            mut bytes in vec(any::<u8>(), 0..40), begin in 0..=HELLO_BYTES, hello in any_hello(),
        ) {
            let begin = begin.min(bytes.len());
            bytes[..begin].copy_from_slice(&hello.encode()[..begin]);
            match Hello::decode(&bytes) {
                Ok(Greeting::Known(read)) => prop_assert_eq!(&read.encode()[..], &bytes[..]),
                Ok(Greeting::OtherVersion(version)) => prop_assert_ne!(version, PROTOCOL_VERSION),
                Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_version_2() {
        let cluster = ClusterId(std::array::from_fn(|at| at as u8));
        let hello =
            Hello { answer: HelloAnswer::OtherCluster, cluster, sender: NodeId(3), receiver: NodeId(0x102) };
        let written: String = hello.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, "45474e540202000102030405060708090a0b0c0d0e0f03000201");
        for (number, answer) in HelloAnswer::ALL.iter().enumerate() {
            assert_eq!(*answer as usize, number);
        }
    }

    #[test]
    fn what_is_no_hello_of_this_version_is_told_apart() {
        let hello = Hello {
            answer: HelloAnswer::Welcome,
            cluster: ClusterId([7; 16]),
            sender: NodeId(1),
            receiver: NodeId(2),
        };
        let edited = |at: usize, byte: u8| {
            let mut bytes = hello.encode();
            bytes[at] = byte;
            Hello::decode(&bytes).map_err(|error| (error.offset, error.expected))
        };
        assert_eq!(edited(0, b'G'), Err((0, "the magic EGNT expected".to_owned())));
        for version in [1, 3] {
            assert_eq!(edited(4, version), Ok(Greeting::OtherVersion(version)));
        }
        assert_eq!(edited(5, 6), Err((5, "an answer of 0 to 5 expected, found 6".to_owned())));
        let longer = [&hello.encode()[..], &[0]].concat();
        assert_eq!(Hello::decode(&longer).map_err(|error| error.offset), Err(HELLO_BYTES));
    }
}

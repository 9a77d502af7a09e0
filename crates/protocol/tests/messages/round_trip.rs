//! Round trip: what a server writes is what a client reads, in both formats.

use evergraph_graph::id::VertexId;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::MaterializeProperties;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, ResultForm, encode_response};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use proptest::prelude::*;
use std::collections::HashSet;
use uuid::Uuid;

use crate::any_item::any_item;
use crate::detached::{Detach, property_ids, without_property_ids};
use crate::elements::Elements;

const ID: Uuid = Uuid::from_u128(0x41d2_e28a_20a4_4ab0_b379_d810_dede_3786);

fn written(
    format: Format,
    form: ResultForm,
    properties: MaterializeProperties,
    items: &[(Item, u64)],
) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(format, ID, form, FrameLimits::default(), properties);
    for (item, bulk) in items {
        assert_eq!(encoder.push(item, *bulk, &Elements).expect("a result that can be sent"), 0);
    }
    encoder.finish(Status::Success, &Attributes::new())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_client_reads_what_the_server_writes(
        items in proptest::collection::vec((any_item(), 1..4_u64), 0..4),
        properties in prop_oneof![Just(MaterializeProperties::All), Just(MaterializeProperties::Tokens)],
        form in prop_oneof![Just(ResultForm::Traverser), Just(ResultForm::Bare)],
    ) {
        for format in Format::ALL {
            let frame = written(*format, form, properties, &items);
            let response = match Response::read(*format, &frame) {
                Ok(response) => response,
                Err(error) => return Err(TestCaseError::fail(format!("{format:?}: {error}\n{frame:02x?}"))),
            };
            prop_assert_eq!((response.id, response.status()), (Some(ID), Some(Status::Success)));
            let detach = Detach { format: *format, properties };
            let expected = items.iter().flat_map(|(item, bulk)| match form {
                ResultForm::Traverser => vec![(detach.item(item), *bulk)],
                ResultForm::Bare => vec![(detach.item(item), 1); *bulk as usize],
            });
            let expected: Vec<_> = expected.collect();
            let found = response.results.into_iter();
            let found: Vec<_> =
                found.map(|result| (without_property_ids(result.value), result.bulk)).collect();
            prop_assert_eq!(found, expected);
            for cut in (0..frame.len()).step_by(1 + frame.len() / 50) {
                prop_assert!(Response::read(*format, &frame[..cut]).is_err());
            }
        }
    }

    #[test]
    fn changed_bytes_are_a_response_or_an_error(
        items in proptest::collection::vec((any_item(), 1..4_u64), 1..3),
        at in any::<proptest::sample::Index>(),
        change in 1..=u8::MAX,
    ) {
        for format in Format::ALL {
            let mut frame =
                written(*format, ResultForm::Traverser, MaterializeProperties::All, &items);
            let at = at.index(frame.len());
            frame[at] ^= change;
            if let Err(error) = Response::read(*format, &frame) {
                prop_assert!(error.offset <= frame.len(), "{}", error);
            }
        }
    }
}

#[test]
fn ids_of_properties_are_unique_and_the_same_wherever_a_property_occurs() {
    for format in Format::ALL {
        let vertices = [1, 2].map(|vertex| (Item::Vertex(VertexId(vertex)), 1));
        let frame = written(*format, ResultForm::Bare, MaterializeProperties::All, &vertices);
        let response = Response::read(*format, &frame).unwrap();
        let ids: Vec<_> = response.results.iter().flat_map(|result| property_ids(&result.value)).collect();
        let different: HashSet<_> = ids.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        assert_eq!((ids.len(), different.len()), (5, 5), "{ids:?}");

        let again = written(*format, ResultForm::Bare, MaterializeProperties::All, &vertices);
        assert_eq!(again, frame);
    }
}

#[test]
fn attributes_and_messages_are_read_back() {
    let attributes = Attributes::new()
        .with_kind(evergraph_graph::error::ErrorKind::Conflict)
        .with("renumbered", 3_i64)
        .with_unknown_outcome();
    for format in Format::ALL {
        let conflict = Status::ServerErrorTemporary;
        let message = "conflict: property `balance` of v7 was changed; \"run it again\"";
        let body = encode_response(*format, Some(ID), conflict, Some(message), &attributes);
        let response = Response::read(*format, &body).unwrap();
        assert_eq!((response.id, response.status()), (Some(ID), Some(conflict)));
        assert_eq!(&*response.message, message);
        assert_eq!(response.attributes, attributes);
        assert!(response.attributes.has_unknown_outcome() && response.results.is_empty());

        let body = encode_response(*format, None, Status::MalformedRequest, None, &Attributes::new());
        let response = Response::read(*format, &body).unwrap();
        assert_eq!((response.id, response.code, &*response.message), (None, 498, ""));

        let mut encoder = FrameEncoder::new(
            *format,
            ID,
            ResultForm::Bare,
            FrameLimits::default(),
            MaterializeProperties::All,
        );
        assert_eq!(encoder.push(&Item::from(1), 1, &Elements).unwrap(), 0);
        let frame = encoder.finish(Status::Success, &attributes);
        let response = Response::read(*format, &frame).unwrap();
        assert_eq!((response.attributes, response.results.len()), (attributes.clone(), 1));
    }
}

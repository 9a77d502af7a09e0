//! Frames: results are split by count and bytes, and a result that cannot be sent leaves its frame as it was.

use std::sync::Arc;

use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::MaterializeProperties;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, ResultForm};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use evergraph_query::value::item_list::ItemList;
use uuid::Uuid;

use crate::elements::Elements;

fn encoder(format: Format, form: ResultForm, limits: FrameLimits) -> FrameEncoder {
    FrameEncoder::new(format, Uuid::from_u128(7), form, limits, MaterializeProperties::All)
}

/// Sends all of `items` and returns the frames: all but the last one are partial.
fn frames(encoder: &mut FrameEncoder, items: &[(Item, u64)]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (item, bulk) in items {
        let mut left = encoder.push(item, *bulk, &Elements).unwrap();
        while left > 0 {
            frames.push(encoder.finish(Status::PartialContent, &Attributes::new()));
            left = encoder.push(item, left, &Elements).unwrap();
        }
    }
    frames.push(encoder.finish(Status::Success, &Attributes::new()));
    frames
}

fn read(format: Format, frames: &[Vec<u8>]) -> Vec<Response> {
    frames.iter().map(|frame| Response::read(format, frame).unwrap()).collect()
}

#[test]
fn a_frame_ends_after_its_number_of_results() {
    for format in Format::ALL {
        let items: Vec<_> = (0..130).map(|number| (Item::from(number), 1)).collect();
        let mut encoder = encoder(*format, ResultForm::Traverser, FrameLimits::default());
        let responses = read(*format, &frames(&mut encoder, &items));
        let counts: Vec<_> =
            responses.iter().map(|response| (response.code, response.results.len())).collect();
        assert_eq!(counts, [(206, 64), (206, 64), (200, 2)]);
        let values = responses.into_iter().flat_map(|response| response.results);
        let values: Vec<_> = values.map(|result| result.value.into_value()).collect();
        assert_eq!(values, (0..130_i32).map(|number| Some(number.into())).collect::<Vec<_>>());
    }
}

#[test]
fn a_frame_ends_before_its_limit_of_bytes() {
    let limits = FrameLimits { bytes_max: 10_000, ..FrameLimits::default() };
    for format in Format::ALL {
        let text = "x".repeat(3_000);
        let items: Vec<_> = (0..7).map(|_| (Item::from(&*text), 1)).collect();
        let mut encoder = encoder(*format, ResultForm::Bare, limits);
        let frames = frames(&mut encoder, &items);
        assert!(frames.iter().all(|frame| frame.len() < 10_200));
        let counts = read(*format, &frames);
        assert_eq!(counts.iter().map(|response| response.results.len()).collect::<Vec<_>>(), [3, 3, 1]);
    }
}

#[test]
fn a_bare_result_is_written_as_often_as_it_occurs() {
    for format in Format::ALL {
        let mut encoder = encoder(*format, ResultForm::Bare, FrameLimits::default());
        let items = [(Item::from("a"), 2), (Item::from("b"), 100), (Item::from("c"), 1)];
        let responses = read(*format, &frames(&mut encoder, &items));
        let texts: String = responses
            .iter()
            .flat_map(|response| &response.results)
            .map(|result| result.value.as_str().unwrap())
            .collect();
        assert_eq!(texts, format!("aa{}c", "b".repeat(100)));
        assert_eq!(responses.iter().map(|response| response.results.len()).collect::<Vec<_>>(), [64, 39]);
    }
}

#[test]
fn a_traverser_carries_any_bulk() {
    for format in Format::ALL {
        let mut encoder = encoder(*format, ResultForm::Traverser, FrameLimits::default());
        let responses = read(*format, &frames(&mut encoder, &[(Item::from(1), u64::MAX)]));
        let bulks =
            responses.iter().flat_map(|response| &response.results).map(|result| u128::from(result.bulk));
        assert_eq!(bulks.sum::<u128>(), u128::from(u64::MAX));
    }
}

#[test]
fn a_result_larger_than_a_frame_has_one_for_itself_and_one_past_its_limit_is_an_error() {
    let limits = FrameLimits { bytes_max: 1_000, result_bytes_max: 5_000, ..FrameLimits::default() };
    for format in Format::ALL {
        let mut encoder = encoder(*format, ResultForm::Bare, limits);
        let (small, large) = (Item::from("small"), Item::from("x".repeat(3_000)));
        let items = [(small.clone(), 1), (large, 1), (small.clone(), 1)];
        let responses = read(*format, &frames(&mut encoder, &items));
        assert_eq!(responses.iter().map(|response| response.results.len()).collect::<Vec<_>>(), [1, 1, 1]);

        assert_eq!(encoder.push(&small, 1, &Elements).unwrap(), 0);
        let size = encoder.size_bytes();
        let error = encoder.push(&Item::from("x".repeat(6_000)), 1, &Elements).unwrap_err();
        assert_eq!(error.to_string(), "one result takes more than 5000 bytes");
        assert_eq!((error.status(), encoder.size_bytes()), (Status::ServerErrorSerialization, size));
        let frame = encoder.finish(Status::Success, &Attributes::new());
        assert_eq!(Response::read(*format, &frame).unwrap().results.len(), 1);
    }
}

#[test]
fn a_list_that_contains_another_over_and_over_ends_at_its_limit_of_bytes() {
    let mut list = ItemList::from(vec![Item::from(1)]);
    for _ in 0..200 {
        list = ItemList::from([Item::List(list.clone()), Item::List(list)]);
    }
    for format in Format::ALL {
        let limits = FrameLimits { result_bytes_max: 100_000, ..FrameLimits::default() };
        let mut encoder = encoder(*format, ResultForm::Traverser, limits);
        let error = encoder.push(&Item::List(list.clone()), 1, &Elements).unwrap_err();
        assert!(matches!(error, EncodeError::TooLarge { limit: 100_000 }), "{error}");
    }
}

#[test]
fn what_cannot_be_sent_is_named_and_the_frame_stays_as_it_was() {
    for format in Format::ALL {
        let mut encoder = encoder(*format, ResultForm::Traverser, FrameLimits::default());
        let mixed = Value::parse("P1MT5S", "duration".parse().unwrap()).unwrap();
        let list = Item::List(vec![Item::from(1), Item::Value(mixed)].into());
        let error = encoder.push(&list, 1, &Elements).unwrap_err();
        assert!(error.to_string().starts_with("the duration P1MT5S cannot be sent"), "{error}");
        assert_eq!(encoder.results_count(), 0);

        let error = encoder.push(&Item::Vertex(VertexId(9)), 1, &Elements).unwrap_err();
        assert_eq!(error.status(), Status::ServerErrorTemporary);

        let mut deep = Item::from(1);
        for _ in 0..600 {
            deep = Item::Entry(Arc::new((deep, Item::Null)));
        }
        let error = encoder.push(&deep, 1, &Elements).unwrap_err();
        assert_eq!(error.to_string(), "a result is nested more than 512 deep");
        let frame = encoder.finish(Status::NoContent, &Attributes::new());
        let response = Response::read(*format, &frame).unwrap();
        assert_eq!((response.status(), response.results.len()), (Some(Status::NoContent), 0));
    }
}

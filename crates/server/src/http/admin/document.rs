//! Document: reads a body that is one JSON object. Unknown members are refused by name, and so are members that come twice.

use crate::http::error::HttpError;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;

/// Refuses a body that is not said to be JSON. A page of another site cannot say so without asking first.
///
/// # Errors
/// 415.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), HttpError> {
    let name =
        headers.get(header::CONTENT_TYPE).map_or("", |value: &HeaderValue| value.to_str().unwrap_or("?"));
    let name = name.split(';').next().unwrap_or_default().trim();
    if name.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let text =
        format!("the body is one JSON object, with the header Content-Type: application/json, not {name:?}");
    Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text))
}

/// The object in `body`; one without members if that is empty. `T` denies unknown members.
///
/// # Errors
/// 400 with the member that is wrong, and the ones that there are.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, HttpError> {
    let body = if body.is_empty() { b"{}" } else { body };
    // Of an array `T` would take the members in order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(HttpError::invalid("the body is one JSON object, such as {\"engine\": \"disk\"}"));
    }
    serde_json::from_slice(body)
        .map_err(|error| HttpError::invalid(format!("the body of the request: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Example {
        memory_limit_bytes: Option<u64>,
    }

    #[test]
    fn an_object_with_known_members_is_read_and_everything_else_is_refused() {
        let bytes = |text: &str| read::<Example>(text.as_bytes()).map(|example| example.memory_limit_bytes);
        assert_eq!(bytes(" {\"memoryLimitBytes\": 7}").unwrap(), Some(7));
        assert_eq!(bytes("").unwrap(), None);
        let unknown = bytes("{\"memory\": 7}").unwrap_err().message;
        assert!(unknown.contains("`memory`") && unknown.contains("`memoryLimitBytes`"), "{unknown}");
        for wrong in [
            "[7]",
            "7",
            "null",
            "{",
            "{\"memoryLimitBytes\": -1}",
            "{\"memoryLimitBytes\": \"7\"}",
            "{\"memoryLimitBytes\": 7, \"memoryLimitBytes\": 8}",
            "{} {}",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}

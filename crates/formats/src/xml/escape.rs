//! Escape: text in the form that XML 1.0 can hold, and the characters that it cannot.
//!
//! ```text
//! & < > "      &amp; &lt; &gt; &quot;
//! CR, TAB, LF  &#13; &#9; &#10;          since readers turn CR into LF, and both into a blank in
//!                                        attributes; LF and TAB stay as they are in text
//! U+0000-0008, 000B, 000C, 000E-001F, FFFE, FFFF    stand in no XML 1.0, escaped or not
//! ```

/// The first character of `text` that no XML 1.0 document can hold.
#[must_use]
pub fn first_forbidden(text: &str) -> Option<char> {
    // Nearly all text passes here: U+FFFE and U+FFFF begin with the byte EF.
    if text.bytes().all(|byte| byte >= b' ' && byte != 0xef) {
        return None;
    }
    text.chars().find(|character| !is_allowed(*character))
}

/// Whether an XML 1.0 document can hold `character`.
#[must_use]
pub fn is_allowed(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => character >= ' ',
    }
}

/// Appends `text` as the content of an element.
pub fn write_text(xml: &mut String, text: &str) {
    for character in text.chars() {
        match escape_of(character) {
            Some(escape) if !matches!(character, '\t' | '\n' | '"') => xml.push_str(escape),
            _ => xml.push(character),
        }
    }
}

/// Appends `text` as the value of an attribute, without the quotes around it.
pub fn write_attribute(xml: &mut String, text: &str) {
    for character in text.chars() {
        match escape_of(character) {
            Some(escape) => xml.push_str(escape),
            None => xml.push(character),
        }
    }
}

fn escape_of(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\r' => Some("&#13;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        _ => None,
    }
}

/// The character that the reference `&name;` stands for: one of the five that XML knows, or a number.
/// Entities of a DTD are not looked up, so nothing grows here and nothing is fetched.
///
/// # Errors
/// A text for people, if it stands for none.
pub fn resolve_reference(name: &str) -> Result<char, String> {
    let number = match name {
        "amp" => return Ok('&'),
        "lt" => return Ok('<'),
        "gt" => return Ok('>'),
        "quot" => return Ok('"'),
        "apos" => return Ok('\''),
        _ => match (name.strip_prefix("#x"), name.strip_prefix('#')) {
            (Some(digits), _) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(digits, 16).ok()
            }
            (_, Some(digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            (None, None) => {
                return Err(format!(
                    "&{name}; is an entity that XML doesn't know, and those of a DTD are not read"
                ));
            }
            _ => None,
        },
    };
    let character = number.and_then(char::from_u32).filter(|character| is_allowed(*character));
    character.ok_or_else(|| format!("&{name}; is no character of XML 1.0"))
}

/// Appends the value of an attribute as it stands in the file: references resolved, and every blank
/// character that stands for itself a blank, as XML prescribes.
///
/// # Errors
/// A text for people, at the first reference that stands for nothing, and for characters that XML
/// can't hold.
pub fn read_attribute(raw: &str) -> Result<String, String> {
    if raw.bytes().all(|byte| byte >= b' ' && byte != b'&' && byte != 0xef) {
        return Ok(raw.to_owned());
    }
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        let (plain, reference) = match rest.split_once('&') {
            Some((plain, reference)) => (plain, Some(reference)),
            None => (rest, None),
        };
        if let Some(character) = first_forbidden(plain) {
            return Err(forbidden(character));
        }
        let plain = plain.replace("\r\n", " ");
        value.extend(
            plain
                .chars()
                .map(|character| if matches!(character, '\t' | '\r' | '\n') { ' ' } else { character }),
        );
        let Some(reference) = reference else { return Ok(value) };
        let Some((name, after)) = reference.split_once(';') else {
            return Err("an & in an attribute begins no reference".to_owned());
        };
        value.push(resolve_reference(name)?);
        rest = after;
    }
}

/// Says that no XML can hold `character`.
#[must_use]
pub fn forbidden(character: char) -> String {
    format!("U+{:04X} cannot stand in XML 1.0", u32::from(character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_stand_for_characters() {
        for (name, character) in
            [("amp", '&'), ("apos", '\''), ("#65", 'A'), ("#x1F600", '😀'), ("#10", '\n')]
        {
            assert_eq!(resolve_reference(name), Ok(character));
        }
        for name in [
            "#0",
            "#8",
            "#xFFFE",
            "#xD800",
            "#x110000",
            "#99999999999",
            "#",
            "#x",
            "#+65",
            "#x+1",
            "nbsp",
            "",
        ] {
            assert!(resolve_reference(name).is_err(), "{name}");
        }
    }

    #[test]
    fn blanks_of_an_attribute_are_blanks_unless_referred_to() {
        assert_eq!(read_attribute("a\tb\r\nc\nd&#9;e").as_deref(), Ok("a b c d\te"));
        for raw in ["a&b", "&lol;", "\u{1}", "a\0"] {
            assert!(read_attribute(raw).is_err(), "{raw:?}");
        }
    }

    #[test]
    fn forbidden_characters_are_found() {
        assert_eq!(first_forbidden("a\t\r\n\u{7f}\u{fffd}😀"), None);
        for character in ['\0', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert_eq!(first_forbidden(&format!("a{character}b")), Some(character));
        }
    }

    proptest! {
        #[test]
        fn an_attribute_is_read_back(text in "(.|[&<>\"'\r\n\t]){0,12}") {
            prop_assume!(first_forbidden(&text).is_none());
            let mut raw = String::new();
            write_attribute(&mut raw, &text);
            prop_assert!(!raw.contains(['<', '"', '\n']));
            prop_assert_eq!(read_attribute(&raw), Ok(text));
        }
    }
}

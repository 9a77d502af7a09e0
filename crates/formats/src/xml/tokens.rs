//! Tokens: an XML file as tags and text, each with its position.
//!
//! What XML has besides is done away with here. Comments and processing instructions are passed over.
//! A `DOCTYPE` is passed over too and nothing that it names is fetched; one with declarations inside
//! (`[...]`) is refused, so no entity has a meaning but XML's own five. CDATA is text. Line ends are
//! LF. Names keep their prefix; tags must nest.

use std::io::{self, BufRead};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::errors::Error as XmlError;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use crate::element::Position;
use crate::error::ReadError;
use crate::xml::escape::{first_forbidden, forbidden, read_attribute, resolve_reference};
use crate::xml::source::{Encoding, XmlSource};

/// What a tag or text is called in errors.
const UNIT: &str = "a tag or a text";
/// Tags that may be open at once.
const DEPTH_MAX: usize = 256;

/// A part of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// A tag that opens.
    Start(Tag),
    /// The tag that was opened last closes. Follows at once for a tag that closes itself.
    End,
    /// A piece of text, as much as comes at once.
    Text(String),
    /// The end of the file; every tag is closed.
    Eof,
}

/// A tag that opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Its name, with its prefix if it has one.
    pub name: String,
    /// Names and values, in the file's order; no name stands twice.
    pub attributes: Vec<(String, String)>,
    /// Where it begins.
    pub position: Position,
}

impl Tag {
    /// The value of the attribute `name`, if the tag has it.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The value of the attribute `name`, which the tag must have.
    ///
    /// # Errors
    /// If it doesn't.
    pub fn required(&self, name: &str) -> Result<&str, ReadError> {
        self.attribute(name)
            .ok_or_else(|| malformed(self.position, format!("<{}> has no attribute `{name}`", self.name)))
    }
}

/// Reads an XML file token by token.
#[derive(Debug)]
pub struct Tokens<R: BufRead> {
    reader: Reader<XmlSource<R>>,
    buffer: Vec<u8>,
    /// Where the token that was read last begins.
    position: Position,
    depth: usize,
    /// Whether the outermost tag was there.
    has_root: bool,
}

impl<R: BufRead> Tokens<R> {
    /// Reads what `bytes` gives; a tag or a piece of text may have `unit_bytes_max` bytes.
    ///
    /// # Errors
    /// If the file's first bytes show an encoding that is not read, or can't be had.
    pub fn new(bytes: R, unit_bytes_max: usize) -> Result<Self, ReadError> {
        let mut reader = Reader::from_reader(XmlSource::new(bytes, unit_bytes_max)?);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Ok(Self { reader, buffer: Vec::new(), position: Position::START, depth: 0, has_root: false })
    }

    /// Where the token that was read last begins.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How long a tag or a piece of text may be, in bytes.
    pub fn unit_bytes_max(&self) -> usize {
        self.reader.get_ref().unit_bytes_max()
    }

    /// The next token. After [`Token::Eof`] and after an error nothing more is there to be read.
    ///
    /// # Errors
    /// If the file is not well-formed, or more than this reader takes.
    pub fn next_token(&mut self) -> Result<Token, ReadError> {
        loop {
            self.buffer.clear();
            let source = self.reader.get_mut();
            source.begin_unit();
            self.position = source.position();
            let position = self.position;
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => {
                    let is_too_long = self.reader.get_ref().unit_is_too_long();
                    return Err(describe(error, is_too_long, self.unit_bytes_max(), position));
                }
            };
            match event {
                Event::Start(tag) => {
                    if self.depth == DEPTH_MAX {
                        return Err(malformed(
                            position,
                            format!("tags are nested more than {DEPTH_MAX} deep"),
                        ));
                    }
                    if self.depth == 0 && self.has_root {
                        return Err(malformed(position, "a second outermost tag".to_owned()));
                    }
                    self.depth += 1;
                    self.has_root = true;
                    return Ok(Token::Start(read_tag(&tag, position)?));
                }
                Event::End(_) => {
                    self.depth -= 1;
                    return Ok(Token::End);
                }
                Event::Text(text) => {
                    let text = checked(text.xml10_content().into_owned(), position)?;
                    if self.depth > 0 {
                        return Ok(Token::Text(text));
                    }
                    if !text.trim_matches(is_blank).is_empty() {
                        return Err(malformed(position, "text outside of the outermost tag".to_owned()));
                    }
                }
                Event::CData(text) if self.depth > 0 => {
                    return Ok(Token::Text(checked(text.xml10_content().into_owned(), position)?));
                }
                Event::GeneralRef(name) if self.depth > 0 => {
                    let character = resolve_reference(&name).map_err(|reason| malformed(position, reason))?;
                    return Ok(Token::Text(character.to_string()));
                }
                Event::CData(_) | Event::GeneralRef(_) => {
                    return Err(malformed(position, "text outside of the outermost tag".to_owned()));
                }
                Event::Decl(declaration) => {
                    check_declaration(&declaration, self.reader.get_ref().encoding(), position)?
                }
                Event::DocType(text) => {
                    if text.contains('[') {
                        let what = "a DOCTYPE with declarations of its own".to_owned();
                        return Err(ReadError::Unsupported { position, what });
                    }
                }
                Event::Comment(_) | Event::PI(_) => {}
                // Expanded into a start and an end by the configuration.
                Event::Empty(_) => return Err(malformed(position, "an empty tag".to_owned())),
                Event::Eof if self.depth > 0 => {
                    return Err(malformed(position, "the file ends before its tags are closed".to_owned()));
                }
                Event::Eof if !self.has_root => {
                    return Err(malformed(position, "the file has no tag".to_owned()));
                }
                Event::Eof => return Ok(Token::Eof),
            }
        }
    }

    /// Reads and forgets everything up to the end of the tag that was opened last.
    ///
    /// # Errors
    /// As [`Self::next_token`].
    pub fn skip(&mut self) -> Result<(), ReadError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next_token()? {
                Token::Start(_) => open += 1,
                Token::End => open -= 1,
                Token::Text(_) | Token::Eof => {}
            }
        }
        Ok(())
    }

    /// Reads the text of the tag that was opened last, up to its end. `None` if there are tags in it,
    /// which are read over.
    ///
    /// # Errors
    /// As [`Self::next_token`], and if the text is longer than a single piece may be.
    pub fn read_text(&mut self) -> Result<Option<String>, ReadError> {
        let start = self.position;
        let limit = self.unit_bytes_max();
        let mut text = String::new();
        loop {
            match self.next_token()? {
                Token::Text(piece) if text.is_empty() => text = piece,
                Token::Text(piece) => text.push_str(&piece),
                Token::End => return Ok(Some(text)),
                Token::Start(_) => {
                    self.skip()?;
                    self.skip()?;
                    return Ok(None);
                }
                Token::Eof => return Err(malformed(start, "the file ends within a text".to_owned())),
            }
            if text.len() > limit {
                return Err(ReadError::TooLong { position: start, what: UNIT, limit });
            }
        }
    }
}

/// Whether XML takes `character` for a blank.
#[must_use]
pub fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// The error that the file breaks the rules at `position`.
#[must_use]
pub fn malformed(position: Position, reason: String) -> ReadError {
    ReadError::Malformed { position, reason }
}

fn describe(error: XmlError, is_too_long: bool, limit: usize, position: Position) -> ReadError {
    match error {
        _ if is_too_long => ReadError::TooLong { position, what: UNIT, limit },
        XmlError::Io(error) => match error.kind() {
            // Of our own decoder, or a file that ends within a character.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                malformed(position, error.to_string())
            }
            // Whoever gave the bytes may look for an error of their own in it.
            kind => {
                let source = Arc::try_unwrap(error);
                ReadError::Io {
                    position,
                    source: source.unwrap_or_else(|shared| io::Error::new(kind, shared)),
                }
            }
        },
        error => malformed(position, error.to_string()),
    }
}

fn checked(text: String, position: Position) -> Result<String, ReadError> {
    match first_forbidden(&text) {
        None => Ok(text),
        Some(character) => Err(malformed(position, forbidden(character))),
    }
}

fn read_tag(tag: &BytesStart<'_>, position: Position) -> Result<Tag, ReadError> {
    let name = tag.name().as_ref().to_owned();
    let mut attributes = Vec::new();
    // The iterator refuses an attribute that stands twice.
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| malformed(position, format!("<{name}>: {error}")))?;
        let key = attribute.key.as_ref().to_owned();
        let value = read_attribute(&attribute.value)
            .map_err(|reason| malformed(position, format!("<{name}>, attribute `{key}`: {reason}")))?;
        attributes.push((key, value));
    }
    Ok(Tag { name, attributes, position })
}

/// Fails if the file says that it is in another encoding than it seems.
fn check_declaration(
    declaration: &BytesDecl<'_>,
    seen: Encoding,
    position: Position,
) -> Result<(), ReadError> {
    let Some(stated) = declaration.encoding() else { return Ok(()) };
    let stated = stated.map_err(|error| malformed(position, error.to_string()))?;
    let fits = match seen {
        // All characters of ASCII are the same in UTF-8.
        Encoding::Utf8 => ["UTF-8", "UTF8", "US-ASCII", "ASCII"].as_slice(),
        Encoding::Utf16 { .. } => &["UTF-16", "UTF-16LE", "UTF-16BE"],
    };
    if fits.iter().any(|name| stated.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let what =
        format!("a file that says it is in {stated:?} (UTF-8 is read, and UTF-16 with a byte order mark)");
    Err(ReadError::Unsupported { position, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(xml: &[u8]) -> Result<Vec<String>, ReadError> {
        let mut tokens = Tokens::new(xml, 200)?;
        let mut found = Vec::new();
        loop {
            found.push(match tokens.next_token()? {
                Token::Start(tag) => {
                    let attributes: Vec<_> =
                        tag.attributes.iter().map(|(key, value)| format!(" {key}={value:?}")).collect();
                    format!(
                        "<{}{}> {}:{}",
                        tag.name,
                        attributes.concat(),
                        tag.position.line,
                        tag.position.column
                    )
                }
                Token::End => "end".to_owned(),
                Token::Text(text) => format!("{text:?}"),
                Token::Eof => return Ok(found),
            });
        }
    }

    fn error(xml: impl AsRef<[u8]>) -> String {
        let xml = xml.as_ref();
        tokens(xml).expect_err(&String::from_utf8_lossy(xml)).to_string()
    }

    #[test]
    fn tags_and_text_come_with_their_places() {
        let xml = "<?xml version='1.0' encoding='UTF-8'?>\n<!-- c -->\n<a b='1' c=\"&lt;\">x\r\n  <p:d/>&amp;<![CDATA[<&]]></a>\n";
        assert_eq!(
            tokens(xml.as_bytes()).unwrap(),
            ["<a b=\"1\" c=\"<\"> 3:1", "\"x\\n  \"", "<p:d> 4:3", "end", "\"&\"", "\"<&\"", "end"]
        );
    }

    #[test]
    fn entities_of_a_dtd_are_never_read() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"xx\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        assert!(error(bomb).contains("DOCTYPE with declarations"));
        let external = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a>&b;</a>";
        assert!(error(external).contains("those of a DTD are not read"));
        let plain =
            "<!DOCTYPE graphml SYSTEM \"http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd\"><a/>";
        assert_eq!(tokens(plain.as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn what_is_not_well_formed_is_refused_with_its_place() {
        for (xml, place) in [
            ("<a>\n<b></a>", "line 2, column 4"),
            ("<a>\n</a></b>", "line 2, column 5"),
            ("<a>\n<b", "line 2, column 1"),
            ("<a>\n&b", "line 2, column 1"),
            ("<a>\n&#0;</a>", "line 2, column 1"),
            ("<a>\n<b c='1' c='2'/></a>", "line 2, column 1"),
            ("<a>\n<b c=1/></a>", "line 2, column 1"),
            ("<a>\n<b c='&d;'/></a>", "line 2, column 1"),
            ("<a/>\nx", "line 1, column 5"),
            ("<a/>\n<b/>", "line 2, column 1"),
            ("<a>\u{1}</a>", "line 1, column 4"),
            ("<a>\0</a>", "line 1, column 4"),
            ("<a><!-- -- --></a>", "line 1, column 4"),
            ("", "line 1, column 1"),
            ("x", "line 1, column 1"),
            ("<a>", "line 1, column 4"),
        ] {
            let error = error(xml);
            assert!(error.starts_with(place), "{xml}: {error}");
        }
        assert!(error(b"<a>\xff</a>").starts_with("line 1, column 4"));
    }

    #[test]
    fn encodings_are_checked_against_what_the_file_says() {
        assert!(error("<?xml version='1.0' encoding='ISO-8859-1'?><a/>").contains("ISO-8859-1"));
        assert!(error("<?xml version='1.0' encoding='UTF-16'?><a/>").contains("UTF-16"));
        let xml = "\u{feff}<?xml version='1.0' encoding='utf-16'?><a>é</a>";
        let units: Vec<u8> = xml.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(tokens(&units).unwrap(), ["<a> 1:40", "\"é\"", "end"]);
    }

    #[test]
    fn nothing_is_endless() {
        assert!(error(format!("<a>{}</a>", "x".repeat(1000))).contains("more than 200 bytes"));
        assert!(error(format!("<a b='{}'/>", "x".repeat(1000))).contains("more than 200 bytes"));
        assert!(error("<a>".repeat(1000)).contains("nested more than 256 deep"));
        let mut tokens = Tokens::new(std::io::BufReader::new(std::io::repeat(b'<')), 1000).unwrap();
        assert!(tokens.next_token().is_err());
        let references = format!("<a>{}</a>", "&amp;".repeat(1000));
        let mut tokens = Tokens::new(references.as_bytes(), 200).unwrap();
        tokens.next_token().unwrap();
        assert!(matches!(tokens.read_text(), Err(ReadError::TooLong { limit: 200, .. })));
    }

    #[test]
    fn a_text_with_tags_in_it_is_none() {
        let mut tokens = Tokens::new(b"<a><b>x<c><d/></c>y</b><e>z&lt;</e></a>".as_slice(), 200).unwrap();
        tokens.next_token().unwrap();
        tokens.next_token().unwrap();
        assert_eq!(tokens.read_text().unwrap(), None);
        assert!(matches!(tokens.next_token().unwrap(), Token::Start(tag) if tag.name == "e"));
        assert_eq!(tokens.read_text().unwrap().as_deref(), Some("z<"));
        assert_eq!(tokens.next_token().unwrap(), Token::End);
        assert_eq!(tokens.next_token().unwrap(), Token::Eof);
    }
}

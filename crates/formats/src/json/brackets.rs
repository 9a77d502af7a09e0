//! Brackets: the end of a JSON value, found without parsing its content.

/// How far a value has been followed to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Brackets {
    /// Bytes of `block` up to the end of the object, array or string that began first, if it is among them.
    #[inline]
    pub(crate) fn end_in(&mut self, block: &[u8]) -> Option<usize> {
        block.iter().position(|byte| self.ends_at(*byte)).map(|place| place + 1)
    }

    /// Whether `byte`, the next one, is the last of the object, array or string that began first.
    pub(crate) fn ends_at(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => {
                self.in_string = !self.in_string;
                return self.depth == 0 && !self.in_string;
            }
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_with_its_last_bracket_or_quote_in_blocks_of_any_size() {
        for (text, end) in [(r#"{"a":"}"}, "#, 9), (r#"["\"]",{}]x"#, 10), (r#""a\"b" "#, 6), ("{}", 2)] {
            assert_eq!(Brackets::default().end_in(text.as_bytes()), Some(end), "{text}");
            let mut brackets = Brackets::default();
            assert_eq!(
                text.bytes().position(|byte| brackets.end_in(&[byte]).is_some()),
                Some(end - 1),
                "{text}"
            );
        }
        assert_eq!(Brackets::default().end_in(b"{\"a\":[}"), None);
    }
}

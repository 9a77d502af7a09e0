//! Parses the fields of dates and times in ISO 8601 text, and locates errors in them.

use thiserror::Error;

/// Why a text or its parts are no date, datetime or duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TemporalError {
    /// The text doesn't follow the form.
    #[error("expected {expected} at byte {offset}, as in {example}")]
    Malformed {
        /// What should stand there.
        expected: &'static str,
        /// Where, in bytes from the start of the text.
        offset: usize,
        /// A text of the right form.
        example: &'static str,
    },
    /// A field's number doesn't exist, or not in this year and month.
    #[error("{field} {found} is outside {least} to {greatest}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its number.
        found: i128,
        /// The least that it may be.
        least: i64,
        /// The greatest that it may be.
        greatest: i64,
    },
}

/// Checks that `found` lies within `least..=greatest`.
pub(super) fn check_range(
    field: &'static str,
    found: impl Into<i128>,
    least: i64,
    greatest: i64,
) -> Result<(), TemporalError> {
    let found = found.into();
    if found < i128::from(least) || found > i128::from(greatest) {
        return Err(TemporalError::OutOfRange { field, found, least, greatest });
    }
    Ok(())
}

/// A position in a text that is read from left to right.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    offset: usize,
    example: &'static str,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`; errors show `example`.
    pub(super) fn new(text: &'a str, example: &'static str) -> Self {
        Self { text: text.as_bytes(), offset: 0, example }
    }

    /// The next byte, if any is left.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    /// Steps over the next byte if it is `byte` (an ASCII capital also matches its small letter).
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek().is_some_and(|next| next.to_ascii_uppercase() == byte);
        self.offset += usize::from(found);
        found
    }

    /// Steps over `byte`, or fails for want of `expected`.
    pub(super) fn require(&mut self, byte: u8, expected: &'static str) -> Result<(), TemporalError> {
        if self.take(byte) { Ok(()) } else { Err(self.malformed(expected)) }
    }

    /// Steps over a sign: true for minus, false for plus, `None` if there is no sign.
    pub(super) fn take_sign(&mut self) -> Option<bool> {
        if self.take(b'-') { Some(true) } else { self.take(b'+').then_some(false) }
    }

    /// Reads at least `least` and at most `greatest` digits (18, so that the number fits).
    pub(super) fn digits(
        &mut self,
        least: usize,
        greatest: usize,
        expected: &'static str,
    ) -> Result<i64, TemporalError> {
        debug_assert!(greatest <= 18);
        let (mut number, mut count) = (0, 0);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            if count == greatest {
                return Err(self.malformed(expected));
            }
            number = number * 10 + i64::from(digit - b'0');
            self.offset += 1;
            count += 1;
        }
        if count < least { Err(self.malformed(expected)) } else { Ok(number) }
    }

    /// Reads exactly two digits.
    pub(super) fn two_digits(&mut self, expected: &'static str) -> Result<i64, TemporalError> {
        let mut number = 0;
        for _ in 0..2 {
            let Some(digit @ b'0'..=b'9') = self.peek() else { return Err(self.malformed(expected)) };
            number = number * 10 + i64::from(digit - b'0');
            self.offset += 1;
        }
        Ok(number)
    }

    /// Reads a fraction of a second in nanoseconds, if there is a point; zero otherwise.
    pub(super) fn fraction(&mut self) -> Result<u32, TemporalError> {
        if !self.take(b'.') {
            return Ok(0);
        }
        let start = self.offset;
        let digits = self.digits(1, 9, "1 to 9 digits of a second's fraction")?;
        let missing = u32::try_from(9 - (self.offset - start)).expect("at most 9 digits were read");
        Ok(u32::try_from(digits).expect("9 digits fit") * 10_u32.pow(missing))
    }

    /// Fails unless the whole text was read.
    pub(super) fn finish(&self) -> Result<(), TemporalError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.malformed("the end of the text")) }
    }

    /// The error that `expected` is missing here.
    pub(super) fn malformed(&self, expected: &'static str) -> TemporalError {
        TemporalError::Malformed { expected, offset: self.offset, example: self.example }
    }
}

/// Writes `.` and the digits of `nanoseconds` without zeros at the end; nothing for zero.
pub(super) fn write_fraction(formatter: &mut std::fmt::Formatter<'_>, nanoseconds: u32) -> std::fmt::Result {
    if nanoseconds == 0 {
        return Ok(());
    }
    let digits = format!("{nanoseconds:09}");
    write!(formatter, ".{}", digits.trim_end_matches('0'))
}

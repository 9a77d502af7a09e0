//! Byte size: a number of bytes as people read it, in a binary unit.
//!
//! ```text
//! 1 byte   1,023 bytes   4.1 MiB   1.0 TiB
//! ```

use std::fmt;

/// A number of bytes; its text has the unit that fits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        match self.0 {
            1 => return f.write_str("1 byte"),
            few @ 0..1000 => return write!(f, "{few} bytes"),
            more @ 1000..1024 => return write!(f, "1,{:03} bytes", more - 1000),
            _ => {}
        }
        let mut amount = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // From here on it would be rounded to 1024.0.
        while amount >= 1023.95 && unit + 1 < UNITS.len() {
            amount /= 1024.0;
            unit += 1;
        }
        write!(f, "{amount:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_never_show_a_thousand_and_more_of_a_unit() {
        let sizes = [0, 1, 999, 1023, 1024, 4_300_000, (1 << 20) - 1, 1 << 40];
        assert_eq!(
            sizes.map(|bytes| ByteSize(bytes).to_string()),
            ["0 bytes", "1 byte", "999 bytes", "1,023 bytes", "1.0 KiB", "4.1 MiB", "1.0 MiB", "1.0 TiB"]
        );
        assert_eq!(ByteSize(u64::MAX).to_string(), "16384.0 PiB");
    }
}

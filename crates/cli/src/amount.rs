//! Amounts that are written with a unit: sizes of memory (`4GiB`) and stretches of time (`50ms`).

use evergraph_storage::durable_engine::check_live_bytes_max;
use evergraph_terminal::number::counted;
use std::time::Duration;

/// Units of sizes: those of memory, whose letters alone mean the same, and those of disks' makers.
const SIZES: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
/// Units of time, in nanoseconds.
const TIMES: [(&str, u64); 4] =
    [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

/// The least memory that a limit can be: who says less forgot the unit.
const MEMORY_LEAST: u64 = 1 << 10;

/// The bytes of a size of memory: `1048576`, `512MiB`, `4G` (as `4GiB`), `1.5 GB`; units in any case.
///
/// # Errors
/// What is wanted instead, if it isn't such a text, less than 1 KiB, or more than 2^64 bytes.
pub fn memory(text: &str) -> Result<u64, String> {
    match amount(text, &SIZES) {
        Some(bytes @ MEMORY_LEAST..) => Ok(bytes),
        Some(bytes) => {
            let bytes = counted(bytes, "byte", "bytes");
            Err(format!("{bytes} are too few: at least 1KiB is needed; is a unit missing, as in 4GiB?"))
        }
        None => Err("expected a size: a number with KiB, MiB, GiB or TiB".to_owned()),
    }
}

/// A size of memory that changes and old versions may take in a database of the mapped engine.
///
/// # Errors
/// Those of [`memory`]; a size that no database is opened with.
pub fn live_bytes(text: &str) -> Result<u64, String> {
    let bytes = memory(text)?;
    check_live_bytes_max(bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// A stretch of time: `500us`, `50ms`, `2s`, `1min`.
///
/// # Errors
/// What is wanted instead, if it isn't such a text, or more than some centuries.
pub fn time(text: &str) -> Result<Duration, String> {
    let nanoseconds = amount(text, &TIMES);
    nanoseconds
        .map(Duration::from_nanos)
        .ok_or_else(|| "expected a time: a number with us, ms, s or min".to_owned())
}

/// A number times the unit behind it.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor);
    }
    let amount = number.parse::<f64>().ok()? * *factor as f64;
    // 2^64 itself is the first that doesn't fit.
    (amount < u64::MAX as f64).then_some(amount as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let sizes = ["1048576", "512MiB", "4 gib", "4G", "64k", "2048B", "1.5GB", "2KB"];
        assert_eq!(
            sizes.map(|text| memory(text).unwrap()),
            [1 << 20, 512 << 20, 4 << 30, 4 << 30, 64 << 10, 2048, 1_500_000_000, 2_000]
        );
        for few in ["0", "4", "1023", "0.5K"] {
            assert!(memory(few).unwrap_err().contains("is a unit missing, as in 4GiB?"), "{few}");
        }
        for bad in ["", "GiB", "4 XB", "-1", "1e3", "4GiB5", "1.2.3", "99999999TiB", "18446744073709551616"] {
            assert!(memory(bad).unwrap_err().contains("a number with KiB"), "{bad}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        let times = ["500us", "50ms", "1.5s", "2 min"].map(|text| time(text).unwrap().as_micros());
        assert_eq!(times, [500, 50_000, 1_500_000, 120_000_000]);
        assert!(time("50").is_err() && time("").is_err() && time("1h").is_err());
    }
}

//! Hex: 16 bytes as 32 hexadecimal digits, as ids and salts stand in files.

/// The digits of `bytes`, lower case.
pub(super) fn digits(bytes: &[u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of 32 digits, in either case; `None` for anything else.
pub(super) fn bytes(digits: &str) -> Option<[u8; 16]> {
    let is_hex = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = is_hex.then(|| u128::from_str_radix(digits, 16).ok())?;
    number.map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_read_back_and_nothing_else_is_read() {
        let sixteen = *b"\x00\x01sixteen bytes.";
        assert_eq!(digits(&sixteen), "00017369787465656e2062797465732e");
        assert_eq!(bytes(&digits(&sixteen)), Some(sixteen));
        assert_eq!(bytes(&digits(&sixteen).to_uppercase()), Some(sixteen));
        for wrong in ["", "0", "+0017369787465656e2062797465732e", "00017369787465656e2062797465732e0"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}

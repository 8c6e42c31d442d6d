//! The hash slot of a key.

/// How many slots there are.
const SLOTS: u16 = 16_384;

/// The part of a key that places it.
pub(super) fn tag(key: &str) -> &str {
    let tagged = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    match tagged {
        Some((tag, _)) if !tag.is_empty() => tag,
        _ => key,
    }
}

pub(crate) fn of(key: &str) -> u16 {
    crc16(tag(key).as_bytes()) % SLOTS
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in bytes {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_where_the_server_has_them() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        // As `CLUSTER KEYSLOT` says.
        for (key, slot) in [
            ("foo", 12_182),
            ("{user1000}.following", 3443),
            ("a{}b", 13_694),
            ("", 0),
        ] {
            assert_eq!(of(key), slot, "{key}");
        }
        assert_eq!(of("{foo}:x"), of("foo"));
        assert_eq!(tag("a{b"), "a{b");
        assert_eq!(tag("a{b}c}"), "b");
    }
}

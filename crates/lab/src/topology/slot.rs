//! Which of a cluster's 16384 slots a key is in.

/// Slots of a Redis Cluster.
pub const SLOTS: u16 = 16_384;

/// The slot of a key: CRC16 of the key, or of its hash tag if it has one.
pub fn slot(key: &str) -> u16 {
    let bytes = key.as_bytes();
    let open = bytes.iter().position(|byte| *byte == b'{');
    let tag = open.and_then(|open| {
        let rest = &bytes[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(bytes)) % SLOTS
}

/// CRC-16/XMODEM, bit by bit: it is computed once a run.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot("foo"), 12_182);
        assert_eq!(slot("{foo}.lock"), 12_182);
        assert_eq!(slot("{}foo"), crc16(b"{}foo") % SLOTS);
    }
}

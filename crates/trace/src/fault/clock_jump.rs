//! A server's clock jumps.

use super::Told;
use crate::words;

pub(super) fn told(node: u8, offset_ms: i64) -> Told {
    let sentence = format!("{}'s clock jumps by {offset_ms:+} ms", words::node(node));
    Told::of_node(node, format!("clock {offset_ms:+} ms"), sentence)
}

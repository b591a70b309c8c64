//! A client's clock is set off, or drifts.

use super::Told;
use crate::words;

pub(super) fn told_skew(client: u8, offset_ms: i64) -> Told {
    let name = words::client(client);
    let sentence = format!("{name}'s clock is {offset_ms:+} ms off true time");
    Told::of_client(client, format!("clock {offset_ms:+} ms"), sentence)
}

pub(super) fn told_drift(client: u8, ticks: u8) -> Told {
    let short = match ticks {
        0 => "clock stands a tick".to_owned(),
        ticks => format!("clock runs {ticks}×"),
    };
    let sentence = format!(
        "{}'s clock advances {} in the next one",
        words::client(client),
        words::plural(u32::from(ticks), "tick")
    );
    Told::of_client(client, short, sentence)
}

//! WAIT: what the world knows of it.
//!
//! A client asks its server to answer only when so many replicas have all that
//! was written before the client's last command, or when a time-out is over
//! (Redis manual, WAIT: it returns how many replicas have acknowledged, also
//! when that is fewer than asked for, and takes nothing back). A node has one
//! replica at most, so the only number that makes sense is one.

use lockproof_redis::Bytes;

use super::message::FOR_EVER;

/// In how many ticks of `step_ms` a WAIT gives up, or [`FOR_EVER`]; `None` for
/// any other command, and for one that every server refuses.
///
/// A server gives up at the first moment that is later than its time-out, and
/// looks only when its clock moves, which is at ticks.
///
/// # Errors
/// In words, what of it is not in the model.
pub fn ticks(argv: &[Bytes], step_ms: i64) -> Result<Option<u8>, String> {
    let text = |word: &Bytes| String::from_utf8_lossy(word).into_owned();
    let [name, replicas, timeout_ms] = argv else {
        return Ok(None);
    };
    if !text(name).eq_ignore_ascii_case("wait") {
        return Ok(None);
    }
    let (replicas, timeout_ms) = (
        text(replicas).parse::<i64>(),
        text(timeout_ms).parse::<i64>(),
    );
    let (Ok(replicas), Ok(timeout_ms @ 0..)) = (replicas, timeout_ms) else {
        return Ok(None);
    };
    if replicas != 1 {
        return Err(format!(
            "WAIT for {replicas} replicas (a node of the model has one; ask for 1)"
        ));
    }
    if timeout_ms == 0 {
        return Ok(Some(FOR_EVER));
    }
    let ticks = timeout_ms / step_ms + 1;
    if ticks >= i64::from(FOR_EVER) {
        return Err(format!(
            "WAIT with a time-out of {timeout_ms} ms, {FOR_EVER} ticks or more"
        ));
    }
    Ok(Some(u8::try_from(ticks).unwrap_or(FOR_EVER)))
}

/// The time-out of a WAIT in ms, if it has one; `None` for any other command.
pub fn timeout_ms(argv: &[Bytes]) -> Option<i64> {
    let [name, _, timeout_ms] = argv else {
        return None;
    };
    let text = std::str::from_utf8(timeout_ms).ok()?;
    let is_wait = name.eq_ignore_ascii_case(b"wait");
    text.parse().ok().filter(|ms| is_wait && *ms > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Option<u8>, String> {
        let argv: Vec<Bytes> = words.split(' ').map(|word| word.into()).collect();
        ticks(&argv, 1001)
    }

    #[test]
    fn a_wait_gives_up_at_the_first_tick_after_its_time_out() {
        assert_eq!(of("WAIT 1 100"), Ok(Some(1)));
        assert_eq!(of("wait 1 1000"), Ok(Some(1)));
        assert_eq!(of("WAIT 1 1001"), Ok(Some(2)));
        assert_eq!(of("WAIT 1 0"), Ok(Some(FOR_EVER)));
        assert_eq!(of("WAIT 1 x"), Ok(None));
        assert_eq!(of("WAIT 1 -1"), Ok(None));
        assert_eq!(of("GET 1 100"), Ok(None));
        assert!(of("WAIT 2 100").is_err() && of("WAIT 0 100").is_err());
        assert!(of("WAIT 1 99999999").is_err());
    }
}

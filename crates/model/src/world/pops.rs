//! BLPOP: what the world knows of it.
//!
//! A client asks for the first element of a list. If there is none, its server holds the
//! command back until somebody has put one there, or until a time-out is over (Redis
//! manual, BLPOP). A time-out of 0 is none.

use lockproof_lua::text;
use lockproof_redis::Bytes;

use super::message::FOR_EVER;

/// In how many ticks of `step_ms` a BLPOP gives up, or [`FOR_EVER`]; `None` for any other
/// command, and for one that every server refuses.
///
/// A server gives up at the first moment that is later than its time-out, and looks only
/// when its clock moves, which is at ticks.
///
/// # Errors
/// In words, what of it is not in the model.
pub fn ticks(argv: &[Bytes], step_ms: i64) -> Result<Option<u8>, String> {
    let Some((keys, timeout)) = words(argv) else {
        return Ok(None);
    };
    if keys.len() > 1 {
        let count = keys.len();
        return Err(format!(
            "BLPOP on {count} lists, which is not in the model yet; ask for one"
        ));
    }
    if text::has_symbols(timeout) {
        return Err(
            "BLPOP with a time-out that is a time, or computed from one, which is not in the model yet"
                .into(),
        );
    }
    let Some(ms) = milliseconds(timeout) else {
        return Ok(None);
    };
    if ms == 0 {
        return Ok(Some(FOR_EVER));
    }
    let ticks = ms / step_ms + 1;
    match u8::try_from(ticks) {
        Ok(ticks) if ticks < FOR_EVER => Ok(Some(ticks)),
        _ => Err(format!(
            "BLPOP with a time-out of {} s, {FOR_EVER} ticks or more (0 is none)",
            text::printable(timeout)
        )),
    }
}

/// The time-out of a BLPOP in ms, if it has one; `None` for any other command.
pub fn timeout_ms(argv: &[Bytes]) -> Option<i64> {
    let (_, timeout) = words(argv)?;
    milliseconds(timeout).filter(|ms| *ms > 0)
}

/// The lists of a BLPOP, and its time-out.
fn words(argv: &[Bytes]) -> Option<(&[Bytes], &Bytes)> {
    let [name, keys @ .., timeout] = argv else {
        return None;
    };
    let is_one = name.eq_ignore_ascii_case(b"blpop") && !keys.is_empty();
    is_one.then_some((keys, timeout))
}

/// Seconds as a server reads them, which counts in ms and rounds up.
fn milliseconds(seconds: &[u8]) -> Option<i64> {
    let seconds: f64 = std::str::from_utf8(seconds).ok()?.parse().ok()?;
    let ms = (seconds * 1000.0).ceil();
    (ms >= 0.0 && seconds >= 0.0).then_some(ms.min(i64::MAX as f64) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Option<u8>, String> {
        let argv: Vec<Bytes> = words.split(' ').map(|word| word.into()).collect();
        ticks(&argv, 1001)
    }

    #[test]
    fn a_blpop_gives_up_at_the_first_tick_after_its_time_out() {
        assert_eq!(of("BLPOP q 0.1"), Ok(Some(1)));
        assert_eq!(of("blpop q 1"), Ok(Some(1)));
        assert_eq!(of("BLPOP q 1.001"), Ok(Some(2)));
        assert_eq!(of("BLPOP q 1.0001"), Ok(Some(2)));
        assert_eq!(of("BLPOP q 0"), Ok(Some(FOR_EVER)));
    }

    #[test]
    fn less_than_a_millisecond_is_one_and_not_none() {
        assert_eq!(of("BLPOP q 0.0001"), Ok(Some(1)));
    }

    #[test]
    fn what_servers_refuse_is_no_wait() {
        for words in [
            "BLPOP q x",
            "BLPOP q -1",
            "BLPOP q nan",
            "BLPOP q",
            "LPOP q 1",
        ] {
            assert_eq!(of(words), Ok(None), "{words}");
        }
    }

    #[test]
    fn what_the_model_lacks_is_said() {
        for words in ["BLPOP q r 1", "BLPOP q 1e9", "BLPOP q inf"] {
            assert!(of(words).is_err(), "{words}");
        }
    }
}

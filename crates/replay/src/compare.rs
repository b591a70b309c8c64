//! Is what really happened what the trace predicted?

use lockproof_lab::client::protocol::View;
use lockproof_redis::Reply;
use lockproof_trace::{ClientView, Outcome, words};

/// Two sides of a comparison that failed, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub expected: String,
    pub actual: String,
}

/// Replies must be equal. Error texts change between server versions, and locks
/// look at their first word at most, so of an error only that is compared.
pub(super) fn reply(expected: &Reply, actual: &Reply) -> Result<(), Mismatch> {
    if same_reply(expected, actual) {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("the reply {}", reply_text(expected)),
        actual: format!("the reply {}", reply_text(actual)),
    })
}

fn same_reply(expected: &Reply, actual: &Reply) -> bool {
    match (expected, actual) {
        (Reply::Error(a), Reply::Error(b)) => code(a) == code(b),
        (Reply::Array(a), Reply::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_reply(a, b))
        }
        // A trace is text, so a byte that is no UTF-8 reached it as U+FFFD.
        (Reply::Bulk(a), Reply::Bulk(b)) => {
            String::from_utf8_lossy(a) == String::from_utf8_lossy(b)
        }
        (a, b) => a == b,
    }
}

/// Outcomes must be equal. A reason that is a server's error text is compared
/// as such.
pub(super) fn same_outcome(expected: &Outcome, actual: &Outcome) -> bool {
    match (expected, actual) {
        (Outcome::Failed { reason: a }, Outcome::Failed { reason: b }) => {
            let is_code =
                |word: &str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase());
            a == b || code(a) == code(b) && is_code(code(a))
        }
        (a, b) => a == b,
    }
}

fn code(error: &str) -> &str {
    error.split_ascii_whitespace().next().unwrap_or("")
}

/// Requests must be equal, argument by argument, as text.
pub(super) fn request(expected: &[String], actual: &[String]) -> Result<(), Mismatch> {
    if expected == actual {
        return Ok(());
    }
    let first = expected
        .iter()
        .zip(actual)
        .position(|(a, b)| a != b)
        .unwrap_or(expected.len().min(actual.len()));
    let shown = |argv: &[String]| {
        let argument = argv.get(first).map_or("nothing", String::as_str);
        format!(
            "the command {} (argument {first}: {argument})",
            command_text(argv)
        )
    };
    Err(Mismatch {
        expected: shown(expected),
        actual: shown(actual),
    })
}

/// Beliefs must be equal, as far as a client that runs can tell.
pub(super) fn view(client: usize, expected: &ClientView, actual: &View) -> Result<(), Mismatch> {
    // While a release runs, `holds` counts without the level being released.
    let believes = actual.holds > 0;
    let actual = ClientView {
        phase: actual.phase.clone(),
        believes,
        valid: believes && actual.validity_left_ms.is_none_or(|left| left > 0),
        validity_left_ms: actual.validity_left_ms,
        holds: actual.holds,
    };
    // How long ago a validity ended is clamped in the model, and nobody's concern.
    let over = |left: Option<i64>| left.map(|ms| ms.max(0));
    let same = (
        &expected.phase,
        expected.believes,
        expected.valid,
        expected.holds,
    ) == (&actual.phase, actual.believes, actual.valid, actual.holds)
        && over(expected.validity_left_ms) == over(actual.validity_left_ms);
    if same {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!(
            "{client} {}",
            view_text(expected),
            client = words::client(client as u8)
        ),
        actual: format!(
            "{client} {}",
            view_text(&actual),
            client = words::client(client as u8)
        ),
    })
}

fn view_text(view: &ClientView) -> String {
    let validity = match view.validity_left_ms {
        None => String::new(),
        Some(ms) => format!(", validity left {ms} ms"),
    };
    format!(
        "is {} (believes it holds: {}, validly: {}, holds {}{validity})",
        view.phase, view.believes, view.valid, view.holds
    )
}

/// A reply in one line.
pub(super) fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Nil => "nil".to_string(),
        Reply::Status(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Int(value) => value.to_string(),
        Reply::Bulk(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Reply::Array(items) => {
            let items: Vec<_> = items.iter().map(reply_text).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// A command in one line; long arguments (scripts) are cut.
pub(super) fn command_text(argv: &[String]) -> String {
    const CHARS_MAX: usize = 40;
    let shown = argv.iter().map(|argument| {
        let line = argument.lines().next().unwrap_or("");
        if line.len() == argument.len() && line.chars().count() <= CHARS_MAX {
            line.to_string()
        } else {
            let begin: String = line.chars().take(CHARS_MAX).collect();
            format!("\"{begin}...\"")
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_equal_by_their_first_word() {
        let old = Reply::Error("WRONGTYPE Operation against a key".to_string());
        let new = Reply::Error("WRONGTYPE operation, differently put".to_string());
        let other = Reply::Error("ERR no such thing".to_string());
        assert_eq!(reply(&old, &new), Ok(()));
        assert!(reply(&old, &other).is_err());
        let nested = |e: &Reply| Reply::Array(vec![Reply::Int(1), e.clone()]);
        assert_eq!(reply(&nested(&old), &nested(&new)), Ok(()));
        assert!(reply(&nested(&old), &nested(&other)).is_err());
    }

    #[test]
    fn a_reason_is_equal_by_its_first_word_only_if_that_is_an_error_code() {
        let failed = |reason: &str| Outcome::Failed {
            reason: reason.to_string(),
        };
        let same = |a: &str, b: &str| same_outcome(&failed(a), &failed(b));
        assert!(same("WRONGTYPE Operation", "WRONGTYPE operation"));
        assert!(!same("WRONGTYPE Operation", "ERR Operation"));
        assert!(!same("no reply in time", "no majority"));
        assert!(!same_outcome(&failed("x"), &Outcome::Busy));
    }

    #[test]
    fn nil_is_neither_zero_nor_empty() {
        assert!(reply(&Reply::Nil, &Reply::Int(0)).is_err());
        assert!(reply(&Reply::Nil, &Reply::Bulk(Vec::new())).is_err());
        assert!(reply(&Reply::Status("OK".into()), &Reply::Bulk("OK".into())).is_err());
    }

    #[test]
    fn a_wrong_command_is_shown_with_its_first_wrong_argument() {
        let set = |px: &str| ["SET", "k", "v", "PX", px].map(str::to_string);
        let mismatch = request(&set("3000"), &set("2999")).unwrap_err();
        assert!(mismatch.expected.contains("argument 4: 3000"));
        assert!(mismatch.actual.contains("argument 4: 2999"));
        let shorter = request(&set("1"), &set("1")[..4]).unwrap_err();
        assert!(shorter.actual.contains("argument 4: nothing"));
    }

    #[test]
    fn a_validity_that_ends_now_is_over() {
        let view_of = |left| View {
            phase: "held".to_string(),
            holds: 1,
            validity_left_ms: Some(left),
            threads: Vec::new(),
        };
        let expected = |valid, left| ClientView {
            phase: "held".to_string(),
            believes: true,
            valid,
            validity_left_ms: Some(left),
            holds: 1,
        };
        assert_eq!(view(0, &expected(true, 1), &view_of(1)), Ok(()));
        assert_eq!(view(0, &expected(false, 0), &view_of(0)), Ok(()));
        assert!(view(0, &expected(true, 0), &view_of(0)).is_err());
    }
}

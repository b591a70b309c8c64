//! Words of command lines that users copy into a shell.

use std::borrow::Cow;

/// A word as a POSIX shell reads it: quoted if it has to be.
pub fn word(word: &str) -> Cow<'_, str> {
    // Only a zero byte cannot be quoted, and no argument or path can have one.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_word() {
        for text in [
            "token",
            "my lock.lua",
            "it's",
            "$(reboot)",
            "a;b",
            "`x`",
            "",
            "-n",
            "a\nb",
            "\"q\"",
            "é",
        ] {
            let line = format!("printf %s {}", word(text));
            // As an argument: dash's printf takes `-n` for what it is.
            let said = std::process::Command::new("sh")
                .args(["-c", &line])
                .output();
            let said = said.unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), text, "{line}");
        }
        assert_eq!(word("models/token.lua"), "models/token.lua");
    }
}

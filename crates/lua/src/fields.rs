//! Where a table gives a field, for messages about its value.
//!
//! A value does not know its line, and an instruction knows that of its statement alone:
//! the table of a whole lock file is one statement. So the text is looked at once more,
//! when there is something to complain of.

use super::lexer::{Lexeme, Lexer, Token};

/// The line (from 1) on which the text names the last field of `path`, each a field of the
/// table before it, as in `about = { works = ..`; or else the longest beginning of `path` that
/// it names. A table that stands in no other table comes first, so that a variable of the same
/// name inside a function is not taken for the field. `None` if the text names no such field in
/// this way, for example as `t["about"]`.
pub fn field_line(source: &[u8], path: &[&str]) -> Option<u32> {
    let mut lexer = Lexer::new(source);
    let read = std::iter::from_fn(|| lexer.next().ok());
    let tokens: Vec<Lexeme> = read.take_while(|one| one.token != Token::End).collect();
    (1..=path.len())
        .rev()
        .find_map(|length| last_named(&tokens, &path[..length]))
}

/// The last of several counts: what a file returns stands at its end.
fn last_named(tokens: &[Lexeme], path: &[&str]) -> Option<u32> {
    let (field, around) = path.split_last()?;
    // The fields whose tables are open here; `None` for a table that is no field's.
    let mut open: Vec<Option<&str>> = Vec::new();
    let mut found = None;
    for (index, lexeme) in tokens.iter().enumerate() {
        match &lexeme.token {
            Token::Fixed("{") => {
                let before = index.checked_sub(2);
                open.push(before.and_then(|at| assigned(tokens, at)));
            }
            Token::Fixed("}") => {
                open.pop();
            }
            _ if assigned(tokens, index) == Some(*field) => {
                let within = open.len().checked_sub(around.len());
                let within = within.map(|from| open[from..].iter().copied());
                if within.is_some_and(|names| names.eq(around.iter().copied().map(Some))) {
                    let outermost = open.len() == path.len() && begins_field(tokens, index);
                    found = found.max(Some((outermost, lexeme.line)));
                }
            }
            _ => {}
        }
    }
    found.map(|(_, line)| line)
}

/// What stands at this place is the first of its table, or follows another field.
fn begins_field(tokens: &[Lexeme], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| &tokens[at].token);
    matches!(before, Some(Token::Fixed("{" | "," | ";")))
}

/// The name at this place, if `=` follows it.
fn assigned(tokens: &[Lexeme], at: usize) -> Option<&str> {
    match (&tokens.get(at)?.token, &tokens.get(at + 1)?.token) {
        (Token::Name(name), Token::Fixed("=")) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_on_its_line() {
        let text = b"local about = 1\nreturn {\n  -- about = { works = 3 }\n  works = 2,\n  \
            about = {\n    works = [[a\n\n]],\n    other = { works = 1 },\n    repair = {},\n  },\n}\n";
        assert_eq!(field_line(text, &["about", "works"]), Some(6));
        assert_eq!(field_line(text, &["about", "repair"]), Some(10));
        assert_eq!(
            field_line(text, &["about", "claims"]),
            Some(5),
            "its table's"
        );
        assert_eq!(
            field_line(text, &["works"]),
            Some(4),
            "in the outermost table"
        );
        assert_eq!(field_line(text, &["other"]), Some(9), "nowhere else");
        assert_eq!(field_line(text, &["claims"]), None);
        assert_eq!(field_line(b"return { [[", &["about"]), None);
    }

    #[test]
    fn a_variable_of_the_same_name_is_not_the_field() {
        let text =
            b"local M = { keys = 1 }\nreturn {\n  keys = 2,\n  acquire = function(lock)\n    \
            local keys = { lock.key }\n    keys = f{ keys = 3 }\n  end,\n}\n";
        assert_eq!(field_line(text, &["keys"]), Some(3));
        let text = b"local M = {}\nM.keys = 1\nM.nodes = 0\nreturn M\n";
        assert_eq!(field_line(text, &["keys"]), Some(2));
    }
}

//! What all pages have in common: how their templates are read.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

/// Templates by their names. A name that ends in `.html` escapes every value; a
/// misspelt variable fails and does not leave a hole in a page.
///
/// # Errors
/// If a template is malformed, which is an error of ours.
pub(super) fn templates(
    texts: &[(&'static str, &'static str)],
) -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()?;
    environment.set_syntax(syntax);
    for (name, text) in texts {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

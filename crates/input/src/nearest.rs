//! "Did you mean ..?" for every name that somebody may have misspelt.

/// The most similar of `known`, if one is similar enough to be meant.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let similar = |known: &'k str| (strsim::jaro_winkler(name, known), known);
    let best = known
        .into_iter()
        .map(similar)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.75)
        .map(|(_, best)| best)
}

/// What to add to "there is no such name": the one that was perhaps meant, or
/// all that there are.
pub fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there are none".into(),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_told_and_another_one_gets_the_list() {
        let known = ["client-crash", "client-pause", "loss"];
        assert_eq!(hint("client-carsh", &known), "did you mean `client-crash`?");
        assert_eq!(
            hint("xyz", &known),
            "there are client-crash, client-pause, loss"
        );
        assert_eq!(hint("xyz", &[]), "there are none");
    }
}

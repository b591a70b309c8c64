//! "Did you mean ..?" for every name that somebody may have misspelt.

/// The most similar of `known`, if one is similar enough to be meant.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // One letter more, less or other, or two that changed places, comes before all that are less near:
    // the similarity of short names says little.
    let near = |known: &str| match strsim::osa_distance(name, known) {
        ..=1 => 1.0,
        _ => 0.0,
    };
    let similar = |known: &'k str| (near(known) + strsim::jaro_winkler(name, known), known);
    let best = known
        .into_iter()
        .map(similar)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.75)
        .map(|(_, best)| best)
}

/// What to add to "there is no such name": the names of which it is a part (`pause` of
/// `client-pause` and `node-pause`), the one that was perhaps meant, or all that there are.
pub fn hint(name: &str, known: &[&str]) -> String {
    let with_part: Vec<&str> = (known.iter().copied())
        .filter(|known| has_part(known, name))
        .collect();
    match with_part[..] {
        [] => {}
        [meant] => return format!("did you mean `{meant}`?"),
        _ => return format!("did you mean one of {}?", with_part.join(", ")),
    }
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there are none".into(),
        None => format!("there are {}", known.join(", ")),
    }
}

/// `name` begins with these words, which are whole ones: `mutual-exclusion-belief` does with
/// `mutual-exclusion`, and `clients` does not with `client`.
pub fn begins_with(name: &str, words: &str) -> bool {
    let rest = name.strip_prefix(words).filter(|_| !words.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The same, wherever in the name the words stand.
fn has_part(name: &str, words: &str) -> bool {
    let ends = name.match_indices('-').map(|(at, _)| &name[at + 1..]);
    std::iter::once(name)
        .chain(ends)
        .any(|part| begins_with(part, words))
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

    #[test]
    fn one_slip_is_nearer_than_a_longer_name() {
        assert_eq!(nearest("gte", ["getex", "get", "getset"]), Some("get"));
        assert_eq!(nearest("setxn", ["setex", "setnx"]), Some("setnx"));
        assert_eq!(nearest("", ["get"]), None);
    }

    #[test]
    fn a_part_of_names_is_told_all_of_them() {
        let known = ["client-crash", "client-pause", "node-pause", "loss"];
        let both = "did you mean one of client-pause, node-pause?";
        assert_eq!(hint("pause", &known), both);
        assert_eq!(hint("crash", &known), "did you mean `client-crash`?");
        // Half a word is no part.
        assert_eq!(hint("node-paus", &known), "did you mean `node-pause`?");
        assert_eq!(hint("", &["a-b"]), "there are a-b");
    }
}

//! The head of a lock file: what to ask, and what must be answered.
//!
//! ```text
//! -- Class: what goes wrong here
//! -- Check: --assume none                 arguments of `lockproof check`, after the file
//! -- Truth: mutual-exclusion-belief violated
//! -- Truth: lease holds under none        where the check has several assumption sets
//! -- Truth: refused line 12
//! -- Truth: warns acquire never succeeded
//! -- Because: why that is so, in plain sentences, on as many lines
//! -- as it takes.
//! ```
//!
//! A truth belongs to the check above it. Of a property it is `holds`, `violated`,
//! `unknown`, or `not-holds`: the truth is a violation, or it cannot be decided, so
//! anything but `holds` will do, a refusal too. `refused` is a truth about the whole
//! file: it is refused, or every answer is `unknown`, and the line is named. `warns` asks
//! for a warning with these words in it.

/// See the module.
#[derive(Debug)]
pub struct Head {
    pub checks: Vec<Check>,
}

/// One run of the program, and what it must say.
#[derive(Debug)]
pub struct Check {
    pub arguments: Vec<String>,
    pub truths: Vec<Truth>,
}

/// What must be answered.
#[derive(Debug, PartialEq)]
pub enum Truth {
    Of {
        property: String,
        answer: Answer,
        /// The assumption set, its names joined by `+`; all sets if it is missing.
        under: Option<String>,
    },
    Refused {
        line: Option<u32>,
    },
    /// A warning has these words in it.
    Warns(String),
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Holds,
    Violated,
    Unknown,
    NotHolds,
}

impl Answer {
    const NAMED: [(Answer, &'static str); 4] = [
        (Answer::Holds, "holds"),
        (Answer::Violated, "violated"),
        (Answer::Unknown, "unknown"),
        (Answer::NotHolds, "not-holds"),
    ];

    pub fn name(self) -> &'static str {
        let found = Answer::NAMED.iter().find(|(answer, _)| *answer == self);
        found.map_or("", |(_, name)| name)
    }
}

impl Head {
    /// Reads the comment lines with which a file begins.
    pub fn parse(text: &str) -> Result<Head, String> {
        let (mut class, mut because) = (String::new(), String::new());
        let mut checks: Vec<Check> = Vec::new();
        for line in text.lines().map_while(|line| line.strip_prefix("-- ")) {
            let (word, rest) = line.split_once(": ").unwrap_or(("", line));
            match word {
                "Class" => class += rest,
                "Check" => checks.push(Check {
                    arguments: rest.split_whitespace().map(str::to_owned).collect(),
                    truths: Vec::new(),
                }),
                "Truth" => {
                    let check = checks
                        .last_mut()
                        .ok_or("a Truth stands above every Check")?;
                    check.truths.push(truth(rest)?);
                }
                "Because" => because += rest,
                _ if !because.is_empty() => because += line,
                _ => return Err(format!("`{line}` is no line of a head")),
            }
        }
        if class.is_empty() || because.is_empty() || checks.is_empty() {
            return Err("a head has a Class, a Check and a Because".into());
        }
        match checks.iter().any(|check| check.truths.is_empty()) {
            true => Err("there is a Check without a Truth".into()),
            false => Ok(Head { checks }),
        }
    }
}

fn truth(text: &str) -> Result<Truth, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || format!("`{text}` is no truth");
    if let Some(words) = text.strip_prefix("warns ") {
        return Ok(Truth::Warns(words.to_owned()));
    }
    match words[..] {
        ["refused"] => Ok(Truth::Refused { line: None }),
        ["refused", "line", line] => match line.parse() {
            Ok(line) => Ok(Truth::Refused { line: Some(line) }),
            Err(_) => Err(wrong()),
        },
        [property, answer] | [property, answer, "under", _] => {
            let known = Answer::NAMED.iter().find(|(_, name)| *name == answer);
            Ok(Truth::Of {
                property: property.to_owned(),
                answer: known.ok_or_else(wrong)?.0,
                under: words.get(3).map(|set| set.to_string()),
            })
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = "-- Class: a\n-- Check: --assume none\n-- Truth: lease holds under none\n\
                    -- Truth: refused line 12\n-- Truth: warns a b\n-- Because: so\n-- it is: yes\nreturn {}\n-- Check: no\n";
        let head = Head::parse(head).unwrap();
        let [check] = &head.checks[..] else {
            panic!("{head:?}");
        };
        assert_eq!(check.arguments, ["--assume", "none"]);
        let lease = Truth::Of {
            property: "lease".into(),
            answer: Answer::Holds,
            under: Some("none".into()),
        };
        let (refused, warns) = (
            Truth::Refused { line: Some(12) },
            Truth::Warns("a b".into()),
        );
        assert_eq!(check.truths, [lease, refused, warns]);
    }

    #[test]
    fn a_malformed_head_is_refused() {
        let good = "-- Class: a\n-- Check: --clients 2\n-- Truth: lease holds\n-- Because: so\n";
        assert!(Head::parse(good).is_ok());
        let bad = [
            ("-- Class: a\n", ""),
            ("-- Because: so\n", ""),
            ("-- Truth: lease holds\n", ""),
            ("-- Check: --clients 2\n", ""),
            ("lease holds", "lease hold"),
            ("lease holds", "refused line x"),
            ("-- Because: so", "-- Becuase: so"),
        ];
        for (part, instead) in bad {
            let head = good.replace(part, instead);
            assert!(Head::parse(&head).is_err(), "{head}");
        }
    }
}

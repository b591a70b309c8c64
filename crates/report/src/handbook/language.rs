//! The languages of the handbook: templates, and the words of what stands in them.

use lockproof_model::world::catalogue::{Fault, Property};

use super::chinese;

/// A language.
#[derive(Clone, Copy)]
pub(in super::super) struct Language {
    /// Where its pages are, below the docs: empty, or with a slash at the end.
    pub folder: &'static str,
    /// The docs, as seen from there.
    pub up: &'static str,
    /// Pages that are not generated and are there in this language.
    pages: &'static [&'static str],
    pub templates: [(&'static str, &'static str); 3],
    /// Between the members of a list.
    pub comma: &'static str,
    /// An empty list.
    pub none: &'static str,
    pub fault: fn(Fault) -> FaultWords,
    pub property: fn(Property) -> PropertyWords,
}

/// What is said of a fault.
pub(in super::super) struct FaultWords {
    pub plain: String,
    pub meaning: String,
    pub cause: String,
    pub remedy: String,
}

/// What is said of a property.
pub(in super::super) struct PropertyWords {
    pub plain: String,
    pub meaning: String,
    /// Its violation, in two words or three.
    pub violation: String,
    pub cause: String,
    pub remedy: String,
}

macro_rules! templates {
    ($folder:literal) => {
        [
            (
                "faults.md",
                include_str!(concat!("../templates/handbook/", $folder, "/faults.md")),
            ),
            (
                "properties.md",
                include_str!(concat!("../templates/handbook/", $folder, "/properties.md")),
            ),
            (
                "which-lock.md",
                include_str!(concat!("../templates/handbook/", $folder, "/which-lock.md")),
            ),
        ]
    };
}

/// English first: what another language has no words for is said in English.
pub(in super::super) const LANGUAGES: [Language; 2] = [
    Language {
        folder: "",
        up: "",
        pages: &[],
        templates: templates!("en"),
        comma: ", ",
        none: "none",
        fault: english_fault,
        property: english_property,
    },
    Language {
        folder: "zh-CN/",
        up: "../",
        pages: &["lock-files.md"],
        templates: templates!("zh-CN"),
        comma: "、",
        none: "没有",
        fault: chinese::fault,
        property: chinese::property,
    },
];

impl Language {
    /// A page of the docs, as a link from this language's folder: in this language, if it is there.
    pub fn page(&self, page: &str) -> String {
        let translated = page.starts_with("locks/") || self.pages.contains(&page);
        match translated {
            true => page.to_owned(),
            false => format!("{}{page}", self.up),
        }
    }
}

pub(super) fn english_fault(fault: Fault) -> FaultWords {
    let origin = fault.origin();
    FaultWords {
        plain: origin.plain.into(),
        meaning: fault.info().meaning.into(),
        cause: origin.cause.into(),
        remedy: origin.remedy.into(),
    }
}

pub(super) fn english_property(property: Property) -> PropertyWords {
    let (_, consequence) = property.consequence();
    PropertyWords {
        plain: property.plain().into(),
        meaning: property.info().meaning.into(),
        violation: consequence.words.into(),
        cause: consequence.cause.into(),
        remedy: consequence.remedy.into(),
    }
}

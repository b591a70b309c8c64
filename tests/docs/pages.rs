//! The documents, read once, and what their Markdown says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Documents by their paths below the root of the repository. Tests change a copy of them.
pub type Pages = BTreeMap<String, String>;

pub const SUMMARY: &str = "site/SUMMARY.md";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All documents: those of the root, of `docs/`, and the summary of the site.
pub fn pages() -> Pages {
    let mut files = markdown_in(root(), false);
    files.extend(markdown_in(&root().join("docs"), true));
    files.push(root().join(SUMMARY));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let below = path.strip_prefix(root()).unwrap();
        (below.to_str().unwrap().to_owned(), text)
    };
    files.into_iter().map(read).collect()
}

fn markdown_in(folder: &Path, below: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && below {
            found.extend(markdown_in(&path, true));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
}

/// What a document is made of, in its order.
#[derive(Debug, Default, PartialEq)]
pub struct Page {
    /// Level and text.
    pub headings: Vec<(u8, String)>,
    /// Destinations of links and pictures.
    pub links: Vec<String>,
    /// Language and text of each block of code.
    pub code: Vec<(String, String)>,
    /// Code within sentences, in tables too.
    pub inline: Vec<String>,
    /// Rows of each table, the head first; each row with its text and its number of cells.
    pub tables: Vec<Vec<(usize, String)>>,
}

impl Page {
    pub fn of(text: &str) -> Page {
        let mut page = Page::default();
        // Which text is being read: of a heading, of a block of code, of a row.
        let mut inside: Option<fn(&mut Page) -> &mut String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Start(tag) => inside = page.begin(tag).or(inside),
                Event::End(
                    TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::TableHead | TagEnd::TableRow,
                ) => inside = None,
                // Cells of a row stay apart.
                Event::End(TagEnd::TableCell) => page.row().push(' '),
                Event::Text(said) => page.say(inside, &said),
                Event::Code(said) => {
                    page.inline.push(said.to_string());
                    page.say(inside, &said);
                }
                _ => {}
            }
        }
        page
    }

    fn say(&mut self, inside: Option<fn(&mut Page) -> &mut String>, said: &str) {
        if let Some(place) = inside {
            place(self).push_str(said);
        }
    }

    fn begin(&mut self, tag: Tag) -> Option<fn(&mut Page) -> &mut String> {
        match tag {
            Tag::Heading { level, .. } => {
                self.headings.push((level as u8, String::new()));
                Some(|page| &mut page.headings.last_mut().unwrap().1)
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code.push((language, String::new()));
                Some(|page| &mut page.code.last_mut().unwrap().1)
            }
            Tag::Table(_) => {
                self.tables.push(Vec::new());
                None
            }
            Tag::TableHead | Tag::TableRow => {
                let table = self.tables.last_mut().unwrap();
                table.push((0, String::new()));
                Some(Page::row)
            }
            Tag::TableCell => {
                self.tables.last_mut().unwrap().last_mut().unwrap().0 += 1;
                None
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                None
            }
            _ => None,
        }
    }

    fn row(&mut self) -> &mut String {
        &mut self.tables.last_mut().unwrap().last_mut().unwrap().1
    }

    /// The anchors of its headings, as GitHub and mdBook make them.
    pub fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let anchor = |(_, heading): &(u8, String)| {
            let kept = heading.trim().chars().filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            });
            let anchor: String = kept.flat_map(char::to_lowercase).collect();
            let again = seen.entry(anchor.clone()).or_default();
            *again += 1;
            match *again {
                1 => anchor,
                again => format!("{anchor}-{}", again - 1),
            }
        };
        self.headings.iter().map(anchor).collect()
    }
}

//! Documents as files that refer to each other: links, the summary of the site, and languages.
//! (What single documents say is tested beside what they speak of: `tests/cli/readme.rs`,
//! `tests/lock/guide.rs` and others.)

mod chinese;
mod languages;
mod links;
mod pages;
mod summary;

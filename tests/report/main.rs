//! Traces as stories, and reports in all their forms.

#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/report.rs"]
mod report_common;
#[path = "../support/unpacked.rs"]
mod unpacked;

mod accessible;
mod baseline;
mod diagram;
mod frontier;
mod handbook;
mod lock_pages;
mod opened;
mod overview;
mod render;
mod run_page;
mod scenarios;
mod trace_file;
mod trace_story;

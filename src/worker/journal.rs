//! Notes of the commands that a lock sends (`lab::client::notes`), as they happen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};

use lockproof_lab::client::notes::{self, News, Note};
use lockproof_lab::monotonic::now_ns;
use lockproof_redis::{Multi, Reply};

use super::link::News as Arrived;

/// Where the notes go; nowhere if nobody wants them.
pub(super) struct Journal {
    to: Option<File>,
    /// Commands without a reply: their node, and whether they were given up.
    open: BTreeMap<u64, (u8, bool)>,
    /// Those that are alone in a transaction.
    alone: BTreeSet<u64>,
}

impl Journal {
    /// Notes go to this file or pipe.
    pub fn new(path: Option<&str>) -> io::Result<Journal> {
        let open = |path| File::options().append(true).open(path);
        Ok(Journal {
            to: path.map(open).transpose()?,
            open: BTreeMap::new(),
            alone: BTreeSet::new(),
        })
    }

    /// This command is about to be sent. One that is alone in a transaction is told as itself.
    pub fn sent(&mut self, number: u64, node: u8, argv: &[Vec<u8>]) {
        if self.to.is_some() {
            self.open.insert(number, (node, false));
            let commands = Multi::of(argv).map_or_else(Vec::new, |multi| multi.commands);
            let words = match commands[..] {
                [alone] => {
                    self.alone.insert(number);
                    notes::words(alone)
                }
                _ => notes::words(argv),
            };
            self.note(number, node, News::Sent(words));
        }
    }

    /// Nobody waits for its reply any more. It may still come.
    pub fn given_up(&mut self, number: u64) {
        if let Some((node, given_up)) = self.open.get_mut(&number)
            && !std::mem::replace(given_up, true)
        {
            let node = *node;
            self.note(number, node, News::GivenUp);
        }
    }

    /// Something came on its connection.
    pub fn arrived(&mut self, number: u64, news: &Arrived) {
        let news = match news {
            Arrived::Message { .. } => return,
            Arrived::Reply(Reply::Array(all)) if self.alone.remove(&number) && all.len() == 1 => {
                News::Reply(notes::reply(&all[0]))
            }
            Arrived::Reply(reply) => News::Reply(notes::reply(reply)),
            Arrived::Failed { definite: true, .. } => News::Failed,
            Arrived::Failed { .. } => {
                self.given_up(number);
                self.open.remove(&number);
                self.alone.remove(&number);
                return;
            }
        };
        if let Some((node, _)) = self.open.remove(&number) {
            self.note(number, node, news);
        }
    }

    fn note(&mut self, number: u64, node: u8, news: News) {
        let note = Note {
            at_ns: now_ns(),
            node,
            number,
            news,
        };
        if let Some(to) = &mut self.to {
            // Without a reader the harness is gone, and so is this process soon.
            let _ = to.write_all(&notes::line(&note));
        }
    }
}

//! What the harness may order of a connection, and how it obeys.

use super::super::frame::FrameError;
use super::super::lane::{Key, Refusal, Waiting};
use super::super::settings::Settings;
use super::super::stream::{Answer, Delivery};
use super::super::{Cut, Direction, ProxyError};
use super::Connection;

/// An order from the harness.
#[derive(Debug)]
pub(in super::super) enum Order {
    Set(Settings, Answer<()>),
    Release(Direction, Key, Answer<Delivery>),
    Lose(Direction, Key, Answer<()>),
    /// A reply is to go to the client, and the connection ends with it.
    ReleaseLast(Key, Answer<()>),
    /// `lose`: what waits is lost too.
    Cut {
        how: Cut,
        lose: bool,
        done: Answer<()>,
    },
    /// The server learns that the client has gone, though it owes it a reply.
    HangUp(Answer<()>),
}

impl Connection {
    /// Carries out one order, and says when it is done.
    pub(super) async fn obey(&mut self, order: Order) -> Result<(), FrameError> {
        match order {
            Order::Set(settings, done) => {
                self.set(settings);
                self.report_waiting()?;
                self.advance();
                let _ = done.send(Ok(()));
            }
            Order::Release(direction, key, done) => {
                match self.stream(direction).lane.release(key) {
                    Ok(waiting) => self.pass(direction, key, &waiting.bytes, Some(done)),
                    Err(refusal) => drop(done.send(Err(self.refused(key, refusal)))),
                }
            }
            Order::ReleaseLast(key, done) => match self.to_client.lane.release(key) {
                Ok(waiting) => {
                    // Corked, the reply and the end leave in one segment.
                    let corked = match &self.client {
                        Some(client) => rustix::net::sockopt::set_tcp_cork(client, true),
                        None => Ok(()),
                    };
                    self.pass(Direction::ToClient, key, &waiting.bytes, None);
                    if let Some(client) = &self.client {
                        self.to_client.out.flush(client);
                    }
                    self.close_client(Cut::Fin).await;
                    let _ = done.send(corked.map_err(|error| ProxyError::Socket {
                        what: "hold back the end of a reply",
                        source: error.into(),
                    }));
                }
                Err(refusal) => drop(done.send(Err(self.refused(key, refusal)))),
            },
            Order::Lose(direction, key, done) => {
                let lost = self.stream(direction).lane.lose(key);
                let _ = done.send(lost.map_err(|refusal| self.refused(key, refusal)));
            }
            Order::Cut { how, lose, done } => {
                if lose {
                    self.to_server.lane.lose_all();
                    self.to_client.lane.lose_all();
                }
                self.close_client(how).await;
                if self.birth.raw {
                    // Bytes that are held would keep the server in the dark.
                    self.end().await;
                }
                let _ = done.send(Ok(()));
            }
            Order::HangUp(done) => {
                self.end().await;
                let _ = done.send(Ok(()));
            }
        }
        Ok(())
    }

    fn set(&mut self, mut settings: Settings) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (old, new) = (
                *self.birth.settings.way(direction),
                *settings.way(direction),
            );
            let stream = self.stream(direction);
            if old.limit != new.limit {
                stream.counted = 0;
            }
            if new.is_prompt() {
                stream.lane.hurry();
                stream.busy_until = None;
            }
        }
        self.birth.settings = settings;
    }

    fn refused(&self, key: Key, refusal: Refusal) -> ProxyError {
        let (connection, seq) = (self.birth.id, key.number());
        match refusal {
            Refusal::NotHeld => ProxyError::NotHeld { connection, seq },
            Refusal::AfterLoss => ProxyError::AfterLoss { connection, seq },
            Refusal::Overtakes(front) => ProxyError::Overtakes {
                connection,
                seq,
                front: front.number(),
            },
        }
    }

    /// Tells of what already waits, when the harness begins to look.
    fn report_waiting(&mut self) -> Result<(), FrameError> {
        if !self.birth.settings.report || self.birth.raw {
            return Ok(());
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut found = Vec::new();
            for waiting in self.stream(direction).lane.unreported() {
                waiting.reported = true;
                let Waiting { key, bytes, .. } = &*waiting;
                found.push((*key, bytes.clone()));
            }
            for (key, frame) in found {
                self.report(direction, key, &frame)?;
            }
        }
        Ok(())
    }
}

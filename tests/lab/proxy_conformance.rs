//! Claims that every kind of proxy must meet, made about each of them; and claims
//! about toxiproxy and its client.

use std::io::ErrorKind;
use std::time::Duration;

use crate::support::{Client, bulk, ok};
use lockproof_lab::binaries;
use lockproof_lab::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Mode};
use lockproof_lab::proxy::event::{Event, LinkId};
use lockproof_lab::proxy::toxiproxy::{self, Toxic, Toxiproxy, ToxiproxyError};
use lockproof_lab::proxy::{Cut, Direction, Link, LinkAction};
use lockproof_lab::server::{Server, ServerOptions};
use lockproof_redis::Reply;
use tokio::sync::mpsc::unbounded_channel;

async fn server() -> Server {
    let binary = binaries::find_default(&binaries::server_directories()).unwrap();
    Server::start(&ServerOptions::new(binary)).await.unwrap()
}

/// What every kind of proxy must do. `cuts` are the ways in which it can end a
/// connection. The claims stand in the order of the actions' definition.
async fn conforms(server: &Server, link: &dyn Link, cuts: &[Cut]) {
    let apply = async |action| link.apply(action).await.unwrap();
    let connect = async || Client::connect(link.address()).await.unwrap();
    let get = async |key: &str| server.command(&["GET", key]).await.unwrap();

    // Bytes pass both ways.
    let mut client = connect().await;
    assert_eq!(client.ask("SET pass 1").await.unwrap(), ok());
    assert_eq!(client.ask("GET pass").await.unwrap(), bulk("1"));

    // A held reply arrives when it is released, and was executed before.
    apply(LinkAction::Hold(Direction::ToClient)).await;
    client.send("SET reply 1").await.unwrap();
    crate::support::until(async || get("reply").await == bulk("1")).await;
    assert!(client.has_nothing().await, "a held reply got through");
    apply(LinkAction::Release(Direction::ToClient)).await;
    assert_eq!(client.reply().await.unwrap(), ok());

    // A held request is executed only when it is released.
    apply(LinkAction::Hold(Direction::ToServer)).await;
    client.send("SET request 1").await.unwrap();
    assert!(client.has_nothing().await);
    assert_eq!(
        get("request").await,
        Reply::Nil,
        "a held request got through"
    );
    apply(LinkAction::Release(Direction::ToServer)).await;
    assert_eq!(client.reply().await.unwrap(), ok());

    trickles(link).await;

    // A delay delays, and ends.
    for direction in [Direction::ToServer, Direction::ToClient] {
        apply(LinkAction::Delay { direction, ms: 40 }).await;
        let start = std::time::Instant::now();
        assert_eq!(client.ask("GET pass").await.unwrap(), bulk("1"));
        assert!(start.elapsed() >= Duration::from_millis(40));
        apply(LinkAction::Delay { direction, ms: 0 }).await;
    }

    loses_and_ends(server, link, cuts).await;
    ends_late_and_after_so_many_bytes(link, cuts[0]).await;
}

/// What makes bytes late without losing any.
async fn trickles(link: &dyn Link) {
    let apply = async |action| link.apply(action).await.unwrap();
    let mut client = Client::connect(link.address()).await.unwrap();
    for direction in [Direction::ToServer, Direction::ToClient] {
        // Jitter never makes a message earlier than the delay less the jitter.
        let jitter = |ms, jitter_ms| LinkAction::Jitter {
            direction,
            ms,
            jitter_ms,
        };
        apply(jitter(30, 10)).await;
        for _ in 0..3 {
            let start = std::time::Instant::now();
            assert!(client.ask("PING").await.is_ok());
            assert!(start.elapsed() >= Duration::from_millis(20));
        }
        apply(jitter(0, 0)).await;

        // 10 kB take a tenth of a second at 100 kB/s; toxiproxy lets the first
        // bytes go before it reckons.
        let bandwidth = |kb_per_s| LinkAction::Bandwidth {
            direction,
            kb_per_s,
        };
        apply(bandwidth(100)).await;
        let start = std::time::Instant::now();
        assert!(
            client
                .ask(&format!("ECHO {}", "x".repeat(10_000)))
                .await
                .is_ok()
        );
        assert!(start.elapsed() >= Duration::from_millis(80));
        apply(bandwidth(0)).await;
    }
}

/// How connections end by themselves.
async fn ends_late_and_after_so_many_bytes(link: &dyn Link, cut: Cut) {
    let apply = async |action| link.apply(action).await.unwrap();
    let connect = async || Client::connect(link.address()).await.unwrap();

    // The server's end of a connection arrives late, what it said before does not.
    let slow = |ms| LinkAction::SlowClose {
        direction: Direction::ToClient,
        ms,
    };
    apply(slow(60)).await;
    let mut client = connect().await;
    let start = std::time::Instant::now();
    assert_eq!(client.ask("QUIT").await.unwrap(), ok());
    assert!(client.reply().await.is_err());
    assert!(start.elapsed() >= Duration::from_millis(60));
    apply(slow(0)).await;

    // A limit counts from now, also on a connection that exists; a connection
    // ends at the limit, whichever way the bytes went.
    for (direction, bytes) in [(Direction::ToClient, 7), (Direction::ToServer, 20)] {
        let limit = |bytes| LinkAction::DataLimit { direction, bytes };
        let mut client = connect().await;
        assert!(client.ask("PING").await.is_ok());
        apply(limit(Some(bytes))).await;
        // A PING is 14 bytes, its reply 7.
        assert!(client.ask("PING").await.is_ok());
        let next = client.ask("PING").await;
        assert!(next.is_err(), "{direction:?}: {next:?}");
        apply(limit(None)).await;
        assert!(connect().await.ask("PING").await.is_ok());
    }

    // A black hole can be ended alone.
    apply(LinkAction::Hold(Direction::ToServer)).await;
    apply(LinkAction::Blackhole(Direction::ToClient)).await;
    apply(LinkAction::Fill(Direction::ToClient)).await;
    apply(LinkAction::Release(Direction::ToServer)).await;
    assert!(connect().await.ask("PING").await.is_ok());

    // A cut does not open a link that is down, and healing does.
    apply(LinkAction::Down).await;
    apply(LinkAction::Cut(cut)).await;
    assert!(Client::connect(link.address()).await.is_err());
    apply(LinkAction::Heal).await;
    assert!(connect().await.ask("PING").await.is_ok());
}

/// The rest of it: what connections do not survive.
async fn loses_and_ends(server: &Server, link: &dyn Link, cuts: &[Cut]) {
    let apply = async |action| link.apply(action).await.unwrap();
    let connect = async || Client::connect(link.address()).await.unwrap();
    let get = async |key: &str| server.command(&["GET", key]).await.unwrap();

    // A black hole swallows; the connection stays broken, a new one works.
    for (direction, kept) in [
        (Direction::ToServer, Reply::Nil),
        (Direction::ToClient, bulk("1")),
    ] {
        let key = format!("hole-{direction:?}");
        let mut client = connect().await;
        assert!(client.ask("PING").await.is_ok());
        apply(LinkAction::Blackhole(direction)).await;
        client.send(&format!("SET {key} 1")).await.unwrap();
        assert!(client.has_nothing().await);
        crate::support::until(async || get(&key).await == kept).await;
        apply(LinkAction::Heal).await;
        // Later bytes do not fill the gap.
        let _ = client.send("PING").await;
        assert!(client.gets_no_reply().await);
        assert!(connect().await.ask("PING").await.is_ok());
        assert_eq!(get(&key).await, kept);
    }

    // A cut ends what is there, and new connections work.
    for how in cuts {
        let kind = match how {
            Cut::Fin => ErrorKind::UnexpectedEof,
            Cut::Rst => ErrorKind::ConnectionReset,
        };
        let mut client = connect().await;
        assert!(client.ask("PING").await.is_ok());
        apply(LinkAction::Cut(*how)).await;
        assert_eq!(client.reply().await.unwrap_err().kind(), kind, "{how:?}");
        assert!(connect().await.ask("PING").await.is_ok());
    }

    // A link that is down ends what is there and refuses.
    let mut client = connect().await;
    assert!(client.ask("PING").await.is_ok());
    apply(LinkAction::Down).await;
    assert!(client.reply().await.is_err());
    let refused = Client::connect(link.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    apply(LinkAction::Up).await;
    assert!(connect().await.ask("PING").await.is_ok());
}

#[tokio::test]
async fn the_embedded_proxy_conforms() {
    let server = server().await;
    let (sender, _events) = unbounded_channel();
    let link = LinkId { client: 0, node: 0 };
    let options = EmbeddedOptions::default();
    let proxy = EmbeddedProxy::start(link, server.address(), options, sender)
        .await
        .unwrap();
    conforms(&server, &proxy, &[Cut::Fin, Cut::Rst]).await;
}

mod with_toxiproxy {
    use super::*;

    /// A running toxiproxy.
    async fn toxiproxy() -> Toxiproxy {
        let program = toxiproxy::find_program(&binaries::tool_directories()).unwrap();
        Toxiproxy::start(&program).await.unwrap()
    }

    #[tokio::test]
    async fn toxiproxy_conforms() {
        let toxiproxy = toxiproxy().await;
        for ending in [Cut::Fin, Cut::Rst] {
            let server = server().await;
            let name = format!("{ending:?}");
            let link = toxiproxy.link(&name, server.address(), ending).await;
            let link = link.unwrap();
            conforms(&server, &link, &[ending]).await;
            let other = match ending {
                Cut::Fin => Cut::Rst,
                Cut::Rst => Cut::Fin,
            };
            let refused = link.apply(LinkAction::Cut(other)).await.unwrap_err();
            assert!(refused.to_string().contains("arms resets"), "{refused}");
        }
    }

    #[tokio::test]
    async fn every_toxic_is_taken_and_every_refusal_is_an_error() {
        let toxiproxy = toxiproxy().await;
        let server = server().await;
        let link = toxiproxy.link("all", server.address(), Cut::Fin).await;
        let link = link.unwrap();
        for direction in [Direction::ToServer, Direction::ToClient] {
            for toxic in [
                Toxic::Latency {
                    latency: 1,
                    jitter: 0,
                },
                Toxic::Timeout { timeout: 1 },
                Toxic::ResetPeer { timeout: 1 },
                Toxic::Bandwidth { rate: 1_000 },
                Toxic::LimitData { bytes: 1 },
                Toxic::SlowClose { delay: 1 },
            ] {
                link.add(direction, toxic).await.unwrap();
                link.add(direction, toxic).await.unwrap();
            }
        }
        link.clear().await.unwrap();
        let mut client = Client::connect(link.address()).await.unwrap();
        assert!(client.ask("PING").await.is_ok());

        let twice = toxiproxy.link("all", server.address(), Cut::Fin).await;
        let Err(ToxiproxyError::Api(refused)) = twice else {
            panic!("a second proxy of one name was made");
        };
        assert!(refused.to_string().contains("409"), "{refused}");
        let missing = toxiproxy.api().remove_toxic("all", "none").await;
        assert!(missing.unwrap_err().to_string().contains("404"));
        link.delete().await.unwrap();
        assert!(client.ask("PING").await.is_err());
    }

    #[tokio::test]
    async fn a_limit_of_data_ends_the_connection_after_so_many_bytes() {
        let toxiproxy = toxiproxy().await;
        let server = server().await;
        let link = toxiproxy.link("limit", server.address(), Cut::Fin).await;
        let link = link.unwrap();
        let limit = Toxic::LimitData { bytes: 7 };
        link.add(Direction::ToClient, limit).await.unwrap();
        let mut client = Client::connect(link.address()).await.unwrap();
        // "+PONG" and its line end are seven bytes.
        assert_eq!(
            client.ask("PING").await.unwrap(),
            Reply::Status("PONG".into())
        );
        assert!(client.ask("PING").await.is_err());
    }

    #[tokio::test]
    async fn a_gate_before_a_toxiproxy_still_decides_about_single_messages() {
        let toxiproxy = toxiproxy().await;
        let server = server().await;
        let link = toxiproxy.link("row", server.address(), Cut::Fin).await;
        let link = link.unwrap();
        let options = EmbeddedOptions {
            mode: Mode::Hold,
            ..Default::default()
        };
        let (sender, mut events) = unbounded_channel();
        let id = LinkId { client: 0, node: 0 };
        let gate = EmbeddedProxy::start(id, link.address(), options, sender)
            .await
            .unwrap();
        let mut client = Client::connect(gate.address()).await.unwrap();
        client.send("SET k v").await.unwrap();
        assert_eq!(events.recv().await.unwrap().event, Event::Connected);
        assert_eq!(
            events.recv().await.unwrap().event,
            Event::Request {
                seq: 0,
                argv: vec![b"SET".into(), b"k".into(), b"v".into()],
            }
        );
        assert_eq!(server.command(&["GET", "k"]).await.unwrap(), Reply::Nil);
        gate.release_request(0, 0).await.unwrap();
        assert_eq!(
            events.recv().await.unwrap().event,
            Event::Reply {
                seq: 0,
                reply: ok()
            }
        );
        gate.release_reply(0, 0).await.unwrap();
        assert_eq!(client.reply().await.unwrap(), ok());
        // The second in the row strikes: the gate sees it as the server's end.
        link.apply(LinkAction::Cut(Cut::Fin)).await.unwrap();
        assert_eq!(events.recv().await.unwrap().event, Event::ServerClosed);
    }
}

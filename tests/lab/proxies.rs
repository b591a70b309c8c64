//! Claims about the embedded proxy, in front of a real server. What it shares
//! with every other proxy is claimed in `proxy_conformance.rs`.

use std::io::ErrorKind;
use std::time::Duration;

use crate::support::{Client, bulk, ok};
use lockproof_lab::binaries;
use lockproof_lab::proxy::embedded::{Delivery, EmbeddedOptions, EmbeddedProxy, Framing, Mode};
use lockproof_lab::proxy::event::{Event, LinkId, ProxyEvent, Unanswered};
use lockproof_lab::proxy::{Cut, Direction, ProxyError};
use lockproof_lab::server::{Server, ServerOptions};
use lockproof_redis::Reply;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

async fn server() -> Server {
    let binary = binaries::find_default(&binaries::server_directories()).unwrap();
    Server::start(&ServerOptions::new(binary)).await.unwrap()
}

/// An embedded proxy in front of a server of its own.
struct Bench {
    server: Server,
    proxy: EmbeddedProxy,
    events: UnboundedReceiver<ProxyEvent>,
}

impl Bench {
    async fn start(mode: Mode) -> Bench {
        let server = server().await;
        let options = EmbeddedOptions {
            mode,
            ..Default::default()
        };
        let (sender, events) = unbounded_channel();
        let link = LinkId { client: 3, node: 1 };
        let proxy = EmbeddedProxy::start(link, server.address(), options, sender)
            .await
            .unwrap();
        Bench {
            server,
            proxy,
            events,
        }
    }

    async fn client(&self) -> Client {
        Client::connect(self.proxy.address()).await.unwrap()
    }

    async fn next(&mut self) -> (u64, Event) {
        let wait = tokio::time::timeout(crate::support::PATIENCE, self.events.recv());
        let event = wait.await.expect("no event came").unwrap();
        assert_eq!(event.link, LinkId { client: 3, node: 1 });
        (event.connection, event.event)
    }

    async fn get(&self, key: &str) -> Reply {
        self.server.command(&["GET", key]).await.unwrap()
    }
}

fn request(seq: u64, command: &str) -> Event {
    let argv = command.split_whitespace().map(Into::into).collect();
    Event::Request { seq, argv }
}

fn reply(seq: u64, reply: Reply) -> Event {
    Event::Reply { seq, reply }
}

#[tokio::test]
async fn passing_forwards_and_tells_only_of_connections() {
    let mut bench = Bench::start(Mode::Pass).await;
    let mut client = bench.client().await;
    assert_eq!(client.ask("SET k v").await.unwrap(), ok());
    assert_eq!(client.ask("GET k").await.unwrap(), bulk("v"));
    drop(client);
    assert_eq!(bench.next().await, (0, Event::Connected));
    assert_eq!(bench.next().await, (0, Event::ClientClosed));
    assert_eq!(bench.next().await, (0, Event::ServerClosed));
    let unanswered = Vec::new();
    assert_eq!(bench.next().await, (0, Event::Closed { unanswered }));
}

#[tokio::test]
async fn a_large_message_passes_whole() {
    let bench = Bench::start(Mode::Pass).await;
    let mut client = bench.client().await;
    let value = "x".repeat(3 << 20);
    assert_eq!(client.ask(&format!("SET k {value}")).await.unwrap(), ok());
    assert_eq!(client.ask("GET k").await.unwrap(), bulk(&value));
}

#[tokio::test]
async fn watching_tells_of_messages_that_pass() {
    let mut bench = Bench::start(Mode::Watch).await;
    let mut client = bench.client().await;
    assert_eq!(client.ask("SET k v").await.unwrap(), ok());
    assert_eq!(bench.next().await, (0, Event::Connected));
    assert_eq!(bench.next().await, (0, request(0, "SET k v")));
    assert_eq!(bench.next().await, (0, reply(0, ok())));
}

#[tokio::test]
async fn a_redirected_link_takes_new_connections_elsewhere_and_leaves_the_old() {
    let bench = Bench::start(Mode::Pass).await;
    let other = server().await;
    let mut before = bench.client().await;
    assert_eq!(before.ask("SET k first").await.unwrap(), ok());
    bench.proxy.redirect(other.address());
    let mut after = bench.client().await;
    assert_eq!(after.ask("SET k second").await.unwrap(), ok());
    assert_eq!(before.ask("GET k").await.unwrap(), bulk("first"));
    assert_eq!(other.command(&["GET", "k"]).await.unwrap(), bulk("second"));
}

#[tokio::test]
async fn a_connection_can_end_with_a_reply() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET k v").await.unwrap();
    assert_eq!(bench.next().await, (0, Event::Connected));
    assert_eq!(bench.next().await, (0, request(0, "SET k v")));
    bench.proxy.release_request(0, 0).await.unwrap();
    assert_eq!(bench.next().await, (0, reply(0, ok())));
    bench.proxy.release_last_reply(0, 0).await.unwrap();
    assert_eq!(client.reply().await.unwrap(), ok());
    let end = client.ask("GET k").await.unwrap_err();
    assert_ne!(end.kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_held_request_is_not_executed_until_it_is_released() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET k v").await.unwrap();
    assert_eq!(bench.next().await, (0, Event::Connected));
    assert_eq!(bench.next().await, (0, request(0, "SET k v")));
    assert_eq!(bench.get("k").await, Reply::Nil);
    let delivery = bench.proxy.release_request(0, 0).await.unwrap();
    assert_eq!(delivery, Delivery::Written);
    assert_eq!(bench.next().await, (0, reply(0, ok())));
    assert_eq!(bench.get("k").await, bulk("v"));
    assert!(client.has_nothing().await, "a held reply got through");
    bench.proxy.release_reply(0, 0).await.unwrap();
    assert_eq!(client.reply().await.unwrap(), ok());
}

#[tokio::test]
async fn a_lost_request_is_never_executed_and_a_lost_reply_never_arrives() {
    let mut bench = Bench::start(Mode::Hold).await;
    let (mut one, mut two) = (bench.client().await, bench.client().await);
    one.send("SET a v").await.unwrap();
    two.send("SET b v").await.unwrap();
    for _ in 0..4 {
        bench.next().await;
    }
    // Accept order is connect order.
    bench.proxy.lose_request(0, 0).await.unwrap();
    bench.proxy.release_request(1, 0).await.unwrap();
    assert_eq!(bench.next().await, (1, reply(0, ok())));
    bench.proxy.lose_reply(1, 0).await.unwrap();
    bench.proxy.set_mode(Mode::Pass).await.unwrap();
    assert_eq!(bench.get("a").await, Reply::Nil);
    assert_eq!(bench.get("b").await, bulk("v"));
    assert!(one.has_nothing().await && two.has_nothing().await);
    // Nothing can follow on these connections; new ones work.
    one.send("PING").await.unwrap();
    assert!(one.has_nothing().await);
    assert!(bench.client().await.ask("PING").await.is_ok());
}

#[tokio::test]
async fn orders_that_no_network_could_carry_out_are_refused() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET a 1").await.unwrap();
    client.send("SET b 1").await.unwrap();
    for _ in 0..3 {
        bench.next().await;
    }
    let refused = bench.proxy.release_request(0, 1).await.unwrap_err();
    assert!(matches!(
        refused,
        ProxyError::Overtakes {
            seq: 1,
            front: 0,
            ..
        }
    ));
    let refused = bench.proxy.release_reply(0, 0).await.unwrap_err();
    assert!(matches!(refused, ProxyError::NotHeld { seq: 0, .. }));
    bench.proxy.lose_request(0, 0).await.unwrap();
    let refused = bench.proxy.release_request(0, 1).await.unwrap_err();
    assert!(matches!(refused, ProxyError::AfterLoss { seq: 1, .. }));
    let refused = bench.proxy.release_request(7, 0).await.unwrap_err();
    assert!(matches!(
        refused,
        ProxyError::NoConnection { connection: 7 }
    ));
}

#[tokio::test]
async fn a_request_under_way_is_executed_even_if_its_client_has_gone() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET k late").await.unwrap();
    bench.next().await;
    assert_eq!(bench.next().await, (0, request(0, "SET k late")));
    drop(client);
    assert_eq!(bench.next().await, (0, Event::ClientClosed));
    assert_eq!(bench.get("k").await, Reply::Nil);
    bench.proxy.release_request(0, 0).await.unwrap();
    assert_eq!(bench.next().await, (0, reply(0, ok())));
    assert_eq!(bench.get("k").await, bulk("late"));
    // The connection ends once its last reply has been dealt with.
    bench.proxy.release_reply(0, 0).await.unwrap();
    assert_eq!(bench.next().await, (0, Event::ServerClosed));
    assert!(matches!(bench.next().await, (0, Event::Closed { .. })));
    assert!(bench.proxy.connections().is_empty());
}

#[tokio::test]
async fn a_cut_ends_the_client_and_leaves_what_is_under_way() {
    for how in [Cut::Fin, Cut::Rst] {
        let mut bench = Bench::start(Mode::Hold).await;
        let mut client = bench.client().await;
        client.send("SET k v").await.unwrap();
        bench.next().await;
        bench.next().await;
        bench.proxy.cut(0, how).await.unwrap();
        let kind = client.reply().await.unwrap_err().kind();
        let wanted = match how {
            Cut::Fin => ErrorKind::UnexpectedEof,
            Cut::Rst => ErrorKind::ConnectionReset,
        };
        assert_eq!(kind, wanted);
        bench.proxy.release_request(0, 0).await.unwrap();
        assert_eq!(bench.next().await, (0, reply(0, ok())));
        let delivery = bench.proxy.release_reply(0, 0).await.unwrap();
        assert_eq!(delivery, Delivery::Gone);
        assert_eq!(bench.get("k").await, bulk("v"));
    }
}

#[tokio::test]
async fn a_cut_of_all_loses_what_is_under_way() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET k v").await.unwrap();
    bench.next().await;
    bench.next().await;
    bench.proxy.cut_all(Cut::Fin).await.unwrap();
    assert!(client.reply().await.is_err());
    assert!(bench.proxy.release_request(0, 0).await.is_err());
    assert_eq!(bench.get("k").await, Reply::Nil);
}

#[tokio::test]
async fn the_end_of_a_connection_tells_which_requests_reached_the_server() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SET k v").await.unwrap();
    bench.next().await;
    bench.next().await;
    bench.server.pause().unwrap();
    bench.proxy.release_request(0, 0).await.unwrap();
    bench.server.kill().unwrap();
    assert_eq!(bench.next().await, (0, Event::ServerClosed));
    // Under a gate the client does not learn of it by itself.
    assert!(client.has_nothing().await);
    bench.proxy.cut(0, Cut::Rst).await.unwrap();
    let unanswered = vec![Unanswered {
        seq: 0,
        reached: true,
    }];
    assert_eq!(bench.next().await, (0, Event::Closed { unanswered }));
    assert!(client.reply().await.is_err());
}

#[tokio::test]
async fn a_request_to_a_dead_server_is_told_to_be_in_vain() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    assert_eq!(bench.next().await, (0, Event::Connected));
    bench.server.kill().unwrap();
    assert_eq!(bench.next().await, (0, Event::ServerClosed));
    client.send("SET k v").await.unwrap();
    assert_eq!(bench.next().await, (0, request(0, "SET k v")));
    let delivery = bench.proxy.release_request(0, 0).await.unwrap();
    assert_eq!(delivery, Delivery::Gone);
    // A new connection is reset at once, perhaps before its client looks at it, and
    // works when the server is back.
    match Client::connect(bench.proxy.address()).await {
        Ok(mut late) => assert!(late.reply().await.is_err()),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    assert!(matches!(
        bench.next().await,
        (1, Event::ConnectFailed { .. })
    ));
    bench.server.restart().await.unwrap();
    bench.proxy.set_mode(Mode::Pass).await.unwrap();
    assert!(bench.client().await.ask("PING").await.is_ok());
}

#[tokio::test]
async fn refusing_is_definite_and_ends_on_the_same_port() {
    let bench = Bench::start(Mode::Pass).await;
    let mut old = bench.client().await;
    assert!(old.ask("PING").await.is_ok());
    bench.proxy.refuse(true).await.unwrap();
    let refused = Client::connect(bench.proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert!(old.ask("PING").await.is_ok(), "a live connection was cut");
    bench.proxy.refuse(false).await.unwrap();
    assert!(bench.client().await.ask("PING").await.is_ok());
}

#[tokio::test]
async fn pubsub_messages_are_held_beside_the_replies() {
    let mut bench = Bench::start(Mode::Hold).await;
    let mut client = bench.client().await;
    client.send("SUBSCRIBE news").await.unwrap();
    bench.next().await;
    bench.next().await;
    bench.proxy.release_request(0, 0).await.unwrap();
    let confirmed = Reply::Array(vec![bulk("subscribe"), bulk("news"), Reply::Int(1)]);
    assert_eq!(bench.next().await, (0, reply(0, confirmed.clone())));
    bench.proxy.release_reply(0, 0).await.unwrap();
    assert_eq!(client.reply().await.unwrap(), confirmed);
    let told = bench.server.command(&["PUBLISH", "news", "hi"]).await;
    assert_eq!(told.unwrap(), Reply::Int(1));
    let message = Reply::Array(vec![bulk("message"), bulk("news"), bulk("hi")]);
    let pushed = Event::Push {
        seq: 0,
        message: message.clone(),
    };
    assert_eq!(bench.next().await, (0, pushed));
    assert!(client.has_nothing().await);
    bench.proxy.release_push(0, 0).await.unwrap();
    assert_eq!(client.reply().await.unwrap(), message);
}

#[tokio::test]
async fn who_speaks_no_resp_is_told_apart_and_cut_off() {
    let mut bench = Bench::start(Mode::Pass).await;
    let mut client = bench.client().await;
    client.send_bytes(b"PING\r\n").await.unwrap();
    assert!(client.reply().await.is_err());
    bench.next().await;
    let (_, Event::Broken { error }) = bench.next().await else {
        panic!("the inline command got through");
    };
    assert!(error.to_string().contains("inline"), "{error}");
}

#[tokio::test]
async fn raw_framing_carries_a_replication_link() {
    let primary = server().await;
    let mut replica = server().await;
    assert_eq!(primary.command(&["SET", "k", "v"]).await.unwrap(), ok());
    let options = EmbeddedOptions {
        framing: Framing::Raw,
        ..Default::default()
    };
    let (sender, _events) = unbounded_channel();
    let link = LinkId { client: 1, node: 0 };
    let proxy = EmbeddedProxy::start(link, primary.address(), options, sender)
        .await
        .unwrap();
    let port = proxy.address().port().to_string();
    let follow = ["REPLICAOF", "127.0.0.1", &port];
    assert_eq!(replica.command(&follow).await.unwrap(), ok());
    crate::support::until(async || replica.command(&["GET", "k"]).await.unwrap() == bulk("v"))
        .await;
    // A lagging replica: the primary writes on, the link holds.
    proxy.hold(Direction::ToClient, true).await.unwrap();
    assert_eq!(primary.command(&["SET", "k", "w"]).await.unwrap(), ok());
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(replica.command(&["GET", "k"]).await.unwrap(), bulk("v"));
    proxy.hold(Direction::ToClient, false).await.unwrap();
    crate::support::until(async || replica.command(&["GET", "k"]).await.unwrap() == bulk("w"))
        .await;
    replica.check_alive().unwrap();
}

//! The worker runs a lock file as a client process: in virtual time one input
//! at a time, in real time by itself.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lockproof_lab::binaries::{find_default, server_directories};
use lockproof_lab::client::protocol::{
    Call, Cause, ClockMode, ErrorCode, FromClient, Init, Mode, PROTOCOL, StepReport, ToClient,
};
use lockproof_lab::client::{ClientCommand, ClientLimits, ClientProcess};
use lockproof_lab::server::{Server, ServerOptions};
use lockproof_trace::Outcome;

async fn worker() -> ClientProcess {
    let command = ClientCommand {
        name: "worker".to_string(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_lockproof")),
        args: vec!["worker".into()],
    };
    let limits = ClientLimits {
        answer: Duration::from_secs(20),
        ..ClientLimits::default()
    };
    ClientProcess::spawn(&command, limits).await.unwrap()
}

async fn redis() -> Server {
    let binary = find_default(&server_directories()).unwrap();
    Server::start(&ServerOptions::new(binary)).await.unwrap()
}

fn init(lock: &str, node: SocketAddr, clock: ClockMode) -> Init {
    Init {
        id: 1000,
        protocol: PROTOCOL.to_string(),
        client: 0,
        owner: "client-A".to_string(),
        nodes: vec![node.to_string()],
        key: "lock:a".to_string(),
        ttl_ms: 3000,
        timeout_ms: 200,
        params: Default::default(),
        lock: Some(lock.to_string()),
        notes: None,
        clock,
        epoch_ms: (clock == ClockMode::Virtual).then_some(1_700_000_000_000),
        seed: 7,
    }
}

async fn ready(client: &mut ClientProcess, init: Init) {
    let answer = client
        .request(&ToClient::Init(Box::new(init)))
        .await
        .unwrap();
    assert!(matches!(answer, FromClient::Ready { .. }), "{answer:?}");
}

fn call(client: &mut ClientProcess, op: &str, token: Option<&str>) -> ToClient {
    ToClient::Call(Call {
        id: client.fresh_id(),
        op: op.to_string(),
        caller: 0,
        mode: Mode::Write,
        token: token.map(str::to_string),
        wait_ms: None,
    })
}

fn step(message: FromClient) -> StepReport {
    match message {
        FromClient::Step(step) => *step,
        other => panic!("not a step: {other:?}"),
    }
}

/// Sends a request in virtual time and gives its step.
async fn input(client: &mut ClientProcess, message: ToClient) -> StepReport {
    step(client.request(&message).await.unwrap())
}

/// The step that the network causes next.
async fn network(client: &mut ClientProcess) -> StepReport {
    step(client.receive("a step from the network").await.unwrap())
}

/// A server of our own: hands out its connections.
fn listen() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, streams) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            if sender.send(stream).is_err() {
                return;
            }
        }
    });
    (address, streams)
}

fn accept(streams: &Receiver<TcpStream>) -> TcpStream {
    streams.recv_timeout(Duration::from_secs(20)).unwrap()
}

/// Ends the connection at once. A process that another test forks in this moment has a copy
/// of the socket, so dropping ours is not enough.
fn close(stream: TcpStream) {
    stream.shutdown(std::net::Shutdown::Both).unwrap();
}

/// Reads until the request is there whose last argument is given.
fn read_request(stream: &mut TcpStream, last: &str) {
    let end = format!("{last}\r\n");
    let mut seen = Vec::new();
    let mut chunk = [0; 1024];
    while !seen.ends_with(end.as_bytes()) {
        let read = match stream.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap(),
        };
        assert_ne!(read, 0, "the client closed the connection");
        seen.extend_from_slice(&chunk[..read]);
    }
}

#[tokio::test]
async fn in_virtual_time_a_lock_is_taken_and_given_back_on_a_real_server() {
    let server = redis().await;
    let mut client = worker().await;
    ready(
        &mut client,
        init("token", server.address(), ClockMode::Virtual),
    )
    .await;

    let acquire = call(&mut client, "acquire", Some("t-1"));
    let sent = input(&mut client, acquire).await;
    assert_eq!(
        sent.sent[0].argv,
        ["SET", "lock:a", "t-1", "NX", "PX", "3000"]
    );
    assert_eq!(sent.view.phase, "acquiring");
    let took = network(&mut client).await;
    assert_eq!(took.cause, Some(Cause::Reply { thread: 0, node: 0 }));
    let held = Outcome::Held {
        validity_ms: Some(3000),
        fence: None,
    };
    assert_eq!(took.ended.unwrap().outcome, held);

    let id = client.fresh_id();
    let later = input(&mut client, ToClient::Advance { id, ms: 1000 }).await;
    assert_eq!(later.view.validity_left_ms, Some(2000));

    let release = call(&mut client, "release", None);
    input(&mut client, release).await;
    let done = network(&mut client).await.ended.unwrap();
    assert_eq!(
        (done.op.as_str(), done.outcome),
        ("release", Outcome::Done { effect: Some(true) })
    );
}

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn is_refused(message: &FromClient) -> bool {
    matches!(
        message,
        FromClient::Refused {
            thread: 0,
            node: 0,
            ..
        }
    )
}

#[tokio::test]
async fn a_refused_connection_is_heard_of_when_the_harness_says_so_and_is_definite() {
    let mut client = worker().await;
    ready(&mut client, init("token", nobody(), ClockMode::Virtual)).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    input(&mut client, acquire).await;
    client.receive_where("a refusal", is_refused).await.unwrap();
    // It knows nothing yet: time passes, and it still waits for a reply.
    let id = client.fresh_id();
    let waits = input(&mut client, ToClient::Advance { id, ms: 1 }).await;
    assert_eq!(waits.view.threads[0].waits_for, "reply");
    let id = client.fresh_id();
    let heard = input(&mut client, ToClient::Hear { id, thread: 0 }).await;
    assert!(heard.ended.is_some(), "{heard:?}");
    let again = ToClient::Hear { id: 70, thread: 0 };
    assert_eq!(refusal(&mut client, again).await.0, ErrorCode::BadRequest);
}

#[tokio::test]
async fn who_is_to_retry_never_hears_that_its_connection_was_refused() {
    let address = nobody();
    let mut client = worker().await;
    ready(&mut client, init("token", address, ClockMode::Virtual)).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    input(&mut client, acquire).await;
    client.receive_where("a refusal", is_refused).await.unwrap();
    let listener = TcpListener::bind(address).unwrap();
    let retry = ToClient::Retry { id: 70, thread: 0 };
    assert_eq!(
        client.request(&retry).await.unwrap(),
        FromClient::Ok { id: 70 }
    );
    let (mut stream, _) = listener.accept().unwrap();
    read_request(&mut stream, "3000");
    stream.write_all(b"+OK\r\n").unwrap();
    let held = network(&mut client).await;
    assert_eq!(held.view.holds, 1, "{held:?}");
    let again = ToClient::Retry { id: 71, thread: 0 };
    assert_eq!(refusal(&mut client, again).await.0, ErrorCode::BadRequest);
}

#[tokio::test]
async fn who_gave_up_before_the_news_of_a_refusal_came_never_hears_of_it() {
    let mut client = worker().await;
    ready(&mut client, init("token", nobody(), ClockMode::Virtual)).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    let sent = input(&mut client, acquire).await;
    client.receive_where("a refusal", is_refused).await.unwrap();
    let ms = sent.view.threads[0].left_ms.unwrap();
    let id = client.fresh_id();
    input(&mut client, ToClient::Advance { id, ms }).await;
    let id = client.fresh_id();
    let woken = input(&mut client, ToClient::Wake { id, thread: 0 }).await;
    assert_eq!(woken.abandoned, [0]);
    let hear = ToClient::Hear { id: 70, thread: 0 };
    let (code, message) = refusal(&mut client, hear).await;
    assert_eq!(code, ErrorCode::BadRequest);
    assert!(
        message.contains("no connection of thread 0 was refused"),
        "{message}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_under_a_request_leaves_it_unknown() {
    let (address, streams) = listen();
    let mut client = worker().await;
    ready(&mut client, init("token", address, ClockMode::Virtual)).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    input(&mut client, acquire).await;
    let mut stream = accept(&streams);
    read_request(&mut stream, "3000");
    close(stream);
    let failed = network(&mut client).await;
    assert!(
        matches!(
            failed.cause,
            Some(Cause::Fail {
                definite: false,
                ..
            })
        ),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_connection_that_ended_while_idle_is_replaced_without_an_error() {
    let (address, streams) = listen();
    let mut client = worker().await;
    ready(
        &mut client,
        init("setnx-expire", address, ClockMode::Virtual),
    )
    .await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    input(&mut client, acquire).await;
    let mut first = accept(&streams);
    read_request(&mut first, "1");
    // Busy: the operation ends, and the connection is idle when it is closed.
    first.write_all(b":0\r\n").unwrap();
    close(first);
    assert_eq!(
        network(&mut client).await.ended.unwrap().outcome,
        Outcome::Busy
    );
    let again = call(&mut client, "acquire", Some("t-2"));
    input(&mut client, again).await;
    let mut second = accept(&streams);
    read_request(&mut second, "1");
    second.write_all(b":0\r\n").unwrap();
    assert_eq!(
        network(&mut client).await.ended.unwrap().outcome,
        Outcome::Busy
    );
}

#[tokio::test]
async fn after_a_time_out_the_old_socket_stays_open_and_is_not_read() {
    let (address, streams) = listen();
    let mut client = worker().await;
    ready(
        &mut client,
        init("setnx-expire", address, ClockMode::Virtual),
    )
    .await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    input(&mut client, acquire).await;
    let mut old = accept(&streams);
    read_request(&mut old, "1");

    let id = client.fresh_id();
    let waited = input(&mut client, ToClient::Advance { id, ms: 200 }).await;
    assert_eq!(waited.view.threads[0].waits_for, "timed-out");
    let id = client.fresh_id();
    let woken = input(&mut client, ToClient::Wake { id, thread: 0 }).await;
    assert_eq!(woken.abandoned, [0]);
    assert!(matches!(
        woken.ended.unwrap().outcome,
        Outcome::Failed { .. }
    ));

    let again = call(&mut client, "acquire", Some("t-2"));
    input(&mut client, again).await;
    let mut new = accept(&streams);
    read_request(&mut new, "1");
    // The late reply says "taken"; whoever reads it believes the wrong thing.
    old.write_all(b":1\r\n").expect("the old socket is open");
    new.write_all(b":0\r\n").unwrap();
    let answered = network(&mut client).await;
    assert_eq!(answered.ended.unwrap().outcome, Outcome::Busy);
    assert!(
        client.drain().unwrap().is_empty(),
        "nobody reads the late reply"
    );
}

#[tokio::test]
async fn in_real_time_a_lock_is_taken_and_given_back() {
    let server = redis().await;
    let mut client = worker().await;
    ready(
        &mut client,
        init("token", server.address(), ClockMode::Real),
    )
    .await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    let FromClient::Result(result) = client.request(&acquire).await.unwrap() else {
        panic!("no result");
    };
    let Outcome::Held {
        validity_ms: Some(1..=3000),
        ..
    } = result.outcome
    else {
        panic!("{result:?}");
    };
    let release = call(&mut client, "release", None);
    let FromClient::Result(result) = client.request(&release).await.unwrap() else {
        panic!("no result");
    };
    assert_eq!(result.outcome, Outcome::Done { effect: Some(true) });
}

#[tokio::test]
async fn in_real_time_a_silent_server_times_out() {
    let (address, streams) = listen();
    let mut client = worker().await;
    ready(&mut client, init("token", address, ClockMode::Real)).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    let answer = client.request(&acquire).await.unwrap();
    let FromClient::Result(result) = answer else {
        panic!("{answer:?}");
    };
    assert!(
        matches!(result.outcome, Outcome::Failed { .. }),
        "{result:?}"
    );
    drop(accept(&streams));
}

#[tokio::test]
async fn in_real_time_a_call_that_is_cancelled_ends_after_its_clean_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sleepy.lua");
    let text = "return {\n  acquire = function(lock) sleep(60000) return held() end,\n  cancelled = function(lock) sleep(20) end,\n  release = function(lock) return true end,\n}\n";
    std::fs::write(&path, text).unwrap();
    let (address, _streams) = listen();
    let mut client = worker().await;
    let setup = init(path.to_str().unwrap(), address, ClockMode::Real);
    ready(&mut client, setup).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    client.send(&acquire).unwrap();
    let (target, id) = (acquire.id(), client.fresh_id());
    // Of another call: it has ended, so there is nothing to do.
    let other = ToClient::Cancel { id, target: 0 };
    assert_eq!(client.request(&other).await.unwrap(), FromClient::Ok { id });
    let id = client.fresh_id();
    let cancel = ToClient::Cancel { id, target };
    assert_eq!(
        client.request(&cancel).await.unwrap(),
        FromClient::Ok { id }
    );
    let answer = client.receive("the result").await.unwrap();
    let FromClient::Result(result) = answer else {
        panic!("{answer:?}");
    };
    let reason = "cancelled".to_owned();
    assert_eq!(
        (result.id, result.outcome),
        (target, Outcome::Failed { reason })
    );
}

#[tokio::test]
async fn in_real_time_sleeping_threads_wake_and_random_draws_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sleepy.lua");
    let text = "return {\n  acquire = function(lock)\n    sleep(5)\n    sleep(random(3))\n    return held()\n  end,\n  release = function(lock) return true end,\n}\n";
    std::fs::write(&path, text).unwrap();
    let (address, _streams) = listen();
    let mut client = worker().await;
    ready(
        &mut client,
        init(path.to_str().unwrap(), address, ClockMode::Real),
    )
    .await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    let answer = client.request(&acquire).await.unwrap();
    let FromClient::Result(result) = answer else {
        panic!("{answer:?}");
    };
    assert!(matches!(result.outcome, Outcome::Held { .. }), "{result:?}");
}

#[tokio::test]
async fn in_real_time_a_background_renewal_keeps_the_key_alive() {
    let server = redis().await;
    let mut client = worker().await;
    let mut setup = init("token-renewed", server.address(), ClockMode::Real);
    // A busy machine may keep the renewal waiting, but not for a second.
    setup.ttl_ms = 2000;
    setup.timeout_ms = 900;
    ready(&mut client, setup).await;
    let acquire = call(&mut client, "acquire", Some("t-1"));
    client.request(&acquire).await.unwrap();
    // Longer than the lease: without a renewal the key would be gone.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let kept = server.command(&["EXISTS", "lock:a"]).await.unwrap();
    assert_eq!(kept, lockproof_redis::Reply::Int(1));
}

#[tokio::test]
async fn init_again_makes_a_new_client() {
    let server = redis().await;
    let mut client = worker().await;
    for token in ["t-1", "t-2"] {
        ready(
            &mut client,
            init("token", server.address(), ClockMode::Virtual),
        )
        .await;
        let acquire = call(&mut client, "acquire", Some(token));
        assert_eq!(input(&mut client, acquire).await.view.holds, 0);
        network(&mut client).await;
    }
    let shutdown = ToClient::Shutdown { id: 99 };
    assert_eq!(
        client.request(&shutdown).await.unwrap(),
        FromClient::Ok { id: 99 }
    );
}

/// The error that a request is answered with.
async fn refusal(client: &mut ClientProcess, message: ToClient) -> (ErrorCode, String) {
    match client.request(&message).await.unwrap() {
        FromClient::Error {
            code,
            message,
            definite: true,
            ..
        } => (code, message),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_the_worker_lives_on() {
    let (address, _streams) = listen();
    let mut client = worker().await;
    let early = call(&mut client, "acquire", Some("t-1"));
    assert_eq!(refusal(&mut client, early).await.0, ErrorCode::BadRequest);
    let missing = init("no-such-lock.lua", address, ClockMode::Virtual);
    let (code, message) = refusal(&mut client, ToClient::Init(Box::new(missing))).await;
    assert_eq!(code, ErrorCode::BadRequest);
    assert!(message.contains("no-such-lock.lua"), "{message}");

    ready(&mut client, init("token", address, ClockMode::Virtual)).await;
    let unknown = call(&mut client, "borrow", None);
    assert_eq!(
        refusal(&mut client, unknown).await.0,
        ErrorCode::NotApplicable
    );
    let release = call(&mut client, "release", None);
    assert_eq!(refusal(&mut client, release).await.0, ErrorCode::BadRequest);
    let wake = ToClient::Wake { id: 50, thread: 0 };
    assert_eq!(refusal(&mut client, wake).await.0, ErrorCode::BadRequest);
    let cancel = ToClient::Cancel { id: 51, target: 1 };
    assert_eq!(refusal(&mut client, cancel).await.0, ErrorCode::BadRequest);

    let acquire = call(&mut client, "acquire", Some("t-1"));
    assert_eq!(input(&mut client, acquire).await.sent.len(), 1);

    ready(&mut client, init("token", address, ClockMode::Real)).await;
    let advance = ToClient::Advance { id: 60, ms: 5 };
    assert_eq!(
        refusal(&mut client, advance).await.0,
        ErrorCode::NotApplicable
    );
}

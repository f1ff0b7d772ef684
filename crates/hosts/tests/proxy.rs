//! The proxy, asked by a client that may write anything.
#![cfg(test)]

use std::time::Duration;

use aime_hosts::{HostGrants, HostProxy, OpenProxy, ProxyBounds};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

/// Server that records the first bytes of each connection and gives all the same answer.
struct Server {
    port: u16,
    asked: UnboundedReceiver<String>,
}

impl Server {
    async fn new(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 64 * 1024];
                    let read = stream.read(&mut buffer).await.unwrap_or_default();
                    sender.send(String::from_utf8_lossy(&buffer[..read]).into_owned()).unwrap();
                    stream.write_all(answer.as_bytes()).await.unwrap();
                });
            }
        });
        Self { port, asked: receiver }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nyes\n";

fn proxy(grants: &[String]) -> OpenProxy {
    HostProxy::new(HostGrants::read(grants).unwrap(), "sandbox.network").open().unwrap()
}

/// Writes it to the proxy and gives back all that comes, until it is silent or has answered.
async fn ask(proxy: &OpenProxy, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    answer(&mut stream).await
}

/// Returns the bytes received until an answer is complete or the other side has closed.
async fn answer(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => all.extend_from_slice(&buffer[..read]),
        }
    }
}

#[tokio::test]
async fn a_granted_host_is_reached_by_a_tunnel_and_by_a_plain_request() {
    let mut server = Server::new(OK).await;
    let here = format!("127.0.0.1:{}", server.port);
    let proxy = proxy(std::slice::from_ref(&here));
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    stream.write_all(format!("CONNECT {here} HTTP/1.1\r\nHost: {here}\r\n\r\n").as_bytes()).await.unwrap();
    let opened = answer(&mut stream).await;
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
    stream.write_all(b"\x16\x03 not HTTP at all").await.unwrap();
    assert_eq!(server.asked.recv().await.unwrap(), "\u{16}\u{3} not HTTP at all");
    assert!(answer(&mut stream).await.ends_with("yes\n"));

    let plain = format!(
        "POST http://{here}/a?b=c HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic x\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Kept: 1\r\nContent-Length: 4\r\n\r\nbody"
    );
    let answered = ask(&proxy, &plain).await;
    assert!(answered.starts_with("HTTP/1.1 200") && answered.ends_with("yes\n"), "{answered}");
    let asked = server.asked.recv().await.unwrap().to_lowercase();
    assert!(asked.starts_with("post /a?b=c http/1.1\r\n") && asked.contains(&format!("host: {here}\r\n")), "{asked}");
    for absent in ["other.example", "proxy-authorization", "x-hop", "connection:"] {
        assert!(!asked.contains(absent), "{absent}: {asked}");
    }
    assert!(asked.contains("x-kept: 1"), "{asked}");
    assert!(proxy.refused().is_empty());
}

// Requirement: 15.3
#[tokio::test]
async fn nothing_else_is_reached_however_it_is_asked_for() {
    let mut server = Server::new(OK).await;
    let (port, mut other) = (server.port, Server::new(OK).await);
    let elsewhere = other.port;
    let proxy = proxy(&[format!("127.0.0.1:{port}"), format!("localhost:{elsewhere}"), "ok.example".to_owned()]);
    let table = [
        // A name that leads here, though it is granted.
        (format!("CONNECT localhost:{elsewhere} HTTP/1.1\r\n\r\n"), "403"),
        (format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n"), "403"),
        (format!("GET http://localhost:{elsewhere}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "403"),
        // Another port, another address of this machine.
        (format!("CONNECT 127.0.0.1:{elsewhere} HTTP/1.1\r\n\r\n"), "403"),
        (format!("CONNECT 127.0.0.2:{port} HTTP/1.1\r\n\r\n"), "403"),
        (format!("CONNECT [::1]:{port} HTTP/1.1\r\n\r\n"), "403"),
        (format!("CONNECT 0.0.0.0:{port} HTTP/1.1\r\n\r\n"), "403"),
        (format!("GET http://127.0.0.1:{elsewhere}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "403"),
        // Other hosts.
        ("CONNECT evil.example:443 HTTP/1.1\r\nHost: ok.example:443\r\n\r\n".to_owned(), "403"),
        ("CONNECT ok.example:22 HTTP/1.1\r\n\r\n".to_owned(), "403"),
        ("CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n".to_owned(), "403"),
        ("GET http://evil.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n".to_owned(), "403"),
        // Logins, forms that are none of a proxy.
        (format!("CONNECT 127.0.0.1:{port}@evil.example:443 HTTP/1.1\r\n\r\n"), "400"),
        (format!("GET http://127.0.0.1:{port}@127.0.0.1:{elsewhere}/ HTTP/1.1\r\nHost: x\r\n\r\n"), "400"),
        (format!("GET http://ok.example@127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "400"),
        (format!("GET https://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"), "400"),
        (format!("GET ftp://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"), "400"),
        ("CONNECT ok.example HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("CONNECT ok.example:0 HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("not HTTP\r\n\r\n".to_owned(), "400"),
    ];
    for (request, status) in &table {
        let answered = ask(&proxy, request).await;
        assert!(answered.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answered}");
    }
    assert!(server.asked.try_recv().is_err() && other.asked.try_recv().is_err(), "nobody was reached");
    let refused = proxy.refused().join("\n");
    for text in [
        "evil.example:443 is not among the hosts that may be reached; the user can allow it: add \"evil.example\" to sandbox.network.",
        &format!("localhost:{elsewhere} leads to "),
        "add \"ok.example:22\" to sandbox.network",
    ] {
        assert!(refused.contains(text), "{text}\n{refused}");
    }
}

// Requirement: 15.3
#[tokio::test]
async fn a_redirect_leads_nowhere_by_itself() {
    let mut server = Server::new("HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n").await;
    let here = format!("127.0.0.1:{}", server.port);
    let proxy = proxy(std::slice::from_ref(&here));
    let answered = ask(&proxy, &format!("GET http://{here}/ HTTP/1.1\r\nHost: x\r\n\r\n")).await;
    assert!(answered.starts_with("HTTP/1.1 302"), "it is the client's to follow: {answered}");
    server.asked.recv().await.unwrap();
    assert!(proxy.refused().is_empty());
    assert!(ask(&proxy, "GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n").await.starts_with("HTTP/1.1 403"));
}

#[tokio::test]
async fn what_does_not_answer_is_told_and_is_no_refusal() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = proxy(&[closed.to_string()]);
    let answered = ask(&proxy, &format!("CONNECT {closed} HTTP/1.1\r\n\r\n")).await;
    assert!(answered.starts_with("HTTP/1.1 502") && answered.contains("could not be reached"), "{answered}");
    assert!(proxy.refused().is_empty());
}

#[tokio::test]
async fn heads_are_bounded() {
    let proxy = proxy(&[]);
    let answered = ask(&proxy, &format!("GET http://x/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(200_000))).await;
    assert!(answered.is_empty() || answered.starts_with("HTTP/1.1 4"), "{answered}");
}

// Requirement: 15.3
#[tokio::test]
async fn connections_are_bounded_and_an_idle_one_makes_room() {
    let bounds = ProxyBounds { connections: 1, idle: Duration::from_millis(50), ..ProxyBounds::default() };
    let server = Server::new(OK).await;
    let here = format!("127.0.0.1:{}", server.port);
    let proxy = HostProxy::new(HostGrants::read([&here]).unwrap(), "sandbox.network").with_bounds(bounds).open().unwrap();
    let mut first = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    first.write_all(format!("CONNECT {here} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(answer(&mut first).await.starts_with("HTTP/1.1 200"));
    // There is room for it only after the first has ended by its idle timeout.
    let second = ask(&proxy, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(second.starts_with("HTTP/1.1 403"), "{second}");
    assert_eq!(first.read(&mut [0; 8]).await.unwrap_or_default(), 0, "the first is over");
}

#[tokio::test]
async fn all_ends_with_who_opened_it() {
    let server = Server::new(OK).await;
    let here = format!("127.0.0.1:{}", server.port);
    let proxy = proxy(std::slice::from_ref(&here));
    let port = proxy.port();
    let mut tunnel = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    tunnel.write_all(format!("CONNECT {here} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(answer(&mut tunnel).await.starts_with("HTTP/1.1 200"));
    drop(proxy);
    assert_eq!(tunnel.read(&mut [0; 8]).await.unwrap_or_default(), 0);
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

//! The proxy over loopback, against a server that returns what it received.

use tokio::task::JoinHandle;

use super::*;

/// Starts a server that sends back the first bytes that it reads, and returns its port.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                if socket.read_buf(&mut bytes).await.is_ok() {
                    let _ = socket.write_all(&bytes).await;
                    let _ = socket.shutdown().await;
                }
            });
        }
    });
    port
}

/// The answer of a proxy with this list of hosts, and the hosts that it refused.
async fn answer_of(listed: &[&str], request: &str) -> (String, Vec<String>) {
    answer_through(UpstreamProxies::default(), listed, request).await
}

/// The same for a proxy that has to go through another one.
async fn answer_through(
    upstreams: UpstreamProxies,
    listed: &[&str],
    request: &str,
) -> (String, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hosts = listed.iter().map(|text| text.parse().unwrap()).collect();
    let refused = RefusedHosts::default();
    let serving = tokio::spawn(serve(listener, hosts, upstreams, refused.clone()));
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // After an error the connection may be broken rather than closed.
    let _ = client.shutdown().await;
    let _ = client.read_to_end(&mut answer).await;
    serving.abort();
    (String::from_utf8(answer).unwrap(), refused.take())
}

#[tokio::test]
async fn s90_a_listed_host_gets_through_and_no_other() {
    let port = echo().await;
    let here = format!("127.0.0.1:{port}");
    let tunnel = format!("CONNECT {here} HTTP/1.1\r\n\r\nhello");
    let (answer, refused) = answer_of(&[&here], &tunnel).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    assert!(refused.is_empty());
    let (answer, refused) = answer_of(&["127.0.0.1:1", "example.org"], &tunnel).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(refused, [here]);
}

#[tokio::test]
async fn a_plain_request_reaches_its_server_without_the_proxys_part() {
    let here = format!("127.0.0.1:{}", echo().await);
    let request = format!("GET http://{here}/a HTTP/1.1\r\nHost: {here}\r\n\r\n");
    let (answer, _) = answer_of(&[&here], &request).await;
    assert_eq!(answer, format!("GET /a HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n"));
    let other = format!("GET http://{here}/a HTTP/1.1\r\nHost: example.org\r\n\r\n");
    let (answer, refused) = answer_of(&[&here, "example.org"], &other).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(refused.is_empty(), "{refused:?}");
}

/// A server that answers each request on a connection, even if it is asked to close it. In the end
/// it returns what it received.
async fn stubborn() -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let (mut bytes, mut answered) = (Vec::new(), 0);
        while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
            let asked = bytes.windows(4).filter(|four| four == b"\r\n\r\n").count();
            for _ in answered..asked {
                let _ = socket
                    .write_all(
                        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\
                          Keep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nok",
                    )
                    .await;
            }
            answered = asked;
        }
        String::from_utf8(bytes).unwrap()
    });
    (address, serving)
}

#[tokio::test]
async fn s90_nothing_after_a_plain_request_is_forwarded() {
    let chunks = ("4;a=b\r\nbody\r\n0\r\nX: y\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n");
    for (header, (body, passed_on)) in [
        ("", ("", "")),
        ("Content-Length: 4\r\n", ("body", "body")),
        ("Transfer-Encoding: chunked\r\n", chunks),
    ] {
        let (here, serving) = stubborn().await;
        let request = format!(
            "POST http://{here}/one HTTP/1.1\r\n{header}\r\n{body}\
             GET http://not-listed.example/two HTTP/1.1\r\nAuthorization: SECRET\r\n\r\n"
        );
        let (answer, refused) = answer_of(&[&here], &request).await;
        let only = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\
                    Connection: close\r\n\r\nok";
        assert!(answer.starts_with(only), "{answer}");
        let sent = serving.await.unwrap();
        assert!(sent.ends_with(&format!("Connection: close\r\n\r\n{passed_on}")), "{sent}");
        assert!(refused.is_empty(), "{refused:?}");
    }
}

#[tokio::test]
async fn s90_ambiguous_chunks_are_not_forwarded() {
    for body in ["4\nbody\r\n", "+4\r\nbody\r\n", "4\r\nbodyxx", "0x4\r\nbody\r\n", "\r\n"] {
        let (here, serving) = stubborn().await;
        let request = format!(
            "POST http://{here}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}0\r\n\r\n"
        );
        answer_of(&[&here], &request).await;
        let sent = serving.await.unwrap();
        assert!(!sent.ends_with("0\r\n\r\n"), "{body:?}: {sent}");
    }
}

/// The name "localhost" stands for any name that was made to lead to loopback.
#[tokio::test]
async fn s85_a_name_that_leads_here_needs_to_be_listed_with_its_port() {
    let port = echo().await;
    let tunnel = |port| format!("CONNECT LocalHost.:{port} HTTP/1.1\r\n\r\nhello");
    let (answer, _) = answer_of(&[&format!("localhost:{port}")], &tunnel(port)).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (answer, refused) = answer_of(&["localhost"], &tunnel(443)).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(refused, ["localhost:443, which leads to this machine or its own network"]);
}

#[tokio::test]
async fn an_unreachable_host_is_not_a_sandbox_refusal() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tunnel = format!("CONNECT {free} HTTP/1.1\r\n\r\n");
    let (answer, refused) = answer_of(&[&free.to_string()], &tunnel).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(refused.is_empty(), "{refused:?}");
}

#[tokio::test]
async fn a_head_without_an_end_is_given_up_on() {
    let (answer, _) = answer_of(&["a.org"], &"x".repeat(head::LONGEST + 2)).await;
    assert_eq!(answer, "");
}

/// A proxy that gives this answer to each request and then echoes, and the requests it got.
async fn upstream(answer: &'static str) -> (UpstreamProxies, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://u:p@{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let (head, rest) = read_head(&mut socket).await.unwrap();
        socket.write_all(answer.as_bytes()).await.unwrap();
        socket.write_all(&rest).await.unwrap();
        let (mut from, mut to) = socket.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
        String::from_utf8(head).unwrap()
    });
    (
        UpstreamProxies::from_variables(|name| (name == "ALL_PROXY").then(|| address.clone())),
        serving,
    )
}

#[tokio::test]
async fn a_listed_host_is_reached_through_the_proxy_that_slug_has_to_use() {
    for (request, came) in [
        ("CONNECT a.invalid:80 HTTP/1.1\r\n\r\nhello", "\r\n\r\nhello"),
        ("GET http://a.invalid/x HTTP/1.1\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a.invalid\r\n"),
    ] {
        let (upstreams, serving) = upstream("HTTP/1.1 200 OK\r\nX: y\r\n\r\n").await;
        let (answer, refused) = answer_through(upstreams, &["a.invalid"], request).await;
        assert!(answer.contains(came) && !answer.contains("X: y"), "{answer}");
        assert!(refused.is_empty(), "{refused:?}");
        let asked = "CONNECT a.invalid:80 HTTP/1.1\r\nHost: a.invalid:80\r\n\
                     Proxy-Authorization: Basic dTpw\r\n\r\n";
        assert_eq!(serving.await.unwrap(), asked);
    }
}

#[tokio::test]
async fn refused_hosts_never_reach_the_upstream_proxy() {
    for (listed, asked) in [("a.invalid", "b.invalid:443"), ("a.invalid", "10.0.0.1:443")] {
        let (upstreams, serving) = upstream("HTTP/1.1 200 OK\r\n\r\n").await;
        let tunnel = format!("CONNECT {asked} HTTP/1.1\r\n\r\n");
        let (answer, refused) = answer_through(upstreams, &[listed], &tunnel).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert_eq!(refused, [asked]);
        assert!(!serving.is_finished());
        serving.abort();
    }
}

#[tokio::test]
async fn a_refusal_of_the_upstream_proxy_is_quoted() {
    let (upstreams, serving) = upstream("HTTP/1.1 407 Login first\r\n\r\n").await;
    let (answer, _) =
        answer_through(upstreams, &["a.invalid"], "CONNECT a.invalid:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("407 Login first"), "{answer}");
    serving.await.unwrap();
}

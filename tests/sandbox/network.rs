//! What commands in a sandbox reach of the network: nothing, or the listed hosts, through slug's
//! proxy and the proxy of the surrounding network.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

use super::*;

#[tokio::test]
async fn s90_an_empty_list_means_no_network() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    for fixture in fixtures() {
        for command in [
            format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"),
            format!(
                "unset http_proxy https_proxy HTTPS_PROXY ALL_PROXY; exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"
            ),
            "exec 3<>/dev/tcp/1.1.1.1/443".to_owned(),
            "exec 3<>/dev/tcp/::1/53".to_owned(),
            "getent hosts example.com".to_owned(),
            "getent ahosts example.com".to_owned(),
        ] {
            fixture.run(&command).await.assert_blocked(&command);
        }
        fixture.run(&format!("echo x > /dev/udp/127.0.0.1/{udp_port}")).await;
        assert!(tcp.accept().is_err(), "{:?}", fixture.backend);
        assert!(udp.recv(&mut [0; 8]).is_err(), "{:?}", fixture.backend);
        fixture
            .run("command -v curl || exit 1; curl -m 5 -s http://1.1.1.1")
            .await
            .assert_blocked("curl");
    }
}

/// Starts a server that sends back what it received; returns its port.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut bytes = [0; 4096];
            let count = socket.read(&mut bytes).unwrap_or(0);
            let _ = socket.write_all(&bytes[..count]);
        }
    });
    port
}

/// A line of bash that sends a request to the proxy, and prints the answer.
fn asks(request: &str) -> String {
    format!(
        "exec 3<>\"/dev/tcp/${{http_proxy:7:9}}/${{http_proxy:17}}\" || exit 9; \
         printf '{request}' >&3; cat <&3; exec 3<&-"
    )
}

#[tokio::test]
async fn s90_listed_hosts_are_reached_through_the_proxy_and_nothing_else_is() {
    let (listed, other) = (echo(), echo());
    for mut fixture in fixtures().into_iter().filter(SandboxFixture::is_bubblewrap) {
        let here = format!("127.0.0.1:{listed}");
        fixture.network =
            SandboxNetwork::Hosts(vec![here.parse().unwrap(), "a.example".parse().unwrap()]);
        let ran = fixture.run(&asks(&format!("CONNECT {here} HTTP/1.1\\r\\n\\r\\nhello"))).await;
        assert!(ran.printed.ends_with("hello"), "{}", ran.printed);
        assert_eq!(ran.refused(), Vec::<String>::new());
        let get = format!("GET http://{here}/x HTTP/1.1\\r\\nHost: {here}\\r\\n\\r\\n");
        let ran = fixture.run(&asks(&get)).await;
        assert!(ran.printed.starts_with("GET /x HTTP/1.1\r\n"), "{}", ran.printed);

        for host in [&format!("127.0.0.1:{other}"), "b.example:443", "a.example:22"] {
            let ask = asks(&format!("CONNECT {host} HTTP/1.1\\r\\n\\r\\nhello"));
            let ran = fixture.run(&format!("{ask}; exit 7")).await;
            assert!(ran.printed.starts_with("HTTP/1.1 403 "), "{}", ran.printed);
            assert_eq!(ran.refused(), [host], "{}", ran.printed);
        }
        for command in [
            format!("unset http_proxy; exec 3<>/dev/tcp/127.0.0.1/{listed}"),
            "exec 3<>/dev/tcp/1.1.1.1/443".to_owned(),
            "getent ahosts a.example".to_owned(),
        ] {
            fixture.run(&command).await.assert_blocked(&command);
        }
        let ran = fixture.run("ls /proc/self/fd | tr '\\n' ' '; echo; env").await;
        let printed: Vec<&str> = ran.printed.lines().collect();
        assert_eq!(printed.first(), Some(&"0 1 2 3 "), "{}", ran.printed);
        for name in ["HTTP_PROXY", "https_proxy", "ALL_PROXY"] {
            let line = format!("{name}=http://127.0.0.1:3128");
            assert!(printed.contains(&line.as_str()), "{name}");
        }
        assert!(printed.contains(&"no_proxy=localhost,::1"), "{}", ran.printed);
        fixture.run("read line; test -z \"$line\"").await.assert_works("nothing on standard input");
    }
}

#[tokio::test]
async fn s90_background_processes_keep_their_proxy() {
    let listed = echo();
    for mut fixture in fixtures().into_iter().filter(SandboxFixture::is_bubblewrap) {
        let here = format!("127.0.0.1:{listed}");
        fixture.network = SandboxNetwork::Hosts(vec![here.parse().unwrap()]);
        let ask = asks(&format!("CONNECT {here} HTTP/1.1\\r\\n\\r\\nlater"));
        let behind = format!(
            "(until test -e src/go; do sleep 0.02; done; {{ {ask}; }} > src/told) > /dev/null 2>&1 & exit 0"
        );
        fixture.run(&behind).await.assert_works("leaving something behind");
        fs::write(fixture.dir.join("src/go"), "").unwrap();
        let by = Instant::now() + Duration::from_secs(60);
        let told = || fs::read_to_string(fixture.dir.join("src/told")).unwrap_or_default();
        while !told().ends_with("later") {
            assert!(Instant::now() < by, "{}", told());
            std::thread::sleep(Duration::from_millis(10));
        }
        fixture.host.end_all().await;
    }
}

#[tokio::test]
async fn s90_where_hosts_cannot_be_told_apart_none_is_reached() {
    let listed = echo();
    for mut fixture in fixtures().into_iter().filter(|fixture| !fixture.is_bubblewrap()) {
        let here = format!("127.0.0.1:{listed}");
        fixture.network = SandboxNetwork::Hosts(vec![here.parse().unwrap()]);
        fixture
            .run(&format!("exec 3<>/dev/tcp/127.0.0.1/{listed}"))
            .await
            .assert_blocked("a listed host");
    }
}

/// Starts a proxy of the surrounding network; returns its port and its requests. Behind it is a
/// server that sends back what it received, under whatever address.
fn upstream() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&requests);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            // A client that goes away is no failure of the proxy.
            let _ = pass(socket, &kept);
        }
    });
    (port, requests)
}

fn pass(mut socket: TcpStream, requests: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    requests.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
    socket.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    let mut bytes = [0; 4096];
    let count = socket.read(&mut bytes)?;
    socket.write_all(&bytes[..count])
}

/// Addresses that no machine has: only the proxy can answer for them.
#[tokio::test]
async fn s90_only_listed_hosts_are_reached_through_an_upstream_proxy() {
    let (port, requests) = upstream();
    let (listed, other) = ("198.51.100.7:81", "198.51.100.8:81");
    for mut fixture in fixtures().into_iter().filter(SandboxFixture::is_bubblewrap) {
        let own = std::env::vars_os()
            .filter(|(name, _)| !name.to_string_lossy().to_lowercase().ends_with("_proxy"));
        let proxy = format!("http://127.0.0.1:{port}");
        let named = ["HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name.into(), proxy.clone().into()));
        fixture.host = host(own.chain(named));
        fixture.network = SandboxNetwork::Hosts(vec![listed.parse().unwrap()]);

        let ask = |host: &str| asks(&format!("CONNECT {host} HTTP/1.1\\r\\n\\r\\nhello"));
        let ran = fixture.run(&ask(listed)).await;
        assert!(ran.printed.ends_with("hello"), "{}", ran.printed);
        let get = format!("GET http://{listed}/x HTTP/1.1\\r\\nHost: {listed}\\r\\n\\r\\n");
        let ran = fixture.run(&asks(&get)).await;
        assert!(ran.printed.starts_with("GET /x HTTP/1.1\r\n"), "{}", ran.printed);
        let tunnel = format!("CONNECT {listed} HTTP/1.1");
        assert_eq!(*requests.lock().unwrap(), [tunnel.clone(), tunnel.clone()]);

        let ran = fixture.run(&format!("{}; exit 7", ask(other))).await;
        assert!(ran.printed.starts_with("HTTP/1.1 403 "), "{}", ran.printed);
        assert_eq!(ran.refused(), [other], "{}", ran.printed);
        // The upstream proxy itself is out of reach.
        let around = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        fixture.run(&around).await.assert_blocked(&around);
        assert_eq!(requests.lock().unwrap().len(), 2);
    }
}

//! Requests for pages, to servers on loopback and past a resolver that is written here.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread::JoinHandle;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const OWN: &str = "93.184.216.99";

/// A name server that knows what it is told, and counts.
#[derive(Default)]
struct ScriptedLookup {
    hosts: HashMap<&'static str, Vec<IpAddr>>,
    /// A public address of the machine.
    own: Option<IpAddr>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl HostLookup for ScriptedLookup {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        self.hosts.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own == Some(address)
    }
}

fn client(hosts: &[(&'static str, &[&str])]) -> (PageClient, Arc<ScriptedLookup>) {
    let hosts = hosts.iter().map(|(name, addresses)| {
        (*name, addresses.iter().map(|address| address.parse().unwrap()).collect())
    });
    let own = Some(OWN.parse().unwrap());
    let lookup = Arc::new(ScriptedLookup { hosts: hosts.collect(), own, asked: Mutex::default() });
    (PageClient::new(lookup.clone(), TransportConfig::default()), lookup)
}

fn get(address: &str, reach: PageReach) -> PageRequest {
    PageRequest {
        address: WebAddress::parse(address).unwrap(),
        reach,
        user_agent: "slug/test".into(),
        accept: "text/html",
        headers: Vec::new(),
        body: None,
        limit: 100_000,
    }
}

/// A server for one connection, which gets the request's head and writes what it wants.
fn serving(answer: impl FnOnce(&str, &mut TcpStream) + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/page", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).unwrap();
        answer(&String::from_utf8_lossy(&buffer[..count]), &mut stream);
    });
    (address, thread)
}

fn ok(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_page_comes_with_its_type_and_nothing_is_sent_that_tells_of_the_user() {
    let (address, thread) = serving(|head, stream| {
        let head = head.to_lowercase();
        assert!(head.contains("user-agent: slug/test\r\n"), "{head}");
        for name in ["cookie:", "authorization:", "referer:"] {
            assert!(!head.contains(name), "{head}");
        }
        let headers = "Content-Type: text/html; charset=x\r\nSet-Cookie: a=b\r\n";
        stream.write_all(&ok(headers, b"<p>hello")).unwrap();
    });
    let (client, lookup) = client(&[]);
    let page = client.request(&get(&address, PageReach::Named)).await.unwrap();
    thread.join().unwrap();
    assert_eq!((page.status, page.body.as_slice(), page.is_cut), (200, &b"<p>hello"[..], false));
    assert_eq!(page.content_type.as_deref(), Some("text/html; charset=x"));
    assert!(lookup.asked.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s85_a_private_host_is_refused_before_anything_is_resolved() {
    let (client, lookup) = client(&[]);
    for address in [
        "http://127.0.0.1:8099/",
        "http://localhost:8099/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://93.184.216.99:9000/",
    ] {
        let error = client.request(&get(address, PageReach::Public)).await.unwrap_err();
        assert!(matches!(error, PageError::Private { .. }), "{address}: {error}");
    }
    assert!(lookup.asked.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s85_a_name_that_leads_to_a_private_address_is_refused_after_it_is_resolved() {
    let (client, lookup) = client(&[
        ("here.example", &["127.0.0.1"]),
        ("mapped.example", &["::ffff:127.0.0.1"]),
        ("translated.example", &["64:ff9b::7f00:1"]),
        ("meta.example", &["169.254.169.254"]),
        ("mixed.example", &["93.184.216.34", "10.0.0.7"]),
        ("app.localhost", &["10.0.0.7"]),
        ("public.example", &["93.184.216.34", OWN]),
    ]);
    for (name, address) in [
        ("here.example", "127.0.0.1"),
        ("mapped.example", "::ffff:127.0.0.1"),
        ("translated.example", "64:ff9b::7f00:1"),
        ("meta.example", "169.254.169.254"),
        ("mixed.example", "10.0.0.7"),
        ("app.localhost", "10.0.0.7"),
        ("public.example", OWN),
    ] {
        let request = get(&format!("http://{name}/"), PageReach::Named);
        let error = client.request(&request).await.unwrap_err();
        let expected = PageError::Private { host: name.into(), address: address.parse().unwrap() };
        assert_eq!(error, expected);
    }
    assert_eq!(lookup.asked.lock().unwrap().len(), 7);
    let error = client.request(&get("http://none.example/", PageReach::Public)).await.unwrap_err();
    assert_eq!(error, PageError::NoHost("none.example".into()));
}

/// The name leads elsewhere at the second look; the connection goes where the first one led.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s85_the_connection_goes_to_the_address_that_was_checked() {
    let (address, thread) = serving(|_, stream| stream.write_all(&ok("", b"here")).unwrap());
    let (client, lookup) = client(&[("localhost", &["127.0.0.1"])]);
    let address = address.replace("127.0.0.1", "localhost");
    let page = client.request(&get(&address, PageReach::Named)).await.unwrap();
    thread.join().unwrap();
    assert_eq!(page.body, b"here");
    assert_eq!(*lookup.asked.lock().unwrap(), ["localhost"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s87_a_bomb_is_cut_where_its_decoded_size_reaches_the_limit() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        packed.write_all(&[b'a'; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000, "{}", packed.len());
    let (address, thread) = serving(move |_, stream| {
        // The client closes the connection before all is read.
        let _ = stream.write_all(&ok("Content-Encoding: gzip\r\n", &packed));
    });
    let page = client(&[]).0.request(&get(&address, PageReach::Named)).await.unwrap();
    thread.join().unwrap();
    assert_eq!((page.body.len(), page.is_cut), (100_000, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s87_an_endless_body_is_cut() {
    let (address, thread) = serving(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(&[b'x'; 8192]).is_ok() {}
    });
    let page = client(&[]).0.request(&get(&address, PageReach::Named)).await.unwrap();
    thread.join().unwrap();
    assert_eq!((page.body.len(), page.is_cut), (100_000, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s87_a_server_that_hangs_or_drips_is_given_up() {
    for drips in [false, true] {
        let (address, thread) = serving(move |_, stream| {
            if drips {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx").unwrap();
            }
            let _ = io::copy(stream, &mut io::sink());
        });
        let (mut client, _) = client(&[]);
        client.time_limit = Duration::from_millis(100);
        let error = client.request(&get(&address, PageReach::Named)).await.unwrap_err();
        assert_eq!(error, PageError::TooSlow("127.0.0.1".into()), "{drips}");
        drop(client);
        thread.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s84_a_redirect_is_an_answer_and_is_not_followed() {
    let (address, thread) = serving(|_, stream| {
        let head = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/x\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
    });
    let page = client(&[]).0.request(&get(&address, PageReach::Named)).await.unwrap();
    thread.join().unwrap();
    assert_eq!((page.status, page.location.as_deref()), (302, Some("http://169.254.169.254/x")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_failure_is_a_sentence() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let request = get(&format!("http://127.0.0.1:{port}/"), PageReach::Named);
    let error = client(&[]).0.request(&request).await.unwrap_err();
    assert_eq!(error.to_string(), format!("Nothing answers at 127.0.0.1 on port {port}."));
    let (address, thread) = serving(|_, stream| stream.write_all(b"hello\r\n\r\n").unwrap());
    let error = client(&[]).0.request(&get(&address, PageReach::Named)).await.unwrap_err();
    thread.join().unwrap();
    assert!(error.to_string().starts_with("The connection to 127.0.0.1 broke: "), "{error}");
}

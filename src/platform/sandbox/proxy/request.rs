//! Passes on one plain request and its answer, and nothing more: what a client sends after its
//! request was not checked, and is dropped. Both sides are told that their connection ends with the
//! answer; nothing depends on the server following that.

use std::io;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    copy, copy_buf, sink,
};
use tokio::net::TcpStream;

use super::head::{self, ProxyBodyFraming};

/// The most bytes of an answer's head that are rewritten.
const LONGEST_ANSWER: usize = 64 << 10;

/// The most bytes of a line between chunks.
const LONGEST_LINE: u64 = 4 << 10;

/// Passes on the body of a request and the answer. `rest` is what has already come of the body.
pub(super) async fn pass(
    client: &mut TcpStream,
    server: &mut TcpStream,
    body: ProxyBodyFraming,
    rest: &[u8],
) -> io::Result<()> {
    let (from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let mut from_client = BufReader::new(rest.chain(from_client));
        pass_body(&mut from_client, &mut to_server, body).await?;
        copy(&mut from_client, &mut sink()).await?;
        to_server.shutdown().await
    };
    let down = async {
        pass_head(&mut from_server, &mut to_client).await?;
        copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::pin!(down);
    tokio::select! {
        answered = &mut down => answered,
        sent = up => match sent {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
            // A server may answer before it has read all.
            Ok(()) | Err(_) => down.await,
        },
    }
}

async fn pass_body(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    body: ProxyBodyFraming,
) -> io::Result<()> {
    match body {
        ProxyBodyFraming::Length(length) => copy_buf(&mut from.take(length), to).await.map(|_| ()),
        ProxyBodyFraming::Chunked => pass_chunks(from, to).await,
    }
}

/// Passes on chunks without their extensions and without the trailer.
async fn pass_chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let line = line(from).await?;
        let digits = line.split(';').next().unwrap_or_default().trim_ascii_end();
        let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit());
        let size =
            u64::from_str_radix(digits, 16).ok().filter(|_| is_number).ok_or_else(invalid_data)?;
        if size == 0 {
            break;
        }
        to.write_all(format!("{size:x}\r\n").as_bytes()).await?;
        let passed = copy_buf(&mut (&mut *from).take(size), to).await?;
        if passed < size || !self::line(from).await?.is_empty() {
            return Err(invalid_data());
        }
        to.write_all(b"\r\n").await?;
    }
    while !line(from).await?.is_empty() {}
    to.write_all(b"0\r\n\r\n").await
}

/// A line without its end.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LONGEST_LINE).read_until(b'\n', &mut bytes).await?;
    let line = bytes.strip_suffix(b"\r\n").ok_or_else(invalid_data)?;
    String::from_utf8(line.to_owned()).map_err(|_| invalid_data())
}

fn invalid_data() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Passes on the head of the answer and what came after it. A text that is no head stays as it is.
async fn pass_head(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        if let Some(length) = head::length(&bytes) {
            let rest = bytes.split_off(length);
            if head::is_interim(&bytes) {
                to.write_all(&bytes).await?;
                bytes = rest;
                continue;
            }
            to.write_all(&head::answer(&bytes)).await?;
            return to.write_all(&rest).await;
        }
        if bytes.len() > LONGEST_ANSWER || from.read_buf(&mut bytes).await? == 0 {
            return to.write_all(&bytes).await;
        }
    }
}

//! What a body is by its type, and text by its encoding.

use encoding_rs::{Encoding, UTF_8};

/// How a body is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Html,
    Text,
    Image,
    Binary,
}

/// The kind of a body, by its type and, without one, by its first bytes.
pub(super) fn kind_of(content_type: Option<&str>, body: &[u8]) -> BodyKind {
    let media_type = media_type(content_type);
    match media_type.as_str() {
        "" => guess(body),
        "text/html" | "application/xhtml+xml" => BodyKind::Html,
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/x-sh" => BodyKind::Text,
        "image/svg+xml" => BodyKind::Text,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => BodyKind::Image,
        other if other.starts_with("text/") => BodyKind::Text,
        other if other.ends_with("+json") || other.ends_with("+xml") => BodyKind::Text,
        _ => BodyKind::Binary,
    }
}

/// The type without its parameters, in small letters.
pub(super) fn media_type(content_type: Option<&str>) -> String {
    let own = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    own.trim().to_ascii_lowercase()
}

fn guess(body: &[u8]) -> BodyKind {
    let head = &body[..body.len().min(1024)];
    let start = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    match () {
        () if head.contains(&0) => BodyKind::Binary,
        () if start.starts_with("<!doctype html") || start.starts_with("<html") => BodyKind::Html,
        () => BodyKind::Text,
    }
}

/// The text of a body: by its byte order mark, the type's charset, the page's own word for it within its
/// first 1024 bytes, or else as UTF-8. What is no character becomes U+FFFD.
pub(super) fn decode(content_type: Option<&str>, body: &[u8]) -> String {
    let named = content_type.and_then(|text| parameter(text, "charset="));
    let head = String::from_utf8_lossy(&body[..body.len().min(1024)]).to_ascii_lowercase();
    let encoding = named
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| Encoding::for_label(in_page(&head)?.as_bytes()))
        .unwrap_or(UTF_8);
    // `decode` looks for a byte order mark first.
    encoding.decode(body).0.into_owned()
}

fn parameter<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let at = text.to_ascii_lowercase().find(name)? + name.len();
    let value = text.get(at..)?.trim_start_matches(['"', '\'', ' ']);
    value.split(['"', '\'', ';', ' ', '>', '/']).next()
}

/// The charset that a `<meta>` names. A page whose head reads as ASCII is not in UTF-16.
fn in_page(head: &str) -> Option<&str> {
    let meta = &head[head.find("<meta")?..];
    parameter(meta, "charset=").filter(|label| !label.starts_with("utf-16"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_the_type_and_else_from_the_content() {
        for (content_type, body, kind) in [
            (Some("text/html; charset=utf-8"), "", BodyKind::Html),
            (Some("Application/XHTML+xml"), "", BodyKind::Html),
            (Some("text/markdown"), "", BodyKind::Text),
            (Some("application/json"), "", BodyKind::Text),
            (Some("application/ld+json"), "", BodyKind::Text),
            (Some("image/png"), "", BodyKind::Image),
            (Some("application/zip"), "", BodyKind::Binary),
            (Some("application/pdf"), "", BodyKind::Binary),
            (None, " <!DOCTYPE html><p>", BodyKind::Html),
            (None, "plain", BodyKind::Text),
            (None, "PK\0", BodyKind::Binary),
        ] {
            assert_eq!(kind_of(content_type, body.as_bytes()), kind, "{content_type:?} {body}");
        }
    }

    #[test]
    fn text_is_read_in_its_encoding_and_a_wrong_one_does_no_harm() {
        let cases: [(Option<&str>, &[u8], &str); 9] = [
            (Some("text/html; charset=iso-8859-1"), b"caf\xe9", "café"),
            (Some("text/html; charset=\"Shift_JIS\""), b"\x82\xa0", "あ"),
            (Some("text/html"), b"<meta charset=windows-1252>\xe9", "<meta charset=windows-1252>é"),
            (
                Some("text/html"),
                b"<META http-equiv=x content='text/html; charset=koi8-r'>\xc1",
                "<META http-equiv=x content='text/html; charset=koi8-r'>а",
            ),
            (Some("text/html; charset=latin1"), b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
            (Some("text/html; charset=utf-8"), b"caf\xe9", "caf\u{fffd}"),
            (Some("text/html; charset=none-such"), "café".as_bytes(), "café"),
            (Some("text/html; charset="), b"x", "x"),
            (None, b"<meta charset=utf-16>x", "<meta charset=utf-16>x"),
        ];
        for (content_type, body, text) in cases {
            assert_eq!(decode(content_type, body), text, "{content_type:?}");
        }
    }
}

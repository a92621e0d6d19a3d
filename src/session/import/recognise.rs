//! Recognises the format of a file by its content.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::SessionId;
use crate::session::compression;

use super::ImportSourceKind;
use super::lines::JsonLinesReader;

/// How many lines or messages are examined.
const LOOK: usize = 50;
/// In bytes. A longer single JSON value is not read.
const LONGEST_WHOLE: u64 = 512 << 20;
/// How many levels of folders are searched.
const DEEPEST: usize = 12;

const HISTORY: &str = "history.jsonl";
const METADATA: &str = "metadata.json";

/// The files of a session to import, and how they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImportSource {
    /// A log of slug.
    Slug { file: PathBuf, session: SessionId },
    /// One message or item per line.
    Lines { file: PathBuf, metadata: Option<PathBuf>, kind: ImportSourceKind },
    /// One JSON value with all messages.
    Whole { file: PathBuf },
}

impl ImportSource {
    pub(super) fn kind(&self) -> ImportSourceKind {
        match self {
            Self::Slug { .. } => ImportSourceKind::Slug,
            Self::Lines { kind, .. } => *kind,
            Self::Whole { .. } => ImportSourceKind::Chat,
        }
    }

    /// The file that holds the messages.
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::Slug { file, .. } | Self::Lines { file, .. } | Self::Whole { file } => file,
        }
    }
}

/// Whether a folder is one session, as some tools keep it: a history file with a metadata file.
pub(super) fn is_session_folder(path: &Path) -> bool {
    path.join(HISTORY).is_file() && path.join(METADATA).is_file()
}

/// The files and folders below `path` that may be sessions, ordered by name. Links are not
/// followed.
pub(super) fn session_files_in(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    look_through(path, DEEPEST, &mut found);
    found
}

fn look_through(path: &Path, deeper: usize, found: &mut Vec<PathBuf>) {
    if is_session_folder(path) {
        return found.push(path.to_owned());
    }
    // A folder that cannot be read has no sessions.
    let mut entries: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && deeper > 0 {
            look_through(&path, deeper - 1, found);
        } else if kind.is_file() && is_candidate(&path) {
            found.push(path);
        }
    }
}

/// Whether a file may be a session by its name. While a log is being packed both its files exist,
/// and the plain one counts.
fn is_candidate(path: &Path) -> bool {
    let has = |path: &Path, ending: &str| path.extension().is_some_and(|it| it == ending);
    let plain = path.with_extension("");
    has(path, "jsonl")
        || has(path, "json")
        || has(path, compression::ENDING) && has(&plain, "jsonl") && !plain.is_file()
}

/// The source at `path`; `None` where its format is not known.
pub(super) fn source(path: &Path) -> io::Result<Option<ImportSource>> {
    if is_session_folder(path) {
        let file = path.join(HISTORY);
        let kind = ImportSourceKind::Chat;
        return Ok(Some(ImportSource::Lines { file, metadata: Some(path.join(METADATA)), kind }));
    }
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let file = path.to_owned();
    let mut lines = JsonLinesReader::open(path)?;
    for number in 0..LOOK {
        match lines.next()? {
            None => break,
            Some(None) if number == 0 => return whole(path),
            Some(None) => {}
            Some(Some(value)) if number == 0 && messages(&value).is_some() => return whole(path),
            Some(Some(value)) => {
                if let Some(session) = slug(&value).filter(|_| number == 0) {
                    return Ok(Some(ImportSource::Slug { file, session }));
                }
                if let Some(kind) = by_line(&value) {
                    return Ok(Some(ImportSource::Lines { file, metadata: None, kind }));
                }
            }
        }
    }
    Ok(None)
}

fn whole(path: &Path) -> io::Result<Option<ImportSource>> {
    let mut file = File::open(path)?;
    let mut first = [0; 64];
    let length = file.read(&mut first)?;
    let first = first[..length].trim_ascii_start();
    if !matches!(first.first(), Some(b'{' | b'[')) || file.metadata()?.len() > LONGEST_WHOLE {
        return Ok(None);
    }
    let value = super::whole(path)?;
    let looks_like_one = messages(&value).is_some_and(|messages| {
        messages.iter().take(LOOK).any(|message| message["role"].is_string())
    });
    Ok(looks_like_one.then(|| ImportSource::Whole { file: path.to_owned() }))
}

/// The messages of a session that is a single JSON value.
pub(super) fn messages(value: &Value) -> Option<&Vec<Value>> {
    value.as_array().or_else(|| value.get("messages")?.as_array())
}

fn slug(value: &Value) -> Option<SessionId> {
    let is_one = value["type"] == "session" && value["version"].is_u64();
    value["session_id"].as_str().filter(|_| is_one)?.parse().ok()
}

fn by_line(value: &Value) -> Option<ImportSourceKind> {
    let name = value["type"].as_str();
    let is_codex = matches!(
        name,
        Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted")
    );
    if is_codex && value["payload"].is_object() {
        return Some(ImportSourceKind::Codex);
    }
    let is_claude = matches!(name, Some("user" | "assistant")) && value["message"].is_object();
    if is_claude && (value["uuid"].is_string() || value["sessionId"].is_string()) {
        return Some(ImportSourceKind::ClaudeCode);
    }
    value["role"].is_string().then_some(ImportSourceKind::Chat)
}

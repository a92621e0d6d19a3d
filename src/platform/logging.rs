//! slug's own log: one file a day in `~/.slug/logs`, readable by the user alone, without secrets.
//!
//! `RUST_LOG` says how much is written; the default is slug's own messages from `info` on and the
//! warnings of libraries. A thread writes the lines, so that nobody waits for the disk; when it
//! cannot keep up, lines are dropped. Nothing ever goes to the terminal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::{Local, NaiveDate};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;

use super::paths::{private_dir, private_file};
use super::redact::{REDACTED, Redactor};

/// `rmcp` warns of each message that it cannot answer, as many as a server sends.
const DEFAULT_FILTER: &str = "warn,rmcp=error,slug_code=info,slug=info";

/// How many daily files are kept.
const KEPT_DAYS: usize = 14;

/// How many lines may wait for the thread that writes them. Each takes 32 bytes from the start on;
/// the 128,000 of tracing-appender's default would be 4 MB, a fifth of all that an idle slug uses.
const MAX_WAITING_LINES: usize = 8192;

/// Keeps the log running; its drop writes the lines that still wait.
#[derive(Debug)]
#[must_use = "the log ends when this is dropped"]
pub struct LogGuard {
    _worker: WorkerGuard,
}

/// Why there is no log. slug works without one.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    #[error("cannot write a log in {folder}: {source}")]
    Folder { folder: PathBuf, source: io::Error },
    /// The process has a log already.
    #[error("logging has been started already")]
    AlreadyStarted,
}

/// Starts the log of this process. `filter` is the value of `RUST_LOG`.
///
/// # Errors
///
/// When the folder or today's file cannot be written, or a log was started before.
pub fn start(
    folder: &Path,
    filter: Option<&str>,
    redactor: Redactor,
) -> Result<LogGuard, LoggingError> {
    let (writer, guard) = writer(folder, redactor)
        .map_err(|source| LoggingError::Folder { folder: folder.to_owned(), source })?;
    let subscriber = subscriber(writer, targets(filter.unwrap_or(DEFAULT_FILTER)));
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| LoggingError::AlreadyStarted)?;
    Ok(guard)
}

/// The levels for each module. Parts of the list that cannot be parsed are left out; a list without
/// any part that can be parsed counts as the default.
fn targets(list: &str) -> Targets {
    let readable = |it: &&str| !it.is_empty() && it.parse::<Targets>().is_ok();
    let list: Vec<&str> = list.split(',').map(str::trim).filter(readable).collect();
    let list = if list.is_empty() { DEFAULT_FILTER.to_owned() } else { list.join(",") };
    list.parse().unwrap_or_default()
}

fn writer(folder: &Path, redactor: Redactor) -> io::Result<(NonBlocking, LogGuard)> {
    private_dir(folder)?;
    let mut daily = DailyFile { folder: folder.to_owned(), open: None };
    daily.at(Local::now().date_naive())?;
    let waiting = NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING_LINES);
    let (writer, worker) = waiting.finish(RedactingWriter { file: daily, redactor });
    Ok((writer, LogGuard { _worker: worker }))
}

/// Spans carry session, turn, call and model. Each line shows its spans, and when a span ends, a
/// line says how long it took.
fn subscriber(
    writer: NonBlocking,
    filter: Targets,
) -> impl tracing::Subscriber + Send + Sync + 'static {
    tracing_subscriber::fmt()
        .with_writer(writer)
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .finish()
        .with(filter)
}

/// Takes secrets out of each line, which arrives in one write.
struct RedactingWriter {
    file: DailyFile,
    redactor: Redactor,
}

impl Write for RedactingWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let clean = self.redactor.text(&String::from_utf8_lossy(line));
        let clean = without_queries(&clean);
        self.file.at(Local::now().date_naive())?.write_all(clean.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file.open {
            Some((_, file)) => file.flush(),
            None => Ok(()),
        }
    }
}

/// Takes users and queries out of the addresses in a line: they often hold keys, and errors of libraries
/// name whole addresses.
fn without_queries(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + "://".len());
        clean.push_str(before);
        let is_end = |c: char| c.is_whitespace() || "\"'<>`()\\".contains(c);
        let (address, behind) = address.split_at(address.find(is_end).unwrap_or(address.len()));
        let (address, query) = address.split_at(address.find(['?', '#']).unwrap_or(address.len()));
        let host = address.split('/').next().unwrap_or_default();
        let user = host.rfind('@').map_or(0, |at| at + 1);
        if user > 0 {
            clean.push_str(REDACTED);
            clean.push('@');
        }
        clean.push_str(&address[user..]);
        if query.len() > 1 {
            clean.push_str(&query[..1]);
            clean.push_str(REDACTED);
        }
        rest = behind;
    }
    clean.push_str(rest);
    clean
}

/// Writes `slug-2026-11-21.log`, and another file with the next day. The files that
/// tracing-appender makes itself would be readable by others.
struct DailyFile {
    folder: PathBuf,
    open: Option<(NaiveDate, File)>,
}

impl DailyFile {
    fn at(&mut self, day: NaiveDate) -> io::Result<&mut File> {
        let file = match self.open.take() {
            Some((opened, file)) if opened == day => file,
            Some(_) | None => {
                let path = self.folder.join(format!("slug-{day}.log"));
                let (file, _) = private_file(&path, OpenOptions::new().append(true).create(true))?;
                self.prune()?;
                file
            }
        };
        Ok(&mut self.open.insert((day, file)).1)
    }

    /// Removes the oldest files: the dates in the names sort by themselves.
    fn prune(&self) -> io::Result<()> {
        let mut logs: Vec<PathBuf> = fs::read_dir(&self.folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_log(path))
            .collect();
        logs.sort();
        let surplus = logs.len().saturating_sub(KEPT_DAYS);
        logs.iter().take(surplus).try_for_each(fs::remove_file)
    }
}

fn is_log(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str()?.strip_prefix("slug-")?.strip_suffix(".log"))
        .is_some_and(|date| date.parse::<NaiveDate>().is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::SecretString;

    use super::*;

    fn only_log(folder: &Path) -> PathBuf {
        let mut logs: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        logs.remove(0)
    }

    #[test]
    fn a_filter_sets_levels_by_module() {
        use tracing::Level;
        let rows = [
            (DEFAULT_FILTER, "slug_code::agent", Level::INFO, true),
            (DEFAULT_FILTER, "slug_code::agent", Level::DEBUG, false),
            (DEFAULT_FILTER, "hyper", Level::INFO, false),
            (DEFAULT_FILTER, "hyper", Level::WARN, true),
            ("debug", "hyper", Level::DEBUG, true),
            ("warn,slug_code::agent=debug", "slug_code::agent::turn", Level::DEBUG, true),
            ("warn,slug_code::agent=debug", "slug_code::tui", Level::DEBUG, false),
            ("loud, slug_code=trace", "slug_code::tui", Level::TRACE, true),
            ("slug_code=loud", "slug_code::tui", Level::INFO, true),
            ("off", "slug_code::tui", Level::ERROR, false),
            ("", "slug_code::tui", Level::INFO, true),
        ];
        for (list, module, level, told) in rows {
            assert_eq!(targets(list).would_enable(module, &level), told, "{list} {module} {level}");
        }
    }

    #[test]
    fn lines_carry_their_spans_and_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let redactor = Redactor::default();
        let (writer, guard) = writer(folder.path(), redactor.clone()).unwrap();
        let subscriber = subscriber(writer, targets("trace"));
        redactor.learn(&SecretString::from("CANARY-VALUE"));
        tracing::subscriber::with_default(subscriber, || {
            let _turn = tracing::info_span!("turn", turn = 3, model = "local").entered();
            tracing::trace!(header = "CANARY-VALUE", "sent");
        });
        drop(guard);
        let path = only_log(folder.path());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("turn{turn=3 model=\"local\"}"), "{text}");
        assert!(text.contains("[redacted]") && !text.contains("CANARY"), "{text}");
        assert!(text.contains("time.busy"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn addresses_are_logged_without_users_and_queries() {
        let rows = [
            (
                "at (https://u:p@h.org:1/a/b?k=v&x=y#z): no",
                "at (https://[redacted]@h.org:1/a/b?[redacted]): no",
            ),
            ("\"http://h/a#t\" http://h", "\"http://h/a#[redacted]\" http://h"),
            ("http://h/a@b? x?y=z ://", "http://h/a@b x?y=z ://"),
        ];
        for (line, expected) in rows {
            assert_eq!(without_queries(line), expected);
        }
    }

    #[test]
    fn a_new_day_gets_a_new_file_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("slug-notes.log"), "mine").unwrap();
        let mut daily = DailyFile { folder: folder.path().to_owned(), open: None };
        let first = NaiveDate::from_ymd_opt(2026, 1, 25).unwrap();
        for day in first.iter_days().take(20) {
            writeln!(daily.at(day).unwrap(), "one").unwrap();
            writeln!(daily.at(day).unwrap(), "two").unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), KEPT_DAYS + 1);
        assert_eq!(names[0], "slug-2026-01-31.log");
        assert_eq!(names[KEPT_DAYS], "slug-notes.log");
        let text = fs::read_to_string(folder.path().join(&names[0])).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }

    #[test]
    fn the_default_filter_is_understood() {
        assert!(DEFAULT_FILTER.parse::<Targets>().is_ok());
    }
}

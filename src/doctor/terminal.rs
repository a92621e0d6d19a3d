//! Whether the terminal can show the full screen.

use std::ffi::OsString;
use std::io::IsTerminal;

use super::DoctorFinding;

const SUBJECT: &str = "terminal";
/// Columns and rows below which the screen is too small to work in.
const SMALLEST: (u16, u16) = (40, 12);

/// The properties of the terminal that slug runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorTerminal {
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// Columns and rows; `None` when unknown.
    pub size: Option<(u16, u16)>,
    /// The environment variable `TERM`; `None` when it is not set or empty.
    pub term: Option<String>,
    /// The environment variable `COLORTERM`; `None` when it is not set or empty.
    pub colorterm: Option<String>,
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
    pub locale: Option<String>,
    /// Whether slug runs inside tmux.
    pub in_tmux: bool,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
}

impl DoctorTerminal {
    /// Reads the properties of standard output, and variables from `get` (in slug
    /// `std::env::var_os`).
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| {
            get(name)
                .map(|value| value.to_string_lossy().into_owned())
                .filter(|value| !value.is_empty())
        };
        let is_terminal = std::io::stdout().is_terminal();
        Self {
            is_terminal,
            size: if is_terminal { crossterm::terminal::size().ok() } else { None },
            term: text("TERM"),
            colorterm: text("COLORTERM"),
            locale: text("LC_ALL").or_else(|| text("LC_CTYPE")).or_else(|| text("LANG")),
            in_tmux: text("TMUX").is_some(),
            no_color: text("NO_COLOR").is_some(),
        }
    }

    fn has_utf8(&self) -> bool {
        self.locale.as_deref().is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }
}

pub(super) fn check(terminal: &DoctorTerminal) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    match terminal.term.as_deref() {
        None | Some("dumb") => findings.push(DoctorFinding::fail(
            SUBJECT,
            "TERM does not name a terminal that can show a full screen.",
            "slug prints everything line by line there, as with --linear. Use a terminal emulator for the full screen.",
        )),
        Some(_) => {}
    }
    if let Some((columns, rows)) = terminal.size
        && (columns < SMALLEST.0 || rows < SMALLEST.1)
    {
        findings.push(DoctorFinding::warn(
            SUBJECT,
            format!("The terminal is {columns}x{rows}, which is too small."),
            format!("Make it {}x{} or larger.", SMALLEST.0, SMALLEST.1),
        ));
    }
    if !terminal.has_utf8() {
        findings.push(DoctorFinding::warn(
            SUBJECT,
            "The locale is not UTF-8, so lines and marks may show as other characters.",
            "Set LANG to a UTF-8 locale, such as C.UTF-8.",
        ));
    }
    if terminal.in_tmux {
        findings.push(DoctorFinding::ok(
            SUBJECT,
            "slug runs in tmux: `set -g set-clipboard on` lets it copy to the clipboard.",
        ));
    }
    if findings.is_empty() || terminal.in_tmux && findings.len() == 1 {
        findings.insert(0, DoctorFinding::ok(SUBJECT, describe(terminal)));
    }
    findings
}

fn describe(terminal: &DoctorTerminal) -> String {
    let colours = match terminal.colorterm.as_deref() {
        _ if terminal.no_color => "no colours, because NO_COLOR is set",
        Some("truecolor" | "24bit") => "24-bit colours",
        Some(_) | None => "the palette's colours",
    };
    let term = terminal.term.as_deref().unwrap_or_default();
    match terminal.size {
        Some((columns, rows)) => format!("{term}, {columns}x{rows}, {colours}."),
        None if terminal.is_terminal => format!("{term}, of unknown size, {colours}."),
        None => format!("{term}, {colours}; standard output is not the terminal."),
    }
}

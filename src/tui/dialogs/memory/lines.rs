//! The words of the page of instruction files, which the screen and the line mode share.

use crate::context::{InstructionGroup, InstructionReport, InstructionRow, InstructionState};
use crate::domain::{FileDiff, format_tokens, pluralise};
use crate::tui::layout::StyleRole;

use super::MemoryPage;

/// What the page says of a folder that is not trusted.
const NOT_TRUSTED: &str = "This folder is not trusted, so slug reads no instruction files of it. Start slug \
                           with --trust-workspace, or answer the question about trust at the next start.";

/// The heading of a group.
pub fn heading(group: InstructionGroup) -> &'static str {
    match group {
        InstructionGroup::User => "Yours, for all projects",
        InstructionGroup::Project => "This project",
        InstructionGroup::Rules => "Rules of this project",
        InstructionGroup::Local => "Yours, for this project",
        InstructionGroup::Part => "Subfolders",
    }
}

/// The rows of the list: a heading, or the index of a file.
pub fn rows(page: &MemoryPage) -> Vec<Option<usize>> {
    let mut rows = Vec::new();
    let mut before = None;
    for (at, file) in page.files().iter().enumerate() {
        if before != Some(file.group) {
            rows.push(None);
            before = Some(file.group);
        }
        rows.push(Some(at));
    }
    rows
}

/// Whether a file goes out, in a few words.
pub fn state(file: &InstructionRow) -> (&'static str, StyleRole) {
    match &file.state {
        InstructionState::Sent => ("sent", StyleRole::Success),
        InstructionState::SentAsNote => ("sent as a note", StyleRole::Success),
        InstructionState::ForAPart(_) => ("on demand", StyleRole::Muted),
        InstructionState::NotSent(_) => ("not sent", StyleRole::Warning),
        InstructionState::Missing => ("no file yet", StyleRole::Muted),
    }
}

/// The size of a file; empty for none.
pub fn size(file: &InstructionRow) -> String {
    match exists(file) {
        true => pluralise_tokens(file.tokens),
        false => String::new(),
    }
}

fn pluralise_tokens(tokens: u64) -> String {
    match tokens {
        1 => "1 token".to_owned(),
        tokens => format!("{} tokens", format_tokens(tokens)),
    }
}

/// Whether there is a file.
pub fn exists(file: &InstructionRow) -> bool {
    file.state != InstructionState::Missing
}

/// What editing a file is called.
pub fn edit_word(file: &InstructionRow) -> &'static str {
    if exists(file) { "edit" } else { "write it" }
}

/// What there is to know of a file beneath the list, by lines.
pub fn details(file: &InstructionRow) -> String {
    match &file.state {
        InstructionState::Sent if file.depth > 0 => {
            "The file above includes this file with @, so slug sends it with every message."
                .to_owned()
        }
        InstructionState::Sent => "slug sends this file with every message.".to_owned(),
        InstructionState::SentAsNote => {
            "slug sent this file as a note when work touched its files.".to_owned()
        }
        InstructionState::ForAPart(reason) | InstructionState::NotSent(reason) => {
            format!("It is {reason}.")
        }
        InstructionState::Missing => match file.group {
            InstructionGroup::User => {
                "slug sends what you write here to the model in every project."
            }
            InstructionGroup::Project => {
                "slug sends what you write here to the model in this project. /init has the model \
                 write the file."
            }
            InstructionGroup::Rules | InstructionGroup::Local | InstructionGroup::Part => {
                "There is no file yet."
            }
        }
        .to_owned(),
    }
}

/// How many go out, and what they take.
pub fn summary(report: &InstructionReport) -> String {
    let sent = report.files.iter().filter(|file| match file.state {
        InstructionState::Sent | InstructionState::SentAsNote => true,
        InstructionState::ForAPart(_)
        | InstructionState::NotSent(_)
        | InstructionState::Missing => false,
    });
    let (mut count, mut tokens) = (0, 0);
    for file in sent {
        count += 1;
        tokens += file.tokens;
    }
    match count {
        0 => "no file sent".to_owned(),
        count => format!("{} sent, about {}", pluralise(count, "file"), pluralise_tokens(tokens)),
    }
}

/// What is wrong, and what is not read.
pub fn warnings(report: &InstructionReport) -> Vec<String> {
    let untrusted = (!report.is_trusted).then(|| NOT_TRUSTED.to_owned());
    untrusted.into_iter().chain(report.warnings.iter().cloned()).collect()
}

/// What an edit has changed, and when the model hears of it.
pub fn after_edit(diff: &FileDiff, file: Option<&InstructionRow>) -> String {
    let name = diff.path.file_name().unwrap_or_default().to_string_lossy();
    if diff.added + diff.removed == 0 {
        return format!("Nothing has changed in {name}.");
    }
    let counts = [(diff.added, "added"), (diff.removed, "removed")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(count, what)| format!("{} {what}", pluralise(count, "line"))).collect();
    let consequence = match file.map(|file| &file.state) {
        Some(InstructionState::Sent | InstructionState::Missing) => {
            "The model gets it with your next message."
        }
        Some(InstructionState::SentAsNote | InstructionState::ForAPart(_)) => {
            "The model gets the change once work touches those files."
        }
        Some(InstructionState::NotSent(_)) | None => "slug still does not send this file.",
    };
    format!("{name}: {}. {consequence}", counts.join(", "))
}

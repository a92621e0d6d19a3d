//! Read of a folder: what is in it, with types and sizes.

use serde_json::json;

use super::{ReadArguments, TOTAL_BYTES, beyond_end};
use crate::disk::IgnoreFiles;
use crate::domain::ToolOutput;
use crate::tools::walk::hidden_note;
use crate::tools::{
    FolderItem, FolderItemKind, ToolContext, ToolError, off_thread, paths, stopped_output,
    truncation,
};

/// The most entries that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The most entries that are shown, unless the call asks for another number.
const SHOWN: u64 = 500;

/// Lists the folder that the call names.
pub(super) async fn list(
    context: &ToolContext,
    wanted: &ReadArguments,
    shown: &str,
) -> Result<ToolOutput, ToolError> {
    let (mut items, more) = context.files.list(&wanted.path, MAX_ENTRIES).await?;
    let all = items.len();
    items.retain(|item| !(context.is_hidden)(&wanted.path.join(&item.name)));
    let hidden = (all - items.len()) as u64;
    let folder = wanted.path.clone();
    // Ignore files are read here.
    let lines = off_thread(&context.cancel, move || {
        let ignore_files = IgnoreFiles::of(&folder);
        items.sort_by(|a, b| (a.is_file(), &a.name).cmp(&(b.is_file(), &b.name)));
        let line = |item: &FolderItem| {
            let is_folder = item.kind == FolderItemKind::Folder;
            let is_ignored =
                item.name == ".git" || ignore_files.leaves_out(&folder.join(&item.name), is_folder);
            line(item, is_ignored)
        };
        items.iter().map(line).collect::<Vec<String>>()
    });
    let Some(lines) = lines.await? else { return Ok(stopped_output()) };
    let total = lines.len() as u64 + more;
    let entries = entry_count(total);
    if lines.is_empty() && hidden == 0 {
        return Ok(ToolOutput::text(format!("{shown} is an empty folder.")).with_summary("empty"));
    }
    if wanted.offset > lines.len() as u64 && !lines.is_empty() {
        return Err(beyond_end(shown, &entries, lines.len() as u64));
    }
    let limit = wanted.limit.unwrap_or(SHOWN);
    let first = usize::try_from(wanted.offset - 1).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let listed: Vec<&str> = lines
        .iter()
        .skip(first)
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .map(String::as_str)
        .take_while(|line| {
            bytes += line.len() + 1;
            bytes <= TOTAL_BYTES
        })
        .collect();
    let mut text = format!("{shown} is a folder with {entries}:\n{}", listed.join("\n"));
    let next = wanted.offset + listed.len() as u64;
    if next <= lines.len() as u64 {
        text.push_str(&format!("\n[Go on with offset={next}, or use Glob.]"));
    } else if more > 0 {
        text.push_str(&format!("\n[{more} more are not shown. Use Glob with a pattern.]"));
    }
    if let Some(note) = hidden_note(hidden) {
        text.push_str(&format!("\n{note}"));
    }
    Ok(ToolOutput::text(text)
        .with_output(json!({"entries": listed, "total": total, "hidden": hidden}))
        .with_summary(entries))
}

impl FolderItem {
    /// Folders come first.
    fn is_file(&self) -> bool {
        self.kind != FolderItemKind::Folder
    }
}

fn entry_count(count: u64) -> String {
    match count {
        1 => String::from("1 entry"),
        count => format!("{count} entries"),
    }
}

fn line(item: &FolderItem, is_ignored: bool) -> String {
    let name = paths::quoted(item.name.as_ref());
    let mut line = match &item.kind {
        FolderItemKind::Folder => format!("{name}/"),
        FolderItemKind::File(size) => format!("{name}  {}", truncation::size(*size)),
        FolderItemKind::Link(target) => format!("{name} -> {}", paths::quoted(target)),
        FolderItemKind::Special => format!("{name}  FIFO, socket or device"),
    };
    if is_ignored {
        line.push_str("  (ignored)");
    }
    line
}

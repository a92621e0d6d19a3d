//! What the model is told of changes that the user took back or brought back while the conversation
//! stayed: once, with the next message.

use std::path::{Path, PathBuf};

use crate::context;
use crate::domain::{ContentBlock, EntryId, pluralise};
use crate::session::{RejectedChanges, RewindEntry, RewindPart};

use super::rewind_plan::CONTEXT;

/// The most files that a sentence names.
const MAX_NAMED: usize = 5;
/// How much of the lines of a change the model is told, in bytes.
const MAX_TEXT: usize = 2_000;

/// The rewinds that the model has not been told of yet.
#[derive(Debug, Default)]
pub(super) struct UntoldRewinds {
    /// Files that went back to an earlier message.
    files: Vec<PathBuf>,
    /// Single changes, each with the record of its rewind and what became of them.
    parts: Vec<(EntryId, RestoredPart, RewindPart)>,
}

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestoredPart {
    TakenBack,
    BroughtBack,
}

impl UntoldRewinds {
    /// Takes note of a rewind or a redo. A redo of what the model has not been told of is as if
    /// nothing had happened.
    pub(super) fn note(&mut self, id: EntryId, rewind: &RewindEntry) {
        if rewind.what.has_conversation() {
            return;
        }
        let Some(part) = &rewind.part else {
            for file in &rewind.files {
                if !self.files.contains(&file.path) {
                    self.files.push(file.path.clone());
                }
            }
            return;
        };
        let untold = self.parts.len();
        self.parts.retain(|(undone, _, _)| rewind.redoes != Some(*undone));
        if self.parts.len() == untold {
            let how = match rewind.redoes {
                Some(_) => RestoredPart::BroughtBack,
                None => RestoredPart::TakenBack,
            };
            self.parts.push((id, how, part.clone()));
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The note for the next message; `None` where there is nothing to tell.
    pub(super) fn block(&self, cwd: &Path) -> Option<ContentBlock> {
        let mut texts = Vec::new();
        if !self.files.is_empty() {
            texts.push(format!(
                "The user took your changes of these files back: {}. Read them again before you \
                 edit them.",
                names(&self.files, cwd)
            ));
        }
        texts.extend(self.parts.iter().map(|(_, how, part)| told(*how, part, cwd)));
        let text = context::escape_context_tags(&texts.join("\n"));
        (!texts.is_empty()).then(|| ContentBlock::Context { name: CONTEXT.into(), text })
    }
}

fn told(how: RestoredPart, part: &RewindPart, cwd: &Path) -> String {
    let head = match (how, &part.call) {
        (RestoredPart::TakenBack, None) => {
            "The user reviewed your changes and rejected these, which are no longer in the files. \
             Do not make them again unless asked. Read the files again before you edit them."
        }
        (RestoredPart::TakenBack, Some(_)) => {
            "The user undid one of your calls: these changes are no longer in the files. Do not \
             make them again unless asked. Read the files again before you edit them."
        }
        (RestoredPart::BroughtBack, _) => {
            "The user brought these changes of yours back into the files. Read the files again \
             before you edit them."
        }
    };
    let mut text = head.to_owned();
    for file in &part.files {
        let RejectedChanges { path, count, total, text: lines } = file;
        let name = path.strip_prefix(cwd).unwrap_or(path).display();
        let which = match count == total {
            true => "all changes".to_owned(),
            false => format!("{count} of {}", pluralise(*total, "change")),
        };
        text.push_str(&format!("\n{name}: {which}\n{lines}"));
    }
    text.trim_end().to_owned()
}

/// The beginning of a text in whole lines, for the model.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let upto = text.floor_char_boundary(MAX_TEXT);
    let end = text[..upto].rfind('\n').map_or(upto, |end| end + 1);
    let more = pluralise(text[end..].lines().count(), "more line");
    format!("{}[{more}]\n", &text[..end])
}

/// The first files for a sentence, and how many more there are.
fn names(paths: &[PathBuf], cwd: &Path) -> String {
    let shown = paths
        .iter()
        .take(MAX_NAMED)
        .map(|path| path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if paths.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", paths.len() - MAX_NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CallId;
    use crate::session::RewindScope;

    fn rewind(call: Option<&str>, redoes: Option<EntryId>) -> RewindEntry {
        let changes = RejectedChanges {
            path: "/w/price.py".into(),
            count: 1,
            total: 3,
            text: "@@ line 4 @@\n-a\n+b\n".into(),
        };
        let part = RewindPart { call: call.map(CallId::new), files: vec![changes] };
        RewindEntry {
            before: EntryId::generate(),
            redoes,
            what: RewindScope::Files,
            part: Some(part),
            files: Vec::new(),
            left: Vec::new(),
            messages: 0,
            summary: None,
        }
    }

    fn text(untold: &UntoldRewinds) -> Option<String> {
        untold.block(Path::new("/w")).map(|block| block.as_context().unwrap().1.to_owned())
    }

    #[test]
    fn the_model_is_told_which_changes_were_rejected() {
        let mut untold = UntoldRewinds::default();
        assert_eq!(text(&untold), None);
        untold.note(EntryId::generate(), &rewind(None, None));
        let told = text(&untold).unwrap();
        assert!(told.contains("rejected these") && told.contains("Do not make them again"));
        assert!(told.ends_with("\nprice.py: 1 of 3 changes\n@@ line 4 @@\n-a\n+b"), "{told}");
        untold.clear();
        assert_eq!(text(&untold), None);
    }

    #[test]
    fn what_comes_back_before_the_model_knows_is_not_told() {
        let mut untold = UntoldRewinds::default();
        let (undone, redone) = (EntryId::generate(), EntryId::generate());
        untold.note(undone, &rewind(Some("c1"), None));
        assert!(text(&untold).unwrap().contains("undid one of your calls"));
        untold.note(redone, &rewind(Some("c1"), Some(undone)));
        assert_eq!(text(&untold), None);
        // Told already: what came back is news.
        untold.note(redone, &rewind(Some("c1"), Some(undone)));
        assert!(text(&untold).unwrap().contains("brought these changes of yours back"));
    }

    #[test]
    fn long_changes_are_cut_at_a_line() {
        let text = "+line of the change\n".repeat(500);
        let cut = bounded(&text);
        assert!(
            cut.len() < MAX_TEXT + 30 && cut.ends_with("+line of the change\n[400 more lines]\n")
        );
    }
}

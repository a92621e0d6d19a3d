//! The note that tells the model what it may do: the mode, the sandbox, whether somebody can answer,
//! and where the scratch folder is. It is sent when it differs from what was last told, so that no
//! refusal comes unannounced. It is a note and no part of the prompt, whose bytes stay the same.

use std::path::Path;

use crate::context;
use crate::domain::{ContentBlock, PermissionMode, SCRATCH_VARIABLE, SandboxSummary};

use super::tool_gate::Interactivity;

/// The name of the note.
pub(super) const MODE_NOTE: &str = "mode";

/// What plan mode is where a user can agree to the plan.
const PLAN_WITH_USER: &str = "change nothing; only commands that read are run. Send a plan (files, steps, \
     risks, how to verify it) for the user's approval with Call: tool ExitPlanMode, input {\"plan\": \"…\"}";
/// What plan mode is where nobody can.
const PLAN_ALONE: &str = "change nothing; only commands that read are run. End with a plan: the files, \
     the steps, the risks, and how to verify it";

/// The most rules that the note names.
const MAX_RULES: usize = 12;

/// What the note is about.
#[derive(Debug)]
pub(super) struct ModeNote<'a> {
    pub(super) mode: PermissionMode,
    pub(super) interactivity: Interactivity,
    /// The sandbox that commands run in, whatever the mode is.
    pub(super) sandbox: Option<&'a SandboxSummary>,
    pub(super) scratch: Option<&'a Path>,
    /// The rules that allow commands.
    pub(super) command_rules: Vec<String>,
}

impl ModeNote<'_> {
    /// The note as the model gets it.
    pub(super) fn block(&self) -> ContentBlock {
        let scratch = self.scratch.map(|path| {
            let use_of_it = match self.mode {
                PermissionMode::Plan => "only to read in this mode",
                PermissionMode::Ask
                | PermissionMode::AllowEdits
                | PermissionMode::Sandbox
                | PermissionMode::Yolo => "for files of your own, without a question",
            };
            format!(
                "scratch folder: {}, ${SCRATCH_VARIABLE} in commands; {use_of_it}",
                path.display()
            )
        });
        let parts = [Some(self.meaning()), self.sandbox_line(), self.headless_line(), scratch];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let text = context::escape_context_tags(&text);
        ContentBlock::Context { name: MODE_NOTE.into(), text }
    }

    fn meaning(&self) -> String {
        let meaning = match self.mode {
            PermissionMode::Ask => {
                "reading in the working folder needs no question; all else is asked about"
            }
            PermissionMode::AllowEdits => {
                "reading and edits in the working folder need no question; all else is asked about"
            }
            PermissionMode::Plan => match self.interactivity {
                Interactivity::Interactive => PLAN_WITH_USER,
                Interactivity::Headless => PLAN_ALONE,
            },
            PermissionMode::Sandbox => "commands run in a sandbox, without a question",
            PermissionMode::Yolo => "almost nothing is asked about",
        };
        format!("{}: {meaning}", self.mode)
    }

    fn sandbox_line(&self) -> Option<String> {
        let sandbox = self.sandbox?;
        let scratch = if self.scratch.is_some() { " and the scratch folder" } else { "" };
        Some(format!(
            "sandbox: commands can change {}{scratch} and nothing else; {}",
            sandbox.dir.display(),
            sandbox.network_phrase()
        ))
    }

    fn headless_line(&self) -> Option<String> {
        if self.interactivity == Interactivity::Interactive {
            return None;
        }
        let runs = match self.mode {
            PermissionMode::Plan => String::new(),
            PermissionMode::Ask | PermissionMode::AllowEdits => {
                let scratch =
                    if self.scratch.is_some() { " or work in the scratch folder" } else { "" };
                format!(" Commands that are run: those that only read{scratch}{}.", self.allowed())
            }
            PermissionMode::Sandbox | PermissionMode::Yolo => {
                " Commands are run without approval.".to_owned()
            }
        };
        Some(format!(
            "Nobody can answer: what would be asked about is refused.{runs} Decide yourself, and \
             name your assumptions at the end."
        ))
    }

    fn allowed(&self) -> String {
        if self.command_rules.is_empty() {
            return String::new();
        }
        let named: Vec<&str> =
            self.command_rules.iter().take(MAX_RULES).map(String::as_str).collect();
        let more = match self.command_rules.len().saturating_sub(MAX_RULES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(", and what these rules allow: {}{more}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{SandboxBackendKind, SandboxNetwork, ScanExtent};

    fn note(mode: PermissionMode) -> ModeNote<'static> {
        ModeNote {
            mode,
            interactivity: Interactivity::Interactive,
            sandbox: None,
            scratch: Some(Path::new("/tmp/slug-7/s1")),
            command_rules: Vec::new(),
        }
    }

    fn text(note: &ModeNote<'_>) -> String {
        let ContentBlock::Context { name, text } = note.block() else { panic!("no note") };
        assert_eq!(name, MODE_NOTE);
        text
    }

    #[test]
    fn each_mode_says_what_runs_and_names_the_scratch_folder() {
        let free =
            "scratch folder: /tmp/slug-7/s1, $SLUG_SCRATCH in commands; for files of your own";
        for (mode, begins, scratch) in [
            (PermissionMode::Ask, "ask: reading in the working folder needs no question", free),
            (PermissionMode::AllowEdits, "allow-edits: reading and edits in the", free),
            (PermissionMode::Plan, "plan: change nothing;", "commands; only to read in this mode"),
            (PermissionMode::Sandbox, "sandbox: commands run in a sandbox", free),
            (PermissionMode::Yolo, "yolo: almost nothing is asked about", free),
        ] {
            let text = text(&note(mode));
            assert!(text.starts_with(begins) && text.contains(scratch), "{text}");
            assert!(!text.contains("Nobody can answer") && text.len() < 300, "{text}");
        }
        let without = text(&ModeNote { scratch: None, ..note(PermissionMode::Ask) });
        assert!(!without.contains("scratch"), "{without}");
    }

    #[test]
    fn without_a_user_the_note_says_which_commands_run() {
        let headless = |mode, rules: &[&str]| {
            text(&ModeNote {
                interactivity: Interactivity::Headless,
                command_rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
                ..note(mode)
            })
        };
        let told = headless(PermissionMode::AllowEdits, &["Bash(cargo *)", "Bash(npm test)"]);
        let rules = "those that only read or work in the scratch folder, and what these rules \
                     allow: Bash(cargo *), Bash(npm test). Decide yourself, and name your \
                     assumptions";
        assert!(told.contains("Nobody can answer") && told.contains(rules), "{told}");
        let many = headless(PermissionMode::Ask, &["Bash(x)"; 20]);
        assert!(many.contains("Bash(x) and 8 more."), "{many}");
        assert!(!headless(PermissionMode::Plan, &[]).contains("Commands that are run"));
        assert!(
            headless(PermissionMode::Yolo, &["Bash(x)"])
                .contains("Commands are run without approval.")
        );
    }

    #[test]
    fn the_sandbox_is_named_in_every_mode() {
        let sandbox = SandboxSummary {
            backend: SandboxBackendKind::Bubblewrap,
            dir: "/w".into(),
            network: SandboxNetwork::Off,
            extent: ScanExtent::Whole,
        };
        for mode in [PermissionMode::Sandbox, PermissionMode::Ask] {
            let told = text(&ModeNote { sandbox: Some(&sandbox), ..note(mode) });
            let line = "sandbox: commands can change /w and the scratch folder and nothing else; \
                        no network";
            assert!(told.contains(line), "{told}");
        }
    }
}

//! Skills as the model loads them: their text, once, with what they allow for the turn.
//!
//! What a skill wants allowed counts only where the file is the user's own, or the user has seen the list
//! in the question about trust and said yes to just this content. A deny rule holds in any case.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::context::escape_context_tags;
use crate::domain::{ContentBlock, NoticeLevel};
use crate::permissions::Workspace;
use crate::skills::{
    PromptFile, PromptFileOrigin, PromptLibrary, PromptPiece, PromptVariables, expand,
    skill_resources,
};
use crate::tools::{LoadedSkill, SkillSource};
use crate::trust::TrustStore;

use super::event_queue::AgentEventSender;
use super::permission_state::PermissionState;

/// How the context notes with the text of a skill are named, before the skill's own name.
pub(super) const SKILL_NOTE: &str = "skill:";

/// The most names in the answer to a name that no skill has.
const MAX_NAMED: usize = 60;

/// Whether commands of a text can be run now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptTiming {
    BetweenTurns,
    /// A turn runs, which the message joins.
    InTurn,
}

/// The skills of an agent, shared with the calls that run.
pub(super) struct SessionSkills {
    permissions: Arc<PermissionState>,
    workspace: Arc<Workspace>,
    events: AgentEventSender,
    inner: Mutex<SkillsInForce>,
}

#[derive(Default)]
struct SkillsInForce {
    library: Arc<PromptLibrary>,
    /// The notes of skills that the conversation has, by their names.
    loaded: BTreeMap<String, String>,
    session: String,
}

impl SessionSkills {
    pub(super) fn new(
        permissions: Arc<PermissionState>,
        workspace: Arc<Workspace>,
        events: AgentEventSender,
    ) -> Self {
        Self { permissions, workspace, events, inner: Mutex::default() }
    }

    pub(super) fn library(&self) -> Arc<PromptLibrary> {
        self.lock().library.clone()
    }

    pub(super) fn set_library(&self, library: Arc<PromptLibrary>) {
        self.lock().library = library;
    }

    /// Takes over which skills the conversation has.
    pub(super) fn set_loaded(&self, session: String, contexts: &BTreeMap<String, String>) {
        let of_skills = contexts.iter().filter(|(name, _)| name.starts_with(SKILL_NOTE));
        let mut inner = self.lock();
        inner.loaded = of_skills.map(|(name, text)| (name.clone(), text.clone())).collect();
        inner.session = session;
    }

    /// Notes that the conversation has this note, too; `false` where it has just this already.
    pub(super) fn add_loaded(&self, note: &ContentBlock) -> bool {
        let Some((name, text)) = note.as_context() else { return false };
        let before = self.lock().loaded.insert(name.to_owned(), text.to_owned());
        before.is_none_or(|before| before != text)
    }

    /// What placeholders besides the arguments stand for.
    pub(super) fn variables(&self, file: &PromptFile) -> PromptVariables {
        PromptVariables {
            skill_folder: file.folder().map_or_else(String::new, |it| it.display().to_string()),
            project_folder: self.workspace.root().display().to_string(),
            session: self.lock().session.clone(),
        }
    }

    /// Allows for this turn what a file wants allowed, where it may want that, and says so.
    pub(super) fn allow(&self, file: &PromptFile) {
        if file.allowed_tools.is_empty() {
            return;
        }
        let (name, wanted) = (&file.name, file.allowed_tools.join(", "));
        if !self.is_accepted(file) {
            let text = format!(
                "{name} wants these allowed: {wanted}. That is ignored, since you have not said yes to \
                 it in the question about this folder. slug asks as ever."
            );
            return self.events.notice(NoticeLevel::Warning, text);
        }
        let mut allowed = Vec::new();
        for rule in &file.allowed_tools {
            match self.permissions.allow_for_turn(rule) {
                Ok(()) => allowed.push(rule.as_str()),
                Err(error) => self.events.notice(NoticeLevel::Warning, format!("{name}: {error}")),
            }
        }
        if !allowed.is_empty() {
            let text = format!("Until this turn ends, {name} allows: {}.", allowed.join(", "));
            self.events.notice(NoticeLevel::Info, text);
        }
    }

    fn is_accepted(&self, file: &PromptFile) -> bool {
        match file.origin {
            PromptFileOrigin::User | PromptFileOrigin::Shipped => true,
            PromptFileOrigin::Project => {
                let root = self.workspace.root();
                let Ok(inside) = file.path.strip_prefix(root) else { return false };
                let store = TrustStore::open(self.workspace.slug_home(), self.workspace.home());
                store.is_ok_and(|store| store.covered(root).get(inside) == Some(&file.hash))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SkillsInForce> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SkillSource for SessionSkills {
    async fn load(&self, name: &str, arguments: &str) -> Result<LoadedSkill, String> {
        let library = self.library();
        let Some(skill) = library.skill(name).cloned() else {
            let mut names: Vec<&str> = Vec::new();
            for file in library.files().filter(|file| file.is_for_model) {
                if !names.contains(&file.name.as_str()) {
                    names.push(&file.name);
                }
            }
            names.truncate(MAX_NAMED);
            return Err(format!("There is no skill {name:?}, but {}.", names.join(", ")));
        };
        if !skill.is_for_model {
            return Err(format!(
                "Only the user may load {name}: it says `disable-model-invocation`. Go on without it."
            ));
        }
        let pieces = expand(&skill, arguments, &self.variables(&skill));
        let text = pieces.iter().map(as_written).collect::<String>();
        let ran = pieces.iter().any(|piece| matches!(piece, PromptPiece::Command(_)));
        let ran = if ran {
            "\n\nNo command written as !`…` was run: run those that you need."
        } else {
            ""
        };
        let note = skill_note(&skill, &format!("{text}{ran}"));
        if !self.add_loaded(&note) {
            return Ok(LoadedSkill::AlreadyThere);
        }
        self.allow(&skill);
        Ok(LoadedSkill::Text { note, tokens: skill.tokens() })
    }
}

/// The note with the text of a skill, and where its other files are. It is the same whoever loads it.
pub(super) fn skill_note(skill: &PromptFile, text: &str) -> ContentBlock {
    let place = match skill.folder() {
        Some(folder) => format!(" of {}. {}", folder.display(), resources(folder)),
        None => ". ".to_owned(),
    };
    let text = format!("The skill {}{place}Do what it says:\n\n{text}", skill.name);
    let name = format!("{SKILL_NOTE}{}", skill.name);
    ContentBlock::Context { name, text: escape_context_tags(&text) }
}

/// The other files of a skill, by their names alone.
fn resources(folder: &Path) -> String {
    let (names, more) = skill_resources(folder);
    match names.len() {
        0 => String::new(),
        _ => {
            let more = if more { ", and others" } else { "" };
            format!("Files beside it, which you may read: {}{more}. ", names.join(", "))
        }
    }
}

/// A piece as it stands in its file: nothing was run or read.
fn as_written(piece: &PromptPiece) -> String {
    match piece {
        PromptPiece::Text(text) => text.clone(),
        PromptPiece::Command(command) => format!("!`{command}`"),
        PromptPiece::File(path) => format!("@{path}"),
    }
}

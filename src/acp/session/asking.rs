//! The questions of a session that are open in the editor: asked, and withdrawn once slug needs no answer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, SessionUpdate};
use tokio::task::AbortHandle;

use crate::agent::AgentCommand;
use crate::disk;
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalRequest, QuestionRequest};

use super::super::events::fenced;
use super::super::tool_calls::text;
use super::super::{approval, questions};
use super::{EditorSession, SessionWork};

/// The largest file whose text is shown in a question, in bytes.
const LARGEST_SHOWN: u64 = 1 << 20;

/// A question that is open in the editor.
pub(super) struct EditorQuestion {
    waiting: AbortHandle,
    /// The request that is open now.
    request: Arc<Mutex<Option<i64>>>,
}

impl EditorSession {
    pub(super) async fn ask_approval(&mut self, request: &ApprovalRequest) {
        let old = match &request.preview {
            Some(preview) => self.text_of(preview.path.clone()).await,
            None => None,
        };
        let (updates, asked) = approval::ask(&mut self.mapper, &self.id, request, old);
        self.tell(updates).await;
        let id = request.id;
        let Some(asked) = asked else {
            let answer = ApprovalAnswer::Deny { instruction: None };
            return self.command(AgentCommand::Answer { id, answer }).await;
        };
        let method = CLIENT_METHOD_NAMES.session_request_permission;
        let sent = self.editor.request(method, asked.request).await;
        let request = Arc::new(Mutex::new(Some(sent.id())));
        let waiting = self.work.spawn(async move {
            let reply = sent.answer().await;
            SessionWork::Approved(id, approval::answer(reply, &asked.answers))
        });
        self.questions.insert(id, EditorQuestion { waiting, request });
    }

    /// The text on disk of a file that is about to be changed.
    async fn text_of(&self, path: PathBuf) -> Option<String> {
        let read = move || disk::read_text(&path, LARGEST_SHOWN).ok().flatten();
        let text = tokio::task::spawn_blocking(read).await.ok().flatten();
        text.filter(|text| (text.len() as u64) < LARGEST_SHOWN)
    }

    pub(super) async fn ask_questions(&mut self, request: &QuestionRequest) {
        let QuestionRequest { id, call, questions: asked, .. } = request;
        let mut updates = Vec::new();
        if self.mapper.calls.get(call).is_none() {
            updates.extend(self.mapper.announce_unknown(call, "Question"));
        }
        let Some(open) = self.mapper.calls.get(call) else { return };
        let has_document = asked.iter().any(|question| question.document.is_some());
        let shown = asked.iter().flat_map(|question| {
            let previews = question.options.iter().filter_map(|option| option.preview.clone());
            let previews = previews.map(|preview| fenced(&preview));
            let words = [question.question.clone()].into_iter().chain(question.document.clone());
            words.chain(previews).map(text).collect::<Vec<_>>()
        });
        let fields = open.looks_now().content(open.content(shown.collect()));
        let update = open.update(fields);
        updates.push(SessionUpdate::ToolCallUpdate(update.clone()));
        self.tell(updates).await;
        let (editor, session, id, asked) =
            (self.editor.clone(), self.id.clone(), *id, asked.clone());
        let is_form = self.mapper.features.has_forms && !has_document;
        let request = Arc::new(Mutex::new(None));
        let open = request.clone();
        let waiting = self.work.spawn(async move {
            let note = |sent: i64| *lock(&open) = Some(sent);
            if is_form {
                let form = questions::form(&session, &update, &asked);
                let sent = editor.request(questions::form_method(), form).await;
                note(sent.id());
                let answers = questions::form_answers(sent.answer().await, &asked);
                return SessionWork::Answered(id, answers);
            }
            let mut answers = Vec::new();
            for question in &asked {
                let choice = questions::choice(&session, update.clone(), question);
                let method = CLIENT_METHOD_NAMES.session_request_permission;
                let sent = editor.request(method, choice).await;
                note(sent.id());
                let Some(answer) = questions::choice_answer(sent.answer().await, question) else {
                    break;
                };
                answers.push(answer);
            }
            SessionWork::Answered(id, answers)
        });
        self.questions.insert(id, EditorQuestion { waiting, request });
    }

    /// Closes a question in the editor that slug no longer needs an answer to.
    pub(super) async fn withdraw(&mut self, id: ApprovalId) {
        let Some(open) = self.questions.remove(&id) else { return };
        let request = lock(&open.request).take();
        open.waiting.abort();
        if let Some(request) = request {
            self.editor.withdraw(request).await;
        }
    }

    pub(super) async fn withdraw_all(&mut self) {
        let open: Vec<ApprovalId> = self.questions.keys().copied().collect();
        for id in open {
            self.withdraw(id).await;
        }
    }
}

fn lock(open: &Mutex<Option<i64>>) -> MutexGuard<'_, Option<i64>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

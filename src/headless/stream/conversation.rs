//! A conversation over lines: what each event of the agent and each line of a script leads to. No I/O and no
//! clock: what has to happen is a [`ConversationStep`].
//!
//! Between the agent and the gate nothing changes here: an answer goes to the call that asked, and a mode is
//! one of those that this conversation may be in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::agent::{
    AddressedCommand, AddressedEvent, AgentCommand, AgentEvent, InitialSession, SteerId,
};
use crate::cli::{CliExitStatus, OutputFormat};
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, CallInput, NoticeLevel,
    PermissionMode, QuestionAnswer, QuestionRequest, ToolCall, UserInput,
};
use crate::session::{LogEntry, LogRecord};

use super::super::output_line::{ApprovalLine, MessageDelivery, OutputLine, QuestionsLine};
use super::super::report::{HeadlessReport, ReportLines, ReportStream};
use super::super::run_facts::{RunEnd, RunFacts};
use super::input_line::{InputAnswer, RememberedFor};
use super::record_lines::{in_force, is_response, user_line};

/// How many messages may wait for their turn.
const MOST_WAITING: usize = 100;

/// What a line of a client asks for, once its images are stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientRequest {
    Say(UserInput, MessageDelivery),
    Approve {
        id: ApprovalId,
        allow: bool,
        remember: Option<RememberedFor>,
        message: Option<String>,
    },
    Answer {
        id: ApprovalId,
        answers: Vec<InputAnswer>,
    },
    Interrupt,
    SetMode(PermissionMode),
    End,
}

/// What has to happen.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConversationStep {
    /// A line for all clients.
    Line(String),
    /// A text for standard error.
    Complain(String),
    Command(AddressedCommand),
    /// The running turn is to stop.
    Stop,
    /// A turn is over: [`ScriptConversation::end_turn`] needs to know what else is known then.
    TurnEnded,
    /// The session that was asked for cannot be opened.
    Failed(String),
}

/// Which session is to be open before anything is sent, and which modes the conversation may be in.
#[derive(Debug, Clone)]
pub struct ConversationLimits {
    pub opening: InitialSession,
    /// The mode at the start. Only what began in yolo can be set to yolo.
    pub mode: PermissionMode,
    pub has_sandbox: bool,
}

/// What a new client gets first.
pub(super) struct ConversationSoFar {
    pub(super) session: String,
    pub(super) records: Vec<Arc<LogRecord>>,
    /// What is in no record: how things stand, the response that streams, and the open questions.
    pub(super) now: Vec<String>,
}

pub(super) struct ScriptConversation {
    agent: AgentId,
    report: HeadlessReport,
    limits: ConversationLimits,
    mode: Option<PermissionMode>,
    opened: OpeningState,
    waiting: VecDeque<UserInput>,
    steering: BTreeMap<SteerId, UserInput>,
    last_steer: u64,
    is_running: bool,
    /// A message was sent and is not in the conversation yet.
    is_sent: bool,
    has_had_turn: bool,
    is_ending: bool,
    questions: BTreeMap<ApprovalId, AskedQuestion>,
    records: Vec<Arc<LogRecord>>,
    /// What has streamed of the response.
    streamed: Vec<OutputLine>,
}

/// Whether the session is open that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpeningState {
    Waiting,
    /// A session is open, but it is not the one that was asked for: a notice says why.
    Other,
    Open,
}

/// A question with the agent that asks.
enum AskedQuestion {
    Approval(AgentId, Box<ApprovalRequest>),
    Questions(AgentId, Box<QuestionRequest>),
}

type ConversationSteps = Vec<ConversationStep>;

impl ScriptConversation {
    pub(super) fn new(agent: AgentId, facts: RunFacts, limits: ConversationLimits) -> Self {
        Self {
            agent,
            report: HeadlessReport::new(OutputFormat::StreamJson, facts),
            limits,
            mode: None,
            opened: OpeningState::Waiting,
            waiting: VecDeque::new(),
            steering: BTreeMap::new(),
            last_steer: 0,
            is_running: false,
            is_sent: false,
            has_had_turn: false,
            is_ending: false,
            questions: BTreeMap::new(),
            records: Vec::new(),
            streamed: Vec::new(),
        }
    }

    /// Whether messages can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.opened == OpeningState::Open
    }

    /// Whether a turn runs or is about to.
    pub(super) fn is_busy(&self) -> bool {
        self.is_running || self.is_sent
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether it was asked to end and has nothing left to do.
    pub(super) fn is_finished(&self) -> bool {
        self.is_ending && self.is_open() && !self.is_busy() && self.waiting.is_empty()
    }

    /// The status of the last turn; without one, that all went well.
    pub(super) fn exit(&self) -> CliExitStatus {
        match self.has_had_turn || self.report.is_out_of_time() {
            true => self.report.exit(),
            false => CliExitStatus::Answered,
        }
    }

    /// The records of the files that the turn has changed.
    pub(super) fn changes(&self) -> impl Iterator<Item = &LogRecord> {
        self.report.changes()
    }

    /// Ends without what waits: the time is up, or slug has to end.
    pub(super) fn stop(&mut self, is_out_of_time: bool) -> ConversationSteps {
        if is_out_of_time {
            self.report.stop_for_time();
        }
        self.waiting.clear();
        self.end()
    }

    /// Takes what a client asks for.
    ///
    /// # Errors
    ///
    /// Why it is not done, as a sentence for that client.
    pub(super) fn request(&mut self, asked: ClientRequest) -> Result<ConversationSteps, String> {
        match asked {
            ClientRequest::Say(input, delivery) => self.say(input, delivery),
            ClientRequest::Approve { id, allow, remember, message } => {
                self.approve(id, allow, remember, message)
            }
            ClientRequest::Answer { id, answers } => self.answer(id, answers),
            ClientRequest::Interrupt if !self.is_busy() => {
                Err("No turn is running that could be stopped.".to_owned())
            }
            ClientRequest::Interrupt => Ok(vec![ConversationStep::Stop]),
            ClientRequest::SetMode(mode) => self.set_mode(mode),
            ClientRequest::End => Ok(self.end()),
        }
    }

    /// Sends a message, or keeps it until its turn.
    pub(super) fn say(
        &mut self,
        input: UserInput,
        delivery: MessageDelivery,
    ) -> Result<ConversationSteps, String> {
        if self.is_ending {
            return Err("The session is ending and takes no more messages.".to_owned());
        }
        if !self.is_busy() && self.waiting.is_empty() {
            return Ok(self.send(input));
        }
        if self.waiting.len() + self.steering.len() >= MOST_WAITING {
            return Err(format!("{MOST_WAITING} messages wait. Wait for the end of a turn."));
        }
        let line = OutputLine::Waiting { delivery, text: input.text.clone() };
        let mut steps = self.lines([line]);
        match delivery {
            // Only a turn that runs takes one; one that is about to begin has not heard of it.
            MessageDelivery::Steer if self.is_running => {
                self.last_steer += 1;
                let id = SteerId(self.last_steer);
                self.steering.insert(id, input.clone());
                steps.push(self.command(AgentCommand::Steer { id, text: input }));
            }
            MessageDelivery::Steer | MessageDelivery::Queue => self.waiting.push_back(input),
        }
        Ok(steps)
    }

    /// Takes an event of the agent, or of one that a call of its has started.
    pub(super) fn event(&mut self, addressed: &AddressedEvent) -> ConversationSteps {
        let AddressedEvent { agent, event } = addressed;
        let mut steps = self.questions_of(*agent, event);
        if *agent != self.agent {
            return steps;
        }
        if let AgentEvent::Notice { level: NoticeLevel::Error, text } = event
            && self.opened == OpeningState::Other
        {
            return vec![ConversationStep::Failed(text.clone())];
        }
        steps.extend(self.before_report(event));
        steps.extend(told(self.report.take(event)));
        steps.extend(self.after_report(event));
        steps
    }

    /// Everything for a client that has just come.
    pub(super) fn so_far(&self) -> ConversationSoFar {
        let state = OutputLine::State {
            running: self.is_busy(),
            waiting: self.waiting.len() + self.steering.len(),
            mode: self.mode,
        };
        let asked = self.questions.values().map(|question| question.line(self.agent).text());
        let streamed = self.streamed.iter().map(OutputLine::text);
        ConversationSoFar {
            session: self.report.session_line().text(),
            records: self.records.clone(),
            now: [state.text()].into_iter().chain(streamed).chain(asked).collect(),
        }
    }

    /// The first line, for a conversation in which something else is told before the model is known.
    pub(super) fn begin_lines(&mut self) -> ConversationSteps {
        told(self.report.release_waiting())
    }

    /// The result of the turn that is over, and what follows it.
    pub(super) fn end_turn(&mut self, end: &RunEnd) -> ConversationSteps {
        let mut steps = told(self.report.finish_turn(end));
        if let Some(next) = self.waiting.pop_front() {
            steps.extend(self.send(next));
        }
        steps
    }

    fn send(&mut self, text: UserInput) -> ConversationSteps {
        self.report.begin_turn();
        (self.is_sent, self.has_had_turn) = (true, true);
        vec![self.command(AgentCommand::Send { text })]
    }

    /// Ends after what runs and waits. Open questions are refused, since nobody will answer.
    pub(super) fn end(&mut self) -> ConversationSteps {
        self.is_ending = true;
        let open: Vec<ApprovalId> = self.questions.keys().copied().collect();
        open.into_iter().flat_map(|id| self.refuse(id)).collect()
    }

    fn refuse(&mut self, id: ApprovalId) -> ConversationSteps {
        let Some(open) = self.questions.remove(&id) else { return Vec::new() };
        let mut steps = self.lines([OutputLine::QuestionClosed { id }]);
        match open {
            AskedQuestion::Approval(agent, request) => {
                let input = CallInput::Valid(request.input);
                let call = ToolCall { id: request.call, name: request.tool, input };
                if request.kind != ApprovalKind::Budget {
                    steps.extend(told(self.report.refuse(call, NOBODY.to_owned())));
                }
                let answer = ApprovalAnswer::Deny { instruction: Some(GO_ON.to_owned()) };
                let command = AgentCommand::Answer { id, answer };
                steps.push(ConversationStep::Command(command.to(agent)));
            }
            AskedQuestion::Questions(agent, _) => {
                let command = AgentCommand::AnswerQuestions { id, answers: Vec::new() };
                steps.push(ConversationStep::Command(command.to(agent)));
            }
        }
        steps
    }

    fn approve(
        &mut self,
        id: ApprovalId,
        allow: bool,
        remember: Option<RememberedFor>,
        message: Option<String>,
    ) -> Result<ConversationSteps, String> {
        let Some(AskedQuestion::Approval(agent, request)) = self.questions.get(&id) else {
            return Err(format!("No call waits for an approval with the id {}.", id.0));
        };
        let answer = match (allow, remember) {
            (true, _) if message.is_some() => {
                return Err(
                    "`message` is only for `\"allow\": false`. Leave out `message`, or send it as \
                     a `user` line."
                        .to_owned(),
                );
            }
            (false, Some(_)) => {
                return Err(
                    "`remember` is only for `\"allow\": true`. To deny always, add a deny rule to \
                     a settings file."
                        .to_owned(),
                );
            }
            (true, None) => ApprovalAnswer::Once,
            (false, None) => ApprovalAnswer::Deny { instruction: message },
            (true, Some(how)) => remembered(request, how)?,
        };
        let command = AgentCommand::Answer { id, answer }.to(*agent);
        Ok(self.answered(id, command))
    }

    fn answer(
        &mut self,
        id: ApprovalId,
        answers: Vec<InputAnswer>,
    ) -> Result<ConversationSteps, String> {
        let Some(AskedQuestion::Questions(agent, request)) = self.questions.get(&id) else {
            return Err(format!("No questions with the id {} wait for answers.", id.0));
        };
        let answers: Vec<QuestionAnswer> = answers.into_iter().map(QuestionAnswer::from).collect();
        if answers.len() > request.questions.len() {
            return Err("There are more answers than questions.".to_owned());
        }
        for (answer, question) in answers.iter().zip(&request.questions) {
            if let Some(at) = answer.chosen.iter().find(|at| **at >= question.options.len()) {
                return Err(format!("No option has the index {at}; the first has 0."));
            }
            if answer.chosen.len() > 1 && !question.allows_several {
                return Err("Only one option can be chosen.".to_owned());
            }
        }
        let command = AgentCommand::AnswerQuestions { id, answers }.to(*agent);
        Ok(self.answered(id, command))
    }

    fn answered(&mut self, id: ApprovalId, command: AddressedCommand) -> ConversationSteps {
        self.questions.remove(&id);
        let mut steps = self.lines([OutputLine::QuestionClosed { id }]);
        steps.push(ConversationStep::Command(command));
        steps
    }

    fn set_mode(&mut self, mode: PermissionMode) -> Result<ConversationSteps, String> {
        let ConversationLimits { mode: first, has_sandbox, .. } = self.limits;
        let is_possible = match mode {
            PermissionMode::Ask | PermissionMode::AllowEdits | PermissionMode::Plan => true,
            PermissionMode::Sandbox => has_sandbox || first == mode,
            PermissionMode::Yolo => first == mode,
        };
        match is_possible {
            true => Ok(vec![self.command(AgentCommand::SetMode(mode))]),
            false => Err(format!(
                "The mode {mode} is available only if slug was started in it. Restart slug in that \
                 mode, or choose another."
            )),
        }
    }

    /// Follows the questions of all agents.
    fn questions_of(&mut self, agent: AgentId, event: &AgentEvent) -> ConversationSteps {
        let (id, open) = if let AgentEvent::ApprovalAsked(request) = event {
            (request.id, AskedQuestion::Approval(agent, request.clone()))
        } else if let AgentEvent::QuestionsAsked(request) = event {
            (request.id, AskedQuestion::Questions(agent, request.clone()))
        } else if let AgentEvent::ApprovalWithdrawn(id) = event {
            return match self.questions.remove(id) {
                Some(_) => self.lines([OutputLine::QuestionClosed { id: *id }]),
                None => Vec::new(),
            };
        } else {
            return Vec::new();
        };
        let mut steps = self.lines([open.line(self.agent)]);
        self.questions.insert(id, open);
        if self.is_ending {
            steps.extend(self.refuse(id));
        }
        steps
    }

    fn before_report(&mut self, event: &AgentEvent) -> ConversationSteps {
        if let AgentEvent::TurnStarted { turn } = event {
            if self.report.is_over() {
                self.report.begin_turn();
            }
            (self.is_running, self.has_had_turn) = (true, true);
            return self.lines([OutputLine::Turn { turn: *turn }]);
        }
        if let AgentEvent::Recorded(record) = event {
            self.records.push(record.clone());
            if let Some(line) = user_line(record) {
                self.is_sent = false;
                return self.lines([line]);
            }
        }
        Vec::new()
    }

    fn after_report(&mut self, event: &AgentEvent) -> ConversationSteps {
        let delta = if let AgentEvent::Text { text, .. } = event {
            OutputLine::Text { text: text.clone() }
        } else if let AgentEvent::Thinking { text, .. } = event {
            OutputLine::Thinking { text: text.clone() }
        } else if let AgentEvent::ToolProgress { call, text, .. } = event {
            return self
                .lines([OutputLine::ToolOutput { tool_use_id: call.clone(), text: text.clone() }]);
        } else {
            return self.state_changed(event);
        };
        self.keep_streamed(&delta);
        self.lines([delta])
    }

    fn keep_streamed(&mut self, delta: &OutputLine) {
        let last = self.streamed.last_mut();
        if let (Some(OutputLine::Text { text }), OutputLine::Text { text: more })
        | (Some(OutputLine::Thinking { text }), OutputLine::Thinking { text: more }) =
            (last, delta)
        {
            text.push_str(more);
        } else {
            self.streamed.push(delta.clone());
        }
    }

    fn state_changed(&mut self, event: &AgentEvent) -> ConversationSteps {
        if let AgentEvent::SessionOpened { session, records } = event {
            self.opened = match self.limits.opening {
                InitialSession::New => OpeningState::Open,
                InitialSession::Resume(wanted) if wanted == *session => OpeningState::Open,
                // That it is a fork is told next.
                InitialSession::Resume(_) | InitialSession::Fork(_) => OpeningState::Other,
            };
            self.records = in_force(records.iter().cloned().map(Arc::new).collect());
        } else if let AgentEvent::SessionRead { earlier, .. } = event {
            let earlier = earlier.iter().cloned().map(Arc::new);
            self.records = in_force(earlier.chain(self.records.drain(..)).collect());
        } else if let AgentEvent::Forked { .. } = event {
            self.opened = OpeningState::Open;
        } else if let AgentEvent::ModeChanged(mode) = event {
            let is_news = self.mode.replace(*mode).is_some_and(|before| before != *mode);
            return match is_news {
                true => self.lines([OutputLine::Mode { mode: *mode }]),
                false => Vec::new(),
            };
        } else if let AgentEvent::ResponseDropped { reason, .. } = event {
            self.streamed.clear();
            return self.lines([OutputLine::Dropped { reason: reason.clone() }]);
        } else if let AgentEvent::SteerSettled { id, returned: None } = event {
            self.steering.remove(id);
        } else if let AgentEvent::MessageReturned(_) = event {
            self.is_sent = false;
        } else if let AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) = event {
            return self.recorded(record, matches!(event, AgentEvent::NotRecorded(_)));
        }
        Vec::new()
    }

    fn recorded(&mut self, record: &LogRecord, is_lost: bool) -> ConversationSteps {
        if is_response(record) {
            self.streamed.clear();
        }
        let LogEntry::TurnEnd(_) = &record.entry else { return Vec::new() };
        self.streamed.clear();
        self.is_running = false;
        // A turn of slug's own may have run before the message that was sent.
        if is_lost {
            self.is_sent = false;
        }
        // What came too late for the turn comes before what waits for the next.
        for input in std::mem::take(&mut self.steering).into_values().rev() {
            self.waiting.push_front(input);
        }
        vec![ConversationStep::TurnEnded]
    }

    fn command(&self, command: AgentCommand) -> ConversationStep {
        ConversationStep::Command(command.to(self.agent))
    }

    /// Lines of the conversation itself, behind the first one.
    fn lines(&mut self, lines: impl IntoIterator<Item = OutputLine>) -> ConversationSteps {
        let mut steps = self.begin_lines();
        steps.extend(lines.into_iter().map(|line| ConversationStep::Line(line.text())));
        steps
    }
}

impl AskedQuestion {
    /// The line that asks it; `main` is the agent of the conversation itself.
    fn line(&self, main: AgentId) -> OutputLine {
        let named = |agent: &AgentId| (*agent != main).then_some(*agent);
        match self {
            Self::Approval(agent, request) => OutputLine::ApprovalAsked(Box::new(ApprovalLine {
                agent: named(agent),
                warnings: request.lookalikes(),
                request: (**request).clone(),
            })),
            Self::Questions(agent, request) => {
                OutputLine::QuestionsAsked(Box::new(QuestionsLine {
                    agent: named(agent),
                    request: (**request).clone(),
                }))
            }
        }
    }
}

const NOBODY: &str = "Nobody is connected who can answer this approval.";
/// What the model is to do instead of a call that nobody is there for.
const GO_ON: &str = "Go on without this call, since nobody is there any more who could say yes.";

/// The rules of a yes that holds on, as they were offered.
fn remembered(request: &ApprovalRequest, how: RememberedFor) -> Result<ApprovalAnswer, String> {
    let rules = request.allow_rules.clone();
    // A session's yes raises the budget, which needs no rule.
    let is_budget = request.kind == ApprovalKind::Budget && how == RememberedFor::Session;
    if rules.is_empty() && !is_budget {
        return Err("This approval offers no rule. Leave out `remember`.".to_owned());
    }
    match how {
        RememberedFor::Session => Ok(ApprovalAnswer::Session { rules }),
        RememberedFor::Always if request.dangers.is_empty() => Ok(ApprovalAnswer::Always { rules }),
        RememberedFor::Always => {
            Err("A call that is hard to take back cannot be allowed always. Send `\"remember\": \
                 \"session\"`, or leave out `remember`."
                .to_owned())
        }
    }
}

fn told(lines: ReportLines) -> ConversationSteps {
    let step = |(stream, text)| match stream {
        ReportStream::Out => ConversationStep::Line(text),
        ReportStream::Err => ConversationStep::Complain(text),
    };
    lines.into_iter().map(step).collect()
}

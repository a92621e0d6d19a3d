//! The loop without a screen: messages and lines in, labelled lines out.
//!
//! A terminal's lines are read as they come, as the full screen reads its keys. A pipe's lines are
//! read one by one, each when slug waits for a message or an answer, so that a script can hold the
//! answers to later questions. When the lines end, the running turn finishes, open questions are
//! answered with no, and slug leaves.

use std::io::Write;

use anyhow::Context;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AddressedEvent, AgentCommand, AgentEvent};
use crate::domain::{AgentId, ApprovalAnswer, UserInput};
use crate::platform::signals::ContinuedFlag;
use crate::session::HistoryPage;
use crate::tui::app::conversation::composer::ChatComposer;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::line_input::expected_line;
use crate::tui::app::settings::{InputSource, ScreenSettings};
use crate::tui::app::tour::{TourForm, TourState};
use crate::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, due_at, update};
use crate::tui::dialogs::line::ExpectedLine;
use crate::tui::executor::{EffectExecutor, ExecutorHandles, TerminalAction};
use crate::tui::runtime::FrontEndExit;

use super::announcer::LinearAnnouncer;
use super::line_writer::LabelledLineWriter;
use super::stdin_lines::{LinearInput, StdinLines, StdinSource};
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel};

/// Most messages that are taken in before lines are written.
const BATCH: usize = 1024;
/// The size for what is computed from one, since nothing is drawn.
const SIZE: (u16, u16) = (80, 24);

/// What the conversation starts with.
pub struct LinearStart {
    /// The agent whose conversation this is.
    pub agent: AgentId,
    /// What stays the same while slug runs.
    pub settings: ScreenSettings,
    /// What is known from the beginning.
    pub status: ConversationStatus,
    /// Texts that were sent before, oldest first.
    pub history: HistoryPage,
    /// The message of the command line.
    pub first_message: Option<UserInput>,
    /// One item for each ctrl+c, which arrives as a signal.
    pub interrupts: mpsc::Receiver<()>,
    /// Ends the conversation when cancelled: a signal, or the terminal is gone.
    pub shutdown: CancellationToken,
    pub bell: TerminalBell,
}

/// Whether the terminal's bell calls the user to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalBell {
    Rings,
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinearLoopControl {
    GoOn,
    Leave,
}

/// Whether standard input may still have lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinearInputState {
    Open,
    Ended,
}

/// Runs the conversation until the user leaves, the agent ends or `shutdown` is cancelled.
///
/// # Errors
///
/// Fails when SIGCONT cannot be watched, standard input cannot be read, or the output cannot be
/// written.
pub async fn run<W: Write>(
    start: LinearStart,
    mut stdin: StdinLines,
    writer: LabelledLineWriter<W>,
    handles: ExecutorHandles,
    mut events: agent::AgentEventReceiver,
) -> anyhow::Result<FrontEndExit> {
    let LinearStart {
        agent,
        settings,
        status,
        history,
        first_message,
        mut interrupts,
        shutdown,
        bell,
    } = start;
    let (answers_in, mut answers) = mpsc::channel(64);
    let mut composer = ChatComposer::new(Vec::new(), "");
    let settings = ScreenSettings { input: InputSource::Lines, ..settings };
    composer.history.prepend(history, &settings.cwd);
    let mut ui = LinearLoop {
        model: ScreenModel::new(agent, settings, status, composer, SIZE),
        announcer: LinearAnnouncer::default(),
        writer,
        bell,
        source: stdin.source,
        lines: LinearInputState::Open,
        began: Instant::now(),
    };
    if let Some(tour) = &mut ui.model.shared.tour {
        *tour = TourState::new(TourForm::Lines);
    }
    ui.model.conversation.first_message = first_message;
    let mut executor = EffectExecutor::new(handles, answers_in);
    executor.run(ScreenEffect::FollowOffers { seen: None });
    let continued = ContinuedFlag::listen().context("Cannot listen for SIGCONT")?;
    loop {
        let flow = ui.announce(&mut stdin).context("Cannot write to standard output")?;
        if flow == LinearLoopControl::Leave {
            break;
        }
        let waiting = executor.has_waiting();
        let wake = ui.wake();
        let first = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(()) = interrupts.recv() => {
                stdin.forget();
                ui.writer.finish_line()?;
                Some(ScreenMsg::Interrupt)
            }
            input = stdin.next_input(), if ui.wants_line() => {
                if continued.take() {
                    // The line was typed at the shell, before slug was continued.
                    ui.announcer.repeat();
                    update(&mut ui.model, ScreenMsg::ScreenLost);
                }
                ui.take_input(input.context("Cannot read standard input")?)?
            }
            event = events.recv() => match event {
                Some(AddressedEvent { agent, event }) => Some(ScreenMsg::Agent(agent, Box::new(event))),
                None => break,
            },
            answer = answers.recv() => answer,
            alive = executor.send_pending_command(), if waiting => {
                if !alive { break; }
                continue;
            }
            () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => None,
        };
        let mut effects = update(&mut ui.model, ScreenMsg::Tick(ui.began.elapsed()));
        effects.extend(first.map_or_else(Vec::new, |msg| update(&mut ui.model, msg)));
        for _ in 0..BATCH {
            let Ok(AddressedEvent { agent, event }) = events.try_recv() else { break };
            effects.extend(update(&mut ui.model, ScreenMsg::Agent(agent, Box::new(event))));
        }
        if stdin.is_idle() {
            let idle = ScreenMsg::InputIdle(ui.began.elapsed());
            effects.extend(update(&mut ui.model, idle));
        }
        if ui.carry_out(effects, &mut executor)? == LinearLoopControl::Leave {
            break;
        }
    }
    ui.writer.finish_line()?;
    executor.finish().await;
    // The transcript was printed as it came.
    Ok(FrontEndExit { session: ui.model.conversation.status.session, page: String::new() })
}

/// The model with its input and output.
struct LinearLoop<W> {
    model: ScreenModel,
    announcer: LinearAnnouncer,
    writer: LabelledLineWriter<W>,
    bell: TerminalBell,
    source: StdinSource,
    lines: LinearInputState,
    began: Instant,
}

impl<W: Write> LinearLoop<W> {
    /// Writes what is new, and the prompt for the next line.
    fn announce(&mut self, stdin: &mut StdinLines) -> std::io::Result<LinearLoopControl> {
        let lines = self.announcer.take_announcements(&self.model);
        self.writer.write_lines(&lines)?;
        let prompt = self.prompt();
        if let Some(prompt) = prompt.filter(|_| self.lines == LinearInputState::Open) {
            self.writer.write_prompt(prompt)?;
        }
        let question = self.model.dialogs.top().and_then(|dialog| dialog.guard());
        if question.is_some_and(QuestionGuard::is_hidden) {
            stdin.drop_typed_ahead();
        }
        if question.is_some_and(|guard| guard.is_hidden() || !lines.is_empty()) {
            update(&mut self.model, ScreenMsg::Printed(self.began.elapsed()));
        }
        if prompt.is_none() || self.lines == LinearInputState::Open {
            return Ok(LinearLoopControl::GoOn);
        }
        // The lines have ended: slug leaves once the running turn is done.
        Ok(if self.model.conversation.turn.is_idle() {
            LinearLoopControl::Leave
        } else {
            LinearLoopControl::GoOn
        })
    }

    /// The prompt for the next line; `None` while slug is busy.
    fn prompt(&self) -> Option<&'static str> {
        let status = &self.model.conversation.status;
        // A message sent before the model is known would only fail.
        let begun = status.session.is_some()
            && (!status.model.is_empty()
                || !self.model.conversation.transcript.blocks().is_empty());
        match expected_line(&self.model) {
            ExpectedLine::Message if begun && self.model.conversation.turn.is_idle() => {
                Some("You:")
            }
            ExpectedLine::Message | ExpectedLine::Nothing => None,
            ExpectedLine::Answer => Some("Answer:"),
            ExpectedLine::Command => Some("Command:"),
            ExpectedLine::Rule => Some("Rule:"),
            ExpectedLine::Instruction => Some("Instead:"),
            ExpectedLine::Row => Some("Number:"),
            ExpectedLine::Value => Some("Value:"),
            ExpectedLine::LedgerEdit => Some("Edit:"),
        }
    }

    /// Whether a line is read now.
    fn wants_line(&self) -> bool {
        let wanted = match self.source {
            StdinSource::Terminal => true,
            StdinSource::Pipe => self.prompt().is_some() && self.is_armed(),
        };
        wanted && self.lines == LinearInputState::Open
    }

    /// Whether the open question, if there is one, takes answers.
    fn is_armed(&self) -> bool {
        self.model.dialogs.takes_answers()
    }

    fn take_input(&mut self, input: LinearInput) -> std::io::Result<Option<ScreenMsg>> {
        Ok(match input {
            LinearInput::Continuation => None,
            LinearInput::Text(text) => {
                match self.source {
                    StdinSource::Terminal => self.writer.line_received(None)?,
                    StdinSource::Pipe => self.writer.line_received(Some(&text))?,
                }
                if self.model.conversation.turn.is_idle() {
                    self.announcer.typed(&text);
                }
                Some(ScreenMsg::Line(text))
            }
            LinearInput::End => {
                self.lines = LinearInputState::Ended;
                self.writer.finish_line()?;
                None
            }
        })
    }

    /// When the loop has to wake up even if nothing arrives.
    fn wake(&self) -> Option<Instant> {
        let due = [due_at(&self.model), self.announcer.wake_at(&self.model)];
        due.into_iter().flatten().min().map(|at| self.began + at)
    }

    fn carry_out(
        &mut self,
        effects: Vec<ScreenEffect>,
        executor: &mut EffectExecutor,
    ) -> std::io::Result<LinearLoopControl> {
        for effect in effects {
            match executor.run(effect) {
                Some(TerminalAction::Quit) => return Ok(LinearLoopControl::Leave),
                Some(TerminalAction::OpenEditor(text)) => {
                    let edited = executor.edit(&text);
                    update(&mut self.model, ScreenMsg::EditorClosed(edited));
                }
                Some(TerminalAction::EditFile(path)) => {
                    let more = update(&mut self.model, executor.edit_file(path));
                    if self.carry_out(more, executor)? == LinearLoopControl::Leave {
                        return Ok(LinearLoopControl::Leave);
                    }
                }
                Some(TerminalAction::OpenPager(document)) => {
                    let paged = executor.show_in_pager(&document);
                    update(&mut self.model, ScreenMsg::PagerClosed(paged));
                }
                Some(TerminalAction::Notify(_)) if self.bell == TerminalBell::Rings => {
                    self.writer.ring_bell()?;
                }
                // Only keys ask for these, and without a screen there is nothing to do.
                Some(
                    TerminalAction::Notify(_)
                    | TerminalAction::Suspend
                    | TerminalAction::Redraw
                    | TerminalAction::Retake
                    | TerminalAction::AnswerStartup(_),
                )
                | None => {}
            }
        }
        if self.lines == LinearInputState::Ended
            && let Some(id) = self.model.dialogs.open_question()
        {
            let text = "Input has ended, so the answer is no.";
            self.writer.write_lines(&[LabelledLine::new(LineLabel::Note, text)])?;
            let command = match self.model.question() {
                Some(_) => {
                    let answer = ApprovalAnswer::Deny { instruction: None };
                    AgentCommand::Answer { id, answer }
                }
                None => AgentCommand::AnswerQuestions { id, answers: Vec::new() },
            };
            let (agent, withdrawn) =
                (self.model.conversation.agent, AgentEvent::ApprovalWithdrawn(id));
            executor.run(ScreenEffect::Agent(agent, command));
            update(&mut self.model, ScreenMsg::Agent(agent, Box::new(withdrawn)));
        }
        Ok(LinearLoopControl::GoOn)
    }
}

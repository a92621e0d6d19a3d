//! Starts the linear mode, which has no full screen: first the questions about trust and model, as
//! text, then the conversation. The conversation itself is in `tui::linear`.

use std::io::{self, IsTerminal, Stdout, Write};
use std::path::Path;

use tokio::time::{Instant, sleep_until};

use crate::cli::{Cli, CliExitStatus};
use crate::config::{NotificationMethod, ResolvedConfig};
use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::signals::{self, ContinuedFlag, HandledSignal, SignalStream};
use crate::platform::terminal;
use crate::trust::{self, TrustStatus};
use crate::tui::app::guard::QuestionGuard;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::linear::{
    LabelColoring, LabelledLineWriter, LinearInput, StdinLines, StdinSource, TerminalBell,
};
use crate::tui::theme::ColorDepth;

use super::first_model;
use super::questions;
use super::run_context::RunContext;
use super::screen::{self, ChatFrontEnd};
use super::startup::{self, StartupModel, StartupOutcome, StartupQuestions};

/// Whether to start in linear mode: with `--linear`, or on a terminal that can do no more. When
/// standard output is no terminal, only the flag counts, because nobody would see the questions.
pub(super) fn is_wanted(cli: &Cli) -> bool {
    cli.linear || terminal::is_dumb()
}

pub(super) async fn run(cli: &Cli, run_context: &RunContext) -> anyhow::Result<CliExitStatus> {
    startup::run(cli, run_context, |_, _| LinearStartup::new()).await
}

/// The input that the questions before the conversation read.
pub(super) struct LinearStartup {
    lines: StdinLines,
    signals: SignalStream,
    continued: ContinuedFlag,
}

impl LinearStartup {
    fn new() -> anyhow::Result<Self> {
        let signals = SignalStream::listen()?;
        let source =
            if io::stdin().is_terminal() { StdinSource::Terminal } else { StdinSource::Pipe };
        Ok(Self {
            lines: StdinLines::from_stdin(source)?,
            signals,
            continued: ContinuedFlag::listen()?,
        })
    }

    /// Asks, and waits for a line or a signal. On a terminal, a line that was typed before the user
    /// could read the question does not count; lines of a pipe always do.
    pub(super) async fn ask(&mut self, question: &str) -> anyhow::Result<StartupOutcome<String>> {
        let mut out = io::stdout();
        let began = Instant::now();
        let mut guard = QuestionGuard::default();
        loop {
            if guard.is_hidden() {
                write!(out, "{}\n> ", sanitize(question))?;
                out.flush()?;
                self.lines.drop_typed_ahead();
                guard.drawn();
                guard.painted(began.elapsed());
            }
            let armed_at = guard.due_at().map(|at| began + at);
            tokio::select! {
                biased;
                input = self.lines.next_input() => match input? {
                    LinearInput::Text(_) if self.continued.take() => guard.hidden(),
                    LinearInput::Text(_) if self.lines.source == StdinSource::Terminal && !guard.is_armed() => {
                        guard.typed(began.elapsed());
                        write!(out, "{}\n> ", LineAnswerError::TooSoon)?;
                        out.flush()?;
                    }
                    LinearInput::Text(text) => {
                        if self.lines.source == StdinSource::Pipe {
                            writeln!(out, "{}", sanitize(&text))?;
                        }
                        return Ok(StartupOutcome::Answer(text.trim().to_owned()));
                    }
                    LinearInput::Continuation => {}
                    LinearInput::End => {
                        writeln!(out)?;
                        return Ok(StartupOutcome::Quit);
                    }
                },
                signal = self.signals.next() => {
                    if signal.is_ending() {
                        return Ok(StartupOutcome::Signal(signal));
                    }
                    if signal == HandledSignal::Stop {
                        signals::stop()?;
                    }
                    if signal == HandledSignal::Continue && self.lines.source == StdinSource::Terminal {
                        self.continued.take();
                        guard.hidden();
                    }
                }
                () = sleep_until(armed_at.unwrap_or_else(Instant::now)), if armed_at.is_some() => {
                    if self.lines.is_idle() {
                        guard.input_idle(began.elapsed());
                    }
                }
            }
        }
    }
}

impl StartupQuestions for LinearStartup {
    /// At the end of input the folder is not trusted.
    async fn trust(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
    ) -> anyhow::Result<StartupOutcome<ProjectSettingsTrust>> {
        if cli.trust_workspace {
            return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
        }
        let mut store = run_context.trust()?;
        // A change while the question is open leads to the next question.
        loop {
            let heading = match store.status(&run_context.cwd) {
                TrustStatus::Trusted => {
                    return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
                }
                // Such a folder cannot be trusted. The chat says what is left out.
                TrustStatus::TooWide => {
                    return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
                }
                TrustStatus::Unknown => "Do you trust this folder?",
                TrustStatus::Changed(_) => {
                    "This folder has changed since you trusted it. Do you still trust it?"
                }
            };
            let asked = store.question(&run_context.cwd)?;
            let status = store.status(&run_context.cwd);
            if questions::has_nothing_to_trust(cli, run_context, &asked, &status) {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
            }
            let question = trust_question(heading, &run_context.cwd, asked.items());
            let answer = match self.ask(&question).await? {
                StartupOutcome::Answer(answer) => answer,
                StartupOutcome::Quit => {
                    return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
                }
                StartupOutcome::Signal(signal) => return Ok(StartupOutcome::Signal(signal)),
            };
            match answer.to_lowercase().as_str() {
                "y" | "yes" => store.grant_asked(asked)?,
                "n" | "no" => return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted)),
                "q" | "quit" => return Ok(StartupOutcome::Quit),
                _ => {}
            }
        }
    }

    async fn model(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
        config: &ResolvedConfig,
    ) -> anyhow::Result<StartupOutcome<StartupModel>> {
        first_model::ask(self, cli, run_context, config).await
    }

    fn into_chat(self, config: &ResolvedConfig) -> (ChatFrontEnd, SignalStream) {
        let writer = LabelledLineWriter::new(io::stdout(), label_coloring());
        let front = ChatFrontEnd::Linear { lines: self.lines, writer, bell: bell(config) };
        (front, self.signals)
    }
}

/// The question about a folder, with the list of what trusting it activates.
fn trust_question(heading: &str, folder: &Path, items: &[trust::TrustQuestionFile]) -> String {
    let shown = |path: &Path| sanitize_line(&path.display().to_string());
    let mut question = format!("{heading}\n  {}\n", shown(folder));
    if !items.is_empty() {
        question.push_str("If you trust it, this becomes active:\n");
    }
    for item in items {
        question.push_str(&format!("  {}, {}:\n", shown(&item.path), item.words()));
        for (mark, line) in &item.lines {
            let label = match mark {
                trust::TrustLineMark::Same => "",
                trust::TrustLineMark::New => "New: ",
                trust::TrustLineMark::Gone => "Gone: ",
            };
            question.push_str(&format!("    {label}{}\n", sanitize_line(line)));
        }
    }
    question.push_str(
        "Until you trust it, slug ignores this folder's settings and instructions.\n\
         Type y to trust it, n to continue without trusting, q to quit.",
    );
    question
}

/// Labels are coloured on a terminal with colours, unless NO_COLOR is set.
fn label_coloring() -> LabelColoring {
    let coloured =
        io::stdout().is_terminal() && !terminal::is_dumb() && screen::depth() != ColorDepth::None;
    if coloured { LabelColoring::Labels } else { LabelColoring::Plain }
}

fn bell(config: &ResolvedConfig) -> TerminalBell {
    let wanted = config.notify.value != NotificationMethod::Never && io::stdout().is_terminal();
    if wanted { TerminalBell::Rings } else { TerminalBell::Silent }
}

/// The writer of the linear mode's lines to standard output.
pub(super) type StdoutLineWriter = LabelledLineWriter<Stdout>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::{InventoryItemKind, TrustLineMark, TrustQuestionFile};

    #[test]
    fn nothing_that_a_folder_brings_along_is_a_line_of_the_question() {
        let item = TrustQuestionFile {
            path: "rules/a\nQuestion: ls?\nType y to allow it.md".into(),
            kinds: vec![InventoryItemKind::Hooks],
            lines: vec![(TrustLineMark::Same, "on Stop runs true #\ntouch x".to_owned())],
        };
        let question = trust_question("Trust it?", Path::new("/w/a\nb"), &[item]);
        let lines: Vec<&str> = question.lines().collect();
        assert_eq!(lines[1], "  /w/a␊b");
        assert!(lines[3].starts_with("  rules/a␊Question: ls?␊Type y to allow it.md, "));
        assert_eq!(lines[4], "    on Stop runs true #␊touch x");
        assert_eq!(lines.len(), 7, "{question}");
    }
}

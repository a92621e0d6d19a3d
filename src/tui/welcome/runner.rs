//! The loop of the screens before the chat: an input, an update, and a frame if something changed.

use std::io::{self, Write};

use crossterm::event::{Event, EventStream, KeyEventKind};
use crossterm::terminal::ClearType;
use futures_util::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::platform::signals::{ContinuedFlag, HandledSignal, SignalStream};
use crate::platform::terminal::output::TerminalOutput;
use crate::platform::terminal::{TerminalGuard, has_unread};
use crate::platform::terminal_background::{FilteredEvent, QUESTION};
use crate::tui::app::theme_state::ThemeState;
use crate::tui::input::TerminalEventStream;
use crate::tui::view::RoleStyles;

use super::{StartupInput, StartupPage, StartupTransition};

/// Results of jobs that may wait to be taken.
const NOTES: usize = 16;

/// How a screen ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartupEnd<A> {
    /// The page gave its answer.
    Answered(A),
    /// A signal arrived. The caller raises it again once the terminal is given back.
    Signalled(HandledSignal),
}

/// Shows a page until it is over. `work` runs one of its jobs, in a task that ends with the page.
/// The terminal is taken before the call, and remains taken.
///
/// # Errors
///
/// Fails when SIGCONT cannot be watched, the terminal cannot be read from or written to, or its
/// input ends.
pub async fn run<P, W, F>(
    page: P,
    _terminal_is_ours: &mut TerminalGuard,
    signals: &mut SignalStream,
    theme_state: &mut ThemeState,
    work: W,
) -> io::Result<StartupEnd<P::Answer>>
where
    P: StartupPage,
    W: FnMut(P::Job, mpsc::Sender<P::Note>) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut terminal = Terminal::new(CrosstermBackend::new(TerminalOutput))?;
    // Not `Terminal::clear`: that queries the cursor and waits for the reply.
    crossterm::execute!(TerminalOutput, crossterm::terminal::Clear(ClearType::All))?;
    let typed = InputProbe { continued: ContinuedFlag::listen()?, is_unread: has_unread };
    run_loop(page, EventStream::new(), typed, signals, &mut terminal, theme_state, work).await
}

/// Checks for input besides the stream of events.
struct InputProbe {
    /// Whether slug was stopped: input that waits then was typed at the shell.
    continued: ContinuedFlag,
    /// Whether the terminal has input that is not among the events yet.
    is_unread: fn() -> io::Result<bool>,
}

/// The loop, which tests run on a fake terminal.
async fn run_loop<P, W, F, B>(
    mut page: P,
    events: impl Stream<Item = io::Result<Event>> + Unpin,
    typed: InputProbe,
    signals: &mut SignalStream,
    terminal: &mut Terminal<B>,
    theme_state: &mut ThemeState,
    mut work: W,
) -> io::Result<StartupEnd<P::Answer>>
where
    P: StartupPage,
    W: FnMut(P::Job, mpsc::Sender<P::Note>) -> F,
    F: Future<Output = ()> + Send + 'static,
    B: Backend<Error: Send + Sync + 'static>,
{
    let (notes, mut noted) = mpsc::channel(NOTES);
    let mut jobs = JoinSet::new();
    let mut events = TerminalEventStream::new(events);
    let mut theme = theme_state.theme(theme_state.name(&theme_state.choice));
    let size = terminal.size().map_err(io::Error::other)?;
    let opened =
        [StartupInput::Size { width: size.width, height: size.height }, StartupInput::Opened];
    let mut inputs = Vec::from(opened);
    let began = Instant::now();
    let mut is_sending = false;
    loop {
        let mut changed = false;
        for input in inputs.drain(..) {
            match page.update(input) {
                StartupTransition::Wait => {}
                StartupTransition::Draw(wanted) => {
                    changed = true;
                    for job in wanted {
                        jobs.spawn(work(job, notes.clone()));
                    }
                }
                StartupTransition::Done(answer) => return Ok(StartupEnd::Answered(answer)),
            }
        }
        if changed {
            draw(&mut page, terminal, &theme)?;
            is_sending = true;
        }
        if theme_state.follows_background() {
            events.ask(ask_background)?;
        }
        let armed_at = page.guard_mut().due_at().map(|at| began + at);
        let input = tokio::select! {
            biased;
            event = events.next() => match event {
                Some(said) => match said? {
                    FilteredEvent::Event(event) => {
                        if typed.continued.take() {
                            page.guard_mut().hidden();
                            repaint(&mut page, terminal, &theme)?;
                            is_sending = true;
                        }
                        match event {
                            Event::Key(_) | Event::Paste(_) => {
                                page.guard_mut().typed(began.elapsed());
                            }
                            Event::FocusGained => page.guard_mut().start_over(began.elapsed()),
                            Event::FocusLost | Event::Mouse(_) | Event::Resize(..) => {}
                        }
                        input_of(event)
                    }
                    FilteredEvent::Background(background) => {
                        theme_state.background = background;
                        theme = theme_state.theme(theme_state.name(&theme_state.choice));
                        draw(&mut page, terminal, &theme)?;
                        is_sending = true;
                        None
                    }
                },
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            },
            sent = TerminalOutput::all_sent(), if is_sending => {
                sent?;
                is_sending = false;
                page.guard_mut().painted(began.elapsed());
                None
            }
            () = tokio::time::sleep_until(armed_at.unwrap_or_else(Instant::now)),
                if armed_at.is_some() =>
            {
                // The events were polled just before.
                if !(typed.is_unread)()? && !typed.continued.take() {
                    page.guard_mut().input_idle(began.elapsed());
                }
                None
            }
            Some(note) = noted.recv() => Some(StartupInput::Note(note)),
            Some(ended) = jobs.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a job of a screen before the chat");
                }
                None
            }
            signal = signals.next() => {
                if signal.is_ending() {
                    return Ok(StartupEnd::Signalled(signal));
                }
                if signal == HandledSignal::Continue {
                    page.guard_mut().hidden();
                    repaint(&mut page, terminal, &theme)?;
                    is_sending = true;
                }
                None
            }
        };
        inputs.extend(input);
    }
}

fn ask_background() -> io::Result<()> {
    TerminalOutput.write_all(QUESTION.as_bytes())?;
    TerminalOutput.flush()
}

fn input_of<N>(event: Event) -> Option<StartupInput<N>> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(StartupInput::Key(key)),
        Event::Paste(text) => Some(StartupInput::Paste(text)),
        Event::Resize(width, height) => Some(StartupInput::Size { width, height }),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

/// Draws the whole page: what the terminal shows is unknown.
fn repaint<P: StartupPage, B: Backend<Error: Send + Sync + 'static>>(
    page: &mut P,
    terminal: &mut Terminal<B>,
    styles: &dyn RoleStyles,
) -> io::Result<()> {
    terminal.backend_mut().clear().map_err(io::Error::other)?;
    // After the swap the previous frame counts as empty.
    terminal.swap_buffers();
    draw(page, terminal, styles)
}

fn draw<P: StartupPage, B: Backend<Error: Send + Sync + 'static>>(
    page: &mut P,
    terminal: &mut Terminal<B>,
    styles: &dyn RoleStyles,
) -> io::Result<()> {
    let drawn = terminal.draw(|frame| {
        let area = frame.area();
        let caret = page.draw(styles, area, frame.buffer_mut());
        if let Some(caret) = caret {
            frame.set_cursor_position(caret);
        }
    });
    drawn.map_err(io::Error::other)?;
    page.drawn();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use futures_util::stream;
    use ratatui::backend::TestBackend;

    use super::super::first_run::{self, FirstRunAnswer, FirstRunPage};
    use super::super::samples::text;
    use super::super::trust::{TrustAnswer, TrustPage, TrustPageSubject};
    use super::*;
    use crate::tui::app::guard::QUIET_TIME;

    fn press(code: KeyCode) -> io::Result<Event> {
        Ok(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// A probe that never finds input besides the events.
    fn typed() -> InputProbe {
        InputProbe { continued: ContinuedFlag::default(), is_unread: || Ok(false) }
    }

    /// The events, each late enough after the one before for a question to take it.
    fn slowly(events: Vec<io::Result<Event>>) -> impl Stream<Item = io::Result<Event>> + Unpin {
        let each = stream::iter(events).then(|event| async {
            tokio::time::sleep(QUIET_TIME * 2).await;
            event
        });
        Box::pin(each.chain(stream::pending()))
    }

    fn terminal() -> Terminal<TestBackend> {
        Terminal::new(TestBackend::new(80, 24)).unwrap()
    }

    /// Fails if the future takes longer than any test should.
    async fn in_time<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), future).await.unwrap()
    }

    #[tokio::test]
    async fn keys_lead_to_an_answer() {
        let mut signals = SignalStream::listen().unwrap();
        let mut terminal = terminal();
        let keys = [press(KeyCode::Tab), Ok(Event::Resize(60, 20)), press(KeyCode::Char('y'))];
        let events = slowly(keys.into());
        let page = TrustPage::new("~/src", TrustPageSubject::Folder, &[]);
        let work = |nothing: super::super::trust::NeverJob, _| async move { match nothing {} };
        let ended = in_time(run_loop(
            page,
            events,
            typed(),
            &mut signals,
            &mut terminal,
            &mut ThemeState::default(),
            work,
        ))
        .await
        .unwrap();
        assert_eq!(ended, StartupEnd::Answered(TrustAnswer::Trust));
        assert!(text(terminal.backend().buffer()).contains("Do you trust this folder?"));
    }

    #[tokio::test]
    async fn keys_that_were_typed_ahead_answer_nothing() {
        let mut signals = SignalStream::listen().unwrap();
        let mut terminal = terminal();
        // The user types "why does it fail" and enter before slug is ready.
        let ahead = "why does it fail".chars().map(KeyCode::Char).chain([KeyCode::Enter]);
        let events = stream::iter(ahead.map(press).collect::<Vec<_>>());
        let events = events.chain(slowly(vec![press(KeyCode::Char('n'))]));
        let page = TrustPage::new("~/src", TrustPageSubject::Folder, &[]);
        let work = |nothing: super::super::trust::NeverJob, _| async move { match nothing {} };
        let mut theme_state = ThemeState::default();
        let ended =
            run_loop(page, events, typed(), &mut signals, &mut terminal, &mut theme_state, work);
        assert_eq!(in_time(ended).await.unwrap(), StartupEnd::Answered(TrustAnswer::GoOnWithout));
    }

    #[tokio::test]
    async fn keys_that_were_typed_at_the_shell_answer_nothing() {
        let mut signals = SignalStream::listen().unwrap();
        let mut terminal = terminal();
        let typed = typed();
        let (flag, page) =
            (typed.continued.clone(), TrustPage::new("~/src", TrustPageSubject::Folder, &[]));
        let stopped = slowly(vec![Ok(Event::Resize(60, 20)), press(KeyCode::Char('y'))]);
        let stopped = stopped.inspect(move |event| {
            if let Ok(Event::Key(_)) = event {
                flag.set();
            }
        });
        let events = stopped.take(2).chain(slowly(vec![press(KeyCode::Char('n'))]));
        let work = |nothing: super::super::trust::NeverJob, _| async move { match nothing {} };
        let mut theme_state = ThemeState::default();
        let ended =
            run_loop(page, events, typed, &mut signals, &mut terminal, &mut theme_state, work);
        assert_eq!(in_time(ended).await.unwrap(), StartupEnd::Answered(TrustAnswer::GoOnWithout));
    }

    #[tokio::test]
    async fn a_server_that_answers_can_be_chosen() {
        let mut signals = SignalStream::listen().unwrap();
        let mut terminal = terminal();
        let (shown, mut was_shown) = mpsc::channel::<()>(8);
        // The key comes only after the server was found.
        let events = stream::once(Box::pin(async move {
            was_shown.recv().await;
            tokio::time::sleep(QUIET_TIME * 2).await;
            press(KeyCode::Enter)
        }));
        let work = move |job, notes: mpsc::Sender<first_run::FirstRunEvent>| {
            let shown = shown.clone();
            async move {
                let list = |target: first_run::FirstRunEndpoint| async move {
                    match target.endpoint.contains("11434") {
                        true => Ok(vec!["qwen3".to_owned()]),
                        false => Err("no".to_owned()),
                    }
                };
                first_run::run_job(job, notes.clone(), list).await;
                // Once there is room for all messages again, all earlier ones have been taken.
                notes.reserve_many(NOTES).await.unwrap();
                shown.send(()).await.unwrap();
            }
        };
        let page = FirstRunPage::new("~/.slug/config.toml", Vec::new());
        let events = events.chain(stream::pending());
        let ended = in_time(run_loop(
            page,
            events,
            typed(),
            &mut signals,
            &mut terminal,
            &mut ThemeState::default(),
            work,
        ))
        .await
        .unwrap();
        match ended {
            StartupEnd::Answered(FirstRunAnswer::Use { target, model: None }) => {
                assert!(target.key.is_none());
                assert_eq!(target.endpoint, "http://localhost:11434/v1");
            }
            other => panic!("{other:?}"),
        }
        assert!(text(terminal.backend().buffer()).contains("Ollama"));
    }

    #[tokio::test]
    async fn a_terminal_that_is_gone_is_an_error() {
        let mut signals = SignalStream::listen().unwrap();
        let page = TrustPage::new("~/src", TrustPageSubject::Folder, &[]);
        let work = |nothing: super::super::trust::NeverJob, _| async move { match nothing {} };
        let mut terminal = terminal();
        let mut theme_state = ThemeState::default();
        let gone = run_loop(
            page,
            stream::empty(),
            typed(),
            &mut signals,
            &mut terminal,
            &mut theme_state,
            work,
        );
        let error = in_time(gone).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

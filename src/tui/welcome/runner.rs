//! The loop of the screens before the chat: an input, an update, a frame if something changed.

use std::io::{self, Write};

use crossterm::event::{Event, EventStream, KeyEventKind};
use crossterm::terminal::ClearType;
use futures_util::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::platform::background::{QUESTION, Sifted};
use crate::platform::signals::{Signal, Signals};
use crate::platform::terminal::Screen;
use crate::platform::terminal::output::Output;
use crate::tui::app::looks::Looks;
use crate::tui::input::Inputs;
use crate::tui::view::Styles;

use super::{Input, Next, Page};

/// Notes that may wait to be taken.
const NOTES: usize = 16;

/// How a screen ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended<A> {
    /// By an answer.
    Answered(A),
    /// By a signal, which the caller raises again once the terminal is given back.
    Signalled(Signal),
}

/// Shows a screen until it is over. `work` does one of its jobs, on a task of its own that ends
/// with the screen. The terminal has been taken, and is still taken afterwards.
pub async fn run<P, W, F>(
    page: P,
    _terminal_is_ours: &mut Screen,
    signals: &mut Signals,
    looks: &mut Looks,
    work: W,
) -> io::Result<Ended<P::Answer>>
where
    P: Page,
    W: FnMut(P::Job, mpsc::Sender<P::Note>) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut terminal = Terminal::new(CrosstermBackend::new(Output))?;
    // Not `Terminal::clear`: that asks the terminal for its cursor and waits for an answer.
    crossterm::execute!(Output, crossterm::terminal::Clear(ClearType::All))?;
    drive(page, EventStream::new(), signals, &mut terminal, looks, work).await
}

/// The loop, on any terminal.
async fn drive<P, W, F, B>(
    mut page: P,
    events: impl Stream<Item = io::Result<Event>> + Unpin,
    signals: &mut Signals,
    terminal: &mut Terminal<B>,
    looks: &mut Looks,
    mut work: W,
) -> io::Result<Ended<P::Answer>>
where
    P: Page,
    W: FnMut(P::Job, mpsc::Sender<P::Note>) -> F,
    F: Future<Output = ()> + Send + 'static,
    B: Backend<Error: Send + Sync + 'static>,
{
    let (notes, mut noted) = mpsc::channel(NOTES);
    let mut jobs = JoinSet::new();
    let mut events = Inputs::new(events);
    let mut theme = looks.theme(looks.name(&looks.choice));
    let size = terminal.size().map_err(io::Error::other)?;
    let opened = [Input::Size { width: size.width, height: size.height }, Input::Opened];
    let mut inputs = Vec::from(opened);
    loop {
        let mut changed = false;
        for input in inputs.drain(..) {
            match page.update(input) {
                Next::Wait => {}
                Next::Draw(wanted) => {
                    changed = true;
                    for job in wanted {
                        jobs.spawn(work(job, notes.clone()));
                    }
                }
                Next::Done(answer) => return Ok(Ended::Answered(answer)),
            }
        }
        if changed {
            draw(&page, terminal, &theme)?;
        }
        if looks.follows_background() {
            events.ask(ask_background)?;
        }
        let input = tokio::select! {
            event = events.next() => match event {
                Some(said) => match said? {
                    Sifted::Event(event) => input_of(event),
                    Sifted::Background(background) => {
                        looks.background = background;
                        theme = looks.theme(looks.name(&looks.choice));
                        draw(&page, terminal, &theme)?;
                        None
                    }
                },
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            },
            Some(note) = noted.recv() => Some(Input::Note(note)),
            Some(ended) = jobs.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a job of a screen before the chat");
                }
                None
            }
            signal = signals.next() => {
                if signal.is_ending() {
                    return Ok(Ended::Signalled(signal));
                }
                None
            }
        };
        inputs.extend(input);
    }
}

fn ask_background() -> io::Result<()> {
    Output.write_all(QUESTION.as_bytes())?;
    Output.flush()
}

fn input_of<N>(event: Event) -> Option<Input<N>> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(Input::Key(key)),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(width, height) => Some(Input::Size { width, height }),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

fn draw<P: Page, B: Backend<Error: Send + Sync + 'static>>(
    page: &P,
    terminal: &mut Terminal<B>,
    styles: &dyn Styles,
) -> io::Result<()> {
    let drawn = terminal.draw(|frame| {
        let area = frame.area();
        let caret = page.draw(styles, area, frame.buffer_mut());
        if let Some(caret) = caret {
            frame.set_cursor_position(caret);
        }
    });
    drawn.map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use futures_util::stream;
    use ratatui::backend::TestBackend;

    use super::super::first_run::{self, FirstRun, FirstRunAnswer};
    use super::super::samples::text;
    use super::super::trust::{About, Trust, TrustAnswer};
    use super::*;

    fn press(code: KeyCode) -> io::Result<Event> {
        Ok(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn terminal() -> Terminal<TestBackend> {
        Terminal::new(TestBackend::new(80, 24)).unwrap()
    }

    /// Longer than any test takes.
    async fn in_time<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), future).await.unwrap()
    }

    #[tokio::test]
    async fn keys_lead_to_an_answer() {
        let mut signals = Signals::listen().unwrap();
        let mut terminal = terminal();
        let keys = [press(KeyCode::Tab), Ok(Event::Resize(60, 20)), press(KeyCode::Char('y'))];
        let events = stream::iter(keys).chain(stream::pending());
        let page = Trust::new("~/src", About::Folder, &[]);
        let work = |nothing: super::super::trust::Nothing, _| async move { match nothing {} };
        let ended =
            in_time(drive(page, events, &mut signals, &mut terminal, &mut Looks::default(), work))
                .await
                .unwrap();
        assert_eq!(ended, Ended::Answered(TrustAnswer::Trust));
        assert!(text(terminal.backend().buffer()).contains("Do you trust this folder?"));
    }

    #[tokio::test]
    async fn a_server_that_answers_can_be_chosen() {
        let mut signals = Signals::listen().unwrap();
        let mut terminal = terminal();
        let (shown, mut was_shown) = mpsc::channel::<()>(8);
        // The key comes only once the server has been found.
        let events = stream::once(Box::pin(async move {
            was_shown.recv().await;
            press(KeyCode::Enter)
        }));
        let work = move |job, notes: mpsc::Sender<first_run::Note>| {
            let shown = shown.clone();
            async move {
                let list = |target: first_run::Target| async move {
                    match target.endpoint.contains("11434") {
                        true => Ok(vec!["qwen3".to_owned()]),
                        false => Err("no".to_owned()),
                    }
                };
                first_run::work(job, notes.clone(), list).await;
                // All that was told before this has been taken once there is room for all again.
                notes.reserve_many(NOTES).await.unwrap();
                shown.send(()).await.unwrap();
            }
        };
        let page = FirstRun::new("~/.slug/config.toml", Vec::new());
        let events = events.chain(stream::pending());
        let ended =
            in_time(drive(page, events, &mut signals, &mut terminal, &mut Looks::default(), work))
                .await
                .unwrap();
        match ended {
            Ended::Answered(FirstRunAnswer::Use { target, model: None }) => {
                assert!(target.key.is_none());
                assert_eq!(target.endpoint, "http://localhost:11434/v1");
            }
            other => panic!("{other:?}"),
        }
        assert!(text(terminal.backend().buffer()).contains("Ollama"));
    }

    #[tokio::test]
    async fn a_terminal_that_is_gone_is_an_error() {
        let mut signals = Signals::listen().unwrap();
        let page = Trust::new("~/src", About::Folder, &[]);
        let work = |nothing: super::super::trust::Nothing, _| async move { match nothing {} };
        let mut terminal = terminal();
        let mut looks = Looks::default();
        let gone = drive(page, stream::empty(), &mut signals, &mut terminal, &mut looks, work);
        let error = in_time(gone).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

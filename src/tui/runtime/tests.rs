//! Tests of the screen's loop on a fake terminal.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::agent::{AddressedCommand, AgentCommand};
use crate::config::ExitTranscript;
use crate::domain::{TurnId, UserInput};
use crate::platform::signals::ContinuedFlag;
use crate::platform::terminal_notifier::TerminalNotifier;
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::session::HistoryPage;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::executor::{AgentConnection, ExecutorHandles, FrontEndServices};
use crate::tui::test_screen::{AGENT, key_named, title};

mod questions;

#[derive(Default)]
struct FakeLoopServices {
    kept: Mutex<Vec<String>>,
}

#[async_trait]
impl FrontEndServices for FakeLoopServices {
    async fn sessions(&self, _: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
        Ok(SessionStoreResponse::Changed)
    }
    async fn save_draft(&self, text: UserInput) -> Result<(), String> {
        self.kept.lock().unwrap().push(text.text);
        Ok(())
    }
    async fn status_line(&self, state: String) -> Result<String, String> {
        Ok(state)
    }
    fn copy(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Ok("Copied".into()) })
    }
    fn edit(&self, text: &str) -> Result<String, String> {
        Ok(format!("{text}, edited"))
    }
    fn show_in_pager(&self, text: &str) -> Result<(), String> {
        self.kept.lock().unwrap().push(format!("paged: {text}"));
        Ok(())
    }
}

/// A screen that keeps its last frame and counts them.
struct FakeTerminal {
    terminal: Terminal<TestBackend>,
    frames: Arc<AtomicUsize>,
    shown: Arc<Mutex<String>>,
    news: Arc<Mutex<Vec<String>>>,
    continued: ContinuedFlag,
}

impl ScreenSurface for FakeTerminal {
    fn size(&self) -> io::Result<(u16, u16)> {
        Ok((80, 24))
    }
    fn was_continued(&self) -> bool {
        self.continued.take()
    }
    fn set_caret_shape(&mut self, _: CaretShape) {}
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(|frame| render(frame)).unwrap();
        self.frames.fetch_add(1, Ordering::SeqCst);
        *self.shown.lock().unwrap() = self.terminal.backend().to_string();
        Ok(())
    }
    fn forget(&mut self) -> io::Result<()> {
        self.terminal.clear().unwrap();
        Ok(())
    }
    fn lend(&mut self, visitor: &mut dyn FnMut()) -> io::Result<()> {
        visitor();
        Ok(())
    }
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn announce(&mut self, news: TerminalAnnouncement<'_>) -> io::Result<()> {
        let news = match news {
            TerminalAnnouncement::Call(text) => format!("call {text}"),
            TerminalAnnouncement::Title(text) => format!("title {text}"),
            TerminalAnnouncement::Progress(progress) => format!("progress {progress:?}"),
        };
        self.news.lock().unwrap().push(news);
        Ok(())
    }
    fn ask_background(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct TestScreenLoop {
    keys: mpsc::UnboundedSender<Input>,
    events: agent::AgentEventSender,
    commands: mpsc::Receiver<AddressedCommand>,
    services: Arc<FakeLoopServices>,
    frames: Arc<AtomicUsize>,
    shown: Arc<Mutex<String>>,
    news: Arc<Mutex<Vec<String>>>,
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<anyhow::Result<FrontEndExit>>,
}

fn fake_terminal() -> FakeTerminal {
    FakeTerminal {
        terminal: Terminal::new(TestBackend::new(80, 24)).unwrap(),
        frames: Arc::default(),
        shown: Arc::default(),
        news: Arc::default(),
        continued: ContinuedFlag::default(),
    }
}

/// A screen on this terminal before its first question.
fn opened(terminal: FakeTerminal) -> ScreenLoop<FakeTerminal> {
    let opening = ScreenOpening {
        settings: ScreenSettings::default(),
        theme: ThemeState::default(),
        highlighting: CodeHighlighting::Plain,
    };
    ScreenLoop::open(terminal, opening).unwrap()
}

fn control(shutdown: CancellationToken) -> ScreenControl {
    ScreenControl { jobs: mpsc::channel(1).1, shutdown }
}

fn start() -> ScreenStart {
    ScreenStart {
        agent: AGENT,
        exit_transcript: ExitTranscript::Nothing,
        settings: ScreenSettings::default(),
        status: ConversationStatus::default(),
        history: HistoryPage::default(),
        first_message: None,
        draft: UserInput::default(),
        announcer: TerminalNotifier::silent(),
    }
}

fn test_loop() -> TestScreenLoop {
    let (keys, typed) = mpsc::unbounded_channel();
    let typed = Arc::new(Mutex::new(typed));
    let (events, events_out) = agent::event_queue(AGENT);
    let (commands_in, commands) = mpsc::channel(8);
    let services = Arc::new(FakeLoopServices::default());
    let shutdown = CancellationToken::new();
    let terminal = fake_terminal();
    let (frames, shown) = (Arc::clone(&terminal.frames), Arc::clone(&terminal.shown));
    let news = Arc::clone(&terminal.news);
    let handles = ExecutorHandles {
        children: Default::default(),
        agents: BTreeMap::from([(
            AGENT,
            AgentConnection { commands: commands_in, cancel: Arc::new(|| {}) },
        )]),
        services: Arc::clone(&services) as Arc<dyn FrontEndServices>,
    };
    let source = move || {
        let typed = Arc::clone(&typed);
        Box::pin(stream::poll_fn(move |context| {
            typed.lock().unwrap().poll_recv(context).map(|key| key.map(Ok))
        }))
    };
    let control = control(shutdown.clone());
    let chat = opened(terminal).chat(source, start(), handles, events_out, control);
    let task = tokio::spawn(chat);
    TestScreenLoop { keys, events, commands, services, frames, shown, news, shutdown, task }
}

impl TestScreenLoop {
    fn key(&self, name: &str) {
        self.keys.send(Input::Key(key_named(name))).unwrap();
    }

    /// Waits until the screen shows a text.
    async fn until(&self, text: &str) {
        while !self.shown.lock().unwrap().contains(text) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn a_key_reaches_the_agent_and_its_event_the_screen() {
    let mut test = test_loop();
    test.key("h");
    test.key("enter");
    assert_eq!(test.commands.recv().await, Some(AgentCommand::Send { text: "h".into() }.to(AGENT)));
    let turn = TurnId(1);
    test.events.send(agent::AgentEvent::TurnStarted { turn });
    test.events.send(agent::AgentEvent::Text { turn, text: "good day".into() });
    test.until("good day").await;
    test.key("ctrl+c");
    test.shutdown.cancel();
    test.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_draft_is_saved_when_the_screen_closes() {
    let test = test_loop();
    test.key("h");
    test.until("❯ h").await;
    test.shutdown.cancel();
    test.task.await.unwrap().unwrap();
    assert_eq!(test.services.kept.lock().unwrap().last().unwrap(), "h");
}

#[test]
fn an_idle_screen_has_no_timer() {
    let mut ui = opened(fake_terminal());
    ui.begin_chat(start()).unwrap();
    assert!(ui.wake().is_some());
    ui.draw().unwrap();
    assert_eq!(ui.wake(), None);
    ui.take(ScreenMsg::Agent(AGENT, Box::new(agent::AgentEvent::TurnStarted { turn: TurnId(1) })));
    ui.draw().unwrap();
    assert!(ui.wake().is_some());
}

#[tokio::test]
async fn a_stream_is_drawn_at_most_once_an_interval() {
    let test = test_loop();
    let turn = TurnId(1);
    test.events.send(agent::AgentEvent::TurnStarted { turn });
    let began = Instant::now();
    for number in 0..4000 {
        let text = format!("{number}\n");
        test.events.send(agent::AgentEvent::Text { turn, text });
    }
    test.until("3999").await;
    let frames = test.frames.load(Ordering::SeqCst);
    let most = began.elapsed().as_millis() / FRAME.as_millis() + 3;
    assert!(frames as u128 <= most, "{frames} frames, {most} intervals");
    test.shutdown.cancel();
    test.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_editor_gets_the_text_and_gives_it_back() {
    let test = test_loop();
    test.key("h");
    test.key("ctrl+g");
    test.until("❯ h, edited").await;
    let titled = title("still here");
    test.events.send(agent::AgentEvent::Recorded(Arc::new(titled)));
    test.until("still here").await;
    test.key("ctrl+c");
    test.key("ctrl+c");
    test.key("ctrl+c");
    test.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn keys_that_come_later_wake_the_loop() {
    let asked = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&asked);
    let mut keys = Box::pin(stream::poll_fn(move |context| {
        *slot.lock().unwrap() = Some(context.waker().clone());
        Poll::<Option<()>>::Pending
    }));
    let loop_waker = std::future::poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    assert_eq!(arrived(&mut keys).await, None);
    assert!(asked.lock().unwrap().as_ref().is_some_and(|waker| waker.will_wake(&loop_waker)));
}

#[tokio::test]
async fn a_question_calls_a_user_who_looks_elsewhere() {
    let test = test_loop();
    test.keys.send(Input::FocusLost).unwrap();
    test.key("h");
    test.until("❯ h").await;
    test.events.send(crate::tui::test_screen::question(1, "rm -rf build/"));
    test.until("Run this command?").await;
    test.shutdown.cancel();
    test.task.await.unwrap().unwrap();
    let news = test.news.lock().unwrap();
    assert!(news.contains(&"call : Bash needs your answer".to_owned()), "{news:?}");
    assert!(news.contains(&"title ? slug".to_owned()), "{news:?}");
    assert!(news.contains(&"progress Waiting".to_owned()), "{news:?}");
}

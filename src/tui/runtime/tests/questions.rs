//! Questions before the chat, in the loop of the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::providers::ProviderFault;
use crate::services::connect::{ConnectEvent, ConnectFailure, ConnectJob, ConnectTarget};
use crate::services::server_search::run_job;
use crate::tui::app::guard::QUIET_TIME;
use crate::tui::app::startup::{FirstRunAnswer, TrustAnswer};
use crate::tui::dialogs::connect::ConnectDialog;
use crate::tui::dialogs::startup::trust::{TrustDialog, TrustSubject};
use crate::tui::dialogs::{DialogOpening, OpenDialog};

/// The services of a question that needs none.
struct NoServices;

impl FrontEndServices for NoServices {}

fn press(code: KeyCode) -> io::Result<Input> {
    Ok(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// The events, each late enough after the one before for a question to take it.
fn slowly(events: Vec<io::Result<Input>>) -> impl Stream<Item = io::Result<Input>> + Unpin {
    let each = stream::iter(events).then(|event| async {
        tokio::time::sleep(QUIET_TIME * 2).await;
        event
    });
    Box::pin(each.chain(stream::pending()))
}

/// Asks on a screen whose input is `events`. Fails if that takes longer than any test should.
async fn ask(
    question: DialogOpening<impl Into<OpenDialog>>,
    events: impl Stream<Item = io::Result<Input>> + Unpin,
    terminal: FakeTerminal,
    services: Arc<dyn FrontEndServices>,
) -> anyhow::Result<Option<StartupAnswer>> {
    let events = Mutex::new(Some(events));
    let keys = || events.lock().unwrap().take().unwrap();
    let mut screen = opened(terminal);
    let asked = screen.ask(question, keys, services, control(CancellationToken::new()));
    tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap()
}

/// Asks about a folder without anything to trust.
async fn ask_trust(
    events: impl Stream<Item = io::Result<Input>> + Unpin,
    terminal: FakeTerminal,
) -> anyhow::Result<Option<StartupAnswer>> {
    let dialog = TrustDialog::new("~/src", TrustSubject::Folder, &[]);
    ask(DialogOpening::of(dialog, Vec::new()), events, terminal, Arc::new(NoServices)).await
}

#[tokio::test]
async fn keys_lead_to_an_answer() {
    let terminal = fake_terminal();
    let shown = Arc::clone(&terminal.shown);
    let keys = [press(KeyCode::Tab), Ok(Input::Resize(60, 20)), press(KeyCode::Char('y'))];
    let answer = ask_trust(slowly(keys.into()), terminal).await.unwrap();
    assert_eq!(answer, Some(StartupAnswer::Trust(TrustAnswer::Trust)));
    assert!(shown.lock().unwrap().contains("Do you trust this folder?"));
}

#[tokio::test]
async fn keys_that_were_typed_ahead_answer_nothing() {
    // The user types "why does it fail" and enter before slug is ready.
    let ahead = "why does it fail".chars().map(KeyCode::Char).chain([KeyCode::Enter]);
    let events = stream::iter(ahead.map(press).collect::<Vec<_>>());
    let events = events.chain(slowly(vec![press(KeyCode::Char('n'))]));
    let answer = ask_trust(events, fake_terminal()).await.unwrap();
    assert_eq!(answer, Some(StartupAnswer::Trust(TrustAnswer::GoOnWithout)));
}

#[tokio::test]
async fn keys_that_were_typed_at_the_shell_answer_nothing() {
    let terminal = fake_terminal();
    let flag = terminal.continued.clone();
    let stopped = slowly(vec![Ok(Input::Resize(60, 20)), press(KeyCode::Char('y'))]);
    let stopped = stopped.inspect(move |event| {
        if let Ok(Input::Key(_)) = event {
            flag.set();
        }
    });
    let events = stopped.take(2).chain(slowly(vec![press(KeyCode::Char('n'))]));
    let answer = ask_trust(events, terminal).await.unwrap();
    assert_eq!(answer, Some(StartupAnswer::Trust(TrustAnswer::GoOnWithout)));
}

/// Only Ollama answers.
struct OneServer {
    searched: mpsc::Sender<()>,
}

#[async_trait]
impl FrontEndServices for OneServer {
    async fn connect(&self, job: ConnectJob, events: mpsc::Sender<ConnectEvent>) {
        let list = |target: ConnectTarget| async move {
            match target.endpoint.contains("11434") {
                true => Ok(vec!["qwen3".to_owned()]),
                false => Err(ConnectFailure {
                    message: "no".to_owned(),
                    fault: ProviderFault::NotListening,
                }),
            }
        };
        run_job(job, events, list).await;
        self.searched.send(()).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_answers_can_be_chosen() {
    let terminal = fake_terminal();
    let shown = Arc::clone(&terminal.shown);
    let (searched, mut was_searched) = mpsc::channel(1);
    // The key comes only after the server was found.
    let events = stream::once(Box::pin(async move {
        was_searched.recv().await;
        tokio::time::sleep(QUIET_TIME * 2).await;
        press(KeyCode::Enter)
    }));
    let question = ConnectDialog::first_run("~/.slug/config.toml", Vec::new(), Vec::new());
    let services = Arc::new(OneServer { searched });
    let answer = ask(question, events.chain(stream::pending()), terminal, services).await;
    match answer.unwrap() {
        Some(StartupAnswer::FirstRun(FirstRunAnswer::Use { target, model: None })) => {
            assert!(target.key.is_none());
            assert_eq!(target.endpoint, "http://localhost:11434/v1");
        }
        other => panic!("{other:?}"),
    }
    assert!(shown.lock().unwrap().contains("Ollama"));
}

#[tokio::test]
async fn a_terminal_that_is_gone_is_an_error() {
    let error = ask_trust(stream::empty(), fake_terminal()).await.unwrap_err();
    let error = error.downcast::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_question_that_is_ended_from_outside_has_no_answer() {
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let dialog = TrustDialog::new("~/src", TrustSubject::Folder, &[]);
    let (mut screen, opening) = (opened(fake_terminal()), DialogOpening::of(dialog, Vec::new()));
    let keys = stream::pending::<io::Result<Input>>;
    let ended = screen.ask(opening, keys, Arc::new(NoServices), control(shutdown)).await;
    assert_eq!(ended.unwrap(), None);
}

#[tokio::test]
async fn the_chat_takes_the_place_of_the_question() {
    let terminal = fake_terminal();
    let shown = Arc::clone(&terminal.shown);
    let mut screen = opened(terminal);
    let dialog = TrustDialog::new("~/src", TrustSubject::Folder, &[]);
    let keys = Mutex::new(Some(slowly(vec![press(KeyCode::Char('n'))])));
    let opening = DialogOpening::of(dialog, Vec::new());
    let asked = screen.ask(
        opening,
        || keys.lock().unwrap().take().unwrap(),
        Arc::new(NoServices),
        control(CancellationToken::new()),
    );
    assert!(asked.await.unwrap().is_some());
    assert!(shown.lock().unwrap().contains("Do you trust this folder?"));
    screen.begin_chat(start()).unwrap();
    screen.draw().unwrap();
    assert!(!shown.lock().unwrap().contains("Do you trust this folder?"));
    assert_eq!(screen.model.conversation.agent, AGENT);
}

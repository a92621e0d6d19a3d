//! Tests of the order of commands, of answers, and of the search of sessions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::*;
use crate::domain::{PermissionMode, UserInput};
use crate::services::mcp_admin::McpAdminRequest;
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::session::SessionSearchResult;
use crate::tui::app::msg::ModelRow;
use crate::tui::test_screen::AGENT;

#[derive(Default)]
struct FakeExecutorServices {
    drafts: Mutex<Vec<String>>,
}

#[async_trait]
impl FrontEndServices for FakeExecutorServices {
    async fn sessions(&self, _: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
        Ok(SessionStoreResponse::Changed)
    }
    async fn search_sessions(
        &self,
        text: String,
        sessions: Arc<[SessionId]>,
        found: mpsc::Sender<SessionSearchResult>,
    ) {
        for session in sessions.iter().copied() {
            let one = SessionSearchResult { session, places: Vec::new(), more: false };
            if found.send(one).await.is_err() {
                return;
            }
        }
        if text == "endless" {
            found.closed().await;
            self.drafts.lock().unwrap().push("stopped".into());
        }
    }
    async fn models(&self) -> Result<Vec<ModelRow>, String> {
        Err("No server answers.".into())
    }
    async fn files(&self) -> Vec<String> {
        vec!["a.rs".into()]
    }
    async fn save_draft(&self, text: UserInput) -> Result<(), String> {
        self.drafts.lock().unwrap().push(text.text);
        Ok(())
    }
    async fn add_history(&self, _: UserInput) -> Result<(), String> {
        Err("the disk is full".into())
    }
    async fn status_line(&self, state: String) -> Result<String, String> {
        Ok(state)
    }
    fn copy(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Ok("Copied".into()) })
    }
    fn edit(&self, text: &str) -> Result<String, String> {
        Ok(text.to_uppercase())
    }
    fn show_in_pager(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

struct TestExecutor {
    executor: EffectExecutor,
    commands: mpsc::Receiver<AddressedCommand>,
    answers: mpsc::Receiver<ScreenMsg>,
    fakes: Arc<FakeExecutorServices>,
    cancelled: Arc<AtomicBool>,
}

fn test_executor() -> TestExecutor {
    let (commands_in, commands) = mpsc::channel(1);
    let (answers_in, answers) = mpsc::channel(8);
    let fakes = Arc::new(FakeExecutorServices::default());
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let handles = ExecutorHandles {
        children: Default::default(),
        agents: BTreeMap::from([(
            AGENT,
            AgentConnection {
                commands: commands_in,
                cancel: Arc::new(move || flag.store(true, Ordering::SeqCst)),
            },
        )]),
        services: Arc::clone(&fakes) as Arc<dyn FrontEndServices>,
    };
    let executor = EffectExecutor::new(handles, answers_in);
    TestExecutor { executor, commands, answers, fakes, cancelled }
}

#[tokio::test]
async fn commands_keep_their_order_when_the_queue_is_full() {
    let mut test = test_executor();
    let modes = [PermissionMode::Plan, PermissionMode::Ask, PermissionMode::AllowEdits];
    for mode in modes {
        assert_eq!(
            test.executor.run(ScreenEffect::Agent(AGENT, AgentCommand::SetMode(mode))),
            None
        );
    }
    let mut got = Vec::new();
    while got.len() < 3 {
        got.push(test.commands.recv().await);
        if test.executor.has_waiting() {
            assert!(test.executor.send_pending_command().await);
        }
    }
    assert_eq!(got, modes.map(|mode| Some(AgentCommand::SetMode(mode).to(AGENT))));
}

#[tokio::test]
async fn stopping_waits_behind_no_queue() {
    let mut test = test_executor();
    test.executor.run(ScreenEffect::Agent(AGENT, AgentCommand::Retry));
    test.executor.run(ScreenEffect::Agent(AGENT, AgentCommand::Compact { focus: None }));
    test.executor.run(ScreenEffect::CancelTurn(AGENT));
    assert!(test.cancelled.load(Ordering::SeqCst));
}

#[tokio::test]
async fn answers_carry_the_id_of_the_request() {
    let mut test = test_executor();
    test.executor.run(ScreenEffect::IndexFiles { id: RequestId(7), servers: vec!["s".into()] });
    let files = Arc::new(vec!["a.rs".to_owned()]);
    let mentionable = Arc::new(vec!["a.rs".to_owned(), "s:".to_owned()]);
    assert_eq!(
        test.answers.recv().await,
        Some(ScreenMsg::FilesIndexed { id: RequestId(7), files, mentionable })
    );
}

#[tokio::test]
async fn failures_are_reported() {
    let mut test = test_executor();
    test.executor.run(ScreenEffect::AddHistory("x".into()));
    let text = "Could not add to the history: the disk is full".to_owned();
    assert_eq!(
        test.answers.recv().await,
        Some(ScreenMsg::Notice { level: NoticeLevel::Warning, text })
    );
}

#[tokio::test]
async fn drafts_are_saved_before_the_screen_closes() {
    let mut test = test_executor();
    test.executor.run(ScreenEffect::SaveDraft { text: "half".into() });
    test.executor.finish().await;
    assert_eq!(*test.fakes.drafts.lock().unwrap(), ["half"]);
}

fn search(id: u64, text: &str, count: usize) -> ScreenEffect {
    let sessions = (0..count).map(|_| SessionId::generate()).collect();
    ScreenEffect::SearchSessions { id: RequestId(id), text: text.into(), sessions }
}

#[tokio::test]
async fn search_results_arrive_in_order_and_then_the_end() {
    let mut test = test_executor();
    let effect = search(1, "word", 600);
    let ScreenEffect::SearchSessions { sessions, .. } = &effect else { panic!("{effect:?}") };
    let expected = sessions.to_vec();
    test.executor.run(effect);
    let mut arrived = Vec::new();
    loop {
        match test.answers.recv().await {
            Some(ScreenMsg::SessionsFound { id: RequestId(1), found }) if found.is_empty() => {
                break;
            }
            Some(ScreenMsg::SessionsFound { id: RequestId(1), found }) => {
                arrived.extend(found.into_iter().map(|it| it.session));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(arrived, expected);
}

#[tokio::test]
async fn a_search_ends_when_the_next_one_begins_or_it_is_stopped() {
    let mut test = test_executor();
    let stopped = |test: &TestExecutor| test.fakes.drafts.lock().unwrap().len();
    test.executor.run(search(1, "endless", 0));
    tokio::task::yield_now().await;
    test.executor.run(search(2, "endless", 0));
    tokio::task::yield_now().await;
    test.executor.run(ScreenEffect::StopSearch);
    // An aborted task is dropped, and with it the search that it ran.
    test.executor.asking.join_next().await;
    test.executor.asking.join_next().await;
    assert!(test.answers.try_recv().is_err(), "neither search tells of its end");
    assert_eq!(stopped(&test), 0);
}

#[tokio::test]
async fn one_request_waits_for_the_servers_and_a_failed_change_is_told() {
    let mut test = test_executor();
    let follow = |id, seen| ScreenEffect::FollowMcp { id: RequestId(id), seen };
    // The services answer at once where nothing was seen yet, and never else.
    test.executor.run(follow(1, None));
    let first = ScreenMsg::McpServers { id: RequestId(1), seen: 0, servers: Vec::new() };
    assert_eq!(test.answers.recv().await, Some(first));
    test.executor.run(follow(2, Some(0)));
    tokio::task::yield_now().await;
    test.executor.run(follow(3, Some(0)));
    assert!(test.executor.asking.join_next().await.unwrap().is_err(), "the one before is ended");
    assert_eq!(test.executor.asking.len(), 1);
    test.executor.run(ScreenEffect::ChangeMcp(McpAdminRequest::Restart("s".into())));
    let Some(ScreenMsg::Notice { level: NoticeLevel::Error, .. }) = test.answers.recv().await
    else {
        panic!("the user is not told")
    };
}

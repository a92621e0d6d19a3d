//! Going back in a session and forth again, with files on a disk.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{Command, Event, RewindPlan, RewindTo, Start};
use slug_code::domain::{Mode, Typed};
use slug_code::session::undo::Act;
use slug_code::session::{Entry, Rewound};

use super::fakes::{calls, words};
use super::rig::{Rig, Scene, play};

impl Rig {
    async fn plan(&mut self, to: RewindTo) -> Result<Arc<RewindPlan>, String> {
        self.tell(Command::PlanRewind(to)).await;
        self.planned().await
    }

    async fn planned(&mut self) -> Result<Arc<RewindPlan>, String> {
        match self.until("plan", |event| matches!(event, Event::RewindPlanned(_))).await {
            Event::RewindPlanned(plan) => plan,
            _ => unreachable!(),
        }
    }

    /// Goes there; what comes back into the input.
    async fn go(&mut self, to: RewindTo, what: Rewound) -> Option<Typed> {
        let plan = self.plan(to).await.unwrap();
        self.tell(Command::Rewind { plan, what }).await;
        match self.until("return", |event| matches!(event, Event::Rewound { .. })).await {
            Event::Rewound { message, .. } => message,
            _ => unreachable!(),
        }
    }

    fn heard_by_the_model(&self) -> Vec<String> {
        self.conversation().messages.iter().map(|(_, said)| said.text()).collect()
    }
}

/// A session of two turns: one writes a file, the other changes it by a tool and makes and removes
/// others by commands.
async fn worked(scene: &Scene) -> Rig {
    scene.put("old", "old\n");
    play(
        scene,
        [
            calls(&[("c1", "Write", json!({"file_path": "a", "content": "one\n"}))]),
            words("Made."),
            calls(&[
                ("c2", "Edit", json!({"file_path": "a", "old_string": "one", "new_string": "two"})),
                ("c3", "Bash", json!({"command": "write b made"})),
                ("c4", "Bash", json!({"command": "remove old"})),
            ]),
            words("Changed."),
        ],
    );
    let mut rig = scene.open(Start::New).await;
    rig.turn("make it").await;
    rig.turn("change it").await;
    rig
}

fn files(scene: &Scene) -> [Option<String>; 3] {
    ["a", "b", "old"].map(|name| std::fs::read_to_string(scene.work.join(name)).ok())
}

fn are(texts: [Option<&str>; 3]) -> [Option<String>; 3] {
    texts.map(|text| text.map(str::to_owned))
}

#[tokio::test]
async fn files_and_conversation_go_back_and_forth() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    let all = rig.heard_by_the_model();
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));

    let message = rig.go(RewindTo::Last, Rewound::Both).await;
    assert_eq!(message, Some("change it".into()));
    assert_eq!(files(&scene), are([Some("one\n"), None, Some("old\n")]));
    assert_eq!(rig.heard_by_the_model()[..1], ["make it"]);
    assert!(!rig.heard_by_the_model().contains(&"change it".to_owned()));

    rig.go(RewindTo::Last, Rewound::Both).await;
    assert_eq!(files(&scene), are([None, None, Some("old\n")]));
    assert!(rig.heard_by_the_model().is_empty());
    assert!(rig.plan(RewindTo::Last).await.is_err(), "there is nothing before");

    rig.go(RewindTo::Again, Rewound::Both).await;
    rig.go(RewindTo::Again, Rewound::Both).await;
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));
    assert_eq!(rig.heard_by_the_model(), all);
    assert!(rig.plan(RewindTo::Again).await.is_err(), "there is nothing more");
    rig.close().await;
}

#[tokio::test]
async fn what_went_back_is_the_same_after_a_restart() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    rig.go(RewindTo::Last, Rewound::Both).await;
    let (session, heard) = (rig.id(), rig.heard_by_the_model());
    rig.close().await;
    let list = scene.store.list().unwrap();
    assert_eq!(list[0].message_count, 3, "question, call, answer");
    assert_eq!(list[0].summary.as_deref(), Some("Made."));

    let mut rig = scene.open(Start::Resume(session)).await;
    assert_eq!(rig.heard_by_the_model(), heard);
    rig.go(RewindTo::Again, Rewound::Both).await;
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));
    rig.close().await;
}

#[tokio::test]
async fn the_model_is_told_of_files_that_went_back_alone() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    assert_eq!(rig.go(RewindTo::Last, Rewound::Files).await, None);
    assert_eq!(files(&scene), are([Some("one\n"), None, Some("old\n")]));
    play(&scene, [words("I see.")]);
    rig.turn("and now?").await;
    let sent = serde_json::to_string(&scene.model.last_request().messages).unwrap();
    assert!(sent.contains("took your changes of these files back: a, b, old"), "{sent}");
    assert!(sent.contains("change it"), "the conversation stayed");
    assert!(rig.plan(RewindTo::Again).await.is_err(), "something was said since");
    rig.close().await;
}

#[tokio::test]
async fn what_the_person_wrote_meanwhile_stays() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    scene.put("b", "mine");
    let plan = rig.plan(RewindTo::Last).await.unwrap();
    let left: Vec<&str> =
        plan.files.left().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(left, ["b"]);
    rig.go(RewindTo::Last, Rewound::Both).await;
    assert_eq!(files(&scene), are([Some("one\n"), Some("mine"), Some("old\n")]));
    rig.close().await;
}

#[tokio::test]
async fn what_changed_after_the_preview_is_shown_anew_and_not_done() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    let plan = rig.plan(RewindTo::Last).await.unwrap();
    scene.put("a", "mine\n");
    rig.tell(Command::Rewind { plan: plan.clone(), what: Rewound::Both }).await;
    let anew = rig.planned().await.unwrap();
    assert_ne!(anew.files, plan.files);
    assert_eq!(files(&scene), are([Some("mine\n"), Some("made"), None]));
    let is_rewind = |entry: &Entry| matches!(entry, Entry::Rewind(_));
    assert!(!rig.records().iter().any(|record| is_rewind(&record.entry)));
    rig.close().await;
}

#[tokio::test]
async fn a_log_that_ends_before_the_files_were_written_is_gone_on_from() {
    let scene = Scene::in_mode(Mode::Yolo);
    let mut rig = worked(&scene).await;
    rig.go(RewindTo::Last, Rewound::Both).await;
    let session = rig.id();
    rig.close().await;
    // As slug leaves it when it is killed right behind the announcement.
    let path = scene.store.log_path(session);
    let log = std::fs::read_to_string(&path).unwrap();
    let end = log.find("\"type\":\"rewind\"").unwrap();
    let end = end + log[end..].find('\n').unwrap() + 1;
    std::fs::write(&path, &log[..end]).unwrap();
    scene.put("a", "two\n");

    let mut rig = scene.open(Start::Resume(session)).await;
    let plan = rig.plan(RewindTo::Last).await.unwrap();
    let left: Vec<_> = plan.files.left().collect();
    assert!(left.is_empty(), "{left:?}");
    rig.go(RewindTo::Last, Rewound::Files).await;
    assert_eq!(files(&scene), are([None, None, Some("old\n")]));
    rig.close().await;
}

#[tokio::test]
async fn a_command_of_the_persons_own_is_covered_too() {
    let scene = Scene::in_mode(Mode::Ask);
    play(&scene, [words("Hello.")]);
    let mut rig = scene.open(Start::New).await;
    rig.turn("hello").await;
    rig.tell(Command::Shell { command: "write b made".into() }).await;
    rig.until("end", |event| matches!(event, Event::ToolEnded { .. })).await;
    let plan = rig.plan(RewindTo::Last).await.unwrap();
    assert_eq!(plan.files.files.len(), 1);
    assert_eq!(plan.files.files[0].act, Act::Remove);
    rig.close().await;
}

#[tokio::test]
async fn a_command_that_only_reads_is_not_looked_after() {
    let scene = Scene::in_mode(Mode::Yolo);
    play(&scene, [calls(&[("c1", "Bash", json!({"command": "cat a"}))]), words("Read.")]);
    let mut rig = scene.open(Start::New).await;
    rig.turn("read it").await;
    let of_files = |entry: &Entry| matches!(entry, Entry::FileChange(_) | Entry::NotCovered(_));
    assert!(!rig.records().iter().any(|record| of_files(&record.entry)));
    rig.close().await;
}

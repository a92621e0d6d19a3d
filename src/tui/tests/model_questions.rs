//! Tests of what the model asks: the rows, the keys, and what the agent gets.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{
    ApprovalId, CallId, QuestionAnswer, QuestionOption, QuestionRequest, UserQuestion,
};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, screen};

fn option(label: &str, description: &str, preview: &str) -> QuestionOption {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    QuestionOption { label: label.into(), description: text(description), preview: text(preview) }
}

fn store() -> UserQuestion {
    UserQuestion {
        question: "Which store should the price list use?".into(),
        header: "Store".into(),
        options: vec![
            option("SQLite", "one file, no server", "let db = Connection::open(\"prices.db\")?;"),
            option(
                "Postgres",
                "a server that other services may use too; it needs a migration, an address in the \
                 configuration, and somebody who looks after it",
                "",
            ),
            option("Keep the JSON file", "", ""),
        ],
        ..UserQuestion::default()
    }
}

fn extras() -> UserQuestion {
    UserQuestion {
        question: "What else?".into(),
        header: String::new(),
        options: vec![option("Logs", "", ""), option("Metrics", "", ""), option("Traces", "", "")],
        allows_several: true,
        ..UserQuestion::default()
    }
}

/// The event that asks these questions.
fn asked(id: u64, questions: Vec<UserQuestion>) -> AgentEvent {
    let call = CallId::new("c1");
    AgentEvent::QuestionsAsked(Box::new(QuestionRequest {
        id: ApprovalId(id),
        turn: TURN,
        call,
        questions,
    }))
}

/// The questions once they take answers.
fn open(width: u16, height: u16, questions: Vec<UserQuestion>) -> TestScreen {
    screen(width, height).event(asked(1, questions)).clear_effects().after(400)
}

fn answered(answers: &[(&[usize], Option<&str>)]) -> [ScreenEffect; 1] {
    let answers = answers.iter().map(|(chosen, text)| QuestionAnswer {
        chosen: chosen.to_vec(),
        text: text.map(str::to_owned),
        document: None,
    });
    let (id, answers) = (ApprovalId(1), answers.collect());
    [ScreenEffect::Agent(AGENT, AgentCommand::AnswerQuestions { id, answers })]
}

#[test]
fn a_question_80x24() {
    insta::assert_snapshot!(open(80, 24, vec![store(), extras()]).readable_text());
}

#[test]
fn a_question_120x40() {
    insta::assert_snapshot!(open(120, 40, vec![store(), extras()]).readable_text());
}

#[test]
fn a_question_200x60() {
    insta::assert_snapshot!(open(200, 60, vec![store(), extras()]).readable_text());
}

#[test]
fn several_answers_80x24() {
    insta::assert_snapshot!(open(80, 24, vec![extras()]).key("2").key("down").readable_text());
}

#[test]
fn own_words_80x24() {
    insta::assert_snapshot!(open(80, 24, vec![store()]).key("t").types("DuckDB").readable_text());
}

#[test]
fn a_question_on_a_small_screen_40x12() {
    insta::assert_snapshot!(open(40, 12, vec![store()]).key("down").readable_text());
}

#[test]
fn a_number_and_enter_take_an_answer() {
    open(80, 24, vec![store()]).key("2").expect_effects(&answered(&[(&[1], None)]));
    let scene = open(80, 24, vec![store()]).key("down").key("down");
    scene.key("enter").expect_effects(&answered(&[(&[2], None)]));
    // No answer has this number.
    open(80, 24, vec![store()]).key("7").expect_effects(&[]).shows("Which store");
}

#[test]
fn the_questions_of_a_call_follow_each_other_and_one_can_go_back() {
    let scene = open(80, 24, vec![store(), extras()]).shows("1 of 2").key("1");
    let scene = scene.shows("2 of 2").shows("What else?").hides("Which store").after(400);
    let scene = scene.key("left").shows("Which store").after(400).key("3").after(400);
    let scene = scene.key("1").key("3").key("1").key("2");
    scene.key("enter").expect_effects(&answered(&[(&[2], None), (&[1, 2], None)]));
}

/// A digit that is typed twice would otherwise answer a question that nobody has read.
#[test]
fn a_key_for_one_question_answers_no_other() {
    let scene = open(80, 24, vec![store(), store()]).key("1").key_at_once("2");
    scene.expect_effects(&[]).shows("2 of 2").after(400).key("2");
    screen(80, 24).event(asked(1, vec![store()])).clear_effects().key_at_once("1").shows("Which");
}

#[test]
fn own_words_go_with_the_options_only_where_several_answers_are_possible() {
    let scene = open(80, 24, vec![store()]).key("t").types("DuckDB").key("enter");
    scene.expect_effects(&answered(&[(&[], Some("DuckDB"))]));
    let scene = open(80, 24, vec![extras()]).key("2").key("t").types("a dashboard").key("enter");
    scene.expect_effects(&answered(&[(&[1], Some("a dashboard"))]));
    // An empty field says nothing, and Escape leaves it.
    let scene = open(80, 24, vec![store()]).key("t").key("enter").expect_effects(&[]);
    let scene = scene.shows("In my own words").key("t").key("esc").expect_effects(&[]);
    scene.key("n").expect_effects(&answered(&[(&[], None)]));
}

#[test]
fn a_question_that_is_withdrawn_goes_and_the_next_one_comes() {
    let scene = open(80, 24, vec![store()]).event(asked(2, vec![extras()]));
    let scene = scene.event(AgentEvent::ApprovalWithdrawn(ApprovalId(1)));
    scene.hides("Which store").shows("What else?");
}

const PLAN: &str = "# Faster price list\n\n1. Measure `load_prices` with the file of 40 MB\n2. Read line by \
     line in `src/prices.rs`\n3. Keep the old order\n\n**Risk:** the order of equal prices.\n\n- Verify with \
     `cargo test prices`\n- Verify the time with `cargo bench`\n";

fn plan() -> UserQuestion {
    UserQuestion {
        question: "Carry out this plan?".into(),
        header: "Plan".into(),
        options: vec![
            option("Yes, and ask before each change", "", ""),
            option("Yes, and allow edits in the workspace", "", ""),
            option("No, keep planning", "", ""),
        ],
        document: Some(PLAN.into()),
        ..UserQuestion::default()
    }
}

#[test]
fn a_plan_80x24() {
    insta::assert_snapshot!(open(80, 24, vec![plan()]).readable_text());
}

#[test]
fn a_plan_120x40() {
    insta::assert_snapshot!(open(120, 40, vec![plan()]).readable_text());
}

#[test]
fn a_plan_200x60() {
    insta::assert_snapshot!(open(200, 60, vec![plan()]).readable_text());
}

#[test]
fn a_plan_on_a_small_screen_60x14() {
    insta::assert_snapshot!(open(60, 14, vec![plan()]).key("pgdn").readable_text());
}

#[test]
fn a_plan_that_is_edited_80x24() {
    insta::assert_snapshot!(
        open(80, 24, vec![plan()]).key("e").types("4. Tell the team").readable_text()
    );
}

#[test]
fn a_plan_is_not_left_open_and_the_users_version_goes_with_the_yes() {
    let scene = open(120, 40, vec![plan()]).hides("Leave it to the model");
    let scene = scene.key("e").types("4. Tell the team").key("enter").expect_effects(&[]);
    let scene = scene.shows("4. Tell the team").key("1");
    let changed = format!("{PLAN}4. Tell the team");
    let answer = QuestionAnswer { chosen: vec![0], text: None, document: Some(changed) };
    let command = AgentCommand::AnswerQuestions { id: ApprovalId(1), answers: vec![answer] };
    scene.expect_effects(&[ScreenEffect::Agent(AGENT, command)]);
    // An edit that is given up changes nothing.
    let scene = open(80, 24, vec![plan()]).key("e").types("x").key("esc").key("t");
    let scene = scene.types("tests first").key("enter");
    scene.expect_effects(&answered(&[(&[], Some("tests first"))]));
}

/// What carries a plan out is taken once its end was on screen, as with a long command.
#[test]
fn a_long_plan_is_approved_once_its_end_was_seen() {
    let steps: String = (1..=90).map(|n| format!("- Step {n}\n")).collect();
    let long = || UserQuestion { document: Some(steps.clone()), ..plan() };
    let scene = open(80, 24, vec![long()]).shows("more lines to read first: pgdn");
    let scene = scene.key("1").key("enter").key("pgdn").key("2").expect_effects(&[]);
    let scene = scene.key("end").shows("Step 90").key("1");
    scene.expect_effects(&answered(&[(&[0], None)]));
    let scene = open(80, 24, vec![long()]).key("t").types("shorter").key("enter");
    scene.expect_effects(&answered(&[(&[], Some("shorter"))]));
}

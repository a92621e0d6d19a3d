//! EnterPlanMode and ExitPlanMode: planning before anything is changed, and the user's word on the plan.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, stopped_output};
use crate::domain::{
    PermissionMode, QuestionAnswer, QuestionOption, ToolAccess, ToolCapability, ToolDescriptor,
    ToolDisplay, ToolKind, ToolOutput, ToolSpec, UserQuestion,
};

/// The mode of the agent that a call runs for.
#[async_trait]
pub trait ModeControl: Send + Sync {
    /// The mode that holds now.
    fn mode(&self) -> PermissionMode;
    /// The mode that held before the present plan mode, if it was another.
    fn before_plan(&self) -> Option<PermissionMode>;
    /// Changes the mode, on record, and tells the front end.
    async fn set(&self, mode: PermissionMode);
}

/// The mode of a run in which it never changes.
pub struct FixedMode(pub PermissionMode);

#[async_trait]
impl ModeControl for FixedMode {
    fn mode(&self) -> PermissionMode {
        self.0
    }

    fn before_plan(&self) -> Option<PermissionMode> {
        None
    }

    async fn set(&self, _: PermissionMode) {}
}

/// Begins to plan. That takes rights away, so nobody is asked.
pub(super) struct EnterPlanModeTool;

/// The name of the tool that begins a plan.
pub(super) const ENTER_PLAN_MODE: &str = "EnterPlanMode";
/// The name of the tool that shows a plan.
pub const EXIT_PLAN_MODE: &str = "ExitPlanMode";

/// Ends planning, once the user agrees to the plan.
pub(super) struct ExitPlanModeTool;

const ENTER: InputShape =
    InputShape { tool: ENTER_PLAN_MODE, example: "{}", arguments: &[], place: "" };

const EXIT: InputShape = InputShape {
    tool: EXIT_PLAN_MODE,
    example: r#"{"plan": "First the tests, then the change, then the docs"}"#,
    arguments: &[("plan", &["text", "content"])],
    place: "",
};

static ENTER_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(ENTER.tool, ToolKind::Other, ToolCapability::Conversation).deferred();

static EXIT_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(EXIT.tool, ToolKind::Other, ToolCapability::Conversation).deferred();

#[async_trait]
impl Tool for EnterPlanModeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ENTER.tool.into(),
            description:
                "Starts plan mode: look around without changing anything, then send a plan with \
                          ExitPlanMode. For work whose approach the user should approve first."
                    .into(),
            input_schema: json!({"type": "object", "properties": {}}),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &ENTER_DESCRIPTOR
    }

    fn canonical_input(&self, input: Value) -> Value {
        ENTER.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        ArgumentReader::new(ENTER, input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, _input: Value) -> Result<ToolOutput, ToolError> {
        if context.mode.mode() == PermissionMode::Plan {
            return Ok(ToolOutput::text("This is plan mode already."));
        }
        context.mode.set(PermissionMode::Plan).await;
        Ok(ToolOutput::text(
            "This is plan mode now: change nothing. When the plan is ready, send it with ExitPlanMode.",
        )
        .with_summary("plan mode"))
    }
}

#[async_trait]
impl Tool for ExitPlanModeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: EXIT.tool.into(),
            description:
                "Shows the user your plan (Markdown: the files, the steps, the risks, how to \
                          verify it) and ends plan mode if they agree."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {"plan": {"type": "string"}},
                "required": ["plan"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &EXIT_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
        let first =
            plan.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|it| !it.is_empty());
        first.unwrap_or_default().to_owned()
    }

    fn canonical_input(&self, input: Value) -> Value {
        EXIT.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        plan(input).map(|_| vec![ToolAccess::AskUser])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let plan = plan(&input)?;
        if context.mode.mode() != PermissionMode::Plan {
            return Err(ToolError(
                "This is not plan mode, so there is no plan to agree to: go on with the work."
                    .into(),
            ));
        }
        let modes = modes_after(context.mode.before_plan());
        let asking = context.user.ask(vec![question(&plan, &modes)]);
        let answers = tokio::select! {
            biased;
            () = context.cancel.cancelled() => None,
            answers = asking => answers,
        };
        let Some(answer) = answers.and_then(|answers| answers.into_iter().next()) else {
            return Ok(stopped_output());
        };
        let mode = answer.chosen.first().and_then(|chosen| modes.get(*chosen));
        let Some(mode) = mode else { return Ok(refused(&answer)) };
        context.mode.set(*mode).await;
        Ok(approved(&plan, *mode, answer.document.as_deref()))
    }
}

/// The modes in which the user may let the plan be carried out.
fn modes_after(before: Option<PermissionMode>) -> Vec<PermissionMode> {
    let usual = [PermissionMode::Ask, PermissionMode::AllowEdits];
    let before = before.filter(|mode| !usual.contains(mode) && *mode != PermissionMode::Plan);
    usual.into_iter().chain(before).collect()
}

fn question(plan: &str, modes: &[PermissionMode]) -> UserQuestion {
    let option = |label: String, description: Option<&str>| QuestionOption {
        label,
        description: description.map(str::to_owned),
        preview: None,
    };
    let yes = |mode: &PermissionMode| {
        let label = match mode {
            PermissionMode::Ask => "Yes, and ask before each change".to_owned(),
            PermissionMode::AllowEdits => "Yes, and allow edits in the workspace".to_owned(),
            PermissionMode::Plan | PermissionMode::Sandbox | PermissionMode::Yolo => {
                format!("Yes, in the mode from before: {mode}")
            }
        };
        option(label, None)
    };
    let options = modes.iter().map(yes).chain([option("No, keep planning".to_owned(), None)]);
    UserQuestion {
        question: "Carry out this plan?".into(),
        header: "Plan".into(),
        options: options.collect(),
        document: Some(plan.to_owned()),
        ..UserQuestion::default()
    }
}

fn approved(plan: &str, mode: PermissionMode, changed: Option<&str>) -> ToolOutput {
    let changed = changed.filter(|text| text.trim() != plan.trim());
    let told = match changed {
        None => "The user agrees to the plan. Carry it out now.".to_owned(),
        Some(text) => format!(
            "The user has changed the plan and agrees to this version. Carry it out now.\n{text}"
        ),
    };
    ToolOutput::text(format!("{told}\n[mode: {mode}]"))
        .with_summary(format!("approved, {mode}"))
        .with_display(ToolDisplay::Terminal { text: changed.unwrap_or(plan).to_owned() })
        .with_output(json!({"approved": true, "mode": mode.name()}))
}

fn refused(answer: &QuestionAnswer) -> ToolOutput {
    let words = answer.text.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let told = match words {
        None => {
            "The user wants to go on planning. Ask what is missing, or look further.".to_owned()
        }
        Some(words) => format!("The user wants the plan changed: {words}"),
    };
    ToolOutput::text(told).with_summary("not yet").with_output(json!({"approved": false}))
}

fn plan(input: &Value) -> Result<String, ToolError> {
    let input = ArgumentReader::new(EXIT, input)?;
    let plan = input.text("plan")?;
    if plan.trim().is_empty() {
        return Err(input.wrong("`plan` is empty"));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::domain::ToolStatus;
    use crate::tools::AskUser;
    use crate::tools::testing::ToolTestEnv;

    struct ScriptedMode {
        mode: Mutex<PermissionMode>,
        before: Option<PermissionMode>,
    }

    #[async_trait]
    impl ModeControl for ScriptedMode {
        fn mode(&self) -> PermissionMode {
            *self.mode.lock().unwrap()
        }

        fn before_plan(&self) -> Option<PermissionMode> {
            self.before
        }

        async fn set(&self, mode: PermissionMode) {
            *self.mode.lock().unwrap() = mode;
        }
    }

    /// Answers with what is written here, and remembers what it was asked.
    struct ScriptedUser(QuestionAnswer, Mutex<Vec<UserQuestion>>);

    #[async_trait]
    impl AskUser for ScriptedUser {
        async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
            *self.1.lock().unwrap() = questions;
            Some(vec![self.0.clone()])
        }
    }

    const PLAN: &str = "# Faster parser\n1. Measure\n2. Change";

    async fn exit(
        mode: PermissionMode,
        before: Option<PermissionMode>,
        answer: QuestionAnswer,
    ) -> (Result<ToolOutput, ToolError>, PermissionMode, Vec<UserQuestion>) {
        let mut env = ToolTestEnv::new();
        let mode = Arc::new(ScriptedMode { mode: Mutex::new(mode), before });
        let user = Arc::new(ScriptedUser(answer, Mutex::default()));
        env.context.mode = mode.clone();
        env.context.user = user.clone();
        let output = env.run(&ExitPlanModeTool, json!({"plan": PLAN})).await;
        let asked = user.1.lock().unwrap().clone();
        (output, mode.mode(), asked)
    }

    fn chosen(option: usize) -> QuestionAnswer {
        QuestionAnswer { chosen: vec![option], ..QuestionAnswer::default() }
    }

    #[tokio::test]
    async fn a_plan_is_carried_out_in_the_mode_that_the_user_chooses() {
        let plan = PermissionMode::Plan;
        for (option, before, mode) in [
            (0, None, PermissionMode::Ask),
            (1, Some(PermissionMode::Ask), PermissionMode::AllowEdits),
            (2, Some(PermissionMode::Sandbox), PermissionMode::Sandbox),
        ] {
            let (output, now, asked) = exit(plan, before, chosen(option)).await;
            let output = output.unwrap();
            assert!(output.observation.starts_with("The user agrees to the plan."), "{output:?}");
            assert_eq!(now, mode);
            assert_eq!(asked[0].document.as_deref(), Some(PLAN));
        }
        assert_eq!(
            ExitPlanModeTool.call_title(&json!({"plan": PLAN}), Path::new("/w")),
            "Faster parser"
        );
    }

    #[tokio::test]
    async fn without_a_yes_it_stays_plan_mode() {
        let words =
            QuestionAnswer { text: Some("tests first".into()), ..QuestionAnswer::default() };
        for (answer, told) in [
            (chosen(2), "go on planning"),
            (chosen(9), "go on planning"),
            (QuestionAnswer::default(), "go on planning"),
            (words, "The user wants the plan changed: tests first"),
        ] {
            let (output, mode, _) = exit(PermissionMode::Plan, None, answer).await;
            assert!(output.unwrap().observation.contains(told), "{told}");
            assert_eq!(mode, PermissionMode::Plan);
        }
        // No mode that was not offered can be chosen.
        let (_, mode, _) = exit(PermissionMode::Plan, Some(PermissionMode::Plan), chosen(2)).await;
        assert_eq!(mode, PermissionMode::Plan);
    }

    #[tokio::test]
    async fn the_users_version_of_the_plan_counts() {
        let document = Some("1. Only measure".to_owned());
        let answer = QuestionAnswer { document, ..chosen(0) };
        let (output, ..) = exit(PermissionMode::Plan, None, answer).await;
        assert!(
            output
                .unwrap()
                .observation
                .contains("this version. Carry it out now.\n1. Only measure")
        );
    }

    #[tokio::test]
    async fn plan_mode_begins_without_a_question_and_a_plan_needs_it() {
        let (output, mode, asked) = exit(PermissionMode::Ask, None, chosen(1)).await;
        assert!(output.unwrap_err().0.contains("not plan mode"));
        assert!(asked.is_empty() && mode == PermissionMode::Ask);
        let mut env = ToolTestEnv::new();
        let mode = Arc::new(ScriptedMode { mode: Mutex::new(PermissionMode::Yolo), before: None });
        env.context.mode = mode.clone();
        let output = env.run(&EnterPlanModeTool, json!({})).await.unwrap();
        assert_eq!((output.status, mode.mode()), (ToolStatus::Done, PermissionMode::Plan));
        let again = env.run(&EnterPlanModeTool, json!({})).await.unwrap();
        assert!(again.observation.contains("already"));
    }

    #[test]
    fn a_plan_is_a_text() {
        for input in
            [json!({}), json!({"plan": " \n"}), json!({"plan": ["a"]}), json!({"pln": "a"})]
        {
            assert!(plan(&input).is_err(), "{input}");
        }
    }
}

//! The rename of Lsp without a gate and without a server: what is completed, shown, written and refused.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::lsp::LspTool;
use super::lsp_tests::ScriptedCode;
use super::testing::ToolTestEnv;
use super::{CodeAnswer, CodeEdit, CodeFileEdits, CodeOperation, Tool};
use crate::domain::{ContentHash, ToolAccess};

fn edits(env: &ToolTestEnv, name: &str, places: &[(usize, usize)]) -> CodeFileEdits {
    let edit = |&(start, end)| CodeEdit { start, end, text: "sum".into() };
    CodeFileEdits {
        path: env.path(name),
        content: ContentHash::of(&env.bytes(name)),
        edits: places.iter().map(edit).collect(),
    }
}

/// An environment with two files that a server would change, and what it is asked.
fn env_with_two() -> (ToolTestEnv, Arc<ScriptedCode>) {
    let mut env = ToolTestEnv::new();
    env.put("a.x", "let total = 1;\r\n");
    env.put("b.x", "😀 total\n");
    let edits = vec![edits(&env, "a.x", &[(4, 9)]), edits(&env, "b.x", &[(5, 10)])];
    let answer = Ok(CodeAnswer { edits, ..CodeAnswer::default() });
    let code = Arc::new(ScriptedCode { answer, asked: Mutex::default() });
    env.context.code = code.clone();
    (env, code)
}

fn call() -> Value {
    LspTool.canonical_input(json!({"operation": "renameSymbol", "filePath": "a.x",
        "symbol": "total", "newName": "sum"}))
}

async fn completed(env: &ToolTestEnv) -> Value {
    let context = env.context_for(&LspTool, &call()).unwrap();
    LspTool.find_changes(&context, &call()).await.unwrap()
}

#[tokio::test]
async fn a_rename_says_which_files_it_changes_once_the_server_has_said_so() {
    let (env, code) = env_with_two();
    assert!(LspTool.has_changes_to_find(&call()));
    let hover = json!({"operation": "hover", "file_path": "a.x", "symbol": "total"});
    assert!(!LspTool.has_changes_to_find(&hover));
    let input = completed(&env).await;
    let asked = code.asked.lock().unwrap().take().unwrap();
    assert_eq!((asked.operation, asked.name.as_str()), (CodeOperation::Rename, "sum"));
    let accesses = LspTool.access(&input, &env.context.place).unwrap();
    let writes: Vec<&Path> = accesses
        .iter()
        .filter(|it| matches!(it, ToolAccess::Write(_)))
        .filter_map(ToolAccess::path)
        .collect();
    assert_eq!(writes, [env.path("a.x"), env.path("b.x")]);
    let context = env.context_for(&LspTool, &input).unwrap();
    let first = LspTool.preview(&context, &input).await.unwrap().unwrap();
    let others = LspTool.other_previews(&context, &input).await.unwrap();
    assert_eq!((first.path, first.added), (env.path("a.x"), 1));
    assert_eq!(others.len(), 1);
    assert_eq!(LspTool.call_title(&input, &env.context.place.cwd), "rename total sum a.x");
}

#[tokio::test]
async fn all_files_are_written_and_the_model_knows_what_it_knew() {
    let (env, _) = env_with_two();
    env.seen("a.x");
    let input = completed(&env).await;
    let output = env.run(&LspTool, input).await.unwrap();
    assert_eq!(
        output.observation,
        "Renamed in 2 files (2 changed places):\na.x (+1 -1)\nb.x (+1 -1)"
    );
    assert_eq!(env.bytes("a.x"), b"let sum = 1;\r\n");
    assert_eq!(env.bytes("b.x"), "😀 sum\n".as_bytes());
    assert_eq!(env.effects.changes().len(), 2);
    let seen = |name: &str| env.context.reads.seen(&env.path(name));
    assert_eq!((seen("a.x"), seen("b.x")), (Some(ContentHash::of(b"let sum = 1;\r\n")), None));
}

#[tokio::test]
async fn files_that_cannot_be_written_leave_the_others_as_they_were() {
    let (env, _) = env_with_two();
    let input = completed(&env).await;
    // The grant for the second file is missing, so that its write fails after that of the first.
    let mut part = input.clone();
    part["changes"].as_array_mut().unwrap().pop();
    let mut context = env.context_for(&LspTool, &part).unwrap();
    context.effects = env.effects.clone();
    let error = LspTool.run(&context, input).await.unwrap_err().0;
    assert!(error.contains("b.x is nothing that this call was approved for"), "{error}");
    assert!(error.ends_with("The other files have their old content. Repeat the call."), "{error}");
    assert_eq!(env.bytes("a.x"), b"let total = 1;\r\n");
    assert_eq!(env.effects.changes(), []);
}

#[tokio::test]
async fn what_cannot_be_renamed_is_refused_before_anything_is_written() {
    let (env, code) = env_with_two();
    for (change, part) in [
        (json!({"new_name": ""}), "`new_name` must be"),
        (json!({"new_name": "a\nb"}), "`new_name` must be"),
        (json!({"symbol": "nothing"}), "is not in the file"),
    ] {
        let mut input = call();
        input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let context = env.context_for(&LspTool, &call()).unwrap();
        let error = LspTool.find_changes(&context, &input).await.unwrap_err().0;
        assert!(error.contains(part), "{error}");
    }
    let outside = |path: &str| CodeFileEdits {
        path: path.into(),
        content: ContentHash::of(b""),
        edits: vec![CodeEdit { start: 0, end: 0, text: "x".into() }],
    };
    let hidden = env.path("secret.x");
    for (path, part) in [
        ("/elsewhere/a.x", "outside the workspace"),
        (hidden.to_str().unwrap(), "does not let you read"),
    ] {
        let answer = Ok(CodeAnswer { edits: vec![outside(path)], ..CodeAnswer::default() });
        let mut context = env.context_for(&LspTool, &call()).unwrap();
        context.code = Arc::new(ScriptedCode { answer, asked: Mutex::default() });
        let error = LspTool.find_changes(&context, &call()).await.unwrap_err().0;
        assert!(error.contains(part), "{error}");
    }
    let mut context = env.context_for(&LspTool, &call()).unwrap();
    let answer = Ok(CodeAnswer::default());
    context.code = Arc::new(ScriptedCode { answer, asked: Mutex::default() });
    let error = LspTool.find_changes(&context, &call()).await.unwrap_err().0;
    assert!(error.contains("would change nothing"), "{error}");
    drop(code);
    for changes in
        [json!("x"), json!([{"file_path": "a.x", "content": "", "edits": []}]), json!([1])]
    {
        let mut input = call();
        input["changes"] = changes;
        let error = LspTool.access(&input, &env.context.place).unwrap_err().0;
        assert!(error.contains("leave out `changes`"), "{error}");
    }
    let hover = json!({"operation": "hover", "file_path": "a.x", "symbol": "total", "changes": []});
    let error = LspTool.access(&hover, &env.context.place).unwrap_err().0;
    assert!(error.contains("`changes` is not for hover"), "{error}");
}

#[tokio::test]
async fn edits_that_do_not_fit_the_text_change_nothing() {
    let (env, _) = env_with_two();
    let input = completed(&env).await;
    for edits in [json!([[1, 99, "x"]]), json!([[9, 4, "x"]]), json!([[4, 9, "x"], [5, 6, "y"]])] {
        let mut input = input.clone();
        input["changes"][0]["edits"] = edits;
        let error = env.run(&LspTool, input).await.unwrap_err().0;
        assert!(error.contains("Nothing was changed in any file"), "{error}");
    }
    assert_eq!(env.bytes("a.x"), b"let total = 1;\r\n");
}

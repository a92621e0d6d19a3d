//! Files that define agents: those of other agents as they are, and wrong, huge and hostile ones.

use std::path::Path;

use super::*;
use crate::domain::ReasoningEffort;

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(folder: &Path) -> FoundSubagents {
    read_subagents(&SubagentPlaces {
        slug_home: folder.join("home/.slug"),
        user_home: Some(folder.join("home")),
        project: Some(folder.join("project")),
    })
}

fn kind<'a>(found: &'a FoundSubagents, name: &str) -> &'a SubagentType {
    found.types.get(Some(name)).unwrap()
}

fn names(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn files_of_four_agents_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| put(folder.path(), name, text);
    at(
        "home/.claude/agents/deep/critic.md",
        "---\nname: critic\ndescription: |\n  Reviews code.\n  Use it: often.\ntools:\n  - Read\n  - \
         Bash(git *)\nmodel: opus\neffort: high\nhooks:\n  Stop:\n    - x\n---\n\nBe strict.\n",
    );
    at(
        "project/.opencode/agent/docs.md",
        "---\ndescription: 'Writes docs'\nmode: subagent\n\
         model: anthropic/claude\npermission:\n  edit: deny\n  bash: ask\ntools:\n  webfetch: false\n---\nWrite.",
    );
    at(
        "project/.codex/agents/a.toml",
        "name = \"cx\"\ndescription = \"d\"\n\
         developer_instructions = \"Do it.\"\nsandbox_mode = \"read-only\"\n",
    );
    at(
        "home/.slug/agents/mine.md",
        "---\ndescription: mine\nbudget: 200k tokens\nsteps: 7\n\
         deadline_minutes: 5\nbackground: true\n---\n",
    );
    let found = read(folder.path());
    let [warning] = &*found.warnings else { panic!("{:?}", found.warnings) };
    assert!(
        warning.contains("does not get the tool Bash") && warning.contains("critic.md"),
        "{warning}"
    );
    let critic = kind(&found, "critic");
    assert_eq!(critic.tools.only, names(&["Read"]));
    assert_eq!(critic.tools.without, ["Bash"]);
    assert_eq!((critic.model.as_deref(), critic.effort), (None, Some(ReasoningEffort::High)));
    assert_eq!(critic.description, "Reviews code. Use it: often.");
    assert_eq!(critic.instructions, "Be strict.");
    let docs = kind(&found, "docs");
    assert_eq!(docs.tools.without, ["webfetch", "Edit", "Write", "NotebookEdit"]);
    assert_eq!(docs.model.as_deref(), Some("anthropic/claude"));
    let cx = kind(&found, "cx");
    assert!(cx.is_read_only && cx.instructions == "Do it.");
    let mine = kind(&found, "mine");
    assert_eq!((mine.budget.tokens, mine.rounds), (Some(200_000), 7));
    assert_eq!((mine.deadline.as_secs(), mine.in_background), (300, true));
}

type ListedNames = &'static [&'static str];

#[test]
fn what_a_file_denies_is_taken_and_what_cannot_be_held_is_not_given() {
    let gone = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let bash: ListedNames = &["Bash", "BashOutput", "KillBash"];
    let all = None;
    let cases: [(&str, Option<ListedNames>, ListedNames, &str); 15] = [
        ("permission: {bash: {\"*\": deny}}", all, bash, ""),
        ("permission: {bash: {\"*\": deny, \"git *\": allow}}", all, bash, "permission.bash"),
        ("permission: {bash: {\"rm *\": deny, \"*\": allow}}", all, bash, "permission.bash"),
        ("permission: {bash: {\"*\": ask, \"git *\": allow}}", all, &[], ""),
        ("permission: {\"*\": deny, read: allow}", Some(&["read"]), &[], ""),
        ("permission: {read: allow, \"*\": deny}", Some(&[]), &[], ""),
        ("permission: {bash: deny, \"*\": allow}", all, bash, ""),
        ("permission: deny", Some(&[]), &[], ""),
        ("permission: allow", all, &[], ""),
        (
            "permission: {task: deny, \"files_*\": deny}",
            all,
            &["task", "files_*", "mcp__files_*"],
            "",
        ),
        ("tools: Read, Bash\npermission: {\"*\": deny, read: ask}", Some(&["Read"]), &[], ""),
        ("tools: Read, Bash(git *)", Some(&["Read"]), &["Bash"], "Bash(git *)"),
        ("tools: Read, Bash(*)", Some(&["Read", "Bash"]), &[], ""),
        ("tools: Bash, Bash(git *)", Some(&["Bash"]), &["Bash"], "Bash(git *)"),
        ("disallowedTools: Bash(rm *), Write", all, &["Bash", "Write"], "Bash(rm *)"),
    ];
    for (head, only, without, warned) in cases {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("---\ndescription: d\n{head}\n---\nDo it.\n");
        put(folder.path(), "project/.opencode/agent/x.md", &text);
        let found = read(folder.path());
        let tools = &kind(&found, "x").tools;
        assert_eq!(tools.only, only.map(gone), "{head}");
        assert_eq!(tools.without, gone(without), "{head}");
        assert_eq!(found.warnings.len(), usize::from(!warned.is_empty()), "{:?}", found.warnings);
        assert!(found.warnings.iter().all(|it| it.contains(warned)), "{:?}", found.warnings);
    }
}

#[test]
fn a_project_stands_above_the_user_and_counts_only_with_trust() {
    let folder = tempfile::tempdir().unwrap();
    let file = |text: &str| format!("---\ndescription: {text}\n---\n");
    put(folder.path(), "project/.slug/agents/explore.md", &file("of the project"));
    put(folder.path(), "home/.slug/agents/explore.md", &file("of the user"));
    assert_eq!(kind(&read(folder.path()), "explore").description, "of the project");
    let places = SubagentPlaces {
        slug_home: folder.path().join("home/.slug"),
        user_home: None,
        project: None,
    };
    let untrusted = read_subagents(&places);
    assert_eq!(kind(&untrusted, "explore").description, "of the user");
    let paths = project_agent_files(&folder.path().join("project"));
    assert_eq!(paths, [Path::new(".slug/agents/explore.md")]);
}

#[test]
fn what_is_wrong_is_left_out_with_a_warning_and_documents_without() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| put(folder.path(), name, text);
    at("project/.claude/agents/README.md", "# How to write agents\n");
    at("project/.claude/agents/unnamed.md", "---\ndescription: a document\n---\n");
    at("project/.slug/agents/none.md", "---\ndescription: d\ntools: []\n---\n");
    at("project/.slug/agents/bare.md", "---\nname: x\n---\n");
    at("project/.slug/agents/named.md", "---\nname: \"a\\nb\"\ndescription: d\n---\n");
    at("project/.slug/agents/zero.md", "---\ndescription: d\nmaxTurns: 0\n---\n");
    at("project/.codex/agents/broken.toml", "name = [");
    at("project/.slug/agents/off.md", "---\ndescription: d\ndisable: true\n---\n");
    std::fs::create_dir_all(folder.path().join("project/.slug/agents/folder.md")).unwrap();
    std::fs::write(folder.path().join("project/.slug/agents/bytes.md"), [0, 159, 146]).unwrap();
    let found = read(folder.path());
    assert_eq!(found.types, SubagentTypes::default());
    assert_eq!(found.warnings.len(), 6, "{:#?}", found.warnings);
    assert!(found.warnings.iter().any(|it| it.contains("its list of `tools` is empty")));
}

#[test]
fn huge_files_and_links_in_a_circle_end() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join("project/.slug/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::os::unix::fs::symlink(&agents, agents.join("circle")).unwrap();
    let huge = format!("---\ndescription: d\n---\n{}", "x".repeat(1 << 20));
    std::fs::write(agents.join("huge.md"), huge).unwrap();
    crate::domain::testing::make_fifo(&agents.join("fifo.md"));
    let found = read(folder.path());
    assert!(kind(&found, "huge").instructions.len() <= 256 * 1024);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

#[test]
fn no_link_of_a_project_leads_to_a_file_outside() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join("project/.slug/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let outside = folder.path().join("outside.md");
    std::fs::write(&outside, "---\ndescription: d\n---\nA secret.").unwrap();
    std::os::unix::fs::symlink(&outside, agents.join("link.md")).unwrap();
    assert_eq!(read(folder.path()).types, SubagentTypes::default());
    std::fs::copy(&outside, agents.join("own.md")).unwrap();
    assert_eq!(kind(&read(folder.path()), "own").instructions, "A secret.");
}

#[test]
fn any_head_ends_and_a_file_without_one_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join("project/.slug/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let texts = [
        "",
        "---",
        "---\n",
        "---\nname: x",
        "name: x\n---\n",
        "---\n---\n",
        "---\n: :\n[\n- \n  x\n---\nbody",
    ];
    for (number, text) in texts.into_iter().enumerate() {
        std::fs::write(agents.join(format!("{number}.md")), text).unwrap();
    }
    assert_eq!(read(folder.path()).types, SubagentTypes::default());
    let windows = "---\r\nname: x\r\ndescription: d\r\n---\r\nbody\r\n";
    std::fs::write(agents.join("windows.md"), windows).unwrap();
    assert_eq!(kind(&read(folder.path()), "x").instructions, "body");
}

#[test]
fn names_of_other_agents_are_known_and_the_note_tells_of_files_alone() {
    let types = SubagentTypes::default();
    for (name, own) in [("general-purpose", "general"), ("Explore", "explore"), ("", "general")] {
        assert_eq!(types.get(Some(name)).unwrap().name, own);
    }
    assert_eq!(types.note(), None);
    let error = types.get(Some("poet")).unwrap_err();
    assert!(error.ends_with("The types are general, explore, plan, review."), "{error}");
}

//! Holds each place that slug takes skills, commands, agents and its configuration from to be a protected
//! one, and rules to know the names of all tools: no room but this knows both lists.

use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::domain::RuleKind;
use crate::permissions::{RuleSet, Workspace};
use crate::skills::PromptPlaces;
use crate::subagents::SubagentPlaces;

/// A home folder that is the workspace, too, and what slug reads in it.
struct PowerPlaces {
    top: TempDir,
    home: PathBuf,
}

impl PowerPlaces {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().canonicalize().unwrap().join("home");
        create_dir_all(home.join("project")).unwrap();
        Self { top, home }
    }

    /// The folders that skills, commands and agents are taken from.
    fn folders(&self) -> Vec<PathBuf> {
        let (user_home, slug_home) = (Some(self.home.clone()), self.home.join(".slug"));
        let project = self.home.join("project");
        let prompts = PromptPlaces {
            user_home: user_home.clone(),
            slug_home: slug_home.clone(),
            project: vec![project.clone()],
            reserved: Vec::new(),
        };
        let agents = SubagentPlaces { slug_home, user_home, project: Some(project) };
        prompts.folders().into_iter().chain(agents.folders()).collect()
    }

    fn workspaces(&self) -> [Workspace; 2] {
        [self.home.clone(), self.home.join("project")].map(|root| {
            Workspace::new(root, Vec::new(), Some(self.home.clone()), self.home.join(".slug"))
        })
    }
}

fn is_protected(workspace: &Workspace, path: &Path) -> bool {
    workspace.resolve(path, workspace.root()).protected.is_some()
}

#[test]
fn each_place_that_skills_commands_and_agents_come_from_is_protected() {
    let places = PowerPlaces::new();
    for workspace in places.workspaces() {
        let folders = places.folders();
        assert!(folders.len() > 20, "{folders:?}");
        for folder in folders {
            for path in [&folder, &folder.join("new.md"), &folder.join("deep/SKILL.md")] {
                assert!(is_protected(&workspace, path), "{} at {workspace:?}", path.display());
            }
        }
        let plain = places.home.join("notes/new.md");
        assert!(!is_protected(&workspace, &plain));
    }
}

#[test]
fn what_a_link_in_such_a_place_of_the_user_leads_to_is_protected() {
    let places = PowerPlaces::new();
    let of_project = places.home.join("project");
    let folders: Vec<PathBuf> =
        places.folders().into_iter().filter(|it| !it.starts_with(&of_project)).collect();
    for (at, folder) in folders.iter().enumerate() {
        create_dir_all(folder).unwrap();
        let target = places.home.join(format!("work/{at}"));
        create_dir_all(&target).unwrap();
        std::os::unix::fs::symlink(&target, folder.join("linked")).unwrap();
    }
    for workspace in places.workspaces() {
        for (at, folder) in folders.iter().enumerate() {
            let target = places.home.join(format!("work/{at}/SKILL.md"));
            assert!(is_protected(&workspace, &target), "by a link in {}", folder.display());
        }
    }
}

#[test]
fn a_named_configuration_is_protected_by_its_name_and_its_real_path() {
    let places = PowerPlaces::new();
    let root = places.home.join("project");
    let outside = places.top.path().canonicalize().unwrap();
    let real = root.join("settings/real.toml");
    create_dir_all(root.join("settings")).unwrap();
    write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, root.join("linked.toml")).unwrap();
    std::os::unix::fs::symlink(&real, outside.join("far.toml")).unwrap();
    let [_, workspace] = places.workspaces();
    assert!(!is_protected(&workspace, &real));
    let named = |file: PathBuf| workspace.clone().with_config_file(&file);
    for (file, protected) in [
        (real.clone(), vec![real.clone()]),
        (root.join("linked.toml"), vec![real.clone(), root.join("linked.toml")]),
        (outside.join("far.toml"), vec![real]),
        (root.join("src/../new.toml"), vec![root.join("new.toml")]),
    ] {
        let workspace = named(file.clone());
        for path in protected {
            assert!(is_protected(&workspace, &path), "{file:?}: {}", path.display());
        }
        assert!(!is_protected(&workspace, &root.join("settings/other.toml")));
    }
}

#[test]
fn rules_know_each_tool_and_the_names_that_other_agents_have_for_it() {
    let workspace = &PowerPlaces::new().workspaces()[0];
    let registry = super::build::tool_registry().unwrap();
    let others = ["Task", "task", "TASK"].map(|other| (other.to_owned(), "Agent".to_owned()));
    let own = registry.names().into_iter().map(|name| (name.to_lowercase(), name));
    for (written, tool) in own.chain(others) {
        let mut rules = RuleSet::new();
        let settings = format!(r#"{{"permissions":{{"deny":["{written}"]}}}}"#);
        rules.add_settings(&settings, Path::new("settings.json"), workspace);
        assert_eq!(rules.warnings(), [], "{written}");
        assert_eq!(rules.sources().next().unwrap().kind, RuleKind::Deny);
        // Rules on files are on what is done to a file, whichever tool does it.
        let is_on_files = ["Read", "Edit", "Write", "Glob", "Grep", "NotebookEdit"];
        let is_on_files = is_on_files.contains(&tool.as_str());
        assert!(is_on_files || rules.denies_tool(&tool), "{written}: {tool}");
    }
    let mut rules = RuleSet::new();
    let settings = r#"{"permissions":{"deny":["Tsk","Read( .env )"]}}"#;
    rules.add_settings(settings, Path::new("settings.json"), workspace);
    assert_eq!((rules.warnings().len(), rules.faults().len()), (2, 0));
    assert_eq!(rules.sources().count(), 2, "neither is dropped");
}

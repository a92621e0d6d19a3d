//! Published packages of skills and commands, as `tests/skills/packages.sh` unpacks them: all that can be
//! loaded is, and each warning is printed to be looked at.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use slug_code::skills::{PromptLibrary, PromptLibraryReport, PromptPlaces};

/// A home folder whose `.claude` has the folders of a package.
fn load(package: &Path, skills: &str, commands: &str) -> PromptLibraryReport {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".claude")).unwrap();
    for (folder, name) in [(skills, "skills"), (commands, "commands")] {
        symlink(package.join(folder), home.path().join(".claude").join(name)).unwrap();
    }
    let places = PromptPlaces {
        user_home: Some(home.path().to_owned()),
        slug_home: home.path().join(".slug"),
        ..PromptPlaces::default()
    };
    PromptLibrary::read(&places).report()
}

#[test]
#[ignore = "tests/skills/packages.sh unpacks the packages"]
fn published_skills_and_commands_are_loaded() {
    let folder = PathBuf::from(std::env::var_os("SLUG_SKILL_PACKAGES").unwrap());
    for (name, skills, commands, wanted) in [
        ("oh-my-claude-sisyphus", "skills", "commands", (43, 21)),
        ("bmad-method", "src", "none", (50, 0)),
        ("get-shit-done-cc", "none", "commands", (0, 60)),
    ] {
        println!("== {name}");
        let report = load(&folder.join(name).join("package"), skills, commands);
        for warning in report.warnings() {
            println!("{warning}");
        }
        let rows = report.rows.iter().filter(|row| row.origin == "yours");
        let (of_skills, of_commands): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_skill);
        println!("{} skills, {} commands", of_skills.len(), of_commands.len());
        assert_eq!(of_skills.len() + report.refused.len(), wanted.0, "{name}");
        assert_eq!(of_commands.len(), wanted.1, "{name}");
        assert!(report.rows.iter().all(|row| !row.description.contains('\n')));
    }
}

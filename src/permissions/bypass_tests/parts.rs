//! Parts: what one part of a command line changes, a later part finds changed; and the options
//! around a command that is run act, too.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// A workspace with links that lead out of it, one of them in a folder.
fn with_links(env: BypassTestEnv) -> BypassTestEnv {
    let root = env.workspace.root();
    let outside = env.workspace.home().unwrap().join("outside");
    for folder in [&outside, &root.join("d"), &root.join("plain")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(outside.join("f"), "").unwrap();
    std::fs::write(root.join("plain/a.txt"), "").unwrap();
    symlink(&outside, root.join("d/out")).unwrap();
    symlink("../../outside/f", root.join("d/file")).unwrap();
    env
}

#[test]
fn a_folder_that_is_entered_may_be_a_link_by_then() {
    let names = ["git", "npm", "grep", "make", "jq", "sort"];
    let rules = names.iter().map(|name| format!("Bash({name} *)"));
    let env = with_links(
        rules.fold(BypassTestEnv::new(PermissionMode::Ask), |env, rule| env.allow(&rule)),
    );
    env.all(
        Ask,
        &[
            "git checkout evil && cd d && git reset --hard",
            "git checkout evil && cd d && git commit -m x",
            "git checkout evil && cd d && npm test",
            "git checkout evil && cd d && grep -r K",
            "git pull && cd plain && make",
            "git stash pop && pushd d && git log",
            "sh -c 'git checkout evil && cd d && ls'",
            "git checkout evil && jq -R . d/id_test",
            "git checkout evil && make -f d/Makefile",
            "sort src/x && cd d && npm test & git checkout evil",
            "(cd d && npm test) | git checkout evil",
        ],
    );
    env.all(
        Allow,
        &[
            "cd plain && git checkout main && git status",
            "cd plain && git log && npm test",
            "git fetch && cd plain && make",
            "git checkout main && npm test",
        ],
    );
}

#[test]
fn what_may_move_links_does_not_go_on_in_the_background() {
    let names = ["git", "sort", "ln", "mv"];
    let rules = names.iter().map(|name| format!("Bash({name} *)"));
    let env = with_links(
        rules.fold(BypassTestEnv::new(PermissionMode::Ask), |env, rule| env.allow(&rule)),
    );
    env.all(
        Ask,
        &[
            "git checkout evil &",
            "git show main:big | sort | tail -1 && git checkout evil &",
            "git pull & git status",
            "(git checkout evil) &",
            "mv d z &",
        ],
    );
    env.all(Allow, &["git log &", "git fetch & git status"]);
}

#[test]
fn a_job_is_judged_as_if_all_of_it_stood_before_an_ampersand() {
    let env = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(cp *)").allow("Bash(npm *)");
    let env = with_links(env.allow("Bash(git checkout *)").allow("Edit"));
    for command in [
        "sort src/x",
        "md5sum huge && echo x > new/x/rc",
        "cp huge plain/x",
        "git checkout x",
        "md5sum huge && cd plain && npm test",
        "cat plain/a.txt",
        "npm run build && npm --prefix plain test",
        "npm run build; npm test plain/a.txt",
    ] {
        assert_eq!(env.outcome_in_background(command), Ask, "{command}");
    }
    for command in [
        "npm run dev",
        "npm run dev > log 2>&1",
        "cd plain && npm run dev > log",
        "npm run build | grep x > log",
        "npm run build && npm run dev",
    ] {
        assert_eq!(env.outcome_in_background(command), Allow, "{command}");
    }
}

#[test]
fn what_goes_on_in_the_background_is_not_judged_by_where_its_paths_lead_now() {
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits] {
        let env = BypassTestEnv::new(mode).allow("Bash(cp *)").allow("Bash(npm *)").allow("Edit");
        let env = with_links(env.allow("Bash(timeout *)"));
        env.all(
            Ask,
            &[
                "sort src/x &",
                "md5sum huge && cat new/x/key > out.txt &",
                "md5sum huge && echo x > new/x/rc &",
                "md5sum huge; cat a > out.txt & ls",
                "md5sum huge || echo x > new/x/rc &",
                "md5sum huge plain/a.txt &",
                "md5sum huge && cp a plain/x &",
                "cp huge plain/x &",
                "md5sum huge && cd plain && npm test &",
                "md5sum huge && cd plain && npm test > log &",
                "timeout 9 md5sum huge plain/a.txt &",
                "ls | cat - plain/a.txt &",
                "cat plain/a.txt & cat plain/a.txt",
            ],
        );
        env.all(
            Allow,
            &[
                "npm run dev &",
                "npm run dev > log 2>&1 &",
                "cd plain && npm run dev > log &",
                "npm run build | grep x > log &",
                "npm run build && npm run dev &",
                "ls & cat plain/a.txt",
            ],
        );
    }
}

#[test]
fn a_target_that_another_part_makes_or_removes_is_a_folder_and_is_none() {
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits] {
        let names = ["rm", "rmdir", "mkdir", "mv", "cp", "tee", "touch", "git"];
        let rules = names.iter().map(|name| format!("Bash({name} *)"));
        let env = with_links(
            rules
                .fold(BypassTestEnv::new(mode), |env, rule| env.allow(&rule))
                .allow("Edit(src/**)"),
        );
        env.all(
            Ask,
            &[
                "rm -r plain && mv d plain && cat plain/out/f",
                "rm -rf plain; mv d plain; cat plain/file",
                "rm -r plain & mv d plain; head plain/file",
                "rm -r plain && mv d plain && ls plain/out",
                "rm -r plain && mv d plain && cd plain/out && cat f",
                "rm -r plain && mv d plain && echo x > plain/out/new",
                "rm -r plain && mv d plain && cp src/a plain/file",
                "rm -r plain && mv d plain && touch plain/out/new",
                "rm -r plain && mv d plain && rm plain/out/f",
                "rm -r src/e && mv d src/e && echo x > src/e/file",
                "git rm -rq plain && git mv d plain && cat plain/file",
                "git rm -rq plain && mv d plain && cat plain/file",
                "mv plain p && mv d plain && cat plain/file",
                "git mv plain src && mv d plain && cat plain/file",
                "mkdir m && cp src/config.toml m && mv m mise",
                "cp src/config.toml plain && mv plain mise",
                "touch plain/config.toml; git mv plain mise",
                "echo x > plain/config.toml && mv plain mise",
            ],
        );
        env.all(
            Allow,
            &[
                "rm -r plain && mv src plain",
                "mkdir -p out && cp src/a out && cat src/a",
                "mkdir out && cp src/a . && rm src/b",
                "mkdir -p out && mv plain out && ls src",
                "mv d plain && cat plain/a.txt",
                "cat d/out-of-date; mv d z",
            ],
        );
    }
}

#[test]
fn a_pathspec_that_only_git_understands_is_asked() {
    let env = with_links(BypassTestEnv::new(PermissionMode::Ask)).allow("Bash(git *)");
    env.all(
        Ask,
        &[
            "git checkout evil -- '.v*'",
            "git checkout evil -- 'lock*'",
            "git rm -r '.g*'",
            "git rm -rf ':/'",
            "git restore --source=evil ':/'",
            "git mv ':(top)a' b",
            "git stash -u",
            "git stash --include-untracked",
            "git stash -a",
            "git stash push -u",
        ],
    );
    env.all(Allow, &["git checkout main", "git stash", "git reset HEAD~1"]);
}

#[test]
fn a_link_is_not_followed_to_where_another_part_puts_it() {
    let all = ["mv", "git", "touch", "cp", "cat", "tee"];
    let rules = all.iter().map(|name| format!("Bash({name} *)"));
    let env = with_links(
        rules.fold(BypassTestEnv::new(PermissionMode::Ask), |env, rule| env.allow(&rule)),
    );
    env.all(
        Ask,
        &[
            "mv d z && cat z/out/f",
            "mv d/file r && cat r",
            "mv d plain && cat plain/d/out/f",
            "mv d z; touch z/out/new",
            "mv d z && cp plain/a.txt z/out/x",
            "mv d z && echo x > z/out/f",
            "mv d z && cd z/out && cat f",
            "cat z/out/f | mv d z",
            "for i in 1 2; do cat z/out/f; mv d z; done",
            "git mv d z && cat z/out/f",
            "git checkout -q other && cat new/f",
            "git checkout other && touch new/f",
            "git pull && cat README.md",
            "git reset --hard && cd new && cat f",
        ],
    );
    env.all(
        Allow,
        &[
            "mv plain/a.txt b.txt && cat b.txt",
            "mv plain z && cat src/x",
            "git add src && git status",
            "git checkout other && git status",
            "git fetch && cat plain/a.txt",
        ],
    );
}

#[test]
fn a_program_is_not_run_after_what_was_hashed_of_it_is_changed() {
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits] {
        let mut env = BypassTestEnv::new(mode).allow("Bash(cp *)").allow("Bash(git *)");
        let program = env.workspace.root().join("bin/lint");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", env.workspace.root().join("bin").display());
        env.workspace = env.workspace.clone().with_search_path(path.as_ref());
        let hash = crate::domain::ContentHash::of(b"#!/bin/sh\n");
        let rule = format!("Bash(./bin/lint@sha256:{} src)", &hash.as_str()[..24]);
        let env = env.allow(&rule);
        env.all(Allow, &["lint src", "cp src/a src/b && lint src", "cat src/a | lint src"]);
        assert_eq!(env.outcome_in_background("lint src"), Allow);
        assert_eq!(env.outcome_in_background("echo x; lint src"), Ask);
        env.all(
            Ask,
            &[
                "echo x > bin/lint && lint src",
                "cp src/a bin/lint && lint src",
                "cp src/lint bin && lint src",
                "lint src; lint src > bin/lint",
                "git checkout other && lint src",
            ],
        );
    }
}

#[test]
fn other_actions_of_find_are_asked_about() {
    let env = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(find *)").allow("Bash(fd *)");
    let env = env.allow("Bash(cat *)").allow("Bash(cp *)").allow("Bash(python3 *)");
    env.all(
        Ask,
        &[
            "find src -exec cat a ';' -delete",
            "find . -maxdepth 0 -exec cat a ';' -fprintf .git/config x",
            "find /etc -name shadow -execdir cat shadow ';'",
            "find . -name HEAD -execdir cp /x/a config ';'",
            "find .. -execdir python3 x.py ';'",
            "find . -exec cat a +",
            "fd -x cat",
        ],
    );
    env.all(Allow, &["find src -name x"]);
    let yolo = BypassTestEnv::new(PermissionMode::Yolo);
    yolo.all(Ask, &["find . -fprintf .slug/settings.json x -exec cat a ';' -print"]);
    let exact = BypassTestEnv::new(PermissionMode::Ask)
        .allow("Bash(find . -exec cat a ';')")
        .allow("Bash(cat *)");
    exact.all(Allow, &["find . -exec cat a ';'"]);
}

#[test]
fn an_option_that_moves_the_folder_is_seen_in_a_bundle() {
    let env = BypassTestEnv::new(PermissionMode::Ask);
    let rules = ["Bash(env *)", "Bash(tee *)", "Bash(npm *)", "Bash(sudo *)", "Bash(make *)"];
    let env = rules.iter().fold(env, |env, rule| env.allow(rule));
    env.all(
        Ask,
        &[
            "env -C .. tee x",
            "env -iC .. tee x",
            "env -iC/ tee x",
            "env -viC .. npm test",
            "nice env -iC .. tee x",
            "sudo -D .. npm test",
            "sudo -nD .. npm test",
            "sudo -nD/ npm test",
            "make -kC .. x",
        ],
    );
    env.all(Allow, &["env -i tee x", "env -iC src tee x", "sudo -nD src npm test"]);
    let yolo = BypassTestEnv::new(PermissionMode::Yolo);
    yolo.all(Ask, &["sudo -D.git touch x", "env -iC.git touch x"]);
}

#[test]
fn deny_rules_find_what_fd_runs_however_its_option_is_written() {
    let env = BypassTestEnv::new(PermissionMode::Yolo).deny("Bash(rm *)");
    let ways = ["-x rm", "-Hx rm", "-xrm", "-X rm", "--exec=rm", "--exec rm", "--exec-batch=rm"];
    for way in ways {
        env.all(Deny, &[&format!("fd a {way}"), &format!("fd -x ls ';' {way}")]);
    }
}

#[test]
fn a_redirection_that_sets_a_variable_hides_no_command() {
    let env = BypassTestEnv::new(PermissionMode::Yolo).deny("Bash(rm *)");
    let texts =
        ["{fd}>g rm a", "{fd}<a rm a", "{fd}>&1 rm a", "{fd}>>g timeout 1 rm a", "{x[0]}>g rm a"];
    env.all(Deny, &texts);
    let ask = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(echo *)");
    ask.all(Ask, &["{fd}>g echo a", "echo a {fd}>g"]);
}

#[test]
fn a_file_with_other_names_is_not_changed_unasked() {
    for mode in [PermissionMode::AllowEdits, PermissionMode::Ask, PermissionMode::Yolo] {
        let env =
            BypassTestEnv::new(mode).allow("Bash(tee *)").allow("Bash(cp *)").allow("Bash(rm *)");
        let env = env.allow("Bash(echo *)").allow("Edit");
        let root: PathBuf = env.workspace.root().to_owned();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        std::fs::hard_link(root.join(".git/config"), root.join("linked")).unwrap();
        env.all(
            Ask,
            &[
                "echo x > linked",
                "tee linked",
                "cp src/a linked",
                "cp linked src/b; echo x >> linked",
            ],
        );
        env.all(Allow, &["cp linked src/b", "rm -r linked", "echo x > src/c"]);
    }
}

/// What a pattern matches is known only when the command runs.
#[test]
fn a_pattern_that_could_match_a_protected_name_is_asked_about_in_every_mode() {
    let env = BypassTestEnv::new(PermissionMode::Yolo);
    let edits = BypassTestEnv::new(PermissionMode::AllowEdits);
    let ruled = BypassTestEnv::new(PermissionMode::Ask).allow("Bash");
    for env in [env, edits, ruled] {
        env.all(
            Ask,
            &[
                "rm -rf .gi*",
                "cp x .vsc*/tasks.json",
                "mv src/a .vs*/x",
                "rm -rf .g?t",
                "touch .[g]it/config",
                "tee .vsc*/x",
                "python3 x .gi*",
                "sed -i s/a/b/ .gi*/config",
                "rm -rf src/*/.gi*",
                "git rm .vsc*",
                "chmod +x Jenk*",
                "rm -rf ~/.b*",
                "sudo rm -rf .gi*",
                "find src -exec rm -rf .gi* ;",
                "xargs rm .gi*",
                "sh -c 'rm -rf .gi*'",
                "rm .gi{t,x}*/config",
            ],
        );
    }
    let yolo = BypassTestEnv::new(PermissionMode::Yolo);
    yolo.all(
        Allow,
        &[
            "rm *.o",
            "rm -rf src/*",
            "cat .gi*",
            "ls -a .vs*",
            "cp .env* src",
            "prettier --write *.json",
            "rm -rf target/debug/*",
            "rm test*",
        ],
    );
}

/// A program may make what is not there yet.
#[test]
fn a_path_outside_that_does_not_exist_is_outside_all_the_same() {
    let env = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(tool *)").allow("Bash(node *)");
    let outside = env.workspace.home().unwrap().join("new/file");
    let outside = outside.display();
    for command in [
        format!("tool {outside}"),
        format!("tool --output={outside}"),
        format!("tool -o{outside}"),
        "tool ../new".to_owned(),
        "tool ../../new/x".to_owned(),
        "tool ~/new".to_owned(),
        "node src/x.js /etc/slug-is-not-there".to_owned(),
    ] {
        assert_eq!(env.outcome(&command), Ask, "{command}");
    }
    // A text with slashes, of which not even the first part is a folder.
    env.all(
        Allow,
        &["tool /pattern/", "tool src/new", "tool /api/v1/users", "tool s/a/b/", "tool ./x"],
    );
}

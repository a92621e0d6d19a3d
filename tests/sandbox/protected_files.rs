//! Files that no command in a sandbox changes or reads: those that other programs obey, slug's own
//! state, and what a deny rule forbids to read.

use std::os::unix::fs::PermissionsExt;

use slug_code::domain::ScanExtent;

use super::*;

#[tokio::test]
async fn s46_protected_files_can_be_read_and_not_changed() {
    for fixture in fixtures() {
        fs::create_dir_all(fixture.dir.join("sub/.git/hooks")).unwrap();
        fs::create_dir(fixture.dir.join(".cargo")).unwrap();
        fixture.run("cat .git/config").await.assert_works("reading it");
        for command in [
            "echo x > .git/hooks/pre-commit",
            "echo x >> .git/config",
            "mkdir .git/info && echo x > .git/info/attributes",
            "mv .git g && mkdir .git",
            "rm -r .git",
            "echo x > .gitmodules",
            "echo x > sub/.git/hooks/pre-commit",
            "echo x > .cargo/config.toml",
            "mv .cargo c && mkdir .cargo && echo x > .cargo/config.toml",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(fixture.dir.join(".git/config")).unwrap(), "[core]\n");
        assert_eq!(fs::read_dir(fixture.dir.join(".git/hooks")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn s46_protected_files_are_not_reached_by_moving_their_folder() {
    for fixture in fixtures() {
        fs::create_dir_all(fixture.dir.join("a/b/.git")).unwrap();
        fs::write(fixture.dir.join("a/b/.git/config"), "[core]\n").unwrap();
        for command in [
            "mv a x && mkdir a && cp -r x/b a/b && echo x >> a/b/.git/config",
            "mv a/b a/c",
            // `target` is not searched.
            "mkdir -p src/target && mv a src/target/",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        assert_eq!(fs::read_to_string(fixture.dir.join("a/b/.git/config")).unwrap(), "[core]\n");
    }
}

/// Skipped for root, who can read every folder.
#[tokio::test]
async fn s49_a_folder_that_a_command_closes_is_not_open_to_the_next_one() {
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)", "Read(src/b/exact)"]);
        for folder in ["src/a", "src/b", "src/c/.git", ".cargo"] {
            fs::create_dir_all(fixture.dir.join(folder)).unwrap();
        }
        for file in ["src/a/.env", "src/b/exact", "src/c/.git/config", ".cargo/config.toml"] {
            fs::write(fixture.dir.join(file), "CANARY").unwrap();
        }
        fixture.run("chmod 0 src/a src/b src/c .cargo; true").await.assert_works("closing them");
        let ran = fixture.run("chmod 755 src/a src/b .cargo; cat src/a/.env src/b/exact").await;
        assert!(!ran.printed.contains("CANARY"), "{:?}: {}", fixture.backend, ran.printed);
        for file in ["src/c/.git/config", ".cargo/config.toml"] {
            let command = format!("chmod 755 src/c .cargo; echo x >> {file}");
            fixture.run(&command).await.assert_blocked(&command);
        }
        for folder in ["src/a", "src/b", "src/c", ".cargo"] {
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(fixture.dir.join(folder), open).unwrap();
        }
    }
}

#[tokio::test]
async fn s48_protected_names_cannot_be_created() {
    for fixture in fixtures() {
        for command in [
            "echo '{}' > .mcp.json",
            "mkdir .vscode && echo '{}' > .vscode/tasks.json",
            "echo '{}' > .vscode/tasks.json",
            "mkdir .idea",
            "echo x > .envrc",
            "echo x > src/x && mv src/x .npmrc",
            "ln -s src .slug",
            "mkdir .cargo && echo x > .cargo/config.toml",
            "echo x > bunfig.toml",
            "echo x > .pnpmfile.mjs",
            "echo x > rust-toolchain.toml",
            "mkdir -p .mvn && echo x > .mvn/extensions.xml",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        fixture.assert_tidy();
    }
}

#[tokio::test]
async fn secrets_and_slugs_own_state_cannot_be_read() {
    for fixture in fixtures() {
        for file in [".ssh/id", ".slug/trust.json"] {
            let path = fixture.home.join(file);
            let ran = fixture.run(&format!("cat {0}; cp {0} src/stolen", path.display())).await;
            assert!(!ran.printed.contains("CANARY"), "{file}: {}", ran.printed);
            let stolen = fs::read_to_string(fixture.dir.join("src/stolen")).unwrap_or_default();
            assert!(!stolen.contains("CANARY"), "{file}");
        }
        let into =
            format!("ln -s {} src/link; cat src/link/id", fixture.home.join(".ssh").display());
        let ran = fixture.run(&into).await;
        assert!(!ran.printed.contains("CANARY"), "{}", ran.printed);
        // S112: the state is never writable, whatever the sandbox's folder is.
        let state = format!("echo x > {}", fixture.home.join(".slug/new").display());
        fixture.run(&state).await.assert_blocked("slug's state");
    }
}

#[tokio::test]
async fn s49_each_result_says_when_not_all_denied_files_were_found() {
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)"]);
        assert_eq!(fixture.run("true").await.exit.unwrap().denied, ScanExtent::Whole);
        let looking = fixture.profile_source();
        let part =
            move || looking().map(|view| SandboxProfile { denied: ScanExtent::Part, ..view });
        let port = fixture.host.with_sandbox(fixture.backend.clone(), Arc::new(part));
        let (text, timeout) = ("true".to_owned(), Duration::from_secs(60));
        let script = ScriptSpec::new(text, fixture.dir.clone(), timeout);
        let exit = port.run(script, &mut |_| {}, CancellationToken::new()).await;
        assert_eq!(exit.unwrap().denied, ScanExtent::Part);
    }
}

#[tokio::test]
async fn s49_no_command_reads_what_a_deny_rule_forbids() {
    for mut fixture in fixtures() {
        fixture.rules =
            denying(&fixture, &["Read(.env)", "Read(src/keys/**)", "Read(~/notes/*.txt)"]);
        for folder in ["src/deep/er", "src/keys"] {
            fs::create_dir_all(fixture.dir.join(folder)).unwrap();
        }
        fs::create_dir(fixture.home.join("notes")).unwrap();
        let denied = [
            fixture.dir.join(".env"),
            fixture.dir.join("src/deep/er/.env"),
            fixture.dir.join("src/keys/a"),
            fixture.home.join("notes/a.txt"),
        ];
        for path in &denied {
            fs::write(path, "CANARY").unwrap();
        }
        fs::write(fixture.dir.join("src/deep/er/.envelope"), "to be read").unwrap();
        for path in &denied {
            let path = path.display();
            for command in [
                format!("cat {path}"),
                format!("python3 -c 'print(open(\"{path}\").read())' || perl -ne print {path}"),
                format!("ln {path} src/other && cat src/other; cat < {path}"),
                format!("cp {path} src/copy; cat src/copy"),
                format!("chmod 777 {path}; mv {path} src/moved && cat src/moved"),
            ] {
                let ran = fixture.run(&command).await;
                assert!(!ran.printed.contains("CANARY"), "{command} {:?}", fixture.backend);
            }
        }
        fixture
            .run("cat src/deep/er/.envelope && ls . src")
            .await
            .assert_works("what lies beside it");
        // Nor by renaming the folders above, in this command or for the next one.
        for command in [
            "mv src/keys k2; mv src src2; cat k2/a src2/keys/a src2/deep/er/.env",
            "mv src/deep src/shallow; cat src/shallow/er/.env",
            "grep -r CANARY . --include=* -h",
            "cat k2/a src2/keys/a src/shallow/er/.env",
        ] {
            let ran = fixture.run(command).await;
            assert!(!ran.printed.contains("CANARY"), "{command} {:?}", fixture.backend);
        }
        assert_eq!(fs::read_to_string(&denied[2]).unwrap(), "CANARY");
    }
}

//! A command that names a protected place and is not certain to leave it alone is asked about,
//! however it spells the place.

use std::fs;

use slug_code::domain::{PermissionMode, PermissionOutcome};

use super::places::PROTECTED;
use super::test_project::{MODES, TestProject, quoted};

/// Command lines that name a place and are not certain to leave it alone; `P` stands for the place.
const WRITERS: [&str; 118] = [
    "cp a.txt P",
    "cp -f a.txt b.txt P",
    "cp -t P a.txt",
    "cp --target-directory=P a.txt",
    "mv a.txt P",
    "mv P a.txt",
    "rm P",
    "rm -rf P",
    "rmdir P",
    "mkdir P",
    "mkdir -p P/x",
    "touch P",
    "tee P",
    "tee -a P < a.txt",
    "chmod +x P",
    "chmod -R 777 P",
    "chown me P",
    "ln -sf a.txt P",
    "ln a.txt P",
    "link a.txt P",
    "unlink P",
    "install a.txt P",
    "install -m 755 a.txt P",
    "truncate -s 0 P",
    "shred P",
    "split a.txt P",
    "split -b 1 a.txt P/x",
    "csplit -f P a.txt 1",
    "dd if=a.txt of=P",
    "dd of=P",
    "rsync a.txt P",
    "scp a.txt P",
    "sort -o P a.txt",
    "sort --output=P a.txt",
    "sort -oP a.txt",
    "uniq a.txt P",
    "sed -i s/a/b/ P",
    "sed 'w P' a.txt",
    "sed -n '1,$w P' a.txt",
    "sed 's/a/b/w P' a.txt",
    "sed --in-place=.bak s/a/b/ P",
    "awk '{print > \"P\"}' a.txt",
    "awk 'BEGIN{system(\"touch P\")}'",
    "gawk -i inplace 1 P",
    "perl -pi -e s/a/b/ P",
    "perl -e 'open F, \">P\"'",
    "python3 -c 'open(\"P\",\"w\")'",
    "ruby -e 'File.write(\"P\", 1)'",
    "node -e 'require(\"fs\").writeFileSync(\"P\",\"\")'",
    "php -r 'file_put_contents(\"P\",1);'",
    "tar cf P a.txt",
    "tar -cf P a.txt",
    "tar --create --file=P a.txt",
    "tar xf a.tar -C P",
    "tar -xf a.tar P",
    "zip P a.txt",
    "unzip -d P a.zip",
    "unzip a.zip P",
    "cpio -pd P",
    "gzip P",
    "gzip -c a.txt -S P",
    "gunzip P",
    "xz P",
    "zstd a.txt -o P",
    "bzip2 P",
    "iconv -f utf8 -t utf8 -o P a.txt",
    "xxd a.txt P",
    "xxd -r a.txt P",
    "od a.txt P",
    "base64 -o P a.txt",
    "openssl enc -base64 -in a.txt -out P",
    "curl -o P file:///x",
    "curl --output P x",
    "curl -K P",
    "wget -O P x",
    "wget --output-document=P x",
    "git log --output=P",
    "git diff --output=P",
    "git archive -o P HEAD",
    "git format-patch -o P HEAD",
    "git bundle create P HEAD",
    "git config -f P core.pager x",
    "git config --file=P core.pager x",
    "git init P",
    "git clone . P",
    "git worktree add P",
    "git checkout-index --prefix=P/ -a",
    "git show HEAD:a.txt --output=P",
    "git mv a.txt P",
    "git rm P",
    "git checkout -- P",
    "git restore P",
    "find . -fprint P",
    "find P -delete",
    "find . -fprintf P %p",
    "find a.txt -exec cp {} P ';'",
    "tree -o P",
    "ls | tee P",
    "cat a.txt | sponge P",
    "cat a.txt | xargs -I {} cp {} P",
    "env cp a.txt P",
    "timeout 5 cp a.txt P",
    "nohup cp a.txt P",
    "sudo tee P",
    "sh -c 'date | tee P'",
    "bash -c 'cp a.txt P'",
    "eval 'cp a.txt P'",
    "ed P",
    "ex -sc wq P",
    "vim -es -c 'w P' a.txt",
    "nano P",
    "patch P a.txt",
    "patch -o P a.txt",
    "cmake -P P",
    "gcc -o P a.c",
    "ld -o P a.o",
    "make -f P",
    "sqlite3 P",
];

#[test]
fn a_command_that_names_such_a_place_and_may_write_it_is_asked_in_every_mode() {
    for allow in [&["Bash"][..], &[]] {
        let project = TestProject::with_rules(allow, &[]);
        for place in [".git/config", ".slug/settings.json"] {
            let lines: Vec<String> = WRITERS.iter().map(|it| it.replace('P', place)).collect();
            project.assert_all(&lines, PermissionMode::Yolo, PermissionOutcome::Ask);
            project.assert_all(&lines, PermissionMode::AllowEdits, PermissionOutcome::Ask);
            for line in &lines {
                assert_eq!(
                    project.decide(line, PermissionMode::Yolo).allow_rules(),
                    [""; 0],
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn each_such_place_is_known_in_what_a_command_is_given() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    for place in PROTECTED {
        let lines = ["python3 x.py P", "cp a.txt P", "some-program --output=P", "dd if=a.txt of=P"];
        let lines = lines.map(|it| it.replace('P', &quoted(place)));
        project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
        let inside = format!("python3 -c {}", quoted(&format!("open(\"{place}\", \"w\")")));
        let fed = format!("echo x > a.txt; xargs touch <<< {}", quoted(place));
        project.assert_all([inside, fed], PermissionMode::Yolo, PermissionOutcome::Ask);
    }
}

#[test]
fn a_place_is_known_however_it_is_spelled() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    let root = project.root();
    let root = root.display();
    let spelled = [
        "./.git/config".to_owned(),
        ".//.git//config".into(),
        "src/../.git/config".into(),
        ".git/../.git/config".into(),
        "'.git/config'".into(),
        "\".git/config\"".into(),
        ".g'it'/config".into(),
        r".gi\t/config".into(),
        "$'.git/config'".into(),
        "$'\\x2egit/config'".into(),
        "$'\\056git/config'".into(),
        format!("{root}/.git/config"),
        ".git/hooks/new".into(),
        ".git".into(),
        ".git/".into(),
        "src/.git/config".into(),
        ".GIT/config".into(),
        ".Git/Config".into(),
    ];
    for spelling in spelled {
        let lines = [format!("cp a.txt {spelling}"), format!("python3 x.py {spelling}")];
        project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
    }
}

#[test]
fn a_redirection_into_such_a_place_is_refused() {
    let project = TestProject::with_rules(&["Bash", "Write"], &[]);
    for place in [".git/config", ".slug/settings.json", ".envrc", ".github/workflows/x.yml", "HEAD"]
    {
        let forms = ["> P", ">> P", "1> P", "2> P", "&> P", ">| P", "2>> P", "<> P", ">& P"];
        let lines = forms.map(|form| format!("echo x {}", form.replace('P', place)));
        for mode in MODES {
            project.assert_all(&lines, mode, PermissionOutcome::Deny);
        }
        project.assert_all(
            [format!("cd src && echo x > ../{place}")],
            PermissionMode::Yolo,
            PermissionOutcome::Deny,
        );
    }
}

#[test]
fn what_runs_in_such_a_folder_is_asked() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    fs::create_dir_all(project.root().join(".git/hooks")).unwrap();
    fs::create_dir_all(project.root().join(".vscode")).unwrap();
    let lines = [
        "cd .git && touch x",
        "cd .git/hooks && cp ../../a.txt pre-commit",
        "cd .git; cd hooks; tee pre-commit",
        "pushd .git && python3 x.py",
        "cd .vscode && make",
        "env -C .git touch config",
        "env --chdir=.git touch config",
        "git -C .git config core.pager x",
        "make -C .git/hooks",
        "make --directory=.git",
        "npm --prefix .vscode run x",
        "(cd .git && touch x)",
        "cd src && cd ../.git && touch x",
        "tar xf a.tar -C .git",
        "sh -c 'cd .git && touch x'",
        "find .git -exec touch {} ';'",
        "xargs -a .git/config touch",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Ask);
}

#[test]
fn a_folder_that_holds_such_a_place_is_asked_about_before_it_goes() {
    let project = TestProject::with_rules(&["Bash", "Bash(rm *)", "Bash(mv *)"], &[]);
    project.write("packages/a/.envrc", "x");
    project.write("packages/b/deep/er/.vscode/tasks.json", "{}");
    project.write("packages/c/plain.txt", "x");
    let lines = [
        "rm -rf packages/a",
        "rm -rf packages",
        "rm -r packages/b",
        "mv packages/b elsewhere",
        "mv packages src/",
        "chmod -R 777 packages",
        "rm -rf .",
        "rm -rf packages/c packages/a",
        "cd packages && rm -rf a",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    project.assert_all(
        ["rm -rf packages/c", "mv packages/c d"],
        PermissionMode::Ask,
        PermissionOutcome::Allow,
    );
}

//! What slug says of a command is certain: a command that only reads runs without a question, a
//! program that slug does not know can do anything and slug says so, and what is known only at run
//! time is asked about.

use slug_code::domain::{PermissionMode, PermissionOutcome};
use slug_code::permissions::{Workspace, meaning};

use super::test_project::{MODES, TestProject, quoted};

/// Commands that only read, in the workspace.
const READERS: [&str; 48] = [
    "cat a.txt",
    "cat -n a.txt b.txt",
    "cat -- a.txt",
    "cut -d: -f1 a.txt",
    "cut -c 1-3 a.txt",
    "diff a.txt b.txt",
    "diff -u a.txt b.txt",
    "du -sh src",
    "echo done",
    "echo -n one two",
    "file a.txt",
    "find . -name '*.rs'",
    "find src -type f -maxdepth 2",
    "find . -name a.txt -print",
    "grep alpha a.txt",
    "grep -rn 'fn main' src",
    "grep -c beta a.txt",
    "head a.txt",
    "head -n 3 a.txt",
    "head -5 a.txt",
    "ls",
    "ls -la src",
    "ls -1 a.txt",
    "sed -n '1,2p' a.txt",
    "sed -n 2p a.txt",
    "sort a.txt",
    "sort -u a.txt",
    "sort -k2 -n a.txt",
    "stat a.txt",
    "tail a.txt",
    "tail -n 3 a.txt",
    "test -f a.txt",
    "wc -l a.txt",
    "wc a.txt b.txt",
    "which ls",
    "cat a.txt | grep alpha | wc -l",
    "cat a.txt && ls src",
    "ls; wc a.txt",
    "grep -q alpha a.txt || echo none",
    "! grep -q alpha a.txt",
    "cd src && ls",
    "cd src && cat a.rs | head -2",
    "sort a.txt | sort -r | head -1",
    "git status",
    "git log --oneline -5",
    "git diff",
    "git show HEAD",
    "git branch",
];

/// Command lines of programs in the table that write, run or remove something all the same.
const DOING_MORE: [(&str, &[&str]); 11] = [
    (
        "find",
        &[
            "find . -delete",
            "find . -name x -delete",
            "find . -fprint out",
            "find . -fprint0 out",
            "find . -fls out",
            "find . -fprintf out %p",
            "find . -name a -o -fprintf out '%p'",
            "find . -exec touch out ';'",
            r"find . -exec touch out \;",
            "find . -exec touch {} +",
            "find . -execdir touch out ';'",
            "find . -ok touch out ';'",
            "find . -okdir touch out ';'",
            "find . -type f '(' -name x -delete ')'",
            "find . ! -name x -delete",
            "find -L . -delete",
        ],
    ),
    (
        "sort",
        &[
            "sort -o out a.txt",
            "sort -oout a.txt",
            "sort a.txt -o a.txt",
            "sort --output=out a.txt",
            "sort --output out a.txt",
            "sort --outp=out a.txt",
            "sort -uo out a.txt",
            "sort -nro out a.txt",
            "sort -k1 -oout a.txt",
            "sort --compress-program=sh a.txt",
            "sort --compress-program sh -S 1 a.txt",
            "sort --comp=sh a.txt",
        ],
    ),
    (
        "git",
        &[
            "git log --output=out",
            "git log --output out",
            "git log -p --output=out",
            "git diff --output=out",
            "git show --output=out HEAD",
            "git diff --no-index --output=out a.txt b.txt",
            "git log --outpu=out",
            "git --git-dir=src log",
            "git --git-dir src log",
            "git --work-tree=src status",
            "git --exec-path=src log",
            "git --namespace=x log",
            "git -c core.pager=touch log",
            "git -c core.fsmonitor=touch status",
            "git -c alias.x='!touch out' x",
            "git --config-env=core.pager=X log",
            "git -p log",
            "git --paginate log",
            "git grep -O alpha",
            "git grep -Otouch alpha",
            "git grep --open-files-in-pager=touch alpha",
            "git diff --ext-diff",
            "git log -p --ext-diff",
            "git log --textconv -p",
            "git fetch --upload-pack=touch",
            "git fetch --upload-pack touch origin",
            "git fetch 'ext::touch out'",
            "git clone ext::touch x",
            "git clone -u touch . x",
            "git ls-remote --upload-pack=touch .",
            "git push --receive-pack=touch",
            "git push --exec=touch",
            "git push https://elsewhere.example/x main",
            "git pull --upload-pack=touch",
            "git archive -o out HEAD",
            "git archive --output=out HEAD",
            "git archive --remote=. --exec=touch HEAD",
            "git format-patch -o out HEAD",
            "git bundle create out HEAD",
            "git config core.pager touch",
            "git config --file out a.b c",
            "git rebase -x 'touch out' HEAD",
            "git rebase --exec touch HEAD",
            "git bisect run touch out",
            "git submodule foreach touch out",
            "git filter-branch --tree-filter 'touch out'",
            "git difftool -x touch",
            "git daemon --base-path=.",
            "git help --web log",
            "git commit -F /etc/passwd",
            "git commit --template=/etc/passwd",
            "git init --template=src x",
            "git worktree add ../elsewhere",
            "git blame --contents /etc/passwd a.txt",
            "git checkout-index --prefix=/tmp/ -a",
            "git apply --directory=.git x.patch",
        ],
    ),
    (
        "sed",
        &[
            "sed -i s/a/b/ a.txt",
            "sed -i.bak s/a/b/ a.txt",
            "sed --in-place s/a/b/ a.txt",
            "sed -n -i p a.txt",
            "sed -ni p a.txt",
            "sed -ibak -n p a.txt",
            "sed -Ei s/a/b/ a.txt",
            "sed -n 'w out' a.txt",
            "sed -n '1w out' a.txt",
            "sed -n '/a/w out' a.txt",
            "sed 's/a/b/w out' a.txt",
            "sed 's/a/b/gw out' a.txt",
            "sed 's/a/touch out/e' a.txt",
            "sed '1e touch out' a.txt",
            "sed e a.txt",
            "sed -n '$!{p;w out\n}' a.txt",
            "sed -n '1,2p;w out' a.txt",
            "sed -e p -e 'w out' a.txt",
            "sed -n -f script.sed a.txt",
            "sed -nf script.sed a.txt",
            "sed --file=script.sed a.txt",
            "sed --expression='w out' a.txt",
            "sed -n '1W out' a.txt",
            "sed y/a/b/\\;w\\ out a.txt",
        ],
    ),
    ("rg", &["rg --pre touch alpha", "rg --pre=touch alpha", "rg --hostname-bin=touch alpha"]),
    ("tree", &["tree -o out", "tree -oout .", "tree --output=out", "tree -a -o out src"]),
    ("file", &["file -C -m src", "file --compile -m a.txt", "file -Cm a.txt"]),
    ("date", &["date -s 2020-01-01", "date --set=2020-01-01", "date --se=12:00"]),
    ("uniq", &["uniq a.txt out", "uniq -c a.txt out", "uniq -- a.txt out"]),
    ("hostname", &["hostname x", "hostname -F a.txt", "hostname -b x"]),
    ("tail", &["tail --foll=name --pid=1 --no-such a.txt"]),
];

#[test]
fn what_only_reads_runs_unasked_in_every_mode() {
    let project = TestProject::new();
    for mode in MODES {
        project.assert_all(READERS, mode, PermissionOutcome::Allow);
    }
}

#[test]
fn what_only_reads_is_asked_where_it_reads_outside() {
    let project = TestProject::new();
    let outside = project.sibling_path("beside/x.txt");
    let outside = outside.display();
    let lines = [
        format!("cat {outside}"),
        format!("cat a.txt {outside}"),
        format!("grep -f {outside} a.txt"),
        format!("grep --file={outside} a.txt"),
        format!("grep -f{outside} a.txt"),
        format!("diff a.txt {outside}"),
        format!("wc --files0-from={outside}"),
        format!("sort --files0-from={outside}"),
        format!("sort -T {outside} a.txt"),
        format!("find {outside}"),
        format!("ls -la {outside}"),
        format!("head -n 1 < {outside}"),
        format!("cat < {outside}"),
        format!("sed -n 1p {outside}"),
        format!("test a.txt -nt {outside}"),
        format!("find . -newer {outside}"),
        format!("stat --format=%n {outside}"),
        format!("du --exclude-from={outside} ."),
        format!("du -X {outside} ."),
        format!("file -f {outside}"),
        format!("git diff --no-index a.txt {outside}"),
        "cat ../beside/x.txt".into(),
        "cat src/../../beside/x.txt".into(),
        "cd src && cat ../../beside/x.txt".into(),
        "cd .. && ls".into(),
        "ls /".into(),
        "cat /etc/passwd | head -1".into(),
        "find / -maxdepth 1".into(),
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn an_untrusted_folder_has_no_git_run_unasked() {
    let mut project = TestProject::new();
    let root = project.root();
    let (home, slug) = (project.sibling_path("home"), project.sibling_path("slug"));
    project.workspace = Workspace::new(root, Vec::new(), Some(home), slug);
    let lines =
        ["git status", "git log", "git diff", "git show HEAD", "git branch", "git blame a.txt"];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    let project = TestProject::with_rules(&["Bash(git *)"], &[]);
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Allow);
}

#[test]
fn a_program_of_the_table_that_does_more_than_read_is_asked_without_rules() {
    let project = TestProject::new();
    for (_, lines) in DOING_MORE {
        project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    }
}

#[test]
fn a_wildcard_covers_no_option_that_writes_or_runs() {
    for (program, lines) in DOING_MORE {
        // `uniq` and the like need not be in the table: then the rule says that it allows any code.
        let rule = format!("Bash({program} *)");
        if meaning(&rule).is_some_and(|means| means.contains("any code")) {
            assert!(
                !["find", "sort", "git", "sed"].contains(&program),
                "{program} is in the table"
            );
            continue;
        }
        let project = TestProject::with_rules(&[&rule], &[]);
        project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    }
}

#[test]
fn an_option_that_writes_is_found_among_others_and_behind_what_runs_it() {
    let project = TestProject::with_rules(
        &["Bash(find *)", "Bash(sort *)", "Bash(git *)", "Bash(timeout *)", "Bash(nice *)"],
        &[],
    );
    let mut all = Vec::new();
    for before in ["", "timeout 5 ", "nice -n 3 ", "nice timeout 9 ", "ls && ", "cat a.txt | "] {
        for line in
            ["find . -delete", "sort a.txt -uo out", "git log --output=out", "git -c x=y log"]
        {
            for behind in ["", " | head", " && ls", "; echo done", " || true", " 2>&1"] {
                all.push(format!("{before}{line}{behind}"));
            }
        }
    }
    project.assert_all(all, PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn a_rule_that_names_an_option_which_is_not_listed_says_that_it_allows_any_code() {
    for (rule, program) in [
        ("Bash(sort -o *)", "sort"),
        ("Bash(git log --output *)", "git"),
        ("Bash(find . -exec *)", "find"),
        ("Bash(git -c *)", "git"),
    ] {
        let means = meaning(rule).unwrap_or_else(|| panic!("{rule} says nothing"));
        assert!(means.contains(&format!("any code through {program}")), "{rule}: {means}");
    }
}

/// Where a wildcard stands before the option, the rule still names the option.
#[test]
fn a_rule_that_names_an_option_behind_a_wildcard_says_what_it_allows_or_allows_nothing() {
    for (rule, line) in [
        ("Bash(find * -delete)", "find . -delete"),
        ("Bash(sort * -o *)", "sort a.txt -o out"),
        ("Bash(git * --output=out)", "git log --output=out"),
        ("Bash(find * -exec *)", "find . -exec touch out ';'"),
        ("Bash(git * *)", "git log --output=out"),
        ("Bash(* -delete)", "find . -delete"),
        ("Bash(* *)", "python3 x.py"),
        ("Bash(*)", "python3 x.py"),
    ] {
        let project = TestProject::with_rules(&[rule], &[]);
        let says = meaning(rule).is_some_and(|means| means.contains("any"));
        let allows = project.outcome(line, PermissionMode::Ask) == PermissionOutcome::Allow;
        assert!(says || !allows, "{rule} allows {line} and says {:?}", meaning(rule));
    }
}

#[test]
fn a_wildcard_on_a_program_that_is_not_known_says_that_it_allows_any_code() {
    for program in [
        "python3", "python", "node", "perl", "ruby", "npm", "npx", "make", "cargo", "awk", "tar",
        "dd", "xxd", "iconv", "vim", "docker", "./run.sh", "/tmp/ls", "mytool", "rsync", "curl",
        "openssl", "gcc", "java", "go", "pip", "jq", "zip", "patch", "ed",
    ] {
        for rule in [format!("Bash({program} *)"), format!("Bash({program}:*)")] {
            let means = meaning(&rule).unwrap_or_else(|| panic!("{rule} says nothing"));
            assert!(means.contains("any code"), "{rule}: {means}");
        }
    }
    for rule in ["Bash(cat *)", "Bash(ls *)", "Bash(wc *)", "Bash(grep *)", "Bash(find *)"] {
        assert_eq!(meaning(rule), None, "{rule}");
    }
}

#[test]
fn a_rule_that_is_offered_has_no_wildcard_and_so_promises_nothing() {
    let project = TestProject::new();
    for line in [
        "python3 -c 'print(1)'",
        "python3 build.py --all",
        "node -e 1",
        "perl -pe s/a/b/ a.txt",
        "make test",
        "npm run build",
        "find . -delete",
        "sort -o out a.txt",
        "awk '{print}' a.txt",
    ] {
        let decision = project.decide(line, PermissionMode::Ask);
        assert_eq!(decision.outcome(), PermissionOutcome::Ask, "{line}");
        for rule in decision.allow_rules() {
            let mut with = TestProject::new();
            with.set_rules(&[rule], &[]);
            with.assert_all([line], PermissionMode::Ask, PermissionOutcome::Allow);
            // Nothing but these words.
            with.assert_all(
                [format!("{line} more"), format!("{line} -x")],
                PermissionMode::Ask,
                PermissionOutcome::Ask,
            );
        }
    }
}

/// Wrappers that run the command behind them.
const CARRIERS: [fn(&str) -> String; 24] = [
    |line| format!("env {line}"),
    |line| format!("env -i A=b {line}"),
    |line| format!("env -u HOME -- {line}"),
    |line| format!("sudo {line}"),
    |line| format!("sudo -u root -- {line}"),
    |line| format!("sudo A=b {line}"),
    |line| format!("xargs {line}"),
    |line| format!("xargs -n 1 -P 4 {line}"),
    |line| format!("echo x | xargs -I {{}} {line}"),
    |line| format!("sh -c {}", quoted(line)),
    |line| format!("bash -lc {}", quoted(line)),
    |line| format!("bash -x -c {}", quoted(line)),
    |line| format!("/bin/sh -ec {}", quoted(line)),
    |line| format!("eval {line}"),
    |line| format!("eval {}", quoted(line)),
    |line| format!("fd -x {line}"),
    |line| format!("fd . src --exec {line}"),
    |line| format!("find . -exec {line} ';'"),
    |line| format!("timeout 5 {line}"),
    |line| format!("nice -n 5 {line}"),
    |line| format!("nohup {line}"),
    |line| format!("echo $({line})"),
    |line| format!("cat <({line})"),
    |line| format!("if true; then {line}; fi"),
];

#[test]
fn a_deny_rule_finds_a_command_behind_what_runs_it_in_every_mode() {
    let project = TestProject::with_rules(&["Bash"], &["Bash(rm *)", "Bash(git push *)"]);
    for mode in MODES {
        for line in ["rm -rf build", "git push origin main", "/usr/bin/git push", "git -C . push"] {
            project.assert_all(CARRIERS.map(|carry| carry(line)), mode, PermissionOutcome::Deny);
        }
    }
}

#[test]
fn a_deny_rule_finds_a_command_behind_two_of_what_runs_it() {
    let project = TestProject::with_rules(&["Bash"], &["Bash(rm *)"]);
    // A plain `eval` splits the words behind it once more; words with quotes of their own would
    // then mean something else.
    let outer = CARRIERS.iter().filter(|carry| !carry("x").starts_with("eval x"));
    let twice = outer.flat_map(|outer| {
        CARRIERS
            .iter()
            .map(move |inner| outer(&format!("sh -c {}", quoted(&inner("rm -rf build")))))
    });
    project.assert_all(twice, PermissionMode::Yolo, PermissionOutcome::Deny);
}

#[test]
fn a_deny_rule_finds_a_command_however_it_is_joined_and_quoted() {
    let project = TestProject::with_rules(&["Bash"], &["Bash(rm *)"]);
    let lines = [
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls & rm x",
        "ls\nrm x",
        "! rm x",
        "(rm x)",
        "{ rm x; }",
        "r''m x",
        r"\rm x",
        "'rm' x",
        "\"rm\" x",
        "$'rm' x",
        "A=b rm x",
        "> out rm x",
        "2>/dev/null rm x",
        "while rm x; do ls; done",
        "for i in 1; do rm x; done",
        "case a in a) rm x;; esac",
        "f() { rm x; }; f",
        "command rm x",
        "builtin command rm x",
        "exec rm x",
        "time rm x",
        "coproc rm x",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "cat <<E\n$(rm x)\nE",
        "rm",
        "/bin/rm x",
        "../../bin/rm x",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Deny);
}

#[test]
fn what_is_known_only_when_it_runs_is_asked_and_yolo_runs_it() {
    let project = TestProject::with_rules(
        &["Bash(echo *)", "Bash(ls *)", "Bash(cat *)", "Bash(npm *)", "Bash(touch *)"],
        &[],
    );
    let lines = [
        "echo $HOME",
        "echo \"$HOME\"",
        "echo ${X:-y}",
        "echo $((1+1))",
        "echo $(ls)",
        "echo `ls`",
        "echo *",
        "ls *.txt",
        "ls [ab].txt",
        "ls ?.txt",
        "cat {a,b}.txt",
        "cat {1..3}",
        "ls ~",
        "ls ~/x",
        "cat ~root/x",
        "$CMD",
        "$CMD x",
        "l$X",
        "npm run $TARGET",
        "npm run \"$@\"",
        "if true; then ls; fi",
        "while true; do ls; done",
        "until ls; do ls; done",
        "for f in a b; do cat a.txt; done",
        "case a in a) ls;; esac",
        "f() { ls; }; f",
        "function f { ls; }",
        "cat <<E\nx\nE",
        "cat <<-E\nx\nE",
        "cat <<< $X",
        "cat <(ls)",
        "ls > >(cat)",
        "echo $'a\\nb' $X",
        "echo !$",
        "[[ -f a.txt ]] && ls $X",
        "coproc ls",
        "touch $X",
        "touch x{1,2}",
    ];
    let dynamic: Vec<&str> = lines.into_iter().filter(|line| *line != "echo !$").collect();
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits] {
        project.assert_all(&dynamic, mode, PermissionOutcome::Ask);
    }
    project.assert_all(&dynamic, PermissionMode::Plan, PermissionOutcome::Deny);
    project.assert_all(&dynamic, PermissionMode::Yolo, PermissionOutcome::Allow);
    let bare = TestProject::with_rules(&["Bash"], &[]);
    bare.assert_all(&dynamic, PermissionMode::Ask, PermissionOutcome::Allow);
}

#[test]
fn what_cannot_be_analysed_is_asked_even_under_a_bare_rule() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    let long = format!("echo {}", "x".repeat(17 << 10));
    let deep = format!("{}ls{}", "(".repeat(5000), ")".repeat(5000));
    let lines = ["echo 'open", "if true; then", "ls )", "echo \"$(", &long, &deep, "case x in"];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn a_wildcard_on_what_runs_commands_is_not_enough() {
    let project = TestProject::with_rules(
        &[
            "Bash(env *)",
            "Bash(sudo *)",
            "Bash(timeout *)",
            "Bash(nice *)",
            "Bash(xargs *)",
            "Bash(bash *)",
            "Bash(sh *)",
            "Bash(eval *)",
            "Bash(exec *)",
            "Bash(source *)",
            "Bash(command *)",
            "Bash(find *)",
            "Bash(nohup *)",
            "Bash(fd *)",
            "Bash(ssh *)",
        ],
        &[],
    );
    let lines = [
        "env make",
        "env A=b ls",
        "sudo make",
        "timeout 5 make",
        "nice make",
        "echo x | xargs make",
        "xargs -I {} make {}",
        "bash -c make",
        "bash -c ls",
        "bash",
        "sh -c 'touch x'",
        "eval make",
        "eval ls",
        "exec make",
        "exec ls",
        "source x.sh",
        "command make",
        "nohup make",
        "fd -x make",
        "find . -exec make ';'",
        "ssh host make",
        "timeout 5 nice nohup make",
        "timeout 5 bash -c ls",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
}

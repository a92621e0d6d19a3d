//! The net change of a file as a patch that `git apply` accepts.

use std::fmt::Write;

use crate::domain::{DiffLine, DiffLineTag, FileDiff, LineEnding};

use crate::services::session_changes::{NetChangeContent, NetFileChange};

/// Context lines around each change, as in `git diff`.
const AROUND: usize = 3;

/// The patch of one file; empty if nothing differs or the content is unknown.
pub fn of(file: &NetFileChange) -> String {
    let mode = file.mode.unwrap_or(0o644);
    let name = |side: char| quoted(&format!("{side}/{}", file.name));
    let mut text = format!("diff --git {} {}\n", name('a'), name('b'));
    let (old, new, diff) = match &file.content {
        NetChangeContent::Changed(diff) => {
            if let Some(mode) = diff.mode {
                text.push_str(&format!("old mode {}\n", git_mode(mode.old)));
                text.push_str(&format!("new mode {}\n", git_mode(mode.new)));
            }
            (name('a'), name('b'), diff)
        }
        NetChangeContent::New(diff) => {
            text.push_str(&format!("new file mode {}\n", git_mode(mode)));
            ("/dev/null".to_owned(), name('b'), diff)
        }
        NetChangeContent::Deleted(diff) => {
            text.push_str(&format!("deleted file mode {}\n", git_mode(mode)));
            (name('a'), "/dev/null".to_owned(), diff)
        }
        NetChangeContent::Same | NetChangeContent::Unknown(_) => return String::new(),
    };
    if !diff.hunks.is_empty() {
        // Git puts a tab after a name with a space, so that nothing after it is taken for the name.
        let end = if file.name.contains(' ') { "\t" } else { "" };
        text.push_str(&format!("--- {old}{end}\n+++ {new}{end}\n"));
        hunks(diff, &mut text);
    }
    text
}

/// Appends the hunks of a diff in unified form, with three context lines around each change.
pub fn hunks(diff: &FileDiff, text: &mut String) {
    for hunk in &diff.hunks {
        let is_change = |line: &DiffLine| line.tag != DiffLineTag::Context;
        let changed: Vec<usize> =
            (0..hunk.lines.len()).filter(|at| is_change(&hunk.lines[*at])).collect();
        let mut from = 0;
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let mut at = 0;
        while let Some(first) = changed.get(at).copied() {
            // Changes whose context lines meet share one hunk.
            let mut last = first;
            while let Some(next) =
                changed.get(at).copied().filter(|it| *it <= last + 2 * AROUND + 1)
            {
                last = next;
                at += 1;
            }
            let start = first.saturating_sub(AROUND).max(from);
            let end = (last + AROUND + 1).min(hunk.lines.len());
            for line in &hunk.lines[from..start] {
                old += usize::from(line.tag != DiffLineTag::Added);
                new += usize::from(line.tag != DiffLineTag::Removed);
            }
            let lines = &hunk.lines[start..end];
            let count = |without| lines.iter().filter(|line| line.tag != without).count();
            let (olds, news) = (count(DiffLineTag::Added), count(DiffLineTag::Removed));
            // A side without lines names the line above it.
            let place = |start: usize, count: usize| start - usize::from(count == 0);
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "@@ -{},{olds} +{},{news} @@", place(old, olds), place(new, news));
            lines.iter().for_each(|line| push(line, text));
            (old, new, from) = (old + olds, new + news, end);
        }
    }
}

fn push(line: &DiffLine, text: &mut String) {
    text.push(match line.tag {
        DiffLineTag::Context => ' ',
        DiffLineTag::Removed => '-',
        DiffLineTag::Added => '+',
    });
    text.push_str(&line.text);
    text.push_str(match line.end {
        LineEnding::Lf => "\n",
        LineEnding::CrLf => "\r\n",
        LineEnding::Missing => "\n\\ No newline at end of file\n",
    });
}

/// Git knows two modes of regular files: executable or not.
fn git_mode(mode: u32) -> &'static str {
    if mode & 0o100 == 0 { "100644" } else { "100755" }
}

/// A name as git writes it: in quotes if it holds control characters, quotes or backslashes.
fn quoted(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            0x20..0x7f => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::domain::{DiffContextSize, FileModeChange};
    use crate::services::session_changes::ExternalChange;

    use crate::tui::dialogs::changes::patch::*;

    fn net(name: &str, content: NetChangeContent) -> NetFileChange {
        let path = Path::new("/w").join(name);
        NetFileChange {
            path,
            name: name.to_owned(),
            content,
            external_change: ExternalChange::Nothing,
            mode: Some(0o644),
        }
    }

    fn diff(old: &str, new: &str) -> FileDiff {
        FileDiff::with("/w/f", old, new, DiffContextSize::WholeFile)
    }

    #[test]
    fn a_change_is_a_patch_with_three_lines_around() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("5\n", "five\n").replace("20\n", "twenty");
        let text = of(&net("f", NetChangeContent::Changed(Arc::new(diff(&old, &new)))));
        insta::assert_snapshot!(text, @r"
        diff --git a/f b/f
        --- a/f
        +++ b/f
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
        @@ -12,9 +12,9 @@
         12
         13
         14
        -15
        +1five
         16
         17
         18
         19
        -20
        +twenty
        \ No newline at end of file
        ");
    }

    #[test]
    fn headers_for_new_deleted_and_mode_changes() {
        let table = [
            (
                NetChangeContent::New(Arc::new(diff("", "a\n"))),
                "new file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n",
            ),
            (
                NetChangeContent::Deleted(Arc::new(diff("a\n", ""))),
                "deleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n",
            ),
            (
                NetChangeContent::Changed(Arc::new(FileDiff {
                    mode: Some(FileModeChange { old: 0o644, new: 0o755 }),
                    ..diff("a\n", "a\n")
                })),
                "old mode 100644\nnew mode 100755\n",
            ),
        ];
        for (content, wanted) in table {
            assert_eq!(of(&net("f", content)), format!("diff --git a/f b/f\n{wanted}"));
        }
        assert_eq!(of(&net("f", NetChangeContent::Same)), "");
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a/b c"), "a/b c");
        assert_eq!(quoted("a/b\"\n"), "\"a/b\\\"\\012\"");
    }

    /// What `git apply` makes of the patch from `old` to `new`.
    fn applied(name: &str, old: &str, new: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, old).unwrap();
        let patch = folder.path().join("the.patch");
        std::fs::write(&patch, of(&net(name, NetChangeContent::Changed(Arc::new(diff(old, new))))))
            .unwrap();
        // Outside of any repository, and without the user's settings.
        let status = Command::new("git")
            .args(["apply", "--whitespace=nowarn", "the.patch"])
            .current_dir(folder.path())
            .env("GIT_CEILING_DIRECTORIES", folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .unwrap();
        assert!(status.success(), "{}", std::fs::read_to_string(&patch).unwrap());
        std::fs::read_to_string(&file).unwrap()
    }

    #[test]
    fn git_applies_the_patch() {
        let numbers: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let table = [
            ("f", "a\nb\n", "a\nc\n"),
            ("with space", "a", "a\nb"),
            ("crlf", "a\r\nb\r\n", "a\nb\r\nc"),
            ("far", numbers.as_str(), "1\n2\nx\n4\n"),
            ("quo\"te", "a\rb\n", "a\rc\n"),
        ];
        for (name, old, new) in table {
            assert_eq!(applied(name, old, new), new, "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn git_applies_any_patch(old in "([ab]\r?\n){1,30}a?", new in "([ab]\r?\n){1,30}a?") {
            prop_assume!(old != new);
            prop_assert_eq!(applied("f", &old, &new), new);
        }
    }
}

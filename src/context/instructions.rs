//! Instruction files: what the user and the project want the model to know.
//!
//! They are read from disk each time the user sends a message, and never stored. The same files
//! give the same bytes; without files nothing is sent. They are only text: whatever they say,
//! permissions stay as they are.
//!
//! Of a project, the root of the git repository and the working folder are read, in this order. In
//! each folder SLUG.md is read, else AGENTS.md, else CLAUDE.md.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repository_root;
use crate::disk::read_text;
use crate::domain::sanitize::sanitize_line;
use crate::domain::strip_invisible;

/// The most characters that are sent of all files together. Where they are cut, a line about it
/// follows.
pub const MAX_CHARACTERS: usize = 40_000;

/// The text of all instruction files, with warnings about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedInstructions {
    /// The text of all files below their headings; empty when there is none.
    pub text: String,
    /// Warnings for the user, as sentences. Each read gives them again, so show each only once.
    pub warnings: Vec<String>,
    /// The files that the text is made of, in order.
    pub files: Vec<InstructionFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    /// The size of its text in bytes, before the limit cuts anything.
    pub bytes: usize,
    /// Where it stands in the text that is sent, with its heading; empty where it was cut off.
    pub sent: Range<usize>,
}

/// Reads the instruction files of slug's `home` and of the project's folders, outermost first. For
/// an untrusted project, pass no folders.
pub fn read_instructions(home: &Path, project: &[PathBuf]) -> LoadedInstructions {
    let mut reader = InstructionReader::default();
    reader.main_file("# Global Rules", home, InstructionLinkPolicy::Followed);
    for folder in project {
        reader.main_file("# Project Rules", folder, InstructionLinkPolicy::Inside(folder));
    }
    for folder in project {
        reader.rules(folder);
    }
    for folder in project {
        let path = folder.join("SLUG.local.md");
        reader.file("# Local Notes (private)", &path, InstructionLinkPolicy::Inside(folder));
    }
    reader.finish()
}

/// The folders whose instructions apply to work in `cwd`, once it is trusted: the root of its
/// repository, if that is another folder of the same owner, and `cwd` itself. A home folder that is
/// a repository does not count as a project.
pub fn project_folders(cwd: &Path, user_home: Option<&Path>) -> Vec<PathBuf> {
    let owner = |path: &Path| fs::metadata(path).ok().map(|it| it.uid());
    let root = repository_root(cwd).filter(|root| {
        root != cwd
            && Some(root.as_path()) != user_home
            && root.parent().is_some()
            && owner(root) == owner(cwd)
    });
    root.into_iter().chain([cwd.to_owned()]).collect()
}

/// Where a symbolic link in place of an instruction file may lead.
#[derive(Clone, Copy)]
enum InstructionLinkPolicy<'a> {
    /// Anywhere, because it is the user's own link.
    Followed,
    /// Only inside this folder, or a project could have any file of the user's sent.
    Inside(&'a Path),
}

#[derive(Default)]
struct InstructionReader {
    text: String,
    sections: Vec<InstructionSection>,
    found: LoadedInstructions,
}

struct InstructionSection {
    heading: String,
    /// Where its heading begins in the text.
    start: usize,
    /// Where the first line below the heading begins.
    body: usize,
    path: PathBuf,
}

/// The most files that the line about a cut names.
const NAMED_FILES: usize = 10;

/// A file with more bytes than this has more characters than the limit, because a character has at
/// most four bytes.
const MAX_BYTES: u64 = (MAX_CHARACTERS * 4 + 4) as u64;

impl InstructionReader {
    fn main_file(&mut self, heading: &str, folder: &Path, links: InstructionLinkPolicy<'_>) {
        let names = ["SLUG.md", "AGENTS.md", "CLAUDE.md"];
        let present = names
            .into_iter()
            .map(|name| folder.join(name))
            .find(|path| fs::symlink_metadata(path).is_ok());
        if let Some(path) = present {
            self.file(heading, &path, links);
        }
    }

    fn rules(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder.join(".slug").join("rules")) else { return };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let heading = format!("# Rule: {}", strip_invisible(&name).text.replace('\n', " "));
            self.file(&heading, &path, InstructionLinkPolicy::Inside(folder));
        }
    }

    fn file(&mut self, heading: &str, path: &Path, links: InstructionLinkPolicy<'_>) {
        match links {
            InstructionLinkPolicy::Followed => {}
            InstructionLinkPolicy::Inside(folder) => {
                if leads_outside(path, folder) {
                    self.warn(
                        path,
                        "links outside the project and is left out: copy the file \
                        into the project instead",
                    );
                    return;
                }
            }
        }
        let text = match read_text(path, MAX_BYTES) {
            Ok(Some(text)) => text.replace("\r\n", "\n"),
            Ok(None) => return,
            Err(error) => {
                self.warn(path, &format!("{error}; it is left out"));
                return;
            }
        };
        let visible = strip_invisible(&text);
        if visible.removed > 0 {
            let count = visible.removed;
            self.warn(
                path,
                &format!(
                    "contains {count} invisible characters, which the model does not get: check \
                     where the file comes from"
                ),
            );
        }
        let body = visible.text.trim();
        if body.is_empty() {
            return;
        }
        self.found.files.push(InstructionFile {
            path: path.to_owned(),
            bytes: text.len(),
            sent: 0..0,
        });
        self.add(heading, body, path);
    }

    fn add(&mut self, heading: &str, body: &str, path: &Path) {
        let same = self.sections.last().is_some_and(|section| section.heading == heading);
        let start = self.text.len();
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        if !same {
            self.text.push_str(heading);
            self.text.push_str("\n\n");
        }
        let section = InstructionSection {
            heading: heading.to_owned(),
            start,
            body: self.text.len(),
            path: path.to_owned(),
        };
        self.sections.push(section);
        self.text.push_str(body);
    }

    fn warn(&mut self, path: &Path, what: &str) {
        let path = path.to_string_lossy();
        self.found.warnings.push(format!("{} {what}.", sanitize_line(&path)));
    }

    fn finish(mut self) -> LoadedInstructions {
        if let Some((limit, _)) = self.text.char_indices().nth(MAX_CHARACTERS) {
            self.cut(limit);
        }
        let starts: Vec<usize> = self.sections.iter().map(|section| section.start).collect();
        let ends = starts.iter().copied().skip(1).chain([self.text.len()]);
        for (file, (start, end)) in self.found.files.iter_mut().zip(starts.iter().zip(ends)) {
            let end = end.min(self.text.len());
            file.sent = (*start).min(end)..end;
        }
        self.found.text = self.text;
        self.found
    }

    /// Cuts the text after the last line that ends before `limit`. A line that fills the limit by
    /// itself is cut inside, and a heading without text is cut, too.
    fn cut(&mut self, limit: usize) {
        let Some(section) = self.sections.iter().rfind(|section| section.start <= limit) else {
            return;
        };
        let line = self.text[..limit].rfind('\n').unwrap_or_default();
        let is_first_section = section.start == 0;
        let end = if line > section.body {
            line
        } else if is_first_section && limit > section.body {
            limit
        } else {
            section.start
        };
        let path = section.path.clone();
        let left_out: Vec<String> = self
            .sections
            .iter()
            .filter(|it| it.start >= section.start)
            .map(|it| strip_invisible(&it.path.to_string_lossy()).text.replace('\n', " "))
            .collect();
        self.text.truncate(end);
        self.text.truncate(self.text.trim_end().len());
        self.text.push_str(&cut_notice(&left_out, end > section.start));
        self.warn(
            &path,
            "is cut off, and what comes after it is left out, because the instruction files are \
             over 40,000 characters together: shorten them",
        );
    }
}

/// What the model is told where the text ends too early. The first file of `left_out` lost only its
/// end if `has_part`.
fn cut_notice(left_out: &[String], has_part: bool) -> String {
    let mut names: Vec<String> =
        left_out.iter().take(NAMED_FILES).map(|path| format!("- {path}")).collect();
    if has_part && let Some(first) = names.first_mut() {
        first.insert_str(2, "the rest of ");
    }
    if left_out.len() > NAMED_FILES {
        names.push(format!("- {} more files", left_out.len() - NAMED_FILES));
    }
    format!(
        "\n\n[slug cut this text here, because the instruction files together hold more than 40,000 \
         characters. Left out:\n{}\nRead them if they matter to the task.]",
        names.join("\n"),
    )
}

fn leads_outside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(real), Ok(folder)) => !real.starts_with(folder),
        // A link that leads nowhere counts as a missing file, which reading reports.
        (Err(_), _) | (_, Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// How the line about a cut begins.
    const CUT: &str = "\n\n[slug cut this text here";

    struct InstructionTestFolder {
        folder: TempDir,
    }

    impl InstructionTestFolder {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(self, name: &str, text: &str) -> Self {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn read(&self) -> LoadedInstructions {
            read_instructions(&self.path("home"), &[self.path("project")])
        }
    }

    #[test]
    fn all_files_are_below_their_headings_in_order() {
        let place = InstructionTestFolder::new()
            .write("home/SLUG.md", "be kind\n")
            .write("project/SLUG.md", "\nuse tabs\r\nand care\r\n\n")
            .write("project/.slug/rules/b.md", "rule b")
            .write("project/.slug/rules/a.md", "rule a")
            .write("project/.slug/rules/ignored.txt", "no")
            .write("project/SLUG.local.md", "mine");
        let found = place.read();
        assert_eq!(
            found.text,
            "# Global Rules\n\nbe kind\n\n# Project Rules\n\nuse tabs\nand care\n\n\
             # Rule: a.md\n\nrule a\n\n# Rule: b.md\n\nrule b\n\n# Local Notes (private)\n\nmine"
        );
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        assert_eq!(found.files.len(), 5);
        assert_eq!(found.files[0].bytes, 8);
        let sent = found.files.iter().map(|file| &found.text[file.sent.clone()]);
        assert_eq!(sent.collect::<String>(), found.text);
        assert_eq!(place.read(), found);
    }

    #[test]
    fn no_files_give_no_text() {
        assert_eq!(InstructionTestFolder::new().read(), LoadedInstructions::default());
        let blank = InstructionTestFolder::new().write("project/SLUG.md", " \n\n");
        assert_eq!(blank.read().text, "");
    }

    #[test]
    fn without_trust_the_project_is_not_read() {
        let place = InstructionTestFolder::new()
            .write("home/SLUG.md", "mine")
            .write("project/SLUG.md", "theirs");
        assert_eq!(read_instructions(&place.path("home"), &[]).text, "# Global Rules\n\nmine");
    }

    #[test]
    fn other_names_stand_in_for_a_missing_file() {
        let place = InstructionTestFolder::new().write("project/CLAUDE.md", "c");
        assert_eq!(place.read().text, "# Project Rules\n\nc");
        let place = place.write("project/AGENTS.md", "a");
        assert_eq!(place.read().text, "# Project Rules\n\na");
        let place = place.write("project/SLUG.md", "s");
        assert_eq!(place.read().text, "# Project Rules\n\ns");
    }

    #[test]
    fn a_change_on_disk_is_read_the_next_time() {
        let place = InstructionTestFolder::new().write("project/SLUG.md", "one");
        assert!(place.read().text.ends_with("one"));
        let place = place.write("project/SLUG.md", "two");
        assert!(place.read().text.ends_with("two"));
        fs::remove_file(place.path("project/SLUG.md")).unwrap();
        assert_eq!(place.read().text, "");
    }

    #[test]
    fn too_much_is_cut_at_a_line_with_a_warning() {
        let line = format!("{}\n", "é".repeat(99));
        let place = InstructionTestFolder::new()
            .write("project/SLUG.md", &line.repeat(600))
            .write("project/SLUG.local.md", "last");
        let found = place.read();
        let (kept, notice) = found.text.split_once(CUT).unwrap();
        let count = kept.chars().count();
        assert!(count <= MAX_CHARACTERS && count > MAX_CHARACTERS - 200, "{count}");
        assert!(kept.ends_with('é') && !kept.contains("last"));
        assert!(kept.lines().skip(2).all(|line| line.chars().count() == 99));
        let files = ["SLUG.md", "SLUG.local.md"].map(|name| place.path("project").join(name));
        let left_out = format!("- the rest of {}\n- {}\n", files[0].display(), files[1].display());
        assert!(notice.contains(&left_out), "{notice}");
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        assert!(found.warnings[0].contains("over 40,000 characters"));
    }

    #[test]
    fn the_cut_leaves_no_heading_alone() {
        let place = InstructionTestFolder::new()
            .write("project/SLUG.md", &format!("{}\n", "x".repeat(79)).repeat(499))
            .write("project/SLUG.local.md", &"y".repeat(200));
        let found = place.read();
        let (kept, notice) = found.text.split_once(CUT).unwrap();
        assert!(kept.ends_with('x'), "{}", &kept[kept.len() - 80..]);
        assert!(!notice.contains("the rest of") && notice.contains("/SLUG.local.md\n"), "{notice}");
        let one_line = InstructionTestFolder::new().write("project/SLUG.md", &"z".repeat(50_000));
        let found = one_line.read();
        let (kept, _) = found.text.split_once(CUT).unwrap();
        assert_eq!(kept.chars().count(), MAX_CHARACTERS);
    }

    #[test]
    fn many_files_that_are_left_out_are_counted() {
        let mut place = InstructionTestFolder::new().write("home/SLUG.md", &"z".repeat(50_000));
        for number in 10..30 {
            place = place.write(&format!("project/.slug/rules/{number}.md"), "rule");
        }
        let found = place.read();
        let (_, notice) = found.text.split_once(CUT).unwrap();
        assert!(notice.contains("/18.md\n- 11 more files\n"), "{notice}");
    }

    #[test]
    fn exactly_as_much_as_allowed_is_not_cut() {
        let room = MAX_CHARACTERS - "# Project Rules\n\n".len();
        let place = InstructionTestFolder::new().write("project/SLUG.md", &"z".repeat(room));
        let found = place.read();
        assert!(found.warnings.is_empty());
        assert_eq!(found.text.chars().count(), MAX_CHARACTERS);
    }

    #[test]
    fn a_warning_shows_the_line_ends_of_a_name() {
        let place = InstructionTestFolder::new()
            .write("project/.slug/rules/a\nQuestion: ls?\u{1b}.md", "a\u{200b}");
        let [warning] = &place.read().warnings[..] else { panic!() };
        assert!(warning.contains("rules/a␊Question: ls?␛.md contains 1"), "{warning}");
    }

    #[test]
    fn invisible_characters_are_taken_out_with_a_warning() {
        let place =
            InstructionTestFolder::new().write("project/AGENTS.md", "a\u{e0041}\u{202e}b\u{200b}");
        let found = place.read();
        assert_eq!(found.text, "# Project Rules\n\nab");
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].contains("AGENTS.md contains 3 invisible characters"));
    }

    #[test]
    fn a_file_that_is_no_text_is_left_out_with_a_warning() {
        let place = InstructionTestFolder::new()
            .write("home/SLUG.md", "\0\u{1}binary")
            .write("project/.slug/rules/ok.md", "fine");
        fs::create_dir_all(place.path("project/SLUG.md")).unwrap();
        let found = place.read();
        assert_eq!(found.text, "# Rule: ok.md\n\nfine");
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
        assert!(found.warnings[0].contains("is not UTF-8 text"));
        assert!(found.warnings[1].contains("is not a regular file"));
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let place = InstructionTestFolder::new()
            .write("secret", "key")
            .write("project/docs/rules.md", "inside");
        symlink(place.path("secret"), place.path("project/SLUG.md")).unwrap();
        symlink("docs/rules.md", place.path("project/SLUG.local.md")).unwrap();
        let found = place.read();
        assert_eq!(found.text, "# Local Notes (private)\n\ninside");
        assert!(found.warnings[0].contains("links outside the project"));
    }

    #[test]
    fn root_and_working_folder_share_one_heading() {
        let place = InstructionTestFolder::new()
            .write("project/SLUG.md", "outer")
            .write("project/sub/AGENTS.md", "inner");
        fs::create_dir(place.path("project/.git")).unwrap();
        let folders = project_folders(&place.path("project/sub"), None);
        assert_eq!(folders, [place.path("project"), place.path("project/sub")]);
        let found = read_instructions(&place.path("home"), &folders);
        assert_eq!(found.text, "# Project Rules\n\nouter\n\ninner");
    }

    #[test]
    fn a_home_folder_does_not_count_as_a_project() {
        let place =
            InstructionTestFolder::new().write("home/.git/HEAD", "").write("home/src/x", "");
        let cwd = place.path("home/src");
        assert_eq!(project_folders(&cwd, Some(&place.path("home"))), [cwd]);
    }
}

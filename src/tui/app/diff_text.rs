//! A diff as plain text, for the clipboard.

use std::fmt::Write;

use crate::domain::{DiffLineTag, FileDiff};

/// The diff in unified form, with the `---` and `+++` lines of `git diff`.
pub fn unified(diff: &FileDiff) -> String {
    let path = diff.path.display();
    let mut text = format!("--- {path}\n+++ {path}\n");
    for hunk in &diff.hunks {
        let count = |tag| hunk.lines.iter().filter(|line| line.tag != tag).count();
        let (old, new) = (count(DiffLineTag::Added), count(DiffLineTag::Removed));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "@@ -{},{old} +{},{new} @@", hunk.old_start, hunk.new_start);
        for line in &hunk.lines {
            text.push(match line.tag {
                DiffLineTag::Context => ' ',
                DiffLineTag::Removed => '-',
                DiffLineTag::Added => '+',
            });
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_can_be_pasted_as_a_patch() {
        let text = unified(&FileDiff::between("f", "a\nb\n", "a\nc\n"));
        assert_eq!(text, "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}

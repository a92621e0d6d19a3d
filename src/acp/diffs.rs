//! Whole texts of a change from its hunks: an editor shows a diff of two texts, slug's question has the
//! changed places alone.

use crate::domain::{DiffLine, DiffLineTag, FileDiff, LineEnding};

/// The new text, where `diff` is one of `old`; `None` where it is of another text.
pub(super) fn new_text(diff: &FileDiff, old: &str) -> Option<String> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new = String::with_capacity(old.len());
    let mut at = 0;
    for hunk in &diff.hunks {
        let start = hunk.old_start.saturating_sub(1).max(at).min(lines.len());
        lines[at..start].iter().for_each(|line| new.push_str(line));
        at = start;
        for line in &hunk.lines {
            let text = whole(line);
            if line.tag != DiffLineTag::Added {
                if *lines.get(at)? != text {
                    return None;
                }
                at += 1;
            }
            if line.tag != DiffLineTag::Removed {
                new.push_str(&text);
            }
        }
    }
    lines[at..].iter().for_each(|line| new.push_str(line));
    Some(new)
}

/// The changed places of a text that is not known whole: before and after.
pub(super) fn changed_places(diff: &FileDiff) -> (String, String) {
    let side = |left_out: DiffLineTag| -> String {
        let hunks = diff.hunks.iter().map(|hunk| {
            hunk.lines.iter().filter(|line| line.tag != left_out).map(whole).collect::<String>()
        });
        hunks.collect::<Vec<_>>().join("\n")
    };
    (side(DiffLineTag::Added), side(DiffLineTag::Removed))
}

fn whole(line: &DiffLine) -> String {
    let end = match line.end {
        LineEnding::Lf => "\n",
        LineEnding::CrLf => "\r\n",
        LineEnding::Missing => "",
    };
    format!("{}{end}", line.text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_diff_gives_the_new_text_back(
            old in "([abc]{0,2}(\r\n|\n)){0,40}[abc]{0,2}",
            new in "([abc]{0,2}(\r\n|\n)){0,40}[abc]{0,2}",
        ) {
            let diff = FileDiff::between("/f", &old, &new);
            prop_assert_eq!(new_text(&diff, &old), Some(new));
        }
    }

    #[test]
    fn a_diff_of_another_text_gives_the_changed_places() {
        let diff = FileDiff::between("/f", "a\nb\n", "a\nc\n");
        assert_eq!(new_text(&diff, "x\ny\n"), None);
        assert_eq!(new_text(&diff, ""), None);
        assert_eq!(changed_places(&diff), ("a\nb\n".to_owned(), "a\nc\n".to_owned()));
    }
}

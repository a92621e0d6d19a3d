//! The workspace's paths, ranked for what was typed behind `@`.
//!
//! Folders end in a slash. What the person and the model have been at comes first.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::mention::{MentionTarget, mentions};

use super::ScreenModel;
use super::block::BlockBody;

/// Rows that are offered at most; nobody goes through more.
pub const MOST: usize = 200;
/// What a match among recent paths counts more.
const RECENT: u32 = 24;
/// Recent paths that count.
const REMEMBERED: usize = 50;
/// Blocks of the transcript, from its end, that are looked at for them.
const BLOCKS: usize = 300;

/// Sorts paths as [`best`] needs them: what lies near the top comes first.
pub fn sort(paths: &mut [String]) {
    paths.sort_by_cached_key(|path| (depth(path), path.clone()));
}

/// Where a path is among sorted ones.
pub fn find(paths: &[String], path: &str) -> Option<usize> {
    paths.binary_search_by(|other| (depth(other), other.as_str()).cmp(&(depth(path), path))).ok()
}

/// The indices of the sorted `paths` that match best, the best first.
pub fn best(paths: &[String], recent: &[String], query: &str) -> Vec<usize> {
    let recent: Vec<usize> = recent.iter().filter_map(|path| find(paths, path)).collect();
    if query.is_empty() {
        let rest = (0..paths.len()).filter(|index| !recent.contains(index));
        return recent.iter().copied().chain(rest).take(MOST).collect();
    }
    let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut buffer = Vec::new();
    let mut scored: Vec<(Reverse<u32>, usize)> = paths
        .iter()
        .enumerate()
        .filter_map(|(index, path)| {
            let score = pattern.score(Utf32Str::new(path, &mut buffer), &mut matcher)?;
            let bonus = if recent.contains(&index) { RECENT } else { 0 };
            Some((Reverse(score + bonus), index))
        })
        .collect();
    if scored.len() > MOST {
        scored.select_nth_unstable(MOST);
        scored.truncate(MOST);
    }
    scored.sort_unstable();
    scored.into_iter().map(|(_, index)| index).collect()
}

/// What the person has named and the tools have been at, the newest first.
pub fn recent(model: &ScreenModel) -> Vec<String> {
    let mut recent: Vec<String> = Vec::new();
    let mut add = |path: String| {
        if recent.len() < REMEMBERED && !recent.contains(&path) {
            recent.push(path);
        }
    };
    for block in model.transcript.blocks().iter().rev().take(BLOCKS) {
        match &block.body {
            BlockBody::User(text) => named_in(text).for_each(&mut add),
            BlockBody::Tool(tool) => {
                let input = tool.input.as_ref();
                let path = input.and_then(|input| input.get("file_path")?.as_str());
                let inside = path.and_then(|path| {
                    let path = std::path::Path::new(path);
                    path.strip_prefix(&model.settings.cwd).unwrap_or(path).to_str()
                });
                if let Some(path) = inside {
                    add(path.to_owned());
                }
            }
            BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Interrupted
            | BlockBody::Compacted => {}
        }
    }
    for sent in model.composer.history.entries().iter().rev().take(BLOCKS) {
        named_in(&sent.typed.text).for_each(&mut add);
    }
    recent
}

/// A message of megabytes is not searched for what it names.
fn named_in(text: &str) -> impl Iterator<Item = String> {
    let text = if text.len() > 20_000 { "" } else { text };
    mentions(text).into_iter().filter_map(|mention| match mention.target {
        MentionTarget::Path { path, .. } => Some(path),
        MentionTarget::Session(_) => None,
    })
}

fn depth(path: &str) -> usize {
    path.trim_end_matches('/').matches('/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Vec<String> {
        let mut paths = ["src/domain/cart.rs", "src/", "src/cart.rs", "README.md", "src/domain/"]
            .map(str::to_owned)
            .to_vec();
        sort(&mut paths);
        paths
    }

    fn shown(recent: &[&str], query: &str) -> Vec<String> {
        let paths = index();
        let recent: Vec<String> = recent.iter().map(|path| (*path).to_owned()).collect();
        best(&paths, &recent, query).into_iter().map(|at| paths[at].clone()).collect()
    }

    #[test]
    fn what_is_near_the_top_comes_first() {
        let all = ["README.md", "src/", "src/cart.rs", "src/domain/", "src/domain/cart.rs"];
        assert_eq!(shown(&[], ""), all);
        assert_eq!(shown(&[], "cart"), ["src/cart.rs", "src/domain/cart.rs"]);
    }

    #[test]
    fn what_was_used_comes_before_it() {
        let used = ["src/domain/cart.rs", "gone.rs"];
        assert_eq!(shown(&used, "")[0], "src/domain/cart.rs");
        assert_eq!(shown(&used, "cart"), ["src/domain/cart.rs", "src/cart.rs"]);
    }

    #[test]
    fn every_path_is_found_by_its_name() {
        let paths = index();
        for (at, path) in paths.iter().enumerate() {
            assert_eq!(find(&paths, path), Some(at));
        }
        assert_eq!(find(&paths, "src"), None);
    }

    #[test]
    fn no_more_are_offered_than_anybody_reads() {
        let mut paths: Vec<String> = (0..1000).map(|number| format!("file{number}.rs")).collect();
        sort(&mut paths);
        assert_eq!(best(&paths, &[], "file").len(), MOST);
    }
}

//! Ranks the workspace's paths for the text behind `@`.
//!
//! Folders end in a slash. Paths that the user or the model used lately come first.

use std::cmp::Reverse;
use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Most paths that are offered: nobody reads through more.
pub const MOST: usize = 200;
/// Added to the score of a match that is among the recent paths.
const RECENT: u32 = 24;

/// Sorts paths as [`best`] and [`find`] need them: by depth, then by name.
pub fn sort(paths: &mut [String]) {
    paths.sort_by_cached_key(|path| (depth(path), path.clone()));
}

/// The sorted paths, and among them a row `name:` for each of these servers.
pub fn with_servers(files: &Arc<Vec<String>>, servers: &[String]) -> Arc<Vec<String>> {
    if servers.is_empty() {
        return files.clone();
    }
    let servers = servers.iter().map(|server| format!("{server}:"));
    let mut all: Vec<String> = servers.chain(files.iter().cloned()).collect();
    sort(&mut all);
    Arc::new(all)
}

/// The index of a path among paths sorted by [`sort`].
pub fn find(paths: &[String], path: &str) -> Option<usize> {
    paths.binary_search_by(|other| (depth(other), other.as_str()).cmp(&(depth(path), path))).ok()
}

/// The indices of the sorted `paths` that match best, the best first, at most [`MOST`]. An empty
/// query takes all, the recent ones first.
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
    fn paths_near_the_top_come_first() {
        let all = ["README.md", "src/", "src/cart.rs", "src/domain/", "src/domain/cart.rs"];
        assert_eq!(shown(&[], ""), all);
        assert_eq!(shown(&[], "cart"), ["src/cart.rs", "src/domain/cart.rs"]);
    }

    #[test]
    fn recent_paths_come_before_others() {
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
    fn at_most_200_paths_are_offered() {
        let mut paths: Vec<String> = (0..1000).map(|number| format!("file{number}.rs")).collect();
        sort(&mut paths);
        assert_eq!(best(&paths, &[], "file").len(), MOST);
    }
}

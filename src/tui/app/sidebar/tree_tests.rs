//! Tests of the order and the lines of the list of sessions.

use std::path::Path;

use super::super::order::date_heading;
use super::super::samples::{HERE, at, fork, id, list, now, row, week};
use super::*;
use crate::domain::EntryId;
use crate::session::SearchHitSource;

fn tree(list: SessionList) -> SessionTree {
    SessionTree::new(list, Path::new(HERE))
}

/// The lines as text: headings in brackets, the lines of the tree before titles.
fn shown(tree: &SessionTree) -> Vec<String> {
    let line = |line: &SessionTreeLine| match line {
        SessionTreeLine::Heading(heading) => format!("[{}]", tree.heading(*heading)),
        SessionTreeLine::Session(node) => {
            format!("{}{}", tree.branches(*node), tree.session(*node).unwrap().name())
        }
        SessionTreeLine::Parted(node) => {
            format!(
                "after {}",
                tree.session(*node).unwrap().last_shared_message.as_deref().unwrap()
            )
        }
        SessionTreeLine::Place(node, place) => {
            let place = tree.place(*node, *place).unwrap();
            format!("  {}[{}]{}", place.before, place.found, place.behind)
        }
    };
    tree.lines().iter().map(line).collect()
}

#[test]
fn sessions_are_grouped_by_date_with_forks_below_their_parents() {
    let expected = [
        "[Today]",
        "▾ Fix empty cart checkout",
        "  ├ try sum() instead",
        "  │ └ and a property test",
        "  └ with a feature flag",
        "  Upgrade to axum 0.9",
        "[Yesterday]",
        "  Flaky inventory test",
        "[This week]",
        "  Währung: 日本語の通貨の書式をまとめて直す",
        "[May]",
        "  A first look",
        "[blog]",
        "  Dark mode",
        "  Untitled",
    ];
    assert_eq!(shown(&tree(week())), expected);
}

#[test]
fn dates_have_everyday_names() {
    let cases = [
        ("2026-06-18T00:00:00+02:00", "Today"),
        ("2026-06-19T09:00:00+02:00", "Today"),
        ("2026-06-17T23:59:00+02:00", "Yesterday"),
        ("2026-06-15T00:00:00+02:00", "This week"),
        ("2026-06-14T23:59:00+02:00", "June"),
        ("2026-01-01T12:00:00+01:00", "January"),
        ("2025-12-31T12:00:00+01:00", "December 2025"),
    ];
    for (then, name) in cases {
        assert_eq!(date_heading(then.parse().unwrap(), now()), name, "{then}");
    }
}

#[test]
fn ages_are_short() {
    let (hour, day) = (60, 1440);
    let cases = [
        (-5, "now"),
        (0, "now"),
        (1, "1m"),
        (59, "59m"),
        (hour, "1h"),
        (day - 1, "23h"),
        (day, "1d"),
        (7 * day, "1w"),
        (61 * day, "2mo"),
        (400 * day, "1y"),
    ];
    for (minutes, text) in cases {
        assert_eq!(age(row(1, "", minutes).last_used_at, now()), text);
    }
}

#[test]
fn a_fork_whose_parent_is_gone_or_elsewhere_is_a_root() {
    let rows = vec![
        fork(99, row(1, "orphan", 1)),
        row(2, "parent", 2),
        at("/home/me/blog", fork(2, row(3, "moved", 3))),
        fork(1, row(4, "below the orphan", 4)),
    ];
    let expected = ["[Today]", "▾ orphan", "  └ below the orphan", "  parent", "[blog]", "  moved"];
    assert_eq!(shown(&tree(list(rows))), expected);
}

#[test]
fn sessions_that_descend_from_themselves_are_shown_once() {
    let rows =
        vec![fork(2, row(1, "a", 1)), fork(1, row(2, "b", 2)), fork(3, row(3, "own parent", 3))];
    let shown = shown(&tree(list(rows)));
    for name in ["a", "b", "own parent"] {
        let times = shown.iter().filter(|line| line.trim_start_matches(['▾', '└', ' ']) == name);
        assert_eq!(times.count(), 1, "{shown:?}");
    }
}

#[test]
fn a_tree_is_sorted_by_its_newest_session() {
    let rows = vec![
        row(1, "old", 90 * 1440),
        fork(1, row(2, "new fork", 1)),
        row(3, "newer than old", 60),
    ];
    assert_eq!(shown(&tree(list(rows))), ["[Today]", "▾ old", "  └ new fork", "  newer than old"]);
}

#[test]
fn deep_forks_stop_moving_right() {
    let mut rows = vec![row(1, "root", 1)];
    rows.extend((2..=5000).map(|number| fork(number - 1, row(number, "fork", 1))));
    let tree = tree(list(rows));
    assert_eq!(tree.lines().len(), 5001);
    assert_eq!(tree.branches(3), "      └ ");
    assert_eq!(tree.branches(4000).chars().count(), 2 * LEVELS + 2);
}

#[test]
fn folders_of_the_same_name_get_more_of_their_path() {
    let rows = vec![
        at("/a/web", row(1, "one", 1)),
        at("/b/web", row(2, "two", 2)),
        at("", row(3, "three", 3)),
    ];
    let expected = ["[a/web]", "  one", "[b/web]", "  two", "[No folder]", "  three"];
    assert_eq!(shown(&tree(list(rows))), expected);
}

#[test]
fn a_filter_finds_words_anywhere_and_keeps_the_order() {
    let cases: [(&str, &[&str]); 6] = [
        ("cart", &["Fix empty cart checkout"]),
        ("CART", &[]),
        ("Fix", &["Fix empty cart checkout"]),
        ("test f", &["Flaky inventory test"]),
        ("te t", &["try sum() instead", "and a property test", "Flaky inventory test"]),
        ("日本", &["Währung: 日本語の通貨の書式をまとめて直す"]),
    ];
    let mut tree = tree(week());
    for (query, titles) in cases {
        tree.show(SidebarScope::AllProjects, query);
        let found: Vec<String> = shown(&tree)
            .into_iter()
            .filter(|line| !line.starts_with('['))
            .map(|line| line.trim_start().to_owned())
            .collect();
        let mut sorted = found.clone();
        sorted.sort();
        let mut expected: Vec<&str> = titles.to_vec();
        expected.sort_unstable();
        assert_eq!(sorted, expected, "{query}");
    }
    tree.show(SidebarScope::AllProjects, "cart");
    assert_eq!(tree.hits().unwrap().of("Fix empty cart checkout"), [10, 11, 12, 13]);
}

#[test]
fn one_project_can_be_shown_alone() {
    let mut tree = tree(week());
    tree.show(SidebarScope::ThisProject, "");
    assert!(!shown(&tree).iter().any(|line| line.contains("Dark mode")));
    assert_eq!(tree.lines().len(), 12);
}

#[test]
fn removing_and_inserting_a_session_changes_nothing() {
    let mut tree = tree(week());
    let before = shown(&tree);
    let row = tree.remove(id(2)).unwrap();
    assert!(shown(&tree).contains(&"  and a property test".to_owned()));
    tree.insert(row.clone());
    tree.insert(row);
    assert_eq!(shown(&tree), before);
}

#[test]
fn by_date_each_session_has_a_place_of_its_own() {
    let mut tree = tree(week());
    tree.group(SessionGrouping::Date);
    let expected = [
        "[Today]",
        "  with a feature flag",
        "  and a property test",
        "  try sum() instead",
        "  Fix empty cart checkout",
        "  Dark mode",
        "  Upgrade to axum 0.9",
        "[Yesterday]",
        "  Flaky inventory test",
        "[This week]",
        "  Währung: 日本語の通貨の書式をまとめて直す",
        "[May]",
        "  A first look",
        "[April]",
        "  Untitled",
    ];
    assert_eq!(shown(&tree), expected);
    let dark = tree.get(id(9)).unwrap().clone();
    assert_eq!(tree.project(&dark).as_deref(), Some("blog"));
    assert_eq!(tree.project(tree.get(id(1)).unwrap()), None, "what is here needs no name");
}

#[test]
fn by_forks_each_shows_the_last_shared_message() {
    let mut tree = tree(week());
    tree.group(SessionGrouping::Forks);
    let after = "after why does checkout fail when the cart is empty?";
    let expected = [
        "[Today]",
        "▾ Fix empty cart checkout",
        "  ├ try sum() instead",
        after,
        "  │ └ and a property test",
        after,
        "  └ with a feature flag",
        after,
    ];
    assert_eq!(shown(&tree), expected);
    tree.show(SidebarScope::AllProjects, "dark");
    assert_eq!(shown(&tree), ["[Today]", "  Dark mode"], "what is sought needs no forks");
    tree.show(SidebarScope::AllProjects, "");
    tree.insert(at("/home/me/blog", fork(5, row(11, "elsewhere", 1))));
    assert!(shown(&tree).contains(&"  └ elsewhere".to_owned()), "forks of any folder");
}

#[test]
fn conditions_filter_together_with_words() {
    let mut tree = tree(week());
    let cases: [(&str, &[&str]); 6] = [
        ("project:blog", &["Dark mode", "Untitled"]),
        ("project:blog after:7d", &["Dark mode"]),
        ("model:opus", &[]),
        ("model:qwen yesterday", &["Flaky inventory test"]),
        ("today axum", &["Upgrade to axum 0.9"]),
        ("before:2026-06", &["A first look", "Untitled"]),
    ];
    for (query, expected) in cases {
        tree.show(SidebarScope::AllProjects, query);
        let titles: Vec<&str> = tree.session_lines().map(|(_, row)| row.name()).collect();
        assert_eq!(titles, expected, "{query}");
    }
    tree.show(SidebarScope::AllProjects, "axum today");
    assert_eq!(tree.to_search().len(), 6, "text does not narrow where it is looked for");
}

fn place(entry: EntryId, found: &str) -> SessionSearchHit {
    SessionSearchHit {
        entry,
        call: None,
        timestamp: now().into(),
        who: SearchHitSource::User,
        before: "an ".into(),
        found: found.into(),
        behind: " here".into(),
    }
}

#[test]
fn hits_are_listed_below_their_session_and_copies_only_once() {
    let mut tree = tree(week());
    tree.show(SidebarScope::AllProjects, "axum");
    let (own, both) = (EntryId::generate(), EntryId::generate());
    let found = |session, places| SessionSearchResult { session, places, more: false };
    tree.add_found(vec![found(id(1), vec![place(both, "axum")])]);
    tree.add_found(vec![
        found(id(3), vec![place(both, "axum"), place(own, "Axum")]),
        found(id(5), vec![place(EntryId::generate(), "axum")]),
    ]);
    let expected = [
        "[Today]",
        "  with a feature flag",
        "  an [axum] here",
        "  an [Axum] here",
        "  Upgrade to axum 0.9",
        "  an [axum] here",
    ];
    assert_eq!(shown(&tree), expected);
    assert_eq!(tree.place_at(1).map(|it| it.entry), Some(both), "a session leads to its first");
    assert_eq!(tree.place_at(3).map(|it| it.entry), Some(own));
    tree.show(SidebarScope::AllProjects, "axu");
    assert_eq!(shown(&tree), ["[Today]", "  Upgrade to axum 0.9"], "another text, nothing found");
}

//! Tests of the page that compares two branches, at several widths.

use proptest::prelude::*;

use super::*;

fn message(role: Speaker, text: &str) -> BranchMessage {
    BranchMessage { role, text: text.into() }
}

fn branch(
    title: &str,
    said: Vec<BranchMessage>,
    files: &[(&str, Option<(usize, usize)>)],
) -> SessionBranch {
    let file = |(name, lines): &(&str, _)| FileDelta { name: (*name).into(), lines: *lines };
    SessionBranch { title: Some(title.into()), said, files: files.iter().map(file).collect() }
}

fn cart() -> BranchComparison {
    let sum = vec![
        message(Speaker::User, "try sum()\n  instead"),
        message(Speaker::Assistant, "Let me look."),
        message(Speaker::User, "and test it"),
        message(Speaker::Assistant, "`sum()` of nothing is zero.\nThe test passes."),
    ];
    let flag = vec![
        message(
            Speaker::User,
            "put it behind a flag, please, so that it can be turned off at once",
        ),
        message(Speaker::Assistant, "Done."),
        message(Speaker::User, "off by default"),
    ];
    let deep = "crates/shop/checkout/src/payment/providers/invoice/rendering/cart_total.rs";
    let sum_files = [("src/cart.rs", Some((1, 1))), ("logo.png", None), (deep, Some((3, 0)))];
    let flag_files = [("src/cart.rs", Some((12, 3))), ("src/flags.rs", Some((8, 0)))];
    BranchComparison {
        shared: 3,
        last_shared: Some(message(Speaker::User, "why does checkout fail?")),
        branches: [
            branch("try sum() instead", sum, &sum_files),
            branch("with a feature flag \u{1b}[31m", flag, &flag_files),
        ],
    }
}

/// The page without its colours.
fn plain(comparison: &BranchComparison, width: u16) -> String {
    let page = render_comparison(comparison, width);
    let sequences = ROLE_SGR.iter().map(|(_, sgr)| *sgr).chain(["\u{1b}[0m"]);
    sequences.fold(page, |page, sgr| page.replace(sgr, ""))
}

#[test]
fn in_a_narrow_terminal_one_branch_stands_after_the_other() {
    insta::assert_snapshot!(plain(&cart(), 78));
}

#[test]
fn in_a_wide_one_they_stand_side_by_side() {
    insta::assert_snapshot!(plain(&cart(), 118));
}

#[test]
fn the_users_messages_of_one_number_begin_at_one_height() {
    let page = plain(&cart(), 140);
    let second = page.lines().find(|line| line.contains("❯ and test it")).unwrap();
    assert!(second.contains("│ ❯ off by default"), "{second}");
}

#[test]
fn an_answer_to_the_last_shared_message_stands_above_the_first_question() {
    let mut compared = cart();
    compared.branches[1].said.insert(0, message(Speaker::Assistant, "Because of reduce."));
    let page = plain(&compared, 140);
    let row = |text: &str| page.lines().position(|line| line.contains(text)).unwrap();
    assert!(row("Because of reduce.") < row("❯ try sum()"));
    assert_eq!(row("❯ try sum()"), row("❯ put it behind a flag"));
}

#[test]
fn files_that_both_changed_are_marked() {
    for width in [78, 118] {
        let page = plain(&cart(), width);
        let marked = page.lines().filter(|line| line.contains("both"));
        assert!(marked.clone().all(|line| line.contains("src/cart.rs")), "{page}");
        assert_eq!(marked.count(), 1);
    }
    let mut apart = cart();
    apart.branches[1].files.remove(0);
    assert!(!plain(&apart, 118).contains("both") && !plain(&apart, 78).contains("both"));
}

#[test]
fn a_branch_without_a_word_says_so() {
    let mut compared = cart();
    compared.branches[0].said.clear();
    for width in [78, 118] {
        assert!(plain(&compared, width).contains(NOTHING_SAID), "{width}");
    }
}

#[test]
fn of_a_long_shared_message_the_beginning_is_shown() {
    let mut compared = cart();
    let lines: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
    compared.last_shared = Some(message(Speaker::Assistant, &lines.join("\n\n")));
    let page = plain(&compared, 118);
    assert!(page.contains("line 3\n\n  … 91 more rows\n") && !page.contains("line 4"), "{page}");
}

proptest! {
    #[test]
    fn any_page_fits_its_width(
        width in 40u16..220,
        texts in proptest::collection::vec("[a-z 日é\n\t\u{1b}]{0,80}", 4),
        name in "[a-z/日\t\n]{1,90}",
    ) {
        let mut comparison = cart();
        comparison.last_shared = Some(message(Speaker::Assistant, &texts[0]));
        comparison.branches[0].title = Some(texts[1].clone());
        comparison.branches[0].said[1].text.clone_from(&texts[2]);
        comparison.branches[1].said[0].text.clone_from(&texts[3]);
        comparison.branches[1].files[0].name = name;
        for line in plain(&comparison, width).lines() {
            prop_assert!(display_width(line) <= usize::from(width), "{line:?}");
        }
    }
}

//! The index of ids in `tests/README.md` has the ids that are in the names of tests, and no others.

use std::collections::BTreeSet;

use super::{page, rows, section};

#[test]
fn the_index_has_the_ids_of_the_tests() {
    let text = page("tests/README.md");
    let index = section(&text, "## Index of the ids");
    let listed: Vec<String> = rows(index).iter().map(|row| row[0].to_lowercase()).collect();
    let indexed: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), indexed.len(), "an id has one row");
    let used = ids_of_tests();
    let missing: Vec<&String> = used.difference(&indexed).collect();
    assert!(missing.is_empty(), "tests/README.md: no row says what {missing:?} stands for");
    let unused: Vec<&String> = indexed.difference(&used).collect();
    assert!(unused.is_empty(), "tests/README.md: no test is named after {unused:?}");
}

/// The ids that names of functions begin with: `s21` and `s49` of `s21_s49_no_number_hides_a_file`.
fn ids_of_tests() -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for entry in ["src", "tests"].iter().flat_map(ignore::Walk::new).map(Result::unwrap) {
        if entry.path().extension().is_none_or(|end| end != "rs") {
            continue;
        }
        for line in page(entry.path()).lines() {
            let Some((_, name)) = line.split_once("fn ") else { continue };
            let is_id = |part: &&str| {
                part.strip_prefix(['s', 'r']).is_some_and(|number| number.parse::<u16>().is_ok())
            };
            ids.extend(name.split('_').take_while(is_id).map(str::to_owned));
        }
    }
    ids
}

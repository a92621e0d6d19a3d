//! The longest common part of two lists, in order: lines of two versions of a file, words of two
//! lines.
//!
//! The items are numbered first, so that the search, which is much code, is compiled once for
//! numbers and not for each item type.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// The steps that turn `old` into `new`. If the search reaches the time `limit`, the steps are
/// still correct, but may not be the fewest.
pub fn align<T: Eq + Hash>(old: &[T], new: &[T], limit: Option<Duration>) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let mut number = |item| {
        let next = numbers.len();
        *numbers.entry(item).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number).collect();
    let new: Vec<usize> = new.iter().map(&mut number).collect();
    steps(&old, &new, limit)
}

fn steps(old: &[usize], new: &[usize], limit: Option<Duration>) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let deadline = limit.map(|limit| Instant::now() + limit);
    let (all_old, all_new) = (0..old.len(), 0..new.len());
    let Ok::<(), Infallible>(()) =
        myers::diff_deadline(&mut found, old, all_old, new, all_new, deadline);
    found.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_steps_make_the_new_list_of_the_old_one(
            old in prop::collection::vec(0..6_u8, 0..40),
            new in prop::collection::vec(0..6_u8, 0..40),
        ) {
            let mut made = Vec::new();
            let mut read = 0;
            for step in align(&old, &new, None) {
                prop_assert_eq!(step.old_range().start, read);
                read = step.old_range().end;
                match step {
                    DiffOp::Equal { old_index, len, .. } => {
                        made.extend(&old[old_index..old_index + len]);
                    }
                    DiffOp::Delete { .. } => {}
                    DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                        made.extend(&new[step.new_range()]);
                    }
                }
            }
            prop_assert_eq!((made, read), (new, old.len()));
        }
    }
}

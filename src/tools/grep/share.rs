//! Shares the room of a result out between files. Pure.
//!
//! Rows are taken in rounds: the first row of each file, in the order of the files, then the second
//! of each, and so on. So the rows up to any number are a beginning of each file's rows, and pages
//! that follow each other leave nothing out and show nothing twice.

/// How many rows of each file are among the first `room` rows, given how many each has.
pub(super) fn shares(counts: &[u64], room: u64) -> Vec<u64> {
    // The largest number of whole rounds that fits, by bisection.
    let taken = |rounds: u64| counts.iter().map(|count| (*count).min(rounds)).sum::<u64>();
    let (mut fits, mut too_many) = (0, counts.iter().max().map_or(0, |most| most + 1));
    while fits + 1 < too_many {
        let middle = fits + (too_many - fits) / 2;
        if taken(middle) <= room { fits = middle } else { too_many = middle }
    }
    let mut rest = room - taken(fits);
    counts
        .iter()
        .map(|count| {
            let share = (*count).min(fits);
            let one_more = u64::from(rest > 0 && *count > share);
            rest -= one_more;
            share + one_more
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_share_the_room() {
        for (counts, room, expected) in [
            (&[100, 2, 100][..], 12, &[5, 2, 5][..]),
            (&[100, 2, 100], 13, &[6, 2, 5]),
            (&[3, 3], 100, &[3, 3]),
            (&[3, 3, 3], 2, &[1, 1, 0]),
            (&[5], 0, &[0]),
            (&[], 9, &[]),
        ] {
            assert_eq!(shares(counts, room), expected, "{counts:?} {room}");
        }
    }

    proptest! {
        #[test]
        fn a_larger_room_adds_single_rows(
            counts in prop::collection::vec(0_u64..9, 0..8),
            room in 0_u64..60,
        ) {
            let (now, next) = (shares(&counts, room), shares(&counts, room + 1));
            prop_assert_eq!(now.iter().sum::<u64>(), room.min(counts.iter().sum()));
            prop_assert!(now.iter().zip(&next).all(|(now, next)| now <= next));
            prop_assert!(now.iter().zip(&counts).all(|(now, count)| now <= count));
        }

        /// A file that is found later takes rows from others and gives none back, so what does not
        /// fit now need not be kept.
        #[test]
        fn another_file_only_takes(
            counts in prop::collection::vec(0_u64..9, 0..8),
            other in 1_u64..9,
            at in 0_usize..8,
            room in 0_u64..40,
        ) {
            let at = at.min(counts.len());
            let now = shares(&counts, room);
            let mut more = counts;
            more.insert(at, other);
            let mut then = shares(&more, room);
            then.remove(at);
            prop_assert!(then.iter().zip(&now).all(|(then, now)| then <= now));
        }
    }
}

//! The file picker under `@`.

use std::sync::Arc;

use divan::Bencher;
use slug_code::tui::app::path_ranking;
use slug_code::tui::app::picker_list::{PickerList, PickerPaths, PickerSource};

/// Each letter of a query over 50,000 paths.
#[divan::bench(sample_count = 20)]
fn five_letters_over_50000_paths(bencher: Bencher) {
    let path = |n: usize| format!("crates/part{}/src/module{}/file{n}.rs", n % 97, n % 1_013);
    let mut all: Vec<String> = (0..50_000).map(path).collect();
    path_ranking::sort(&mut all);
    let mut list = PickerList::new(PickerSource::Paths(PickerPaths {
        all: Arc::new(all),
        recent: Arc::default(),
    }));
    bencher.bench_local(|| {
        list.set_query("");
        for query in ["p", "p4", "p4f", "p4f1", "p4f12"] {
            list.set_query(query);
            list.rank_now();
        }
        list.len()
    });
}

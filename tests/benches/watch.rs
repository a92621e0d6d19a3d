//! Scans a folder of 5,000 files, as before and after a command.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use divan::Bencher;
use slug_code::platform::watch::FolderWatcher;
use tempfile::TempDir;

const FILES: usize = 5_000;
const FOLDERS: usize = 50;

/// A folder that has been scanned.
fn watched() -> (TempDir, PathBuf, FolderWatcher) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("work");
    for number in 0..FILES {
        let dir = root.join(format!("{:02}", number % FOLDERS));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{number}.rs")), format!("// {number}\n").repeat(100)).unwrap();
    }
    let watch = FolderWatcher::new(root.clone(), folder.path().join("shelf"));
    // At the second scan the time stamps are old enough to be trusted.
    watch.look().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    watch.look().unwrap();
    (folder, root, watch)
}

#[divan::bench(sample_count = 50)]
fn nothing_changed_of_5000(bencher: Bencher) {
    let (_folder, _, watch) = watched();
    bencher.bench_local(|| watch.changes().unwrap().len());
}

#[divan::bench(sample_count = 50)]
fn one_changed_of_5000(bencher: Bencher) {
    let (_folder, root, watch) = watched();
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            fs::write(root.join("00/0.rs"), number.to_string()).unwrap();
        })
        .bench_local_values(|()| assert_eq!(watch.changes().unwrap().len(), 1));
}

#[divan::bench(sample_count = 20)]
fn one_made_of_5000(bencher: Bencher) {
    let (_folder, root, watch) = watched();
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            fs::write(root.join(format!("00/made-{number}")), "x").unwrap();
        })
        .bench_local_values(|()| assert_eq!(watch.changes().unwrap().len(), 1));
}

//! Reading skills at the start of a session.

use divan::Bencher;
use slug_code::skills::{PromptLibrary, PromptPlaces};

/// 200 skills of 5 KB each, and the list for the model in 2% of a window of 32k.
#[divan::bench(sample_count = 50)]
fn read_and_list_200(bencher: Bencher) {
    let home = tempfile::tempdir().unwrap();
    for number in 0..200 {
        let folder = home.path().join(format!("skills/skill-{number}"));
        std::fs::create_dir_all(&folder).unwrap();
        let about = "Does one kind of task and says so at length. ".repeat(6);
        let text = format!(
            "---\nname: skill-{number}\ndescription: {about}\n---\n{}",
            "A line of text.\n".repeat(320)
        );
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    let places = PromptPlaces { slug_home: home.path().to_owned(), ..PromptPlaces::default() };
    bencher.bench_local(|| {
        let library = PromptLibrary::read(&places);
        (library.report().rows.len(), library.listing(2560, "Call").len())
    });
}

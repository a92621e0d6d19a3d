//! `slug --demo` plays its whole task, with no server, no key and no network.

use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

/// The last line of the answer.
const END: &str = "Prices already charged are not corrected by this.";

#[test]
fn the_demo_plays_its_task_with_its_questions() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 80, 24).args(&["--demo", "plain"]).open();
    slug.wait_for("enter starts the demo");
    slug.wait_for("❯ Customers say a 500 g parcel costs too much. Fix it.");
    slug.keys(key::ENTER);
    slug.answer("lib/rates.sh?  +4 -4", "y");
    slug.answer("sh test.sh", "y");
    slug.wait_until("the end of the task", |screen| {
        screen.contains(END) && screen.contains(" tokens ─")
    });
    insta::assert_snapshot!("after_the_task_at_80x24", picture(&slug));
    slug.resize(120, 40);
    slug.wait_until("a wide screen", |screen| {
        screen.contains(&"─".repeat(120)) && screen.contains("What should I do?")
    });
    insta::assert_snapshot!("after_the_task_at_120x40", picture(&slug));
}

#[test]
fn the_demo_is_played_with_the_keyboard_alone() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 100, 40).args(&["--demo", "plain"]).open();
    slug.wait_for("enter starts the demo");
    slug.wait_for("❯ Customers say a 500 g parcel costs too much. Fix it.");
    slug.keys(key::ENTER);
    slug.wait_for_dialog("lib/rates.sh?  +4 -4");
    slug.keys(&format!("{} ", key::RIGHT));
    slug.wait_for("Yes, 3 of 4 changes");
    slug.keys(" ");
    slug.wait_for("Yes, all 4 changes");
    slug.keys("y");
    slug.answer("sh test.sh", "y");
    slug.wait_for(END);
    slug.wait_for("What should I do?");
    // Through all panes and back to the input.
    slug.keys("\t");
    slug.wait_for("fold");
    slug.keys("\t");
    slug.keys("/diff\r");
    slug.wait_for("What this session changed");
    slug.keys("q");
    slug.wait_for_no("What this session changed");
    slug.keys(&format!("{}rates", key::CTRL_F));
    slug.wait_for("/ rates");
    slug.keys(key::ESC);
    slug.wait_for_no("/ rates");
    slug.keys(key::CTRL_B);
    slug.wait_for("Sessions");
    slug.keys(key::ESC);
    slug.wait_for_no("Sessions");
    slug.keys("?");
    slug.wait_for("all keys, to search");
    slug.keys(key::ESC);
    // A letter right after escape would be read as one with alt.
    slug.wait_for_no("all keys, to search");
    slug.quit();
}

#[test]
fn the_demo_is_played_with_the_mouse_alone() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 100, 40).args(&["--demo", "plain"]).open();
    slug.wait_for("enter starts the demo");
    // Only the message itself has to be sent.
    slug.keys(key::ENTER);
    slug.wait_for_dialog("lib/rates.sh?  +4 -4");
    slug.click("[x]    7");
    slug.wait_for("Yes, 3 of 4 changes");
    slug.click("[ ]    7");
    slug.wait_for("all 4 changes");
    slug.click("y  Yes");
    slug.wait_for_dialog("sh test.sh");
    slug.click("y  Yes");
    slug.wait_for(END);
    slug.wait_for("What should I do?");
    slug.click("TodoWrite 3 of 3 done");
    slug.wait_for_no("✓ Run the tests");
    slug.wheel_up("Fixed: limits", 30);
    slug.wait_until("the beginning, and how much is below", |screen| {
        screen.contains("❯ Customers say") && !screen.contains(END)
    });
    slug.click("Thought");
    slug.wait_for("▾ Thought");
    slug.click("below");
    slug.wait_for(END);
    slug.quit();
}

/// The screen, with what differs from run to run replaced: the temporary folder's name, rates, times,
/// and the tokens of a request, which names the scratch folder.
fn picture(slug: &PtySlug) -> String {
    let rows = slug.screen();
    let rows = rows.lines().map(|row| {
        let row = replaced(row, "slug-demo-", |c| c.is_ascii_alphanumeric());
        let row = before_unit(&before_unit(&row, " tok/s"), " ms");
        // The closing line of a turn.
        if row.starts_with(" ─ ") {
            return before_unit(&before_unit(&row, " s ·"), " tokens");
        }
        if !row.contains("k/32.8k") {
            return row;
        }
        ["k/32.8k", "%", "k cached"].iter().fold(row, |row, unit| before_unit(&row, unit))
    });
    rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The row with `…` in place of the characters after `start`, in the same width.
fn replaced(row: &str, start: &str, is_part: impl Fn(char) -> bool) -> String {
    let Some((before, rest)) = row.split_once(start) else { return row.to_owned() };
    let after = rest.trim_start_matches(is_part);
    let width = rest.chars().count() - after.chars().count();
    format!("{before}{start}{}{after}", "…".repeat(width))
}

/// The row with `…` in place of the number before a unit and of its padding.
fn before_unit(row: &str, unit: &str) -> String {
    let Some((before, after)) = row.split_once(unit) else { return row.to_owned() };
    let before = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end();
    format!("{before} …{unit}{after}")
}

#[test]
fn the_tour_is_taken_with_the_keys_that_its_marks_name() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 120, 40).args(&["--demo"]).open();
    slug.wait_for("1/12  enter sends the message in the input.");
    slug.wait_for("❯ Customers say a 500 g parcel costs too much. Fix it.");
    slug.keys(key::ENTER);
    slug.wait_for_dialog("lib/rates.sh?  +4 -4");
    slug.wait_for("space leaves this change out.");
    slug.keys(" ");
    slug.wait_for("space includes it again.");
    slug.keys(" ");
    slug.answer("5/12", "y");
    slug.wait_for("y runs the tests.");
    slug.answer("sh test.sh", "y");
    slug.wait_for("8/12  ctrl+p lists every command and key.");
    slug.keys("\x10");
    slug.wait_for("9/12");
    slug.keys(key::ESC);
    slug.wait_for("10/12  Type /diff");
    slug.keys("/diff\r");
    slug.wait_for("What this session changed");
    slug.keys("q");
    slug.wait_for("11/12  Type /undo");
    slug.keys("/undo\r");
    slug.wait_for("12/12");
    slug.wait_for_question("files and conversation");
    slug.keys("y");
    slug.wait_for("That was slug");
    slug.keys(key::ESC);
    slug.wait_for_no("That was slug");
    slug.wait_for("❯ Customers say a 500 g parcel");
    slug.keys("\x15");
    slug.wait_for("What should I do?");
    slug.quit();
}

#[test]
fn the_tour_is_left_with_one_key_and_what_runs_goes_on() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 40, 12).args(&["--demo"]).open();
    slug.wait_for("1/12");
    slug.keys(key::ENTER);
    slug.wait_for("2/12");
    // f9
    slug.keys("\x1b[20~");
    slug.wait_for_no("2/12");
    slug.answer("+4 -4", "n");
    slug.wait_for("What should I do?");
    slug.quit();
}

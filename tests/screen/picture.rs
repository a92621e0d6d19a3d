//! The moving picture of the README, made from the guided tour.
//!
//! `SLUG_WRITE_PICTURES=1 cargo test --test integration picture` makes it anew.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use slug_code::tui::replay::svg::SvgRecorder;
use slug_code::tui::theme::{ColorDepth, Theme};

use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;

const PATH: &str = "docs/images/tour.svg";
const SIZE: (u16, u16) = (120, 36);
/// How often the screen is looked at.
const INTERVAL: Duration = Duration::from_millis(80);

/// A slug on the tour, and the picture of what it shows.
struct Film {
    slug: PtySlug,
    picture: SvgRecorder,
    began: Instant,
}

impl Film {
    /// Records for a while.
    fn roll(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let flow = self.picture.frame(self.began.elapsed(), &self.slug.cells());
            assert_eq!(flow, ControlFlow::Continue(()), "the picture is too large");
            std::thread::sleep(INTERVAL);
        }
    }

    /// Records until the screen shows `text`, and long enough to read it.
    fn roll_to(&mut self, text: &str) {
        let began = Instant::now();
        while !self.slug.screen().contains(text) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "no {text:?}: {}",
                self.slug.screen()
            );
            self.roll(INTERVAL);
        }
        self.roll(Duration::from_millis(1_800));
    }

    /// Types as a user does.
    fn types(&mut self, text: &str) {
        for letter in text.chars() {
            self.slug.keys(letter.encode_utf8(&mut [0; 4]));
            self.roll(Duration::from_millis(120));
        }
    }
}

#[test]
fn the_picture_of_the_tour_can_be_made() {
    if std::env::var_os("SLUG_WRITE_PICTURES").is_none() {
        return;
    }
    let env = TestEnv::new();
    let slug = PtySlug::at(&env, SIZE.0, SIZE.1);
    let slug = slug.env("COLORTERM", "truecolor").env("TERM", "xterm-256color").args(&["--demo"]);
    let mut slug = slug.open();
    slug.wait_for("1/12");
    slug.keys(key::ENTER);
    // The picture begins with the question.
    slug.wait_for_dialog("lib/rates.sh?  +4 -4");
    let picture = SvgRecorder::new(SIZE, &Theme::dark(ColorDepth::TrueColor));
    let mut film = Film { slug, picture, began: Instant::now() };
    film.roll_to("space leaves this change out.");
    film.types(" ");
    film.roll_to("space includes it again.");
    film.types(" ");
    film.roll_to("y allows the edit.");
    film.types("y");
    film.roll_to("y runs the tests.");
    film.types("y");
    film.roll_to("lists every command and key.");
    film.types("\x10");
    film.roll_to("9/12");
    film.types("fork");
    film.roll(Duration::from_millis(1_500));
    film.types(key::ESC);
    film.roll_to("10/12");
    film.types("/diff\r");
    film.roll_to("What this session changed");
    film.types("q");
    film.roll_to("11/12");
    film.types("/undo\r");
    film.roll_to("files and conversation");
    film.types("y");
    film.roll_to("That was slug");
    film.roll(Duration::from_secs(2));
    fs::write(
        PATH,
        film.picture.finish("slug: each change of an edit can be left out before a yes"),
    )
    .unwrap();
    film.slug.keys(key::ESC);
    film.slug.wait_for_no("That was slug");
}

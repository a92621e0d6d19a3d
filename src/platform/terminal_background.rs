//! Finds out whether the terminal's background is dark or light. slug sends a query and does not
//! wait for the answer, which arrives among the keys: at once, late, in pieces, or never.
//!
//! crossterm does not know the answer (OSC 11), and reads `ESC ] 11;rgb:1e1e/1e1e/2e2e ESC \` as
//! the keys alt+] 1 1 ; r g b and so on. [`ReplyFilter`] takes those out of crossterm's events. It
//! holds a key back only while the key may be the answer's beginning, for some milliseconds at
//! most, and passes it on if it was a key after all: no key is lost, and none is made up.
//!
//! slug does not ask for reports of changes (mode 2031): crossterm 0.29 waits for an end of their
//! `CSI ? 997 ; 1 n` that never comes, and swallows what is typed.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The query for the background's colour (xterm's OSC 11). The answer ends as the query does.
pub const QUESTION: &str = "\x1b]11;?\x1b\\";

/// How long the beginning of an answer is held back when nothing follows it.
const HOLD: Duration = Duration::from_millis(30);
/// How long after the query an escape may be the beginning of the answer. After that, an escape is
/// the key and is passed on at once.
const REPLY_TIMEOUT: Duration = Duration::from_millis(1000);
/// How long slug waits for the rest of an answer.
const REST: Duration = Duration::from_millis(1000);
/// The beginning of an answer after the escape.
const PREFIX: [char; 7] = [']', '1', '1', ';', 'r', 'g', 'b'];
/// The most characters of the colour in an answer.
const LONGEST: usize = 32;

/// Whether the terminal's background is dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalBackground {
    /// Dark: light text is read on it.
    Dark,
    /// Light: dark text is read on it.
    Light,
}

/// An event of the terminal after the answers are taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilteredEvent {
    /// An event of crossterm that is no part of an answer.
    Event(Event),
    /// An answer to the query.
    Background(TerminalBackground),
}

/// Takes the answers out of the terminal's events.
#[derive(Debug, Default)]
pub struct ReplyFilter {
    asked: Option<Instant>,
    answered: ReplyState,
    state: ReplyFilterState,
    last: Option<Instant>,
}

/// Whether the terminal has answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReplyState {
    /// No query was answered.
    #[default]
    Never,
    /// The last query was answered.
    Yes,
    /// The last query was answered, but the user has left the terminal since: it may have changed.
    Before,
}

#[derive(Debug, Default)]
enum ReplyFilterState {
    /// No part of an answer was seen.
    #[default]
    Idle,
    /// An escape was passed on as a key; what follows may still be an answer that came in pieces.
    BehindEscape,
    /// The first `seen` characters of [`PREFIX`] were seen; `held` are their events.
    Prefix { held: Vec<Event>, seen: usize },
    /// The colour as far as it was seen, and an escape that may begin the end of the answer.
    Colour { text: String, escape: Option<Event> },
}

impl TerminalBackground {
    /// A guess before the terminal is asked: `COLORFGBG` is `foreground;background`, where 7 and 15
    /// are white. It may be inherited from another terminal.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let colours = get("COLORFGBG");
        match colours.as_deref().and_then(|colours| colours.rsplit(';').next()) {
            Some("7" | "15") => Self::Light,
            Some(_) | None => Self::Dark,
        }
    }

    /// Reads `:1e1e/1e1e/2e2e`, the part after `rgb`. With an `a` before it, transparency is the
    /// last part.
    fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('a').unwrap_or(text).strip_prefix(':')?.split('/');
        let mut channels = parts.map(|part| {
            let most = 16_u32.checked_pow(u32::try_from(part.len()).ok()?)?.checked_sub(1)?;
            let value = u32::from_str_radix(part, 16).ok()?;
            (1..=4).contains(&part.len()).then(|| f64::from(value) / f64::from(most))
        });
        let mut linear = || Some(channels.next()??.powf(2.2));
        let luminance = 0.2126 * linear()? + 0.7152 * linear()? + 0.0722 * linear()?;
        // At this luminance black and white text have the same contrast.
        Some(if luminance > 0.179 { Self::Light } else { Self::Dark })
    }
}

impl ReplyFilter {
    /// Whether it is time to send the query: for the first time, or again after the user came back
    /// to a terminal that has answered before.
    pub fn wants_to_ask(&self) -> bool {
        match self.answered {
            ReplyState::Never => self.asked.is_none(),
            ReplyState::Yes => false,
            ReplyState::Before => true,
        }
    }

    /// Must be called when the query has been sent.
    pub fn query_sent(&mut self, now: Instant) {
        self.asked = Some(now);
        if self.answered == ReplyState::Before {
            self.answered = ReplyState::Yes;
        }
    }

    /// Takes an event, and adds to `out` what is known to be no part of an answer.
    pub fn take(&mut self, event: Event, now: Instant, out: &mut Vec<FilteredEvent>) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.time_is_up(out);
        }
        self.last = Some(now);
        match &event {
            Event::Key(key) if key.kind == KeyEventKind::Press => {
                self.key(ReplyKey::of(*key), event, now, out);
            }
            // A resize comes from a signal, and may come amid an answer.
            Event::Resize(..) => out.push(FilteredEvent::Event(event)),
            Event::Key(_)
            | Event::Mouse(_)
            | Event::Paste(_)
            | Event::FocusGained
            | Event::FocusLost => {
                if event == Event::FocusGained && self.answered == ReplyState::Yes {
                    self.answered = ReplyState::Before;
                }
                self.give_up(out);
                out.push(FilteredEvent::Event(event));
            }
        }
    }

    /// When the held events have to be passed on if nothing else comes; `None`: nothing is held.
    pub fn deadline(&self) -> Option<Instant> {
        let wait = match &self.state {
            ReplyFilterState::Idle => return None,
            ReplyFilterState::BehindEscape | ReplyFilterState::Prefix { .. } => HOLD,
            ReplyFilterState::Colour { .. } => REST,
        };
        self.last.map(|last| last + wait)
    }

    /// Passes on the events that were held too long.
    pub fn time_is_up(&mut self, out: &mut Vec<FilteredEvent>) {
        match std::mem::take(&mut self.state) {
            ReplyFilterState::Idle | ReplyFilterState::BehindEscape => {}
            ReplyFilterState::Prefix { held, .. } => {
                out.extend(held.into_iter().map(FilteredEvent::Event));
            }
            ReplyFilterState::Colour { text, escape } => {
                // Without a whole colour the escape was a key; with one it was half of the end.
                if self.answer(&text, out).is_none() {
                    out.extend(escape.map(FilteredEvent::Event));
                }
            }
        }
    }

    fn key(&mut self, key: ReplyKey, event: Event, now: Instant, out: &mut Vec<FilteredEvent>) {
        match std::mem::take(&mut self.state) {
            ReplyFilterState::Idle => self.begin(key, event, now, out),
            ReplyFilterState::BehindEscape if key == ReplyKey::Char(']') => {
                self.state = ReplyFilterState::Prefix { held: vec![event], seen: 1 };
            }
            ReplyFilterState::BehindEscape => self.begin(key, event, now, out),
            ReplyFilterState::Prefix { mut held, seen } => {
                if PREFIX.get(seen).is_some_and(|next| key == ReplyKey::Char(*next)) {
                    held.push(event);
                    self.state = if seen + 1 == PREFIX.len() {
                        ReplyFilterState::Colour { text: String::new(), escape: None }
                    } else {
                        ReplyFilterState::Prefix { held, seen: seen + 1 }
                    };
                } else {
                    out.extend(held.into_iter().map(FilteredEvent::Event));
                    self.begin(key, event, now, out);
                }
            }
            ReplyFilterState::Colour { text, escape } => self.colour(text, escape, key, event, out),
        }
    }

    /// Takes a key while nothing is held.
    fn begin(&mut self, key: ReplyKey, event: Event, now: Instant, out: &mut Vec<FilteredEvent>) {
        let is_waiting = self.asked.is_some_and(|asked| now < asked + REPLY_TIMEOUT);
        match key {
            ReplyKey::Escape if is_waiting => {
                self.state = ReplyFilterState::Prefix { held: vec![event], seen: 0 };
            }
            ReplyKey::Escape if self.asked.is_some() => {
                self.state = ReplyFilterState::BehindEscape;
                out.push(FilteredEvent::Event(event));
            }
            ReplyKey::Alt(']') if self.asked.is_some() => {
                self.state = ReplyFilterState::Prefix { held: vec![event], seen: 1 };
            }
            ReplyKey::Escape
            | ReplyKey::Alt(_)
            | ReplyKey::Control(_)
            | ReplyKey::Char(_)
            | ReplyKey::Other => {
                out.push(FilteredEvent::Event(event));
            }
        }
    }

    /// Takes a key of the colour. The keys before it were certainly not typed.
    fn colour(
        &mut self,
        mut text: String,
        escape: Option<Event>,
        key: ReplyKey,
        event: Event,
        out: &mut Vec<FilteredEvent>,
    ) {
        let is_end = match key {
            ReplyKey::Alt('\\') | ReplyKey::Control('g') => true,
            ReplyKey::Char('\\') => escape.is_some(),
            ReplyKey::Escape
            | ReplyKey::Alt(_)
            | ReplyKey::Control(_)
            | ReplyKey::Char(_)
            | ReplyKey::Other => false,
        };
        if is_end {
            self.answer(&text, out);
            return;
        }
        // An escape that ends nothing was a key.
        out.extend(escape.map(FilteredEvent::Event));
        let mut escape = None;
        match key {
            ReplyKey::Char(c)
                if text.len() < LONGEST && (c.is_ascii_hexdigit() || ":/".contains(c)) =>
            {
                text.push(c);
            }
            ReplyKey::Escape => escape = Some(event),
            ReplyKey::Alt(_) | ReplyKey::Control(_) | ReplyKey::Char(_) | ReplyKey::Other => {
                out.push(FilteredEvent::Event(event));
            }
        }
        self.state = ReplyFilterState::Colour { text, escape };
    }

    fn answer(&mut self, text: &str, out: &mut Vec<FilteredEvent>) -> Option<()> {
        let background = TerminalBackground::parse(text)?;
        self.asked = None;
        self.answered = ReplyState::Yes;
        out.push(FilteredEvent::Background(background));
        Some(())
    }

    /// Passes on the held beginning: the next event is no part of it.
    fn give_up(&mut self, out: &mut Vec<FilteredEvent>) {
        match std::mem::take(&mut self.state) {
            ReplyFilterState::Idle | ReplyFilterState::BehindEscape => {}
            ReplyFilterState::Prefix { held, .. } => {
                out.extend(held.into_iter().map(FilteredEvent::Event));
            }
            colour @ ReplyFilterState::Colour { .. } => self.state = colour,
        }
    }
}

/// A key, as far as it matters for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyKey {
    Escape,
    Alt(char),
    Control(char),
    Char(char),
    Other,
}

impl ReplyKey {
    fn of(key: KeyEvent) -> Self {
        let modifiers = key.modifiers.difference(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Esc if modifiers.is_empty() => Self::Escape,
            KeyCode::Char(c) if modifiers.is_empty() => Self::Char(c),
            KeyCode::Char(c) if modifiers == KeyModifiers::ALT => Self::Alt(c),
            KeyCode::Char(c) if modifiers == KeyModifiers::CONTROL => Self::Control(c),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events that crossterm makes of bytes that arrive together.
    fn events(bytes: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut chars = bytes.chars().peekable();
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        while let Some(c) = chars.next() {
            events.push(match c {
                '\x1b' => match chars.next_if(|next| *next != '\x1b') {
                    Some(next) => key(KeyCode::Char(next), KeyModifiers::ALT),
                    None => key(KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => key(KeyCode::Char('g'), KeyModifiers::CONTROL),
                c if c.is_uppercase() => key(KeyCode::Char(c), KeyModifiers::SHIFT),
                c => key(KeyCode::Char(c), KeyModifiers::NONE),
            });
        }
        events
    }

    /// What a filter passes on of pieces after a query, each so many milliseconds after the last
    /// one; then nothing comes for long.
    fn filtered(pieces: &[(u64, &str)]) -> (Vec<Event>, Vec<TerminalBackground>) {
        let mut now = Instant::now();
        let mut filter = ReplyFilter::default();
        filter.query_sent(now);
        let mut out = Vec::new();
        for (wait, piece) in pieces {
            now += Duration::from_millis(*wait);
            if filter.deadline().is_some_and(|deadline| deadline <= now) {
                filter.time_is_up(&mut out);
            }
            for event in events(piece) {
                filter.take(event, now, &mut out);
            }
        }
        filter.time_is_up(&mut out);
        let mut keys = Vec::new();
        let mut answers = Vec::new();
        for it in out {
            match it {
                FilteredEvent::Event(event) => keys.push(event),
                FilteredEvent::Background(background) => answers.push(background),
            }
        }
        (keys, answers)
    }

    #[test]
    fn answers_are_taken_out_however_they_are_written() {
        let rows = [
            ("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", TerminalBackground::Dark),
            ("\x1b]11;rgb:FDFD/F6F6/E3E3\x1b\\", TerminalBackground::Light),
            ("\x1b]11;rgb:ff/ff/ff\x07", TerminalBackground::Light),
            ("\x1b]11;rgb:0/0/0\x07", TerminalBackground::Dark),
            ("\x1b]11;rgba:ffff/ffff/ffff/8000\x07", TerminalBackground::Light),
        ];
        for (answer, want) in rows {
            assert_eq!(filtered(&[(1, answer)]), (Vec::new(), vec![want]), "{answer:?}");
            let typed = format!("a{answer}b");
            assert_eq!(filtered(&[(1, &typed)]), (events("ab"), vec![want]), "{answer:?}");
        }
    }

    #[test]
    fn a_late_answer_is_taken_out_too() {
        let answer = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
        assert_eq!(
            filtered(&[(90_000, "x"), (10, answer)]),
            (events("x"), vec![TerminalBackground::Light])
        );
    }

    #[test]
    fn an_answer_in_any_two_pieces_is_one() {
        let answer = "\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\";
        for cut in 1..answer.len() {
            let (one, two) = answer.split_at(cut);
            let pieces = [(1, one), (20, two)];
            assert_eq!(
                filtered(&pieces),
                (Vec::new(), vec![TerminalBackground::Light]),
                "{one:?} {two:?}"
            );
        }
    }

    #[test]
    fn escape_is_a_key_when_nothing_follows() {
        let escape = "\x1b";
        assert_eq!(filtered(&[(1, escape)]).0, events(escape));
        assert_eq!(filtered(&[(1, escape), (100, "]")]).0, [events(escape), events("]")].concat());
        // After the time for an answer, an escape is not held back at all.
        let mut filter = ReplyFilter::default();
        let now = Instant::now();
        filter.query_sent(now);
        let mut out = Vec::new();
        for event in events(escape) {
            filter.take(event, now + REPLY_TIMEOUT, &mut out);
        }
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn the_key_that_answers_begin_with_is_still_a_key() {
        for typed in ["\x1b]", "\x1b]x", "\x1b]1x", "\x1b]11;x", "\x1b\x1b]11;rgx"] {
            assert_eq!(filtered(&[(1, typed)]).0, events(typed), "{typed:?}");
        }
        let mut filter = ReplyFilter::default();
        let mut out = Vec::new();
        filter.take(events("\x1b]")[0].clone(), Instant::now(), &mut out);
        assert_eq!(out.len(), 1, "nothing was asked");
    }

    #[test]
    fn keys_that_are_no_colour_are_passed_on() {
        let (keys, answers) = filtered(&[(1, "\x1b]11;rgb:ffff/ffz"), (1, "ff/ffff\x1b\\q")]);
        assert_eq!((keys, answers), (events("zq"), vec![TerminalBackground::Light]));
    }

    #[test]
    fn an_answer_without_an_end_holds_nothing_for_ever() {
        let cut = "\x1b]11;rgb:ffff/ffff/ffff";
        let (keys, answers) = filtered(&[(1, cut), (2_000, "abc")]);
        assert_eq!((keys, answers), (events("abc"), vec![TerminalBackground::Light]));
        assert_eq!(filtered(&[(1, "\x1b]11;rgb:"), (2_000, "abc")]).0, events("abc"));
    }

    #[test]
    fn it_asks_once_and_again_when_the_user_comes_back() {
        let now = Instant::now();
        let mut filter = ReplyFilter::default();
        let mut out = Vec::new();
        assert!(filter.wants_to_ask());
        filter.query_sent(now);
        filter.take(Event::FocusGained, now, &mut out);
        assert!(!filter.wants_to_ask(), "it has not answered");
        for event in events("\x1b]11;rgb:0/0/0\x07") {
            filter.take(event, now, &mut out);
        }
        assert!(!filter.wants_to_ask());
        filter.take(Event::FocusGained, now, &mut out);
        assert!(filter.wants_to_ask());
        filter.query_sent(now);
        assert!(!filter.wants_to_ask());
    }

    #[test]
    fn the_environment_gives_a_first_guess() {
        let rows = [
            (Some("0;15"), TerminalBackground::Light),
            (Some("0;default;7"), TerminalBackground::Light),
            (Some("15;0"), TerminalBackground::Dark),
            (None, TerminalBackground::Dark),
        ];
        for (value, want) in rows {
            let found = TerminalBackground::from_environment(|_| value.map(str::to_owned));
            assert_eq!(found, want, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn no_key_is_lost_and_none_made_up(
            before in "[a-f0-9:/;\\[\\]x\u{1b}]{0,12}",
            after in "[xyz\u{1b}]{0,4}",
            wait in 0_u64..60,
        ) {
            // A typed answer cannot be told from the terminal's.
            prop_assume!(!before.contains("11;rgb"));
            let answer = "\x1b]11;rgb:1e1e/1e1e/2e2e\x07";
            // The answer comes some time after a lone escape.
            let pieces = [(wait, before.as_str()), (40, answer), (0, ""), (wait, after.as_str())];
            let typed = [events(&before), events(&after)].concat();
            prop_assert_eq!(filtered(&pieces), (typed, vec![TerminalBackground::Dark]));
        }
    }
}

//! The filter that the user types to narrow a list of sessions: `project:web model:opus
//! after:2026-11-01 today`, and words that are searched in titles and messages.
//!
//! Pure. Days are in the user's local time; the caller says which day today is. A date that cannot
//! be read (it may be half typed) narrows nothing, and is listed in [`SessionListFilter::unread`].

use std::path::Path;

use chrono::{Days, Months, NaiveDate};

/// A parsed filter: conditions on folder, model and day, and text to search for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionListFilter {
    /// The words that are no conditions, separated by single spaces.
    pub text: String,
    /// Conditions whose date cannot be read, as they were typed.
    pub unread: Vec<String>,
    projects: Vec<String>,
    models: Vec<String>,
    /// The first day that is kept.
    after: Option<NaiveDate>,
    /// The first day that is no longer kept.
    before: Option<NaiveDate>,
}

/// The facts of a session that a filter compares with its conditions.
#[derive(Debug, Clone, Copy)]
pub struct SessionAttributes<'a> {
    /// The folder it works in.
    pub project: &'a Path,
    /// The model it uses.
    pub model: &'a str,
    /// The day on which it was used last.
    pub day: NaiveDate,
}

impl SessionListFilter {
    /// Parses the typed text; `today` is the current day. Words in quotes are always text.
    pub fn parse(typed: &str, today: NaiveDate) -> Self {
        let mut filter = Self::default();
        for word in words(typed) {
            match word {
                SessionFilterWord::Quoted(text) => filter.add_text(text),
                SessionFilterWord::Bare("today") => filter.from(today),
                SessionFilterWord::Bare("yesterday") => {
                    filter.from(days_before(today, 1));
                    filter.until(today);
                }
                SessionFilterWord::Bare(word) => match word.split_once(':') {
                    Some(("project", name)) => filter.project(name),
                    Some(("model", name)) => filter.model(name),
                    Some(("after", date)) => filter.dated(word, date, today, Self::from),
                    Some(("before", date)) => filter.dated(word, date, today, Self::until),
                    Some(_) | None => filter.add_text(word),
                },
            }
        }
        filter
    }

    /// Narrows to sessions that have this in the path of their folder.
    pub fn project(&mut self, name: &str) {
        add(&mut self.projects, name);
    }

    /// Narrows to sessions that have this in the name of their model.
    pub fn model(&mut self, name: &str) {
        add(&mut self.models, name);
    }

    /// Narrows to sessions that were last used on this day or later.
    pub fn from(&mut self, day: NaiveDate) {
        self.after = self.after.max(Some(day));
    }

    /// Narrows to sessions that were last used before this day.
    pub fn until(&mut self, day: NaiveDate) {
        self.before = Some(self.before.map_or(day, |before| before.min(day)));
    }

    /// Whether a session satisfies all conditions, whatever its text.
    pub fn takes(&self, attributes: SessionAttributes<'_>) -> bool {
        let SessionAttributes { project, model, day } = attributes;
        self.after.is_none_or(|after| day >= after)
            && self.before.is_none_or(|before| day < before)
            && self.models.iter().all(|name| has(model, name))
            && (self.projects.is_empty() || {
                let project = project.to_string_lossy();
                self.projects.iter().all(|name| has(&project, name))
            })
    }

    /// Whether there is no condition besides the text.
    pub fn is_text_alone(&self) -> bool {
        *self == Self { text: self.text.clone(), unread: self.unread.clone(), ..Self::default() }
    }

    fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn dated(&mut self, word: &str, date: &str, today: NaiveDate, keep: fn(&mut Self, NaiveDate)) {
        match self::date(date, today) {
            Some(day) => keep(self, day),
            None if date.is_empty() => {}
            None => self.unread.push(word.to_owned()),
        }
    }
}

/// Parses a date: `2026-11-01`, `2026-11`, `2026`, `today`, `yesterday`, and `7d`, `2w`, `3m` or
/// `1y` ago. A month or a year stands for its first day. `None` for any other text.
pub fn date(text: &str, today: NaiveDate) -> Option<NaiveDate> {
    match text {
        "today" => return Some(today),
        "yesterday" => return Some(days_before(today, 1)),
        _ => {}
    }
    if let Some(ago) = text.find(|c: char| !c.is_ascii_digit()).filter(|end| *end + 1 == text.len())
    {
        let (count, unit) = text.split_at(ago);
        let count: u32 = count.parse().ok()?;
        return match unit {
            "d" => today.checked_sub_days(Days::new(u64::from(count))),
            "w" => today.checked_sub_days(Days::new(7 * u64::from(count))),
            "m" => today.checked_sub_months(Months::new(count)),
            "y" => today.checked_sub_months(Months::new(count.checked_mul(12)?)),
            _ => None,
        };
    }
    let mut parts = text.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return None;
    }
    let number = |part: Option<&str>| part.map_or(Some(1), |part| part.parse().ok());
    NaiveDate::from_ymd_opt(year, number(month)?, number(day)?)
}

enum SessionFilterWord<'a> {
    Bare(&'a str),
    Quoted(&'a str),
}

/// Splits the typed text into words. A quote that is not closed ends with the line.
fn words(typed: &str) -> Vec<SessionFilterWord<'_>> {
    let mut words = Vec::new();
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (text, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
                (SessionFilterWord::Quoted(text), behind)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (SessionFilterWord::Bare(&rest[..end]), &rest[end..])
            }
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

fn add(list: &mut Vec<String>, name: &str) {
    if !name.is_empty() {
        list.push(name.to_owned());
    }
}

/// Whether a text contains `part`; case counts only where `part` has a capital letter.
fn has(text: &str, part: &str) -> bool {
    if part.chars().any(char::is_uppercase) {
        text.contains(part)
    } else {
        text.to_lowercase().contains(part)
    }
}

fn days_before(day: NaiveDate, count: u64) -> NaiveDate {
    day.checked_sub_days(Days::new(count)).unwrap_or(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn today() -> NaiveDate {
        day("2026-11-22")
    }

    fn parsed(typed: &str) -> SessionListFilter {
        SessionListFilter::parse(typed, today())
    }

    #[test]
    fn words_and_conditions_are_distinguished() {
        let filter = parsed("  empty project:web cart  model:opus today ");
        assert_eq!(filter.text, "empty cart");
        assert_eq!((filter.projects, filter.models), (vec!["web".into()], vec!["opus".into()]));
        assert_eq!(filter.after, Some(today()));
    }

    #[test]
    fn anything_in_quotes_is_text() {
        assert_eq!(parsed("\"today\" \"project:x y\" z").text, "today project:x y z");
        assert_eq!(parsed("\"not closed").text, "not closed");
        assert_eq!(parsed("std::fs https://x").text, "std::fs https://x");
    }

    #[test]
    fn dates_are_read_in_common_forms() {
        let cases = [
            ("2026-11-01", Some("2026-11-01")),
            ("2026-02", Some("2026-02-01")),
            ("2025", Some("2025-01-01")),
            ("today", Some("2026-11-22")),
            ("yesterday", Some("2026-11-21")),
            ("7d", Some("2026-11-15")),
            ("2w", Some("2026-11-08")),
            ("3m", Some("2026-08-22")),
            ("1y", Some("2025-11-22")),
            ("2026-13-01", None),
            ("2026-11-", None),
            ("26", None),
            ("monday", None),
            ("99999999999d", None),
            ("4294967295y", None),
            ("", None),
        ];
        for (text, date) in cases {
            assert_eq!(super::date(text, today()), date.map(day), "{text}");
        }
    }

    #[test]
    fn an_unreadable_date_narrows_nothing_and_is_listed() {
        let filter = parsed("after:2026-1x before:");
        assert_eq!(filter.unread, ["after:2026-1x"]);
        assert!(filter.is_text_alone());
    }

    #[test]
    fn all_conditions_have_to_hold() {
        let attributes = SessionAttributes {
            project: Path::new("/src/WebShop"),
            model: "Opus-5",
            day: day("2026-11-10"),
        };
        let cases = [
            ("", true),
            ("project:webshop", true),
            ("project:Webshop", false),
            ("project:web project:shop", true),
            ("project:blog", false),
            ("model:opus", true),
            ("model:opus project:blog", false),
            ("after:2026-11-10", true),
            ("after:2026-11-11", false),
            ("before:2026-11-10", false),
            ("before:2026-11-11", true),
            ("today", false),
            ("words alone", true),
        ];
        for (typed, takes) in cases {
            assert_eq!(parsed(typed).takes(attributes), takes, "{typed}");
        }
        let yesterday = SessionAttributes { day: day("2026-11-21"), ..attributes };
        assert!(parsed("yesterday").takes(yesterday) && !parsed("today").takes(yesterday));
    }
}

//! The values of `[ui]` that have names: the items of the first line, and how slug notifies the
//! user.

use std::fmt;

use crate::domain::nearest;

/// An item that the first line can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusItem {
    Slug,
    /// The working folder's name.
    Folder,
    /// The git branch and the counts of changed files.
    Branch,
    /// The session's title.
    Title,
    /// The beginning of the session's id.
    Session,
    /// How long slug has been running.
    Time,
    /// What `status_command` prints.
    Command,
    /// How many jobs run beside the conversation.
    Jobs,
    /// Tokens per second of the last response.
    Rate,
    /// The model that answers.
    Model,
    /// The permission mode.
    Mode,
    /// How full the model's context window is.
    Context,
    /// The tokens that came from the server's cache.
    Cached,
    /// What the session has cost.
    Cost,
}

/// The items of the first line, at the left and at the right edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusItems {
    pub left: Vec<StatusItem>,
    pub right: Vec<StatusItem>,
}

/// How slug notifies the user while the terminal has no focus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NotificationMethod {
    /// The method that the terminal supports.
    #[default]
    Auto,
    /// The terminal's bell.
    Bell,
    /// OSC 9: iTerm2, Windows Terminal.
    Osc9,
    /// OSC 777: Ghostty, WezTerm, foot, urxvt.
    Osc777,
    /// OSC 99: kitty.
    Osc99,
    /// No notifications.
    Never,
}

/// Stands between the left items and the right items.
const DIVIDER: &str = "|";

impl StatusItem {
    /// All items, in the order of the default line.
    pub const ALL: [Self; 14] = [
        Self::Slug,
        Self::Folder,
        Self::Branch,
        Self::Title,
        Self::Session,
        Self::Time,
        Self::Command,
        Self::Jobs,
        Self::Rate,
        Self::Model,
        Self::Mode,
        Self::Context,
        Self::Cached,
        Self::Cost,
    ];

    /// The name as written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slug => "slug",
            Self::Folder => "folder",
            Self::Branch => "branch",
            Self::Title => "title",
            Self::Session => "session",
            Self::Time => "time",
            Self::Command => "command",
            Self::Jobs => "jobs",
            Self::Rate => "rate",
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Context => "context",
            Self::Cached => "cached",
            Self::Cost => "cost",
        }
    }

    /// Whether the item stands at the left edge by default.
    fn is_left(self) -> bool {
        match self {
            Self::Slug
            | Self::Folder
            | Self::Branch
            | Self::Title
            | Self::Session
            | Self::Time
            | Self::Command => true,
            Self::Jobs
            | Self::Rate
            | Self::Model
            | Self::Mode
            | Self::Context
            | Self::Cached
            | Self::Cost => false,
        }
    }
}

impl Default for StatusItems {
    fn default() -> Self {
        // The mode stands in the last line.
        let shown = StatusItem::ALL.into_iter().filter(|item| {
            !matches!(item, StatusItem::Session | StatusItem::Time | StatusItem::Mode)
        });
        let (left, right) = shown.partition(|item| item.is_left());
        Self { left, right }
    }
}

impl StatusItems {
    /// Reads a list of names. A `"|"` among them divides left from right; without one, each item
    /// goes to its default edge. Each unknown name comes back as a sentence about it.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<String>) {
        let names: Vec<&str> = names.into_iter().collect();
        let divider = names.iter().position(|name| *name == DIVIDER);
        let mut items = Self { left: Vec::new(), right: Vec::new() };
        let mut unknown = Vec::new();
        for (at, name) in names.iter().enumerate().filter(|(_, name)| **name != DIVIDER) {
            let Some(item) = StatusItem::ALL.into_iter().find(|item| item.name() == *name) else {
                unknown.push(did_you_mean(name));
                continue;
            };
            if divider.map_or(item.is_left(), |divider| at < divider) {
                items.left.push(item);
            } else {
                items.right.push(item);
            }
        }
        (items, unknown)
    }

    /// The names as they would be written in the configuration, with the divider.
    pub fn names(&self) -> Vec<&'static str> {
        let name = |item: &StatusItem| item.name();
        let left = self.left.iter().map(name);
        left.chain([DIVIDER]).chain(self.right.iter().map(name)).collect()
    }

    /// Whether the first line shows an item, at either edge.
    pub fn has(&self, item: StatusItem) -> bool {
        self.left.contains(&item) || self.right.contains(&item)
    }
}

impl NotificationMethod {
    /// All methods, the default first.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::Bell, Self::Osc9, Self::Osc777, Self::Osc99, Self::Never];

    /// The name as written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bell => "bell",
            Self::Osc9 => "osc9",
            Self::Osc777 => "osc777",
            Self::Osc99 => "osc99",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for NotificationMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn did_you_mean(name: &str) -> String {
    let shown = name.escape_debug();
    match nearest(name, StatusItem::ALL.into_iter().map(StatusItem::name)) {
        Some(near) => {
            format!("the header has no item `{shown}`, so slug ignores it: did you mean `{near}`?")
        }
        None => {
            let all: Vec<&str> = StatusItem::ALL.into_iter().map(StatusItem::name).collect();
            format!(
                "the header has no item `{shown}`, so slug ignores it. The items are {}",
                all.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_to_their_half_or_where_the_divider_says() {
        let (items, unknown) = StatusItems::parse(["mode", "folder", "time"]);
        assert_eq!(items.left, [StatusItem::Folder, StatusItem::Time]);
        assert_eq!((items.right, unknown), (vec![StatusItem::Mode], Vec::new()));
        let (divided, _) = StatusItems::parse(["mode", "|", "folder"]);
        assert_eq!(divided.left, [StatusItem::Mode]);
        assert_eq!(divided.right, [StatusItem::Folder]);
    }

    #[test]
    fn the_default_line_reads_back_as_itself() {
        let line = StatusItems::default();
        assert_eq!(StatusItems::parse(line.names()), (line, Vec::new()));
    }

    #[test]
    fn an_unknown_item_is_reported_with_the_nearest_one() {
        let (items, unknown) = StatusItems::parse(["brnach", "zzzzzzzz", "model"]);
        assert_eq!(items.right, [StatusItem::Model]);
        assert!(unknown[0].contains("did you mean `branch`"), "{unknown:?}");
        assert!(unknown[1].contains("The items are slug, folder, branch"), "{unknown:?}");
    }
}

//! The values of settings that have a few, each with what it means.

use crate::domain::{ChatDialect, PermissionMode, ReasoningEffort};

use super::{ExitTranscript, KeyPreset, NotificationMethod, StatusItem};

/// A value that a setting can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingOption {
    /// As it is written in the file.
    pub name: &'static str,
    /// What it stands for, in a phrase; empty where the name says all.
    pub meaning: &'static str,
}

fn options<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    meaning: fn(T) -> &'static str,
) -> Vec<SettingOption> {
    all.map(|it| SettingOption { name: name(it), meaning: meaning(it) }).to_vec()
}

/// The items of the first line, and what separates the left ones from the right ones.
pub(super) fn header_items() -> Vec<&'static str> {
    StatusItem::ALL.map(StatusItem::name).into_iter().chain(["|"]).collect()
}

pub(super) fn key_presets() -> Vec<SettingOption> {
    options(KeyPreset::ALL, KeyPreset::name, |it| match it {
        KeyPreset::Default => "slug's own keys",
        KeyPreset::Vi => "keys and modes of Vi",
        KeyPreset::Emacs => "keys of Emacs",
    })
}

pub(super) fn notifications() -> Vec<SettingOption> {
    options(NotificationMethod::ALL, NotificationMethod::name, |it| match it {
        NotificationMethod::Auto => "what the terminal can do",
        NotificationMethod::Bell => "the terminal's bell",
        NotificationMethod::Osc9 => "for iTerm2 and Windows Terminal",
        NotificationMethod::Osc777 => "for Ghostty, WezTerm, foot and urxvt",
        NotificationMethod::Osc99 => "for kitty",
        NotificationMethod::Never => "no notifications",
    })
}

pub(super) fn exits() -> Vec<SettingOption> {
    options(ExitTranscript::ALL, ExitTranscript::name, |it| match it {
        ExitTranscript::End => "the end of the conversation",
        ExitTranscript::All => "the whole conversation, 10,000 rows at most",
        ExitTranscript::Nothing => "nothing",
    })
}

pub(super) fn modes() -> Vec<SettingOption> {
    options(PermissionMode::ALL, PermissionMode::name, PermissionMode::meaning)
}

pub(super) fn efforts() -> Vec<SettingOption> {
    options(ReasoningEffort::ALL, ReasoningEffort::name, |it| match it {
        ReasoningEffort::None => "off, where the model allows it",
        ReasoningEffort::Minimal => "almost none",
        ReasoningEffort::Low => "a little: quick and cheap",
        ReasoningEffort::Medium => "for most tasks",
        ReasoningEffort::High => "for hard tasks",
        ReasoningEffort::ExtraHigh => "very high",
        ReasoningEffort::Max => "maximum",
    })
}

pub(super) fn dialects() -> Vec<SettingOption> {
    options(ChatDialect::ALL, ChatDialect::name, |_| "")
}

pub(super) fn sandboxes() -> Vec<SettingOption> {
    let methods = [
        ("auto", "the first that works"),
        ("bwrap", "bubblewrap, on Linux"),
        ("landlock", "Landlock, on Linux"),
        ("seatbelt", "Seatbelt, on macOS"),
    ];
    methods.map(|(name, meaning)| SettingOption { name, meaning }).to_vec()
}

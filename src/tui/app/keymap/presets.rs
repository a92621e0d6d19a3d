//! The presets: sets of keys for hands that are used to something else. Each is written like a
//! `keys.toml`, and holds below the person's own.

use crate::config::KeyPreset;

/// What a preset changes.
pub(super) fn text(preset: KeyPreset) -> &'static str {
    match preset {
        KeyPreset::Default => "",
        KeyPreset::Vi => include_str!("../../../../assets/keys/vi.toml"),
        KeyPreset::Emacs => include_str!("../../../../assets/keys/emacs.toml"),
    }
}

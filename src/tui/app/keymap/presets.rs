//! The presets: key bindings for users of other programs. Each is written like a `keys.toml`, and
//! the user's own `keys.toml` overrides it.

use crate::config::KeyPreset;

/// The content of a preset in the format of `keys.toml`; empty for the default.
pub(super) fn text(preset: KeyPreset) -> &'static str {
    match preset {
        KeyPreset::Default => "",
        KeyPreset::Vi => include_str!("../../../../assets/keys/vi.toml"),
        KeyPreset::Emacs => include_str!("../../../../assets/keys/emacs.toml"),
    }
}

//! The styles of what a question above the input is not about: muted, so that the question is what
//! the eye meets, and readable, since its contrast is that of muted text.

use ratatui::style::{Modifier, Style};

use crate::tui::layout::StyleRole;

use super::paint::RoleStyles;

/// Mutes all roles but those that mark cells under other text.
pub struct DimmedStyles<'a>(pub &'a dyn RoleStyles);

impl RoleStyles for DimmedStyles<'_> {
    fn style(&self, role: StyleRole) -> Style {
        let own = self.0.style(role);
        if MARKS.contains(&role) {
            return own;
        }
        let muted = self.0.style(StyleRole::Muted);
        let shape = own.add_modifier.intersection(SHAPES);
        // Muted text on the band of a message is measured, on other backgrounds it is not.
        let bg = own.bg.filter(|_| role == StyleRole::UserMessage);
        Style { fg: muted.fg, bg, add_modifier: muted.add_modifier.union(shape), ..Style::new() }
    }
}

/// Roles of cells that are drawn under other text.
const MARKS: [StyleRole; 5] = [
    StyleRole::Screen,
    StyleRole::Selected,
    StyleRole::Selection,
    StyleRole::Match,
    StyleRole::CurrentMatch,
];

/// What says something without weight or colour.
const SHAPES: Modifier = Modifier::ITALIC
    .union(Modifier::UNDERLINED)
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);

#[cfg(test)]
mod tests {
    use crate::tui::theme::roles::ROLES;
    use crate::tui::theme::{ColorDepth, Theme};

    use super::*;

    #[test]
    fn text_is_muted_in_every_depth_and_marks_stay() {
        for depth in
            [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Palette, ColorDepth::TrueColor]
        {
            let theme = Theme::dark(depth);
            let muted = theme.style(StyleRole::Muted);
            let dimmed = DimmedStyles(&theme);
            for role in ROLES.iter().map(|row| row.role) {
                let style = dimmed.style(role);
                if MARKS.contains(&role) {
                    assert_eq!(style, theme.style(role), "{depth:?} {role:?}");
                } else {
                    let bg = theme.style(role).bg.filter(|_| role == StyleRole::UserMessage);
                    assert_eq!((style.fg, style.bg), (muted.fg, bg), "{depth:?} {role:?}");
                    let is_bold = style.add_modifier.contains(Modifier::BOLD);
                    assert!(!is_bold, "{depth:?} {role:?}");
                }
            }
            // Something tells it from what is not dimmed, without colours as well.
            assert_ne!(dimmed.style(StyleRole::Assistant), theme.style(StyleRole::Assistant));
        }
    }
}

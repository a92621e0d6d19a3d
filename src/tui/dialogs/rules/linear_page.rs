//! The page of permission rules, read out.

use crate::tui::app::conversation::title::first_line;
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line};

use super::view::refused_by;
use super::{RulesPage, RulesRow, rule_location};

/// The rules and the refused calls. Testing a call against them is left to `slug permissions`.
pub(super) fn linear_page(page: &RulesPage, around: DialogView<'_>) -> Option<LinearPage> {
    let count = page.list.as_ref()?.rules.len();
    let heading = if count == 1 { "1 rule:".to_owned() } else { format!("{count} rules:") };
    let mut out = vec![LabelledLine::new(LineLabel::Note, heading)];
    out.extend(page.rows(&around.conversation.denied_calls).into_iter().map(|row| {
        let text = match row {
            RulesRow::Heading(text) => format!("{text}:"),
            RulesRow::Rule(rule) => {
                format!("  {}, {}", rule.rule, rule_location(rule, &around.shared.settings))
            }
            RulesRow::Warning(warning) => format!("  {warning}"),
            RulesRow::Refused(refused) => {
                let about = refused.entry.about.as_deref().unwrap_or_default();
                format!("  {}: {}, {}", refused.entry.tool, first_line(about), refused_by(refused))
            }
        };
        LabelledLine::new(LineLabel::Continuation, line(&text))
    }));
    Some(LinearPage { key: "rules".to_owned(), lines: out })
}

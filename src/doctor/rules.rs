//! Whether the permission rules that apply in the working folder can be read, and can match.

use super::DoctorFinding;
use crate::permissions::RuleSet;

const SUBJECT: &str = "rules";

/// A line for each warning; one line where there is none.
pub(super) fn check(rules: &RuleSet) -> Vec<DoctorFinding> {
    if rules.warnings().is_empty() {
        let text = match rules.sources().count() {
            0 => "No permission rule applies here.".to_owned(),
            1 => "1 permission rule applies here.".to_owned(),
            count => format!("{count} permission rules apply here."),
        };
        return vec![DoctorFinding::ok(SUBJECT, text)];
    }
    let finding = |warning| {
        let text = format!("{warning}");
        match rules.faults().contains(warning) {
            true => {
                let remedy = "Correct it: until then slug asks about every call, and `slug -p` does not start.";
                DoctorFinding::fail(SUBJECT, text, remedy)
            }
            false => DoctorFinding::warn(SUBJECT, text, "Correct or remove the rule."),
        }
    };
    rules.warnings().iter().map(finding).collect()
}

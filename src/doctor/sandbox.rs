//! Whether what the sandbox refuses is refused: each way out was tried in each kind of sandbox.

use super::Finding;
use crate::domain::Method;

const SUBJECT: &str = "sandbox";

/// One kind of sandbox, tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Which kind.
    pub method: Method,
    /// What came of it.
    pub tried: Tried,
}

/// What came of trying a kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// It cannot be had here; why, as a phrase.
    Missing(String),
    /// It could not be tried; why, as a phrase.
    Failed(String),
    /// Each way out was taken.
    Ran {
        /// What was refused.
        refused: Vec<&'static str>,
        /// What got through.
        escaped: Vec<&'static str>,
    },
}

pub(super) fn check(trials: &[Trial]) -> Vec<Finding> {
    let holds =
        |trial: &Trial| matches!(&trial.tried, Tried::Ran { escaped, .. } if escaped.is_empty());
    let any = trials.iter().any(holds);
    trials.iter().map(|trial| finding(trial, any)).collect()
}

fn finding(trial: &Trial, any: bool) -> Finding {
    let Trial { method, tried } = trial;
    match tried {
        Tried::Ran { refused, escaped } if escaped.is_empty() => {
            let all = refused.join(", ");
            Finding::ok(SUBJECT, format!("{method} holds. Tried and refused: {all}."))
        }
        Tried::Ran { escaped, .. } => Finding::fail(
            SUBJECT,
            format!("{method} does not hold. What got through: {}.", escaped.join(", ")),
            "Do not rely on --sandbox with it on this machine; another is chosen with \
             `sandbox.method`.",
        ),
        Tried::Missing(why) if any => {
            Finding::ok(SUBJECT, format!("{method} cannot be had here: {why}."))
        }
        Tried::Missing(why) => Finding::warn(
            SUBJECT,
            format!("{method} cannot be had here: {why}."),
            "Without one slug --sandbox does not start; everything else works.",
        ),
        Tried::Failed(why) => Finding::warn(
            SUBJECT,
            format!("{method} could not be tried: {why}."),
            "Try `slug doctor` again as the user who runs slug.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn trial(tried: Tried) -> Trial {
        Trial { method: Method::Bubblewrap, tried }
    }

    #[test]
    fn what_gets_through_is_an_error_and_is_named() {
        let ran = |escaped| Tried::Ran { refused: vec!["a"], escaped };
        let held = check(&[trial(ran(Vec::new()))]);
        assert_eq!((held[0].state, held[0].text.contains("refused: a.")), (State::Ok, true));
        let escaped = check(&[trial(ran(vec!["a TCP connection"]))]);
        assert_eq!(escaped[0].state, State::Fail);
        assert!(escaped[0].text.contains("a TCP connection"), "{:?}", escaped[0]);
    }

    #[test]
    fn s117_what_is_missing_is_said_and_weighs_more_where_nothing_else_holds() {
        let missing = || trial(Tried::Missing("it is not installed".into()));
        let alone = check(&[missing()]);
        assert_eq!(alone[0].state, State::Warn);
        let ran = trial(Tried::Ran { refused: vec!["a"], escaped: Vec::new() });
        let beside = check(&[missing(), ran]);
        assert_eq!(beside[0].state, State::Ok);
        assert!(beside[0].text.contains("it is not installed"), "{:?}", beside[0]);
    }
}

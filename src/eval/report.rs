//! The results of all runs, as JSON and as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::figures::{EvalFigures, share};
use crate::domain::Money;

/// What came of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalResult {
    pub task: String,
    pub model: String,
    /// Whether the task's check passed.
    pub passed: bool,
    /// Seconds from the instruction to the end of the answer.
    pub seconds: f64,
    #[serde(flatten)]
    pub figures: EvalFigures,
    /// Of the tokens read, from 0 to 1.
    pub cache_share: f64,
    /// What kept the run from its end, or the end of what the check printed; `None` if it passed.
    pub problem: Option<String>,
}

/// The results of all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EvalReport {
    /// The version of slug.
    pub version: &'static str,
    pub results: Vec<EvalResult>,
}

impl EvalReport {
    /// A report of this version of slug.
    pub fn new(results: Vec<EvalResult>) -> Self {
        Self { version: env!("CARGO_PKG_VERSION"), results }
    }

    /// Whether all runs passed.
    pub fn has_passed(&self) -> bool {
        self.results.iter().all(|result| result.passed)
    }

    /// The report as JSON, with the sums of each model.
    pub fn json(&self) -> Value {
        let sums: Vec<Value> =
            self.by_model().into_iter().map(|(model, of)| sums(model, &of)).collect();
        json!({"version": self.version, "models": sums, "results": self.results})
    }

    fn by_model(&self) -> BTreeMap<&str, Vec<&EvalResult>> {
        let mut by_model: BTreeMap<&str, Vec<&EvalResult>> = BTreeMap::new();
        for result in &self.results {
            by_model.entry(&result.model).or_default().push(result);
        }
        by_model
    }

    /// A table: a row for each task, the models side by side, and a last row with the sums.
    pub fn table(&self) -> String {
        let by_model = self.by_model();
        let mut tasks: Vec<&str> = self.results.iter().map(|result| &*result.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let width = tasks.iter().map(|task| task.chars().count()).max().unwrap_or(0).max(4);
        let mut table = String::new();
        // Writing to a String cannot fail.
        let _ = write!(table, "{:width$}", "");
        for model in by_model.keys() {
            let _ = write!(table, "  {model:<CELL$}");
        }
        for task in tasks {
            let _ = write!(table, "\n{task:width$}");
            for results in by_model.values() {
                let result = results.iter().find(|result| result.task == task);
                let _ =
                    write!(table, "  {:<CELL$}", result.map_or_else(String::new, |it| cell(it)));
            }
        }
        let _ = write!(table, "\n{:width$}", "all");
        for results in by_model.values() {
            let passed = results.iter().filter(|result| result.passed).count();
            let rounds: u32 = results.iter().map(|result| result.figures.rounds).sum();
            let seconds: f64 = results.iter().map(|result| result.seconds).sum();
            let cost = cost(results).map_or_else(String::new, |cost| format!(" {cost}"));
            let text = format!("{passed}/{} {rounds} rounds {seconds:.0} s{cost}", results.len());
            let _ = write!(table, "  {text:<CELL$}");
        }
        table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

/// The width of a cell.
const CELL: usize = 34;

fn cell(result: &EvalResult) -> String {
    let verdict = if result.passed { "pass" } else { "FAIL" };
    let cost = result.figures.cost.map_or_else(String::new, |cost| format!(" {cost}"));
    let rounds = result.figures.rounds;
    format!("{verdict} {rounds} rounds {:.1} s{cost}", result.seconds)
}

/// The cost of all runs; `None` where none has a known price.
fn cost(results: &[&EvalResult]) -> Option<Money> {
    let mut known = results.iter().filter_map(|result| result.figures.cost).peekable();
    known.peek().is_some().then(|| known.sum())
}

fn sums(model: &str, results: &[&EvalResult]) -> Value {
    let sum = |of: fn(&EvalResult) -> u64| results.iter().map(|result| of(result)).sum::<u64>();
    let input = sum(|it| it.figures.usage.input);
    json!({
        "model": model,
        "passed": results.iter().filter(|result| result.passed).count(),
        "tasks": results.len(),
        "rounds": sum(|it| it.figures.rounds.into()),
        "input_tokens": input,
        "output_tokens": sum(|it| it.figures.usage.output),
        "cache_share": share(sum(|it| it.figures.usage.cache_read), input),
        "seconds": results.iter().map(|result| result.seconds).sum::<f64>(),
        "cost": cost(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokenUsage;

    fn result(task: &str, model: &str, passed: bool) -> EvalResult {
        let usage = TokenUsage { input: 1000, output: 50, cache_read: 750, cache_write: 0 };
        let cost = Some(Money::from_nanos(20_000_000)).filter(|_| model == "big");
        let figures = EvalFigures { rounds: 3, calls: 2, usage, cost, ..EvalFigures::default() };
        EvalResult {
            task: task.into(),
            model: model.into(),
            passed,
            seconds: 2.5,
            cache_share: figures.cache_share(),
            figures,
            problem: None,
        }
    }

    #[test]
    fn models_stand_side_by_side() {
        let report = EvalReport::new(vec![
            result("rename", "big", true),
            result("rename", "small", false),
            result("build", "big", true),
        ]);
        assert!(!report.has_passed());
        let table = report.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["big", "small"]);
        assert!(lines[1].starts_with("build   pass 3 rounds 2.5 s $0.02"), "{table}");
        assert!(lines[2].contains("pass") && lines[2].ends_with("FAIL 3 rounds 2.5 s"), "{table}");
        assert!(lines[3].starts_with("all     2/2 6 rounds 5 s $0.04"), "{table}");
        assert!(lines[3].ends_with("0/1 3 rounds 2 s"), "{table}");
    }

    #[test]
    fn json_has_each_run_and_the_sums_of_each_model() {
        let json =
            EvalReport::new(vec![result("a", "big", true), result("b", "big", false)]).json();
        assert_eq!(json["models"][0]["passed"], 1);
        assert_eq!(json["models"][0]["cache_share"], 0.75);
        assert_eq!(json["results"][1]["rounds"], 3);
        assert_eq!(json["results"][1]["usage"]["input"], 1000);
        assert_eq!(json["results"][1]["passed"], false);
    }
}

//! Tasks that check themselves, and what came of a model's work on them: `slug eval`.
//!
//! `task` reads the folders of tasks, `figures` counts what an agent did from its events, and
//! `report` puts the results of all runs together. The runs themselves are in `launch`.

mod figures;
mod report;
mod task;

pub use figures::EvalFigures;
pub use report::{EvalReport, EvalResult};
pub use task::{EvalTask, EvalTaskError};

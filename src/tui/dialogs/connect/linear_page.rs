//! The page read out as numbered lines, and what a line answers. A key is never typed there, because
//! the terminal would show it.

use crate::services::connect::HostedService;
use crate::tui::app::intent::Intent;
use crate::tui::dialogs::line::{ExpectedLine, LineAnswerError};
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, lines};

use super::{
    ConnectChoice, ConnectDialog, ConnectStep, KeyNeed, ProviderAction, ServerSearch, view,
};

/// What is printed of the page; `None` while it waits for something.
pub fn page(page: &ConnectDialog) -> Option<LinearPage> {
    let (question, answers) = match &page.step {
        // The numbers stay the same only once all servers have been found.
        ConnectStep::Choose if page.looking == ServerSearch::Now => return None,
        ConnectStep::Choose => {
            let rows = page.choices();
            let rows = rows.iter().map(|choice| row(page, choice));
            (numbered("Connect a model", rows), "Type a number; an empty line closes the list.")
        }
        ConnectStep::Address => (
            "The address of the server".to_owned(),
            "Type it, like localhost:8000 or llm.example.com; an empty line goes back.",
        ),
        ConnectStep::Unencrypted(endpoint) => {
            let text = format!(
                "{endpoint} is not encrypted: anyone on the network in between can read what you \
                 send and the key, and can change the answers."
            );
            (text, "Type y to use it anyway, n to go back.")
        }
        ConnectStep::Key { target, need } => {
            let service =
                HostedService::ALL.into_iter().find(|it| it.endpoint() == target.endpoint);
            let place = match service.and_then(HostedService::key_variable) {
                Some(variable) => format!("in the variable {variable}"),
                None => format!("as `api_key` in {}", page.config_file),
            };
            let text = format!(
                "{} needs a key. It is not typed here, where the terminal would show it: put it \
                 {place}, and start slug again.",
                target.endpoint
            );
            let answers = match need {
                KeyNeed::Required => "An empty line goes back.",
                KeyNeed::Optional => "An empty line connects without one.",
            };
            (text, answers)
        }
        ConnectStep::Manage { provider, .. } => {
            let rows = ProviderAction::of(provider).iter().map(|action| action.words().to_owned());
            (numbered(&provider.name, rows), "Type a number; an empty line goes back.")
        }
        ConnectStep::Removing(provider) => {
            (format!("Remove {}?", provider.name), "Type y to remove it, n to keep it.")
        }
        ConnectStep::Models { models, .. } => {
            let rows = models.iter().cloned();
            (numbered("Choose a model", rows), "Type a number; an empty line goes back.")
        }
        ConnectStep::Checking { .. } | ConnectStep::Saving { .. } => return None,
    };
    let mut out = Vec::new();
    if let Some(error) = &page.error {
        out.extend(lines(LineLabel::Error, error));
    }
    if let Some(news) = &page.news {
        out.extend(lines(LineLabel::Note, news));
    }
    out.extend(lines(LineLabel::Question, &question));
    out.push(LabelledLine::new(LineLabel::Continuation, answers));
    let key = format!("connect {question} {:?} {:?}", page.error, page.news);
    Some(LinearPage { key, lines: out })
}

/// How the next line is understood.
pub fn expected_line(page: &ConnectDialog) -> ExpectedLine {
    match page.step {
        ConnectStep::Choose if page.looking == ServerSearch::Now => ExpectedLine::Nothing,
        ConnectStep::Choose | ConnectStep::Manage { .. } | ConnectStep::Models { .. } => {
            ExpectedLine::Row
        }
        ConnectStep::Address
        | ConnectStep::Key { .. }
        | ConnectStep::Unencrypted(_)
        | ConnectStep::Removing(_) => ExpectedLine::Answer,
        ConnectStep::Checking { .. } | ConnectStep::Saving { .. } => ExpectedLine::Nothing,
    }
}

/// Takes a line of the user's.
///
/// # Errors
///
/// Says why the line is no answer.
pub fn take_line(page: &mut ConnectDialog, line: &str) -> Result<Vec<Intent>, LineAnswerError> {
    let line = line.trim();
    match &mut page.step {
        ConnectStep::Choose if line.is_empty() => Ok(page.leave()),
        ConnectStep::Choose => {
            let choices = page.choices();
            let choice = numbered_row(line, choices.len())?;
            Ok(choices.into_iter().nth(choice).map_or_else(Vec::new, |choice| page.take(choice)))
        }
        ConnectStep::Address if !line.is_empty() => Ok(page.take_address(line)),
        ConnectStep::Key { need: KeyNeed::Optional, .. } if line.is_empty() => {
            Ok(page.take_key(""))
        }
        // What was typed is in the terminal now; it is used for nothing.
        ConnectStep::Key { .. } if !line.is_empty() => Err(LineAnswerError::NoAnswer),
        ConnectStep::Unencrypted(endpoint) => {
            let endpoint = endpoint.clone();
            Ok(if yes(line)? {
                page.try_address(&endpoint)
            } else {
                page.step = ConnectStep::Address;
                Vec::new()
            })
        }
        ConnectStep::Removing(_) => {
            let answer = yes(line)?;
            Ok(page.answer_removal(answer))
        }
        ConnectStep::Manage { provider, selected } if !line.is_empty() => {
            *selected = numbered_row(line, ProviderAction::of(provider).len())?;
            Ok(page.act())
        }
        ConnectStep::Models { models, selected, .. } if !line.is_empty() => {
            *selected = match models.iter().position(|model| model == line) {
                Some(at) => at,
                None => numbered_row(line, models.len())?,
            };
            Ok(page.use_model())
        }
        ConnectStep::Address
        | ConnectStep::Key { .. }
        | ConnectStep::Manage { .. }
        | ConnectStep::Models { .. } => {
            page.back_to_list();
            Ok(Vec::new())
        }
        ConnectStep::Checking { .. } | ConnectStep::Saving { .. } => Ok(Vec::new()),
    }
}

fn row(page: &ConnectDialog, choice: &ConnectChoice) -> String {
    match choice {
        ConnectChoice::Configured(name) => format!("{name}, which is connected"),
        ConnectChoice::Server(endpoint) => {
            let server = page.servers.iter().find(|server| server.endpoint == *endpoint);
            server.map_or_else(String::new, |server| {
                format!("{} at {endpoint}, {}", server.name, view::models(server))
            })
        }
        ConnectChoice::File(path) => {
            let file = page.files.iter().find(|file| file.path == *path);
            file.map_or_else(String::new, |file| format!("{}, {}", file.name, file.details))
        }
        ConnectChoice::Hosted(service) => format!("{}, hosted", service.label()),
        ConnectChoice::Other => "A server by its address".to_owned(),
        ConnectChoice::Demo => "The demo".to_owned(),
    }
}

fn numbered(title: &str, rows: impl Iterator<Item = String>) -> String {
    let mut text = title.to_owned();
    for (number, row) in rows.enumerate() {
        text.push_str(&format!("\n{}. {}", number + 1, view::shown(&row)));
    }
    text
}

/// The index of the row whose number a line is.
fn numbered_row(line: &str, count: usize) -> Result<usize, LineAnswerError> {
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.filter(|at| *at < count).ok_or(LineAnswerError::NoRow)
}

fn yes(line: &str) -> Result<bool, LineAnswerError> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" | "" => Ok(false),
        _ => Err(LineAnswerError::YesOrNo),
    }
}

//! `slug mcp login` and `logout`.

use std::io::{BufRead as _, Write as _};

use tokio::sync::mpsc;

use crate::cli::CliExitStatus;
use crate::config::ResolvedConfig;
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::mcp::{
    LOGIN_LIMIT, McpLogin, McpLoginError, McpServerDefinition, McpServerState, McpServers,
};
use crate::permissions::store::ProjectSettingsTrust;

use super::started;

/// Logs in to a server, and tries the login.
pub(super) async fn log_in(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    server: McpServerDefinition,
) -> anyhow::Result<CliExitStatus> {
    let name = server.name.clone();
    // What the server refuses says which login it wants.
    let (servers, processes) = started(run_context, config, project, vec![server.clone()]).await?;
    let login = match servers.begin_login(&name).await {
        Ok(login) => login,
        Err(why) => {
            print::complain(&format!("{name}: {why}"));
            return Ok(CliExitStatus::Failed);
        }
    };
    drop(servers);
    processes.end_all().await;
    let mut out = print::out();
    writeln!(out, "Open this address in a browser, and log in at {}:\n", login.host())?;
    writeln!(out, "{}\n", login.address())?;
    writeln!(
        out,
        "Waiting for the browser to come back to {}. If it cannot reach this machine, paste the \
         address that it ends at. ctrl+c leaves.",
        login.way_back()
    )?;
    out.flush()?;
    if let Err(error) = answered(&login).await {
        print::complain(&format!("{name}: {error}"));
        return Ok(CliExitStatus::Failed);
    }
    let (servers, processes) = started(run_context, config, project, vec![server]).await?;
    let status = servers.status();
    drop(servers);
    processes.end_all().await;
    match status.first().map(|status| &status.state) {
        Some(McpServerState::Ready) => {
            writeln!(out, "Logged in to {name}.")?;
            Ok(CliExitStatus::Answered)
        }
        Some(state) => {
            let why = state.failure().unwrap_or_default();
            print::complain(&format!(
                "Saved the login to {name}, but the server cannot be used: {why}"
            ));
            Ok(CliExitStatus::Failed)
        }
        None => Ok(CliExitStatus::Failed),
    }
}

/// Waits for the browser, or for the address that the user pastes, whichever is first.
async fn answered(login: &McpLogin) -> Result<(), McpLoginError> {
    let mut lines = typed_lines();
    let answered = async {
        loop {
            let answer = tokio::select! {
                answer = login.browser() => answer?,
                Some(line) = lines.recv() => line,
            };
            match login.finish(&answer).await {
                Err(McpLoginError::NotAnAnswer) => {
                    print::complain(&McpLoginError::NotAnAnswer.to_string());
                }
                done => return done,
            }
        }
    };
    let late = Err(McpLoginError::NobodyCame(LOGIN_LIMIT));
    tokio::time::timeout(LOGIN_LIMIT, answered).await.unwrap_or(late)
}

/// The lines that the user types, without empty ones. The thread that reads them ends with slug.
fn typed_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let typed = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in typed.filter(|line| !line.trim().is_empty()) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Forgets the login to a server of these.
pub(super) async fn log_out(servers: &McpServers, name: &str) -> anyhow::Result<CliExitStatus> {
    let mut out = print::out();
    match servers.log_out(name).await {
        Ok(true) => writeln!(
            out,
            "Removed the login to {name}. The server may still accept it: revoke access there if \
             needed."
        )?,
        Ok(false) => writeln!(out, "There is no login to {name}.")?,
        Err(why) => {
            print::complain(&why);
            return Ok(CliExitStatus::Failed);
        }
    }
    Ok(CliExitStatus::Answered)
}

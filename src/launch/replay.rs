//! `slug replay`: reads a session, takes its secrets out, and has it played on the full screen or
//! written to a file. Nothing else is started: no agent, no provider, no tool.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use ratatui::backend::TestBackend;

use crate::cli::{Cli, CliExitStatus, ReplayArguments, ReplayFormatArg};
use crate::config::ResolvedConfig;
use crate::domain::SessionId;
use crate::domain::sanitize::sanitize_line;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::terminal;
use crate::session::{ReplayedConversation, RewoundRecords, redact};
use crate::tui::app::conversation::status::clock;
use crate::tui::app::keymap::Keymap;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::links::LinkTable;
use crate::tui::replay::svg::SvgRecorder;
use crate::tui::replay::text::TextRecorder;
use crate::tui::replay::{
    ReplayCut, ReplayPace, ReplayRecorder, ReplaySetup, ReplayTimeline, html,
};
use crate::tui::runtime::{AsciicastVersion, record_asciicast};
use crate::tui::theme::ColorDepth;

use super::run_context::RunContext;
use super::screen::{self, ReplayScreen};
use super::startup::report_config_errors;
use super::subcommands::write_file;
use super::{build, linear, print};

/// A session that is ready to be played.
struct PreparedReplay {
    timeline: Arc<ReplayTimeline>,
    setup: ReplaySetup,
    pace: ReplayPace,
    /// On one line, for the head of a file.
    title: String,
    /// How many secrets were redacted.
    redacted: usize,
}

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    what: &ReplayArguments,
) -> anyhow::Result<CliExitStatus> {
    let config = match run_context.config(cli, ProjectSettingsTrust::Untrusted) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    let session = build::store(run_context).resolve(&what.id)?;
    let form = what.format.or_else(|| linear::is_wanted(cli).then_some(ReplayFormatArg::Text));
    match form {
        Some(form) => {
            let prepared = prepare(run_context, &config, session, what, RewoundRecords::LeftOut)?;
            write(&prepared, form, what)?;
        }
        None if !terminal::is_capable() => bail!(
            "A replay needs a terminal. Use `slug replay {} --format text`, or svg, html or \
             asciicast with `--out FILE`.",
            what.id
        ),
        None => {
            let prepared = prepare(run_context, &config, session, what, RewoundRecords::Kept)?;
            let screen = ReplayScreen::open(run_context, &config)?;
            screen.play(prepared.timeline, prepared.setup, prepared.pace).await?;
        }
    }
    Ok(CliExitStatus::Answered)
}

/// Reads the session without its secrets. What a rewind took back is shown where it was seen before,
/// on the user's own screen; a file leaves it out, as an export does.
fn prepare(
    run_context: &RunContext,
    config: &ResolvedConfig,
    session: SessionId,
    what: &ReplayArguments,
    rewound: RewoundRecords,
) -> anyhow::Result<PreparedReplay> {
    let records = build::store(run_context).read(session)?.records;
    let clean = redact(&records, rewound);
    let title =
        ReplayedConversation::of(&clean.records).title.unwrap_or_else(|| "A session".into());
    let pace = ReplayPace { speed: what.speed, max_pause: Duration::from_secs_f64(what.max_pause) };
    let timeline = Arc::new(ReplayTimeline::new(clean.records, pace.max_pause));
    let theme = match what.format {
        None => screen::theme_state(run_context, config),
        // A file is for any reader, whatever this terminal can show.
        Some(_) => ThemeState {
            choice: config.theme.value.clone(),
            depth: ColorDepth::TrueColor,
            library: screen::theme_state(run_context, config).library,
            ..ThemeState::default()
        },
    };
    let keys = match what.format {
        None => run_context.keys(config).0,
        Some(_) => Keymap::resolve(config.keys.value, None).0,
    };
    let settings = ScreenSettings {
        home: run_context.user_home.clone(),
        keys: Arc::new(keys),
        status_items: config.status.value.clone(),
        ..screen::settings_of_replay(config)
    };
    Ok(PreparedReplay {
        setup: ReplaySetup { session, settings, theme },
        timeline,
        pace,
        title: sanitize_line(&title),
        redacted: clean.redacted,
    })
}

fn write(
    prepared: &PreparedReplay,
    form: ReplayFormatArg,
    what: &ReplayArguments,
) -> anyhow::Result<()> {
    let (text, cut) = record(prepared, form, what.size)?;
    match &what.out {
        Some(file) => {
            write_file(file, &text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        None => print::out().write_all(text.as_bytes())?,
    }
    if let Some(ReplayCut { at, of }) = cut {
        print::complain(&format!(
            "The file ends at {} of {}, because it has reached its greatest size. `--format \
             asciicast` holds more.",
            clock(at),
            clock(of)
        ));
    }
    match prepared.redacted {
        0 => {}
        1 => print::complain("1 secret was redacted."),
        count => print::complain(&format!("{count} secrets were redacted.")),
    }
    Ok(())
}

/// The replay in a form, and where it had to end.
fn record(
    prepared: &PreparedReplay,
    form: ReplayFormatArg,
    size: (u16, u16),
) -> io::Result<(String, Option<ReplayCut>)> {
    let PreparedReplay { timeline, setup, pace, title, .. } = prepared;
    let recorder = || {
        let links = LinkTable::default();
        ReplayRecorder::new(Arc::clone(timeline), setup, *pace, size, links)
    };
    let backend = || TestBackend::new(size.0, size.1);
    match form {
        ReplayFormatArg::Asciicast => {
            record_asciicast(recorder(), AsciicastVersion::Two, size, title)
        }
        ReplayFormatArg::AsciicastV3 => {
            record_asciicast(recorder(), AsciicastVersion::Three, size, title)
        }
        ReplayFormatArg::Svg | ReplayFormatArg::Html => {
            let recorder = recorder();
            let mut picture = SvgRecorder::new(size, recorder.theme());
            let cut = recorder.record(backend(), |frame| {
                Ok::<_, Infallible>(picture.frame(frame.at, frame.cells))
            });
            let cut = cut.unwrap_or_else(|never| match never {});
            let text = match form {
                ReplayFormatArg::Html => html::write(&picture, title),
                _ => picture.finish(title),
            };
            Ok((text, cut))
        }
        ReplayFormatArg::Text => {
            let mut lines = TextRecorder::default();
            let cut = recorder().record(backend(), |frame| Ok::<_, Infallible>(lines.frame(frame)));
            Ok((lines.finish(), cut.unwrap_or_else(|never| match never {})))
        }
    }
}

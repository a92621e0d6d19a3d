//! `slug sessions gc`: reports what is removed and packed, as text or as JSON.

use std::io::Write;
use std::time::Duration;

use serde_json::json;

use crate::cli::{CliExitStatus, SessionsGc};
use crate::domain::format_bytes;
use crate::launch::build;
use crate::launch::maintenance;
use crate::launch::print;
use crate::launch::run_context::RunContext;
use crate::platform::scratch::ScratchRoot;
use crate::session::{GcMode, GcOptions, GcReport, PackReport, ReclaimedSpace};

pub(super) fn run(run_context: &RunContext, gc: &SessionsGc) -> anyhow::Result<CliExitStatus> {
    let home = &run_context.home;
    let extra_paths = [home.drafts(), home.history(), home.clipboard()];
    let store = build::store(run_context);
    let options = gc_options(gc);
    let mut report = store.collect_garbage(options, &extra_paths)?;
    report.scratch = maintenance::remove_old_scratch(&store, &ScratchRoot::system(), options.mode);
    for error in &report.packed.failed {
        print::complain(error);
    }
    let mut out = print::out();
    if gc.format.json {
        writeln!(out, "{}", json!(report))?;
    } else {
        tell(&mut out, gc, &report)?;
    }
    Ok(CliExitStatus::Answered)
}

fn gc_options(gc: &SessionsGc) -> GcOptions {
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    GcOptions {
        mode: if gc.dry_run { GcMode::DryRun } else { GcMode::Apply },
        trash_after: days(gc.trash_days),
        pack_after: days(gc.pack_days),
    }
}

fn tell(out: &mut dyn Write, gc: &SessionsGc, report: &GcReport) -> std::io::Result<()> {
    let (removed, packed) =
        if gc.dry_run { ("would be removed", "would be packed") } else { ("removed", "packed") };
    let rows = [
        ("deleted sessions", report.trash),
        ("unused images and outputs", report.contents),
        ("leftovers of killed runs", report.leftovers),
        ("scratch folders", report.scratch),
    ];
    for (what, ReclaimedSpace { count, bytes: size }) in
        rows.into_iter().filter(|(_, freed)| freed.count > 0)
    {
        writeln!(out, "{removed}: {count} {what}, {}", format_bytes(size))?;
    }
    let PackReport { count, before, after, .. } = report.packed;
    match (count, gc.dry_run) {
        (0, _) if *report == GcReport::default() => {
            writeln!(out, "Nothing to remove or compress.")
        }
        (0, _) => Ok(()),
        (_, true) => {
            writeln!(out, "{packed}: {count} sessions and contents, {}", format_bytes(before))
        }
        (_, false) => {
            let (before, after) = (format_bytes(before), format_bytes(after));
            writeln!(out, "{packed}: {count} sessions and contents, from {before} to {after}")
        }
    }
}

//! Single cases: what becomes of a file that the user has changed, or that lies outside or is
//! protected, and how plans and redos are told apart.

use super::*;

#[test]
fn what_the_user_has_changed_since_is_merged_or_left() {
    let was: String = (0..9).map(|n| format!("line {n}\n")).collect();
    let made = was.replace("line 1", "LINE 1");
    for (own, expected) in [
        (made.replace("line 7", "mine"), Ok(was.replace("line 7", "mine"))),
        (made.replace("LINE 1", "mine"), Err(SkipReason::SameLines)),
        (was.clone(), Ok(was.clone())),
    ] {
        let mut model = FolderModel::default();
        model.files.insert(path(0), (was.clone().into_bytes(), 0o644));
        model.note(user("go"));
        model.change(&path(0), FileChangeSource::Tool, Some((made.clone().into_bytes(), 0o644)));
        model.files.insert(path(0), (own.clone().into_bytes(), 0o644));
        let plan = plan_undo(&model.log, 0, &model);
        let got = match &plan.files[0].action {
            FileAction::Put(put) => {
                assert!(put.is_merged);
                Ok(String::from_utf8(put.bytes.clone()).unwrap())
            }
            FileAction::Nothing => Ok(own),
            FileAction::Skip(reason) => Err(reason.clone()),
            FileAction::Remove => panic!("removed"),
        };
        assert_eq!(got, expected);
    }
}

#[test]
fn a_file_created_or_removed_on_either_side_is_left_with_a_reason() {
    type FileSides = (Option<&'static str>, Option<&'static str>, Option<&'static str>);
    let cases: [(FileSides, FileAction); 6] = [
        ((None, Some("a"), Some("a")), FileAction::Remove),
        ((None, Some("a"), Some("b")), FileAction::Skip(SkipReason::Changed)),
        ((None, Some("a"), None), FileAction::Nothing),
        ((Some("a"), Some("b"), None), FileAction::Skip(SkipReason::Removed)),
        ((Some("a"), None, Some("b")), FileAction::Skip(SkipReason::MadeAnew)),
        ((Some("a"), None, Some("a")), FileAction::Nothing),
    ];
    for ((before, after, now), action) in cases {
        let file = |text: &str| (text.as_bytes().to_vec(), 0o644);
        let mut model = FolderModel::default();
        model.files.extend(before.map(|text| (path(0), file(text))));
        model.note(user("go"));
        model.change(&path(0), FileChangeSource::Command, after.map(file));
        model.files.remove(&path(0));
        model.files.extend(now.map(|text| (path(0), file(text))));
        assert_eq!(
            plan_undo(&model.log, 0, &model).files[0].action,
            action,
            "{before:?} {after:?} {now:?}"
        );
    }
}

#[test]
fn outside_and_protected_files_stay_until_the_user_asks() {
    let file = |text: &str| Some((text.as_bytes().to_vec(), 0o644));
    for place in ["/elsewhere/a", "/w/.git/config", "/elsewhere/config"] {
        for (before, after) in
            [(None, file("new")), (file("old"), file("new")), (file("old"), None)]
        {
            let place = Path::new(place);
            let mut model = FolderModel::default();
            model.files.extend(before.clone().map(|before| (place.to_owned(), before)));
            model.note(user("go"));
            model.change(place, FileChangeSource::Tool, after.clone());
            let plan = plan_undo(&model.log, 0, &model);
            let case = format!("{place:?} {before:?} {after:?}");
            assert_eq!(plan.files[0].action, FileAction::Skip(SkipReason::NeedsAnswer), "{case}");
            assert_eq!(plan.touched().count(), 0, "{case}");
            let mut overridden = plan.clone();
            overridden.files[0].toggle_override();
            assert_eq!(overridden.touched().count(), 1, "{case}");
            // A front end's choice for a file that the user was not asked about does not count.
            let mut again = plan_undo(&model.log, 0, &model);
            again.copy_overrides(&plan);
            assert_eq!(again.touched().count(), 0, "{case}");
            again.copy_overrides(&overridden);
            assert!(again.has_same_effect(&overridden), "{case}");
        }
    }
}

/// A command that removes a link.
fn remove_link(model: &mut FolderModel, path: &Path, target: &str) {
    let hash = ContentHash::of(target.as_bytes());
    let link = FileVersion { kind: FileKind::Link, hash: hash.clone(), mode: None };
    model.kept.insert(hash, target.as_bytes().to_vec());
    let removed =
        FileChangeEntry::new(path.to_owned(), Some(link), None, FileChangeSource::Command);
    model.note(LogEntry::FileChange(removed));
}

#[test]
fn a_link_that_leads_out_or_to_a_protected_place_needs_an_answer_too() {
    for (target, needs) in
        [("b", false), ("/w/b", false), ("/elsewhere/b", true), (".git/config", true)]
    {
        let mut model = initial_folder();
        remove_link(&mut model, &path(7), target);
        let plan = plan_undo(&model.log, 0, &model);
        assert_eq!(plan.files[0].place.needs_answer(), needs, "{target}");
        assert_eq!(plan.touched().count(), usize::from(!needs), "{target}");
    }
}

#[test]
fn several_links_are_restored_only_one_by_one_since_each_may_lead_through_another() {
    let mut model = initial_folder();
    for (at, target) in [(7, "8/../../../elsewhere"), (8, "sub/deep/folder")] {
        remove_link(&mut model, &path(at), target);
    }
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    let mut plan = plan_undo(&model.log, 0, &model);
    let touched: Vec<&Path> = plan.touched().map(|file| file.path.as_path()).collect();
    assert_eq!(touched, [path(0)]);
    assert_eq!(plan.files.iter().filter(|file| file.place.is_one_of_links).count(), 2);
    for file in &mut plan.files {
        if file.place.is_one_of_links {
            file.toggle_override();
        }
    }
    assert_eq!(plan.touched().count(), 3);
}

#[test]
fn a_file_of_the_workspace_goes_back_with_the_rest() {
    let mut model = initial_folder();
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    let plan = plan_undo(&model.log, 0, &model);
    assert_eq!((plan.touched().count(), plan.has_questions()), (1, false));
}

#[test]
fn a_content_that_is_no_longer_kept_is_reported_as_lost() {
    let mut model = initial_folder();
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    model.kept.clear();
    assert_eq!(
        plan_undo(&model.log, 0, &model).files[0].action,
        FileAction::Skip(SkipReason::Lost)
    );
}

#[test]
fn a_new_message_ends_redo() {
    let mut model = initial_folder();
    model.play(&FolderOperation::Say);
    assert!(model.back(0, RewindScope::Both, None));
    assert!(model.back(0, RewindScope::Both, None), "one further back");
    assert!(model.again());
    assert!(model.again());
    assert!(!model.again(), "there is nothing more");
    assert!(model.back(0, RewindScope::Both, None));
    model.play(&FolderOperation::Say);
    assert!(!model.again());
}

#[test]
fn marks_of_later_records_serve_as_well_as_the_records() {
    let mut model = initial_folder();
    for op in [
        FolderOperation::Say,
        FolderOperation::Say,
        FolderOperation::Back { point: 1, what: RewindScope::Both, killed: None },
        FolderOperation::Say,
        FolderOperation::Back { point: 0, what: RewindScope::Both, killed: None },
        FolderOperation::Back { point: 0, what: RewindScope::Conversation, killed: None },
        FolderOperation::Again,
    ] {
        model.play(&op);
    }
    let whole = RewindHistory::of(&model.log);
    for cut in 0..model.log.len() {
        let (earlier, later) = model.log.split_at(cut);
        let parts = RewindHistory::of_parts(earlier, &marks(later));
        for at in 0..cut {
            assert_eq!(parts.is_live(at), whole.is_live(at), "{at} of {cut}");
        }
        let end = RewindHistory::of(later);
        for at in cut..model.log.len() {
            assert_eq!(end.is_live(at - cut), whole.is_live(at), "{at} from {cut}");
        }
    }
}

#[test]
fn two_plans_that_only_count_lines_differently_do_the_same() {
    let mut model = initial_folder();
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    model.change(&path(1), FileChangeSource::Command, None);
    let plan = plan_undo(&model.log, 0, &model);
    let mut other = plan.clone();
    other.files[0].lines = Some((7, 7));
    assert!(plan.has_same_effect(&other) && plan != other);
    other.files[0].action = FileAction::Remove;
    assert!(!plan.has_same_effect(&other));
    other.files.truncate(1);
    assert!(!plan.has_same_effect(&other));
    assert_eq!(
        [plan.files[0].by, plan.files[1].by],
        [FileChangeSource::Tool, FileChangeSource::Command]
    );
}

#[test]
fn overrides_are_copied_to_another_plan() {
    let mut model = initial_folder();
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    model.files.insert(path(0), (b"mine\n".to_vec(), 0o644));
    let fresh = plan_undo(&model.log, 0, &model);
    assert_eq!((fresh.touched().count(), fresh.skipped().count()), (0, 1));
    let mut shown = fresh.clone();
    shown.files[0].toggle_override();
    assert_eq!((shown.touched().count(), shown.skipped().count()), (1, 0));
    assert!(!fresh.has_same_effect(&shown));
    let mut again = fresh.clone();
    again.copy_overrides(&shown);
    assert!(again.has_same_effect(&shown));
    again.copy_overrides(&fresh);
    assert_eq!(again, fresh);
}

#[test]
fn a_file_that_cannot_be_restored_has_no_alternative() {
    let mut model = initial_folder();
    model.change(&path(0), FileChangeSource::Tool, Some((b"new\n".to_vec(), 0o644)));
    model.files.insert(path(0), (b"mine\n".to_vec(), 0o644));
    model.kept.clear();
    let plan = plan_undo(&model.log, 0, &model);
    assert!(matches!(plan.files[0].action, FileAction::Skip(_)) && !plan.has_questions());
}

#[test]
fn a_file_that_is_as_it_was_has_no_alternative() {
    let mut model = initial_folder();
    let file = |text: &str| Some((text.as_bytes().to_vec(), 0o644));
    model.change(&path(2), FileChangeSource::Tool, file("one\n"));
    model.files.insert(path(2), (b"mine\n".to_vec(), 0o644));
    model.change(&path(2), FileChangeSource::Tool, file("two\n"));
    model.files.remove(&path(2));
    assert_eq!(plan_undo(&model.log, 0, &model).files[0].action, FileAction::Nothing);
}

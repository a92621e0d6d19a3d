//! The completion list that is open under the caret.

use std::ops::Range;

use super::trigger::CompletionTrigger;
use crate::tui::app::picker_list::PickerList;

/// An open completion list.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionList {
    pub trigger: CompletionTrigger,
    /// The bytes of the input that a choice replaces, without the sign before them.
    pub word: Range<usize>,
    pub list: PickerList,
}

//! Bindings that cannot hold: the keys already belong to another action, they would make another
//! action unreachable, or they would keep a letter from being typed.
//!
//! Within a context the earlier binding is kept: slug's own and the preset's before the user's, and
//! among the user's the one written first. Between contexts that hold in the same place, both are
//! kept, since each may be reachable elsewhere; slug tells the user which of them answers there.

use std::collections::HashSet;

use super::chord::{KeyChord, KeySequence};
use super::context::KeyContext;
use super::place::KeyPlace;
use super::resolved_keymap::{KeyOrigin, Keymap, KeymapRow};

/// A binding that cannot hold, or that another context hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyConflict {
    /// Where the binding at fault comes from.
    pub(super) origin: KeyOrigin,
    /// What is wrong, in a sentence for the user.
    pub(super) text: String,
}

/// Contexts in which typed characters become text.
const TYPED_IN: [KeyContext; 6] = [
    KeyContext::Always,
    KeyContext::Input,
    KeyContext::Editing,
    KeyContext::Completion,
    KeyContext::Field,
    KeyContext::List,
];

/// Removes the bindings that cannot hold, and returns why.
pub(super) fn settle(map: &mut Keymap) -> Vec<KeyConflict> {
    let mut conflicts = Vec::new();
    for context in KeyContext::ALL {
        settle_context(map.rows_mut(context), &mut conflicts);
    }
    conflicts
}

/// The keys that another context answers first in a place where both contexts hold.
pub(super) fn hidden(map: &Keymap) -> Vec<KeyConflict> {
    let mut found: Vec<KeyConflict> = Vec::new();
    let mut known = HashSet::new();
    for place in KeyPlace::ALL {
        let rows = place.exclusive().iter().flat_map(|context| map.rows(*context));
        let bound = rows.flat_map(|row| row.keys.iter().map(move |keys| (row, keys)));
        let bound: Vec<(&KeymapRow, &KeySequence)> = bound.collect();
        for (at, (row, keys)) in bound.iter().enumerate() {
            // An action of the same name does the same, so nothing is unreachable.
            let before = bound[..at]
                .iter()
                .filter(|(other, _)| other.id.context != row.id.context && other.name != row.name);
            let Some((first, first_keys)) =
                before.clone().find(|(_, first_keys)| first_keys.collides(keys))
            else {
                continue;
            };
            // A pair that meets in several places is told once.
            if !known.insert((first.id, row.id, first_keys.to_string(), keys.to_string())) {
                continue;
            }
            let (first_name, name) = (first.full_name(), row.full_name());
            let text = format!(
                "in {}, {} is bound to {first_name}, so it cannot do {name}",
                place.title(),
                shown(first_keys, keys)
            );
            found.push(KeyConflict { origin: first.origin.max(row.origin), text });
        }
    }
    found
}

fn shown(first_keys: &KeySequence, keys: &KeySequence) -> String {
    if first_keys == keys { format!("`{keys}`") } else { format!("`{first_keys}`, like `{keys}`,") }
}

fn settle_context(rows: &mut [KeymapRow], conflicts: &mut Vec<KeyConflict>) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| rows[*at].origin.max(KeyOrigin::Preset));
    let mut bound: Vec<(KeySequence, String)> = Vec::new();
    for at in order {
        let row = &mut rows[at];
        let name = row.full_name();
        let mut kept = Vec::new();
        for keys in std::mem::take(&mut row.keys) {
            let problem = untypable(row, &keys).or_else(|| {
                let (other, owner) = bound.iter().find(|(other, _)| other.collides(&keys))?;
                Some(taken(other, owner, &keys, &name))
            });
            match problem {
                Some(text) => conflicts.push(KeyConflict { origin: row.origin, text }),
                None => {
                    bound.push((keys.clone(), name.clone()));
                    kept.push(keys);
                }
            }
        }
        row.keys = kept;
    }
}

fn taken(other: &KeySequence, owner: &str, keys: &KeySequence, name: &str) -> String {
    if owner == name {
        return format!("`{keys}` conflicts with `{other}`, which is already {name}");
    }
    let what = if other == keys {
        format!("`{keys}` is already {owner}")
    } else {
        format!("terminals send `{keys}` and `{other}` alike, and `{other}` is {owner}")
    };
    format!("{what}, so it is not bound to {name}: first bind {owner} to other keys, or to []")
}

/// Why a key would keep a letter from being typed; `None` if it would not.
fn untypable(row: &KeymapRow, keys: &KeySequence) -> Option<String> {
    let c = keys.first().and_then(KeyChord::types).filter(|c| row.types != Some(*c))?;
    let types = match row.id.context {
        // The keys of an empty input may be signs: a text that begins with one of them is rare.
        KeyContext::EmptyInput => c.is_alphanumeric() || c == ' ',
        context => TYPED_IN.contains(&context),
    };
    let name = row.full_name();
    types.then(|| format!("`{keys}` types text, so it is not bound to {name}: add ctrl or alt"))
}

//! The skills that are part of slug. The user calls them by name; the model is not told of them, so that
//! they cost nothing where nobody wants them.

use std::path::Path;

use super::prompt_file::{PromptFile, PromptFileOrigin, PromptFileSeed};

const SHIPPED: [(&str, &str); 7] = [
    ("code-review", include_str!("../../assets/skills/code-review/SKILL.md")),
    ("commit", include_str!("../../assets/skills/commit/SKILL.md")),
    ("debug", include_str!("../../assets/skills/debug/SKILL.md")),
    ("docs", include_str!("../../assets/skills/docs/SKILL.md")),
    ("explain", include_str!("../../assets/skills/explain/SKILL.md")),
    ("init", include_str!("../../assets/skills/init/SKILL.md")),
    ("test", include_str!("../../assets/skills/test/SKILL.md")),
];

pub(super) fn shipped_skills() -> impl Iterator<Item = PromptFile> {
    SHIPPED.iter().filter_map(|(name, text)| {
        let seed = PromptFileSeed {
            path: Path::new(name),
            origin: PromptFileOrigin::Shipped,
            place_name: name,
        };
        PromptFile::skill(&seed, text).ok()
    })
}

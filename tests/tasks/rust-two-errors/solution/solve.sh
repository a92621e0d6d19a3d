#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
sed -i 's/let before = self.points.get(name).unwrap_or(&0);/let before = self.points.get(name).copied().unwrap_or_default();/; s/self.log(before)/self.log(before)/; s/before: &u32/before: u32/; s/if \*before == 0/if before == 0/; s/(name, points)).collect/(name.as_str(), *points)).collect/; s/b.1.cmp(a.1)/b.1.cmp(\&a.1)/; s/then(a.0.cmp(b.0))/then(a.0.cmp(b.0))/' src/table.rs
cat > src/report.rs <<'END'
use crate::table::Table;

pub fn best(table: &Table) -> &str {
    table.ranking().first().map_or("nobody", |(name, _)| name)
}
END

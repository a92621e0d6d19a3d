use crate::table::Table;

pub fn best(table: &Table) -> &str {
    let ranking = table.ranking();
    let first = ranking.first().map(|(name, _)| name.to_string());
    first.as_deref().unwrap_or("nobody")
}

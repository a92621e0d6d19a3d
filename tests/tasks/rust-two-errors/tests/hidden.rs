use task::report::best;
use task::table::Table;

#[test]
fn hidden() {
    let mut table = Table::default();
    table.add("b", 0);
    table.add("a", 0);
    table.add("c", 9);
    table.add("c", 1);
    assert_eq!(table.ranking(), [("c", 10), ("a", 0), ("b", 0)]);
    assert_eq!(best(&table), "c");
}

use task::report::best;
use task::table::Table;

#[test]
fn ranks_by_points_then_name() {
    let mut table = Table::default();
    assert_eq!(best(&table), "nobody");
    table.add("mo", 2);
    table.add("al", 3);
    table.add("mo", 1);
    assert_eq!(table.ranking(), [("al", 3), ("mo", 3)]);
    assert_eq!(best(&table), "al");
    assert_eq!(table.new_names(), 2);
}

use task::shorten;

#[test]
fn hidden() {
    assert_eq!(shorten("größer", 6), "größer");
    assert_eq!(shorten("größer", 3), "gr…");
    assert_eq!(shorten("日本語", 2), "日…");
    assert_eq!(shorten("ab", 1), "…");
    assert_eq!(shorten("ab", 0), "");
    assert_eq!(shorten("", 0), "");
    assert_eq!(shorten("planets", 7), "planets");
}

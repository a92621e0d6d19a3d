use task::circle::Circle;
use task::drawing::Drawing;
use task::file::File;
use task::rectangle::Rectangle;
use task::shape::Shape;
use task::text::{Label, describe};

#[test]
fn hidden() {
    let rectangle = Rectangle { size: (2.0, 3.0) };
    assert_eq!(rectangle.area(), 6.0);
    assert!((Circle { radius: 1.0 }).area() > 3.0);
    let label = Label { text: "abc".into(), size: 2.0 };
    assert_eq!(label.area(), 6.0);
    assert!(!rectangle.is_larger_than(&label));
    assert_eq!(describe(&rectangle), "area 6.00");
    let mut drawing = Drawing::default();
    drawing.add(rectangle);
    drawing.add(label);
    assert_eq!(drawing.size(), 2);
    assert_eq!(drawing.area(), 12.0);
    assert_eq!(drawing.largest(), Some(6.0));
    assert_eq!(File { bytes: vec![1, 2] }.size(), 2);
}

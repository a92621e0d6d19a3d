use task::drawing::Drawing;
use task::rectangle::Rectangle;
use task::shape::Shape;
use task::text::{Label, describe};

#[test]
fn sizes() {
    let mut drawing = Drawing::default();
    drawing.add(Rectangle::square(2.0));
    drawing.add(Label { text: "ab".into(), size: 2.0 });
    assert_eq!(drawing.size(), 2);
    assert_eq!(Shape::size(&drawing), 8.0);
    assert_eq!(describe(&Rectangle::square(3.0)), "size 9.00");
}

#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
sed -i 's/fn size(&self) -> f64/fn area(\&self) -> f64/' src/*.rs
sed -i 's/self.size() > other.size()/self.area() > other.area()/' src/shape.rs
sed -i 's/shape\.size()/shape.area()/; s/it\.size()/it.area()/' src/drawing.rs
sed -i 's/"size {:.2}", shape.size()/"area {:.2}", shape.area()/' src/text.rs
sed -i 's/Shape::size(/Shape::area(/; s/"size 9.00"/"area 9.00"/; s/fn sizes/fn areas/' tests/shapes.rs

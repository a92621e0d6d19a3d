//! Records which cells of the screen are part of which link.
//!
//! A cell of ratatui has no field for a link. It has one for the colour of its underline, which
//! slug does not use for text; the number of a link is written there. So the cells of a link are
//! compared, covered and cleared like any others, and a cell whose link changed is drawn again even
//! if its text did not change. The terminal backend reads the number from the cell and looks up the
//! address here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratatui::style::Color;

use super::layout::WebLink;

/// Most links remembered. A frame that begins with more forgets them all: this is many screens of
/// nothing but links.
const MOST: usize = 8 * 1024;
/// A number has to fit the 24 bits of a colour. 0 means no link.
const NUMBERS: u32 = 1 << 24;

/// The links on screen by number. A clone shares the same table.
#[derive(Debug, Clone, Default)]
pub struct LinkTable(Arc<Mutex<LinkTableState>>);

#[derive(Debug, Default)]
struct LinkTableState {
    numbers: HashMap<WebLink, u32>,
    links: HashMap<u32, WebLink>,
    last: u32,
}

impl LinkTable {
    /// Call before a frame is drawn. Forgets all links once there are more than `MOST`. Numbers
    /// go on counting, so the cells of the previous frame cannot be taken for another link.
    pub fn begin_frame(&self) {
        let mut table = self.lock();
        if table.numbers.len() > MOST {
            let last = table.last;
            *table = LinkTableState { last, ..LinkTableState::default() };
        }
    }

    /// The underline colour that marks a cell as part of `link`.
    pub fn mark(&self, link: &WebLink) -> Color {
        let mut table = self.lock();
        let number = match table.numbers.get(link) {
            Some(number) => *number,
            None => {
                let number = table.last % (NUMBERS - 1) + 1;
                table.last = number;
                table.numbers.insert(link.clone(), number);
                table.links.insert(number, link.clone());
                number
            }
        };
        let [_, red, green, blue] = number.to_be_bytes();
        Color::Rgb(red, green, blue)
    }

    /// The number and the link of a cell with this mark; `None` for a cell without a link.
    pub fn read(&self, mark: Color) -> Option<(u32, WebLink)> {
        let Color::Rgb(red, green, blue) = mark else { return None };
        let number = u32::from_be_bytes([0, red, green, blue]);
        Some((number, self.lock().links.get(&number)?.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, LinkTableState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(path: &str) -> WebLink {
        WebLink::to(&format!("https://a.example/{path}")).unwrap()
    }

    #[test]
    fn a_mark_leads_back_to_its_link() {
        let links = LinkTable::default();
        let (one, two) = (links.mark(&link("1")), links.mark(&link("2")));
        assert_ne!(one, two);
        assert_eq!(links.mark(&link("1")), one);
        assert_eq!(links.read(two).unwrap().1, link("2"));
        assert_eq!(links.read(Color::Reset), None);
        assert_eq!(links.read(Color::Rgb(9, 9, 9)), None);
    }

    #[test]
    fn old_numbers_are_not_given_out_again_soon() {
        let links = LinkTable::default();
        let old = links.mark(&link("old"));
        for path in 0..=MOST {
            links.mark(&link(&path.to_string()));
        }
        links.begin_frame();
        assert_eq!(links.read(old), None);
        assert_ne!(links.mark(&link("new")), old);
        assert!(links.lock().numbers.len() < 2);
    }
}

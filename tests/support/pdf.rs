//! Writes small PDFs.

use std::fmt::Write as _;

/// A PDF with these pages, each with its lines in Helvetica. A page without a line has no text.
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    write_pdf(pages, "")
}

/// The same, for a password that nobody knows: these are the checksums of none.
pub fn encrypted_pdf(pages: &[&str]) -> Vec<u8> {
    let (sum, id) = ("00".repeat(32), "11".repeat(16));
    let encryption = format!(
        "/Encrypt << /Filter /Standard /V 1 /R 2 /O <{sum}> /U <{sum}> /P -4 >> /ID [<{id}> <{id}>] "
    );
    write_pdf(pages, &encryption)
}

/// `trailer` is what the last dictionary has beside its own entries.
fn write_pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
    let numbers = (0..pages.len()).map(|page| 4 + 2 * page);
    let kids: String = numbers.map(|number| format!("{number} 0 R ")).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for page in pages {
        let content = objects.len() + 2;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        let lines: String = page.lines().map(|line| format!("({line}) Tj T* ")).collect();
        let text = format!("BT /F1 12 Tf 14 TL 50 780 Td {lines}ET");
        objects.push(format!("<< /Length {} >> stream\n{text}\nendstream", text.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (object, number) in objects.iter().zip(1..) {
        writeln!(places, "{:010} 00000 n ", file.len()).unwrap();
        writeln!(file, "{number} 0 obj {object} endobj").unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(
        file,
        "xref\n0 {size}\n0000000000 65535 f \n{places}trailer << /Size {size} /Root 1 0 R {trailer}>>\n\
         startxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    file.into_bytes()
}

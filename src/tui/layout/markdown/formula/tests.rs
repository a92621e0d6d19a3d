//! Formulas as models write them, and ones made to be slow or to break something.

use super::*;

fn shown(body: &str) -> String {
    readable(body).unwrap_or_else(|| format!("source: {body}"))
}

#[test]
fn formulas_are_readable() {
    for (body, expected) in [
        (r"\frac{a}{b} \le x_1^2", "a/b ≤ x₁²"),
        (r"x=\frac{-b\pm\sqrt{b^2-4ac}}{2a}", "x = (−b ± √(b² − 4ac))/2a"),
        (r"\sum_{i=1}^{n} x_i", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"e^{i\pi}+1=0", "e^(iπ) + 1 = 0"),
        (r"O(n \log n)", "O(n log n)"),
        (r"\mathbb{R}^n \subseteq \{1,\dots\}", "ℝⁿ ⊆ {1, …}"),
        (r"\forall x \in \mathcal{L}: \neg x", "∀x ∈ ℒ : ¬x"),
        (r"f(x)= \text{if } x \text{ is odd}", "f(x) = if x is odd"),
        (r"\hat{y} = \bar x + \vec v", "y\u{302} = x\u{305} + v\u{20d7}"),
        (r"\overline{AB}", "A\u{305}B\u{305}"),
        (r"\sqrt[3]{x} \ne \sqrt[n]{xy}", "∛x ≠ ⁿ√xy"),
        (r"\int_0^\infty e^{-x}\,dx", "∫₀^∞ e⁻ˣ dx"),
        (r"\left( \frac{1}{2} \right)^2", "(1/2)²"),
        (r"\lim_{x \to 0} \sin x", "lim_(x→0) sin x"),
        (r"P(A \mid B) \not= 0", "P(A ∣ B) ≠ 0"),
        (r"f'(x) = -1", "f′(x) = −1"),
        (r"\begin{pmatrix}a & b \\ c & d\end{pmatrix}", "(a b; c d)"),
        (r"\begin{cases} x & \text{if } x>0 \\ 0 \end{cases}", "{ x if x > 0; 0"),
        ("a &= b \\\\\n &= c + d", "a = b\n= c + d"),
        (r"\begin{aligned} a &= 1 \\[2pt] b &= 2 \end{aligned}", "a = 1\nb = 2"),
        (r"10{,}000 \approx 10,000, x", "10,000 ≈ 10,000, x"),
        (r"a \equiv b \pmod{n}", "a ≡ b (mod n)"),
        (r"A^\top A^{-1} x_{\max} 90^\circ", "AᵀA⁻¹xₘₐₓ90°"),
        (r"\boxed{42}", "[42]"),
        (r"speed = distance / time", "speed = distance/time"),
        (r"100\% \text{ of } \$5", "100% of $5"),
        (r"\operatorname{softmax}(QK^T)", "softmax(QKᵀ)"),
        (r"\frac{\partial f}{\partial x}", "∂f/∂x"),
    ] {
        assert_eq!(shown(body), expected, "{body}");
    }
}

#[test]
fn what_has_no_form_stays_as_its_source() {
    for (body, expected) in [
        (r"x + \unknown{a_1}{b} y", r"x + \unknown{a_1}{b} y"),
        (r"\widehat{abc} = x_b", r"\widehat{abc} = x_b"),
    ] {
        assert_eq!(shown(body), expected);
    }
    for body in [
        r"\frac{a}{b",
        r"\frac{a}",
        "a}",
        "x^",
        "x^^2",
        r"\begin{tikzpicture} a \end{tikzpicture}",
        r"\begin{matrix} a \end{pmatrix}",
        r"\end{matrix}",
        r"\text{a $x$ b}",
        r"a \ü",
        "a % b",
        " ",
        r"\",
    ] {
        assert_eq!(readable(body), None, "{body}");
    }
}

#[test]
fn nesting_and_length_have_a_limit() {
    for open in ["{", "x^", "x^{", r"\sqrt", r"\sqrt{", r"\frac", r"\left", r"\not", r"\text{"] {
        assert_eq!(readable(&open.repeat(500)), None, "{open}");
    }
    let nested = |depth: usize| format!("{}x{}", r"\sqrt{".repeat(depth), "}".repeat(depth));
    assert!(readable(&nested(DEEPEST - 1)).is_some());
    assert_eq!(readable(&nested(DEEPEST)), None);
    assert!(readable(&"x".repeat(LONGEST)).is_some());
    assert_eq!(readable(&"x".repeat(LONGEST + 1)), None);
}

proptest::proptest! {
    #[test]
    fn any_formula_is_read_or_left(body in r"([\\{}\[\]^_&a-z1 ]|\\(frac|sqrt|left|text|begin|end|not|hat)|é日){0,40}") {
        if let Some(shown) = readable(&body) {
            proptest::prop_assert!(!shown.is_empty() && !shown.contains('\r'));
        }
    }
}

//! What TeX's commands and letters are in Unicode: tables, and nothing that reads a formula.
//!
//! A letter that Unicode does not have in a style, as most small letters below a line, has no row
//! here; the caller then writes the formula otherwise.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a sign is to its neighbours, after chapter 17 of The TeXbook: it decides on the spaces
/// around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignClass {
    Ordinary,
    /// A name such as `log` or a sign such as `∑`, apart from what it applies to.
    Function,
    /// Between two operands; without a left one it is a sign of the right one, as in `-x`.
    Binary,
    Relation,
    Opening,
    Closing,
    Punctuation,
}

/// The sign that a command stands for, without its backslash.
pub(super) fn sign(name: &str) -> Option<(SignClass, &'static str)> {
    static SIGNS: LazyLock<HashMap<&str, (SignClass, &str)>> = LazyLock::new(|| {
        let mut signs = HashMap::new();
        for (class, rows) in [
            (SignClass::Ordinary, ORDINARY),
            (SignClass::Function, LARGE),
            (SignClass::Binary, BINARY),
            (SignClass::Relation, RELATIONS),
            (SignClass::Opening, OPENING),
            (SignClass::Closing, CLOSING),
        ] {
            signs.extend(
                rows.split_whitespace().filter_map(|row| {
                    row.split_once('=').map(|(name, sign)| (name, (class, sign)))
                }),
            );
        }
        signs.extend(FUNCTIONS.split_whitespace().map(|name| (name, (SignClass::Function, name))));
        signs
    });
    SIGNS.get(name).copied()
}

/// A text above the line, if Unicode has each of its characters there.
pub(super) fn superscript(text: &str) -> Option<String> {
    const FROM: &str = "0123456789+−-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ⊤*∗†‡′°∘";
    const TO: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡᵀ**†‡′°°";
    replaced(text, FROM, TO)
}

/// A text below the line, if Unicode has each of its characters there.
pub(super) fn subscript(text: &str) -> Option<String> {
    const FROM: &str = "0123456789+−-=()aehijklmnoprstuvxβγρφχ";
    const TO: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ";
    replaced(text, FROM, TO)
}

/// Letters in the style of a command (`mathbb`, `mathcal`, `mathfrak`), if Unicode has them.
pub(super) fn styled(name: &str, text: &str) -> Option<String> {
    // Letters that Unicode had before it got the whole alphabets, and where the others begin.
    let (known, capitals, small) = match name {
        "mathbb" => ("CℂHℍNℕPℙQℚRℝZℤ", 0x1d538, Some(0x1d552)),
        "mathcal" | "mathscr" => ("BℬEℰFℱHℋIℐLℒMℳRℛ", 0x1d49c, None),
        "mathfrak" => ("CℭHℌIℑRℜZℨ", 0x1d504, Some(0x1d51e)),
        _ => return None,
    };
    let letter = |c: char| {
        let mut pairs = known.chars();
        while let (Some(from), Some(to)) = (pairs.next(), pairs.next()) {
            if from == c {
                return Some(to);
            }
        }
        match c {
            'A'..='Z' => char::from_u32(capitals + u32::from(c) - u32::from('A')),
            'a'..='z' => char::from_u32(small? + u32::from(c) - u32::from('a')),
            '1' if name == "mathbb" => Some('𝟙'),
            _ => None,
        }
    };
    text.chars().map(letter).collect()
}

/// The mark that a command puts on the character before it.
pub(super) fn accent(name: &str) -> Option<char> {
    Some(match name {
        "hat" | "widehat" => '\u{302}',
        "bar" | "overline" => '\u{305}',
        "tilde" | "widetilde" => '\u{303}',
        "vec" | "overrightarrow" => '\u{20d7}',
        "dot" => '\u{307}',
        "ddot" => '\u{308}',
        "check" => '\u{30c}',
        "breve" => '\u{306}',
        "acute" => '\u{301}',
        "grave" => '\u{300}',
        "mathring" => '\u{30a}',
        "underline" => '\u{332}',
        _ => return None,
    })
}

/// The brackets around the rows of a matrix.
pub(super) fn matrix(environment: &str) -> Option<(&'static str, &'static str)> {
    Some(match environment {
        "matrix" | "smallmatrix" | "array" => ("", ""),
        "pmatrix" => ("(", ")"),
        "bmatrix" => ("[", "]"),
        "Bmatrix" => ("{", "}"),
        "vmatrix" => ("|", "|"),
        "Vmatrix" => ("‖", "‖"),
        "cases" | "dcases" => ("{ ", ""),
        _ => return None,
    })
}

fn replaced(text: &str, from: &str, to: &str) -> Option<String> {
    let place = |c: char| from.chars().position(|known| known == c);
    text.chars().map(|c| to.chars().nth(place(c)?)).collect()
}

const FUNCTIONS: &str = "
    arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf
    limsup ln log max min mod Pr sec sin sinh sup tan tanh bmod";

const ORDINARY: &str = "
    alpha=α beta=β gamma=γ delta=δ epsilon=ε varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι
    kappa=κ lambda=λ mu=μ nu=ν xi=ξ omicron=ο pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ
    upsilon=υ phi=φ varphi=φ chi=χ psi=ψ omega=ω
    Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω
    infty=∞ partial=∂ nabla=∇ forall=∀ exists=∃ nexists=∄ emptyset=∅ varnothing=∅ neg=¬ lnot=¬
    top=⊤ bot=⊥ ell=ℓ hbar=ℏ Re=ℜ Im=ℑ wp=℘ aleph=ℵ beth=ℶ imath=ı jmath=ȷ angle=∠ triangle=△
    square=□ Box=□ blacksquare=■ qed=∎ checkmark=✓ dagger=† ddagger=‡ prime=′ degree=° star=⋆
    ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ dotsc=… dotsb=⋯ therefore=∴ because=∵ sharp=♯ flat=♭
    surd=√ vert=| Vert=‖ backslash=\\ S=§ P=¶ pounds=£ copyright=©";

const LARGE: &str = "
    sum=∑ prod=∏ coprod=∐ int=∫ iint=∬ iiint=∭ oint=∮ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂
    bigvee=⋁ bigwedge=⋀";

const BINARY: &str = "
    pm=± mp=∓ times=× div=÷ cdot=· ast=∗ circ=∘ bullet=• oplus=⊕ ominus=⊖ otimes=⊗ oslash=⊘ odot=⊙
    cup=∪ cap=∩ uplus=⊎ sqcup=⊔ sqcap=⊓ setminus=∖ smallsetminus=∖ wedge=∧ land=∧ vee=∨ lor=∨ wr=≀
    diamond=⋄ ltimes=⋉ rtimes=⋊ bowtie=⋈ veebar=⊻";

const RELATIONS: &str = "
    le=≤ leq=≤ leqslant=≤ ge=≥ geq=≥ geqslant=≥ ne=≠ neq=≠ ll=≪ gg=≫ lt=< gt=> equiv=≡ approx=≈
    sim=∼ simeq=≃ cong=≅ propto=∝ asymp=≍ doteq=≐ coloneqq=≔ prec=≺ succ=≻ preceq=⪯ succeq=⪰
    in=∈ notin=∉ ni=∋ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇ subsetneq=⊊ supsetneq=⊋ nsubseteq=⊈
    sqsubseteq=⊑ sqsupseteq=⊒ vdash=⊢ dashv=⊣ models=⊨ vDash=⊨ perp=⊥ parallel=∥ mid=∣ nmid=∤
    to=→ rightarrow=→ leftarrow=← gets=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐
    Leftrightarrow=⇔ implies=⟹ impliedby=⟸ iff=⟺ mapsto=↦ longmapsto=⟼ longrightarrow=⟶
    longleftarrow=⟵ Longrightarrow=⟹ Longleftarrow=⟸ Longleftrightarrow=⟺ hookrightarrow=↪
    hookleftarrow=↩ twoheadrightarrow=↠ rightharpoonup=⇀ rightleftharpoons=⇌ rightsquigarrow=⇝
    leadsto=⇝ uparrow=↑ downarrow=↓ updownarrow=↕ Uparrow=⇑ Downarrow=⇓ nearrow=↗ searrow=↘
    swarrow=↙ nwarrow=↖ triangleq=≜ lesssim=≲ gtrsim=≳ colon=:";

const OPENING: &str = "langle=⟨ lfloor=⌊ lceil=⌈ lbrace={ lbrack=[ lvert=| lVert=‖ llbracket=⟦";

const CLOSING: &str = "rangle=⟩ rfloor=⌋ rceil=⌉ rbrace=} rbrack=] rvert=| rVert=‖ rrbracket=⟧";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_scripts_has_its_partner() {
        let digits = "0123456789+−-=()";
        assert_eq!(superscript(digits).as_deref(), Some("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾"));
        assert_eq!(subscript(digits).as_deref(), Some("₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"));
        assert_eq!(superscript("zWχ⊤∘").as_deref(), Some("ᶻᵂᵡᵀ°"));
        assert_eq!(subscript("xβχ").as_deref(), Some("ₓᵦᵪ"));
        assert_eq!((superscript("q"), subscript("b")), (None, None));
    }

    #[test]
    fn letters_have_their_styles() {
        assert_eq!(styled("mathbb", "RE1").as_deref(), Some("ℝ𝔼𝟙"));
        assert_eq!(styled("mathcal", "LO").as_deref(), Some("ℒ𝒪"));
        assert_eq!(styled("mathfrak", "gZ").as_deref(), Some("𝔤ℨ"));
        assert_eq!(styled("mathcal", "a"), None);
    }
}

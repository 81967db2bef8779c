//! The tokeniser of TER: Tercom's normaliser (Snover et al. 2006) as sacreBLEU has it.

use super::cut::{Class, Rules, WESTERN, cut, wide_plain};
use super::{replace_in_turn, split};

/// Tercom's normaliser; the default is TER's default: lower-case the line and split it at white space.
#[allow(clippy::struct_excessive_bools)] // four switches of the original, each on its own
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tercom {
    /// Undo XML escapes and part punctuation from words (Western scripts).
    pub normalized: bool,
    /// Remove `. , ? : ; ! " ( )`; where nothing parts them, their neighbours grow together.
    pub no_punct: bool,
    /// Let `normalized` cut Chinese and Japanese characters apart, and `no_punct` remove their punctuation.
    pub asian_support: bool,
    /// Keep upper case.
    pub case_sensitive: bool,
}

const TERCOM: [Class; 128] = {
    let mut table = WESTERN;
    table[b'\'' as usize] = Class::Quote;
    table
};

static RULES: Rules = Rules { ascii: TERCOM, wide: wide_plain, padded: true };

static ASIAN_RULES: Rules = Rules {
    ascii: TERCOM,
    wide: |c| if is_asian(c) || is_asian_punct(c) { Class::Alone } else { wide_plain(c) },
    padded: true,
};

const REPLACED: [(&str, &str); 6] =
    [("\n-", ""), ("\n", " "), ("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];

impl Tercom {
    /// The tokens of `line` joined by single spaces, the same string as sacreBLEU's `TercomTokenizer` returns.
    pub fn apply(&self, line: &str) -> String {
        let mut line = if self.case_sensitive { line.to_owned() } else { line.to_lowercase() };
        if self.normalized {
            let rules = if self.asian_support { &ASIAN_RULES } else { &RULES };
            line = cut(&replace_in_turn(&line, &REPLACED), rules);
        }
        if self.no_punct {
            line.retain(|c| !(is_punct(c) || self.asian_support && is_asian_punct(c)));
        }
        let mut out = String::with_capacity(line.len());
        for token in split(&line) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(token);
        }
        out
    }
}

fn is_punct(c: char) -> bool {
    matches!(c, '.' | ',' | '?' | ':' | ';' | '!' | '"' | '(' | ')')
}

/// The characters that `asian_support` makes tokens. Kana are not among them: the original's patterns for kana
/// only match at the start of the line, where normalisation has just put a space.
fn is_asian(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2eff}' | '\u{31c0}'..='\u{31ef}' | '\u{3200}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}')
}

fn is_asian_punct(c: char) -> bool {
    matches!(c,
        '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}'
        | '\u{ff01}' | '\u{ff02}' | '\u{ff08}' | '\u{ff09}' | '\u{ff0c}' | '\u{ff0e}' | '\u{ff1a}' | '\u{ff1b}'
        | '\u{ff1f}' | '\u{ff61}'..='\u{ff65}')
}

//! How a rule is made: where its words and gaps are, and which source words it joins.

use super::local::Firing;
use super::pair::push_pair;
use super::{Common, LocalSet, View};
use crate::feature::{Builder, Part, PlaceFeature};
use crate::rule::{Origin, Rule, Symbol};
use crate::sentence::Sentence;
use crate::sink::Sink;
use dragoman_base::Result;

/// Rule shape: `shape:w_^1_w>^1_w`, where `w` is any number of neighbouring words.
struct Shapes;

impl LocalSet for Shapes {
    fn fire(&self, view: &View<'_>, out: &mut Firing<'_>) {
        out.fire(|name| {
            push_shape(name, view.source);
            name.push('>');
            push_shape(name, view.target);
        });
    }
}

fn push_shape(name: &mut String, side: &[Symbol<&str>]) {
    let mut words = false;
    for (at, symbol) in side.iter().enumerate() {
        if at > 0 && !(words && symbol.word().is_some()) {
            name.push('_');
        }
        match symbol {
            Symbol::Word(_) if words => {}
            Symbol::Word(_) => name.push('w'),
            Symbol::Gap(gap) => {
                name.push('^');
                name.push_str(&(gap + 1).to_string());
            }
        }
        words = symbol.word().is_some();
    }
}

/// Source path: `path:f>g` for each source word g of a rule that is not the first of its span, with the word f before it,
/// which is the rule's own or the last one of a gap.
struct Path(Common);

impl PlaceFeature for Path {
    fn score(&self, sentence: &Sentence<'_>, rule: &Rule<'_>, out: &mut Sink<'_>) {
        if !matches!(rule.origin, Origin::Table(_)) || !out.weighs(self.0.set) {
            return;
        }
        let names = self.0.names.read().expect("no panic while locked");
        let mut name = String::new();
        for at in rule.source().filter_map(|symbol| symbol.word()).filter(|&at| at > rule.from) {
            let words = &sentence.input.words;
            name.clear();
            name.push_str(&self.0.prefix);
            push_pair(&mut name, &words[at as usize - 1], &words[at as usize]);
            if self.0.allows(&name) {
                out.named(&names, &name, 1.0);
            }
        }
    }
}

/// `shape`.
pub fn shapes(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    to.add_local(common, Shapes);
    Ok(())
}

/// `path`.
pub fn path(part: &Part, to: &mut Builder) -> Result<()> {
    let common = Common::new(part, to, true)?;
    to.add_place(Path(common));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Symbol::{Gap, Word};

    #[test]
    fn shapes_by_hand() {
        let shape = |side: &[Symbol<&str>]| {
            let mut name = String::new();
            push_shape(&mut name, side);
            name
        };
        assert_eq!(shape(&[Word("a"), Word("b")]), "w");
        assert_eq!(shape(&[Gap(1), Word("a"), Word("b"), Gap(0), Word("c")]), "^2_w_^1_w");
        assert_eq!(shape(&[Gap(0), Gap(1)]), "^1_^2");
    }
}

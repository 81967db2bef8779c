//! What decoders need of rules, wherever these come from.

use crate::gap;
use crate::table::{Node, Table};
use std::ops::Range;

/// Rules by their source sides: a trie of symbols, words and gaps ([`crate::gap`]), whose nodes have runs of rules.
///
/// A mapped [`Table`] is one. Sources that make rules as they are asked for, or that grow, keep the same bargain: a number
/// once given stays what it is. Where the rules of a source side change, they get a new run of numbers; those of the old
/// run may still be asked about.
pub trait RuleSource: Send + Sync {
    /// Names of the score columns.
    fn columns(&self) -> &[String];

    /// The id of a source word.
    fn source_word(&self, word: &str) -> Option<u32>;

    /// The symbol that every gap of a source side is; none if no rule has gaps.
    fn gap(&self) -> Option<u32> {
        self.source_word(gap::SOURCE)
    }

    /// The id of a target word.
    fn target_word(&self, word: &str) -> Option<u32>;

    /// The target word behind `id`.
    fn target_text(&self, id: u32) -> &str;

    /// Number of target words.
    fn target_words(&self) -> usize;

    /// Number of symbols of the longest source side.
    fn longest_source(&self) -> usize;

    /// The node of the empty source side.
    fn root(&self) -> Node;

    /// The node of the source side of `node` and one more symbol, if any rule begins so.
    fn child(&self, node: Node, symbol: u32) -> Option<Node>;

    /// Whether any source side goes on after that of `node`.
    fn goes_on(&self, node: Node) -> bool;

    /// The node of a source side, if it has rules or is the beginning of one that has.
    fn find(&self, symbols: &[u32]) -> Option<Node> {
        symbols.iter().try_fold(self.root(), |node, &symbol| self.child(node, symbol))
    }

    /// The rules of the source side of `node`, by number.
    fn rules(&self, node: Node) -> Range<u32>;

    /// The target symbols of a rule; panics for a number that [`RuleSource::rules`] never gave.
    fn target(&self, rule: u32) -> &[u32];

    /// The internal links of a rule: source offset, target offset.
    fn links(&self, rule: u32) -> &[[u8; 2]];

    /// The scores of a rule, one for each of [`RuleSource::columns`].
    fn scores(&self, rule: u32) -> &[f32];
}

impl RuleSource for Table {
    fn columns(&self) -> &[String] {
        Self::columns(self)
    }

    fn source_word(&self, word: &str) -> Option<u32> {
        Self::source_word(self, word)
    }

    fn target_word(&self, word: &str) -> Option<u32> {
        Self::target_word(self, word)
    }

    fn target_text(&self, id: u32) -> &str {
        Self::target_text(self, id)
    }

    fn target_words(&self) -> usize {
        Self::target_words(self)
    }

    fn longest_source(&self) -> usize {
        Self::longest_source(self)
    }

    fn root(&self) -> Node {
        Self::root(self)
    }

    fn child(&self, node: Node, symbol: u32) -> Option<Node> {
        Self::child(self, node, symbol)
    }

    fn goes_on(&self, node: Node) -> bool {
        Self::goes_on(self, node)
    }

    fn rules(&self, node: Node) -> Range<u32> {
        Self::rules(self, node)
    }

    fn target(&self, rule: u32) -> &[u32] {
        Self::target(self, rule)
    }

    fn links(&self, rule: u32) -> &[[u8; 2]] {
        Self::links(self, rule)
    }

    fn scores(&self, rule: u32) -> &[f32] {
        Self::scores(self, rule)
    }
}

//! Where words are in the text that they were cut from, for tokenisers that do not say.

use crate::batch::Spans;
use dragoman_base::words;

/// Characters that are looked at in each direction for a place where both texts agree again.
const REACH: usize = 48;
/// Characters that must agree there, unless the texts end before.
const SURE: usize = 3;

/// Adds to `spans` where the words of `tokenized` are in `plain`, in characters, and ends the line.
///
/// White space aside, both texts are the same characters in the same order, but for what a tokeniser writes otherwise:
/// there, the characters up to the next place where both agree belong together. A word that has no characters in the
/// plain text, such as a sign for a space, has an empty span.
pub fn follow(plain: &str, tokenized: &str, spans: &mut Spans) {
    let text: Vec<(usize, char)> = plain.chars().enumerate().filter(|(_, c)| !c.is_whitespace()).collect();
    let mut cut: Vec<char> = Vec::new();
    let mut ends = Vec::new();
    for word in words(tokenized) {
        cut.extend(word.chars().filter(|c| !c.is_whitespace()));
        ends.push(cut.len());
    }
    let places = places(&text, &cut);
    let (mut from, mut last) = (0, 0);
    for end in ends {
        let of_word = &places[from..end];
        let seen = || of_word.iter().filter(|(start, stop)| stop > start);
        let (start, stop) = match (seen().next(), seen().next_back()) {
            (Some(&(start, _)), Some(&(_, stop))) => (text[start].0, text[stop - 1].0 + 1),
            _ => (last, last),
        };
        spans.push(start, stop);
        (from, last) = (end, stop);
    }
    spans.end_line();
}

/// For each character of `cut` the characters of `text` that it is, by place: from, up to.
fn places(text: &[(usize, char)], cut: &[char]) -> Vec<(usize, usize)> {
    let mut places = Vec::with_capacity(cut.len());
    let mut at = 0;
    while places.len() < cut.len() {
        let here = places.len();
        if text.get(at).is_some_and(|&(_, c)| c == cut[here]) {
            places.push((at, at + 1));
            at += 1;
            continue;
        }
        let (skip, written) = agree_again(&text[at..], &cut[here..]);
        places.extend(std::iter::repeat_n((at, at + skip), written));
        at += skip;
    }
    places
}

/// How many characters of both are to be passed over until they agree: as few as possible, at least one in all; all if
/// they never do within reach.
fn agree_again(text: &[(usize, char)], cut: &[char]) -> (usize, usize) {
    let agrees = |skip: usize, written: usize| {
        let (text, cut) = (&text[skip..], &cut[written..]);
        let count = SURE.min(text.len()).min(cut.len());
        let both_end = text.is_empty() == cut.is_empty();
        both_end && text[..count].iter().map(|&(_, c)| c).eq(cut[..count].iter().copied())
    };
    for sum in 1..=2 * REACH {
        // Something was written: else the loop above would not end.
        for written in 1.max(sum.saturating_sub(text.len().min(REACH)))..=sum.min(cut.len()) {
            if agrees(sum - written, written) {
                return (sum - written, written);
            }
        }
        // What the tokeniser left out.
        if sum <= text.len() && agrees(sum, 0) && !cut.is_empty() {
            return (sum, 0);
        }
    }
    (text.len(), cut.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(plain: &str, tokenized: &str) -> Vec<(i64, i64)> {
        let mut spans = Spans::default();
        follow(plain, tokenized, &mut spans);
        assert_eq!(spans.lines, [0, spans.starts.len() as i64]);
        spans.starts.into_iter().zip(spans.ends).collect()
    }

    #[test]
    fn words_are_where_they_were_cut() {
        assert_eq!(spans("It's  é.", "It 's é ."), [(0, 2), (2, 4), (6, 7), (7, 8)]);
        assert_eq!(spans("a b", "a ▁ b"), [(0, 1), (1, 1), (2, 3)]);
        assert_eq!(spans("a|b c", "a &#124; b c"), [(0, 1), (1, 2), (2, 3), (4, 5)]);
        assert_eq!(spans("say \"yes\" now", "say `` yes '' now"), [(0, 3), (4, 5), (5, 8), (8, 9), (10, 13)]);
        assert_eq!(spans("a\u{1}b c", "ab c"), [(0, 3), (4, 5)]);
        assert_eq!(spans("", "x y"), [(0, 0), (0, 0)]);
        assert_eq!(spans("abc", "xy zzw"), [(0, 3), (0, 3)]);
        assert_eq!(spans("  ", ""), []);
    }

    proptest::proptest! {
        #[test]
        fn any_cut_is_followed(
            parts in proptest::collection::vec("[a-cé.]{1,4}", 0..8),
            gaps in proptest::collection::vec(0..3usize, 8),
        ) {
            let mut plain = String::new();
            let mut want = Vec::new();
            for (part, gap) in parts.iter().zip(&gaps) {
                plain.push_str(&" ".repeat(*gap));
                let from = plain.chars().count() as i64;
                plain.push_str(part);
                want.push((from, plain.chars().count() as i64));
            }
            proptest::prop_assert_eq!(spans(&plain, &parts.join(" ")), want);
        }

        #[test]
        fn any_two_texts_give_spans_in_order(plain in "\\PC{0,20}", tokenized in "\\PC{0,20}") {
            let found = spans(&plain, &tokenized);
            proptest::prop_assert_eq!(found.len(), words(&tokenized).count());
            let length = plain.chars().count() as i64;
            for &(from, to) in &found {
                proptest::prop_assert!(from <= to && to <= length);
            }
            for pair in found.windows(2) {
                proptest::prop_assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
            }
        }
    }
}

//! Golden lines are what sacreBLEU 2.6.0 makes of them; the machine is held against the regular expressions that
//! define the tokenisers, run one after the other.

use super::*;
use proptest::prelude::*;
use regex::Regex;

const V13A: [(&str, &str); 11] = [
    ("Hello, world! It's 3.5% of $1,000.00.", "Hello , world ! It's 3.5 % of $ 1,000.00 ."),
    ("a..5 5.. 1.,2 ..", "a . .5 5 . . 1 . , 2 . ."),
    ("1-2 a-b 3--4 5-", "1 - 2 a-b 3 - -4 5 -"),
    ("<skipped>x-\ny\nz -<skipped>\nw", "xy z w"),
    ("&amp;lt; &amp;quot; &quot;q&quot; &amp;amp; &lt;b&gt;", "< & quot ; \" q \" & amp ; < b >"),
    ("a\u{1c}b\u{85}c\u{3000}d\u{200b}e\u{a0}\u{2028}f", "a b c d\u{200b}e f"),
    ("“é.5” 5.é ٣.٣", "“é . 5” 5 . é ٣ . ٣"),
    ("", ""),
    ("  \t ", ""),
    ("'tis John's {x|y}~[z]^_`@", "'tis John's { x | y } ~ [ z ] ^ _ ` @"),
    ("5. .5 ,", "5 . . 5 ,"),
];

const ZH: [(&str, &str); 9] = [
    ("我爱NLP，3.5%！", "我 爱 NLP ， 3.5 % ！"),
    ("5.", "5."),
    ("5. ", "5."),
    (".5 a", ".5 a"),
    ("，.5", "， . 5"),
    ("“狗”—好…", "“ 狗 ” — 好 …"),
    ("𠀀字 a\u{3000}b", "𠀀 字 a b"),
    ("年12月3-4日&quot;<skipped>", "年 12 月 3 - 4 日 & quot ; < skipped >"),
    (" \u{1f}.a,b. \u{85}", ". a , b ."),
];

const INTL: [(&str, &str); 8] = [
    ("Hello, world! 3.5% (x) 1,000.", "Hello , world ! 3.5 % ( x ) 1,000."),
    ("5.", "5."),
    (".5", ".5"),
    ("a..5 ..", "a . .5 . ."),
    ("¿€5+x? «½,٣»", "¿ € 5 + x ? « ½,٣»"),
    ("a´b^2 c_d-e", "a ´ b ^ 2 c _ d - e"),
    ("۳٫۵ Ⅷ. ²,³ 1.x", "۳٫۵ Ⅷ . ²,³ 1 . x"),
    ("Ⓐ😀!\u{1c}z\u{3000}", "Ⓐ 😀 ! z"),
];

const CHAR: [(&str, &str); 4] =
    [("ab c", "a b   c"), ("é\u{301}中 \u{3000}x", "é \u{301} 中   \u{3000} x"), ("", ""), (" ", " ")];

const TERCOM: [(u8, &str, &str); 35] = [
    (0, "The dog's 3.5 \"Rules\", it's John's.", "the dog's 3.5 \"rules\", it's john's."),
    (0, "ΑΣ ΣΑΣ. İ", "ας σας. i̇"),
    (1, "The dog's 3.5 \"Rules\", it's John's.", "the dog 's 3.5 \" rules \" , it 's john's ."),
    (1, "A.B, (c)? d:e;f!", "a . b , ( c ) ? d : e ; f !"),
    (1, "a\n-b\nc &amp;lt; &quot;", "ab c < \""),
    (1, "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱", "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱"),
    (1, "'S 's's 's中 's\t's", "'s 's 's 's中 's 's"),
    (1, "5-6 5. .5 a..5", "5 - 6 5 . . 5 a . .5"),
    (1, "", ""),
    (1, "ΑΣ ΣΑΣ. İ", "ας σας . i̇"),
    (2, "The dog's 3.5 \"Rules\", it's John's.", "the dog's 35 rules it's john's"),
    (2, "A.B, (c)? d:e;f!", "ab c def"),
    (2, "5-6 5. .5 a..5", "5-6 5 5 a5"),
    (3, "The dog's 3.5 \"Rules\", it's John's.", "the dog 's 35 rules it 's john's"),
    (3, "A.B, (c)? d:e;f!", "a b c d e f"),
    (3, "a\n-b\nc &amp;lt; &quot;", "ab c <"),
    (3, "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱", "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱"),
    (3, "'S 's's 's中 's\t's", "'s 's 's 's中 's 's"),
    (3, "5-6 5. .5 a..5", "5 - 6 5 5 a 5"),
    (3, "", ""),
    (3, "ΑΣ ΣΑΣ. İ", "ας σας i̇"),
    (5, "The dog's 3.5 \"Rules\", it's John's.", "the dog 's 3.5 \" rules \" , it 's john's ."),
    (
        5,
        "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱",
        "日 本 語 、 テスト 。 中 文 ！ （ x ） 漢 字 かなカナ ㍻ ㈱",
    ),
    (5, "'S 's's 's中 's\t's", "'s 's 's 's 中 's 's"),
    (6, "The dog's 3.5 \"Rules\", it's John's.", "the dog's 35 rules it's john's"),
    (6, "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱", "日本語テスト中文x漢字かなカナ ㍻㈱"),
    (6, "'S 's's 's中 's\t's", "'s 's's 's中 's 's"),
    (7, "The dog's 3.5 \"Rules\", it's John's.", "the dog 's 35 rules it 's john's"),
    (7, "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱", "日 本 語 テスト 中 文 x 漢 字 かなカナ ㍻ ㈱"),
    (7, "'S 's's 's中 's\t's", "'s 's 's 's 中 's 's"),
    (8, "The dog's 3.5 \"Rules\", it's John's.", "The dog's 3.5 \"Rules\", it's John's."),
    (8, "ΑΣ ΣΑΣ. İ", "ΑΣ ΣΑΣ. İ"),
    (15, "The dog's 3.5 \"Rules\", it's John's.", "The dog 's 35 Rules it 's John's"),
    (15, "日本語、テスト。中文！（x）漢字かなカナ ㍻㈱", "日 本 語 テスト 中 文 x 漢 字 かなカナ ㍻ ㈱"),
    (15, "'S 's's 's中 's\t's", "'S 's 's 's 中 's 's"),
];

#[test]
fn golden_lines() {
    for (name, lines) in [("13a", &V13A[..]), ("zh", &ZH), ("intl", &INTL), ("char", &CHAR)] {
        let tokenizer = Tokenizer::parse(name).expect(name);
        for (line, want) in lines {
            assert_eq!(tokenizer.apply(line), *want, "{name}: {line:?}");
        }
    }
    for (switches, line, want) in TERCOM {
        assert_eq!(tercom(switches).apply(line), want, "{switches}: {line:?}");
    }
    assert_eq!(Tokenizer::parse("none"), Some(Tokenizer::None));
    assert_eq!(Tokenizer::parse("13b"), None);
    assert_eq!(Tokenizer::V13a.prepare("It's ÄÖ. \u{1c}\n", true), "it's äö .");
    assert_eq!(Tokenizer::None.prepare(" It's \u{85}", false), " It's");
}

/// Switches in the order of the fields, the lowest bit first.
fn tercom(switches: u8) -> Tercom {
    let on = |bit: u8| switches >> bit & 1 == 1;
    Tercom { normalized: on(0), no_punct: on(1), asian_support: on(2), case_sensitive: on(3) }
}

const WESTERN: [(&str, &str); 4] = [
    (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", " $1 "),
    (r"([^0-9])([\.,])", "$1 $2 "),
    (r"([\.,])([^0-9])", " $1 $2"),
    (r"([0-9])(-)", "$1 $2 "),
];

/// Each pattern in turn replaced everywhere, then white space reduced to single spaces.
fn passes(line: &str, patterns: &[(&str, &str)]) -> String {
    let mut line = line.to_owned();
    for (pattern, to) in patterns {
        line = Regex::new(pattern).unwrap().replace_all(&line, *to).into_owned();
    }
    split(&line).collect::<Vec<_>>().join(" ")
}

/// Lines of characters that the rules look at, as dense as they can be.
fn nasty() -> impl Strategy<Value = String> {
    "[ab.,'s0-9 \\-$%&;\\[~é“中，。…½€\u{85}\u{1c}\u{3000}\u{200b}]{0,14}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn western_is_its_passes(line in nasty()) {
        prop_assert_eq!(Tokenizer::V13a.apply(&line), passes(&format!(" {line} "), &WESTERN));
    }

    #[test]
    fn chinese_is_its_passes(line in nasty()) {
        let stripped = line.trim_matches(is_space);
        let apart: String = stripped.chars().map(|c| if "“中，。…€\u{200b}".contains(c) { format!(" {c} ") } else { c.into() }).collect();
        prop_assert_eq!(Tokenizer::Zh.apply(&line), passes(&apart, &WESTERN));
    }

    #[test]
    fn international_is_its_passes(line in nasty()) {
        let patterns = [(r"(\P{N})(\p{P})", "$1 $2 "), (r"(\p{P})(\P{N})", " $1 $2"), (r"(\p{S})", " $1 ")];
        prop_assert_eq!(Tokenizer::Intl.apply(&line), passes(&line, &patterns));
    }

    #[test]
    fn tercom_is_its_passes(line in nasty(), asian: bool) {
        let mut patterns = WESTERN.to_vec();
        patterns.insert(1, ("'s ", " 's "));
        if asian {
            patterns.push(("([中，。])", " $1 "));
        }
        let tokenizer = tercom(if asian { 0b1101 } else { 0b1001 });
        prop_assert_eq!(tokenizer.apply(&line), passes(&format!(" {line} "), &patterns));
    }

    #[test]
    fn tokenising_keeps_every_character(line in "\\PC{0,30}") {
        let bare = |text: &str| text.chars().filter(|&c| !is_space(c)).collect::<String>();
        for tokenizer in [Tokenizer::None, Tokenizer::Zh, Tokenizer::Intl, Tokenizer::Char] {
            prop_assert_eq!(bare(&tokenizer.apply(&line)), bare(&line));
        }
    }
}

//! What holds for every line: the way back is exact, spans are true, and nothing panics.

use dragoman_base::Texts;
use dragoman_tokenize::{JOIN, Lists, Moses, SPACE, Spans, Unicode, each, is_space};
use proptest::prelude::*;
use unicode_segmentation::GraphemeCursor;

const LANGUAGES: [&str; 13] = ["", "en", "de", "fr", "it", "ca", "nl", "ha", "sv", "fi", "ko", "zh", "cs"];

/// Pieces that rules look at; the random characters between them are of all kinds.
const PIECES: [&str; 96] = [
    " ",
    " ",
    " ",
    "\u{a0}",
    "\t",
    "\u{1f}",
    "\u{3000}",
    "a",
    "s",
    "S",
    "I",
    "it",
    "The",
    "Mr",
    "etc",
    "qu",
    "l",
    "po",
    "1",
    "23",
    "4",
    "'",
    "’",
    "'",
    "\"",
    "\"",
    "´",
    "＇",
    "‘",
    "“",
    "”",
    "„",
    "‚",
    "«",
    "»",
    "‹",
    "›",
    "`",
    "``",
    "''",
    ".",
    ".",
    "...",
    "…",
    ",",
    ";",
    ":",
    "!",
    "?",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "</",
    "/>",
    "<b>",
    "</b>",
    "<a href=\"x\"",
    "=",
    "-",
    "--",
    "–",
    "—",
    "/",
    "\\",
    "&",
    "&amp;",
    "&#124;",
    "|",
    "#",
    "@",
    "www.",
    "http://",
    "x.org",
    "$",
    "€",
    "%",
    "°C",
    "*",
    "+",
    "￭",
    "￮",
    "￬",
    "￬j",
    "語",
    "カ",
    "ก",
    "\u{301}",
    "\u{200d}",
    "👩",
    "🇩",
    "क्",
];

fn lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => prop::char::range('\u{300}', '\u{3000}').prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn normal(line: &str) -> String {
    line.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn there(unicode: Unicode, line: &str) -> (String, Spans) {
    let (mut out, mut spans) = (String::new(), Spans::default());
    unicode.tokenize(line, &mut out, Some(&mut spans));
    (out, spans)
}

fn back(unicode: Unicode, line: &str) -> (String, Spans) {
    let (mut out, mut spans) = (String::new(), Spans::default());
    unicode.detokenize(line, &mut out, Some(&mut spans));
    (out, spans)
}

/// The text of a word without marks.
fn bare(word: &str) -> String {
    let word = word.strip_prefix([JOIN, SPACE]).unwrap_or(word);
    let word = word.strip_suffix([JOIN, SPACE]).unwrap_or(word);
    word.replace("￬j", "￭").replace("￬s", "￮").replace("￬e", "￬")
}

/// The parts of a text that spans name, in characters.
fn slices(text: &str, spans: &Spans) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let spans = spans.starts.iter().zip(&spans.ends);
    spans.map(|(&from, &to)| chars[from as usize..to as usize].iter().collect()).collect()
}

fn is_cluster_end(line: &str, at: usize) -> bool {
    GraphemeCursor::new(at, line.len(), true).is_boundary(line, 0).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_way_back_is_exact(line in lines(), language in prop::sample::select(&LANGUAGES[..])) {
        let unicode = Unicode::new(language);
        let (words, spans) = there(unicode, &line);
        let (text, places) = back(unicode, &words);
        prop_assert_eq!(&text, &normal(&line), "{}", words);

        let list: Vec<&str> = words.split(' ').filter(|_| !words.is_empty()).collect();
        prop_assert!(list.iter().all(|word| !word.is_empty() && !word.contains(is_space)));
        // U+FFEC is escaped last, so that the slow version above reads it as the fast one does.
        if !line.contains('￬') {
            let bare: Vec<String> = list.iter().map(|word| bare(word)).collect();
            prop_assert_eq!(&slices(&line, &spans), &bare);
            prop_assert_eq!(&slices(&text, &places), &bare);
        }
        prop_assert_eq!(&spans.lines, &[0, list.len() as i64]);
        prop_assert_eq!(there(unicode, &text).0, words, "what came back is cut as before");
    }

    #[test]
    fn clusters_stay_whole(line in lines(), language in prop::sample::select(&LANGUAGES[..])) {
        let (_, spans) = there(Unicode::new(language), &line);
        let offsets: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
        for (&end, &next) in spans.ends.iter().zip(spans.starts.iter().skip(1)) {
            let at = offsets[end as usize];
            prop_assert!(end < next || at == 0 || line[at..].starts_with(is_space) || is_cluster_end(&line, at));
        }
    }

    #[test]
    fn anything_can_be_joined(line in lines(), language in prop::sample::select(&LANGUAGES[..])) {
        let (text, spans) = back(Unicode::new(language), &line);
        prop_assert!(!text.starts_with(' ') && !text.ends_with(' ') && !text.contains("  "));
        prop_assert_eq!(spans.starts.len(), line.split(is_space).filter(|word| !word.is_empty()).count());
        let lists = Lists { alnum: "aSsITheMr".into(), alpha: "aSs".into(), dense: vec![(0x3000, 0x9fff)], ..Lists::default() };
        let moses = Moses::new(language, &lists);
        let (mut words, mut joined) = (String::new(), String::new());
        moses.tokenize(&line, &mut words);
        moses.detokenize(&line, &mut joined);
        prop_assert!(words.is_empty() || words.split(' ').all(|word| !word.is_empty() && !word.contains(is_space)));
    }
}

#[test]
fn columns_are_lines_one_by_one() {
    let texts: Texts = (0..3000).map(|k| format!("Line {k}, it's \"{k}\".{}", "x ".repeat(k % 5))).collect();
    let unicode = Unicode::new("en");
    let (all, spans) = each(&texts, true, |line, out, spans| unicode.tokenize(line, out, spans));
    let spans = spans.unwrap();
    assert_eq!((all.len(), spans.lines.len()), (3000, 3001));
    for (index, (line, words)) in texts.iter().zip(all.iter()).enumerate() {
        let (want, one) = there(unicode, line);
        assert_eq!(words, want);
        let (from, to) = (spans.lines[index] as usize, spans.lines[index + 1] as usize);
        assert_eq!((&spans.starts[from..to], &spans.ends[from..to]), (&one.starts[..], &one.ends[..]));
    }
}

//! What depends on the language: apostrophes, abbreviations, ordinals, quotation marks, spaces before signs.
//!
//! The lists are our own, and short: a period also stays with its word by rule (see `cut`).

/// How apostrophes inside words are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apostrophe {
    /// Not at all: `ng'ombe`.
    Whole,
    /// Before the rest of a shortened word: `it 's`, `don 't`.
    English,
    /// After a shortened word of a list: `l' homme`, but `aujourd'hui`.
    Listed(&'static [&'static str]),
    /// After any shortened word: `dell' acqua`.
    Every,
}

/// The rules of a language.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a habit of its own
pub struct Language {
    /// Two letters where the language has them.
    pub code: &'static str,
    /// Apostrophes inside words.
    pub apostrophe: Apostrophe,
    /// Words, in small letters, that keep an apostrophe before them, as `'tis`, beside those of a letter rule.
    pub leading: Leading,
    /// Abbreviations in small letters without their period.
    pub abbreviations: &'static [&'static str],
    /// Those of them that end sentences often: the period stays there, too.
    pub last: &'static [&'static str],
    /// A number with a period is an ordinal: `3. Oktober`.
    pub ordinals: bool,
    /// A space comes before `%` and other signs after numbers.
    pub spaced_percent: bool,
    /// A space comes before `; : ! ?` and inside `« »`.
    pub french: bool,
    /// `»x«` is the usual form.
    pub inward: bool,
    /// `”x”` is the usual form.
    pub same: bool,
    /// `:` inside words, as in `EU:n`.
    pub colon: bool,
    /// Han characters are parts of words.
    pub han_words: bool,
    /// `*` and `:` before the ending of a word, as in `Lehrer*innen`.
    pub gender: bool,
}

/// Words that start with an apostrophe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leading {
    /// These.
    Listed(&'static [&'static str]),
    /// Every word: the apostrophe is a letter, as in Hausa.
    Every,
}

/// What English cuts off, without the apostrophe.
pub const CONTRACTIONS: [&str; 7] = ["s", "t", "m", "d", "ll", "re", "ve"];

const PLAIN: Language = Language {
    code: "",
    apostrophe: Apostrophe::Whole,
    leading: Leading::Listed(&[]),
    abbreviations: &["dr", "mr", "prof", "st", "no", "nr", "vol", "etc"],
    last: &["etc"],
    ordinals: false,
    spaced_percent: false,
    french: false,
    inward: false,
    same: false,
    colon: false,
    han_words: false,
    gender: false,
};

const ENGLISH: Language = Language {
    code: "en",
    apostrophe: Apostrophe::English,
    leading: Leading::Listed(&["tis", "twas", "twere", "twill", "em", "til", "till", "cause", "bout", "n"]),
    abbreviations: &[
        "mr", "mrs", "ms", "messrs", "dr", "prof", "rev", "hon", "st", "sr", "jr", "gen", "col", "maj",
        "capt", "lt", "sgt", "cpl", "gov", "sen", "rep", "pres", "supt", "insp", "jan", "feb", "mar", "apr",
        "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec", "mt", "ft", "ave", "blvd", "rd", "inc",
        "ltd", "corp", "co", "bros", "etc", "vs", "viz", "cf", "al", "ed", "eds", "vol", "vols", "no", "nos",
        "pp", "fig", "figs", "art", "arts", "par", "para", "sec", "ch", "approx", "dept", "est", "ext",
        "tel", "univ", "assn", "adm", "cmdr", "fr",
    ],
    last: &["etc", "inc", "ltd", "corp", "jr", "sr", "al"],
    ..PLAIN
};

const GERMAN: Language = Language {
    code: "de",
    abbreviations: &[
        "dr", "prof", "hr", "fr", "frl", "st", "nr", "abs", "art", "ziff", "kap", "anm", "aufl", "bd", "bde",
        "hrsg", "jg", "jh", "jan", "feb", "febr", "mär", "apr", "jun", "jul", "aug", "sep", "sept", "okt",
        "nov", "dez", "ca", "bzw", "bspw", "evtl", "ggf", "inkl", "exkl", "mind", "mio", "mrd", "usw", "etc",
        "ff", "vgl", "sog", "geb", "gest", "dipl", "ing", "mag", "med", "phil", "str", "tel", "tsd", "zz",
        "zzgl", "abzgl", "allg", "betr", "bzgl", "einschl", "entspr", "gem", "gez", "lt", "österr", "rd",
        "ugs", "urspr", "verh", "zt",
    ],
    last: &["usw", "etc", "ff"],
    ordinals: true,
    spaced_percent: true,
    inward: true,
    gender: true,
    ..PLAIN
};

const FRENCH: Language = Language {
    code: "fr",
    apostrophe: Apostrophe::Listed(&[
        "l", "d", "j", "m", "t", "s", "c", "ç", "n", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "quelqu",
        "presqu",
    ]),
    abbreviations: &[
        "mm", "mme", "mmes", "mlle", "mlles", "dr", "pr", "prof", "me", "mgr", "st", "ste", "art", "av",
        "bd", "boul", "cf", "chap", "col", "env", "etc", "ex", "éd", "fig", "hab", "janv", "févr", "avr",
        "juil", "sept", "oct", "nov", "déc", "no", "nos", "p", "pp", "par", "réf", "tél", "vol", "vs", "al",
    ],
    last: &["etc", "al"],
    spaced_percent: true,
    french: true,
    ..PLAIN
};

const SPANISH: Language = Language {
    code: "es",
    abbreviations: &[
        "sr", "sra", "srta", "sres", "dr", "dra", "prof", "lic", "ing", "d", "dña", "ud", "uds", "vd", "vds",
        "art", "arts", "av", "avda", "c", "cap", "cía", "ej", "etc", "fig", "gral", "núm", "n", "pág",
        "págs", "pp", "prov", "sta", "sto", "tel", "tfno", "vol", "ene", "feb", "abr", "jun", "jul", "ago",
        "sept", "oct", "nov", "dic",
    ],
    last: &["etc"],
    ..PLAIN
};

const ITALIAN: Language = Language {
    code: "it",
    apostrophe: Apostrophe::Every,
    abbreviations: &[
        "sig", "sigg", "sigra", "dott", "dr", "prof", "avv", "ing", "on", "rev", "mons", "art", "artt",
        "cap", "cfr", "ecc", "etc", "es", "fig", "gen", "n", "nn", "num", "pag", "pagg", "pp", "p", "tel",
        "vol", "voll", "feb", "apr", "giu", "lug", "ago", "sett", "ott", "nov", "dic", "ss",
    ],
    last: &["ecc", "etc"],
    ..PLAIN
};

const PORTUGUESE: Language = Language {
    code: "pt",
    abbreviations: &[
        "sr", "sra", "srs", "srta", "dr", "dra", "drs", "prof", "profa", "eng", "exmo", "exma", "art",
        "arts", "av", "cap", "cf", "cia", "etc", "ex", "fig", "gen", "ltda", "n", "núm", "pág", "págs", "pp",
        "p", "sto", "sta", "tel", "vol", "jan", "fev", "abr", "jun", "jul", "ago", "set", "out", "nov",
        "dez",
    ],
    last: &["etc", "ltda"],
    ..PLAIN
};

const DUTCH: Language = Language {
    code: "nl",
    leading: Leading::Listed(&["s", "t", "n", "m", "k", "r", "ns", "er"]),
    abbreviations: &[
        "dhr", "mevr", "mw", "dr", "drs", "prof", "ir", "ing", "mr", "st", "art", "afb", "bijv", "bv", "blz",
        "ca", "enz", "etc", "evt", "fig", "hfst", "incl", "excl", "jl", "mln", "mld", "nl", "nr", "nrs",
        "pag", "resp", "tel", "vgl", "jan", "feb", "mrt", "apr", "jun", "jul", "aug", "sept", "okt", "nov",
        "dec",
    ],
    last: &["enz", "etc"],
    ..PLAIN
};

const RUSSIAN: Language = Language {
    code: "ru",
    abbreviations: &[
        "г", "гг", "в", "вв", "ул", "д", "кв", "стр", "с", "ст", "п", "пп", "т", "тт", "тыс", "млн", "млрд",
        "трлн", "руб", "коп", "проф", "акад", "доц", "им", "др", "пр", "см", "ср", "рис", "табл", "гл",
        "изд", "ред", "обл", "р", "оз", "тел", "чел", "янв", "февр", "апр", "авг", "сент", "окт", "нояб",
        "дек",
    ],
    last: &["др", "пр", "г", "гг", "руб"],
    ..PLAIN
};

const CZECH: Language = Language {
    code: "cs",
    abbreviations: &[
        "p", "pí", "sl", "dr", "mudr", "judr", "rndr", "phdr", "ing", "mgr", "bc", "prof", "doc", "csc",
        "sv", "č", "čís", "čl", "odst", "písm", "s", "str", "tj", "tzv", "tzn", "např", "apod", "atd", "aj",
        "cca", "mj", "mil", "mld", "tis", "hl", "kpt", "gen", "nám", "ul", "ev", "obr", "tab", "tel", "popř",
        "resp", "event", "srov", "stol", "kč",
    ],
    last: &["apod", "atd", "aj"],
    ordinals: true,
    spaced_percent: true,
    ..PLAIN
};

const POLISH: Language = Language {
    code: "pl",
    abbreviations: &[
        "p", "dr", "prof", "mgr", "inż", "doc", "hab", "ks", "św", "gen", "płk", "mjr", "kpt", "art", "ust",
        "pkt", "lit", "nr", "str", "s", "ss", "ul", "al", "pl", "os", "m", "np", "tj", "tzn", "tzw", "itd",
        "itp", "ok", "r", "w", "godz", "min", "tys", "mln", "mld", "zł", "gr", "im", "red", "wg", "zob",
        "por", "tel",
    ],
    last: &["itd", "itp", "r"],
    ordinals: true,
    ..PLAIN
};

const SWAHILI: Language = Language {
    code: "sw",
    abbreviations: &["bw", "bi", "dk", "prof", "mh", "mhe", "nk", "mt", "st", "sh"],
    last: &["nk"],
    ..PLAIN
};

const CATALAN: Language = Language {
    code: "ca",
    apostrophe: Apostrophe::Listed(&["l", "d", "s", "m", "t", "n"]),
    abbreviations: &[
        "sr", "sra", "dr", "dra", "prof", "art", "av", "cap", "etc", "núm", "pàg", "pàgs", "vol", "st",
    ],
    ..PLAIN
};

const SWEDISH: Language = Language {
    code: "sv",
    abbreviations: &[
        "dr", "prof", "nr", "kl", "ca", "bl", "dvs", "osv", "etc", "jfr", "resp", "st", "tel", "kap",
    ],
    last: &["osv", "etc"],
    spaced_percent: true,
    same: true,
    colon: true,
    ..PLAIN
};

const FINNISH: Language = Language {
    code: "fi",
    abbreviations: &[
        "esim", "jne", "klo", "ks", "mm", "mt", "ns", "nro", "prof", "s", "tri", "ts", "vrt", "ym", "yms",
    ],
    last: &["jne", "ym", "yms"],
    ordinals: true,
    ..SWEDISH
};

const HAUSA: Language = Language { code: "ha", leading: Leading::Every, ..PLAIN };

/// Languages that differ from [`PLAIN`] in a thing or two.
const OTHERS: [Language; 19] = [
    ordinal("da", true, false),
    ordinal("nb", true, false),
    ordinal("no", true, false),
    ordinal("nn", true, false),
    ordinal("is", false, false),
    ordinal("hu", false, true),
    ordinal("et", false, false),
    ordinal("lv", false, false),
    ordinal("sk", true, false),
    ordinal("sl", true, true),
    ordinal("hr", false, true),
    ordinal("sr", false, true),
    ordinal("bs", false, true),
    ordinal("tr", false, false),
    Language { code: "ko", han_words: true, ..PLAIN },
    Language { code: "oc", ..CATALAN },
    Language { code: "scn", ..ITALIAN },
    Language { code: "co", ..ITALIAN },
    Language { code: "so", leading: Leading::Every, ..PLAIN },
];

/// A language with ordinals in digits and a period.
const fn ordinal(code: &'static str, spaced_percent: bool, inward: bool) -> Language {
    Language { code, ordinals: true, spaced_percent, inward, ..PLAIN }
}

const KNOWN: [Language; 15] = [
    ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, RUSSIAN, CZECH, POLISH, SWAHILI, CATALAN,
    SWEDISH, FINNISH, HAUSA,
];

/// Codes of three letters, of ISO 639-2 and 639-3, for those of two.
const LONG: [(&str, &str); 44] = [
    ("eng", "en"),
    ("deu", "de"),
    ("ger", "de"),
    ("fra", "fr"),
    ("fre", "fr"),
    ("spa", "es"),
    ("ita", "it"),
    ("por", "pt"),
    ("nld", "nl"),
    ("dut", "nl"),
    ("rus", "ru"),
    ("ces", "cs"),
    ("cze", "cs"),
    ("pol", "pl"),
    ("swa", "sw"),
    ("swh", "sw"),
    ("cat", "ca"),
    ("swe", "sv"),
    ("fin", "fi"),
    ("hau", "ha"),
    ("dan", "da"),
    ("nob", "nb"),
    ("nor", "no"),
    ("nno", "nn"),
    ("isl", "is"),
    ("ice", "is"),
    ("hun", "hu"),
    ("est", "et"),
    ("ekk", "et"),
    ("lav", "lv"),
    ("lvs", "lv"),
    ("slk", "sk"),
    ("slo", "sk"),
    ("slv", "sl"),
    ("hrv", "hr"),
    ("srp", "sr"),
    ("bos", "bs"),
    ("tur", "tr"),
    ("kor", "ko"),
    ("oci", "oc"),
    ("cos", "co"),
    ("som", "so"),
    ("glg", "gl"),
    ("ron", "ro"),
];

impl Language {
    /// The rules for a code such as `de`, `deu`, `de-AT` or `de_AT`; those for no language in particular otherwise.
    pub fn of(code: &str) -> Self {
        let code = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let code = LONG.iter().find(|(long, _)| *long == code).map_or(code.as_str(), |(_, short)| short);
        KNOWN.iter().chain(&OTHERS).find(|language| language.code == code).copied().unwrap_or(PLAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_as_people_write_them() {
        for code in ["de", "deu", "ger", "de-AT", "de_CH", "DE"] {
            assert_eq!(Language::of(code).code, "de", "{code}");
        }
        assert_eq!(Language::of("swh").code, "sw");
        assert_eq!(Language::of("xx").code, "");
        assert_eq!(Language::of("").code, "");
    }
}

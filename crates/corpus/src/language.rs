//! Which language a code means: `sn`, `sna`, `sn-ZW` and `SN_zw` are all Shona.
//!
//! The table of ISO 639 is our own, since 183 rows of a standard that hardly changes are no reason for a dependency. Names of
//! languages and rarer codes are not needed: codes of three letters that have no short form stand for themselves.

/// ISO 639-1 codes, each with its 639-2/T (= 639-3) code and, where that is another, its 639-2/B code.
const CODES: &str = "\
    aa aar,ab abk,ae ave,af afr,ak aka,am amh,an arg,ar ara,as asm,av ava,ay aym,az aze,ba bak,be bel, \
    bg bul,bi bis,bm bam,bn ben,bo bod tib,br bre,bs bos,ca cat,ce che,ch cha,co cos,cr cre,cs ces cze, \
    cu chu,cv chv,cy cym wel,da dan,de deu ger,dv div,dz dzo,ee ewe,el ell gre,en eng,eo epo,es spa, \
    et est,eu eus baq,fa fas per,ff ful,fi fin,fj fij,fo fao,fr fra fre,fy fry,ga gle,gd gla,gl glg, \
    gn grn,gu guj,gv glv,ha hau,he heb,hi hin,ho hmo,hr hrv,ht hat,hu hun,hy hye arm,hz her,ia ina, \
    id ind,ie ile,ig ibo,ii iii,ik ipk,io ido,is isl ice,it ita,iu iku,ja jpn,jv jav,ka kat geo,kg kon, \
    ki kik,kj kua,kk kaz,kl kal,km khm,kn kan,ko kor,kr kau,ks kas,ku kur,kv kom,kw cor,ky kir,la lat, \
    lb ltz,lg lug,li lim,ln lin,lo lao,lt lit,lu lub,lv lav,mg mlg,mh mah,mi mri mao,mk mkd mac,ml mal, \
    mn mon,mr mar,ms msa may,mt mlt,my mya bur,na nau,nb nob,nd nde,ne nep,ng ndo,nl nld dut,nn nno, \
    no nor,nr nbl,nv nav,ny nya,oc oci,oj oji,om orm,or ori,os oss,pa pan,pi pli,pl pol,ps pus,pt por, \
    qu que,rm roh,rn run,ro ron rum,ru rus,rw kin,sa san,sc srd,sd snd,se sme,sg sag,si sin,sk slk slo, \
    sl slv,sm smo,sn sna,so som,sq sqi alb,sr srp,ss ssw,st sot,su sun,sv swe,sw swa,ta tam,te tel, \
    tg tgk,th tha,ti tir,tk tuk,tl tgl,tn tsn,to ton,tr tur,ts tso,tt tat,tw twi,ty tah,ug uig,uk ukr, \
    ur urd,uz uzb,ve ven,vi vie,vo vol,wa wln,wo wol,xh xho,yi yid,yo yor,za zha,zh zho chi,zu zul";

/// Codes that are no longer in use, and those of the usual variety of a language that is known by a short code.
const SAME: [(&str, &str); 37] = [
    ("iw", "he"),
    ("in", "id"),
    ("ji", "yi"),
    ("jw", "jv"),
    ("mo", "ro"),
    ("mol", "ro"),
    ("nb", "no"),
    ("nob", "no"),
    ("fil", "tl"),
    ("als", "sq"),
    ("arb", "ar"),
    ("ayr", "ay"),
    ("azj", "az"),
    ("cmn", "zh"),
    ("ekk", "et"),
    ("gug", "gn"),
    ("gaz", "om"),
    ("ike", "iu"),
    ("khk", "mn"),
    ("kmr", "ku"),
    ("lvs", "lv"),
    ("npi", "ne"),
    ("ory", "or"),
    ("pbt", "ps"),
    ("pes", "fa"),
    ("plt", "mg"),
    ("pnb", "pa"),
    ("quz", "qu"),
    ("swh", "sw"),
    ("tlg", "tl"),
    ("twi", "ak"),
    ("tw", "ak"),
    ("uzn", "uz"),
    ("ydd", "yi"),
    ("zlm", "ms"),
    ("zsm", "ms"),
    ("zyb", "za"),
];

/// A language code that was taken apart: the language, in its shortest form, and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The language in small letters: `sn`.
    pub language: String,
    /// Script, region and variants in small letters: `zw`.
    pub rest: Vec<String>,
}

impl Tag {
    /// Takes a code apart.
    pub fn parse(code: &str) -> Self {
        let code = code.trim().to_lowercase();
        let mut parts = code.split(['-', '_']);
        let language = short(parts.next().unwrap_or_default()).to_owned();
        Self { language, rest: parts.filter(|part| !part.is_empty()).map(str::to_owned).collect() }
    }

    /// Whether the table has the language.
    pub fn is_known(&self) -> bool {
        self.language.len() == 2 && CODES.split(',').any(|row| row.trim().starts_with(&self.language))
    }

    /// Whether text in `found` is what was asked for, and how well: 2 if `found` has all that was asked for and this is
    /// more than the language, 1 if it does not contradict it, 0 if it is something else.
    ///
    /// `en` asks for any English, `en-GB` for British English or for what is only called English.
    pub fn fit(&self, found: &Self) -> usize {
        if self.language != found.language {
            return 0;
        }
        let same = self.rest.iter().filter(|part| found.rest.contains(part)).count();
        // Two parts of the same kind have the same length: scripts have 4 letters, regions 2 letters or 3 digits.
        let against =
            |part: &&String| !found.rest.contains(part) && found.rest.iter().any(|o| kind(o) == kind(part));
        if self.rest.iter().any(|part| against(&part)) {
            return 0;
        }
        if !self.rest.is_empty() && same == self.rest.len() { 2 } else { 1 }
    }
}

/// The kind of a part of a code: script, region, or anything else.
fn kind(part: &str) -> u8 {
    match (part.len(), part.bytes().all(|b| b.is_ascii_digit())) {
        (4, false) => 0,
        (2, false) | (3, true) => 1,
        _ => 2,
    }
}

/// The shortest code of a language: `sn` for `sna`; what the table does not have stays as it is.
fn short(code: &str) -> &str {
    let listed = || CODES.split(',').map(str::trim).find(|row| row.split(' ').any(|item| item == code));
    if let Some((_, same)) = SAME.iter().find(|(old, _)| *old == code) {
        return same;
    }
    listed().and_then(|row| row.split(' ').next()).unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(asked: &str, found: &str) -> usize {
        Tag::parse(asked).fit(&Tag::parse(found))
    }

    #[test]
    fn known() {
        for code in ["de", "deu", "GER", "de-AT", "swh", "sn_ZW", "iw", "zh"] {
            assert!(Tag::parse(code).is_known(), "{code}");
        }
        for code in ["", "d", "gz", "txt", "src", "xx", "tok", "train", "a,", "ara,as"] {
            assert!(!Tag::parse(code).is_known(), "{code}");
        }
    }

    #[test]
    fn codes_mean_the_same_language() {
        for code in ["sn", "sna", "SN", "sn-ZW", "sn_ZW", "sna-Latn-ZW", " sn "] {
            assert_eq!(Tag::parse(code).language, "sn", "{code}");
        }
        for (code, want) in
            [("ger", "de"), ("deu", "de"), ("cze", "cs"), ("zho", "zh"), ("zul", "zu"), ("aar", "aa")]
        {
            assert_eq!(Tag::parse(code).language, want);
        }
        assert_eq!(Tag::parse("nob").language, Tag::parse("no").language);
        assert_eq!(Tag::parse("swh-TZ"), Tag { language: "sw".to_owned(), rest: vec!["tz".to_owned()] });
        assert_eq!(Tag::parse("gsw").language, "gsw");
        assert_eq!(CODES.split(',').count(), 183);
    }

    #[test]
    fn regions_that_are_asked_for_count() {
        assert_eq!(fit("de", "de-AT"), 1);
        assert_eq!(fit("de-AT", "de"), 1);
        assert_eq!(fit("de-AT", "deu_at"), 2);
        assert_eq!(fit("pt-BR", "pt-PT"), 0);
        assert_eq!(fit("zh-Hant", "zh-TW"), 1);
        assert_eq!(fit("zh-Hant", "zh-Hans-TW"), 0);
        assert_eq!(fit("de", "den"), 0);
        assert_eq!(fit("en", "de"), 0);
    }
}

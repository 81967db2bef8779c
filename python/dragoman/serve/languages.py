"""What languages are called in English."""

from __future__ import annotations

from dragoman._core import language_code

__all__ = ["name_of"]

_NAMES = dict(
    pair.split(":")
    for pair in (
        "af:Afrikaans am:Amharic ar:Arabic az:Azerbaijani be:Belarusian bg:Bulgarian bn:Bengali bs:Bosnian ca:Catalan "
        "cs:Czech cy:Welsh da:Danish de:German el:Greek en:English eo:Esperanto es:Spanish et:Estonian eu:Basque "
        "fa:Persian fi:Finnish fr:French ga:Irish gl:Galician gu:Gujarati ha:Hausa he:Hebrew hi:Hindi hr:Croatian "
        "ht:Haitian hu:Hungarian hy:Armenian id:Indonesian ig:Igbo is:Icelandic it:Italian ja:Japanese jv:Javanese "
        "ka:Georgian kk:Kazakh km:Khmer kn:Kannada ko:Korean ku:Kurdish ky:Kyrgyz la:Latin lb:Luxembourgish "
        "lo:Lao lt:Lithuanian lv:Latvian mg:Malagasy mi:Maori mk:Macedonian ml:Malayalam mn:Mongolian mr:Marathi "
        "ms:Malay mt:Maltese my:Burmese ne:Nepali nl:Dutch no:Norwegian nb:Norwegian nn:Nynorsk ny:Chichewa om:Oromo "
        "pa:Punjabi pl:Polish ps:Pashto pt:Portuguese qu:Quechua ro:Romanian ru:Russian rw:Kinyarwanda sd:Sindhi "
        "si:Sinhala sk:Slovak sl:Slovenian sn:Shona so:Somali sq:Albanian sr:Serbian st:Sotho su:Sundanese "
        "sv:Swedish sw:Swahili ta:Tamil te:Telugu tg:Tajik th:Thai ti:Tigrinya tk:Turkmen tl:Tagalog tn:Tswana "
        "tr:Turkish tt:Tatar ug:Uyghur uk:Ukrainian ur:Urdu uz:Uzbek vi:Vietnamese wo:Wolof xh:Xhosa yi:Yiddish "
        "yo:Yoruba zh:Chinese zu:Zulu"
    ).split()
)


def name_of(code: str) -> str:
    """The name of a language; the code, if it is not known."""
    return _NAMES.get(language_code(code) or code, code)

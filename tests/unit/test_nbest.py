from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dragoman import nbest
from dragoman.errors import InputError, OptionError
from dragoman.types import Candidates, Features, Names, Texts

MOSES = """\
0 ||| a house ||| LM= -3.5 TM= -1 0 -4 wp_a=b=1 ||| -7.25 ||| 0-0 1-1
0 ||| a home ||| LM= -4 TM= 0 0 1e-05 ||| -8 ||| 0-0
2 |||  ||| LM= 0 TM= 1 2 3 wp_x=0.5 ||| 1 ||| \n"""


def listing(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def put(folder: Path, text: str | bytes, name: str = "list") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def build(
    ids: list[str],
    starts: list[int],
    texts: list[str],
    rows: list[dict[str, float]],
    dense: tuple[str, ...] = (),
) -> Candidates:
    names = Names(list(dense), dense=True)
    columns = [names.intern(name) for row in rows for name in row]
    values = [value for row in rows for value in row.values()]
    row_starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    features = Features(names, row_starts, np.array(columns, dtype=np.uint32), np.array(values, dtype=np.float64))
    return Candidates(Texts(ids), np.array(starts, dtype=np.int64), Texts(texts), features)


def test_moses_in_columns(tmp_path: Path) -> None:
    c = nbest.read(put(tmp_path, MOSES))
    assert c.ids.to_list() == ["0", "2"]
    assert c.starts.tolist() == [0, 2, 3]
    assert c.texts.to_list() == ["a house", "a home", ""]
    assert c.features.row(0) == {"LM": -3.5, "TM[0]": -1, "TM[1]": 0, "TM[2]": -4, "wp_a=b": 1}
    names = c.features.names
    assert [n for n in names.to_list() if names.is_dense(n)] == ["LM", "TM[0]", "TM[1]", "TM[2]"]
    assert c.totals is not None
    assert c.totals.tolist() == [-7.25, -8, 1]
    assert c.alignments is not None
    assert c.alignments.to_list() == ["0-0 1-1", "0-0", ""]
    assert c.extra is None
    assert c.scores == {}


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_old_dialect_and_blanks(tmp_path: Path, blank: str) -> None:
    line = f"7{blank}||| \t a  b\u00a0 |||{blank or ' '}lm: 1 2 w: -3   |||  -4  \r\n"
    c = nbest.read(put(tmp_path, line))
    assert (c.ids[0], c.texts[0]) == ("7", "a  b\u00a0"), "only outer blanks go, and only plain ones"
    assert c.features.row(0) == {"lm[0]": 1, "lm[1]": 2, "w": -3}


def test_unnamed_numbers_and_missing_columns(tmp_path: Path) -> None:
    c = nbest.read(put(tmp_path, "0 ||| a ||| 1 2\n0 ||| b ||| 3 4 x=5 ||| \n1 ||| c ||| 5 6 ||| 7\n"))
    assert c.features.row(1) == {"F[0]": 3, "F[1]": 4, "x": 5}
    assert c.totals is not None
    np.testing.assert_array_equal(c.totals, [np.nan, np.nan, 7])
    assert nbest.read(put(tmp_path, "0 ||| a |||\n")).totals is None


def test_bars_inside_a_text_are_words(tmp_path: Path) -> None:
    c = nbest.read(put(tmp_path, "0 ||| a|||b |||| | || c||| ||| x=1\n"))
    assert c.texts[0] == "a|||b |||| | || c|||"


@pytest.mark.parametrize(
    ("columns", "alignment", "extra"),
    [
        ("0-0 12-3", "0-0 12-3", None),
        ("0-1=0-2 2=3 4-5=6", "0-1=0-2 2=3 4-5=6", None),
        ("", "", None),
        ("0.25", None, "0.25"),
        ("0-0 x", None, "0-0 x"),
        ("3", None, "3"),
        ("a ||| 0-0", None, "a ||| 0-0"),
        ("0-0 ||| a  |||  b c", "0-0", "a  |||  b c"),
        (" ||| a", "", "a"),
    ],
)
def test_further_columns(tmp_path: Path, columns: str, alignment: str | None, extra: str | None) -> None:
    c = nbest.read(put(tmp_path, f"0 ||| a ||| x=1 ||| 2 ||| {columns}\n"))
    assert (None if c.alignments is None else c.alignments[0]) == alignment
    assert (None if c.extra is None else c.extra[0]) == extra
    again = tmp_path / "again"
    nbest.write(again, c)
    assert again.read_text() == f"0 ||| a ||| x=1 ||| 2 ||| {columns}\n"


def test_cdec_and_travatar(tmp_path: Path) -> None:
    row = {"LM": -1.0, "TM": 2.0}
    for line in ("LM=-1 TM=2 ||| 3", "LM=-1;TM=2 ||| 3", "LM=-1; TM=2; ||| 3"):
        c = nbest.read(put(tmp_path, f"0 ||| a ||| {line}\n"), "cdec")
        assert c.features.row(0) == row
        assert not c.features.names.is_dense("LM")
    assert nbest.read(put(tmp_path, "0 ||| a ||| LM=-1;TM=2 ||| 3\n")).features.row(0) == row
    c = nbest.read(put(tmp_path, "0 ||| a ||| 3 ||| LM=-1 TM=2 ||| 0-0\n"))
    assert c.features.row(0) == row
    assert c.totals is not None
    assert c.totals[0] == 3
    assert c.alignments is not None
    assert c.alignments[0] == "0-0"


def test_jsonl(tmp_path: Path) -> None:
    lines = (
        r'{"id": "x", "text": " \u00e9\ud83d\ude00\n", '
        '"features": {"LM": 1, "TM": [2, 3]}, "sparse": {"a b": 1}}'
        '\n{"text": "", "scores": {"COMET": 0.5}, "id": "x", "extra": "e"}\n'
        '{"id": "a", "text": "z", "total": 1E2}\n'
    )
    c = nbest.read(put(tmp_path, lines))
    assert c.ids.to_list() == ["x", "a"]
    assert c.texts.to_list() == [" é😀\n", "", "z"]
    assert c.features.row(0) == {"LM": 1, "TM[0]": 2, "TM[1]": 3, "a b": 1}
    assert c.features.names.is_dense("TM[1]")
    assert not c.features.names.is_dense("a b")
    np.testing.assert_array_equal(c.scores["COMET"], [np.nan, 0.5, np.nan])
    assert c.totals is not None
    np.testing.assert_array_equal(c.totals, [np.nan, np.nan, 100])
    assert c.extra is not None
    assert c.extra.to_list() == ["", "e", ""]
    assert c.alignments is None


GOOD = "0 ||| a ||| LM= 1 TM= 1 2 x=1 ||| 3\n"
FIRST = '{"id": 7, "text": "a"}\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "expected at least one candidate, found an empty file"),
        ("\n", 1, "expected a candidate, found a blank line"),
        (GOOD + " \t\n" + GOOD, 2, "expected a candidate, found a blank line"),
        (GOOD + "\n", 2, "expected a candidate, found a blank line"),
        ("hello\n", 1, "expected a sentence number and `|||`, found `hello`"),
        ("-1 ||| a ||| x=1\n", 1, "expected a sentence number and `|||`, found `-1"),
        ("99999999999999999999 ||| a ||| x=1\n", 1, "a sentence number"),
        ("0 |||a ||| x=1\n", 1, "a sentence number"),
        ("0 ||| a\n", 1, "expected the columns `id ||| text ||| features`, found `0 ||| a`"),
        ("7 ||| a ||| x=1\n3 ||| b ||| x=1\n", 2, "an id above 7 (lists are sorted by sentence), found `3`"),
        ("0 ||| a |||\n1 ||| a |||\n0 ||| a |||\n", 3, "expected an id above 1"),
        (
            GOOD + "0 ||| a ||| LM= nan TM= 1 2\n",
            2,
            "a finite number, `name= value` or `name=value`, found `nan`",
        ),
        (GOOD + "0 ||| a ||| LM= 1 TM= 1 inf\n", 2, "found `inf`"),
        (GOOD + "0 ||| a ||| LM= 1 TM= 1 2 x=nan\n", 2, "expected a finite number for `x`, found `nan`"),
        ("0 ||| a ||| x=1e999\n", 1, "expected a finite number for `x`, found `1e999`"),
        ("0 ||| a ||| x=1.2.3\n", 1, "expected a finite number for `x`, found `1.2.3`"),
        ("0 ||| a ||| LM= TM= 1\n", 1, "expected a finite number for `LM`, found none"),
        ("0 ||| a ||| LM=\n", 1, "expected a finite number for `LM`, found none"),
        ("0 ||| a ||| x=1 5\n", 1, "found `5`"),
        ("0 ||| a ||| 1 2 what\n", 1, "found `what`"),
        ("0 ||| a ||| x=1 ||| nan\n", 1, "expected a finite number as total, found `nan`"),
        ("0 ||| a ||| x=1 ||| one\n", 1, "expected a finite number as total, found `one`"),
        ("0 ||| a ||| =1\n", 1, "expected a feature name before `=`, found none"),
        ("0 ||| a ||| = 1\n", 1, "expected a feature name before `=`, found none"),
        ("0 ||| a ||| x=1 x=2\n", 1, "expected each feature once, found `x`"),
        ("0 ||| a ||| LM= 1 LM= 2\n", 1, "expected each feature once, found `LM`"),
        (
            GOOD + "0 ||| a ||| LM= 1 TM= 1 2 3\n",
            2,
            "expected 2 values of `TM`, as on earlier lines, found 3",
        ),
        (GOOD + "0 ||| a ||| LM= 1 2\n", 2, "expected 1 values of `LM`, as on earlier lines, found 2"),
        ("0 ||| a ||| TM[1]= 1\n", 1, "expected a dense feature without an index"),
        ("[1]\n", 1, "a sentence number"),
        ("{}\n", 1, "expected the key `id`, found `{}`"),
        ('{"id": 0}\n', 1, "expected the key `text`"),
        ('{"id": 0, "text": "a"\n', 1, "expected `,` or `}`, found the end of the line"),
        ('{"id": 0, "text": "a"} x\n', 1, "expected the end of the line after `}`, found `x`"),
        ('{"id": 0, "text": "a",}\n', 1, "expected a name in double quotes, found `}`"),
        ('{"id": 0, "text": "a\n', 1, "at the end of a string"),
        ('{"id": 0, "text": "a\\x"}\n', 1, "expected an escape"),
        ('{"id": 0, "text": "\\ud83d"}\n', 1, "surrogate pair"),
        ('{"id": 0, "text": "a\tb"}\n', 1, "control characters"),
        ('{"id": 0, "text": null}\n', 1, "expected the text in double quotes, found `null}`"),
        ('{"id": 0, "txt": "a"}\n', 1, "found `txt` (did you mean `text`?)"),
        (
            '{"id": 0, "text": "a", "feature": {}}\n',
            1,
            "or a column of your own, found `feature` (did you mean `features`?)",
        ),
        ('{"id": 0, "text": "a", "text": "b"}\n', 1, "expected each key once, found `text`"),
        ('{"id": 0, "text": "a", "sparse": {"x": 1, "x": 2}}\n', 1, "expected each feature once, found `x`"),
        ('{"id": 0, "text": "a", "features": {"x": 1}, "sparse": {"x": 2}}\n', 1, "each feature once"),
        ('{"id": 0, "text": "a", "scores": {"x": 1, "x": 2}}\n', 1, "expected each score once, found `x`"),
        ('{"id": 0, "text": "a", "features": {"": 1}}\n', 1, "expected a feature name"),
        (
            '{"id": 0, "text": "a", "features": {"x": []}}\n',
            1,
            "expected a finite number for `x`, found none",
        ),
        ('{"id": 0, "text": "a", "features": {"x": [1, NaN]}}\n', 1, "found `NaN"),
        ('{"id": 0, "text": "a", "features": {"x[0]": 1}}\n', 1, "without an index"),
        ('{"id": 0, "text": "a", "sparse": {"x": Infinity}}\n', 1, "found `Infinity"),
        ('{"id": 0, "text": "a", "total": 01}\n', 1, "expected a finite number as total"),
        ('{"id": 0, "text": "a", "total": 1e999}\n', 1, "expected a finite number as total"),
        ('{"id": 0, "text": "a", "alignment": "x"}\n', 1, "expected an alignment"),
        ('{"id": -1, "text": "a"}\n', 1, "expected a non-negative integer or a string as id"),
        ('{"id": 1.0, "text": "a"}\n', 1, "expected a non-negative integer or a string as id"),
        ('{"id": "", "text": "a"}\n', 1, "expected an id, found an empty string"),
        (FIRST + '{"id": 3, "text": "b"}\n', 2, "expected an id above 7"),
        (FIRST + "\n", 2, "a blank line"),
        (
            '{"id":"b","text":""}\n{"id":"a","text":""}\n{"id":"b","text":""}\n',
            3,
            "an id that has not been seen",
        ),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = put(tmp_path, text)
    with pytest.raises(InputError) as error:
        nbest.read(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert words in str(error.value)
    assert (error.value.path, error.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("dialect", "text", "words"),
    [
        ("travatar", "0 ||| a ||| 1\n", "expected the columns `id ||| text ||| total ||| features`"),
        ("travatar", "0 ||| a ||| x=1 ||| 1\n", "expected a finite number as total, found `x=1`"),
        ("travatar", "0 ||| a ||| 1 ||| x\n", "expected `name=value`, found `x`"),
        ("cdec", "0 ||| a ||| x= 1\n", "expected a finite number for `x`, found none"),
        ("cdec", "0 ||| a ||| 1;2\n", "expected `name=value`, found `1`"),
        ("jsonl", GOOD, "expected a JSON object"),
    ],
)
def test_errors_of_a_given_format(tmp_path: Path, dialect: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=r":1: expected") as error:
        nbest.read(put(tmp_path, text), dialect)
    assert words in str(error.value)


def test_errors_of_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        nbest.stream(tmp_path / "missing")
    with pytest.raises(InputError, match="directory"):
        nbest.read(tmp_path)
    with pytest.raises(InputError, match=r":2: expected UTF-8 text, found an invalid byte 0xff"):
        nbest.read(put(tmp_path, GOOD.encode() + b"0 ||| \xff ||| x=1\n"))
    packed = gzip.compress(b"".join(b"%d ||| %d ||| x=1\n" % (i, i * i) for i in range(5000)))
    with pytest.raises(InputError, match=r"list\.gz:\d+: the compressed file is truncated") as error:
        nbest.read(put(tmp_path, packed[: len(packed) // 2], "list.gz"))
    assert error.value.line is not None
    assert error.value.line > 1000
    with pytest.raises(InputError, match="corrupt"):
        nbest.read(put(tmp_path, b"no archive at all", "list.gz"))
    with pytest.raises(OptionError, match="unknown dialect `mosses`; did you mean moses"):
        nbest.read(put(tmp_path, GOOD), "mosses")
    with pytest.raises(OptionError, match="at least 1 candidate"):
        nbest.stream(put(tmp_path, GOOD), batch=0)


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("name", ["l", "l.gz", "l.zst", "l.xz"])
def test_streams_whole_sentences(tmp_path: Path, batch: int, name: str) -> None:
    lines = [f"{s} ||| t{s}.{k} ||| LM= {k} s{s}=1" for s in range(0, 20, 2) for k in range(1 + s % 3)]
    nbest.convert(put(tmp_path, "\n".join(lines), "plain"), tmp_path / name, to_format="moses")
    names = Names(["LM"], dense=True)
    seen = []
    for part in nbest.stream(tmp_path / name, names=names, batch=batch):
        assert part.features.names is names
        assert part.size >= 1
        assert part.size < batch + 3
        assert part.starts[0] == 0
        assert part.starts[-1] == part.size
        seen += [f"{part.ids[s]} ||| {part.texts[i]}" for s in range(len(part)) for i in range(*part.starts[s : s + 2])]
    assert seen == [line.rsplit(" |||", 1)[0] for line in lines]


def test_canonical_lists_are_byte_identical(tmp_path: Path) -> None:
    source = put(tmp_path, MOSES)
    nbest.write(tmp_path / "same", nbest.read(source))
    assert (tmp_path / "same").read_text() == MOSES
    nbest.convert(source, tmp_path / "a.jsonl.gz")
    with gzip.open(tmp_path / "a.jsonl.gz", "rt") as lines:
        assert next(lines).startswith(
            '{"id":0,"text":"a house","features":{"LM":-3.5,"TM":[-1,0,-4]},"sparse":{"wp_a=b":1}'
        )
    nbest.convert(tmp_path / "a.jsonl.gz", tmp_path / "back")
    assert (tmp_path / "back").read_text() == MOSES


def test_convert_marks_dense_features(tmp_path: Path) -> None:
    source = put(tmp_path, "0 ||| a ||| -1 ||| tm[1]=2 lm=-1 x=1\n0 ||| b ||| -2 ||| lm=-2 tm[0]=3\n")
    nbest.convert(source, tmp_path / "out", dense=["lm", "tm[0]", "tm[1]"])
    want = "0 ||| a ||| tm= 0 2 lm= -1 x=1 ||| -1\n0 ||| b ||| lm= -2 tm= 3 0 ||| -2\n"
    assert (tmp_path / "out").read_text() == want


def test_format_from_name() -> None:
    assert [nbest.format_of(n) for n in ("a.jsonl", "a.jsonl.zst", "a.gz", "-")] == [
        "jsonl",
        "jsonl",
        "moses",
        "moses",
    ]


def test_writer_publishes_all_or_nothing(tmp_path: Path) -> None:
    path = put(tmp_path, "old", "out.gz")
    c = build(["0"], [0, 1], ["a"], [{"x": 1.0}])

    def interrupted() -> None:
        with nbest.Writer(path) as writer:
            writer.write(c)
            raise RuntimeError

    def broken_off() -> None:
        with nbest.Writer(path) as writer:
            with pytest.raises(OptionError, match="comes twice in a row"):
                writer.write(build(["0", "0"], [0, 1, 2], ["a", "b"], [{}, {}]))
            writer.write(build(["1"], [0, 1], ["a"], [{}]))

    with pytest.raises(RuntimeError):
        interrupted()
    with pytest.raises(OptionError, match="not whole"):
        broken_off()
    with pytest.raises(OptionError, match="at least one candidate"), nbest.Writer(path):
        pass
    assert path.read_text() == "old"
    assert listing(tmp_path) == ["out.gz"]
    with nbest.Writer(path) as writer:
        writer.write(c)
    assert nbest.read(path).texts[0] == "a"
    assert listing(tmp_path) == ["out.gz"]
    with pytest.raises(OptionError, match="already finished"):
        writer.write(c)
    with pytest.raises(OptionError, match="found `auto`"):
        nbest.Writer(path, "auto")


@pytest.mark.parametrize(
    ("ids", "text", "row", "words"),
    [
        (["x"], "a", {}, "needs ids that are non-negative integers, found `x`"),
        (["07"], "a", {}, "needs ids that are non-negative integers"),
        (["0"], " a", {}, "candidate 1 of sentence `0`: moses cannot hold line ends"),
        (["0"], "a\nb", {}, "cannot hold line ends"),
        (["0"], "a ||| b", {}, "cannot hold line ends, `|||`"),
        (["0"], "a", {"x y": 1.0}, "moses cannot hold a feature called `x y`"),
        (["0"], "a", {"": 1.0}, "cannot hold a feature called nothing"),
        (["0"], "a", {"x": np.nan}, "the value NaN of `x` is not finite"),
        (["0"], "a", {"x": np.inf}, "the value inf of `x` is not finite"),
    ],
)
def test_what_moses_cannot_hold(tmp_path: Path, ids: list[str], text: str, row: dict[str, float], words: str) -> None:
    with pytest.raises(OptionError) as error:
        nbest.write(tmp_path / "out", build(ids, [0, 1], [text], [row]))
    assert words in str(error.value)
    assert listing(tmp_path) == []


def test_columns_that_do_not_fit_together(tmp_path: Path) -> None:
    good = build(["0"], [0, 1], ["a"], [{"x": 1.0}])
    f = good.features
    wrong = [
        Candidates(good.ids, np.array([0, 2]), good.texts, f),
        Candidates(good.ids, np.array([1, 1]), good.texts, f),
        Candidates(Texts(["0", "1"]), np.array([0, 1, 1]), good.texts, f),
        Candidates(good.ids, good.starts, Texts(["a", "b"]), f),
        Candidates(good.ids, good.starts, good.texts, Features(f.names, f.starts, f.columns + np.uint32(9), f.values)),
        Candidates(good.ids, good.starts, good.texts, Features(f.names, f.starts, f.columns, f.values[:0])),
        Candidates(good.ids, good.starts, good.texts, f, totals=np.zeros(2)),
        Candidates(good.ids, good.starts, good.texts, f, totals=np.array([np.inf])),
        Candidates(good.ids, good.starts, good.texts, f, scores={"C": np.zeros(1)}),
        Candidates(good.ids, good.starts, good.texts, f, alignments=Texts(["x"])),
        Candidates(good.ids, good.starts, good.texts, f, extra=Texts(["0-0"])),
        Candidates(good.ids, good.starts, good.texts, f, extra=Texts(["a\nb"])),
    ]
    for candidates in wrong:
        with pytest.raises(OptionError):
            nbest.write(tmp_path / "out", candidates)
    assert listing(tmp_path) == []


def test_stat(tmp_path: Path) -> None:
    s = nbest.stat(put(tmp_path, MOSES + "3 ||| c ||| LM= 1 wp_y=1\n3 ||| c ||| LM= 1\n3 ||| d ||| LM= 1\n"))
    assert (s.sentences, s.candidates, s.smallest, s.mean_size, s.largest) == (3, 6, 1, 2.0, 3)
    assert (s.duplicates, s.distinct, s.sparse) == (1, 5 / 6, 3)
    lm, *tm = s.dense
    assert (lm.name, lm.minimum, lm.maximum, lm.constant) == ("LM", -4, 1, False)
    assert lm.mean == pytest.approx((-3.5 - 4 + 0 + 3) / 6)
    assert [(f.name, f.minimum, f.maximum, f.constant) for f in tm] == [
        ("TM[0]", -1, 1, False),
        ("TM[1]", 0, 2, True),
        ("TM[2]", -4, 3, False),
    ]


def test_stat_counts_a_missing_feature_as_zero(tmp_path: Path) -> None:
    s = nbest.stat(put(tmp_path, "0 ||| a ||| A= 1 B= 0 C= 2\n0 ||| b |||\n1 ||| c ||| C= 2\n"))
    assert [(f.name, f.minimum, f.maximum, f.constant) for f in s.dense] == [
        ("A", 0, 1, False),
        ("B", 0, 0, True),
        ("C", 0, 2, False),
    ]

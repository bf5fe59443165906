"""The report page: one well-formed, self-contained file with every kernel, line and reason in it."""

import re
from html.parser import HTMLParser

import pytest

from treadle.frontend.report.code import coloured, coloured_lines
from treadle.frontend.report.model import view_of
from treadle.frontend.report.text import unit_table
from treadle.frontend.report_page import frame, page

from frontend.report_sample import KERNEL, SOURCE, sample

VOID = {"meta", "link", "br", "img", "input", "hr", "rect", "path"}


class Reader(HTMLParser):
    """Collects text, attributes and unbalanced tags."""

    def __init__(self):
        super().__init__()
        self.stack, self.faults, self.attrs, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.attrs.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attrs.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def shown(tmp_path):
    reader = Reader()
    reader.feed(page(sample(tmp_path)))
    reader.close()
    return reader


def test_page_is_balanced_html(shown):
    assert shown.faults == []
    assert not [t for t in shown.stack if t not in ("html", "body", "main")]


def test_page_loads_nothing(tmp_path):
    text = page(sample(tmp_path))
    assert not re.search(r"""(?:src|href)=["']?(?!["']?#)|url\(|@import|https?://""", text)


def test_page_shows_kernels_lines_reasons_and_guards(shown):
    text = "".join(shown.text)
    for symbol in ("k_fused_a", "k_fused_b"):
        assert KERNEL.format(symbol) in text
    for line in SOURCE.splitlines()[3:]:
        assert line.strip() in text
    for words in ("add_2 reads it < twice", "mul_1 is a product", "calls time.time()", "x < y & z",
                  "the call changed <model.training>", "no C++ compiler was found: <none>",
                  "%sqrt: float32[64, 32] = sqrt(%mul_1)", "matrix product [64, 16] @ [16, 32]"):
        assert words in text


def test_lines_name_their_units_and_units_their_lines(shown):
    lines = {a["data-number"]: a["data-u"].split() for t, a in shown.attrs if "line" in a.get("class", "").split()
             and t == "details" and a["data-u"].startswith("g0")}
    assert lines == {"7": ["g0k0"], "8": ["g0p0", "g0n0"], "9": ["g0k1"]}
    keys = {u for us in lines.values() for u in us}
    assert keys <= {a["data-u"] for t, a in shown.attrs if t == "details" and "unit" in a["class"].split()}
    targets = {a["data-to"] for _, a in shown.attrs if "data-to" in a}
    assert targets and targets <= {a["data-line"] for _, a in shown.attrs if "data-line" in a}


def test_steps_are_linked_through_the_graph(tmp_path):
    built, plain = (view_of(r) for r in sample(tmp_path).reports)
    assert [s.feeds_from for s in built.steps] == [(), (0,), (1,), (2,), (3,), ()]
    assert [s.unit for s in built.steps] == ["k0", "p0", "n0", "k1", "k1", "c0"]
    assert [s.feeds_from for s in plain.steps] == [(), (0,), (1,), (2,)]


def test_a_graph_without_source_is_shown(tmp_path):
    explanation = sample(tmp_path)
    (tmp_path / "step.py").unlink()
    import linecache

    linecache.clearcache()
    assert "k_fused_a" in page(explanation)


def test_a_notebook_gets_a_frame(tmp_path):
    text = frame(sample(tmp_path))
    reader = Reader()
    reader.feed(text)
    (_, attrs), = reader.attrs
    assert attrs["srcdoc"] == page(sample(tmp_path))


@pytest.mark.parametrize("text", ["", "a < b && c", "x = 'a\"b' # it's", '"unclosed', "/* open", "#pragma omp simd\n"])
@pytest.mark.parametrize("language", ["c++", "python", "ptx"])
def test_coloured_code_keeps_its_text(text, language):
    reader = Reader()
    reader.feed(coloured(text, language))
    reader.close()
    assert "".join(reader.text) == text and not reader.faults


def test_strings_over_several_lines_are_closed_on_each():
    lines = coloured_lines(['"""a', "b", '"""', "x = 1"], "python")
    assert lines[1] == "<b class=s>b</b>"
    assert all(line.count("<b ") == line.count("</b>") for line in lines)


def test_the_table_has_a_row_for_each_unit(tmp_path):
    rows = unit_table(sample(tmp_path).reports[0])
    assert [r.split()[:2] for r in rows[1:]] == [["K0", "1"], ["P0", "1"], ["N0", "1"], ["K1", "2"], ["C0", "1"]]
    assert "mul add" in rows[1] and "24.6 kB" in rows[1] and "step.py:7" in rows[1]
    assert rows[1].endswith("mul_1 is a product")

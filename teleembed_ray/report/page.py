"""lake -> one self-contained page and its tables as CSV and Markdown."""

import base64
import hashlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from teleembed_ray.lake import Lake
from teleembed_ray.report import audit_tables, sentences
from teleembed_ray.report.benchmark_tables import (
    corpora_table,
    criteria_table,
    questions_table,
    rejects_table,
    verdicts_table,
)
from teleembed_ray.report.cells import MINUS, PERCENT, Estimate, Missing, Table, notes, to_csv, to_markdown, value_text
from teleembed_ray.report.charts import accuracy_panels, draw, interference_panels
from teleembed_ray.report.examples import examples_table, read_examples
from teleembed_ray.report.headline import headline, headline_table, verdict_sentence
from teleembed_ray.report.histograms import draw_histograms
from teleembed_ray.report.provenance import (
    demo_models,
    lake_name,
    models_table,
    packages_table,
    settings_list,
    stages_table,
)
from teleembed_ray.report.ranking_tables import interference_table, read_hits
from teleembed_ray.report.score_tables import (
    Scores,
    all_scores_table,
    clean_counts_table,
    clean_table,
    metric_table,
    mrr_metric,
    read_scores,
    truncation_table,
)
from teleembed_ray.report.source import Source, open_source

TEMPLATE = "page.html.j2"
# Opens what is folded before printing, for browsers whose style sheets cannot; the page reads the same without it.
SCRIPT = "addEventListener('beforeprint',()=>document.querySelectorAll('details').forEach(d=>{d.open=true}))"


@dataclass(frozen=True)
class Report:
    """Everything that the page shows: the template's variables and all tables."""

    variables: dict[str, Any]
    tables: tuple[Table, ...]


def percent_text(confidence: float) -> str:
    """Return a confidence level as `95 %`, with a space that does not break."""
    return f"{100 * confidence:g}{PERCENT}"


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with a typographic minus."""
    return f"{100 * value:.1f}".replace("-", MINUS)


def _accuracy_table(source: Source, scores: Scores, metric: str, words: str, name: str) -> Table:
    caption = (
        f"{words} with {percent_text(source.confidence)} intervals, by chunk size in tokens. A searches the question's "
        "own corpus, B is the mean of A over the corpora, C searches all corpora at once."
    )
    return metric_table(source, scores, metric, name, caption)


def collect(lake: Lake, num_examples: int) -> Report:
    """Read the lake and compute every table, figure and sentence; raises ArtifactError where the lake is empty."""
    source = open_source(lake)
    scores, alone, merged = read_scores(source), read_hits(source, "A"), read_hits(source, "C")
    headlines = [headline(source, scores, alone, size) for size in source.sizes]
    audits = audit_tables.read_audits(source)
    examples = read_examples(source, scores.models, num_examples)
    tables = {
        "headline": headline_table(headlines),
        "corpora": corpora_table(source),
        "questions": questions_table(source),
        "verdicts": verdicts_table(source),
        "criteria": criteria_table(source),
        "rejects": rejects_table(source),
        "chunk_sizes": audit_tables.chunks_table(audits),
        "chunk_lengths": audit_tables.lengths_table(audits),
        "twins": audit_tables.twins_table(source, audits),
        "repeated": audit_tables.repeated_table(audits),
        "languages": audit_tables.languages_table(source),
        "accuracy": _accuracy_table(source, scores, "accuracy", "Accuracy (own chunk first)", "accuracy"),
        "mrr": _accuracy_table(source, scores, mrr_metric(scores), "Mean reciprocal rank (MRR)", "mrr"),
        "scores": all_scores_table(source, scores),
        "interference": interference_table(source, scores, alone, merged),
        "clean_counts": clean_counts_table(source),
        "clean": clean_table(source, scores),
        "truncation": truncation_table(source, scores),
        "examples": examples_table(examples),
        "stages": stages_table(source),
        "models": models_table(source),
        "packages": packages_table(source),
    }
    variables = {
        "t": tables,
        "percent": percent_text(source.confidence),
        "verdict": verdict_sentence(headlines),
        "headlines": headlines,
        "demo_models": demo_models(source),
        "lacks": sentences.lacks(source, tables["questions"]),
        "data_sentence": sentences.data_sentence(source, tables["corpora"], tables["questions"]),
        "twins_sentence": audit_tables.twins_sentence(audits),
        "histograms": draw_histograms(audits),
        "interference_sentence": sentences.interference_sentence(tables["interference"]),
        "clean_sentence": sentences.clean_sentence(tables["clean_counts"], tables["clean"]),
        "truncation_sentence": sentences.truncation_sentence(tables["truncation"]),
        "accuracy_charts": draw(accuracy_panels(source, scores), "accuracy"),
        "interference_charts": draw(interference_panels(tables["interference"], scores.models), "interference"),
        "examples": examples,
        "models": scores.models,
        "num_examples": num_examples,
        "settings": settings_list(source),
        "lake": lake_name(lake.root),
    }
    return Report(variables, tuple(tables.values()))


def render(variables: dict[str, Any]) -> str:
    """Return the page's HTML; everything that came from documents or models is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(value_text=value_text, notes=notes, points=points)
    environment.tests.update(
        missing=lambda value: isinstance(value, Missing), estimate=lambda value: isinstance(value, Estimate)
    )
    # The figures and the script are ours; the figures escape the names that they carry.
    environment.filters["trusted"] = Markup
    script_hash = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return environment.get_template(TEMPLATE).render(variables, script=SCRIPT, script_hash=script_hash) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or all of the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def build_report(lake: Lake, folder: Path, num_examples: int) -> Path:
    """Write folder/index.html and folder/tables/*.csv, *.md from the lake's tables alone; return the page's path.

    The same lake gives the same bytes. `num_examples` is the number of wrong queries shown a model. Raises
    ArtifactError where the lake holds nothing or a table in it is damaged.
    """
    report = collect(lake, num_examples)
    html = render(report.variables)
    for table in report.tables:
        write_whole(folder / "tables" / f"{table.name}.csv", to_csv(table))
        write_whole(folder / "tables" / f"{table.name}.md", to_markdown(table))
    page = folder / "index.html"
    write_whole(page, html)
    return page

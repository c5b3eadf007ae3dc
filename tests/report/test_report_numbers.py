"""The numbers of the page's tables against values worked by hand from the lake in conftest.py."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from teleembed_ray.lake import Lake
from teleembed_ray.report import headline as headline_module
from teleembed_ray.report.cells import Estimate, Missing
from teleembed_ray.report.intervals import mean_difference, paired_difference, share_estimate
from teleembed_ray.report.page import build_report
from teleembed_ray.report.score_tables import MACRO, ScoreKey, Scores


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def row_of(folder: Path, table: str, **keys: str) -> dict[str, str]:
    [row] = [row for row in rows_of(folder, table) if all(row[key] == value for key, value in keys.items())]
    return row


@pytest.fixture
def folder(full_lake: Lake, tmp_path: Path) -> Path:
    return build_report(full_lake, tmp_path / "page", 3).parent


def test_wilson_matches_the_published_example_and_is_exact_at_both_ends() -> None:
    found = share_estimate(8, 10, 0.95)
    assert isinstance(found, Estimate)
    assert (found.value, found.n) == (0.8, 10)
    assert found.low == pytest.approx(0.4902, abs=5e-5)
    assert found.high == pytest.approx(0.9433, abs=5e-5)
    nothing, everything = share_estimate(0, 10, 0.95), share_estimate(10, 10, 0.95)
    assert isinstance(nothing, Estimate)
    assert isinstance(everything, Estimate)
    # z^2 / (n + z^2) with z = 1.959964
    assert nothing.low == 0.0
    assert nothing.high == pytest.approx(3.841459 / 13.841459, abs=1e-6)
    assert everything.low == pytest.approx(10 / 13.841459, abs=1e-6)
    assert everything.high == 1.0
    assert share_estimate(0, 0, 0.95) == Missing("nothing to count")


def test_paired_interval_needs_only_the_questions_on_which_the_two_disagree() -> None:
    # 12 against 4 of 100: (12 - 4) / 102 and (12.5 + 4.5 - 8^2 / 102) / 102^2.
    found = mean_difference([paired_difference(12, 4, 100)], 0.95)
    assert isinstance(found, Estimate)
    half = 1.959964 * math.sqrt((17 - 64 / 102) / 102**2)
    assert found.value == pytest.approx(0.08)
    assert found.low == pytest.approx(8 / 102 - half, abs=1e-6)
    assert found.high == pytest.approx(8 / 102 + half, abs=1e-6)


def test_mean_of_corpora_weighs_a_small_corpus_like_a_large_one() -> None:
    found = mean_difference([paired_difference(50, 0, 100), paired_difference(0, 0, 10)], 0.95)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.25)
    assert found.n == 110


def test_lead_of_the_best_is_paired_and_three_questions_decide_nothing(folder: Path) -> None:
    best, rival = rows_of(folder, "headline")
    assert (best["model"], best["verdict"], best["accuracy"]) == ("alpha", "best", "1.000000")
    # O-RAN: alpha alone is right on one of two; srsRAN: on one of one. Mean of 0.5 and 1.
    assert (rival["model"], rival["lead"], rival["lead_n"]) == ("beta", "0.750000", "3")
    # Centres 1/4 and 1/3; variances (2 - 1/4) / 16 and (2 - 1/3) / 9.
    half = 1.959964 * math.sqrt(1.75 / 16 + (5 / 3) / 9) / 2
    assert float(rival["lead_low"]) == pytest.approx((1 / 4 + 1 / 3) / 2 - half, abs=1e-5)
    assert rival["verdict"] == "cannot be told apart from the best"


def test_without_rankings_overlap_of_intervals_decides(
    empty_lake: Lake, publishers: dict[str, Callable[..., None]], tmp_path: Path
) -> None:
    publishers["documents"](empty_lake)
    publishers["scores"](empty_lake)
    folder = build_report(empty_lake, tmp_path / "page", 3).parent
    rival = rows_of(folder, "headline")[1]
    assert rival["lead"] == ""
    # 0.875 to 1 against 0.125 to 0.375.
    assert rival["verdict"] == "behind the best"


def test_accuracy_table_keeps_interval_and_n_of_the_scores(folder: Path) -> None:
    row = row_of(folder, "accuracy", model="beta")
    found = [row[key] for key in ("A_oran", "A_oran_low", "A_oran_high", "A_oran_n")]
    assert found == ["0.500000", "0.375000", "0.625000", "2"]
    assert (row["B_macro"], row["C_macro"], row["C_macro_n"]) == ("0.250000", "0.250000", "3")
    assert len(rows_of(folder, "scores")) == 36


def test_drop_and_origin_of_wrong_results_are_counted_question_by_question(folder: Path) -> None:
    # alpha over all corpora: q1 -> c2 (document d1, as the gold c1), q2 -> c4 (srsRAN).
    row = row_of(folder, "interference", model="alpha", corpus="oran")
    assert (row["change"], row["change_n"], row["wrong"]) == ("-1.000000", "2", "2")
    assert (row["from_own_document"], row["from_own_corpus"], row["from_other_corpus"]) == ("1", "0", "1")
    macro = row_of(folder, "interference", model="alpha", corpus="macro")
    assert (macro["alone"], macro["merged"], macro["change"]) == ("1.000000", "0.500000", "-0.500000")
    # beta: q1 -> c3 (another document of O-RAN); q3 got no result.
    beta = row_of(folder, "interference", model="beta", corpus="macro")
    assert (beta["wrong"], beta["from_own_corpus"], beta["unanswered"]) == ("2", "1", "1")


def test_questions_report_acceptance_quota_and_why_a_cell_fell_short(folder: Path) -> None:
    row = row_of(folder, "questions", corpus="oran")
    assert (row["tried"], row["accepted"], row["pairs"], row["status"]) == ("4", "0.500000", "2", "quota reached")
    assert (row["prompt_tokens"], row["output_tokens"]) == ("400", "40")
    # Wilson for 2 of 4.
    assert float(row["accepted_low"]) == pytest.approx(0.1500, abs=5e-5)
    short = row_of(folder, "questions", corpus="srsran")
    assert (short["pairs"], short["quota"]) == ("1", "2")
    assert short["status"] == "1 short: every chunk of the cell was tried (1 in all)"


def test_verdicts_and_criteria_leave_unjudged_questions_out_of_the_share(folder: Path) -> None:
    verdicts = {row["verdict"]: row for row in rows_of(folder, "verdicts")}
    assert (verdicts["accepted"]["questions"], verdicts["accepted"]["share"]) == ("3", "0.600000")
    assert (verdicts["malformed reply"]["oran"], verdicts["malformed reply"]["srsran"]) == ("1", "0")
    specific = row_of(folder, "criteria", criterion="specific")
    # Five were tried; the malformed reply judged nothing; one of the four is not specific.
    assert (specific["judged"], specific["met"], specific["met_share"]) == ("4", "3", "0.750000")


def test_documents_count_characters_that_were_left_out(folder: Path) -> None:
    row = row_of(folder, "corpora", corpus="oran")
    assert (row["documents"], row["chars"], row["dropped_chars"], row["chunks_512"]) == ("2", "1500", "100", "3")
    assert row["dropped_share"] == "0.062500"
    # Three in each of the two documents.
    assert row["unmapped_chars"] == "6"


def test_clean_is_compared_with_the_rest_and_not_with_a_set_that_contains_it(folder: Path) -> None:
    row = row_of(folder, "clean", model="beta", view="A: oran")
    # beta: 1 of 2 on main, 0 of 1 on Clean, so 1 of 1 on the rest.
    assert (row["main"], row["clean"], row["rest"], row["rest_n"]) == ("0.500000", "0.000000", "1.000000", "1")
    assert row["gain"] == "-0.500000"
    counts = row_of(folder, "clean-questions", corpus="oran")
    assert (counts["clean"], counts["not_clean"]) == ("1", "1")


def test_truncated_chunks_are_counted_over_all_corpora(folder: Path) -> None:
    row = row_of(folder, "truncation", model="alpha")
    assert (row["chunks"], row["chunks_truncated"], row["chunks_truncated_share"]) == ("4", "2", "0.500000")
    assert row["accuracy"] == "1.000000"
    assert row_of(folder, "truncation", model="beta")["chunks_truncated"] == "0"


def test_examples_are_spread_and_name_what_came_instead(folder: Path) -> None:
    rows = rows_of(folder, "wrong-queries")
    assert [(row["model"], row["corpus"]) for row in rows] == [("beta", "oran"), ("beta", "srsran")]
    first, unanswered = rows
    assert (first["right_document"], first["right_rank"], first["right_score"]) == (
        "wg4/cus.docx",
        "rank 2",
        "0.800000",
    )
    assert (first["returned_text"].split()[2], first["returned_score"]) == ("c3", "0.900000")
    assert unanswered["right_rank"] == "no result was returned"


def test_two_tables_made_in_one_go_count_their_seconds_once(folder: Path) -> None:
    # Two cells of 1.5 s; candidates and pairs both carry the time of their cell.
    assert row_of(folder, "stages", stage="pairs")["seconds"] == "3.000000"
    assert row_of(folder, "stages", stage="embed")["seconds"] == "12.000000"


def test_equal_scores_at_one_size_do_not_make_two_leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headline_module, "macro_difference", lambda *_: Missing("no rankings"))
    # 0.1 + 0.2 is not 0.3 to the last bit.
    values = {("zeta", 512): 0.3, ("alpha", 512): 0.1 + 0.2, ("zeta", 1024): 0.5, ("alpha", 1024): 0.4}
    rows = {
        ScoreKey(model, MACRO, size, "B"): {"value": value, "n": 10, "low": value - 0.1, "high": value + 0.1}
        for (model, size), value in values.items()
    }
    scores = Scores(rows, ("zeta", "alpha"), frozenset())
    heads = [headline_module.headline(cast(Any, None), scores, cast(Any, None), size) for size in (512, 1024)]
    assert [head.model for head in heads] == ["zeta", "zeta"]
    said = headline_module.verdict_sentence(heads)
    assert said == "zeta has the highest score at every chunk size, but cannot be told apart from alpha at any of them."

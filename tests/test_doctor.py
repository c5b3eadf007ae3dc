"""What the doctor says of the converter that .doc files need."""

from pathlib import Path

import pytest

from teleembed_ray import doctor


def fake_soffice(folder: Path, script: str) -> str:
    program = folder / "soffice"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_missing_libreoffice_is_named_with_the_package_and_a_found_one_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_soffice", lambda: None)
    missing = dict(doctor.facts())["LibreOffice"]
    assert "missing" in missing
    assert "apt-get install libreoffice-writer-nogui" in missing
    program = fake_soffice(tmp_path, "echo LibreOffice 24.8")
    monkeypatch.setattr(doctor, "find_soffice", lambda: program)
    assert dict(doctor.facts())["LibreOffice"] == f"LibreOffice 24.8 ({program})"


def test_a_libreoffice_that_does_not_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_soffice(tmp_path, "exit 3")
    monkeypatch.setattr(doctor, "find_soffice", lambda: program)
    assert "fails" in dict(doctor.facts())["LibreOffice"]

"""A sealed value opens in its own row and field, with its own root key, unchanged, and nowhere else."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.credentials.sealing import CantOpen, is_current, name_of, seal, unseal

ROOTS = ["new root", "old root"]


def sealed(text: str, *, row: str = "r", field: str = "f", roots: list[str] = ROOTS) -> str:
    return seal(text, row=row, field=field, roots=roots)


@given(text=st.text(max_size=300), row=st.text(max_size=40), field=st.text(max_size=40))
def test_value_comes_back_as_it_was(text: str, row: str, field: str) -> None:
    assert unseal(sealed(text, row=row, field=field), row=row, field=field, roots=ROOTS) == text


def test_same_value_never_looks_the_same() -> None:
    assert sealed("hunter2") != sealed("hunter2")
    assert "hunter2" not in sealed("hunter2")


@pytest.mark.parametrize(("row", "field"), [("other", "f"), ("r", "other"), ("r\0f", ""), ("", "r\0f")])
def test_value_that_was_moved_does_not_open(row: str, field: str) -> None:
    with pytest.raises(CantOpen):
        unseal(sealed("x"), row=row, field=field, roots=ROOTS)


def test_value_that_was_changed_does_not_open() -> None:
    version, root, body = sealed("hunter2").split(".")
    raw = bytearray(base64.b64decode(body))
    raw[-1] ^= 1
    with pytest.raises(CantOpen):
        unseal(f"{version}.{root}.{base64.b64encode(bytes(raw)).decode()}", row="r", field="f", roots=ROOTS)


def test_older_root_opens_what_it_sealed_until_it_is_taken_away() -> None:
    old = sealed("x", roots=["old root"])
    assert unseal(old, row="r", field="f", roots=ROOTS) == "x"
    assert not is_current(old, roots=ROOTS)
    assert is_current(sealed("x"), roots=ROOTS)
    with pytest.raises(CantOpen, match=name_of("old root")):
        unseal(old, row="r", field="f", roots=["new root"])


@pytest.mark.parametrize("nonsense", ["", "1", "1..", "2.x.y", f"1.{name_of('new root')}.!!!"])
def test_nonsense_does_not_open(nonsense: str) -> None:
    with pytest.raises(CantOpen):
        unseal(nonsense, row="r", field="f", roots=ROOTS)

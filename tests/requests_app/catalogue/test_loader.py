"""Offerings are loaded as immutable versions: nothing twice, changed content once more, all or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from portal.kernel.errors import Refused
from portal.ledger.models import Event
from requests_app.catalogue.loader import load_offerings
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.catalogue.offering_files import OFFERINGS_DIR, OfferingFile, read_folder

pytestmark = pytest.mark.django_db


def changed(file: OfferingFile, **more: object) -> OfferingFile:
    return replace(file, content={**file.content, **more}, content_hash=f"{file.content_hash[:-1]}x")


def test_loading_twice_changes_nothing() -> None:
    files = read_folder()
    assert set(load_offerings(files=files, by=None).added) == {file.slug for file in files}
    events = Event.objects.count()
    assert set(load_offerings(files=files, by=None).unchanged) == {file.slug for file in files}
    assert OfferingVersion.objects.count() == len(files)
    assert Event.objects.count() == events


def test_changed_content_is_one_more_version_and_the_old_one_stays() -> None:
    files = list(read_folder())
    load_offerings(files=files, by=None)
    before = OfferingVersion.objects.get(offering__slug=files[0].slug)
    files[0] = changed(files[0], title="Another title")
    assert load_offerings(files=files, by=None).changed == (files[0].slug,)
    current = Offering.objects.select_related("current").get(slug=files[0].slug).current
    assert current is not None
    assert (current.number, current.title) == (2, "Another title")
    assert OfferingVersion.objects.get(pk=before.pk).title == before.title


def test_content_that_comes_back_is_a_version_of_its_own() -> None:
    files = list(read_folder())
    load_offerings(files=files, by=None)
    load_offerings(files=[changed(files[0]), *files[1:]], by=None)
    load_offerings(files=files, by=None)
    numbers = OfferingVersion.objects.filter(offering__slug=files[0].slug).values_list("number", flat=True)
    assert sorted(numbers) == [1, 2, 3]


def test_an_offering_without_a_file_is_retired_and_can_come_back() -> None:
    files = list(read_folder())
    load_offerings(files=files, by=None)
    assert load_offerings(files=files[1:], by=None).retired == (files[0].slug,)
    assert not Offering.objects.on_the_shelf().filter(slug=files[0].slug).exists()
    load_offerings(files=files, by=None)
    back = Offering.objects.on_the_shelf().get(slug=files[0].slug)
    assert back.current is not None
    assert back.current.number == 1


def test_nobody_changes_or_deletes_a_version() -> None:
    load_offerings(files=read_folder(), by=None)
    version = OfferingVersion.objects.all()[0]
    version.title = "Something else"
    for attempt in (
        version.save,
        version.delete,
        lambda: OfferingVersion.objects.update(title="x"),
        OfferingVersion.objects.all().delete,
    ):
        with pytest.raises(Refused):
            attempt()


def test_a_broken_file_loads_nothing(tmp_path: Path) -> None:
    for path in OFFERINGS_DIR.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "unblock.yaml").write_text("slug: unblock\npillar: nowhere\n")
    with pytest.raises(CommandError, match=r"unblock\.yaml:2: pillar"):
        call_command("load_catalogue", folder=tmp_path)
    assert not Offering.objects.exists()


def test_operator_can_check_without_loading(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_catalogue", check=True)
    assert "offerings are good" in capsys.readouterr().out
    assert not Offering.objects.exists()

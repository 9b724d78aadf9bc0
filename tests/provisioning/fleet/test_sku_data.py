"""Do the SKU files say what they mean, and is a wrong one refused?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from provisioning.fleet.sku_data import (
    SKU_DIR,
    UNITS,
    SkuDataError,
    known_skus,
    load_skus,
    read_sku,
    sku_from,
)

ASKED_FOR = {"h100-sxm5-80g", "h200-sxm-141g", "a100-sxm4-80g", "a100-sxm4-40g", "b200-sxm-180g"}


@pytest.fixture
def h100() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((SKU_DIR / "h100-sxm5-80g.yaml").read_text())
    return copy.deepcopy(data)


def test_every_shipped_sku_loads_under_its_file_name() -> None:
    assert set(known_skus()) >= ASKED_FOR
    assert set(known_skus()) == {path.stem for path in SKU_DIR.glob("*.yaml")}


def test_every_expected_figure_has_its_unit_and_a_source() -> None:
    for sku in known_skus().values():
        assert sku.expected, sku.slug
        for metric, figure in sku.expected.items():
            assert figure.unit == UNITS[metric]
            assert len(figure.source) > 20, (sku.slug, metric)


def test_the_published_lines_of_the_h100_are_limits_and_not_means() -> None:
    h100 = known_skus()["h100-sxm5-80g"]
    assert h100.expected["h2d_bw"].pass_line == 52
    assert h100.expected["h2d_bw"].value > 52
    assert h100.expected["nccl_busbw"].pass_line == 400
    assert h100.expected["p2p_bw"].pass_line is None


def test_a_sku_that_does_not_pin_its_vbios_loads() -> None:
    assert known_skus()["h200-sxm-141g"].vbios == ""


@pytest.mark.parametrize("key", ["slug", "gpu_count", "nvlink", "expected", "driver"])
def test_a_file_without_a_key_is_refused_by_the_name_of_the_key(h100: dict[str, Any], key: str) -> None:
    del h100[key]
    with pytest.raises(SkuDataError, match=key):
        sku_from(h100)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("gpu_count",), "8", "gpu_count"),
        (("gpu_count",), 0, "gpu_count"),
        (("gpu_count",), True, "gpu_count"),
        (("nvswitch",), "yes", "nvswitch"),
        (("driver",), 570.172, "driver"),
        (("driver",), "", "driver"),
        (("power_limit_w",), float("nan"), "power_limit_w"),
        (("nvlink", "links"), -1, "nvlink.links"),
        (("expected", "gemm_bf16", "value"), 0, "gemm_bf16.value"),
        (("expected", "gemm_bf16", "unit"), "GFLOP/s", "gemm_bf16.unit"),
        (("expected", "gemm_bf16", "kind"), "guess", "gemm_bf16.kind"),
        (("expected", "gemm_bf16", "pass_line"), 900, "gemm_bf16.pass_line"),
        (("expected", "gemm_bf61"), {}, "gemm_bf61"),
        (("pcie", "lanes"), 16, "pcie.lanes"),
        (("drivr",), "1", "drivr"),
        (("nics",), [8], "nics"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_key(
    h100: dict[str, Any], path: tuple[str, ...], value: object, said: str
) -> None:
    target = h100
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    with pytest.raises(SkuDataError, match=said):
        sku_from(h100)


def test_a_file_whose_name_is_not_its_slug_is_refused(tmp_path: Path, h100: dict[str, Any]) -> None:
    (tmp_path / "h100.yaml").write_text(yaml.safe_dump(h100))
    with pytest.raises(SkuDataError, match=r"h100\.yaml"):
        load_skus(tmp_path)


def test_a_file_that_is_not_yaml_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("slug: [")
    with pytest.raises(SkuDataError, match=r"broken\.yaml"):
        read_sku(path)


def test_a_loaded_sku_cannot_be_changed_by_its_reader() -> None:
    figures = known_skus()["h100-sxm5-80g"].expected
    with pytest.raises(TypeError):
        figures["gemm_bf16"] = figures["mem_bw"]  # type: ignore[index]

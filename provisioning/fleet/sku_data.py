"""What should a healthy node of this kind have and reach, and who says so?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

SKU_DIR = Path(__file__).with_name("skus")

UNITS: Mapping[str, str] = MappingProxyType(
    {
        "gemm_bf16": "TFLOP/s",
        "mem_bw": "GB/s",
        "h2d_bw": "GB/s",
        "d2h_bw": "GB/s",
        "p2p_bw": "GB/s",
        "nccl_busbw": "GB/s",
        "cluster_busbw": "GB/s",
    }
)


class SkuDataError(ValueError):
    """A SKU file is wrong; the message names the file and the key."""


class FigureKind(StrEnum):
    """How much an expected figure may be trusted before the fleet has its own."""

    MEAN = "mean"
    ESTIMATE = "estimate"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """One expected figure. `value` is what a healthy part reaches, `pass_line` a published limit; never mix them."""

    metric: str
    value: float
    unit: str
    kind: FigureKind
    source: str
    pass_line: float | None = None
    low_is_bad: bool = True


@dataclass(frozen=True, kw_only=True)
class NvLink:
    """NVLinks per GPU and the speed of one, one way (GB/s). No links: `links` is 0."""

    links: int
    gbps_per_link: float


@dataclass(frozen=True, kw_only=True)
class Pcie:
    """PCIe generation and lanes of every GPU under load."""

    gen: int
    width: int


@dataclass(frozen=True, kw_only=True)
class Nics:
    """Ports of the compute network and the rate of one (Gb/s)."""

    count: int
    rate_gbps: float


@dataclass(frozen=True, kw_only=True)
class Sku:
    """A kind of node. `vbios` is empty where versions are not pinned; `power_limit_w` None where unknown."""

    slug: str
    name: str
    vendor: str
    gpu_model: str
    gpu_count: int
    memory_mib: int
    form_factor: str
    driver: str
    vbios: str
    nvswitch: bool
    power_limit_w: float | None
    nvlink: NvLink
    pcie: Pcie
    nics: Nics
    ecc: bool
    expected: Mapping[str, Expected]


def load_skus(folder: Path = SKU_DIR) -> Mapping[str, Sku]:
    """Every SKU of a folder by slug, in the order of their slugs. Raises SkuDataError."""
    skus: dict[str, Sku] = {}
    for path in sorted(folder.glob("*.yaml")):
        sku = read_sku(path)
        if sku.slug != path.stem:
            raise SkuDataError(f"{path.name}: slug is {sku.slug!r}, the file says {path.stem!r}")
        skus[sku.slug] = sku
    return MappingProxyType(skus)


@cache
def known_skus() -> Mapping[str, Sku]:
    """The SKUs that ship with the portal."""
    return load_skus()


def read_sku(path: Path) -> Sku:
    """One SKU file. Raises SkuDataError."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SkuDataError(f"{path.name}: not YAML: {error}") from error
    try:
        return sku_from(data)
    except SkuDataError as error:
        raise SkuDataError(f"{path.name}: {error}") from error


def sku_from(data: object) -> Sku:
    """A SKU from parsed YAML; unknown keys are refused, since a misspelt limit would silently never apply."""
    reader = _Reader(data, "")
    sku = Sku(
        slug=reader.text("slug"),
        name=reader.text("name"),
        vendor=reader.text("vendor"),
        gpu_model=reader.text("gpu_model"),
        gpu_count=reader.count("gpu_count", at_least=1),
        memory_mib=reader.count("memory_mib", at_least=1),
        form_factor=reader.text("form_factor"),
        driver=reader.text("driver"),
        vbios=reader.text("vbios", empty_allowed=True),
        nvswitch=reader.flag("nvswitch"),
        power_limit_w=reader.optional_number("power_limit_w"),
        nvlink=_nvlink(reader.child("nvlink")),
        pcie=_pcie(reader.child("pcie")),
        nics=_nics(reader.child("nics")),
        ecc=reader.flag("ecc", default=True),
        expected=_expected(reader.child("expected")),
    )
    reader.refuse_the_rest()
    return sku


def _nvlink(reader: _Reader) -> NvLink:
    made = NvLink(links=reader.count("links"), gbps_per_link=reader.number("gbps_per_link"))
    reader.refuse_the_rest()
    return made


def _pcie(reader: _Reader) -> Pcie:
    made = Pcie(gen=reader.count("gen", at_least=1), width=reader.count("width", at_least=1))
    reader.refuse_the_rest()
    return made


def _nics(reader: _Reader) -> Nics:
    made = Nics(count=reader.count("count"), rate_gbps=reader.number("rate_gbps"))
    reader.refuse_the_rest()
    return made


def _expected(reader: _Reader) -> Mapping[str, Expected]:
    figures: dict[str, Expected] = {}
    for metric in reader.names():
        if metric not in UNITS:
            raise SkuDataError(f"expected.{metric}: no such metric")
        figures[metric] = _figure(metric, reader.child(metric))
    return MappingProxyType(figures)


def _figure(metric: str, reader: _Reader) -> Expected:
    figure = Expected(
        metric=metric,
        value=reader.number("value"),
        unit=reader.text("unit"),
        kind=_kind(metric, reader.text("kind")),
        source=reader.text("source"),
        pass_line=reader.optional_number("pass_line"),
        low_is_bad=reader.flag("low_is_bad", default=True),
    )
    reader.refuse_the_rest()
    if figure.unit != UNITS[metric]:
        raise SkuDataError(f"expected.{metric}.unit: {figure.unit!r}, must be {UNITS[metric]!r}")
    if figure.value <= 0:
        raise SkuDataError(f"expected.{metric}.value: must be above 0")
    if figure.pass_line is not None and figure.pass_line > figure.value:
        raise SkuDataError(f"expected.{metric}.pass_line: above what a healthy part reaches")
    return figure


def _kind(metric: str, word: str) -> FigureKind:
    try:
        return FigureKind(word)
    except ValueError as error:
        raise SkuDataError(f"expected.{metric}.kind: {word!r} is neither mean nor estimate") from error


class _Reader:
    """Reads typed keys of one mapping and remembers which were read."""

    def __init__(self, data: object, path: str) -> None:
        if not isinstance(data, dict):
            raise SkuDataError(f"{path or 'file'}: a mapping is expected")
        self._data: dict[Any, Any] = data
        self._path = path
        self._read: set[str] = set()

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _take(self, key: str) -> object:
        self._read.add(key)
        if key not in self._data:
            raise SkuDataError(f"{self._name(key)}: missing")
        value: object = self._data[key]
        return value

    def names(self) -> list[str]:
        return sorted(str(key) for key in self._data)

    def child(self, key: str) -> _Reader:
        return _Reader(self._take(key), self._name(key))

    def text(self, key: str, *, empty_allowed: bool = False) -> str:
        value = self._take(key)
        if not isinstance(value, str) or not (value or empty_allowed):
            raise SkuDataError(f"{self._name(key)}: text is expected, got {value!r}")
        return value

    def number(self, key: str) -> float:
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise SkuDataError(f"{self._name(key)}: a number is expected, got {value!r}")
        if not 0 <= value < float("inf"):
            raise SkuDataError(f"{self._name(key)}: must be 0 or more, and finite")
        return float(value)

    def optional_number(self, key: str) -> float | None:
        return self.number(key) if key in self._data else None

    def count(self, key: str, *, at_least: int = 0) -> int:
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise SkuDataError(
                f"{self._name(key)}: a whole number of {at_least} or more is expected, got {value!r}"
            )
        return value

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        if default is not None and key not in self._data:
            return default
        value = self._take(key)
        if not isinstance(value, bool):
            raise SkuDataError(f"{self._name(key)}: true or false is expected, got {value!r}")
        return value

    def refuse_the_rest(self) -> None:
        unknown = sorted(str(key) for key in self._data if key not in self._read)
        if unknown:
            raise SkuDataError(f"{self._name(unknown[0])}: unknown key")

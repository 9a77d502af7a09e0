"""Mappings are proposed for a real PostgreSQL, checked, and written by the calls of GART's paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres import PostgresServer, postgres, shop

import evergraph as eg

__all__ = ["postgres", "shop"]


def test_a_proposed_mapping_passes_the_check_and_what_fails_at_the_source_is_mended(
    shop: tuple[PostgresServer, str], tmp_path: Path
) -> None:
    server, name = shop
    text = eg.propose_mapping(server.url(name))
    assert 'label = "Customer"' in text
    assert 'type = "BOUGHT"' in text
    file = tmp_path / "shop.toml"
    file.write_text(text)
    found = eg.check_mapping(server.url(name), file)
    assert [finding.severity for finding in found] == ["warning"], found
    assert "no publication" in found[0].cause
    server.run(name, "ALTER TABLE product REPLICA IDENTITY NOTHING")
    error = next(finding for finding in eg.check_mapping(server.url(name), file) if finding.severity == "error")
    assert "FAILS AT THE SOURCE" in error.cause
    assert error.remedy
    server.run(name, error.remedy)
    assert eg.check_mapping(server.url(name), file) == found


def test_the_calls_of_the_paper_write_a_mapping_that_fits(shop: tuple[PostgresServer, str]) -> None:
    server, name = shop
    mapping = eg.RgMapping(server.url(name))
    mapping.def_vertex("Person", "customer").add_vprop("Person", "called", "name").def_vertex("Thing", "product")
    mapping.def_edge("BUYS", "Person", "Thing", "bought.customer_id", "bought.product_id")
    mapping.add_eprop("BUYS", "pieces", "pieces")
    assert repr(mapping) == "<evergraph.RgMapping, 3 rules>"
    with pytest.raises(eg.InvalidError, match="Preson"):
        mapping.add_vprop("Preson", "called", "name")
    assert repr(mapping) == "<evergraph.RgMapping, 3 rules>"
    errors = [finding for finding in eg.check_mapping(server.url(name), mapping) if finding.severity == "error"]
    assert errors == []


def test_a_password_in_a_url_is_refused_and_not_shown() -> None:
    with pytest.raises(eg.InvalidError, match="PGPASSWORD") as raised:
        eg.propose_mapping("postgres://ann:secret@localhost/shop")
    assert "secret" not in str(raised.value)

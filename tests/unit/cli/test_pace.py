from contextfind.cli.pace import Paces


def test_each_stage_has_a_pace_of_its_own() -> None:
    now = 0.0
    paces = Paces(lambda: now)
    assert paces.at("indexed", 0, 1_000, "files") == "files"
    now = 10.0
    assert paces.at("indexed", 500, 1_000, "files") == "files, 50/s, 10 s left"
    assert paces.at("embedded", 0, 900, "texts") == "texts"
    now = 13.0
    assert paces.at("embedded", 60, 900, "texts") == "texts, 20/s, 42 s left"

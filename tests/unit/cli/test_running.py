from contextfind.cli.running import rules_from
from contextfind.config.load import load_settings
from contextfind.server.rules import ServerRules


def test_every_rule_of_the_configuration_reaches_the_server() -> None:
    given = {
        "server.api_key": "key",
        "server.root_api_key": "root",
        "server.max_body_bytes": 2_048,
        "server.max_upload_bytes": 4_096,
        "server.answer_seconds": 7.0,
        "server.wait_seconds": 9.0,
        "server.cors_origins": ["https://a.example"],
        "server.rate_limit_per_minute": 600,
        "server.rate_limit_burst": 20,
    }
    rules = rules_from(load_settings(None, {"HOME": "/nowhere"}, given).settings)
    assert rules == ServerRules(
        api_key="key",
        root_api_key="root",
        max_body_bytes=2_048,
        max_upload_bytes=4_096,
        answer_seconds=7.0,
        wait_seconds=9.0,
        cors_origins=("https://a.example",),
        rate_limit_per_minute=600,
        rate_limit_burst=20,
    )

"""Plain values as YAML."""

from pico_gz.cli.tools.containers.compose_file import yaml_text


def test_block_style():
    value = {
        "name": "x",
        "user": "10001:10001",
        "restart": "no",
        "init": True,
        "ports": ["127.0.0.1:1:1", "b"],
        "many": ["a", "b", "c", "d", "e"],
        "volumes": [{"type": "bind", "bind": {"create_host_path": False}}, "runs:/runs"],
        "empty": {},
        "none": [],
    }
    assert yaml_text(value) == (
        "name: x\n"
        'user: "10001:10001"\n'
        'restart: "no"\n'
        "init: true\n"
        'ports: ["127.0.0.1:1:1", b]\n'
        "many:\n  - a\n  - b\n  - c\n  - d\n  - e\n"
        "volumes:\n"
        "  - type: bind\n"
        "    bind:\n"
        "      create_host_path: false\n"
        '  - "runs:/runs"\n'
        "empty: {}\n"
        "none: []\n"
    )


def test_text_that_looks_like_something_else_is_quoted():
    for text in ("on", "NO", "1.5", "", "a: b", "#x", "ü", "- a", "null", "~"):
        assert yaml_text({"k": text}) == f'k: "{text}"\n'

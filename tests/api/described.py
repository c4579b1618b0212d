"""Holding answers to what /openapi.json says about them."""

from dataclasses import dataclass, field
from typing import Any

import httpx
from jsonschema import Draft202012Validator

JSON = "application/json"


@dataclass
class Description:
    """An OpenAPI document; `seen` collects which (method, path, status) were held to it."""

    page: dict[str, Any]
    seen: set[tuple[str, str, int]] = field(default_factory=set)

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [
            (method, path, operation)
            for path, methods in self.page["paths"].items()
            for method, operation in methods.items()
        ]

    def operation(self, method: str, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.page["paths"][path][method]
        return found

    def examples(self, method: str, path: str) -> list[Any]:
        content = self.operation(method, path).get("requestBody", {}).get("content", {})
        return [one["value"] for one in content.get(JSON, {}).get("examples", {}).values()]

    def parameters(self, method: str, path: str) -> dict[str, Any]:
        """Return the parameters that have an example, with it."""
        return {
            one["name"]: one["schema"]["examples"][0]
            for one in self.operation(method, path).get("parameters", [])
            if "examples" in one["schema"]
        }

    def hold(self, method: str, path: str, answer: httpx.Response) -> Any:
        """Return the body of an answer that is as described: status, type, headers, schema."""
        responses = self.operation(method, path)["responses"]
        assert str(answer.status_code) in responses, (method, path, answer.text)
        told = responses[str(answer.status_code)]
        self.seen.add((method, path, answer.status_code))
        if JSON not in told["content"]:  # a file
            return None
        assert answer.headers["content-type"] == JSON
        assert "x-request-id" in answer.headers
        schema = {**told["content"][JSON]["schema"], "components": self.page["components"]}
        errors = list(Draft202012Validator(schema).iter_errors(answer.json()))
        assert errors == [], (method, path, [error.message for error in errors])
        return answer.json()

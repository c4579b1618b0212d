"""Routes of this API that are known and not built, and what to use instead."""

# The longest prefix wins. A path that no prefix covers is simply unknown.
_HINTS = {
    "/api/v1/stats/sessions": "use GET /api/v1/sessions, and GET /metrics",
    "/api/v1/debug": "use GET /api/v1/system/status",
    "/api/v1/pack": "use contextfind export and contextfind import, or contextfind backup",
    "/api/v1/fs/cp": "GET /api/v1/content/read and POST /api/v1/content/write",
    "/api/v1/compile": "not part of this server",
    "/api/v1/watches": "call POST /api/v1/resources again: only what changed is read anew",
    "/api/v1/relations": "links between addresses are not kept",
    "/api/v1/snapshot": "use contextfind backup, or contextfind export",
    "/api/v1/acl": "a key decides what its user may see",
    "/api/v1/privacy-configs": "a key decides what its user may see",
    "/api/v1/console": "use GET /docs",
    "/api/v1/agent-evolution": "not part of this server",
    "/api/v1/tool-results": "not part of this server",
    "/api/v1/openviking-assets": "not part of this server",
    "/api/v1/config": "GET /api/v1/system/status shows what is in force",
    "/api/v1/admin/accounts": "GET /api/v1/admin/accounts?name=ACCOUNT tells of one; see GET /docs",
    "/api/v1/admin": "see GET /docs for the admin routes that are there",
    "/bot": "not part of this server",
    "/studio": "use GET /docs",
}


def hint_for(path: str) -> str | None:
    """Return what to use instead of a known route, None for a path nobody knows."""
    found = [known for known in _HINTS if path == known or path.startswith(known + "/")]
    return _HINTS[max(found, key=len)] if found else None

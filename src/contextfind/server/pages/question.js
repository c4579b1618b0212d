// The form as a question, as an address of this page, and back.

import { byId } from "./dom.js";
import { word } from "./words.js";

const TEXTS = ["query", "target", "tags", "since", "until", "limit", "threshold", "session", "filter"];
const CHOICES = ["kind", "level", "mode"];
const NAMES = { query: "query", target: "target_uri", since: "since", until: "until" };
const LIMIT = "10"; // what the form starts with

const checked = (name) => [...document.querySelectorAll(`input[name="${name}"]:checked`)].map((one) => one.value);

/** Return {path, body} of what the form asks; throws SyntaxError where the filter is no JSON. */
export function asked() {
  const body = { include_provenance: true, telemetry: true };
  for (const [id, field] of Object.entries(NAMES)) {
    const text = byId(id).value.trim();
    if (text !== "") body[field] = text;
  }
  const tags = byId("tags").value.split(/[,，]/u).map((tag) => tag.trim()).filter(Boolean);
  if (tags.length > 0) body.tags = tags;
  const kinds = checked("kind");
  if (kinds.length > 0) body.context_type = kinds;
  const levels = checked("level").map(Number);
  if (levels.length > 0) body.level = levels;
  if (byId("limit").value !== "") body.limit = Number(byId("limit").value);
  if (byId("threshold").value !== "") body.score_threshold = Number(byId("threshold").value);
  if (byId("filter").value.trim() !== "") body.filter = JSON.parse(byId("filter").value);
  const mode = checked("mode")[0];
  if (mode === "search" && byId("session").value.trim() !== "") body.session_id = byId("session").value.trim();
  return { path: `api/v1/search/${mode}`, body };
}

/** Whether a body selects anything; the server refuses one that does not. */
export const selects = (body) =>
  ["query", "tags", "context_type", "since", "until", "filter"].some((field) => field in body);

/** Return the form as what stands behind `#search?` in the address of the page. */
export function asAddress() {
  const parts = new URLSearchParams();
  for (const id of TEXTS) {
    const value = byId(id).value.trim();
    if (value !== "" && !(id === "limit" && value === LIMIT)) parts.set(id, value);
  }
  for (const name of CHOICES) {
    for (const value of checked(name)) if (value !== "find") parts.append(name, value);
  }
  return parts.toString();
}

/** Fill the form from such an address. */
export function fromAddress(text) {
  const parts = new URLSearchParams(text);
  for (const id of TEXTS) byId(id).value = parts.get(id) ?? (id === "limit" ? LIMIT : "");
  for (const name of CHOICES) {
    const values = parts.getAll(name);
    for (const one of document.querySelectorAll(`input[name="${name}"]`)) {
      one.checked = values.includes(one.value) || (name === "mode" && values.length === 0 && one.value === "find");
    }
  }
  countFilters();
}

/** Empty the filters; the question stays. */
export function clearFilters() {
  fromAddress(new URLSearchParams({ query: byId("query").value }).toString());
}

/** Say how many filters are set, also while they are folded away. */
export function countFilters() {
  const parts = new URLSearchParams(asAddress());
  const set = new Set([...parts.keys()].filter((name) => name !== "query")).size;
  document.querySelector("#filters > summary").textContent =
    set === 0 ? word("filters") : word("filtersOn", { n: set });
}

/** Return the request as a shell sends it. */
export function asCurl({ path, body }) {
  const url = new URL(path, document.baseURI);
  const data = JSON.stringify(body, null, 1).replaceAll("'", "'\\''");
  return `curl '${url}' -H 'Content-Type: application/json' -H "X-API-Key: $KEY" -d '${data}'`;
}

// Asking the server this page came from. Addresses are relative, so a proxy may put it below any path.

import { key } from "./store.js";

const PATIENCE = 60_000; // milliseconds; a search with a model that plans takes a few seconds

let refused = null; // the key that was refused last

/** Whether the key in use was refused: it is not sent again without being asked to, for wrong keys are counted. */
export const isRefused = () => refused === key();

/** A refusal of the server, or none at all: `code` is the server's own, GONE or SLOW. */
export class Refusal extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Return {result, headers, body} of a request; throws Refusal, and AbortError where `signal` says so. */
export async function call(method, path, { body, query, signal } = {}) {
  const answer = await send(method, path, { body, query, signal });
  const told = await answer.json().catch(() => null);
  if (told === null || typeof told !== "object") {
    throw new Refusal("GONE", `HTTP ${answer.status}`, answer.status);
  }
  if (told.error?.code === "UNAUTHENTICATED") refused = key();
  if (told.status === "error") throw new Refusal(told.error.code, told.error.message, answer.status);
  return { result: told.result, headers: answer.headers, body: told };
}

/** Return the text of an answer whatever its shape; throws Refusal unless it is a good one. */
export async function text(path) {
  const answer = await send("GET", path, {});
  const told = await answer.text();
  if (answer.ok) return told;
  let error = null;
  try {
    error = JSON.parse(told).error;
  } catch {
    // no envelope: a proxy's own page
  }
  throw new Refusal(error?.code ?? "GONE", error?.message ?? `HTTP ${answer.status}`, answer.status);
}

async function send(method, path, { body, query, signal }) {
  const late = AbortSignal.timeout(PATIENCE);
  const headers = {};
  if (key() !== "") headers["Authorization"] = `Bearer ${encodeKey(key())}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const url = query === undefined ? path : `${path}?${new URLSearchParams(query)}`;
  try {
    return await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(late.aborted ? "SLOW" : "GONE", String(error.message ?? error));
  }
}

/** Return a key as a header carries it: its UTF-8 bytes, each as one character. */
function encodeKey(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Return the names in a header that lists them, percent-encoded as the server does. */
export function listed(headers, name) {
  return (headers.get(name) ?? "").split(",").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

// The text behind an address, as a preview.

import { call } from "./api.js";
import { el, fill, marked } from "./dom.js";
import { said } from "./saying.js";
import { word } from "./words.js";

const MOST = 100_000; // characters shown; a browser lays out more of them slowly

/** Read a text into an element, words of it marked, and scroll to the first of them. */
export async function showText(element, uri, words = [], path = "api/v1/content/read") {
  fill(element, el("p", { class: "quiet" }, word("loading")));
  try {
    const { result } = await call("GET", path, { query: { uri } });
    const text = el("pre", { tabIndex: 0, "aria-label": word("content") }, marked(result.slice(0, MOST), words));
    const cut = result.length > MOST ? el("p", { class: "quiet" }, word("cutAt", { n: MOST })) : null;
    fill(element, text, cut);
    const first = text.querySelector("mark");
    if (first !== null) text.scrollTop = first.offsetTop - text.offsetTop - text.clientHeight / 3;
  } catch (error) {
    fill(element, el("p", { class: "wrong", role: "alert" }, word("unreadable", { why: said(error) })));
  }
}

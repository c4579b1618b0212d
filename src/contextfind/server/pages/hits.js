// The list of hits, each with its reason, and its text when asked for.

import { bar, byId, copy, el, parentOf, score, spoken, titleOf } from "./dom.js";
import { narrow } from "./search.js";
import { showText } from "./text.js";
import { word } from "./words.js";

const NAMES = ["abstract", "overview", "fileLevel"];

export function showHits(list, hits) {
  list.replaceChildren(...hits.map(shown));
}

/** Move through the hits with the arrows, close a text with Escape. */
export function startHits() {
  byId("hits").addEventListener("keydown", (event) => {
    const titles = [...byId("hits").querySelectorAll(".hit-title")];
    const at = titles.findIndex((title) => title.closest("li").contains(event.target));
    if (event.key === "Escape") {
      leave(titles[at]);
    } else if (event.target === titles[at] && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? byId("query") : titles[Math.min(next, titles.length - 1)]).focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  byId("query").addEventListener("keydown", (event) => {
    const first = byId("hits").querySelector(".hit-title");
    if (event.key !== "ArrowDown" || first === null) return;
    event.preventDefault();
    first.focus();
  });
}

function leave(title) {
  if (title === undefined) return;
  if (title.getAttribute("aria-expanded") === "true") {
    title.click();
    title.focus();
  } else {
    byId("query").focus();
  }
}

function shown(hit, at) {
  const text = el("div", { class: "text", hidden: true, id: `text-${at}` });
  const words = wordsOf(hit.match_reason);
  const title = el("button", { type: "button", class: "hit-title", title: word("open"), "aria-expanded": "false", "aria-controls": text.id }, titleOf(hit.uri, hit.level));
  title.addEventListener("click", () => {
    text.hidden = !text.hidden;
    title.setAttribute("aria-expanded", String(!text.hidden));
    if (!text.hidden && text.childElementCount === 0) showText(text, hit.uri, words);
  });
  return el(
    "li", { class: "hit", id: `hit-${at + 1}` },
    el("div", { class: "hit-head" },
      spoken(String(at + 1), word("rank", { n: at + 1 }), "rank"),
      el("h3", {}, title),
      el("span", { class: "badge" }, word(hit.context_type)),
      el("span", { class: "badge", title: word(`level${hit.level}`) }, word(NAMES[hit.level])),
      el("span", { class: "score" }, bar(hit.score), spoken(score(hit.score), word("scoreIs", { n: score(hit.score) }))),
    ),
    el("p", { class: "uri" }, hit.uri),
    el("p", { class: "abstract" }, hit.abstract),
    el("p", { class: "why" }, word("whyHere", { why: hit.match_reason })),
    el("div", { class: "row" }, hit.tags.map(tagButton), actions(hit)),
    text,
  );
}

function tagButton(tag) {
  return el("button", { type: "button", class: "tag", "aria-label": word("tag", { tag }), onclick: () => narrow(tag) }, tag);
}

function actions(hit) {
  const place = hit.level === 2 ? hit.uri : parentOf(hit.uri);
  return [
    el("a", { class: "action", href: `#tree?${new URLSearchParams({ uri: place })}` }, word("showInTree")),
    el("button", { type: "button", class: "action", onclick: async (event) => {
      if (await copy(hit.uri)) event.target.textContent = word("copied");
    } }, word("copyAddress")),
  ];
}

/** Return the words that a reason names. */
function wordsOf(reason) {
  const named = /(?:^|, )words: (.*?)(?:, (?:meaning \d|its directory matches|files below it match|same text in)|$)/u.exec(reason);
  return named === null ? [] : named[1].split(", ");
}

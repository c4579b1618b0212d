// The walk as a picture: the part of the tree that was opened, in which order, and where the hits hang.

import { bar, el, lastName, parentOf, score, spoken } from "./dom.js";
import { number, word } from "./words.js";

const ROOT = "viking://";

/** Show one picture per question that was searched. */
export function showTrace(element, provenance, hits) {
  element.replaceChildren(...provenance.map((walk) => picture(walk, hits, provenance.length > 1)));
}

function picture(walk, hits, several) {
  const { events, statistics: told, formulas, index_plans: plans } = walk.thinking_trace;
  const of = (kind) => events.filter((event) => event.event === kind);
  const ranks = new Map(hits.map((hit, at) => [hit.uri, at + 1]));
  const ending = of("end")[0]?.reason ?? "";
  const about = word("traceAbout", {
    dirs: told.directories_searched, rounds: told.convergence_rounds,
    seen: number(told.candidates_collected), kept: of("keep").length,
  });
  return el(
    "article", { class: "walk" },
    several ? el("h3", {}, word("walk", { query: walk.query })) : null,
    el("p", {}, about, " ", el("span", { class: "quiet" }, ending)),
    el("ul", { class: "map" }, branch(grow(of("open"), of("keep")), ranks)),
    cuts(of("cut")),
    el("details", {}, el("summary", {}, word("formulas")), el("ul", {}, [...formulas, ...plans].map((line) => el("li", {}, line)))),
    el("details", {}, el("summary", {}, word("steps")), steps(events)),
  );
}

/** Return the opened directories and the hits as a tree; places between them are there, not opened. */
function grow(opened, kept) {
  const places = new Map();
  const at = (uri) => {
    if (!places.has(uri)) {
      const place = { uri, opened: null, order: 0, hits: [], below: [] };
      places.set(uri, place);
      if (uri !== ROOT) at(parentOf(uri)).below.push(place);
    }
    return places.get(uri);
  };
  const root = at(ROOT);
  opened.forEach((event, order) => Object.assign(at(event.uri), { opened: event, order: order + 1 }));
  for (const event of kept) at(parentOf(event.uri)).hits.push(event);
  return root;
}

function branch(place, ranks) {
  const below = [...place.below].sort((a, b) => first(a) - first(b));
  const inside = [...place.hits.map((event) => leaf(event, ranks)), ...below.map((one) => branch(one, ranks))];
  return el("li", {}, label(place), inside.length > 0 ? el("ul", {}, inside) : null);
}

const first = (place) => Math.min(place.order || Infinity, ...place.below.map(first));

function label(place) {
  const name = place.uri === ROOT ? ROOT : `${lastName(place.uri)}/`;
  const event = place.opened;
  if (event === null) {
    return el("span", { class: "place closed", title: place.uri }, name, el("span", { class: "unseen" }, ` (${word("notVisited")})`));
  }
  return el(
    "span", { class: "place opened", title: `${place.uri}\n${event.reason}` },
    spoken(String(place.order), word("opened", { n: place.order, round: event.round }), "order"),
    name, bar(event.score ?? 0), el("span", { class: "small" }, score(event.score)),
    el("span", { class: "small quiet" }, event.reason),
  );
}

function leaf(event, ranks) {
  const rank = ranks.get(event.uri);
  const name = called(event.uri);
  const link = rank === undefined ? name : el("a", { href: `#hit-${rank}`, onclick: (click) => goTo(click, rank) }, name);
  return el(
    "li", {},
    el("span", { class: "place hit-leaf", title: `${event.uri}\n${event.reason}` },
      el("span", { class: "rank" }, rank === undefined ? "★" : `★${rank}`), link,
      bar(event.score ?? 0, "good"), el("span", { class: "small" }, score(event.score))),
    parts(event.parts),
  );
}

const SUMMARIES = { ".abstract.md": "abstract", ".overview.md": "overview" };

/** Return what a hit is called below its directory. */
function called(uri) {
  const name = lastName(uri);
  return name in SUMMARIES ? word(SUMMARIES[name]) : name;
}

function goTo(click, rank) {
  click.preventDefault();
  const title = document.querySelector(`#hit-${rank} .hit-title`);
  title.scrollIntoView({ block: "center" });
  title.focus();
}

/** Return what a score is made of, a bar for each part that there is. */
function parts(made) {
  if (made === null) return null;
  const shown = ["own", "meaning", "words", "evidence", "reranked", "hotness"].filter((name) => typeof made[name] === "number");
  const witness = (name) => (name === "evidence" && made.witness ? ` (${lastName(made.witness)})` : "");
  return el("dl", { class: "parts" }, shown.map((name) => el(
    "div", {}, el("dt", {}, word(name), witness(name)), el("dd", {}, bar(made[name]), score(made[name])),
  )));
}

function cuts(left) {
  if (left.length === 0) return null;
  const lines = left.map((event) => el("li", {}, el("span", { class: "uri" }, event.uri), " ", score(event.score), el("span", { class: "small quiet" }, ` ${event.reason}`)));
  return el("details", {}, el("summary", {}, `${word("cutTitle")} (${left.length})`), el("ul", { class: "plain" }, lines));
}

function steps(events) {
  const head = ["stepEvent", "addresses", "scoreHead", "stepReason"].map((name) => el("th", { scope: "col" }, word(name)));
  const rows = events.map((event) => el(
    "tr", { class: event.event }, el("td", {}, word(`step.${event.event}`)), el("td", { class: "uri" }, event.uri ?? ""),
    el("td", {}, event.score === null ? "" : score(event.score)), el("td", {}, event.reason),
  ));
  return el("div", { class: "scroll", tabIndex: 0 }, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

// The search: asking, and what is told of the answer.

import { call, listed } from "./api.js";
import { byId, copy, el, fill } from "./dom.js";
import { showHits } from "./hits.js";
import { asAddress, asCurl, asked, clearFilters, countFilters, fromAddress, selects } from "./question.js";
import { said } from "./saying.js";
import { showTrace } from "./trace.js";
import { onLanguage, word } from "./words.js";

let under = null; // the request under way
let last = null; // what was told last, for another language

export function startSearch() {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  byId("filters").addEventListener("input", countFilters);
  byId("clear").addEventListener("click", clearFilters);
  byId("copy-curl").addEventListener("click", async (event) => {
    if (await copy(byId("curl").textContent)) event.target.textContent = word("copied");
  });
  onLanguage(() => {
    countFilters();
    if (last !== null) last();
  });
}

/** Ask what an address of the page says; where it only says among what, wait for the question. */
export function searchFor(address) {
  fromAddress(address);
  byId("filters").open = [...new URLSearchParams(address).keys()].some((name) => name !== "query");
  if (["query", "tags", "kind", "since", "until", "filter"].some((name) => new URLSearchParams(address).has(name))) search();
  else byId("query").focus();
}

/** Add a tag to the filters and ask again. */
export function narrow(tag) {
  const tags = byId("tags").value.split(",").map((one) => one.trim()).filter(Boolean);
  byId("tags").value = [...new Set([...tags, tag])].join(", ");
  byId("filters").open = true;
  search();
}

async function search() {
  under?.abort();
  let question;
  try {
    question = asked();
  } catch (error) {
    return tell(() => say(word("badFilter", { why: error.message }), true));
  }
  if (!selects(question.body)) return tell(() => say(word("needQuery"), true));
  const mine = (under = new AbortController());
  history.replaceState(null, "", `#search?${asAddress()}`);
  countFilters();
  tell(() => say(word("searching")));
  byId("hits").setAttribute("aria-busy", "true");
  try {
    const answer = await call("POST", question.path, { body: question.body, signal: mine.signal });
    if (mine === under) tell(() => show(question, answer));
  } catch (error) {
    if (mine === under) tell(() => fail(error));
  } finally {
    if (mine === under) byId("hits").removeAttribute("aria-busy");
  }
}

function tell(showing) {
  last = showing;
  showing();
}

function say(text, wrong = false) {
  byId("said").textContent = text;
  byId("said").classList.toggle("wrong", wrong);
}

function fail(error) {
  clearAnswer();
  say(said(error), true);
}

function clearAnswer() {
  for (const id of ["notices", "plan", "hits", "walks"]) fill(byId(id));
  byId("trace").hidden = true;
  byId("request").hidden = true;
}

function show(question, { result, headers, body }) {
  clearAnswer();
  const hits = [...result.memories, ...result.resources, ...result.skills].sort((a, b) => b.score - a.score);
  const ms = Math.round(body.telemetry?.summary?.duration_ms ?? 0);
  if (hits.length === 0) say(word("empty"));
  else say(word(hits.length === 1 ? "foundOne" : "found", { n: hits.length, ms }));
  fill(byId("notices"), notices(headers));
  showPlan(result.query_plan);
  showHits(byId("hits"), hits);
  showTrace(byId("walks"), result.provenance ?? [], hits);
  byId("trace").hidden = (result.provenance ?? []).length === 0;
  byId("curl").textContent = asCurl(question);
  byId("copy-curl").textContent = word("copy");
  byId("request").hidden = false;
}

function notices(headers) {
  const told = listed(headers, "X-Notes").map((text) => word("note", { text }));
  const strays = listed(headers, "X-Unknown-Targets");
  const ignored = listed(headers, "X-Ignored-Fields");
  if (strays.length > 0) told.push(word("unknownTargets", { names: strays.join(", ") }));
  if (ignored.length > 0) told.push(word("ignored", { names: ignored.join(", ") }));
  return told.map((text) => el("p", { class: "notice" }, text));
}

function showPlan(plan) {
  if (plan === undefined || plan === null) return;
  const lines = plan.queries.map((one) => el("li", {}, one.query, one.intent ? el("span", { class: "quiet" }, ` ${one.intent}`) : null));
  fill(byId("plan"), el("h3", {}, word("plan")), el("p", { class: "quiet" }, plan.reasoning), el("ul", {}, lines));
}

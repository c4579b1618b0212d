// Whether the server can answer, and its figures.

import { call, text } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { said } from "./saying.js";
import { number, word } from "./words.js";

/** Show readiness in the head of the page and, where that is open, on the page of health. */
export async function showHealth(whole) {
  const checks = await readiness();
  const good = checks !== null && checks.status === "ready";
  const told = checks === null ? word("gone", { why: "/ready" }) : word(good ? "ready" : "notReady");
  say(byId("state"), `${good ? "✓" : "✗"} ${checks === null || good ? told.split("(")[0] : told}`, !good);
  if (!whole) return;
  say(byId("health-said"), told, !good);
  fill(byId("checks"), Object.entries(checks?.checks ?? {}).map(([name, line]) => el(
    "li", { class: line === "ok" ? "ok" : "wrong" }, `${line === "ok" ? "✓" : "✗"} ${name}: ${line}`,
  )));
  await Promise.all([showFigures(), showMetrics()]);
}

/** Write only what changed: a screen reader reads every change. */
function say(element, told, wrong) {
  if (element.textContent !== told) element.textContent = told;
  element.classList.toggle("wrong", wrong);
}

async function readiness() {
  try {
    const answer = await fetch("ready", { cache: "no-store", signal: AbortSignal.timeout(10_000) });
    const told = await answer.json();
    return typeof told.checks === "object" ? told : null;
  } catch {
    return null;
  }
}

async function showFigures() {
  try {
    const { result } = await call("GET", "api/v1/system/status");
    const { counts = {}, backlog = {} } = result;
    const told = [
      ["files", counts.files], ["directories", counts.directories], ["records", counts.records],
      ["passages", counts.passages], ["vectors", counts.vectors], ["backlog", backlog.texts], ["accounts", counts.accounts],
    ].filter(([, value]) => typeof value === "number");
    fill(byId("figures"), told.map(([name, value]) => el("div", {}, el("dt", {}, word(name)), el("dd", {}, number(value)))));
  } catch (error) {
    fill(byId("figures"), el("p", { class: "wrong" }, said(error)));
  }
}

const NOTED = {
  contextfind_requests_in_flight: "inFlight",
  contextfind_requests_waiting: "waiting",
  contextfind_index_lag: "indexLag",
};

async function showMetrics() {
  const body = byId("metrics").tBodies[0];
  try {
    const lines = figures(await text("metrics"));
    byId("metrics-said").textContent = "";
    fill(body, lines.map(({ name, value, help }) => el("tr", { title: help }, el("th", { scope: "row" }, name), el("td", {}, number(value)), el("td", { class: "quiet" }, help))));
    const noted = lines.filter(({ name }) => name in NOTED);
    byId("figures").append(...noted.map(({ name, value }) => el("div", {}, el("dt", {}, word(NOTED[name])), el("dd", {}, number(value)))));
  } catch (error) {
    fill(body);
    byId("metrics-said").textContent = word("noFigures", { why: said(error) });
  }
}

/** Return the lines of a text as Prometheus reads it; buckets of histograms are left out. */
function figures(exposition) {
  const help = new Map();
  const found = [];
  for (const line of exposition.split("\n")) {
    const told = /^# HELP (\S+) (.*)/u.exec(line);
    if (told !== null) help.set(told[1], told[2]);
    const figure = /^([a-z_]+)(\{.*\})? (\S+)$/u.exec(line);
    if (figure === null || figure[1].endsWith("_bucket") || figure[1].endsWith("_created")) continue;
    found.push({ name: figure[1] + (figure[2] ?? ""), value: Number(figure[3]), help: help.get(figure[1]) ?? "" });
  }
  return found;
}

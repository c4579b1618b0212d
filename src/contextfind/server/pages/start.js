// What happens first: languages, views, the key, the keyboard, and looking again from time to time.

import { byId } from "./dom.js";
import { showHealth } from "./health.js";
import { startHits } from "./hits.js";
import { searchFor, startSearch } from "./search.js";
import * as store from "./store.js";
import { showTasks } from "./tasks.js";
import { showTree, startTree } from "./tree.js";
import { firstLanguage, onLanguage, switchLanguage, word } from "./words.js";

const VIEWS = ["search", "tree", "tasks", "health"];
const THEMES = ["system", "light", "dark"];
const SOON = 2_000; // milliseconds between two looks at tasks under way
const LATER = 10_000; // and at everything else
let view = "search";
let timer = 0;
let looking = 0; // which look is the newest; an older one plans no next

/** Return the view and what stands behind it in the address of the page. */
function here() {
  const [name, rest = ""] = location.hash.slice(1).split(/\?(.*)/su);
  return VIEWS.includes(name) ? [name, rest] : ["search", ""];
}

function show() {
  const [name, rest] = here();
  view = name;
  for (const one of VIEWS) byId(`view-${one}`).hidden = one !== name;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "search" && rest !== "") searchFor(rest);
  if (name === "tree") showTree(rest);
  look();
}

/** Look at what changes by itself; again soon while something is under way, never in a hidden tab. */
async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  const mine = ++looking;
  await showHealth(view === "health");
  const busy = view === "tasks" && (await showTasks());
  if (mine === looking) timer = setTimeout(look, busy ? SOON : LATER);
}

function startKey() {
  byId("key").value = store.key();
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    store.setKey(byId("key").value.trim());
    byId("key-help").textContent = word("keyKept");
    show();
  });
  byId("key-forget").addEventListener("click", () => {
    store.setKey("");
    byId("key").value = "";
    byId("key-help").textContent = word("keyForgotten");
  });
}

function startTheme() {
  const button = byId("theme");
  const dress = () => {
    const theme = THEMES.includes(store.theme()) ? store.theme() : "system";
    document.documentElement.dataset.theme = theme;
    button.textContent = word(theme);
  };
  button.addEventListener("click", () => {
    store.setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
    dress();
  });
  onLanguage(dress);
}

function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (view !== "search") location.hash = "#search";
    byId("view-search").hidden = false;
    byId("query").focus();
    byId("query").select();
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
}

startTheme();
startSearch();
startHits();
startTree();
startKey();
startKeyboard();
firstLanguage();
byId("language").addEventListener("click", () => {
  switchLanguage();
  look();
});
window.addEventListener("hashchange", show);
document.addEventListener("visibilitychange", look);
show();
if (view === "search") byId("query").focus();

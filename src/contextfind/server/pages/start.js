// What happens first: languages, views, the key, the keyboard, and looking again from time to time.

import { isRefused } from "./api.js";
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
  document.title = `${word(name)} · contextfind`;
  look(true);
}

/** Look at what changes by itself; again soon while something is under way, never in a hidden tab. */
async function look(wanted = false) {
  clearTimeout(timer);
  if (document.hidden) return;
  const mine = ++looking;
  const may = wanted || !isRefused();
  await showHealth(view === "health" && may);
  const busy = view === "tasks" && may && (await showTasks());
  if (mine === looking) timer = setTimeout(() => look(), busy ? SOON : LATER);
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
    history.replaceState(null, "", "#search");
    location.reload(); // what the key has shown goes with it
  });
}

/** Say at once that a key is needed, where it is and there is none. */
async function askForKey() {
  if (store.key() !== "") return;
  try {
    const answer = await fetch("health", { cache: "no-store" });
    if ((await answer.json()).auth_mode === "dev") return;
  } catch {
    return; // the head of the page says that the server is gone
  }
  byId("keys").open = true;
  if (byId("said").textContent === "") byId("said").textContent = word("anyKey");
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
  byId("keys").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    byId("keys").open = false;
    byId("keys").querySelector("summary").focus();
  });
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
  document.title = `${word(view)} · contextfind`;
  look(true);
});
window.addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => look());
show();
askForKey();
if (view === "search") byId("query").focus();

// The tree: directories that open when asked, and what a place says of itself on its three levels.

import { call } from "./api.js";
import { byId, copy, el, fill, lastName, parentOf } from "./dom.js";
import { said } from "./saying.js";
import { showText } from "./text.js";
import { moment, number, onLanguage, word } from "./words.js";

const ROOT = "viking://";
const PAGE = 200; // entries fetched at once; a longer directory has a button for more
let current = null; // the entry in the right pane

export function startTree() {
  byId("branches").addEventListener("keydown", move);
  onLanguage(() => {
    if (current !== null) showLeaf(current);
  });
}

/** Show the tree, opened down to an address when there is one. */
export async function showTree(address) {
  const list = byId("branches");
  const wanted = new URLSearchParams(address).get("uri");
  if (!wanted && list.querySelector(".branch") !== null) return; // as it was left
  await load(list, ROOT);
  if (!wanted) return;
  let names = list;
  for (const uri of [...above(wanted), wanted]) {
    const item = [...names.children].find((one) => one.dataset.uri === uri);
    if (item === undefined) return;
    const button = item.querySelector("button");
    if (uri === wanted) {
      button.click();
      button.focus();
    } else {
      names = await open(item);
    }
  }
}

function above(uri) {
  const found = [];
  for (let place = parentOf(uri); place !== ROOT && found.length < 64; place = parentOf(place)) found.unshift(place);
  return found;
}

async function load(list, uri, offset = 0) {
  if (offset === 0) fill(list, el("li", { class: "quiet" }, word("loading")));
  try {
    const { result, body } = await call("GET", "api/v1/fs/ls", { query: { uri, limit: PAGE, offset } });
    if (offset === 0) fill(list);
    list.querySelector(":scope > .more")?.remove();
    const lines = result.map(entry);
    list.append(...lines);
    if (offset > 0) lines[0]?.querySelector("button").focus(); // the button for more is gone
    if (body.has_more) {
      const more = el("button", { type: "button", onclick: () => load(list, uri, offset + result.length) }, word("more"));
      list.append(el("li", { class: "more" }, more));
    }
    if (list.childElementCount === 0) list.append(el("li", { class: "quiet" }, word(uri === ROOT ? "emptyTree" : "emptyDirectory")));
  } catch (error) {
    fill(list, el("li", { class: "wrong", role: "alert" }, said(error)));
  }
}

function entry(line) {
  const item = el("li", {});
  item.dataset.uri = line.uri;
  const button = el("button", { type: "button", class: line.isDir ? "branch" : "leaf", "aria-controls": "leaf" }, line.isDir ? `${line.name}/` : line.name);
  if (line.isDir) button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    if (line.isDir) (item.querySelector("ul") === null ? open : shut)(item);
    choose(button, line);
  });
  item.append(button);
  return item;
}

async function open(item) {
  const known = item.querySelector("ul");
  if (known !== null) return known;
  const list = el("ul", {});
  item.append(list);
  item.querySelector("button").setAttribute("aria-expanded", "true");
  await load(list, item.dataset.uri);
  return list;
}

function shut(item) {
  item.querySelector("ul").remove();
  item.querySelector("button").setAttribute("aria-expanded", "false");
}

function choose(button, line) {
  byId("branches").querySelector("[aria-current]")?.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
  history.replaceState(null, "", `#tree?${new URLSearchParams({ uri: line.uri })}`);
  showLeaf(line);
}

function showLeaf(line) {
  current = line;
  const text = el("div", { class: "text" });
  fill(
    byId("leaf"),
    el("h3", {}, lastName(line.uri)),
    el("p", { class: "uri" }, line.uri),
    el("p", { class: "quiet" }, `${word(line.isDir ? "directory" : "file")}, ${number(line.size)} B, ${moment(line.modTime)}`),
    line.tags.length > 0 ? el("p", {}, line.tags.map((tag) => el("span", { class: "tag" }, tag))) : null,
    el("div", { class: "row" },
      el("a", { class: "action", href: `#search?${new URLSearchParams({ target: line.uri })}` }, word("searchHere")),
      el("button", { type: "button", class: "action", onclick: async (event) => {
        if (await copy(line.uri)) event.target.textContent = word("copied");
      } }, word("copyAddress"))),
    el("h4", {}, word("abstract")), el("p", {}, line.abstract || "–"),
    el("h4", {}, word(line.isDir ? "overview" : "content")), text,
  );
  showText(text, line.uri, [], line.isDir ? "api/v1/content/overview" : "api/v1/content/read");
}

/** Arrows: down and up through what is shown, right opens, left shuts or goes to the directory. */
function move(event) {
  const buttons = [...byId("branches").querySelectorAll("button")];
  const at = buttons.indexOf(event.target);
  if (at < 0) return;
  const item = event.target.closest("li");
  const isOpen = event.target.getAttribute("aria-expanded");
  if (event.key === "ArrowDown") buttons[Math.min(at + 1, buttons.length - 1)].focus();
  else if (event.key === "ArrowUp") buttons[Math.max(at - 1, 0)].focus();
  else if (event.key === "ArrowRight" && isOpen === "false") open(item);
  else if (event.key === "ArrowLeft" && isOpen === "true") shut(item);
  else if (event.key === "ArrowLeft") item.parentElement.closest("li")?.querySelector("button").focus();
  else return;
  event.preventDefault();
}

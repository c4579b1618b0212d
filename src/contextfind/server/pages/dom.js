// Building pieces of the page. Texts become text nodes and never markup, whoever wrote them.

export const byId = (id) => document.getElementById(id);

/**
 * Return a new element. Properties that start with "on" are listeners, `class` and those with a dash
 * are attributes, the rest are properties. Children are elements or texts; null ones are left out.
 */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class" || key === "role" || key.includes("-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Replace what is inside an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return a text as nodes, with the given words marked. */
export function marked(text, words) {
  const wanted = words.filter((word) => word.length > 0).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (wanted.length === 0) return [text];
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
  return parts.map((part, at) => (at % 2 === 1 ? el("mark", {}, part) : part)).filter((part) => part !== "");
}

/** Return a bar of a share between 0 and 1; its number stands beside it for those who do not see it. */
export function bar(share, className = "") {
  const inside = el("span", { class: "bar-full" });
  inside.style.width = `${Math.round(Math.min(Math.max(share, 0), 1) * 100)}%`;
  return el("span", { class: `bar ${className}`, "aria-hidden": "true" }, inside);
}

/** Return a span that shows one text and has another one read out. */
export const spoken = (shown, told, className = "") =>
  el("span", {}, el("span", { class: className, "aria-hidden": "true" }, shown), el("span", { class: "unseen" }, told));

/** Return a number as scores are written. */
export const score = (value) => (typeof value === "number" ? value.toFixed(3) : "–");

/** Return the last name of an address. */
export const lastName = (uri) => uri.split("/").filter(Boolean).pop() ?? uri;

/** Return what a hit is called: a file by its name, the summary of a directory by the directory's. */
export const titleOf = (uri, level) => (level === 2 ? lastName(uri) : `${lastName(parentOf(uri))}/`);

/** Return the address of what holds an address. */
export function parentOf(uri) {
  const at = uri.lastIndexOf("/");
  return at <= "viking://".length - 1 ? "viking://" : uri.slice(0, at);
}

/** Copy a text; return whether the browser let us. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

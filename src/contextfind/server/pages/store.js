// What the browser remembers: the key for this tab only, language and theme for good.
// A browser may refuse to remember anything; then it lasts as long as the page.

const kept = new Map();

function get(area, name) {
  try {
    return area().getItem(name) ?? kept.get(name) ?? "";
  } catch {
    return kept.get(name) ?? "";
  }
}

function set(area, name, value) {
  kept.set(name, value);
  try {
    if (value === "") area().removeItem(name);
    else area().setItem(name, value);
  } catch {
    // kept in the page
  }
}

const tab = () => window.sessionStorage;
const good = () => window.localStorage;

export const key = () => get(tab, "contextfind.key");
export const setKey = (value) => set(tab, "contextfind.key", value);
export const language = () => get(good, "contextfind.language");
export const setLanguage = (value) => set(good, "contextfind.language", value);
export const theme = () => get(good, "contextfind.theme");
export const setTheme = (value) => set(good, "contextfind.theme", value);

// The words of the page in its two languages, and the switch between them.

import { ENGLISH } from "./words-en.js";
import { CHINESE } from "./words-zh.js";
import { language, setLanguage } from "./store.js";

const TABLES = { en: ENGLISH, zh: CHINESE };
const listeners = [];
let chosen = "en";

/** Return the words of a name; `{x}` in them is taken from `values`. */
export function word(name, values = {}) {
  const text = TABLES[chosen][name] ?? ENGLISH[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

export const locale = () => (chosen === "zh" ? "zh-CN" : "en");
export const number = (value) => new Intl.NumberFormat(locale(), { maximumFractionDigits: 2 }).format(value);
export const moment = (iso) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(iso));

/** Call back after each switch of language. */
export const onLanguage = (listener) => listeners.push(listener);

/** Say which language it is at first: the one chosen before, else the browser's. */
export function firstLanguage() {
  const wanted = language() || (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  speak(wanted in TABLES ? wanted : "en");
}

/** Switch to the other language, and remember that. */
export function switchLanguage() {
  speak(chosen === "en" ? "zh" : "en");
  setLanguage(chosen);
}

function speak(name) {
  chosen = name;
  document.documentElement.lang = name === "zh" ? "zh-CN" : "en";
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
  for (const one of document.querySelectorAll("[data-hint]")) one.placeholder = word(one.dataset.hint);
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", word(one.dataset.label));
  const button = document.getElementById("language");
  button.textContent = name === "zh" ? "English" : "中文";
  button.lang = name === "zh" ? "en" : "zh-CN";
  for (const listener of listeners) listener();
}

// What the server does in the background, and how far it is.

import { call } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { said } from "./saying.js";
import { moment, number, word } from "./words.js";

const SHOWN = 50; // tasks, newest first

/** Show the tasks; return whether one is under way. */
export async function showTasks() {
  try {
    const { result } = await call("GET", "api/v1/tasks", { query: { limit: SHOWN } });
    byId("tasks-said").textContent = result.length === 0 ? word("noTasks") : "";
    keepFocus(() => fill(byId("jobs"), result.map(card)));
    return result.some((task) => isOpen(task));
  } catch (error) {
    fill(byId("jobs"));
    byId("tasks-said").textContent = said(error);
    return false;
  }
}

const isOpen = (task) => task.status === "pending" || task.status === "running";

/** Keep the focus on the same button while the list is drawn anew. */
function keepFocus(draw) {
  const id = document.activeElement?.id ?? "";
  draw();
  if (id.startsWith("cancel-")) byId(id)?.focus();
}

function card(task) {
  return el(
    "li", { class: `task ${task.status}` },
    el("div", { class: "row" },
      el("strong", {}, task.task_type),
      el("span", { class: "badge" }, word(`task.${task.status}`), isOpen(task) && task.stage ? `: ${task.stage}` : ""),
      el("span", { class: "quiet" }, word("taskTime", { begun: moment(task.created_at_iso) })),
      isOpen(task) ? cancelButton(task) : null),
    task.resource_id ? el("p", { class: "uri" }, task.resource_id) : null,
    progress(task),
    task.error ? el("p", { class: "wrong" }, String(task.error.message ?? task.error)) : null,
    task.result ? el("p", { class: "small quiet" }, outcome(task.result)) : null,
  );
}

function progress(task) {
  if (!isOpen(task)) return null;
  const shown = el("progress", { max: Math.max(task.total, 1), "aria-label": task.task_type });
  if (task.total > 0) shown.value = task.done;
  const told = [`${number(task.done)} / ${number(task.total)}`];
  if (task.rate !== null) told.push(word("rate", { n: number(task.rate) }));
  if (task.eta_seconds !== null) told.push(word("timeLeft", { n: number(Math.ceil(task.eta_seconds)) }));
  return el("p", {}, shown, ` ${told.join(", ")}`);
}

function cancelButton(task) {
  return el("button", { type: "button", id: `cancel-${task.task_id}`, onclick: async () => {
    try {
      await call("POST", `api/v1/tasks/${encodeURIComponent(task.task_id)}/cancel`);
      await showTasks();
    } catch (error) {
      byId("tasks-said").textContent = said(error);
    }
  } }, word("cancel"));
}

/** Return the numbers of a result in one line, and how many were named in its lists. */
function outcome(result) {
  return Object.entries(result)
    .filter(([, value]) => (typeof value === "number" && value !== 0) || (Array.isArray(value) && value.length > 0))
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.length : number(value)}`)
    .join(", ");
}

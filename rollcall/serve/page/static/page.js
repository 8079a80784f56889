// What every page does in the browser: local times on hover, sorting, filtering, pictures, and changes as they come.
// Foreign text is only ever put in as text.

import { drawAll } from "/static/pictures.js";
import { followChanges } from "/static/live.js";
import { tellTicks } from "/static/ticks.js";

export function tellLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const local = new Date(time.dateTime).toLocaleString(undefined, { timeZoneName: "short" }) + " (your time)";
    time.title = time.title ? `${time.title}, ${local}` : local;
    time.dataset.local = "";
  }
}

function valueOf(cell) {
  const text = cell.dataset.sort ?? cell.textContent.trim();
  const number = Number.parseFloat(text);
  return text !== "" && Number.isFinite(number) && /^[-+\d.e]+( .*)?$/.test(text) && !/^\d{4}-\d\d-/.test(text) ? number : text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

export function sortAsChosen(table) {
  const heads = [...table.tHead.rows[0].cells];
  const place = heads.findIndex((head) => head.dataset.chosen);
  if (place < 0) return;
  const sign = heads[place].getAttribute("aria-sort") === "descending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row.cells[place]), row]);
  rows.sort((a, b) => sign * compare(a[0], b[0]));
  body.append(...rows.map(([, row]) => row));
}

function makeSortable(table) {
  table.tHead?.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (!head || !head.querySelector("button")) return;
    const next = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) {
      other.removeAttribute("aria-sort");
      delete other.dataset.chosen;
    }
    head.setAttribute("aria-sort", next);
    head.dataset.chosen = "yes";
    sortAsChosen(table);
  });
}

export function filterRows() {
  const table = document.querySelector("#groups");
  if (!table) return;
  const chosen = Object.fromEntries(
    [...document.querySelectorAll("[data-filter]")].map((field) => [field.dataset.filter, field.value.toLowerCase()]),
  );
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const name = row.cells[0].textContent.toLowerCase();
    const state = row.dataset.state.toLowerCase(), trouble = row.dataset.trouble;
    const fits = name.includes(chosen.text) && (!chosen.state || state === chosen.state) &&
      (!chosen.trouble || (chosen.trouble === "*" ? trouble !== "" : trouble.includes(chosen.trouble)));
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  document.querySelector("[data-count]").textContent = `${shown} of ${table.tBodies[0].rows.length} groups`;
}

function keepFilterInAddress() {
  const address = new URL(location.href);
  for (const [name, field] of [["search", "text"], ["state", "state"], ["trouble", "trouble"]]) {
    const value = document.querySelector(`[data-filter=${field}]`).value;
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
}

for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
for (const table of document.querySelectorAll("#groups")) tellTicks(table);
for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => { filterRows(); keepFilterInAddress(); });
}
document.querySelector("textarea#q")?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
});
tellLocalTimes(document);
filterRows();
drawAll();
followChanges();

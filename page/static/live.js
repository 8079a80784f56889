// Changes as they come: the server says that there is news, and the parts of the page that may differ are asked for
// again. A part is changed in place, so that scroll, selection, focus and opened details stay.

import { drawAll } from "/static/pictures.js";
import { filterRows, sortAsChosen, tellLocalTimes } from "/static/page.js";

const SOONEST_MS = 400;
// While a job goes on, how long ago something was is right again after this, whether or not anything happens.
const AGES_EVERY_MS = 30_000;

// What a cell says, without how long ago something was: that alone is no change.
function saidBy(cell) {
  const copy = cell.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.textContent = time.dateTime;
  return copy.textContent;
}

function changeRows(table, fresh) {
  const body = table.tBodies[0];
  const ordered = [];
  const known = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  // Of a copy: a row that is appended here is in the fresh table no more.
  for (const row of [...fresh.tBodies[0].rows]) {
    const old = known.get(row.dataset.key);
    known.delete(row.dataset.key);
    ordered.push(old ?? row);
    if (!old) {
      body.append(row);
      continue;
    }
    old.className = row.className;
    Object.assign(old.dataset, row.dataset);
    for (let place = 0; place < row.cells.length; place++) {
      const before = old.cells[place], now = row.cells[place];
      if (!before || before.textContent === now.textContent) continue;
      const isNews = saidBy(before) !== saidBy(now);
      before.replaceWith(now.cloneNode(true));
      if (!isNews) continue;
      old.classList.add("changed");
      setTimeout(() => old.classList.remove("changed"), 1500);
    }
  }
  for (const gone of known.values()) gone.remove();
  // In the server's order. Rows that stand right already are not moved: that would end a selection in them.
  for (const [place, row] of ordered.entries()) {
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
  }
  sortAsChosen(table);
}

function isInUse(part) {
  const selection = getSelection();
  return part.contains(document.activeElement) ||
    (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
}

async function lookAgain() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (document.querySelector("[data-until-ready]") && !fresh.querySelector("[data-until-ready]")) {
    location.reload();
    return;
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    if (!now || part.innerHTML === now.innerHTML) continue;
    if (part.matches("table[data-rows]")) changeRows(part, now);
    else if (!isInUse(part)) part.replaceChildren(...now.childNodes);
  }
  tellLocalTimes(document);
  filterRows();
  await drawAll();
}

export function followChanges() {
  if (document.body.dataset.at && !document.querySelector("[data-until-ready]")) return;
  const group = new URL(location.href).searchParams.get("group");
  let due = null, isLooking = false, isStale = false;
  const look = async () => {
    due = null;
    if (document.hidden) { isStale = true; return; }
    isLooking = true;
    try { await lookAgain(); } catch { /* the next change is looked at again */ }
    isLooking = false;
    if (isStale) { isStale = false; plan(); }
  };
  const plan = () => {
    if (isLooking) isStale = true;
    else if (due === null) due = setTimeout(look, SOONEST_MS);
  };
  const events = new EventSource("/events");
  let lostAt = null;
  // What came before this page listened, or while its server was away, is looked at as well.
  events.addEventListener("seen", (event) => {
    lostAt = null;
    if (event.data !== document.body.dataset.seen) plan();
    document.body.dataset.seen = event.data;
  });
  events.addEventListener("error", () => {
    document.body.dataset.seen = "";
    // The browser tries again and again; the first time is when it was lost.
    lostAt ??= new Date().toISOString().slice(11, 19);
    const place = document.querySelector("#liveness");
    place.textContent = `Not live: the server of this page is not reached since ${lostAt} UTC; all is shown as it was then.`;
  });
  events.addEventListener("changed", (event) => {
    const { groups } = JSON.parse(event.data);
    if (!groups || !groups.length || !group || groups.includes(group)) plan();
  });
  setInterval(() => { if (document.querySelector("#liveness .dot")) plan(); }, AGES_EVERY_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && isStale) { isStale = false; plan(); } });
}

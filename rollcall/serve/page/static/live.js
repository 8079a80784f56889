// Changes as they come: the server says that there is news, and the parts of the page that may differ are asked for
// again. A part is changed in place, so that scroll, selection, focus and opened details stay.

import { drawAll } from "/static/pictures.js";
import { filterRows, sortAsChosen, tellLocalTimes } from "/static/page.js";

const SOONEST_MS = 400;
// How often "... ago" is computed anew while a job writes, even if nothing happens.
const AGES_EVERY_MS = 30_000;
// How often to ask for news without a stream: of a history that a job writes, and of one that none does.
const ASK_LIVE_MS = 1_000;
const ASK_FINISHED_MS = 5_000;

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
      if (!before || before.innerHTML === now.innerHTML || before.contains(document.activeElement)) continue;
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
  document.body.dataset.seen = fresh.body.dataset.seen;
  const selection = getSelection();
  // What is selected stays in place where the browser does not see to it: at the top of the page.
  const held = selection && !selection.isCollapsed && scrollY === 0 ?
    selection.anchorNode.parentElement?.closest(".scroll") : null;
  const top = held?.getBoundingClientRect().top;
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    if (!now) continue;
    Object.assign(part.dataset, now.dataset);
    if (part.innerHTML === now.innerHTML) continue;
    if (part.matches("table[data-rows]")) changeRows(part, now);
    else if (!isInUse(part)) part.replaceChildren(...now.childNodes);
  }
  if (held) scrollBy(0, held.getBoundingClientRect().top - top);
  tellLocalTimes(document);
  filterRows();
  await drawAll();
}

// Whether the page says that a job writes the history.
const isLive = () => document.querySelector("#liveness .dot") !== null;

// News from the server while this tab is visible and a job writes the history: by the stream that all tabs share, or
// without one by a request every few seconds.
class News {
  constructor(take) {
    this.take = take;
    this.isWatched = false;
    if (window.SharedWorker) {
      this.port = new SharedWorker("/static/stream.js").port;
      this.port.addEventListener("message", ({ data }) => { if (this.isWatched) take(data); });
      this.port.start();
    }
  }

  // Called again whenever the page may have become visible or hidden, or its history live or finished.
  follow() {
    clearTimeout(this.asking);
    const isWritten = isLive();
    this.isWatched = !document.hidden && isWritten && Boolean(this.port);
    this.port?.postMessage(this.isWatched);
    if (!document.hidden) this.ask(isWritten);
  }

  // Also once where there is a stream: it reports what comes from now on.
  async ask(isWritten) {
    try {
      const answer = await fetch("/seen");
      if (answer.ok) this.take({ type: "seen", data: await answer.text() });
    } catch {
      this.take({ type: "error" });
    }
    if (this.isWatched || document.hidden) return;
    const isBeingRead = document.querySelector("[data-until-ready]") !== null;
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(isWritten), isBeingRead || isWritten ? ASK_LIVE_MS : ASK_FINISHED_MS);
  }

  leave() {
    this.isWatched = false;
    this.port?.postMessage(false);
  }
}

export function followChanges() {
  if (document.body.dataset.at && !document.querySelector("[data-until-ready]")) return;
  const group = new URL(location.href).searchParams.get("group");
  let due = null, isLooking = false, isStale = false, lostAt = null;
  const look = async () => {
    due = null;
    if (document.hidden) return;
    isLooking = true;
    const wasLive = isLive();
    try { await lookAgain(); } catch { document.body.dataset.seen = ""; }
    isLooking = false;
    if (isLive() !== wasLive) news.follow();
    if (isStale) { isStale = false; plan(); }
  };
  const plan = () => {
    if (isLooking) isStale = true;
    else if (due === null) due = setTimeout(look, SOONEST_MS);
  };
  const news = new News(({ type, data }) => {
    if (type === "error") {
      document.body.dataset.seen = "";
      // It is tried again and again; the first time is when it was lost.
      lostAt ??= new Date().toISOString().slice(11, 19);
      const place = document.querySelector("#liveness");
      place.textContent = `Not live: the server of this page is not reached since ${lostAt} UTC; all is shown as it was then.`;
    } else if (type === "seen") {
      lostAt = null;
      if (data !== document.body.dataset.seen) plan();
    } else {
      const { groups } = JSON.parse(data);
      if (!groups || !groups.length || !group || groups.includes(group)) plan();
    }
  });
  setInterval(() => { if (isLive()) plan(); }, AGES_EVERY_MS);
  document.addEventListener("visibilitychange", () => news.follow());
  addEventListener("pagehide", () => news.leave());
  addEventListener("pageshow", (event) => { if (event.persisted) news.follow(); });
  news.follow();
}

// The one stream of events of all tabs of a browser: a SharedWorker. It is open while a visible tab listens, since a
// browser has six connections to a host, and streams would take them from the pages.

const RETRY_MS = 2_000;
const listening = new Set();
let events = null, retry = null;

function postToAll(message) {
  for (const port of listening) port.postMessage(message);
}

function open() {
  clearTimeout(retry);
  events?.close();
  events = new EventSource("/events");
  events.addEventListener("seen", (event) => postToAll({ type: "seen", data: event.data }));
  events.addEventListener("changed", (event) => postToAll({ type: "changed", data: event.data }));
  events.addEventListener("error", () => {
    postToAll({ type: "error" });
    // A browser tries a broken connection again, but not an address that was answered by an error.
    if (events?.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY_MS);
  });
}

function close() {
  clearTimeout(retry);
  events?.close();
  events = null;
}

self.onconnect = ({ ports: [port] }) => {
  port.addEventListener("message", ({ data: listens }) => {
    if (listens) listening.add(port);
    else listening.delete(port);
    if (!listening.size) close();
    else if (!events) open();
  });
  port.start();
};

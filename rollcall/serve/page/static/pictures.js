// Pictures: the server draws each as wide as its place; a span that is chosen with the pointer is drawn larger, or goes
// into the address.

const drawn = new WeakMap(), listening = new WeakSet();

function addressOf(place) {
  const address = new URL(place.dataset.plot, location.href);
  address.searchParams.set("width", place.clientWidth);
  for (const end of ["from", "to"]) {
    if (place.dataset[end]) address.searchParams.set(end, place.dataset[end]);
  }
  return address;
}

async function draw(place) {
  const answer = await fetch(addressOf(place));
  const text = await answer.text();
  if (drawn.get(place) === text) return;
  drawn.set(place, text);
  place.classList.toggle("failed", !answer.ok);
  if (!answer.ok) {
    place.textContent = text;
    return;
  }
  place.replaceChildren(new DOMParser().parseFromString(text, "image/svg+xml").documentElement);
  place.classList.add("drawn");
}

// Where a pointer is within the frame, and which moment that is.
function under(svg, event) {
  const { left, right, from, to } = svg.dataset;
  const box = svg.getBoundingClientRect();
  const x = Math.min(Math.max((event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width), left), right);
  return { x, ms: Math.round(+from + ((x - left) / (right - left)) * (to - from)) };
}

function choosesSpan(place) {
  let began = null, chosen = null;
  place.addEventListener("pointerdown", (event) => {
    const svg = place.querySelector("svg");
    if (!svg || event.button !== 0) return;
    began = under(svg, event);
    chosen = document.createElementNS(svg.namespaceURI, "rect");
    chosen.classList.add("chosen");
    chosen.setAttribute("y", svg.dataset.top);
    chosen.setAttribute("height", svg.dataset.bottom - svg.dataset.top);
    svg.append(chosen);
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    if (!began) return;
    const { x } = under(place.querySelector("svg"), event);
    chosen.setAttribute("x", Math.min(began.x, x));
    chosen.setAttribute("width", Math.abs(x - began.x));
  });
  place.addEventListener("pointerup", (event) => {
    if (!began) return;
    const ended = under(place.querySelector("svg"), event), first = began;
    began = null;
    chosen.remove();
    if (Math.abs(ended.x - first.x) < 5) {
      // The pointer is captured, so links do not get the click.
      document.elementFromPoint(event.clientX, event.clientY)?.closest("a")?.dispatchEvent(new MouseEvent("click"));
      return;
    }
    show(place, Math.min(first.ms, ended.ms), Math.max(first.ms, ended.ms));
  });
  place.addEventListener("pointercancel", () => { began = null; chosen?.remove(); });
  place.addEventListener("dblclick", () => {
    delete place.dataset.from;
    delete place.dataset.to;
    draw(place);
  });
}

function show(place, from, to) {
  if (place.dataset.choose !== "span") {
    Object.assign(place.dataset, { from, to });
    draw(place);
    return;
  }
  const address = new URL(location.href);
  address.searchParams.set("from", from);
  address.searchParams.set("to", to);
  location.assign(address);
}

export async function drawAll() {
  const places = [...document.querySelectorAll("[data-plot]")];
  for (const place of places.filter((one) => !listening.has(one))) {
    listening.add(place);
    choosesSpan(place);
  }
  await Promise.all(places.map(draw));
}

let resized = 0;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(drawAll, 200);
});

// Pictures: plotly draws what the server says, in the colours of the page; a span can be chosen on the strip.

const drawn = new Map();

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ground: of("--ground"), ink: of("--ink"), line: of("--line"), raised: of("--raised") };
}

function dressed(layout) {
  const { ground, ink, line, raised } = colours();
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const shapes = (layout.shapes ?? []).map((shape) => {
    if (!dark || !shape.fillcolor) return shape;
    return { ...shape, fillcolor: shape.fillcolor === "#ffffff" ? ground : raised };
  });
  return {
    ...layout, shapes, template: undefined, autosize: true, width: undefined,
    paper_bgcolor: ground, plot_bgcolor: ground, font: { ...layout.font, color: ink },
    xaxis: { ...axis, automargin: true, ...layout.xaxis }, yaxis: { ...axis, automargin: true, ...layout.yaxis },
    hoverlabel: { align: "left" },
  };
}

function choosesSpan(place) {
  place.on("plotly_selected", (event) => {
    const range = event?.range?.x;
    if (!range) return;
    const [from, to] = range.map((text) => Math.round(new Date(`${String(text).replace(" ", "T")}Z`).getTime()));
    const address = new URL(location.href);
    address.searchParams.set("from", from);
    address.searchParams.set("to", to);
    location.assign(address);
  });
}

async function draw(place) {
  const answer = await fetch(place.dataset.plot);
  const text = await answer.text();
  if (!answer.ok) {
    place.classList.add("failed");
    place.textContent = text;
    return;
  }
  if (drawn.get(place) === text) return;
  const isFirst = !drawn.has(place);
  drawn.set(place, text);
  const { data, layout } = JSON.parse(text);
  if (isFirst) place.replaceChildren();
  place.classList.remove("failed");
  const shown = place.layout?.xaxis;
  const next = dressed(layout);
  if (!isFirst && shown && shown.autorange === false && place.dataset.zoomed) next.xaxis.range = shown.range;
  await window.Plotly.react(place, data, next, { responsive: true, displaylogo: false, scrollZoom: false });
  if (!isFirst) return;
  place.on("plotly_relayout", (event) => {
    if ("xaxis.range[0]" in event) place.dataset.zoomed = "yes";
    if ("xaxis.autorange" in event) delete place.dataset.zoomed;
  });
  if (place.dataset.choose === "span") choosesSpan(place);
}

function loadLibrary() {
  if (window.Plotly) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

export async function drawAll() {
  const places = [...document.querySelectorAll("[data-plot]")];
  if (!places.length) return;
  await loadLibrary();
  await Promise.all(places.map(draw));
}

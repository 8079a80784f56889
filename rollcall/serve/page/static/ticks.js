// The values of an overview's small pictures: at the pointer, or at a place that the arrow keys move.

const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);

const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
const widthOf = (picture) => picture.viewBox.baseVal.width;

function valuesAt(picture, place) {
  const { lags } = picture.dataset, { from, to } = picture.closest("table").dataset;
  const stepMs = (+to + 1 - from) / widthOf(picture), fromMs = +from + place * stepMs;
  const causes = [...picture.querySelectorAll("rect")].filter((one) => +one.getAttribute("x") === place);
  const said = causes.map((one) => `rebalance: ${one.dataset.cause}`);
  const lag = lags?.split(",")[place];
  if (lags) said.push(lag ? `lag up to ${(+lag).toLocaleString("en")} records` : "lag unknown");
  return `${clock(fromMs)} to ${clock(fromMs + stepMs)} UTC: ${said.join(", ") || "no rebalance"}`;
}

function show(picture, place) {
  const box = picture.getBoundingClientRect(), width = widthOf(picture);
  picture.dataset.place = Math.min(Math.max(place, 0), width - 1);
  tip.textContent = valuesAt(picture, +picture.dataset.place);
  tip.hidden = false;
  const x = box.left + (+picture.dataset.place / width) * box.width;
  tip.style.left = `${Math.max(Math.min(x, innerWidth - tip.offsetWidth - 8), 8)}px`;
  tip.style.top = `${box.top - tip.offsetHeight - 4}px`;
}

export function tellTicks(table) {
  const pictureOf = (event) => event.target.closest(".ticks");
  table.addEventListener("pointermove", (event) => {
    const picture = pictureOf(event);
    if (!picture) return;
    const box = picture.getBoundingClientRect();
    show(picture, Math.floor(((event.clientX - box.left) / box.width) * widthOf(picture)));
  });
  table.addEventListener("keydown", (event) => {
    const picture = pictureOf(event), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") tip.hidden = true;
    if (!picture || !step) return;
    event.preventDefault();
    show(picture, +picture.dataset.place + step);
  });
  table.addEventListener("focusin", (event) => {
    const picture = pictureOf(event);
    if (picture) show(picture, +(picture.dataset.place ?? widthOf(picture) - 1));
  });
  for (const name of ["focusout", "pointerout"]) table.addEventListener(name, () => { tip.hidden = true; });
}

// Says below the map what a column is, when it is pointed at or reached with the arrow keys. Without it, all is in
// titles and tables.
"use strict";
for (const map of document.querySelectorAll(".strip.map")) {
  const readout = map.closest("section").querySelector(".readout");
  const columns = Array.from(map.children);
  const name = map.getAttribute("aria-label").split(":")[0];
  const hint = readout.textContent;
  let chosen = -1;
  const choose = (place) => {
    if (columns[chosen]) columns[chosen].classList.remove("chosen");
    chosen = Math.max(-1, Math.min(place, columns.length - 1));
    if (columns[chosen]) columns[chosen].classList.add("chosen");
    readout.textContent = columns[chosen] ? name + ", " + columns[chosen].querySelector("title").textContent : hint;
  };
  map.addEventListener("pointerover", (event) => choose(columns.indexOf(event.target.closest("g"))));
  map.addEventListener("pointerleave", () => choose(-1));
  map.addEventListener("blur", () => choose(-1));
  map.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: chosen + 1, ArrowLeft: Math.max(chosen - 1, 0), Home: 0, End: columns.length - 1 };
    if (event.key in steps) {
      event.preventDefault();
      choose(steps[event.key]);
    }
  });
}

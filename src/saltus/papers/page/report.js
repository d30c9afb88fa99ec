"use strict";
// Tables sort by a click on a heading (or the menu on small screens); buttons show one verdict only.
const compare = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
function sort(table, column, descending) {
  const body = table.tBodies[0];
  const key = (row) => { const cell = row.cells[column]; return cell.dataset.sort ?? cell.textContent.trim(); };
  const rows = [...body.rows].map((row, index) => [key(row), index, row]);
  rows.sort((one, two) => (descending ? -1 : 1) * compare(one[0], two[0]) || one[1] - two[1]);
  body.append(...rows.map((entry) => entry[2]));
  [...table.tHead.rows[0].cells].forEach((cell, index) => {
    if (index === column) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}
for (const table of document.querySelectorAll("table.claims")) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    cell.querySelector("button").addEventListener("click", () =>
      sort(table, column, cell.getAttribute("aria-sort") === "ascending"));
  });
}
for (const menu of document.querySelectorAll(".sorting select"))
  menu.addEventListener("change", () => sort(menu.closest("section").querySelector("table.claims"), +menu.value, false));
for (const tools of document.querySelectorAll(".tools")) {
  tools.addEventListener("click", (event) => {
    const pressed = event.target.closest("button");
    if (!pressed) return;
    for (const button of tools.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === pressed));
    for (const row of tools.closest("section").querySelectorAll("table.claims tbody tr"))
      row.hidden = pressed.dataset.verdict !== "all" && row.dataset.verdict !== pressed.dataset.verdict;
  });
}
// A motion is played in a frame of its own, in the place of its figure; all share one player.
for (const button of document.querySelectorAll("button.play")) {
  button.addEventListener("click", () => {
    const figure = button.closest("figure"), shown = figure.querySelector("iframe");
    figure.classList.toggle("playing", !shown);
    button.textContent = shown ? "▶ play the motion" : "■ back to the figure";
    if (shown) { shown.remove(); return; }
    const [before, after] = JSON.parse(document.getElementById("player").textContent), frame = document.createElement("iframe");
    frame.title = "the motion";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = before + figure.querySelector("script.motion").textContent + after;
    figure.prepend(frame);
  });
}

// The samples of an ensemble: one at a time in the player.
"use strict";
(() => {
  const samples = JSON.parse(document.getElementById("data").textContent), holder = document.querySelector(".choices");
  const show = (index) => {
    window.player?.close();
    window.player = new saltus.Player(document.getElementById("run"), samples[index].run);
    holder.querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", k === index));
  };
  samples.forEach(({ what, run }, index) => holder.append(saltus.element("button", { type: "button", onclick: () => show(index) }, `${run.title}: ${what}`)));
  show(0);
})();

"use strict";
(function () {
  var tip = document.getElementById("tip");
  var rows = [], heads = [];

  function readWindows() {
    var table = document.getElementById("windows");
    rows = table ? Array.from(table.tBodies[0].rows) : [];
    heads = table ? Array.from(table.tHead.rows[0].cells, function (c) { return c.textContent; }) : [];
  }

  // A button of a legend takes its curve out of the plot, and puts it back.
  function prepareLegend(button) {
    button.addEventListener("click", function () {
      var shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      document.querySelectorAll("#plot-" + button.dataset.plot + " [data-series]").forEach(function (curve) {
        if (curve.dataset.series === button.dataset.toggle) { curve.classList.toggle("off", !shown); }
      });
    });
  }

  function rowAt(ms) {
    return rows.find(function (r) { return ms >= Number(r.dataset.from) && ms < Number(r.dataset.to); });
  }

  function describe(svg, row) {
    var lines = [row.cells[0].textContent + " to " + row.cells[1].textContent + "  " + row.cells[2].textContent];
    svg.querySelectorAll("[data-column]:not(.off)").forEach(function (curve) {
      var at = heads.indexOf(curve.dataset.column);
      if (at >= 0) { lines.push(curve.dataset.series + ": " + row.cells[at].textContent); }
    });
    return lines.join("\n");
  }

  function preparePlot(svg) {
    var left = Number(svg.dataset.left), right = Number(svg.dataset.right);
    var cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "cursor");
    svg.appendChild(cursor);
    function hide() { tip.hidden = true; cursor.removeAttribute("d"); }
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect();
      var x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      var row = rowAt((x - left) / (right - left) * Number(svg.dataset.over));
      if (!row) { hide(); return; }
      cursor.setAttribute("d", "M" + x.toFixed(1) + " " + svg.dataset.top + "V" + svg.dataset.bottom);
      tip.textContent = describe(svg, row);
      tip.hidden = false;
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4)) + "px";
      tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 12) + "px";
    });
    svg.addEventListener("pointerleave", hide);
  }

  function prepare() {
    tip.hidden = true;
    readWindows();
    document.querySelectorAll("[data-toggle]").forEach(prepareLegend);
    document.querySelectorAll("svg[data-over]").forEach(preparePlot);
  }

  document.addEventListener("replaced", prepare); // by the script of a live page
  prepare();
})();
